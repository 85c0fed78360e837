/*
 * Parts of a configuration file for a person's screen, without its secrets.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_REDACT_H
#define KENNEL_SUPERVISOR_IMPORT_REDACT_H

#include "shim/base/buf.h"
#include "supervisor/import/config/config_tree.h"

/* Appends the bytes from one offset up to another. Each text in them that looks like
 * a secret, that is in a list with the name of one, or that has no decoded form, is
 * "[secret]". Each comment is "[comment]": it may be a line that was taken out of use,
 * with its secret. 0, -ENOMEM, -EMSGSIZE. */
int redact(const struct config_tree *, size_t from, size_t to, struct buf *out);

#endif
