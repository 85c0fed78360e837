/*
 * Export and import of the registry's own rows, those of persons and agents, and one
 * server in the same form (docs/FORMAT.registry).
 */
#ifndef KENNEL_SUPERVISOR_REGISTRY_DUMP_H
#define KENNEL_SUPERVISOR_REGISTRY_DUMP_H

#include "shim/base/buf.h"
#include "supervisor/registry/registry.h"

#define DUMP_MAX (16u << 20) /* bytes of a dump */

/* Appends the dump: 0, or a negative errno. Equal registries have equal dumps. */
int dump_write(struct registry *, struct buf *out);
/* SHA-256 of a row as the dump has it, without created_gen: a new row has none yet. 0 or
 * -errno. */
int dump_digest(const struct server_row *, uint8_t ret[32]);
/*
 * Reads a dump: rows in its order, for registry_import. A missing member has its
 * default; an unknown one, an unknown version or an invalid row is -EINVAL, a text that
 * looks like a secret is -EPERM. why begins with "FILE:LINE: " and names the member.
 */
int dump_read(const char *file, const char *text, size_t len, struct server_rows *ret,
    uint64_t *ret_generation, struct reason *why);

#define ENTRY_MAX (64u << 10) /* bytes of an entry */
/*
 * Reads a person's entry: an object with the members of a server of a dump, but without
 * created_gen and policy_server. `name` and `transport` are required. *ret_enabled: the entry says whether
 * it is enabled. Returns 0, and a row that the caller frees (own); -EINVAL; -EPERM: a text
 * that looks like a secret. why names the member (row_member), never a value.
 */
int dump_read_entry(const char *text, size_t len, struct server_row *ret,
    bool *ret_enabled, struct reason *why);

#endif
