/*
 * What a row of the registry may contain: the same for a person's, an agent's, a dump's
 * and a file's.
 */
#ifndef KENNEL_SUPERVISOR_REGISTRY_ROW_CHECK_H
#define KENNEL_SUPERVISOR_REGISTRY_ROW_CHECK_H

#include <stdbool.h>

#include "supervisor/registry/registry.h"

/* As in a policy: 1 to 64 letters, digits, `_` and `-`. */
bool row_name_is_valid(const char *name);
/* Returns 0; -EINVAL; -EPERM: a text that looks like a secret. why names the member,
 * never a value. */
int row_check(const struct server_row *, struct reason *why);
/* The member of a row that the reason of row_check or of dump_read_entry names; NULL: it
 * names none. */
const char *row_member(const struct reason *why);

#endif
