/*
 * Between parse.c (files, servers, blocks, recovery), top.c (the other statements
 * of a file), include.c, grant.c (what a server is granted) and when.c.
 */
#ifndef KENNEL_POLICY_PARSE_H
#define KENNEL_POLICY_PARSE_H

#include "policy/lang/lex.h"

struct parser {
	struct lexer lex;
	struct token tok; /* the one at hand */
	struct diag *diag;
	struct diag mute; /* counts what a skipped statement still has wrong */
	struct tree *tree;
	int error; /* 0 or -ENOMEM; everything stops */
	struct lets *lets;
	struct opened *opened;
	uint32_t file; /* index of tree.source */
};

/* A file of this run: what it is called, what it knows. */
struct opened_file {
	const char *path; /* NULL: standard input */
	const struct policy_reader *reader;
	struct lets *lets;
	uint32_t from;  /* the file that included it first; itself: given */
	uint32_t depth; /* of includes */
	bool done;      /* read to its end */
};

struct opened {
	struct opened_file *file; /* index of tree.source */
	size_t n;
	size_t len; /* bytes of all */
};

/* ---- parse.c ------------------------------------------------------------- */

/* To the next token; the end of the text once there was an error of memory. */
void parse_advance(struct parser *);
/* What is at hand? */
bool parse_at(const struct parser *, enum token_kind);
enum keyword parse_keyword(const struct parser *);
/* The same where a statement of the file begins: context words count, too. */
enum keyword parse_statement(const struct parser *);
/* Does the word at hand stand in one of these places (enum keyword_where)? */
bool parse_place(const struct parser *, unsigned int where);
/* The end of a statement: a newline, a `}`, the end of the text. */
bool parse_at_end(const struct parser *);
/* A bare word, written like this. */
bool parse_word_is(const struct word *, const char *);

/* For messages about the token at hand. */
const char *parse_token_text(const struct parser *);
void parse_not_in_version(struct parser *);
void parse_unknown(struct parser *, const char *what, unsigned int where);
void parse_reserved(struct parser *);

/* Over the rest of a statement; top: of the file, else of a server. */
void parse_skip(struct parser *, bool top);

/* The word at hand, or all words of the list that it stands for, at the end of
 * an array. */
void parse_push(struct parser *, struct word **, size_t *n);
/* Words up to a reserved one, a mark or max of them. */
void parse_words(struct parser *, struct word **, size_t *n, size_t max);
/* `{` expected and passed; false: reported and skipped. */
bool parse_open(struct parser *, const char *what);
/* A file, which files.file[index] and tree.source[index] describe.  0, -ENOMEM. */
int parse_file(struct tree *, struct opened *, uint32_t index, struct diag *);

/* ---- include.c ----------------------------------------------------------- */
void include_statement(struct parser *);
/* All sources that were given: rows of opened for them.  0 or -ENOMEM. */
int include_given(struct tree *, struct opened *);
/* ---- top.c --------------------------------------------------------------- */
void top_let(struct parser *);
void top_never(struct parser *);
void top_expect(struct parser *);

/* ---- manifest_parse.c ---------------------------------------------------- */
void top_manifest(struct parser *);
void top_declare(struct parser *);

/* ---- when.c -------------------------------------------------------------- */

/* The expression at hand (`when` is passed): the word before it has been lexed
 * with parens on.  NULL: reported. */
struct cond *when_parse(struct parser *);

/* ---- grant.c ------------------------------------------------------------- */

/* The grant at hand, into the server; one with an error is left out. */
void parse_grant(struct parser *, struct server *);

#endif
