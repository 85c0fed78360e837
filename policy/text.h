/*
 * Between lex.c, keyword.c, expand.c and parse.c: how text becomes words.
 */
#ifndef KENNEL_POLICY_TEXT_H
#define KENNEL_POLICY_TEXT_H

#include "policy/tree.h"

/* ---- keyword.c ----------------------------------------------------------- */

enum keyword_where {
	WHERE_TOP = 1,    /* opens a statement of the file */
	WHERE_GRANT = 2,  /* opens a statement of a server */
	WHERE_QUAL = 4,   /* stands behind the words of a grant */
	WHERE_OPTION = 8, /* stands inside { } behind a grant */
	WHERE_LATER = 16, /* reserved, but not in this version */
};

/* What a grant may have behind its words. */
enum keyword_qual { QUAL_BECAUSE = 1, QUAL_OPTIONAL = 2 };

#define WORDS_ANY 0xffff

/* How many words, which shape: a grant is one row. */
struct keyword_row {
	const char *name;
	unsigned int where; /* enum keyword_where, or'ed */
	bool verdict;       /* allow, ask or deny comes first */
	bool hidden;        /* its line may hold a value and is not shown */
	bool once;          /* at most one in a server */
	unsigned int word_min, word_max;
	unsigned int quals; /* enum keyword_qual, or'ed */
	const char *takes;  /* for the message when the number is wrong */
};

const struct keyword_row *keyword_row(enum keyword);
enum keyword keyword_find(const char *, size_t len);
/* The nearest keyword that may stand there, or KW_NONE. */
enum keyword keyword_near(const char *, size_t len, unsigned int where);

/* ---- expand.c ------------------------------------------------------------ */

#define LET_HASH 1024

struct lets {
	struct let *bucket[LET_HASH];
};

struct let *let_find(struct lets *, const char *, size_t len);
void let_add(struct lets *, struct let *);
bool name_byte(unsigned char); /* letter, digit or _ */

/* Fill text, len and literal of a bare word from raw, raw_len and at.  What is
 * wrong goes to diag and the word gets what text there is.  0 or -ENOMEM. */
int word_expand(struct arena *, struct lets *, struct diag *, struct word *);

/* ---- unit.c -------------------------------------------------------------- */

/* Is inner the same as outer, or below it?  Both are normal. */
bool path_below(const char *outer, const char *inner);

/* ---- conflict.c ---------------------------------------------------------- */

/* What stands twice in a server, and grants that undo each other. */
void conflict_server(struct tree *, const struct server *, struct diag *);
/* Servers of one name. */
void conflict_names(struct tree *, struct diag *);

/* ---- lex.c --------------------------------------------------------------- */

enum token_kind {
	TOKEN_END,
	TOKEN_NEWLINE,
	TOKEN_WORD,
	TOKEN_OPEN,   /* { */
	TOKEN_CLOSE,  /* } */
	TOKEN_LIST,   /* [ */
	TOKEN_UNLIST, /* ] */
};

struct token {
	enum token_kind kind;
	struct at at;
	struct word word;
};

struct lexer {
	const char *text;
	size_t len, off;
	struct at at; /* of off */
	bool flat;    /* inside { } of an option list: a newline is a space */
	struct arena *arena;
	struct lets lets;
	struct diag *diag;
};

/* Bytes that no policy may hold, reported once each line. */
void lex_scan(const struct policy_source *, uint32_t file, struct diag *);
void lex_init(struct lexer *, const struct policy_source *, uint32_t file, struct arena *,
    struct diag *);
/* The next token.  What is wrong goes to diag; a token comes all the same.
 * 0 or -ENOMEM. */
int lex_next(struct lexer *, struct token *ret);
/* A code point that hides or reorders what is seen on a line. */
bool lex_unseen(uint32_t code);
/* One code point of UTF-8: its length, or 0 when the bytes are not UTF-8. */
size_t lex_utf8(const char *, size_t len, uint32_t *ret);

#endif
