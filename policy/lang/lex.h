/*
 * Between lex.c, keyword.c, expand.c and parse.c: how text becomes words.
 */
#ifndef KENNEL_POLICY_TEXT_H
#define KENNEL_POLICY_TEXT_H

#include "policy/lang/ast.h"

/* ---- keyword.c ----------------------------------------------------------- */

enum keyword_where {
	WHERE_TOP = 1,    /* opens a statement of the file */
	WHERE_GRANT = 2,  /* opens a statement of a server */
	WHERE_QUAL = 4,   /* stands behind the words of a grant */
	WHERE_OPTION = 8, /* stands inside { } behind a grant */
	WHERE_LATER = 16, /* reserved, but not in this version */
	WHERE_ASKED = 32, /* stands in `never` and `expect` */
};

/* What a grant may have behind its words. */
enum keyword_qual {
	QUAL_BECAUSE = 1, /* and instead */
	QUAL_OPTIONAL = 2,
	QUAL_EXCEPTION = 4, /* owner ticket until */
	QUAL_EXCEPT = 8,
	QUAL_CALLER = 16, /* from in with */
	QUAL_NET = 32,    /* to plain no-sni starttls */
	QUAL_WHEN = 64,
	QUAL_SECRET = 128, /* approve as hosts may weak */
};

#define WORDS_ANY 0xffff

/* How many words, which shape: a grant is one row. */
struct keyword_row {
	const char *name;
	unsigned int where; /* enum keyword_where, or'ed */
	bool verdict;       /* allow, ask or deny comes first */
	bool hidden;        /* its line may hold a value and is not shown */
	bool once;          /* at most one in a server */
	bool context;       /* no reserved word: known only where it can stand */
	unsigned int word_min, word_max;
	unsigned int quals; /* enum keyword_qual, or'ed */
	const char *takes;  /* for the message when the number is wrong */
};

const struct keyword_row *keyword_row(enum keyword);
/* The reserved word, or KW_NONE. */
enum keyword keyword_find(const char *, size_t len);
/* One that is known there only, or KW_NONE. */
enum keyword keyword_context(const char *, size_t len);
/* The nearest keyword that may stand there, or KW_NONE. */
enum keyword keyword_near(const char *, size_t len, unsigned int where);

/* ---- expand.c ------------------------------------------------------------ */

#define LET_HASH 256

/* A name that a file knows; what is not meant is NULL. */
struct known {
	const char *name;
	size_t len;
	struct let *let;
	struct block *block;
	struct known *next; /* same hash */
};

/* The names of one file, its own and those that it included. */
struct lets {
	struct known *bucket[LET_HASH];
};

struct let *let_find(const struct lets *, const char *, size_t len);
struct block *block_find(const struct lets *, const char *, size_t len);
/* One of let and block is NULL.  0 or -ENOMEM. */
int known_add(struct arena *, struct lets *, const char *, size_t len, struct let *,
    struct block *);
bool name_byte(unsigned char); /* letter, digit or _ */

/* Fill text, len and literal of a bare word from raw, raw_len and at.  What is
 * wrong goes to diag and the word gets what text there is.  0 or -ENOMEM. */
int word_expand(struct arena *, const struct lets *, struct diag *, struct word *);

/* ---- unit.c -------------------------------------------------------------- */

/* Is inner the same as outer, or below it?  Both are normal. */
bool path_below(const char *outer, const char *inner);

/* YYYY-MM-DD as days since 1970-01-01: 0 or -EINVAL. */
int unit_date(const char *, uint32_t *ret);
/* Days since then, in UTC. */
uint32_t unit_today(void);

/* ---- host.c -------------------------------------------------------------- */

/* HOST:PORT of `net` and what of it stands elsewhere. */
struct host {
	enum sealed_host_kind kind;
	const char *name; /* lower case; of a suffix without its `*.`; not of CIDR */
	size_t len;
	uint8_t addr[16]; /* CIDR; IPv4 as ::ffff:a.b.c.d; host bits are 0 */
	uint32_t prefix;  /* of 128 */
	uint32_t port_first, port_last; /* 0: none was said */
};

/*
 * A host with a port, or (port false) one that may be without.  NULL; or why not.
 * name points into the word.  patterns: what is a mistake in a grant (`*`, a
 * whole TLD) is a pattern of `never`.
 */
const char *host_read(const struct word *, bool port, struct host *ret);
const char *host_pattern_read(const struct word *, struct host *ret);
/* ADDRESS or ADDRESS/BITS: 0 or -EINVAL. */
int host_cidr(const char *, size_t len, uint8_t addr[16], uint32_t *ret_prefix);
/* What stands behind `to` and `starttls` of a grant (check_net.c). */
bool net_scope_read(
    const struct word *, uint32_t *ret_scope, uint8_t addr[16], uint32_t *ret_prefix);
int net_starttls(const char *); /* enum sealed_net_proto, or -1 */
/* The enum sealed_class that a word like @readonly is, or 0 (check_mcp.c). */
uint32_t gate_class(const struct word *);
/* Does libseccomp know this call (filter.c)? */
bool syscall_is_known(const char *);
/* The file that `path` of a statement in file `from` means (include.c): beside
 * or below that file, or absolute.  NULL with *ret_why: it may not be read. */
const char *include_path(
    struct tree *, const char *from, const char *path, const char **ret_why);
/* Does every host of inner lie in outer?  Ports are not looked at. */
bool host_covers(const struct host *outer, const struct host *inner);
/* Is there a host of both?  Ports are looked at where both have one. */
bool host_meets(const struct host *a, const struct host *b);

/* ---- conflict.c ---------------------------------------------------------- */

/* What stands twice in a server, and grants that undo each other. */
void conflict_server(struct tree *, const struct server *, struct diag *);
/* Servers of one name. */
void conflict_names(struct tree *, struct diag *);

/* ---- manifest.c ---------------------------------------------------------- */

enum manifest_kind {
	MANIFEST_NONE,
	MANIFEST_APPROVE,
	MANIFEST_DESCRIPTION,
	MANIFEST_EXPIRES,
	MANIFEST_HOSTS,
	MANIFEST_LAST_ROTATED,
	MANIFEST_LIVENESS,
	MANIFEST_PATTERN,
	MANIFEST_RETRIEVAL_URL,
	MANIFEST_ROTATE_EVERY,
	MANIFEST_ROTATION,
	MANIFEST_SCOPES,
	MANIFEST_STEPS,
};

#define MANIFEST_WORDS_MAX 4096 /* paths behind one `required` */

/* The field that a bare word names. */
enum manifest_kind manifest_field(const struct word *);
/* It has one value: the word behind that is the next field's name. */
bool manifest_takes_one(enum manifest_kind);
/* A name under which people keep values: told as what it is. */
bool manifest_is_value_word(const struct word *);
/* The days of `rotate-every`: 0 or -EINVAL. */
int manifest_days(const struct word *, uint32_t *ret);
/* Statements of manifests and catalogs: secret, override, token, required,
 * optional. */
void manifest_check(struct tree *, struct diag *);
/* A policy holds none of them but `secret`. */
void manifest_check_policy(struct tree *, struct diag *);

/* ---- lex.c --------------------------------------------------------------- */

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
	TOKEN_COMMENT /* # and the rest of the line, with keep_comments: word.raw */
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
	bool flat;    /* inside { } of an option list or [ ]: a newline is a space */
	bool commas;  /* inside [ ]: a comma ends a word and is a token */
	bool parens;  /* behind `when`: so are ( and ) */
	bool keep_comments;
	struct arena *arena;
	struct lets *lets; /* NULL: $name stays as it is */
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
