/*
 * The syntax tree that the parser builds and that the checker and the compiler
 * read.  Private to policy/. Every statement is one struct, whatever its
 * keyword: the keyword table in keyword.c defines the allowed forms, so a new
 * keyword is a new row.
 *
 * Everything is allocated in one arena and is freed with it.
 */
#ifndef KENNEL_POLICY_LANG_AST_H
#define KENNEL_POLICY_LANG_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/base/diag.h"
#include "policy/base/source.h"
#include "policy/lang/keyword.h"
#include "policy/sealed/sealed.h"

/*
 * A word.  text is its value: after escapes and $let.  raw is what the file
 * contains, a slice of the source.  Messages show raw and never text, because
 * text may hold a secret that a let supplied.
 */
struct word {
	const char *text; /* NUL-terminated */
	size_t len;
	const char *raw;
	size_t raw_len;
	const uint8_t *literal; /* 1 for each byte of text that came from a let,
	                         * which is never a pattern; NULL: no such byte */
	bool quoted;            /* literal: never a pattern, never a keyword */
	bool rest;              /* a later value of a list: $name is printed once */
	enum keyword kw;        /* KW_NONE for a word that is not reserved */
	const struct let *let;  /* the let, if the whole word is $name; else NULL */
	struct at at;
};

/*
 * A qualifier or option: because "..." | except ... | rate 30/1m | { optional } |
 * { approve session } ... `no-sni` and `plain` have no word; `with env` has the
 * names.
 */
struct qual {
	enum keyword kw;
	struct at at;
	struct word *word;
	size_t word_n;
};

/* ---- conditions: `when` over the arguments of a call (parse_condition.c) -- */

enum cond_kind {
	COND_KIND_NONE,
	COND_KIND_OR,
	COND_KIND_AND,
	COND_KIND_NOT,
	COND_KIND_EQ,
	COND_KIND_NE,
	COND_KIND_LT,
	COND_KIND_LE,
	COND_KIND_GT,
	COND_KIND_GE,
	COND_KIND_IN,
	COND_KIND_MATCHES,
	COND_KIND_UNDER,
	COND_KIND_EXISTS,
};

/* .key or ["key"], or [3]. */
struct cond_step {
	const char *key; /* NULL: index */
	size_t key_len;
	uint32_t index;
};

#define COND_NODES_MAX 256
#define COND_STEPS_MAX 16
#define COND_LIST_MAX  1024

/*
 * and, or: both sides; not: left; the others compare the value at steps with
 * values.
 */
struct cond {
	enum cond_kind kind;
	struct at at;
	struct cond *left, *right;
	struct cond_step *step;
	size_t step_n;
	struct word *value; /* one; for `in`, any number */
	size_t value_n;
	bool relative; /* `under`: also a path that is relative to the server's cwd */
};

/*
 * The JSON type of a value, judged by its spelling; for $name, by the spelling
 * in its `let`.
 */
/* 0: not a quoted text, a number, true, false or null. */
enum sealed_value_type word_value_type(const struct word *);
const char *cond_name(enum cond_kind); /* "==", "in", ... */
/* May this key follow a `.`? */
bool cond_key_is_plain(const char *, size_t len);

struct block;

/*
 * A grant.  Content of word[], by keyword:
 *	about		the text
 *	run		program, then its arguments
 *	cwd user tmp	the one value
 *	env		name [value]	(word_n 1: passed on; "=" is dropped)
 *	secret		name, source word (env file cmd vault), reference...
 *	read write hide	the paths
 *	exec		program, then patterns; verdict
 *	net		host:port...; verdict
 *	tool resource prompt	names and @classes; verdict; when
 *	tool by-annotations	nothing, and no verdict
 *	method		names; allow or deny
 *	sampling elicitation roots	nothing; verdict
 *	syscalls	names; allow or deny
 *	audit		args full [tool...], result full [tool...], sync strict
 *	pins		the file
 *	use		names of blocks
 *	remote		the URL
 *	auth		bearer VARIABLE, or api-key HEADER VARIABLE
 *	header		name, value
 *	limit timeout	pairs: word, value, word, value...
 *	require		name [number]
 *	no-proc oneshot tty	nothing
 */
struct stmt {
	enum keyword kw;
	struct at at;
	enum sealed_verdict verdict;
	bool has_verdict;
	struct word *word;
	size_t word_n;
	struct qual *qual;
	size_t qual_n;
	struct cond *when; /* NULL: always */
	bool by_annotations;
	bool expanded; /* copied from a block, after its `use`; or meant by `remote` */
	struct at used_at; /* expanded: where that `use` or `remote` is */
};

