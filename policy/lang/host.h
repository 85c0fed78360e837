/*
 * Hosts, addresses, ports and scopes of `net`.
 */
#ifndef KENNEL_POLICY_LANG_HOST_H
#define KENNEL_POLICY_LANG_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/lang/ast.h"
#include "policy/sealed/sealed.h"

/* HOST:PORT of `net`, and its parts as used in other statements. */
struct host {
	enum sealed_host_kind kind;
	const char *name; /* lower case; for a suffix, without `*.`; not set for CIDR */
	size_t len;
	uint8_t addr[16]; /* CIDR; IPv4 as ::ffff:a.b.c.d; host bits are 0 */
	uint32_t prefix;  /* bits, of 128 */
	uint32_t port_first, port_last; /* 0: no port given */
};

/*
 * Parses a host with a port; if port is false, the port is optional.  Returns
 * NULL, or the reason why it is invalid.  name points into the word.  patterns:
 * accept `*` and a whole TLD, which are errors in a grant and patterns in
 * `never`.
 */
const char *host_read(const struct word *, bool port, struct host *ret);
const char *host_pattern_read(const struct word *, struct host *ret);
/* ADDRESS or ADDRESS/BITS: 0 or -EINVAL. */
int host_cidr(const char *, size_t len, uint8_t addr[16], uint32_t *ret_prefix);
/* The scope after `to` and the protocol after `starttls` of a grant (net.c). */
bool net_scope_read(
    const struct word *, uint32_t *ret_scope, uint8_t addr[16], uint32_t *ret_prefix);
int net_starttls(const char *); /* enum sealed_net_proto, or -1 */

/* Does outer contain every host of inner? Ignores ports. */
bool host_covers(const struct host *outer, const struct host *inner);
/* Do a and b share a host? Compares ports if both have them. */
bool host_meets(const struct host *a, const struct host *b);

#endif
