/*
 * The interpreter of a Python virtual environment (PEP 405).
 *
 * Python finds its environment by the name with which it is started, bin/python
 * with pyvenv.cfg next to bin, and this name is a link that the user owns.  It
 * is the only link not owned by root that a policy may name.  The image is the
 * file that the link leads to at compile time.  The link and pyvenv.cfg are
 * read-only in the view, a start checks the link's target again, and no known
 * server may write either (trusted.h).
 *
 * The line names the first link.  What the environment itself names is content
 * (content_path.c): pyvenv.cfg and further links of bin, which the server must be
 * granted, and the interpreter outside of bin, which is started: it is root's, or
 * named by a line.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIAG_CODE "program"

#include "policy/check/trusted.h"
#include "policy/compile/compile.h"
#include "policy/compile/lower.h"
#include "shim/base/fd.h"
#include "shim/host/path_resolve.h"

#define LINKS_MAX 8 /* python -> python3 -> /usr/bin/python3 are two */

struct venv {
	char bin[PATH_MAX]; /* canonical */
	const char *name;   /* in bin: python, python3, python3.11 */
	char config[PATH_MAX];
};

/* python, python3, python3.11 */
static bool
is_python(const char *name)
{
	size_t n = strlen("python");

	return strncmp(name, "python", n) == 0 &&
	       strspn(name + n, ".0123456789") == strlen(name + n);
}

/* Is this the file itself, not a link? */
static bool
is_plain_file(const char *path)
{
	struct path_resolved p;
	struct stat st;
	int r = path_resolve(path, 0, NULL, NULL, &p);
	/* syscalls: fstat newfstatat */
	bool plain = r == 0 && strcmp(p.real, path) == 0 && fstat(p.fd, &st) == 0 &&
		     S_ISREG(st.st_mode);

	fd_close(&p.fd);
	return plain;
}

/* The links of bin come with it. */
static int
bin_granted(struct lower *l, const struct venv *v, struct at at)
{
	const char *real;
	int r = content_find(l, v->bin, &real);

	return r == -EACCES ? content_refused(l, at, "the environment's", v->bin) : r;
}

static bool
venv_find(const char *path, struct venv *ret)
{
	const char *slash = strrchr(path, '/');
	struct path_resolved p;
	char bin[PATH_MAX];
	size_t n;

	if (slash == NULL || slash == path || !is_python(slash + 1) ||
	    (size_t)(slash - path) >= sizeof(bin))
		return false;
	(void)snprintf(bin, sizeof(bin), "%.*s", (int)(slash - path), path); /* fits */
	if (path_resolve(bin, 0, NULL, NULL, &p) != 0)
		return false;
	fd_close(&p.fd);
	n = strlen(p.real);
	if (n < strlen("/bin") || strcmp(p.real + n - strlen("/bin"), "/bin") != 0 ||
	    n + strlen("pyvenv.cfg") >= PATH_MAX)
		return false;
	memcpy(ret->bin, p.real, n + 1);
	(void)snprintf(ret->config, PATH_MAX, "%.*s/pyvenv.cfg", (int)(n - 4), p.real);
	ret->name = slash + 1;
	return is_plain_file(ret->config);
}

bool
venv_has(const char *path)
{
	struct venv v;

	return venv_find(path, &v);
}

/* The text of bin/name, if it is a link, and its row in the view. 1: a link. */
static int
link_step(struct lower *l, const struct venv *v, bool first, struct at at,
    const char **ret_text)
{
	struct view_row row = {.kind = MOUNT_SYMLINK, .why = WHY_LINK, .at = at};
	char text[PATH_MAX];
	ssize_t n;
	int r;

	row.target = lower_printf(l, "%s/%s", v->bin, v->name);
	if (row.target == NULL)
		return -ENOMEM;
	/* its writer decides what starts; reports errors itself */
	r = trusted_need(
	    l->tree, l->server, USE_INTERPRETER, false, at, row.target, l->diag);
	if (r < 0)
		return r;
	/* syscalls: readlink readlinkat */
	n = readlink(row.target, text, sizeof(text));
	if (n < 0)
		return errno == EINVAL ? 0 : -errno;
	if ((size_t)n >= sizeof(text))
		return -ENAMETOOLONG;
	if (!first && (r = bin_granted(l, v, at)) < 0)
		return r;
	row.source = arena_copy(l->arena, text, (size_t)n);
	if (row.source == NULL || view_put(l, &row) < 0)
		return -ENOMEM;
	*ret_text = row.source;
	return 1;
}

