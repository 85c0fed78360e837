/*
 * Shared by lex.c, keyword.c, expand.c and parse.c: how text becomes words.
 */
#ifndef KENNEL_POLICY_LANG_LEX_H
#define KENNEL_POLICY_LANG_LEX_H

#include "policy/lang/ast.h"

/* ---- keyword.c ----------------------------------------------------------- */

enum keyword_where {
	WHERE_TOP = 1,    /* opens a statement of the file */
	WHERE_GRANT = 2,  /* opens a statement of a server */
	WHERE_QUAL = 4,   /* follows the words in a grant */
	WHERE_OPTION = 8, /* inside the { } of a grant */
	WHERE_LATER = 16, /* reserved for a later version */
	WHERE_ASKED = 32, /* in `never` and `expect` */
};

/* The qualifiers that a grant may have after its words. */
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

/* One kind of grant: its form and how many words it has. */
struct keyword_row {
	const char *name;
	unsigned int where; /* enum keyword_where, or'ed */
	bool verdict;       /* begins with allow, ask or deny */
	bool hidden;        /* its line may hold a secret and is never shown */
	bool once;          /* at most one in a server */
	bool context;       /* not reserved: a keyword only at its own place */
	unsigned int word_min, word_max;
	unsigned int quals; /* enum keyword_qual, or'ed */
	const char *takes;  /* for the message when the number of words is wrong */
};

const struct keyword_row *keyword_row(enum keyword);
/* The reserved word, or KW_NONE. */
enum keyword keyword_find(const char *, size_t len);
/* The context keyword with this name, or KW_NONE. */
enum keyword keyword_context(const char *, size_t len);
/* The nearest keyword that is allowed at this place, or KW_NONE. */
enum keyword keyword_near(const char *, size_t len, unsigned int where);

/* ---- expand.c ------------------------------------------------------------ */

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

/* ---- scalar.c ------------------------------------------------------------ */

/* Is inner equal to outer, or below it? Both are in normal form. */
bool path_below(const char *outer, const char *inner);

/* YYYY-MM-DD as days since 1970-01-01: 0 or -EINVAL. */
int unit_date(const char *, uint32_t *ret);
/* Days since 1970-01-01, in UTC. */
uint32_t unit_today(void);

/* ---- host.c -------------------------------------------------------------- */

/* HOST:PORT of `net`, and its parts as used in other statements. */
struct host {
	enum sealed_host_kind kind;
	const char *name; /* lower case; for a suffix, without `*.`; not set for CIDR */
	size_t len;
	uint8_t addr[16]; /* CIDR; IPv4 as ::ffff:a.b.c.d; host bits are 0 */
	uint32_t prefix;  /* bits, of 128 */
	uint32_t port_first, port_last; /* 0: no port given */
};

/*
 * Parses a host with a port; if port is false, the port is optional.  Returns
 * NULL, or the reason why it is invalid.  name points into the word.  patterns:
 * accept `*` and a whole TLD, which are errors in a grant and patterns in
 * `never`.
 */
const char *host_read(const struct word *, bool port, struct host *ret);
const char *host_pattern_read(const struct word *, struct host *ret);
/* ADDRESS or ADDRESS/BITS: 0 or -EINVAL. */
int host_cidr(const char *, size_t len, uint8_t addr[16], uint32_t *ret_prefix);
/* The scope after `to` and the protocol after `starttls` of a grant (net.c). */
bool net_scope_read(
    const struct word *, uint32_t *ret_scope, uint8_t addr[16], uint32_t *ret_prefix);
int net_starttls(const char *); /* enum sealed_net_proto, or -1 */
/* The enum sealed_class of a word like @readonly, or 0 (mcp.c). */
uint32_t gate_class(const struct word *);
/* Does libseccomp know this call (seccomp.c)? */
bool syscall_is_known(const char *);
/*
 * The file that `path` in a statement of file `from` refers to (include.c): in
 * or below that file's directory, or absolute.  NULL with *ret_why: the path is
 * not allowed.
 */
const char *include_path(
    struct tree *, const char *from, const char *path, const char **ret_why);
/* Does outer contain every host of inner? Ignores ports. */
bool host_covers(const struct host *outer, const struct host *inner);
/* Do a and b share a host? Compares ports if both have them. */
bool host_meets(const struct host *a, const struct host *b);

/* ---- conflict.c ---------------------------------------------------------- */

/* Duplicates in a server, and grants that contradict each other. */
void conflict_server(struct tree *, const struct server *, struct diag *);
/* Servers with the same name. */
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

#define MANIFEST_WORDS_MAX 4096 /* paths after one `required` */

/* The field that a bare word names. */
enum manifest_kind manifest_field(const struct word *);
/* The field has one value: the word after it is the next field's name. */
bool manifest_takes_one(enum manifest_kind);
/* A name that people use for secret values; gets its own message. */
bool manifest_is_value_word(const struct word *);
/* The days of `rotate-every`: 0 or -EINVAL. */
int manifest_days(const struct word *, uint32_t *ret);
/* Statements of manifests and catalogs: secret, override, token, required,
 * optional. */
void manifest_check(struct tree *, struct diag *);
/* Refuses these statements in a policy, except `secret`. */
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
/* A code point that is invisible or reorders the text of a line. */
bool lex_unseen(uint32_t code);
/* Decodes one UTF-8 code point: its length, or 0 if the bytes are not UTF-8. */
size_t lex_utf8(const char *, size_t len, uint32_t *ret);

#endif
