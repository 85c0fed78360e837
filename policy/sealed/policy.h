/*
 * The policy room: text in, sealed file out; sealed file in, verdicts out.
 *
 *	lex parse check expand    text to a checked tree (tree.h)
 *	lower filter seal         tree to sealed bytes
 *	load match reach value    sealed bytes to answers
 *	print                     either of them back to text
 *
 * A leash links load and match only, its shim neither: no parser reaches the
 * process that holds secrets.
 */
#ifndef KENNEL_POLICY_POLICY_H
#define KENNEL_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/sealed/sealed.h"
#include "shim/base/buf.h"

#define POLICY_ID_LEN 32

/* ---- load.c: a sealed file, checked once, used in place ---------------- */

/*
 * Every table points into one private read-only mapping.  Counts and ranges
 * have been checked against each other: a row reached through a range of a
 * server that policy_server() gave is there.
 */
struct policy {
	const uint8_t *base;
	size_t len;                /* of the body */
	size_t map_len;            /* not 0: base is policy_load's own mapping */
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
 * Load from a descriptor that cannot change any more: a memfd sealed against
 * writing, growing and shrinking (anything else is -EPERM; policy_seal_fd
 * makes one).  0; -EBADMSG for a file that breaks any rule, with one line of
 * why in why[why_cap]; -EFBIG, -ENOMEM.  *ret is untouched on failure.
 */
int policy_load(int fd, struct policy *ret, char *why, size_t why_cap);
/*
 * The rest of policy_load, for who is going to install this filter: that it
 * does what its rows say.  It takes a millisecond, which a start has while the
 * cell is made.  0; -EBADMSG with why; -ENOMEM.
 */
int policy_replay(
    const struct policy *, const struct sealed_filter *, char *why, size_t why_cap);
/* Both from bytes in memory that the caller keeps alive and unchanged: for the compiler's own check of its output, for tests and the fuzzer. */
int policy_load_bytes(
    const uint8_t *, size_t, struct policy *ret, char *why, size_t why_cap);
void policy_unload(struct policy *);

/* SHA-256, for the digests in events: a leash has it through this room only. */
void policy_digest(const void *, size_t, uint8_t ret[32]);
/* The same of a whole file, from its beginning: 0, -EFBIG above max bytes, -errno. */
int policy_digest_fd(int fd, uint64_t max, uint8_t ret[32]);

/* A copy of the file at fd (at most SEALED_LEN_MAX) as a sealed memfd. */
int policy_seal_fd(int fd, int *ret_memfd);

/* A string of the pool: NUL-terminated, valid UTF-8. */
const char *policy_str(const struct policy *, struct sealed_ref);
/* The server of this name, or NULL. */
const struct sealed_server *policy_server(const struct policy *, const char *name);
/* The limit of this kind, or the default that applies where none is written
 * (0: no limit). */
uint64_t policy_limit(
    const struct policy *, const struct sealed_server *, enum sealed_limit_kind);
/* What the server requires of this kind, or NULL. */
const struct sealed_require *policy_require(
    const struct policy *, const struct sealed_server *, enum sealed_require_kind);
/* "file:line" of a row, into out. */
const char *policy_at(const struct policy *, struct sealed_at, char *out, size_t out_cap);

const char *policy_verdict_name(enum sealed_verdict);
const char *policy_limit_name(enum sealed_limit_kind);
const char *policy_gate_name(enum sealed_gate_kind);
const char *policy_source_name(uint32_t source); /* of a secret: env file cmd vault */
const char *policy_why_name(enum sealed_mount_why);
const char *policy_arch_name(uint32_t audit_arch);

/* ---- match.c, reach.c: the one matcher ---------------------------------- */

/*
 * The row that decides: deny beats ask beats allow; nothing matches is deny
 * with no row.  Order of rows never matters: of several that say the same, the
 * one with the first line is told.
 *
 * Where nobody knows what a grant asks for (a caller, a folder, an argument that
 * is not there), an allow does not hold, and a deny or an ask does.  An allow or
 * ask whose exception has run out is dead; a deny stays.
 */
struct policy_answer {
	enum sealed_verdict verdict;
	const struct sealed_exec *exec;   /* policy_match_exec_call */
	const struct sealed_gate *gate;   /* policy_match_gate */
	const struct sealed_net *net;     /* policy_match_net */
	const struct sealed_mount *mount; /* policy_match_path */
};

/* argv as the caller gave it (argv[0] included); images are row numbers. */
struct policy_argv {
	const char *const *v;
	size_t n;
};

/*
 * May the server start image `asked` with this argv?  argc 0 is deny.  The
 * base name of argv[0] must be the base name of the granted path.
 */
#define POLICY_NO_IMAGE 0xfffffffeu
struct policy_exec_ask {
	uint32_t asked; /* row of IMAGES */
	struct policy_argv argv;
	/* Row of IMAGES of who asks; SEALED_NONE: not known; POLICY_NO_IMAGE: known,
	 * and none of them. */
	uint32_t caller;
	const char *cwd; /* absolute, normal; NULL: not known */
	/* Variables that differ from the launch and are not benign: NAME, or
	 * NAME=value, of which only the name is looked at. */
	const char *const *env;
	size_t env_n;
};
struct policy_answer policy_match_exec_call(
    const struct policy *, const struct sealed_server *, const struct policy_exec_ask *);
/*
 * Is a process whose mapped image is `mapped` and whose command line is this
 * one that row `granted` (from the call) allows to exist?
 */
bool policy_match_exec_stop(const struct policy *, const struct sealed_exec *granted,
    uint32_t mapped, struct policy_argv);
/* Does the row let this variable (its name) differ from the launch? */
/* A name of `with env` that stands for all that begin so: "GITHEAD_*". */
bool policy_env_beginning(const char *text, size_t len);
bool policy_exec_env(
    const struct policy *, const struct sealed_exec *, const char *name, size_t len);

/* May this tool, resource or prompt be seen and used?  Compared by bytes. */
struct policy_gate_ask {
	enum sealed_gate_kind kind;
	const char *name; /* not looked at from SAMPLING on */
	size_t name_len;
	/* Its pinned definition; NULL: none, it counts as @unannotated. */
	const struct sealed_pin *pin;
	/* What the server itself says of it: may raise a verdict, never lower. */
	uint32_t said; /* enum sealed_class, or'ed */
	/*
	 * The arguments, one JSON value of args_len bytes.  NULL: none yet, as in
	 * a list: a grant with a condition counts as usable, a denial with one
	 * does not hide.
	 */
	const char *args;
	size_t args_len;
};
struct policy_answer policy_match_gate(
    const struct policy *, const struct sealed_server *, const struct policy_gate_ask *);

/* May the server reach this host (a name in lower case, or an address)? */
struct policy_net_ask {
	const char *host;
	size_t host_len;
	uint32_t port;
};
struct policy_answer policy_match_net(
    const struct policy *, const struct sealed_server *, const struct policy_net_ask *);

/* May the server read or write there?  An absolute, normal path; links of the
 * view are followed, those of the host are not known here.  Never ASK. */
struct policy_answer policy_match_path(const struct policy *,
    const struct sealed_server *, const char *path, enum sealed_mount_right);

/* What one row lacks to hold for an ask: the first thing that is missing.  What
 * the matcher asks of each row, for those who explain it. */
enum policy_miss {
	MISS_NONE = 0, /* it holds */
	MISS_KIND,     /* of the gate */
	MISS_IMAGE,
	MISS_ARGS,
	MISS_NAME,    /* of the gate; the program's own name, argv[0] */
	MISS_EXCEPT,  /* carved out */
	MISS_EXPIRED, /* its exception has run out */
	MISS_FROM,
	MISS_IN,
	MISS_ENV,
	MISS_CLASS,
	MISS_COND,
	MISS_HOST,
	MISS_PORT,
};
enum policy_miss policy_exec_miss(
    const struct policy *, const struct sealed_exec *, const struct policy_exec_ask *);
enum policy_miss policy_gate_miss(
    const struct policy *, const struct sealed_gate *, const struct policy_gate_ask *);
enum policy_miss policy_net_miss(
    const struct policy *, const struct sealed_net *, const struct policy_net_ask *);
const char *policy_miss_name(enum policy_miss);
/* The verdict of a row that holds: its own, or what annotations make of it. */
enum sealed_verdict policy_gate_verdict(
    const struct sealed_gate *, const struct policy_gate_ask *);

/* The pin of this kind and name, for this set of client capabilities if there
 * is one, else the first; NULL. */
const struct sealed_pin *policy_pin(const struct policy *, const struct sealed_server *,
    enum sealed_pin_kind, const char *name, size_t name_len, const char *variant);

/* '*' is any run of bytes, anything else itself. */
bool policy_glob(
    const char *pattern, size_t pattern_len, const char *text, size_t text_len);
/* Absolute, no empty, "." or ".." part, no slash at the end, not too long? */
bool policy_is_path(const char *, size_t len);
/* Is path the folder, or below it? */
bool policy_under(const char *path, size_t path_len, const char *folder, size_t len);

/* ---- value.c: JSON values as they stand in a message ----------------------- */

enum policy_truth { TRUTH_NO = 0, TRUTH_YES, TRUTH_UNKNOWN };

/* Conditions on one JSON value (the arguments of a call); no condition: yes.
 * Bytes that are no strict JSON (RFC 8259, UTF-8, no name twice in an object
 * that a condition looks into) make every condition unknown. */
enum policy_truth policy_conds(
    const struct policy *, struct sealed_range, const char *json, size_t len);
/* Is this one JSON value, and nothing else? */
bool policy_is_json(const char *, size_t len);
/* Is this one JSON number, and nothing else? */
bool policy_is_number(const char *, size_t len);
/* Two JSON numbers by their exact value: 0 and *ret < 0, 0, > 0; -ERANGE for
 * an exponent of more than 17 digits. */
int policy_number_compare(
    const char *a, size_t a_len, const char *b, size_t b_len, int *ret);

/* ---- compile: text to sealed bytes -------------------------------------- */

/*
 * How `include` and `pins` get at files.  The whole file at path, which is
 * relative to the folder of the process or absolute, into memory of malloc:
 * 0, -EFBIG above max, -errno.
 */
struct policy_reader {
	int (*read)(
	    void *arg, const char *path, size_t max, char **ret_text, size_t *ret_len);
	void *arg;
};
/* Opens them (read.c): regular files that not everybody may write (-EPERM). */
extern const struct policy_reader policy_files;

struct policy_source {
	const char *path; /* shown in errors; NULL: "(standard input)" */
	const char *text; /* len bytes, any bytes at all */
	size_t len;
	const struct policy_reader *reader; /* NULL: nothing can be included */
};

/*
 * Compile every server of these sources (only: this one server, or NULL) into
 * out.  All diagnostics of one run go to diag, as "file:line:col: error: ..."
 * with the line and a caret.  0; -EINVAL when there was at least one error,
 * and then out is untouched; -ENOMEM.  Reads the file system to find what the
 * granted programs need.
 */
int policy_compile(const struct policy_source *, size_t source_n, const char *only,
    struct buf *out, FILE *diag);
/* The same without lowering: errors only. */
int policy_check(const struct policy_source *, size_t source_n, FILE *diag);
/* The same as one JSON document: code, file, line, column and message of each. */
int policy_check_json(const struct policy_source *, size_t source_n, FILE *);

/* ---- print.c ------------------------------------------------------------ */

/* What is granted and by which mechanism, for people; or as JSON. */
int policy_show(const struct policy *, const char *only, FILE *);
int policy_show_json(const struct policy *, const char *only, FILE *);

/* ---- main.c: "kennel policy ..." ---------------------------------------- */

/* argv[0] is the verb.  Returns an exit status (kennel(1)). */
int policy_main(int argc, char **argv);

#endif
