/*
 * What the parser makes and the checker and the compiler walk: private to the
 * policy room.  One statement is one struct, whatever its word: the keyword
 * table in keyword.c says which shapes are allowed, so a new word is a new row.
 *
 * Everything lives in one arena and is freed with it.
 */
#ifndef KENNEL_POLICY_TREE_H
#define KENNEL_POLICY_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/sealed/policy.h"

struct at {
	uint32_t file; /* index into tree.source */
	uint32_t line; /* from 1 */
	uint32_t col;  /* from 1, in bytes */
};

/* Every word that has a row in keyword.c, in the order of its name. */
enum keyword {
	KW_NONE = 0,
	KW_ABOUT,
	KW_ALLOW,
	KW_APPROVE,
	KW_AS,
	KW_ASK,
	KW_AUDIT,
	KW_BECAUSE,
	KW_BLOCK,
	KW_BY_ANNOTATIONS,
	KW_CWD,
	KW_DENY,
	KW_DIGEST,
	KW_ELICITATION,
	KW_ENV,
	KW_EXCEPT,
	KW_EXEC,
	KW_EXPECT,
	KW_FROM,
	KW_HIDE,
	KW_HOSTS,
	KW_IN,
	KW_INCLUDE,
	KW_INSTEAD,
	KW_LET,
	KW_LIMIT,
	KW_MAY,
	KW_NET,
	KW_NEVER,
	KW_NO_PROC,
	KW_NO_SNI,
	KW_OPTIONAL,
	KW_OVERRIDE,
	KW_OWNER,
	KW_PINS,
	KW_PLAIN,
	KW_PROMPT,
	KW_READ,
	KW_REQUIRE,
	KW_REQUIRED,
	KW_RESOURCE,
	KW_ROOTS,
	KW_RUN,
	KW_SAMPLING,
	KW_SCRUB,
	KW_SECRET,
	KW_SERVER,
	KW_STARTTLS,
	KW_SYSCALLS,
	KW_TICKET,
	KW_TIMEOUT,
	KW_TMP,
	KW_TO,
	KW_TOKEN,
	KW_TOOL,
	KW_UNTIL,
	KW_USE,
	KW_USER,
	KW_WEAK,
	KW_WHEN,
	KW_WITH,
	KW_WRITE,
	KW_END
};

/*
 * A word.  text is what it means: after escapes and $let.  raw is what was
 * written, a piece of the source; messages show that and never text, which may
 * hold a value that came through a let.
 */
struct word {
	const char *text; /* NUL-terminated */
	size_t len;
	const char *raw;
	size_t raw_len;
	const uint8_t *literal; /* one flag per byte of text: 1 is from a let and
	                         * never a pattern; NULL: no byte is */
	bool quoted;            /* literal: no pattern, never a keyword */
	bool rest;              /* a further value of a list: $name is printed once */
	enum keyword kw;        /* KW_NONE for every word that is not reserved */
	const struct let *let;  /* all of the word is this $name; else NULL */
	struct at at;
};

/*
 * because "..." | except ... | { optional } | { approve session } ...
 * `no-sni` and `plain` have no word; `with env` has the names.
 */
struct qual {
	enum keyword kw;
	struct at at;
	struct word *word;
	size_t word_n;
};

/* ---- conditions: `when` over the arguments of a call (when.c) ----------- */

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

/* and, or: both sides; not: left; the others compare steps with values. */
struct cond {
	enum cond_kind kind;
	struct at at;
	struct cond *left, *right;
	struct cond_step *step;
	size_t step_n;
	struct word *value; /* one; `in`: any number */
	size_t value_n;
};

/* What a value is in JSON: as it was written, a $name as its `let` was. */
/* 0: neither a quoted text, a number, true, false nor null. */
enum sealed_value_type word_value_type(const struct word *);
const char *cond_name(enum cond_kind); /* "==", "in", ... */
/* May this key stand behind a `.`? */
bool cond_key_is_plain(const char *, size_t len);

struct block;

/*
 * A grant.  What word[] holds, by keyword:
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
 *	sampling elicitation roots	nothing; verdict
 *	syscalls	names; allow or deny
 *	audit		args full [tool...], result full [tool...], sync strict
 *	pins		the file
 *	use		names of blocks
 *	limit timeout	pairs: word, value, word, value...
 *	require		name [number]
 *	no-proc		nothing
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
	bool expanded;     /* of a block; the `use` above it is what was written */
	struct at used_at; /* expanded: that `use` */
};

#define SERVER_STMTS_MAX 100000 /* with those of its blocks */

struct server {
	struct word name;
	struct at at;
	struct stmt *stmt; /* a `use` is followed by what its blocks hold */
	size_t stmt_n;
	bool broken; /* a statement was left out because it was wrong */
};

/* Known from its line on: in its file, and in what includes that. */
struct block {
	struct server body;
	bool used;
};

struct let {
	struct word name;
	struct word value; /* of a list: empty */
	struct word *list; /* its values; NULL: no list */
	size_t list_n;
	bool used;
};

