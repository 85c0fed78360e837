/*
 * Private to lowering: compiles a checked server of the tree to rows.
 *
 *	lower.c			the passes; statements about files
 *	lower_tables.c		statements that are rows of a table
 *	lower_exec.c		run and exec: images, what they need
 *	script.c		scripts, and the interpreters that they name
 *	content_path.c		what the contents of files may add to the view
 *	lower_digest.c		programs with a required digest
 *	module_libs.c		what compiled modules of packages need
 *	shared_libs.c elf.c	where a dynamic program finds its libraries
 *	runtime_files.c		other files that language runtimes need
 *	venv.c			the interpreter of a Python virtual environment
 *	mount_plan.c		the mount plan
 */
#ifndef KENNEL_POLICY_COMPILE_LOWER_H
#define KENNEL_POLICY_COMPILE_LOWER_H

#include <limits.h>
#include <sys/types.h>

#include "policy/base/arena.h"
#include "policy/base/diag.h"
#include "policy/base/fs_cache.h"
#include "policy/base/path_index.h"
#include "policy/check/check.h"
#include "policy/check/expect.h"
#include "policy/compile/write_sealed.h"
#include "policy/lang/ast.h"
#include "policy/sealed/sealed.h"

/* ---- elf.c: the dependencies of an ELF file ------------------------------ */

#define ELF_NEEDED_MAX 512 /* DT_NEEDED of one file */

struct elf {
	const char *interp;  /* PT_INTERP or NULL */
	const char **needed; /* DT_NEEDED, in order */
	size_t needed_n;
	const char *rpath; /* NULL if there is a DT_RUNPATH */
	const char *runpath;
	uint16_t machine; /* EM_* */
	uint16_t type;    /* ET_EXEC or ET_DYN */
};

/*
 * 0; -ENOEXEC: not an ELF file; -ELIBBAD with *ret_why: an ELF file that cannot
 * be used here (32 bits, another machine, or invalid); -errno of the file.
 * Links are not followed: -ELOOP.
 */
int elf_read(struct arena *, const char *real, struct elf *ret, const char **ret_why);

/* ---- mount_plan.c: the mount plan ---------------------------------------- */

struct lower;

/*
 * Resolves an absolute path by the rules of shim/host/path_resolve.h, and
 * copies each link on the way into the view.  *ret_real is the canonical path.
 * It is also set if the last components are missing, with -ENOENT. -EINVAL:
 * reported.  -ENOMEM.
 */
int view_walk(struct lower *, const char *path, struct at, const char **ret_real);
/* The same without links in the view: for paths that the cell does not need. */
int view_real(struct lower *, const char *path, struct at, const char **ret_real);
/*
 * venv.c: view_walk for a program that may be the interpreter of a Python
 * virtual environment, named by its own link.
 */
int venv_walk(struct lower *, const char *path, struct at, const char **ret_real);
/* Adds a file or directory to the view, at its canonical path.  0 or -ENOMEM. */
int view_put(struct lower *, const struct view_row *);
#define DEFAULT_LANG "C.UTF-8"
/* lower_tables.c: the line that sets this variable, or NULL. */
const struct stmt *lower_env_of(const struct lower *, const char *name);
/* Adds the mounts that every cell has. */
int view_base(struct lower *);
/*
 * Call it after all other rows: makes agents' configuration files in writable
 * directories read-only, except those that a `write` grant names.
 */
int view_agents(struct lower *);
/* Is this canonical path in a row with any of these rights? Rows of every cell count. */
bool view_has(const struct lower *, const char *real, uint32_t right);
/*
 * Sorts the rows, drops those that others cover, and seals the rest; returns
 * the range.
 */
int view_seal(struct lower *, struct sealed_range *ret);

/* ---- content_path.c: paths from the contents of files --------------------- */

/*
 * The contents of a file are its author's, and may be hostile.  A path in them (PT_INTERP,
 * DT_NEEDED, a search path, a first line, a link of a virtual environment), or derived from
 * where the file is, adds something to the view only if it is
 *	public	root's, on a way that root alone controls, readable for every user, in the
 *		directories of policy/sealed/lib_dirs.h;
 *	granted	in the view by a line of the same server, and not hidden.
 * 0: it is, and exists; *ret is its canonical path.  -ENOENT: it does not exist, or is
 * neither a file nor a directory.  -EACCES: it is neither.  -ELOOP, -EXDEV, other errors:
 * view_walk() reports them.  -ENOMEM.
 */
int content_find(struct lower *, const char *path, const char **ret_real);
/* The same for what must be public, or for what must be granted. */
bool content_public(struct lower *, const struct way *);
bool content_granted(struct lower *, const struct way *);
/*
 * The same for a path that root's own configuration of the loader names: it is public
 * in any directory, or granted.
 */
int content_find_configured(struct lower *, const char *path, const char **ret_real);
/*
 * Reports that content_find() refused a path: "its loader PATH is not granted: add `read
 * PATH`".  Returns -EINVAL.
 */
int content_refused(struct lower *, struct at, const char *what, const char *path);
/* Notes the first path that a line must grant, for policy_need(). */
void content_needs(struct lower *, const char *real, bool start);
/* Does the `run` or `exec` name this program, by path or by the canonical path real? */
bool content_names(
    struct lower *, const struct stmt *, const char *path, const char *real);
/* Does it grant the start to every caller, for ever? ask: it may ask a person first. */
bool content_starts(const struct stmt *, bool ask);

