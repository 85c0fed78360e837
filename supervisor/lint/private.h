/*
 * What the files of this room share.
 */
#ifndef KENNEL_SUPERVISOR_LINT_PRIVATE_H
#define KENNEL_SUPERVISOR_LINT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "supervisor/lint/lint.h"

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

/* ---- phrases.c, blobs.c, marks.c, names.c ---------------------------------------- */

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
