/*
 * From the raw bytes of a word to its text: names, literals, patterns.
 */
#ifndef KENNEL_POLICY_LANG_EXPAND_H
#define KENNEL_POLICY_LANG_EXPAND_H

#include <stdbool.h>

#include "policy/base/diag.h"
#include "policy/lang/ast.h"
#include "policy/sealed/sealed.h"

/*
 * The argument pattern that a word means: ARG_LITERAL, ARG_ANY (*), ARG_REST
 * (**), ARG_GLOB, ARG_CHOICE, ARG_SLOT or ARG_OPTIONS, and its text in the form
 * of struct sealed_arg.  -EINVAL for a mixture that has no such form: a literal
 * `*` beside a pattern `*`, a literal `|` beside a choice, `**` inside a word.
 */
int word_pattern(struct arena *, const struct word *, enum sealed_arg_kind *ret_kind,
    const char **ret_text);
/* No byte of the word is a pattern. */
bool word_is_literal(const struct word *);
/* Why the word's slot is invalid; NULL: it is valid, or the word has no slot. */
const char *word_refused(const struct word *);

#define LET_HASH 256

/* A name that a file defines or imports; one of let and block is NULL. */
struct known {
	const char *name;
	size_t len;
	struct let *let;
	struct block *block;
	struct known *next; /* same hash */
};

/* The names visible in one file: its own and those that it included. */
struct lets {
	struct known *bucket[LET_HASH];
};

struct let *let_find(const struct lets *, const char *, size_t len);
struct block *block_find(const struct lets *, const char *, size_t len);
/* Either let or block is NULL. 0 or -ENOMEM. */
int known_add(struct arena *, struct lets *, const char *, size_t len, struct let *,
    struct block *);
bool name_byte(unsigned char); /* letter, digit or _ */

/*
 * Fills text, len and literal of a bare word from raw, raw_len and at.  Errors
 * go to diag, and the word still gets the text that could be expanded.  0 or
 * -ENOMEM.
 */
int word_expand(struct arena *, const struct lets *, struct diag *, struct word *);

#endif
