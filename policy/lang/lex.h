/*
 * The lexer: from text to tokens.
 */
#ifndef KENNEL_POLICY_LANG_LEX_H
#define KENNEL_POLICY_LANG_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/base/diag.h"
#include "policy/base/source.h"
#include "policy/lang/ast.h"
#include "policy/lang/expand.h"

enum token_kind {
	TOKEN_END,
	TOKEN_NEWLINE,
	TOKEN_WORD,
	TOKEN_OPEN,   /* { */
	TOKEN_CLOSE,  /* } */
	TOKEN_LIST,   /* [ */
	TOKEN_UNLIST, /* ] */
	TOKEN_COMMA,  /* , with commas */
	TOKEN_LEFT,   /* ( with parens */
	TOKEN_RIGHT,  /* ) with parens */
	TOKEN_COMMENT /* # and the rest of the line (word.raw), with keep_comments */
};

struct token {
	enum token_kind kind;
	struct at at;
	struct word word;
};

struct lexer {
	const char *text;
	size_t len, off;
	struct at at; /* position of off */
	bool flat;    /* inside the { } of an option list or [ ]: a newline is a space */
	bool commas;  /* inside [ ]: a comma ends a word and is a token */
	bool parens;  /* after `when`: so are ( and ) */
	bool keep_comments;
	struct arena *arena;
	struct lets *lets; /* NULL: $name is not expanded */
	struct diag *diag;
};

/* Reports bytes that no policy may contain, once per line. */
void lex_scan(const struct policy_source *, uint32_t file, struct diag *);
void lex_init(struct lexer *, const struct policy_source *, uint32_t file, struct arena *,
    struct diag *);
/*
 * The next token.  Errors go to diag, and a token is still returned.  0 or
 * -ENOMEM.
 */
int lex_next(struct lexer *, struct token *ret);

#endif
