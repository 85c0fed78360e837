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
#include <stdio.h>
#include <sys/types.h>

#include "policy/base/source.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"

struct at {
	uint32_t file; /* index into tree.source */
	uint32_t line; /* from 1 */
	uint32_t col;  /* from 1, in bytes */
};

/* Every keyword that has a row in keyword.c, sorted by name. */
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
	KW_METHOD,
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
 * A qualifier or option: because "..." | except ... | { optional } | { approve
 * session } ... `no-sni` and `plain` have no word; `with env` has the names.
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
	bool expanded;     /* copied from a block; the source has the `use` before it */
	struct at used_at; /* expanded: where that `use` is */
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
 * (manifests).
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
	struct memo *memo;       /* cached file-system answers; NULL: not created yet */
	struct sources *sources; /* sources.kennel; NULL: not read yet */
	struct trusted *trusted; /* files that run or decide (trusted.h) */
	struct trusted *known;   /* the same of many policies; or NULL */
	unsigned int known_group;
};

/* ---- arena: all memory of one compilation, freed together (arena.c) ------ */
struct arena *arena_new(void);
void arena_free(struct arena *);
void *arena_alloc(struct arena *, size_t);              /* zeroed; NULL: no memory */
char *arena_copy(struct arena *, const char *, size_t); /* adds a NUL */
/*
 * Returns the array of n rows with room for one more.  It may be a new array;
 * the old one then stays unused in the arena.  NULL: no memory.
 */
void *arena_push(struct arena *, void *array, size_t n, size_t row_size);

/* ---- diag.c: error messages with location and caret ---------------------- */
#define DIAG_SHOWN_MAX 100 /* further ones are only counted */

struct diag {
	FILE *out;
	const struct policy_source *source;
	size_t source_n;
	size_t error_n;
	size_t warning_n;
	bool hide_line; /* the current statement may hold a secret value */
	bool hide_all;  /* any line may hold one: a manifest */
	bool quiet;     /* only count warnings */
	bool sorted;    /* print the messages at diag_end, in source order */
	bool json;      /* print one JSON document at diag_end; needs sorted */
	struct held *held;
	size_t held_n;
};

/*
 * "file:line:col: error: ...", then the line and a caret under col.  Text from
 * the file is escaped and cut at 80 characters.  With hide_line, or on a secret
 * or env line, the line is not shown.
 */
void diag_error_in(const char *code, struct diag *, struct at, const char *, ...)
    __attribute__((format(printf, 4, 5)));
void diag_warning_in(const char *code, struct diag *, struct at, const char *, ...)
    __attribute__((format(printf, 4, 5)));
/* Each file that reports defines DIAG_CODE, the code of its messages in
 * `policy check --json`.  kennel-policy(1) lists the codes; they are stable. */
#define diag_error(...)   diag_error_in(DIAG_CODE, __VA_ARGS__)
#define diag_warning(...) diag_warning_in(DIAG_CODE, __VA_ARGS__)
/*
 * The entry of a list that is nearest to the text, or NULL if none is near:
 * "did you mean".
 */
const char *diag_near(const char *, const char *const *list, size_t n);
/*
 * Makes text from a file safe for a message: printable, cut at DIAG_TEXT_MAX
 * characters, NUL-terminated.  Returns out.
 */
#define DIAG_TEXT_MAX 80
#define DIAG_TEXT_CAP (DIAG_TEXT_MAX + 4)
char *diag_text(char out[DIAG_TEXT_CAP], const char *, size_t len);
/*
 * Prints the kept messages in source order, and one closing line if errors were
 * counted but not shown.
 */
void diag_end(struct diag *);

/* ---- the pipeline -------------------------------------------------------- */

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
/* Checks types, duplicates, units, paths, refused variables, contradictions. */
void tree_check(struct tree *, struct diag *);

/* Units of the language (kennel-policy(5)): 0 or -EINVAL. */
int unit_bytes(const char *, uint64_t *ret);   /* 512M */
int unit_ms(const char *, uint64_t *ret);      /* 30s 15m 250ms */
int unit_percent(const char *, uint64_t *ret); /* 200% */
int unit_count(const char *, uint64_t *ret);
/* True: absolute, in normal form, no NUL. */
bool path_is_normal(const char *);
/*
 * Variables that a policy may not set, because loaders and interpreters use
 * them.
 */
bool env_is_refused(const char *name);
/* Does a refused variable's name begin with this text? */
bool env_beginning_is_refused(const char *text, size_t len);
const char *keyword_name(enum keyword);

/*
 * The argument pattern that a word means: ARG_LITERAL, ARG_ANY (*), ARG_REST
 * (**), ARG_GLOB, ARG_CHOICE, ARG_SLOT or ARG_OPTIONS, and its text in the form
 * of struct sealed_arg.  -EINVAL for a mixture that has no such form: a literal
 * `*` beside a pattern `*`, a literal `|` beside a choice, `**` inside a word.
 */
int word_pattern(struct arena *, const struct word *, enum sealed_arg_kind *ret_kind,
    const char **ret_text);
