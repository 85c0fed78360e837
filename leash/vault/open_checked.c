/*
 * Checks and opens what a value comes from, in one walk: a file, a helper, what the
 * kernel opens to run it, the arguments of its command.
 *
 * A path is resolved by the rules of path_resolve.h, and the vault's judge is asked
 * about the result and about each link on the way.  The descriptor of that walk is
 * what is then read or run; the name is not looked up again.
 *
 * Process: the leash, before it sandboxes itself.  No call of this file is in the
 * leash's allow-list.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/vault/open_checked.h"
#include "leash/vault/private.h"
#include "shim/base/cause.h"
#include "shim/base/fd.h"
#include "shim/host/path_open.h"
#include "shim/host/path_resolve.h"
#include "shim/host/program_paths.h"

#define PROGRAMS_MAX 16 /* of a command, or of one of its arguments */

struct judging {
	const struct vault *vault;
	const char *who; /* the server that may replace it; NULL: none */
	char at[PATH_MAX];
};

static void
judge(void *arg, const char *path)
{
	struct judging *j = arg;

	if (j->who != NULL)
		return;
	j->who = vault_judged(j->vault, path);
	(void)snprintf(j->at, sizeof(j->at), "%s", path); /* fits: PATH_MAX */
}

/* Resolves and checks; the caller closes ret->fd. */
static int
resolve(const struct vault *v, const char *path, unsigned flags,
    struct path_resolved *ret, struct reason *why)
{
	struct judging j = {.vault = v};
	int r = path_resolve(path, flags, judge, &j, ret);

	/* What is missing below a directory that a server may write can be created. */
	if (r == 0 || ((flags & PATH_MISSING_OK) != 0 && ret->real[0] != '\0'))
		judge(&j, ret->real);
	if (r == -ELOOP && ret->link[0] != '\0')
		(void)reason_set(why, r,
		    "is reached by the symbolic link %s, which is not root's in "
		    "directories of root; write the real path%s%s",
		    ret->link, ret->target[0] != '\0' ? " " : "", ret->target);
	else if (r == -EXDEV)
		(void)reason_set(why, r, "is reached by %s, a link of /proc", ret->link);
	else if (j.who != NULL) {
		fd_close(&ret->fd);
		r = reason_set(why, -EPERM,
		    "is decided by %s, which %s; keep it where no server may write", j.at,
		    j.who);
	} else if (r < 0)
		(void)reason_set(why, r, "cannot be opened: %s", strerror(-r));
	return r;
}

int
open_checked_file(
    const struct vault *v, const char *path, int *ret_fd, struct reason *why)
{
	static struct path_resolved p; /* large */
	struct stat st;
	int r;

	if (path[0] != '/')
		return reason_set(why, -EINVAL, "is not absolute");
	r = resolve(v, path, 0, &p, why);
	if (r < 0)
		return r;
	r = fstat(p.fd, &st) < 0 ? -errno : 0;
	if (r == 0 && !S_ISREG(st.st_mode)) {
		fd_close(&p.fd);
		return reason_set(why, -EACCES, "is not a regular file");
	}
	if (r == 0)
		r = path_reopen(p.fd);
	fd_close(&p.fd);
	if (r < 0)
		return reason_set(why, r, "cannot be opened: %s", strerror(-r));
	*ret_fd = r;
	return 0;
}

/* ---- programs -------------------------------------------------------------- */

/* The programs of one command that are examined; the paths say where it is used. */
struct walk {
	const struct vault *vault;
	struct reason *why;
	int left; /* how many more programs may be opened; bounds the recursion */
};

static int needs_judge(struct walk *, int fd);

/* why describes path: puts "RELATION PATH, which" before it. */
static void
why_prefix(struct walk *w, const char *relation, const char *path)
{
	struct reason rest = *w->why;

	(void)reason_set(w->why, 0, "%s %s, which %s", relation, path, rest.text);
}

