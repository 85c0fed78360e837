/*
 * run and exec: creates the images, the rows that let them start, and the
 * mounts that they need.
 *
 * A binary is one image and one row.  Scripts are in script.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIAG_CODE "program"

#include "policy/compile/lower.h"
#include "policy/lang/check_word.h"
#include "policy/lang/expand.h"

/* ---- rows ---------------------------------------------------------------------- */

static uint32_t
arg_put(struct lower *l, enum sealed_arg_kind kind, const char *text)
{
	struct sealed_arg a = {.kind = kind, .text = lower_str(l, text)};

	return sealer_row(l->sealer, SEALED_ARGS, &a, sizeof(a));
}

/* Patterns of arguments. */
static int
args_put(struct lower *l, const struct word *w, size_t w_n, uint32_t *n)
{
	enum sealed_arg_kind kind;
	const char *text;
	size_t i;
	int r;

	for (i = 0; i < w_n; i++) {
		if ((r = word_pattern(l->arena, &w[i], &kind, &text)) < 0)
			return r; /* the checker reported it */
		(void)arg_put(l, kind, kind == ARG_ANY || kind == ARG_REST ? "" : text);
		++*n;
	}
	return 0;
}

/* The exceptions of a grant; lead as in exec_put. */
static int
excepts_put(
    struct lower *l, const struct stmt *s, const char *lead, struct sealed_exec *e)
{
	struct sealed_except x;
	size_t i;
	int r;

	for (i = 0; i < s->qual_n; i++) {
		if (s->qual[i].kw != KW_EXCEPT)
			continue;
		x.args = (struct sealed_range){sealer_rows(l->sealer, SEALED_ARGS), 0};
		if (lead != NULL) {
			(void)arg_put(l, ARG_LITERAL, lead);
			x.args.n++;
		}
		r = args_put(l, s->qual[i].word, s->qual[i].word_n, &x.args.n);
		if (r < 0)
			return r;
		if (e->excepts.n++ == 0)
			e->excepts.first = sealer_rows(l->sealer, SEALED_EXCEPTS);
		(void)sealer_row(l->sealer, SEALED_EXCEPTS, &x, sizeof(x));
	}
	return 0;
}

/* Which callers may start it, where, with which changed variables. */
static int
caller_put(struct lower *l, const struct stmt *s, struct sealed_exec *e)
{
	const struct qual *from = stmt_qual(s, KW_FROM), *in = stmt_qual(s, KW_IN),
			  *with = stmt_qual(s, KW_WITH);
	const char *real;
	int r;

	if (from != NULL)
		e->from = lower_refs(l, from->word, from->word_n);
	if (with != NULL)
		e->env = lower_refs(l, with->word, with->word_n);
	if (in == NULL)
		return 0;
	/* the kernel reports a process's directory by its canonical name */
	r = view_real(l, in->word[0].text, in->word[0].at, &real);
	if (r == -EINVAL && l->diag->elsewhere) { /* it is reported */
		real = in->word[0].text;
		l->lacks.in = true;
	} else if (r < 0 && r != -ENOENT)
		return r;
	e->in = lower_str(l, real);
	return 0;
}

