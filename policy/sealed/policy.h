/*
 * A sealed policy in use: it is loaded and checked once, and then asked.
 *
 *	load.c		the file: checked, then read in place
 *	match*.c	which row decides a request
 *	condition.c	conditions on JSON values
 */
#ifndef KENNEL_POLICY_SEALED_POLICY_H
#define KENNEL_POLICY_SEALED_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/sealed/sealed.h"

#define POLICY_ID_LEN 32

/* ---- load.c: a sealed file, checked once, used in place ---------------- */

/*
 * Every table points into one private read-only mapping.  The loader has
 * checked all counts and ranges: every row in a range of a server from
 * policy_server() exists.
 */
struct policy {
	const uint8_t *base;
	size_t len;                /* of the body */
	size_t map_len;            /* not 0: base is a mapping made by policy_load */
	uint8_t id[POLICY_ID_LEN]; /* SHA-256 of the body */
	uint32_t today;            /* days since 1970-01-01; 0: ask the clock */

	const char *strings;
	size_t strings_len;
	const struct sealed_ref *file;
	const struct sealed_server *server;
	const struct sealed_env *env;
	const struct sealed_secret *secret;
	const struct sealed_mount *mount;
	const struct sealed_image *image;
	const struct sealed_exec *exec;
	const struct sealed_arg *arg;
	const struct sealed_gate *gate;
	const struct sealed_limit *limit;
	const struct sealed_require *require;
	const struct sealed_filter *filter;
	const struct sealed_insn *insn;
	const struct sealed_ref *ref;
	const struct sealed_net *net;
	const struct sealed_cond *cond;
	const struct sealed_step *step;
	const struct sealed_value *value;
	const struct sealed_pin *pin;
	const struct sealed_audit *audit;
	const struct sealed_call *call;
	const struct sealed_syscall *syscall;
	const struct sealed_compare *compare;
	const struct sealed_except *except;
	const struct sealed_exception *exception;
	const uint32_t *slot;
	uint32_t row_n[SEALED_KIND_END];
};

/*
 * Loads from a descriptor whose file can no longer change: a memfd sealed
 * against writing, growing and shrinking (policy_seal_fd makes one; any other
 * is -EPERM). Returns 0; -EBADMSG for a file that breaks a rule, and -ESTALE for
 * one that another version of kennel compiled, both with one line of reason in
 * why[why_cap]; -EFBIG; -ENOMEM. *ret is untouched on failure.
 */
int policy_load(int fd, struct policy *ret, char *why, size_t why_cap);
/*
 * The rest of policy_load, for a process that will install this filter:
 * simulates that the filter does what its rows require.  Takes about 0.1 ms,
 * while the cell is created; nothing for a default filter, which the build has
 * simulated.  0; -EBADMSG with why; -ENOMEM.
 */
int policy_replay(
    const struct policy *, const struct sealed_filter *, char *why, size_t why_cap);
/*
 * Load and replay from memory that the caller keeps alive and unchanged: for
 * the compiler's check of its output, for tests and the fuzzer.
 */
int policy_load_bytes(
    const uint8_t *, size_t, struct policy *ret, char *why, size_t why_cap);
void policy_unload(struct policy *);
/*
 * The tables with the program and the verdicts of a filter of this loaded policy:
 * the policy's own, or those of the default filter that *f names.  Then *f becomes
 * that filter.
 */
const struct policy *policy_filter_tables(
    const struct policy *, const struct sealed_filter **f);

/* SHA-256, for the digests in events.  A leash gets it only through policy/. */
void policy_digest(const void *, size_t, uint8_t ret[32]);
/*
 * SHA-256 of a whole file, from its beginning: 0, -EFBIG above max bytes,
 * -errno.
 */
int policy_digest_fd(int fd, uint64_t max, uint8_t ret[32]);

/* A copy of the file at fd (at most SEALED_LEN_MAX) as a sealed memfd. */
int policy_seal_fd(int fd, int *ret_memfd);

/* A string of the pool: NUL-terminated, valid UTF-8. */
const char *policy_str(const struct policy *, struct sealed_ref);
/* The server of this name, or NULL. */
const struct sealed_server *policy_server(const struct policy *, const char *name);
/*
 * The limit of this kind, or its default if the policy sets none (0: no limit).
 */
uint64_t policy_limit(
    const struct policy *, const struct sealed_server *, enum sealed_limit_kind);
/* Does each call of the server get a process of its own? */
enum policy_oneshot {
	ONESHOT_NO = 0,
	ONESHOT_STATED,  /* `oneshot` */
	ONESHOT_IMPLIED, /* a secret has `approve per-call` */
};
enum policy_oneshot policy_oneshot(const struct policy *, const struct sealed_server *);
/* The URL of a server with `remote`; NULL: a program of this machine. */
const char *policy_remote_url(const struct policy *, const struct sealed_server *);
/* What the server requires of this kind, or NULL. */
const struct sealed_require *policy_require(
    const struct policy *, const struct sealed_server *, enum sealed_require_kind);
