/*
 * The policy room: text in, sealed file out; sealed file in, verdicts out.
 *
 *	lex parse check expand    text to a checked tree (tree.h)
 *	lower filter seal         tree to sealed bytes
 *	load match                sealed bytes to answers
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

#include "policy/sealed.h"
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
	size_t len;
	bool mapped;               /* base is policy_load's own mapping */
	uint8_t id[POLICY_ID_LEN]; /* SHA-256 of the body */

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
/* The same from bytes in memory that the caller keeps alive and unchanged:
 * for the compiler's own check of its output, for tests and the fuzzer. */
int policy_load_bytes(
    const uint8_t *, size_t, struct policy *ret, char *why, size_t why_cap);
void policy_unload(struct policy *);

/* SHA-256, for the digests in events: a leash has it through this room only. */
void policy_digest(const void *, size_t, uint8_t ret[32]);

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
/* "file:line" of a row, into out. */
const char *policy_at(const struct policy *, struct sealed_at, char *out, size_t out_cap);

const char *policy_verdict_name(enum sealed_verdict);
const char *policy_limit_name(enum sealed_limit_kind);
const char *policy_gate_name(enum sealed_gate_kind);
const char *policy_why_name(enum sealed_mount_why);
const char *policy_arch_name(uint32_t audit_arch);

/* ---- match.c: the one matcher ------------------------------------------ */

/*
 * The row that decides: deny beats ask beats allow; nothing matches is deny
 * with row NULL.  Order of rows never matters.
 */
struct policy_answer {
	enum sealed_verdict verdict;
	const struct sealed_exec *exec; /* policy_match_exec_* */
	const struct sealed_gate *gate; /* policy_match_gate */
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
struct policy_answer policy_match_exec_call(const struct policy *,
    const struct sealed_server *, uint32_t asked, struct policy_argv);
/*
 * Is a process whose mapped image is `mapped` and whose command line is this
 * one that row `granted` (from the call) allows to exist?
 */
bool policy_match_exec_stop(const struct policy *, const struct sealed_exec *granted,
    uint32_t mapped, struct policy_argv);
/* May this tool, resource or prompt be seen and used?  Compared by bytes. */
struct policy_answer policy_match_gate(const struct policy *,
    const struct sealed_server *, enum sealed_gate_kind, const char *name,
    size_t name_len);
/* '*' is any run of bytes, anything else itself. */
bool policy_glob(
    const char *pattern, size_t pattern_len, const char *text, size_t text_len);

/* ---- value.c: JSON values as they stand in a message ----------------------- */

/* Is this one JSON number, and nothing else? */
bool policy_is_number(const char *, size_t len);

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

/* ---- print.c ------------------------------------------------------------ */

/* What is granted and by which mechanism, for people; or as JSON. */
int policy_show(const struct policy *, const char *only, FILE *);
int policy_show_json(const struct policy *, const char *only, FILE *);

/* ---- main.c: "kennel policy ..." ---------------------------------------- */

/* argv[0] is the verb.  Returns an exit status (kennel(1)). */
int policy_main(int argc, char **argv);

#endif
