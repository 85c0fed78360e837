/*
 * What the files of this room share.
 */
#ifndef KENNEL_SUPERVISOR_PIN_PRIVATE_H
#define KENNEL_SUPERVISOR_PIN_PRIVATE_H

#include <stdio.h>

#include "shim/base/buf.h"
#include "supervisor/launch/launch.h"
#include "supervisor/pin/lint.h"

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

/* ---- lint.c ------------------------------------------------------------------- */

enum lint_rule {
	LINT_ENCODING,
	LINT_ANSI,
	LINT_CONTROL,
	LINT_BIDI,
	LINT_ZERO_WIDTH,
	LINT_TAG,
	LINT_SELECTOR,
	LINT_PRIVATE,
	LINT_PADDING,
	LINT_LONG,
	LINT_MARKUP,
	LINT_HIDE,
	LINT_OVERRIDE,
	LINT_LEAK,
	LINT_DIRECT,
	LINT_BLOB,
	LINT_FILE,
	LINT_URL,
	LINT_SHADOW,
	LINT_EQUAL,
	LINT_LOOK_ALIKE,
	LINT_ICON,
	LINT_RULES
};

/* A text under check, decoded. */
struct lint_text {
	const char *at;
	size_t len;
	/* As a reader takes it: in lower case, look-alikes as ASCII, invisible characters
	 * left out, each other character one 0x80. at[map[i]] begins what folded[i] is. */
	const char *folded;
	const uint32_t *map;
	size_t folded_len;
};

/* The bytes [from, to) of the text break this rule; the first ones count. */
void lint_part(
    struct lint *, enum lint_rule, const struct lint_text *, size_t from, size_t to);
/* The same, with a phrase in place of the rule's. It may have a server's bytes. */
void lint_part_about(struct lint *, enum lint_rule, const struct lint_text *, size_t from,
    size_t to, const char *what);
/* The bytes [from, to) of the folded text do. */
void lint_hit(
    struct lint *, enum lint_rule, const struct lint_text *, size_t from, size_t to);

/* ---- lint_phrases.c, lint_blobs.c, lint_marks.c, lint_names.c -------------------- */

void lint_phrases(struct lint *, const struct lint_text *);
void lint_blobs(struct lint *, const struct lint_text *);
void lint_marks(struct lint *, const struct lint_text *);

struct lint_names;
int lint_names_new(const char *server, struct lint_names **ret);
void lint_names_free(struct lint_names *);
int lint_names_add(struct lint_names *, const char *server, const char *tool, size_t len);
/* After the last of them. */
void lint_names_sort(struct lint_names *);
/* The text names another server, or a tool of one. */
void lint_names_in(const struct lint_names *, struct lint *, const struct lint_text *);
/* The name that this tool's looks like, and whose; NULL: none. */
const char *lint_names_like(
    const struct lint_names *, const char *tool, size_t len, char out[LINT_SHOWN_MAX]);
/* Another server that has a tool of this name; NULL: none. */
const char *lint_names_equal(const struct lint_names *, const char *tool, size_t len);
/* True if the name mixes ASCII letters and letters that look like them. */
bool lint_names_mixed(const char *name, size_t len);

#endif