/* "file:line" of a row, into out. */
const char *policy_at(const struct policy *, struct sealed_at, char *out, size_t out_cap);

/* A duration in its largest whole unit: 90s, 1m, 1500ms.  Returns out. */
#define POLICY_DURATION_CAP 16
const char *policy_duration(uint32_t ms, char out[POLICY_DURATION_CAP]);

enum sealed_factor policy_gate_factor(const struct sealed_gate *);
/* none passphrase key */
const char *policy_factor_name(enum sealed_factor);
const char *policy_verdict_name(enum sealed_verdict);
const char *policy_limit_name(enum sealed_limit_kind);
const char *policy_gate_name(enum sealed_gate_kind);
/* The path whose manifest applies to a secret: as the vault has it, or as sources.kennel
 * routes it. NULL: it has none. */
const char *policy_secret_path(const struct policy *, const struct sealed_secret *);
const char *policy_source_name(uint32_t source); /* of a secret: env file cmd vault */
const char *policy_why_name(enum sealed_mount_why);
/* Is it a file that kennel writes into a cell's own /etc (leash/cell/etc_dev.c)? */
bool policy_etc_has(const char *path);
const char *policy_arch_name(uint32_t audit_arch);

/* ---- match.c, match_net_paths.c: the matcher ----------------------------- */

/*
 * The row that decides.  deny beats ask, ask beats allow; no match is deny
 * without a row.  The order of rows never matters: of several rows with the
 * same verdict, the one with the first line is reported.
 *
 * If a fact that a grant depends on is unknown (the caller, a directory, a
 * missing argument), an allow does not hold, and a deny or an ask does.  An
 * allow or ask with an expired exception is ignored; a deny stays.
 */
struct policy_answer {
	enum sealed_verdict verdict;
	const struct sealed_exec *exec;   /* policy_match_exec_call */
	const struct sealed_gate *gate;   /* policy_match_gate */
	const struct sealed_net *net;     /* policy_match_net */
	const struct sealed_mount *mount; /* policy_match_path */
};
/* Of the deciding row, if its verdict is ask. */
enum sealed_factor policy_answer_factor(const struct policy_answer *);

/* argv as the caller passed it (argv[0] included); images are row numbers. */
struct policy_argv {
	const char *const *v;
	size_t n;
};

/*
 * May the server start image `asked` with this argv?  argc 0 is deny.  The base
 * name of argv[0] must be the base name of the granted path.
 */
#define POLICY_NO_IMAGE 0xfffffffeu
struct policy_exec_ask {
	uint32_t asked; /* row of IMAGES */
	struct policy_argv argv;
	/*
	 * Row of IMAGES of the caller; SEALED_NONE: unknown; POLICY_NO_IMAGE:
	 * known, but not in IMAGES.
	 */
	uint32_t caller;
	const char *cwd; /* absolute, in normal form; NULL: unknown */
	/*
	 * Variables that differ from the launch and are not benign: NAME, or
	 * NAME=value, of which only the name is used.
	 */
	const char *const *env;
	size_t env_n;
};
struct policy_answer policy_match_exec_call(
    const struct policy *, const struct sealed_server *, const struct policy_exec_ask *);
/*
 * At the exec stop: does row `granted`, found at the call, allow a process with
 * mapped image `mapped` and this command line?
 */
bool policy_match_exec_stop(const struct policy *, const struct sealed_exec *granted,
    uint32_t mapped, struct policy_argv);
/* Does the row let this variable (its name) differ from the launch? */
/*
 * A prefix in `with env` that matches every name that begins with it:
 * "GITHEAD_*".
 */
bool policy_env_beginning(const char *text, size_t len);
bool policy_exec_env(
    const struct policy *, const struct sealed_exec *, const char *name, size_t len);

/*
 * May this tool, resource or prompt be seen and used?  Names are compared by
 * bytes.  A resource URI that is not in normal form matches every deny and
 * nothing else.  A method may also be allowed without a row: see
 * kennel-policy(5).
 */
struct policy_gate_ask {
	enum sealed_gate_kind kind;
	const char *name; /* ignored for SAMPLING, ELICITATION, ROOTS */
	size_t name_len;
	/*
	 * The name represents every URI in normal form that matches the same
	 * globs (used by diff); its own form is not checked.
	 */
	bool normal;
	/* Its pinned definition; NULL: none, so it counts as @unannotated. */
	const struct sealed_pin *pin;
	/*
	 * The classes that the server itself announces: may raise a verdict,
	 * never lower it.
	 */
	uint32_t said; /* enum sealed_class, or'ed */
	/*
	 * The arguments, one JSON value of args_len bytes.  NULL: none yet, as
	 * in a list of tools: an allow with a condition counts as usable, and a
	 * deny with one does not hide.
	 */
	const char *args;
	size_t args_len;
};
struct policy_answer policy_match_gate(
    const struct policy *, const struct sealed_server *, const struct policy_gate_ask *);