int
exec_put(struct lower *l, const struct stmt *s, uint32_t asked, uint32_t mapped,
    const char *lead, const char *const prefix[PREFIX_MAX + 1])
{
	struct sealed_exec e = {.asked = asked,
	    .mapped = mapped,
	    .exception = lower_exception(l, s),
	    .instead = lower_qual(l, s, KW_INSTEAD),
	    .verdict = s->kw == KW_RUN ? VERDICT_ALLOW : s->verdict,
	    .factor = lower_factor(s),
	    .because = lower_qual(l, s, KW_BECAUSE),
	    .at = lower_at(l, s->at)};
	struct sealed_exec *all;
	int r;

	e.args.first = sealer_rows(l->sealer, SEALED_ARGS);
	if (lead != NULL) {
		(void)arg_put(l, ARG_LITERAL, lead);
		e.args.n++;
	} else if (s->kw == KW_RUN)
		e.flags = EXEC_FROM_RUN;
	if ((r = args_put(l, s->word + 1, s->word_n - 1, &e.args.n)) < 0 ||
	    (r = excepts_put(l, s, lead, &e)) < 0 || (r = caller_put(l, s, &e)) < 0)
		return r;
	e.prefix.first = sealer_rows(l->sealer, SEALED_ARGS);
	for (; prefix != NULL && prefix[e.prefix.n] != NULL; e.prefix.n++)
		(void)arg_put(l, ARG_LITERAL, prefix[e.prefix.n]);
	all = arena_push(l->arena, l->exec, l->exec_n, sizeof(*all));
	if (all == NULL)
		return -ENOMEM;
	l->exec = all;
	if (e.flags == EXEC_FROM_RUN) {
		l->row.run = (uint32_t)l->exec_n;
		l->has_run = true;
	}
	l->exec[l->exec_n++] = e;
	return 0;
}

/* ---- images ---------------------------------------------------------------------- */

static int
image_keep(struct lower *l, const char *path, const char *real, struct at at)
{
	struct sealed_image *image;
	const char **paths, **reals;

	image = arena_push(l->arena, l->image, l->image_n, sizeof(*image));
	paths = arena_push(l->arena, l->image_path, l->image_n, sizeof(*paths));
	reals = arena_push(l->arena, l->image_real, l->image_n, sizeof(*reals));
	if (image == NULL || paths == NULL || reals == NULL)
		return -ENOMEM;
	l->image = image;
	l->image_path = paths;
	l->image_real = reals;
	image[l->image_n] = (struct sealed_image){.path = lower_str(l, path),
	    .real = lower_str(l, real),
	    .at = lower_at(l, at)};
	paths[l->image_n] = path;
	reals[l->image_n++] = real;
	return 0;
}

/* Only the owner of the directory may be able to replace the program. */
static int
folder_check(struct lower *l, const char *real, struct at at)
{
	char folder[PATH_MAX];
	size_t n = (size_t)(strrchr(real, '/') - real);
	struct stat st;

	if (n == 0 || n >= sizeof(folder))
		return 0;
	memcpy(folder, real, n);
	folder[n] = '\0';
	/* syscalls: newfstatat */
	if (lstat(folder, &st) == 0 && (st.st_mode & S_IWOTH) != 0 &&
	    (st.st_mode & S_ISVTX) == 0) {
		diag_host(l->diag, at,
		    "any user can replace %s: its directory is world-writable (chmod "
		    "o-w)",
		    real);
		return -EINVAL;
	}
	return 0;
}

/* Does the policy require a digest for this program? */
static bool
has_digest(const struct lower *l, const char *path, const char *real)
{
	const struct stmt *s;
	size_t i;

	for (i = 0; i < l->server->stmt_n; i++) {
		s = &l->server->stmt[i];
		if (s->kw == KW_DIGEST && (strcmp(s->word[0].text, path) == 0 ||
					      strcmp(s->word[0].text, real) == 0))
			return true;
	}
	return false;
}

/*
 * Warns about a program without a digest that a user other than root or the
 * compiling user can change: it can be a different program tomorrow.
 */
static void
owner_look(struct lower *l, const char *path, const char *real, const struct stat *st,
    struct at at)
{
	bool group = (st->st_mode & S_IWGRP) != 0 && st->st_gid != 0;
	/* syscalls: geteuid */
	bool other = st->st_uid != 0 && st->st_uid != geteuid();

	if ((group || other) && !has_digest(l, path, real))
		diag_warning(l->diag, at,
		    "%s can be changed by %s: pin its contents with `digest %s`", real,
		    group ? "its group" : "its owner", path);
}

