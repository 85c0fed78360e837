/*
 * Which servers `kennel serve` has: those of policies, with what the registry and
 * mcp-servers.json say of them, and those that only these two define.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_LAUNCHER_CONFIGURED_H
#define KENNEL_SUPERVISOR_SERVE_LAUNCHER_CONFIGURED_H

#include "shim/base/wire.h"
#include "supervisor/registry/global_file.h"
#include "supervisor/registry/registry.h"

/*
 * policy: a row for each server that has a policy. One row for each server, as
 * servers_merge picks it; the caller frees them. Logs what is wrong. Below 0: what people
 * have decided cannot be read, so no server may start. ret_skipped: a project's file that no
 * person has approved; the caller frees it, too.
 */
int configured_read(const struct server_rows *policy, struct server_rows *ret,
    struct skipped_file *ret_skipped);
/* Has a person approved a project's file with this SHA-256, in hex? False also if that cannot
 * be read. */
bool configured_trusts(const char *sha256);
/* Writes LAUNCHER_SKIPPED for this file: a descriptor with its text; -1: there is no such
 * file, or no room for it. */
int skipped_file_put(const struct skipped_file *, struct wire_out *);

#endif
