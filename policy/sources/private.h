/*
 * Between router_parse.c and sidecar.c: a file of statements and fields, one a line.
 */
#ifndef KENNEL_POLICY_ROUTER_OWN_H
#define KENNEL_POLICY_ROUTER_OWN_H

#include "policy/sources/sources.h"

#define WORDS_MAX 64 /* of one line */
#define LINES_MAX 64 /* of one block */

struct line {
	struct word word[WORDS_MAX];
	size_t n;
};

struct reading {
	struct arena *arena;
	const struct policy_reader *reader;
	struct lexer lex;
	struct token tok;
	struct diag *diag;
	struct router *router; /* NULL: a sidecar is read */
	struct routed_source *source;
	struct sidecar *sidecar;
	unsigned int seen; /* fields of the block at hand, or'ed */
	int error;         /* 0 or -ENOMEM */
};

typedef void field_fn(struct reading *, const struct line *);

struct field_row {
	const char *name;
	field_fn *read;
	size_t min, max; /* words behind the name */
	bool once, needed;
	const char *takes;
};

/* To the next token; the end, once there was an error of memory. */
void reading_advance(struct reading *);
/* The words up to a newline or a mark.  false: reported, and the line is passed. */
bool reading_line(struct reading *, struct line *ret);
/* The fields between { and }; `{` is at hand, name is where what is missing is told. */
void reading_block(struct reading *, const struct field_row *, size_t n, struct at name);
/* The name of a source or of a plugin? */
bool reading_name_good(const struct word *);
/* A variable that may be set; false: reported. */
bool reading_variable_good(struct reading *, const struct word *);
/* One that a program gets from kennel itself? */
bool reading_is_own(const struct word *);
/* A copy in the arena; "" without memory, which is noted. */
const char *reading_text(struct reading *, const struct word *);

#endif
