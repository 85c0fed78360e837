/*
 * Private to lowering: a checked server of the tree becomes rows.
 *
 *	lower.c		the order; statements about files
 *	tables.c	statements that are rows of a table
 *	program.c	run and exec: images, scripts, what they need
 *	digest.c	programs that must keep their bytes
 *	libs.c elf.c	where a dynamic program finds its libraries
 *	preset.c	what the runtimes of languages need besides
 *	view.c		the mount plan
 */
#ifndef KENNEL_POLICY_LOWER_H
#define KENNEL_POLICY_LOWER_H

#include <limits.h>
#include <sys/types.h>

#include "policy/check/check.h"

/* ---- elf.c: what a file says that it needs ------------------------------- */

#define ELF_NEEDED_MAX 512 /* DT_NEEDED of one file */

struct elf {
	const char *interp;  /* PT_INTERP or NULL */
	const char **needed; /* DT_NEEDED, in order */
	size_t needed_n;
	const char *rpath; /* NULL where DT_RUNPATH is there */
	const char *runpath;
	uint16_t machine; /* EM_* */
};

/* 0; -ENOEXEC: no ELF at all; -ELIBBAD with *ret_why: an ELF that cannot be
 * used here (32 bits, another machine, or nonsense); -errno of the file. */
int elf_read(struct arena *, const char *path, struct elf *ret, const char **ret_why);

/* ---- view.c: the mount plan ----------------------------------------------- */

struct view_row {
	const char *source;
	const char *target;
	struct at at;
	uint32_t kind, right, why;
	bool optional;
	uint64_t size;
};

struct lower;

/*
 * Resolve an absolute path, link by link; each link on the way is reproduced.
 * *ret_real is the canonical path, also when its last parts are missing, and
 * then -ENOENT.  -ELOOP, -ENAMETOOLONG, -ENOMEM, -errno of the file system.
 */
int view_walk(struct lower *, const char *path, struct at, const char **ret_real);
/* Put a file or a folder into the view, at its canonical place.  0 or -ENOMEM. */
int view_put(struct lower *, const struct view_row *);
/* The mounts that every cell has. */
int view_base(struct lower *);
/* Is this canonical path in a row with any of these rights? */
bool view_has(const struct lower *, const char *real, uint32_t right);
/* Order the rows, drop what others cover, seal them; the range. */
int view_seal(struct lower *, struct sealed_range *ret);

/* ---- memo.c ------------------------------------------------------------------- */

/* lstat's mode: 0 or -errno. */
int memo_mode(struct memo *, const char *path, mode_t *ret);
/* The text of a symbolic link, NUL-terminated: 0 or -errno. */
int memo_link(struct memo *, const char *path, const char **ret, size_t *ret_len);
/* The rows that a program of this path and file brought into a view; NULL: not
 * known yet. */
const struct view_row *memo_closure(
    const struct memo *, const char *path, const char *real, size_t *ret_n);
int memo_keep(
    struct memo *, const char *path, const char *real, const struct view_row *, size_t n);

/* ---- program.c -------------------------------------------------------------- */
int program_lower(struct lower *, const struct stmt *);
/* digest.c: the bytes that a program must have, when all programs are known. */
int digest_lower(struct lower *, const struct stmt *);
/* After every grant is known: deny rows, and no image is writable. */
int program_end(struct lower *);

/* ---- libs.c ------------------------------------------------------------------- */

/* Loader and libraries of an ELF file, into the view.  Errors to diag. */
int libs_need(struct lower *, const char *real, const struct elf *, struct at,
    enum sealed_mount_why);

/* ---- preset.c ------------------------------------------------------------------ */
int preset_need(struct lower *, const char *path, const char *real, struct at);

/* ---- tables.c: statements that are rows and nothing else --------------------- */
int lower_envs(struct lower *);
int lower_secrets(struct lower *);
int lower_limit(struct lower *, const struct stmt *);
int lower_require(struct lower *, const struct stmt *);

/* ---- gates.c: what MCP, hosts, the log and system calls are ------------------ */
int lower_gate(struct lower *, const struct stmt *);
int lower_offer(struct lower *, const struct stmt *);
int lower_net(struct lower *, const struct stmt *);
int lower_audit(struct lower *, const struct stmt *);
int lower_syscalls(struct lower *, const struct stmt *);
/* pinfile.c: the definitions of a pins file as rows of PINS.  NULL; or why not, and
 * the line of the file. */
int lower_pins(struct lower *, const struct stmt *);
const char *pinfile_read(struct sealer *, const char *server, const char *, size_t len,
    struct sealed_range *ret, uint32_t *ret_line);
/* The text behind a qualifier that takes one, or "". */
struct sealed_ref lower_qual(struct lower *, const struct stmt *, enum keyword);
/* The row of what owner, ticket and until say, or SEALED_NONE. */
uint32_t lower_exception(struct lower *, const struct stmt *);
/* Words as rows of REFS. */
struct sealed_range lower_refs(struct lower *, const struct word *, size_t n);

/* ---- the work at hand ------------------------------------------------------------ */

struct lower {
	const struct tree *tree;
	const struct server *server;
	struct sealer *sealer;
	struct diag *diag;
	struct arena *arena;
	struct sealed_server row;

	struct view_row *view;
	size_t view_n;
	bool recording; /* every view_put goes into put, too */
	struct view_row *put;
	size_t put_n;
	bool link_writable; /* a walk met a link that the server may change */
	uint64_t tmp_size;
	struct at tmp_at;

	struct sealed_image *image; /* of this server, in order */
	const char **image_path, **image_real;
	size_t image_n;
	struct sealed_exec *exec;
	size_t exec_n;
	bool has_run;
	const char **credential; /* names of rows that sources need, so far */
	size_t credential_n;
};

struct sealed_ref lower_str(struct lower *, const char *);
struct sealed_at lower_at(const struct lower *, struct at);
/* Text in the arena; NULL: no memory. */
char *lower_printf(struct lower *, const char *, ...)
    __attribute__((format(printf, 2, 3)));
/* Does path lie in folder, or is it the folder? */
bool path_inside(const char *path, const char *folder);

#endif
