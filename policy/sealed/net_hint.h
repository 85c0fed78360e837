/*
 * Suggests the policy line that would grant a refused connection: for the
 * leash, which reports it, and for readers of the log.
 */
#ifndef KENNEL_POLICY_SEALED_NET_HINT_H
#define KENNEL_POLICY_SEALED_NET_HINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_HINT_MAX 320

/*
 * `net allow NAME:PORT`, with `plain` if the port is not that of HTTPS, with
 * `no-sni` if an address has no name.  Port 0: only a name lookup is known, so
 * HTTPS is assumed.  "" and 0 if no line could grant it.
 */
size_t net_hint(const char *name, uint32_t port, char *out, size_t cap);

#endif
