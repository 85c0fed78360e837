/*
 * Shared by parse_sources.c and sidecar.c: parsing a file of statements and
 * fields, one a line.
 */
#ifndef KENNEL_POLICY_SOURCES_PRIVATE_H
#define KENNEL_POLICY_SOURCES_PRIVATE_H

#include "policy/lang/lex.h"
#include "policy/sources/sources.h"

#define WORDS_MAX 64 /* of one line */
#define LINES_MAX 64 /* of one block */

struct source_line {
	struct word word[WORDS_MAX];
	size_t n;
};

struct source_reading {
	struct arena *arena;
	const struct policy_reader *reader;
	struct lexer lex;
	struct token tok;
	struct diag *diag;
	struct sources *sources; /* NULL: parsing a sidecar */
	struct route_source *source;
	struct sidecar *sidecar;
	unsigned int seen; /* fields of the current block, or'ed */
	int error;         /* 0 or -ENOMEM */
};

typedef void field_fn(struct source_reading *, const struct source_line *);

struct field_row {
	const char *name;
	field_fn *read;
	size_t min, max; /* number of words after the name */
	bool once, needed;
	const char *takes;
};

/* Moves to the next token; to the end after a memory error. */
void reading_advance(struct source_reading *);
/*
 * Reads the words up to a newline or a mark.  false: reported, and the line is
 * skipped.
 */
bool reading_line(struct source_reading *, struct source_line *ret);
/*
 * Reads the fields between { and }; the current token is `{`. Missing fields
 * are reported at name.
 */
void reading_block(
    struct source_reading *, const struct field_row *, size_t n, struct at name);
/* Is it a valid name of a source or a plugin? */
bool reading_name_good(const struct word *);
/* Is it a variable that may be set? false: reported. */
bool reading_variable_good(struct source_reading *, const struct word *);
/* Does kennel itself set this variable for a program? */
bool reading_is_own(const struct word *);
/* A copy in the arena; "" if there is no memory, which is recorded. */
const char *reading_text(struct source_reading *, const struct word *);

#endif