/* ---- lower_exec.c -------------------------------------------------------- */
int program_lower(struct lower *, const struct stmt *);
/* Adds the program as an image, once. -EINVAL: reported. */
int image_add(struct lower *, const char *path, struct at, uint32_t *ret);
/*
 * Adds what the image itself needs to the view. interpreter: it must not be a script
 * itself. -ENOEXEC: it is a script, or no program.
 */
int image_need(struct lower *, uint32_t image, bool interpreter, struct at);
/*
 * Adds the row that lets an image start. lead: a literal before the patterns (env's X gets
 * the script), or NULL. prefix: what the kernel puts before a script's arguments, ended by
 * NULL; or NULL.
 */
#define PREFIX_MAX 3
int exec_put(struct lower *, const struct stmt *, uint32_t asked, uint32_t mapped,
    const char *lead, const char *const prefix[PREFIX_MAX + 1]);
/* The canonical path of a program from its name in the policy, like view_real. */
int program_real(struct lower *, const char *path, struct at, const char **ret_real);
/* lower_digest.c: the required digests; call it when all programs are known. */
int digest_lower(struct lower *, const struct stmt *);
/* After the last grant: adds deny rows, and checks that no image is writable. */
int program_end(struct lower *);

/* ---- script.c ------------------------------------------------------------ */

/* Adds the interpreter of a script that is an image, and its rows. */
int script_lower(struct lower *, const struct stmt *, uint32_t image);

/* ---- shared_libs.c ------------------------------------------------------- */

/* Adds the loader and libraries of an ELF file to the view.  Errors go to diag. */
int libs_need(struct lower *, const char *real, const struct elf *, struct at,
    enum sealed_mount_why);

/*
 * The same for a compiled module of a package: libraries that do not exist are left
 * out, and those that its own search path names are added only if a grant has them.
 */
int module_libs_need(struct lower *, const char *real, const struct elf *, struct at);

/* ---- module_libs.c ------------------------------------------------------- */

/* Call it after the programs, and before anything is hidden.  0 or -ENOMEM. */
int modules_lower(struct lower *);

/* ---- runtime_files.c ----------------------------------------------------- */
int preset_need(struct lower *, const char *path, const char *real, struct at);

/* ---- lower_tables.c: statements that are only rows ----------------------- */
int lower_envs(struct lower *);
int lower_secrets(struct lower *);
int lower_limit(struct lower *, const struct stmt *);
int lower_require(struct lower *, const struct stmt *);

/* ---- lower_mcp.c: MCP, hosts, the log and system calls ------------------- */
int lower_gate(struct lower *, const struct stmt *);
int lower_offer(struct lower *, const struct stmt *);
int lower_net(struct lower *, const struct stmt *);
int lower_audit(struct lower *, const struct stmt *);
int lower_syscalls(struct lower *, const struct stmt *);
/*
 * lower_pins.c: the definitions of a pins file as rows of PINS. NULL; or why it
 * is invalid, and the line of the file.
 */
int lower_pins(struct lower *, const struct stmt *);
const char *pinfile_read(struct sealer *, const char *server, const char *, size_t len,
    struct sealed_range *ret, uint32_t *ret_line);
/* The text of a qualifier that takes one, or "". */
struct sealed_ref lower_qual(struct lower *, const struct stmt *, enum keyword);
/* The factor of its `ask`; of a word of it (NULL: none). */
enum sealed_factor lower_factor(const struct stmt *);
enum sealed_factor lower_factor_name(const char *);
/* The row with owner, ticket and until, or SEALED_NONE. */
uint32_t lower_exception(struct lower *, const struct stmt *);
/* Words as rows of REFS. */
struct sealed_range lower_refs(struct lower *, const struct word *, size_t n);

/* ---- the state of one lowering ------------------------------------------- */

struct lower {
	const struct tree *tree;
	const struct server *server;
	struct sealer *sealer;
	struct diag *diag;
	struct arena *arena;
	struct sealed_server row;

	struct view_row *view;
	size_t view_n;
	struct path_index by_target; /* the last row of each path */
	bool recording;              /* every view_put is also recorded in put */
	struct view_row *put;
	size_t put_n;
	bool of_server; /* of what is recorded, something depends on this server */
	struct path_index hidden; /* canonical paths of `hide` */
	bool hidden_known;
	bool link_writable; /* a path used a link that the server may change */
	uint64_t tmp_size;
	struct at tmp_at;

	struct sealed_image *image; /* of this server, in order */
	const char **image_path, **image_real;
	size_t image_n;
	struct sealed_exec *exec;
	size_t exec_n;
	const char *cwd; /* as its line has it; NULL: no line, or not lowered yet */
	bool has_run;
	struct lacks lacks;
	const char **credential; /* names of credential rows added so far */
	size_t credential_n;
};

struct sealed_ref lower_str(struct lower *, const char *);
struct sealed_at lower_at(const struct lower *, struct at);
/* A formatted text in the arena; NULL: no memory. */
char *lower_printf(struct lower *, const char *, ...)
    __attribute__((format(printf, 2, 3)));
/* Is path in the directory, or the directory itself? */
bool path_inside(const char *path, const char *folder);

/*
 * Compiles one checked server of the tree into the sealer.  Errors go to diag.  With
 * diag.elsewhere, ret_lacks has what is missing in the rows: nothing may be started with them.
 */
struct sealer;
int tree_lower(const struct tree *, const struct server *, struct sealer *, struct diag *,
    struct lacks *ret_lacks);

#endif