/* The interpreter that a link of bin leads to, outside of bin or not. */
static int
outside_walk(struct lower *l, const struct venv *v, const char *path, struct at at,
    const char **ret_real)
{
	const struct way *w = fs_cache_way(l->tree->fs_cache, path);
	const char *real = w == NULL ? NULL : w->real;
	size_t n = strlen(v->bin);

	if (w == NULL)
		return -ENOMEM;
	if (w->error != 0 || w->missing || content_public(l, w) ||
	    (strncmp(real, v->bin, n) == 0 && strrchr(real, '/') == real + n))
		return view_walk(l, path, at, ret_real);
	l->of_server = true;
	for (size_t i = 0; i < l->server->stmt_n; i++)
		if (content_names(l, &l->server->stmt[i], path, real) &&
		    content_starts(&l->server->stmt[i], false))
			return view_walk(l, path, at, ret_real);
	content_needs(l, real, true);
	diag_error(l->diag, at,
	    "the interpreter %s of %s/%s is not granted: add `exec allow %s`", real,
	    v->bin, v->name, real);
	return -EINVAL;
}

/* Follows the links within bin; after that, the rules for every path apply. */
static int
links_walk(struct lower *l, struct venv *v, struct at at, const char **ret_real)
{
	const char *text = "", *next;
	int i, r = 1;

	for (i = 0; i < LINKS_MAX && (r = link_step(l, v, i == 0, at, &text)) == 1; i++) {
		if (strchr(text, '/') != NULL) {
			next = text[0] == '/' ? text
					      : lower_printf(l, "%s/%s", v->bin, text);
			return next == NULL ? -ENOMEM
					    : outside_walk(l, v, next, at, ret_real);
		}
		if (!is_python(text))
			break;
		v->name = text;
	}
	if (r < 0)
		return r;
	if (r == 1) {
		diag_error(l->diag, at,
		    "unable to resolve %s/%s: a link in a virtual environment must point "
		    "to python* in its bin directory, or to a path",
		    v->bin, v->name);
		return -EINVAL;
	}
	next = lower_printf(l, "%s/%s", v->bin, v->name);
	return next == NULL ? -ENOMEM : view_walk(l, next, at, ret_real);
}

int
venv_walk(struct lower *l, const char *path, struct at at, const char **ret_real)
{
	struct view_row config = {
	    .kind = MOUNT_FILE, .right = RIGHT_READ, .why = WHY_PRESET, .at = at};
	const struct way *w = fs_cache_way(l->tree->fs_cache, path);
	const char *bin;
	struct venv v;
	int r;

	if (w == NULL)
		return -ENOMEM;
	if (w->error != -ELOOP || !venv_find(path, &v)) /* reports the link */
		return view_walk(l, path, at, ret_real);
	bin = lower_printf(l, "%.*s", (int)(v.name - 1 - path), path);
	if (bin == NULL)
		return -ENOMEM;
	/* root's links on the way to it */
	if ((r = view_walk(l, bin, at, ret_real)) < 0)
		return r;
	r = content_find(l, v.config, &config.target);
	if (r == -EACCES)
		return content_refused(l, at, "the environment's", v.config);
	config.source = config.target;
	if (r == -ENOMEM || (r == 0 && view_put(l, &config) < 0))
		return -ENOMEM;
	r = links_walk(l, &v, at, ret_real);
	if (r < 0 && r != -EINVAL && r != -ENOMEM && r != -ENOENT) {
		diag_error(l->diag, at, "unable to resolve %s: %s", path, strerror(-r));
		r = -EINVAL;
	}
	return r;
}
