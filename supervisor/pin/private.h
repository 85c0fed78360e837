/*
 * What the files of this room share.
 */
#ifndef KENNEL_SUPERVISOR_PIN_PRIVATE_H
#define KENNEL_SUPERVISOR_PIN_PRIVATE_H

#include <stdio.h>

#include "shim/base/buf.h"
#include "supervisor/launch/launch.h"
#include "supervisor/lint/lint.h"

/* ---- server_pin.c: definitions ---------------------------------------------------- */

struct row {
	enum sealed_pin_kind kind;
	struct buf name, body; /* canonical */
	const char *variant;   /* client capabilities that the server saw */
};

/* The keyword of the kind in the file. */
const char *pin_kind_word(enum sealed_pin_kind);
/* Bytes of a canonical value, of a row or a pin. */
struct json pin_value(const void *, size_t len);

/* ---- pins_file.c ------------------------------------------------------------------ */

/* These rows, which are sorted, as a pins file: 0 or -EIO. */
int pins_file_print(FILE *, const char *server, const struct row *, size_t n);
/*
 * The same into a file, which is replaced as a whole. First prints how the rows differ from
 * the pins of this policy (server NULL: no policy). If they do, they need a yes: given
 * here, or by a person on the terminal. 0; 1: there was none; an exit status. Reports each.
 */
int pins_file_replace(const struct policy_found *before, const char *path,
    const char *server, const struct row *, size_t n, bool yes);

/* ---- pin_lint.c, pin_diff.c, pin_show.c -------------------------------------------- */

/* The rules, and all names that are known: of these rows, and of the user's other
 * policies. 0 or -ENOMEM. */
int pin_lint_new(const char *server, const struct row *, size_t n, struct lint **ret);
/* Prints the warnings about these rows on standard error, and how many there are. Returns
 * 0, or an exit status: strict, and there are warnings. */
int pin_lint(const char *server, const struct row *, size_t n, bool strict);
/* Prints how these rows differ from the policy's pins; returns how many do. paged: on a
 * terminal, with a pager, until the process exits. */
size_t pin_diff(const struct policy_found *, const struct row *, size_t n, bool paged);
/* Prints these rows for a person to read: what the policy says about each of them, and its
 * warnings. from: where they are from. 0 or an exit status. */
int pin_show(const struct policy_found *, const struct row *, size_t n, const char *from);

#endif
