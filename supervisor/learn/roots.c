/*
 * What a learning cell grants: the package, the project and the paths among the arguments,
 * without the credentials below them.
 */
#include "supervisor/learn/roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/learn/credentials.h"
#include "supervisor/learn/fold.h"

static void
add_root(struct learn *l, const char *path, bool write, bool whole)
{
	struct learn_root *r = &l->root[l->root_n];

	if (path[0] != '/' || l->root_n == LEARN_ROOTS_MAX)
		return;
	for (size_t i = 0; i < l->root_n; i++)
		if (strcmp(l->root[i].path, path) == 0) {
			l->root[i].write |= write;
			return;
		}
	(void)snprintf(r->path, sizeof(r->path), "%s", path); /* as long */
	r->write = write;
	r->whole = whole;
	l->root_n++;
}

/* The directory of a script that has no package: it may load files of its own. */
static void
add_script(struct learn *l)
{
	static const char *const shared[] = {"/usr", "/bin", "/etc", "/opt"};
	char dir[PATH_MAX];
	char *slash;
	bool own;

	(void)snprintf(dir, sizeof(dir), "%s", l->d->script); /* as long */
	slash = strrchr(dir, '/');
	if (slash == NULL)
		return;
	*slash = '\0';
	own = strchr(dir + (dir[0] == '/'), '/') != NULL && !fold_below(l->home, dir);
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		own = own && !fold_below(dir, shared[i]);
	add_root(l, own ? dir : l->d->script, false, false);
}

/* What an argument names is read-only, unless it is in the project: a server that is given
 * a directory of the project may write there. A file of the project is part of it. */
static void
add_path(struct learn *l, const struct draft_path *p)
{
	bool project = l->d->work[0] != '\0' && fold_below(p->path, l->d->work);

	if (p->is == PATH_IS_DIR || (p->is == PATH_IS_FILE && !project))
		add_root(l, p->path, project, false);
}

static const char *
refused(const struct learn *l, const struct learn_root *r)
{
	if (credential_is(r->path, l->home))
		return "it is a place of credentials";
	if (strcmp(r->path, "/") == 0 || fold_below(l->home, r->path))
		return "it holds the home directory; name a directory below it";
	return NULL;
}

/* Callback of the search.  A link cannot be hidden: what it leads to is, if it is granted
 * at all. */
static int
add_hidden(void *arg, const char *path)
{
	struct learn *l = arg;
	char real[PATH_MAX];
	bool granted = false;

	if (realpath(path, real) == NULL)
		return 0;
	for (size_t i = 0; i < l->root_n; i++)
		granted |= fold_below(real, l->root[i].path);
	for (size_t i = 0; i < l->hidden_n; i++)
		granted = granted && !fold_below(real, l->hidden[i]);
	if (!granted)
		return 0;
	if (l->hidden_n == LEARN_HIDDEN_MAX)
		return -E2BIG;
	memcpy(l->hidden[l->hidden_n++], real, sizeof(real));
	return 0;
}

const char *
learn_hide(struct learn *l, const char **ret_why)
{
	int r;

	for (size_t i = 0; i < l->root_n; i++) {
		r = credentials_below(l->root[i].path, l->home, add_hidden, l);
		*ret_why = r == -E2BIG ? "it holds more than can be searched for "
					 "credentials; name a directory below it"
			   : r < 0     ? strerror(-r)
				       : NULL;
		if (r < 0)
			return l->root[i].path;
	}
	return NULL;
}

const char *
learn_roots(struct learn *l, const char **ret_why)
{
	const struct draft *d = l->d;
	const char *ret;

	l->root_n = 0;
	if (d->package.name[0] != '\0')
		add_root(l, d->modules, false, true);
	else {
		add_root(l, d->venv, false, true);
		if (d->script[0] != '\0' &&
		    (d->venv[0] == '\0' || !fold_below(d->script, d->venv)))
			add_script(l);
	}
	add_root(l, d->work, true, false);
	add_root(l, d->project, false, false);
	if (d->cwd[0] == '\0' || draft_cwd_refused(d) == NULL)
		add_root(l, d->cwd, false, false);
	for (size_t i = 0; i < d->path_n; i++)
		add_path(l, &d->path[i]);
	for (size_t i = 0; i < l->root_n; i++) {
		*ret_why = refused(l, &l->root[i]);
		if (*ret_why != NULL)
			return l->root[i].path;
	}
	l->hidden_n = 0;
	ret = learn_hide(l, ret_why);
	l->cell_hidden_n = l->hidden_n;
	return ret;
}

bool
learn_may_look(const struct learn *l, const char *path)
{
	static const char *const system[] = {
	    "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

	for (size_t i = 0; i < ARRAY_LEN(system); i++)
		if (fold_below(path, system[i]))
			return true;
	for (size_t i = 0; i < l->root_n; i++)
		if (fold_below(path, l->root[i].path))
			return true;
	return l->home[0] == '/' && fold_below(path, l->home);
}

void
learn_assign(struct learn *l)
{
	for (size_t i = 0; i < l->seen.file_n; i++) {
		struct seen_file *f = &l->seen.file[i];
		size_t best = 0;

		f->root = SEEN_NO_ROOT;
		if (credential_is(f->path, l->home))
			continue;
		for (size_t k = 0; k < l->root_n; k++) {
			size_t len = strlen(l->root[k].path);

			if (len <= best || !fold_below(f->path, l->root[k].path))
				continue;
			best = len;
			f->root = (uint32_t)k;
		}
	}
}