/* No byte of the word is a pattern. */
bool word_is_literal(const struct word *);
/* Why the word's slot is invalid; NULL: it is valid, or the word has no slot. */
const char *word_refused(const struct word *);
/*
 * limit_kind: the kind that the name in a `limit` or `timeout` means, or 0.
 * limit_value: its value in the unit of the kind (enum sealed_limit_kind); 0 or
 * -EINVAL.
 */
enum sealed_limit_kind limit_kind(enum keyword, const char *name);
int limit_value(enum sealed_limit_kind, const char *text, uint64_t *ret);

/* ---- fs_cache.c: answers of the file system, each asked once ------------- */
struct memo *memo_new(void);
void memo_free(struct memo *);
/* The cache of this tree, freed with it; NULL: no memory. */
struct memo *tree_memo(struct tree *);

/* A symbolic link on the way; only root can change its text. */
struct way_link {
	const char *path, *text;
};
/* Where a path leads by the rules of shim/host/path_resolve.h. */
struct way {
	int error;          /* 0 or -errno; -ELOOP, -EXDEV: link and target are set */
	bool missing;       /* the last components of real do not exist */
	mode_t mode;        /* of real; 0: missing */
	const char *real;   /* canonical */
	const char *link;   /* the link that may not be followed */
	const char *target; /* what the policy should name instead, or "" */
	struct way_link *followed;
	size_t followed_n;
};
/* NULL: no memory.  The answer lives as long as the memo. */
const struct way *memo_way(struct memo *, const char *path);
/* Writes to out why the path leads nowhere. */
const char *way_why(const struct way *, char *out, size_t out_cap);

/* Compiles one checked server of the tree into the sealer.  Errors go to diag. */
struct sealer;
int tree_lower(
    const struct tree *, const struct server *, struct sealer *, struct diag *);

/* ---- expect.c ------------------------------------------------------------ */

/* The matcher's answer to one `expect` line of this server.  0 or -ENOMEM. */
int expect_ask(const struct policy *, const struct sealed_server *,
    const struct expectation *, struct policy_answer *ret);
/* Runs every `expect` of the servers in p; each mismatch goes to diag. */
int expect_run(const struct tree *, const struct policy *p, struct diag *);
/* The policy line that decided, or NULL if none did. */
const struct sealed_at *answer_at(const struct policy_answer *);

/* ---- write_sealed.c: rows in, bytes out; equal rows give equal bytes ----- */
struct sealer *sealer_new(void);
void sealer_free(struct sealer *);
/*
 * Equal texts give equal refs.  When memory runs out the sealer stays failed,
 * and sealer_finish returns the error.
 */
struct sealed_ref sealer_str(struct sealer *, const char *, size_t len);
/* Appends a row to a table (size is the row's size); returns its index. */
uint32_t sealer_row(struct sealer *, enum sealed_kind, const void *row, size_t size);
/* How many rows a table has now. */
uint32_t sealer_rows(const struct sealer *, enum sealed_kind);
/* A row to modify, or NULL; valid until the next sealer_row. */
void *sealer_at(struct sealer *, enum sealed_kind, uint32_t);
/* A string of the pool; valid until the next sealer_str. */
const char *sealer_text(const struct sealer *, struct sealed_ref);
/*
 * sealer_recall: the range stored under this key, or false.  sealer_keep: store
 * one; 0 or -ENOMEM.
 */
bool sealer_recall(const struct sealer *, const char *key, struct sealed_range *ret);
int sealer_remember(struct sealer *, const char *key, struct sealed_range);
/* The loader's reason, after sealer_finish failed. */
const char *sealer_why(const struct sealer *);
/*
 * Sorts servers by name, lays out the file, and checks the result with
 * policy_load_bytes before it returns 0.
 */
int sealer_finish(struct sealer *, struct buf *out);

/* ---- compile.c ----------------------------------------------------------- */

/*
 * Receives one compiled server.  A result other than 0 ends the run, and
 * compile_each returns it.
 */
typedef int compile_fn(const char *server, const struct buf *, void *arg);
/*
 * Like policy_compile, but compiles each server separately and passes them to
 * fn in source order.  All are compiled before the first is passed.
 */
int compile_each(
    const struct policy_source *source, size_t n, compile_fn *fn, void *arg, FILE *diag);

/* ---- seccomp.c: the only file that uses libseccomp ----------------------- */

/*
 * Builds one row of FILTERS: the allow-list (syscall_list.h), changed by the
 * policy's CALLS rows, as finished BPF for one AUDIT_ARCH, with the rows that
 * describe its verdicts.  -EPERM: the policy allows a call whose arguments must
 * be checked; -EINVAL: unknown call.
 */
int filter_build(struct sealer *, uint32_t audit_arch, struct sealed_range calls,
    struct sealed_range *ret);
/*
 * seccomp_rows.c: filters for every architecture; equal lines share their rows.
 */
int filters_build(struct sealer *, struct sealed_range calls, struct sealed_range *ret);

#endif
