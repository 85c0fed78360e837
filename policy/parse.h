/*
 * Between parse.c (files, servers, lets, recovery) and grant.c (what a server is
 * granted).
 */
#ifndef KENNEL_POLICY_PARSE_H
#define KENNEL_POLICY_PARSE_H

#include "policy/text.h"

struct parser {
	struct lexer lex;
	struct token tok; /* the one at hand */
	struct diag *diag;
	struct diag mute; /* counts what a skipped statement still has wrong */
	struct tree *tree;
	int error; /* 0 or -ENOMEM; everything stops */
};

/* ---- parse.c ------------------------------------------------------------- */

/* To the next token; the end of the text once there was an error of memory. */
void parse_advance(struct parser *);
/* What is at hand? */
bool parse_at(const struct parser *, enum token_kind);
enum keyword parse_keyword(const struct parser *);
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

/* ---- grant.c ------------------------------------------------------------- */

/* The grant at hand, into the server; one with an error is left out. */
void parse_grant(struct parser *, struct server *);

#endif