struct include {
	struct at at;
	struct word path;
	struct word sha256; /* len 0: not pinned */
	uint32_t file;      /* index of what it brought */
};

/*
 * never WHAT ... [ from servers [ NAME... ] [ except NAME... ] [ that ... ] ].
 * word[]: as in a grant of that keyword, with the patterns of never.c.
 */
struct never {
	struct at at;
	enum keyword what;
	bool allow_only; /* `never allow`: what is asked is no breach */
	struct word *word;
	size_t word_n;
	struct word *to; /* net: `to SCOPE`; NULL: wherever */
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
	struct word *word; /* program and arguments; one host, path or name */
	size_t word_n;
	const char *json; /* the arguments of a call; NULL: none */
	size_t json_len;
	struct word *from, *in; /* one word or NULL */
	struct word *env;       /* names that changed since launch */
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
 * secret SPATH { field value... }: what is known about a secret.  In manifests
 * also `override`, what a project says otherwise, and `token`, a row of the
 * catalog.
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
/* required SPATH..., optional SPATH...: what a project needs (manifests). */
struct declare {
	enum keyword kw;
	struct at at;
	struct word *word;
	size_t word_n;
};

struct tree {
	/* What was given, then what was included; source_own: how many were given. */
	const struct policy_source *source;
	size_t source_n, source_own;
	struct let **let; /* in the order of the text */
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
	struct memo *memo;     /* while it is lowered: what the file system said */
	struct router *router; /* what answers for secrets; NULL: not asked yet */
};

/* ---- arena: everything of one compilation, freed at once (arena.c) ------ */
struct arena *arena_new(void);
void arena_free(struct arena *);
void *arena_alloc(struct arena *, size_t);              /* zeroed; NULL: no memory */
char *arena_copy(struct arena *, const char *, size_t); /* and a NUL */
/* The array of n rows with room for one more; the old one may be left behind.
 * NULL: no memory. */
void *arena_push(struct arena *, void *array, size_t n, size_t row_size);

/* ---- diag.c: what is wrong, where, with a caret ------------------------- */
#define DIAG_SHOWN_MAX 100 /* then only counted */

struct diag {
	FILE *out;
	const struct policy_source *source;
	size_t source_n;
	size_t error_n;
	size_t warning_n;
	bool hide_line; /* the statement at hand may hold a value */
	bool hide_all;  /* any line may: a manifest */
	bool quiet;     /* warnings are counted only */
	bool sorted;    /* keep what is said and say it at diag_end, in order */
	bool json;      /* one JSON document, at diag_end; with sorted */
	struct held *held;
	size_t held_n;
};

/* "file:line:col: error: ..." then the line and a caret under col.  Text from
 * the file is escaped and cut at 80 characters; with hide_line, or on a
 * secret or env line, it is not shown at all. */
void diag_error_in(const char *source, struct diag *, struct at, const char *, ...)
    __attribute__((format(printf, 4, 5)));
void diag_warning_in(const char *source, struct diag *, struct at, const char *, ...)
    __attribute__((format(printf, 4, 5)));
#define diag_error(...)   diag_error_in(__FILE__, __VA_ARGS__)
#define diag_warning(...) diag_warning_in(__FILE__, __VA_ARGS__)
/* The code of what this source file says: diag_code.c has the list. */
const char *diag_code(const char *source);
/* The nearest word of a list, or NULL when none is near: "did you mean". */
const char *diag_near(const char *, const char *const *list, size_t n);
/* Text from a file made fit for a message: printable, cut at DIAG_TEXT_MAX
 * characters, NUL-terminated.  Returns out. */
#define DIAG_TEXT_MAX 80
#define DIAG_TEXT_CAP (DIAG_TEXT_MAX + 4)
char *diag_text(char out[DIAG_TEXT_CAP], const char *, size_t len);
/* What is kept, in the order of the text; one closing line when errors were
 * counted but not shown. */
void diag_end(struct diag *);

/* ---- the pipeline -------------------------------------------------------- */

#define SOURCE_LEN_MAX (8u << 20) /* bytes of one policy file */
#define WORD_LEN_MAX   4096       /* bytes of one word after $let */

/* 0 with *ret filled even when there were errors (diag->error_n says);
 * -ENOMEM.  lex.c is called by parse.c only. */
int tree_parse(const struct policy_source *, size_t n, struct diag *, struct tree *ret);
/* How deep, and how many files, `include` goes. */
#define INCLUDE_DEPTH_MAX 16
#define INCLUDE_FILES_MAX 256
#define INCLUDE_LEN_MAX   (64u << 20) /* bytes of all of them */
void tree_free(struct tree *);
/* Types, duplicates, units, paths, refused variables, contradictions. */
void tree_check(struct tree *, struct diag *);
/* Canonical text; whatever parses can be printed and parses to the same. */
int tree_print(const struct tree *, FILE *);

/* Units of the language (kennel-policy(5)): 0 or -EINVAL. */
int unit_bytes(const char *, uint64_t *ret);   /* 512M */
int unit_ms(const char *, uint64_t *ret);      /* 30s 15m 250ms */
int unit_percent(const char *, uint64_t *ret); /* 200% */
int unit_count(const char *, uint64_t *ret);
/* Absolute, normal form, no NUL: true. */
bool path_is_normal(const char *);
/* Variables a policy may not set: loaders and interpreters. */
bool env_is_refused(const char *name);
/* Has any name that no policy may set this beginning? */
bool env_beginning_is_refused(const char *text, size_t len);
const char *keyword_name(enum keyword);

/*
 * What a word means as an argument pattern: ARG_LITERAL, ARG_ANY (*),
 * ARG_REST (**), ARG_GLOB, ARG_CHOICE, ARG_SLOT or ARG_OPTIONS, and its text as struct sealed_arg
 * wants it.  -EINVAL for a mixture that has no such text: a literal `*` beside
 * a pattern `*`, a literal `|` beside a choice, `**` inside a word.
 */
int word_pattern(struct arena *, const struct word *, enum sealed_arg_kind *ret_kind,
    const char **ret_text);
/* No byte of it is a pattern. */
bool word_is_literal(const struct word *);
/* Why its slot cannot be read; NULL: it can, or it has none. */
const char *word_refused(const struct word *);
/* The kind that a word of `limit` or `timeout` names; 0: none.  And its value
 * in the unit of the kind (enum sealed_limit_kind): 0 or -EINVAL. */
enum sealed_limit_kind limit_kind(enum keyword, const char *name);
int limit_value(enum sealed_limit_kind, const char *text, uint64_t *ret);

/* ---- memo.c: what the file system said, asked once ----------------------- */
struct memo *memo_new(void);
void memo_free(struct memo *);

/* Lower one checked server of the tree into the sealer.  Errors to diag. */
struct sealer;
int tree_lower(
    const struct tree *, const struct server *, struct sealer *, struct diag *);

/* ---- expect.c ------------------------------------------------------------ */

/* What the matcher says to one line of `expect` of this server.  0 or -ENOMEM. */
int expect_ask(const struct policy *, const struct sealed_server *,
    const struct expectation *, struct policy_answer *ret);
/* Every `expect` of a server that p has; what is not as expected goes to diag. */
int expect_run(const struct tree *, const struct policy *p, struct diag *);
/* The line that decided, or NULL: none did. */
const struct sealed_at *answer_at(const struct policy_answer *);

/* ---- seal.c: rows in, bytes out; same rows, same bytes ------------------ */
struct sealer *sealer_new(void);
void sealer_free(struct sealer *);
/* The same text gives the same ref.  On no memory the sealer fails for good
 * and sealer_finish says so. */
struct sealed_ref sealer_str(struct sealer *, const char *, size_t len);
/* Append a row of a table (size is the row's); its index. */
uint32_t sealer_row(struct sealer *, enum sealed_kind, const void *row, size_t size);
/* How many rows a table has so far. */
uint32_t sealer_rows(const struct sealer *, enum sealed_kind);
/* A row for changing, or NULL; good until the next sealer_row. */
void *sealer_at(struct sealer *, enum sealed_kind, uint32_t);
/* A string of the pool; good until the next sealer_str. */
const char *sealer_text(const struct sealer *, struct sealed_ref);
/* The range that was kept under this text, or false; and keep it.  0, -ENOMEM. */
bool sealer_recall(const struct sealer *, const char *key, struct sealed_range *ret);
int sealer_remember(struct sealer *, const char *key, struct sealed_range);
/* After sealer_finish refused: what the loader said. */
const char *sealer_why(const struct sealer *);
/* Sorts servers by name, lays out, and loads the result with policy_load_bytes
 * before it says 0. */
int sealer_finish(struct sealer *, struct buf *out);

/* ---- compile.c ----------------------------------------------------------- */

/* One compiled server; not 0 ends the run and is what compile_each returns. */
typedef int compile_fn(const char *server, const struct buf *, void *arg);
/*
 * policy_compile, but each server for itself, handed to fn in the order of the
 * text.  All are compiled before the first is handed over.
 */
int compile_each(
    const struct policy_source *source, size_t n, compile_fn *fn, void *arg, FILE *diag);

/* ---- filter.c: the only file that knows libseccomp ---------------------- */

/*
 * The allow-list (calls.h) as the policy's own CALLS rows change it, as finished
 * BPF for one AUDIT_ARCH, with the rows of what it answers: one row of FILTERS.
 * -EPERM: a call is allowed whose arguments are looked at; -EINVAL: no such call.
 */
int filter_build(struct sealer *, uint32_t audit_arch, struct sealed_range calls,
    struct sealed_range *ret);
/* decoded.c: for every architecture; the same lines give the same rows again. */
int filters_build(struct sealer *, struct sealed_range calls, struct sealed_range *ret);

#endif