/*
 * What the server may ask of the agent today: SERVER_MCP_SAMPLING, ELICITATION, ROOTS.
 * The server's flags alone name what a line allows, also after the line's `until`.
 */
uint32_t policy_offers(const struct policy *, const struct sealed_server *);
/*
 * Does a row with a rate or a quota limit this call?  If it is unknown whether the row
 * matches, it does.  policy_gate_limits calls fn with each such row, whichever row
 * decides: the call must be within the limits of all, and counts for each.
 */
bool policy_gate_limited(
    const struct policy *, const struct sealed_gate *, const struct policy_gate_ask *);
typedef void policy_limit_fn(const struct policy *, uint32_t row, void *arg);
void policy_gate_limits(const struct policy *p, const struct sealed_server *s,
    const struct policy_gate_ask *ask, policy_limit_fn *fn, void *arg);

/* May the server reach this host (a name in lower case, or an address)? */
struct policy_net_ask {
	const char *host;
	size_t host_len;
	uint32_t port;
};
struct policy_answer policy_match_net(
    const struct policy *, const struct sealed_server *, const struct policy_net_ask *);

/*
 * May the server read or write there?  The path is absolute and in normal form.
 * Links of the view are followed; those of the host are not known here.  Never
 * ASK.
 */
struct policy_answer policy_match_path(const struct policy *,
    const struct sealed_server *, const char *path, enum sealed_mount_right);

/*
 * What that path is: the host's file, or a place of the cell's own. Allocated; NULL:
 * no memory.
 */
char *policy_path_source(
    const struct policy *, const struct sealed_server *, const char *path);

/*
 * Why one row does not match a request: the first requirement that fails.  For
 * explanations; uses the same tests as the matcher.
 */
enum policy_miss {
	MISS_NONE = 0, /* the row matches */
	MISS_KIND,     /* of the gate */
	MISS_IMAGE,
	MISS_ARGS,
	MISS_NAME,    /* of the gate; the program's own name, argv[0] */
	MISS_EXCEPT,  /* excluded by `except` */
	MISS_EXPIRED, /* its exception is expired */
	MISS_FROM,
	MISS_IN,
	MISS_ENV,
	MISS_CLASS,
	MISS_COND,
	MISS_HOST,
	MISS_PORT,
	MISS_URI, /* of a resource: servers resolve it to another one */
};
enum policy_miss policy_exec_miss(
    const struct policy *, const struct sealed_exec *, const struct policy_exec_ask *);
enum policy_miss policy_gate_miss(
    const struct policy *, const struct sealed_gate *, const struct policy_gate_ask *);
enum policy_miss policy_net_miss(
    const struct policy *, const struct sealed_net *, const struct policy_net_ask *);
const char *policy_miss_name(enum policy_miss);

/*
 * The pin of this kind and name: for this set of client capabilities if there
 * is one, else the first; or NULL.
 */
const struct sealed_pin *policy_pin(const struct policy *, const struct sealed_server *,
    enum sealed_pin_kind, const char *name, size_t name_len, const char *variant);

/* '*' matches any run of bytes; other bytes match themselves. */
bool policy_glob(
    const char *pattern, size_t pattern_len, const char *text, size_t text_len);
/* Does a pattern of one argument match it? Not for ARG_REST and ARG_OPTIONS: false. */
bool policy_arg(
    enum sealed_arg_kind, const char *want, size_t want_len, const char *text);
/* Absolute; no empty, "." or ".." part; no slash at the end; not too long? */
bool policy_is_path(const char *, size_t len);
/* Is path the directory, or below it? */
bool policy_under(const char *path, size_t path_len, const char *folder, size_t len);

/* ---- condition.c: JSON values of a message ------------------------------- */

enum policy_truth { TRUTH_NO = 0, TRUTH_YES, TRUTH_UNKNOWN };

/*
 * Evaluates conditions on one JSON value (the arguments of a call). No
 * condition: yes.  Bytes that are not strict JSON (RFC 8259, UTF-8, no
 * duplicate name in an object that a condition reads) make every condition
 * unknown.
 */
enum policy_truth policy_conds(
    const struct policy *, struct sealed_range, const char *json, size_t len);
/* Is this exactly one JSON value? */
bool policy_is_json(const char *, size_t len);
/* Is this exactly one JSON number? */
bool policy_is_number(const char *, size_t len);

#endif