/* Refuses a file that is not executable, or that everyone can replace. */
static int
image_check(struct lower *l, const char *path, const char *real, struct at at)
{
	struct stat st;

	/* syscalls: newfstatat */
	if (lstat(real, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0) {
		diag_host(l->diag, at,
		    "%s is not a program: expected an executable regular file", path);
		return -EINVAL;
	}
	if ((st.st_mode & S_IWOTH) != 0) {
		diag_host(l->diag, at,
		    "%s is world-writable: any user can change it (chmod o-w)", real);
		return -EINVAL;
	}
	owner_look(l, path, real, &st, at);
	return folder_check(l, real, at);
}

int
image_add(struct lower *l, const char *path, struct at at, uint32_t *ret)
{
	struct view_row row = {.kind = MOUNT_FILE,
	    .right = RIGHT_READ | RIGHT_START,
	    .why = WHY_PROGRAM,
	    .at = at};
	const char *real;
	size_t i;
	int r;

	for (i = 0; i < l->image_n; i++)
		if (strcmp(l->image_path[i], path) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	l->link_writable = false;
	r = venv_walk(l, path, at, &real);
	if (r == -ENOENT) {
		diag_host(l->diag, at, "%s does not exist", path);
		return -EINVAL;
	}
	if (r < 0)
		return r;
	/*
	 * The link could lead to another program tomorrow; a script's link
	 * could lead to another script right after the check (tried).
	 */
	if (l->link_writable) {
		diag_error(l->diag, at,
		    "%s goes through a symbolic link that `write` lets the server "
		    "change: grant %s",
		    path, real);
		return -EINVAL;
	}
	/* a first line, or a link, may name it where the checker saw another name */
	if (check_is_loader(path) || check_is_loader(real)) {
		diag_error(l->diag, at,
		    "%s is the dynamic loader, which cannot be granted: it can start any "
		    "program",
		    real);
		return -EINVAL;
	}
	r = image_check(l, path, real, at);
	if (r < 0 && r != -EINVAL) {
		diag_host(l->diag, at, "%s: %s", path, strerror(-r));
		return -EINVAL;
	}
	if (r < 0)
		return r;
	row.source = row.target = real;
	if ((r = view_put(l, &row)) < 0 || (r = image_keep(l, path, real, at)) < 0)
		return r;
	*ret = (uint32_t)l->image_n - 1;
	return 0;
}

/*
 * The file of a program that may be granted by this name: for a virtual
 * environment, the name is its link.
 */
int
program_real(struct lower *l, const char *path, struct at at, const char **ret_real)
{
	size_t i;

	for (i = 0; i < l->image_n; i++)
		if (strcmp(l->image_path[i], path) == 0) {
			*ret_real = l->image_real[i];
			return 0;
		}
	return view_real(l, path, at, ret_real);
}

/* Adds the rows that the same program added to another server's view. */
static int
need_again(struct lower *l, const struct view_row *row, size_t n, struct at at)
{
	struct view_row one;
	size_t i;
	int r = 0;

	for (i = 0; i < n && r == 0; i++) {
		one = row[i];
		one.at = at;
		r = view_put(l, &one);
	}
	return r;
}

static int need_ask(struct lower *, uint32_t image, bool interpreter, struct at);

int
image_need(struct lower *l, uint32_t image, bool interpreter, struct at at)
{
	const char *path = l->image_path[image], *real = l->image_real[image];
	const struct view_row *row;
	size_t n = 0;
	int r;

	row = fs_cache_closure(l->tree->fs_cache, path, real, &n);
	if (row != NULL)
		return need_again(l, row, n, at);
	l->recording = true;
	l->of_server = false;
	l->put = NULL;
	l->put_n = 0;
	r = need_ask(l, image, interpreter, at);
	l->recording = false;
	/* what a line of this server permits is no answer for another one */
	if (r == 0 && !l->of_server)
		r = fs_cache_keep(l->tree->fs_cache, path, real, l->put, l->put_n);
	return r;
}

static int
need_ask(struct lower *l, uint32_t image, bool interpreter, struct at at)
{
	const char *path = l->image_path[image], *real = l->image_real[image],
		   *why = NULL;
	struct elf elf;
	int r = elf_read(l->arena, real, &elf, &why);

	if (r == -ENOEXEC && interpreter) {
		diag_host(l->diag, at,
		    "its interpreter %s is itself a script: name the interpreter of that "
		    "script",
		    path);
		return -EINVAL;
	}
	if (r == -ENOEXEC || r == -ENOMEM)
		return r;
	if (r < 0) {
		diag_host(l->diag, at, "%s cannot be started: %s", path,
		    why != NULL ? why : strerror(-r));
		return -EINVAL;
	}
	if ((r = libs_need(l, real, &elf, at, WHY_LIBRARY)) < 0)
		return r;
	return preset_need(l, path, real, at);
}

/* ---- statements ---------------------------------------------------------- */

static int
program_put(struct lower *l, const struct stmt *s)
{
	uint32_t image;
	int r;

	if ((r = image_add(l, s->word[0].text, s->word[0].at, &image)) < 0)
		return r;
	r = image_need(l, image, false, s->word[0].at);
	if (r == -ENOEXEC)
		return script_lower(l, s, image);
	return r < 0 ? r : exec_put(l, s, image, image, NULL, NULL);
}

/*
 * The row of a program that cannot be started on this machine: as of a binary without
 * libraries.  Only diag.elsewhere gets here, so nothing is ever started by it.
 */
static int
stand_in_put(struct lower *l, const struct stmt *s)
{
	const char *path = s->word[0].text;
	size_t i;
	int r;

	for (i = 0; i < l->image_n && strcmp(l->image_path[i], path) != 0; i++)
		;
	if (i == l->image_n && (r = image_keep(l, path, path, s->word[0].at)) < 0)
		return r;
	return exec_put(l, s, (uint32_t)i, (uint32_t)i, NULL, NULL);
}

int
program_lower(struct lower *l, const struct stmt *s)
{
	size_t errors = l->diag->error_n, host = l->diag->host_n, execs = l->exec_n;
	int r;

	if (s->kw == KW_EXEC && s->verdict == VERDICT_DENY)
		return 0; /* program_end does it, when all programs are known */
	r = program_put(l, s);
	if (r == -EINVAL && l->diag->error_n == errors && l->diag->host_n != host &&
	    l->exec_n == execs)
		return stand_in_put(l, s);
	return r;
}

/*
 * A deny adds nothing to the view: it matters only for images that other
 * statements grant, under any name.  Any other program is denied anyway.
 */
static int
deny_lower(struct lower *l, const struct stmt *s)
{
	const char *real = NULL;
	bool found = false;
	size_t i;
	int r = program_real(l, s->word[0].text, s->word[0].at, &real);

	if (r == -ENOENT)
		return 0; /* a missing program is not started */
	for (i = 0; i < l->image_n && r == 0 && !found; i++) {
		if (strcmp(l->image_real[i], real) != 0)
			continue;
		found = true;
		r = exec_put(l, s, (uint32_t)i, (uint32_t)i, NULL, NULL);
	}
	return r;
}

int
program_end(struct lower *l)
{
	const struct stmt *s;
	size_t i;
	int r;

	for (i = 0; i < l->server->stmt_n; i++) {
		s = &l->server->stmt[i];
		if (s->kw == KW_EXEC && s->verdict == VERDICT_DENY &&
		    (r = deny_lower(l, s)) < 0)
			return r;
	}
	/* view_put checked what `write` grants when it added the row */
	for (i = 0; i < l->view_n; i++) {
		const struct view_row *v = &l->view[i];

		if (v->kind == MOUNT_FILE && (v->right & RIGHT_START) != 0 &&
		    view_has(l, v->target, RIGHT_WRITE) && l->diag->error_n == 0)
			diag_error(l->diag, v->at,
			    "%s is both executable and writable: it is in %s", v->target,
			    strncmp(v->target, "/tmp/", 5) == 0
				? "/tmp, which is private to each server; put it "
				  "elsewhere"
				: "a path that `write` grants");
	}
	return 0;
}