static bool
is_program(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       syscall(SYS_faccessat2, fd, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

/* It runs outside the sandbox, with this user's files: no other user may change it. */
static int
owner_check(struct walk *w, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return reason_set(w->why, -EPERM,
		    "belongs to another user; use a program of root or of your own");
	if ((st.st_mode & S_IWOTH) != 0)
		return reason_set(
		    w->why, -EPERM, "is world-writable: run `chmod o-w` on it");
	return 0;
}

/* Takes fd, O_PATH, of a program.  Returns it readable: its first line has to be read
 * here, and interpreters read a script, some through this descriptor. */
static int
program_reopen(struct walk *w, int fd, int *ret_fd)
{
	int r = owner_check(w, fd);

	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	r = w->left-- > 0 ? path_reopen(fd) : -E2BIG;
	fd_close(&fd);
	if (r >= 0) {
		*ret_fd = r;
		return 0;
	}
	if (r == -E2BIG)
		return reason_set(w->why, r,
		    "is one of more than %d programs of a command", PROGRAMS_MAX);
	if (r == -EACCES)
		return reason_set(w->why, r,
		    "cannot be read, so what it runs cannot be checked; make it readable "
		    "(chmod a+r)");
	return reason_set(w->why, r, "cannot be opened: %s", strerror(-r));
}

/* Opens one program; its needs are not judged yet. */
static int
program_open(struct walk *w, const char *path, int *ret_fd)
{
	static struct path_resolved p; /* large */
	int r = resolve(w->vault, path, 0, &p, w->why);

	if (r < 0)
		return r;
	if (!is_program(p.fd)) {
		fd_close(&p.fd);
		return reason_set(w->why, -EACCES, "cannot be run: Permission denied");
	}
	return program_reopen(w, p.fd, ret_fd);
}

/* A path in an argument: no server may decide what is there, or, if it is a program,
 * what that runs. */
static int
word_judge(void *arg, const char *path)
{
	static struct path_resolved p; /* large */
	struct walk *w = arg;
	int fd = -1, r;

	r = resolve(w->vault, path, PATH_MISSING_OK, &p, w->why);
	if (r == 0 && p.missing == 0 && is_program(p.fd)) {
		r = program_reopen(w, p.fd, &fd);
		if (r == 0)
			r = needs_judge(w, fd);
		fd_close(&fd);
	} else {
		fd_close(&p.fd);
		/* Anything else is text, or inaccessible to this user. */
		if (r != -EPERM && r != -ELOOP && r != -EXDEV)
			r = 0;
	}
	if (r < 0)
		why_prefix(w, "has the argument", path);
	return r;
}

/* A loader is opened by the kernel by its name, relative to "/", where a helper
 * starts.  It is not a script, and has no loader of its own. */
static int
loader_judge(struct walk *w, const char *name)
{
	static struct path_resolved p; /* large */
	char path[PATH_MAX + 1];
	int r;

	(void)snprintf(path, sizeof(path), "%s%s", name[0] == '/' ? "" : "/", name);
	r = resolve(w->vault, path, 0, &p, w->why);
	fd_close(&p.fd);
	if (r < 0)
		why_prefix(w, "needs the loader", path);
	return r;
}

/* NOLINTBEGIN(misc-no-recursion): each level opens one of PROGRAMS_MAX programs */

/* The interpreter of a script, which the kernel opens by its name too, and the
 * argument that it gets from the first line: env(1) runs it, a shell reads it. */
static int
script_judge(struct walk *w, const struct program_image *image)
{
	int fd = -1, r;

	if (image->path[0] != '/')
		return reason_set(w->why, -EINVAL,
		    "is a script of %s, which is not absolute", image->path);
	r = program_open(w, image->path, &fd);
	if (r == 0)
		r = needs_judge(w, fd);
	fd_close(&fd);
	if (r < 0) {
		why_prefix(w, "is a script of", image->path);
		return r;
	}
	if (strpbrk(image->arg, "\\$") != NULL) /* env -S expands both */
		return reason_set(w->why, -EINVAL,
		    "has `\\` or `$` in its first line, so what it runs cannot be "
		    "checked");
	return program_line(image->arg, word_judge, w);
}

/* Judges what the kernel opens by name to run this image.  Each program counts down
 * w->left, so files that name each other end. */
static int
needs_judge(struct walk *w, int fd)
{
	struct program_image image;
	int r = program_image(fd, &image);

	if (r == -ENOEXEC)
		return reason_set(w->why, r, "is an invalid ELF file");
	if (r < 0)
		return reason_set(w->why, r, "cannot be read: %s", strerror(-r));
	if (image.kind == PROGRAM_LOADED)
		return loader_judge(w, image.path);
	return image.kind == PROGRAM_SCRIPT ? script_judge(w, &image) : r;
}

/* NOLINTEND(misc-no-recursion) */

int
open_checked_program(
    const struct vault *v, const char *path, int *ret_fd, struct reason *why)
{
	struct walk w = {.vault = v, .why = why, .left = PROGRAMS_MAX};
	int fd = -1, r;

	if (path[0] != '/')
		return reason_set(why, -EINVAL, "has no absolute path");
	r = program_open(&w, path, &fd);
	if (r == 0)
		r = needs_judge(&w, fd);
	if (r < 0)
		fd_close(&fd);
	else
		*ret_fd = fd;
	return r;
}

int
open_checked_args(const struct vault *v, const char *const *argv, struct reason *why)
{
	struct walk w = {.vault = v, .why = why};
	int r = 0;

	for (size_t i = 1; r == 0 && argv[0] != NULL && argv[i] != NULL; i++) {
		w.left = PROGRAMS_MAX;
		r = program_word(argv[i], word_judge, &w);
	}
	return r;
}