#define SERVER_STMTS_MAX 100000 /* including those of its blocks */

struct server {
	struct word name;
	struct at at;
	struct stmt *stmt; /* each `use` is followed by the statements of its blocks */
	size_t stmt_n;
	bool broken; /* a statement was dropped because of an error */
};

/* Visible from its line on: in its file and in files that include it. */
struct block {
	struct server body;
	bool used;
};

struct let {
	struct word name;
	struct word value; /* empty if list is set */
	struct word *list; /* its values; NULL: not a list */
	size_t list_n;
	bool used;
};

struct include {
	struct at at;
	struct word path;
	struct word sha256; /* len 0: no digest given */
	uint32_t file;      /* index of the file that it included */
};

/*
 * never WHAT ... [ from servers [ NAME... ] [ except NAME... ] [ that ... ] ].
 * word[]: as in a grant of the same keyword, with the patterns of never.c.
 */
struct never {
	struct at at;
	enum keyword what;
	bool allow_only; /* `never allow`: the verdict ask is not a breach */
	struct word *word;
	size_t word_n;
	struct word *to; /* net: `to SCOPE`; NULL: anywhere */
	struct word *server;
	size_t server_n;
	struct word *except;
	size_t except_n;
	enum keyword that; /* KW_SECRET for `hold`; KW_NONE: any server */
	struct at that_at;
	struct word *that_word;
	size_t that_word_n;
};

/* One line of `expect`. */
struct expectation {
	struct at at;
	enum keyword kw;
	struct word *word; /* program and arguments; or one host, path or name */
	size_t word_n;
	const char *json; /* the arguments of a call; NULL: none */
	size_t json_len;
	struct word *from, *in; /* one word or NULL */
	struct word *env;       /* variables that changed since launch */
	size_t env_n;
	enum sealed_verdict verdict;
};

struct expect {
	struct at at;
	struct word name; /* of the server */
	struct expectation *row;
	size_t row_n;
};

/*
 * secret SPATH { field value... }: metadata of a secret.  Manifests may also
 * contain `override`, with which a project changes the metadata, and `token`, a
 * row of the catalog.
 */
struct field {
	struct word name;
	struct word *word;
	size_t word_n;
};
struct manifest {
	enum keyword kw; /* KW_SECRET, KW_OVERRIDE or KW_TOKEN */
	struct at at;
	struct word path;
	struct field *field;
	size_t field_n;
};
/*
 * required SPATH..., optional SPATH...: the secrets that a project needs
 * (manifests).  catalog "URL" [WORD VALUE]...: a catalog by URL (catalogs).
 */
struct declare {
	enum keyword kw;
	struct at at;
	struct word *word;
	size_t word_n;
};

struct tree {
	/*
	 * The sources given by the caller, then the included ones; source_own
	 * counts the former.
	 */
	const struct policy_source *source;
	size_t source_n, source_own;
	struct let **let; /* in source order */
	size_t let_n;
	struct server *server;
	size_t server_n;
	struct arena *arena;
	struct block **block;
	size_t block_n;
	struct include *include;
	size_t include_n;
	struct never *never;
	size_t never_n;
	struct expect *expect;
	size_t expect_n;
	struct manifest *manifest;
	size_t manifest_n;
	struct declare *declare;
	size_t declare_n;
	struct fs_cache *fs_cache; /* cached file-system answers; NULL: not created yet */
	struct sources *sources;   /* sources.kennel; NULL: not read yet */
	struct trusted *trusted;   /* files that run or decide (trusted.h) */
	struct trusted *known;     /* the same of many policies; or NULL */
	unsigned int known_group;
	struct policy_need *need; /* what a line must grant (compile.h); or NULL */
};

#define SOURCE_LEN_MAX (8u << 20) /* bytes of one policy file */
#define WORD_LEN_MAX   4096       /* bytes of one word after $let is expanded */

/*
 * Returns 0 with *ret filled, even if there were errors (see diag->error_n), or
 * -ENOMEM. Only parse.c calls lex.c.
 */
int tree_parse(const struct policy_source *, size_t n, struct diag *, struct tree *ret);
/* Limits of `include`: depth, and number of files. */
#define INCLUDE_DEPTH_MAX 16
#define INCLUDE_FILES_MAX 256
#define INCLUDE_LEN_MAX   (64u << 20) /* bytes of all files */
void tree_free(struct tree *);
/* The cache of this tree, freed with it; NULL: no memory. */
struct fs_cache *tree_fs_cache(struct tree *);

#endif
