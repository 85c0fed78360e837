/*
 * Judges paths that come from the contents of files.
 *
 *	line of the policy ─▶ file ─▶ path in it ─▶ content_find() ─▶ view
 *
 * The author of a file chooses what it contains: a loader, libraries, an interpreter.  So
 * only the policy and root decide which files these can be, and the file chooses among
 * them.  Every path of this kind passes here before the file that it names is opened.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define DIAG_CODE "program"

#include "policy/compile/compile.h"
#include "policy/compile/lower.h"
#include "policy/sealed/lib_dirs.h"
#include "shim/base/array.h"

static bool
in_system_dirs(const char *path)
{
	static const char *const dirs[] = {SYSTEM_DIRS};

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (path_inside(path, dirs[i]))
			return true;
	return false;
}

bool
content_public(struct lower *l, const struct way *w)
{
	for (size_t i = 0; i < w->followed_n; i++)
		if (!in_system_dirs(w->followed[i].path))
			return false;
	return w->error == 0 && !w->missing && in_system_dirs(w->real) &&
	       fs_cache_public(l->tree->fs_cache, w);
}

/* `hide` is lowered after the programs, so its paths are collected here. */
static int
hidden_collect(struct lower *l)
{
	const struct stmt *s;
	const struct way *w;

	l->hidden_known = true;
	for (size_t i = 0; i < l->server->stmt_n; i++) {
		s = &l->server->stmt[i];
		for (size_t k = 0; s->kw == KW_HIDE && k < s->word_n; k++) {
			w = fs_cache_way(l->tree->fs_cache, s->word[k].text);
			if (w == NULL ||
			    (w->error == 0 &&
				path_index_set(l->arena, &l->hidden, w->real, 0) < 0))
				return -ENOMEM;
		}
	}
	return 0; /* a path that cannot be resolved is an error of its line */
}

static bool
is_hidden(struct lower *l, const char *real)
{
	if (!l->hidden_known && hidden_collect(l) < 0)
		return true;
	return path_index_holder(&l->hidden, real) != PATH_INDEX_NONE;
}

/* Does a `read` or `write` have this canonical path? */
static bool
is_read(const struct lower *l, const char *real)
{
	size_t whole = strlen(real), len;
	const struct view_row *v;
	uint32_t i;

	for (len = whole; len > 0; len = path_above(real, len)) {
		i = path_index_get(&l->by_target, real, len);
		for (; i != PATH_INDEX_NONE; i = v->same_target) {
			v = &l->view[i];
			if (v->read && (v->kind == MOUNT_TREE || len == whole))
				return true;
		}
	}
	return false;
}

/* Is root's link in the view already, because a line needs it? */
static bool
has_link(const struct lower *l, const char *path)
{
	uint32_t i = path_index_get(&l->by_target, path, strlen(path));

	for (; i != PATH_INDEX_NONE; i = l->view[i].same_target)
		if (l->view[i].kind == MOUNT_SYMLINK)
			return true;
	return false;
}

bool
content_granted(struct lower *l, const struct way *w)
{
	const char *link;

	for (size_t i = 0; i < w->followed_n; i++) {
		link = w->followed[i].path;
		if (!in_system_dirs(link) && !has_link(l, link) && !is_read(l, link))
			return false;
	}
	return w->error == 0 && !w->missing && is_read(l, w->real) &&
	       !is_hidden(l, w->real);
}

/*
 * A link from one tree granted for reading into such a tree: a program finds both
 * there, so nothing is added to the view.
 */
static bool
link_granted(struct lower *l, const struct way *w)
{
	return w->error == -ELOOP && w->target[0] != '\0' && is_read(l, w->link) &&
	       is_read(l, w->target) && !view_has(l, w->link, RIGHT_WRITE) &&
	       !view_has(l, w->target, RIGHT_WRITE) && !is_hidden(l, w->link) &&
	       !is_hidden(l, w->target);
}

/* What the caller's view_walk() is to report, or -ENOENT. */
static int
way_error(const struct way *w)
{
	struct stat st;

	if (w->error != -ELOOP && w->error != -EXDEV)
		return -ENOENT;
	/* syscalls: newfstatat */
	return w->target[0] == '\0' || lstat(w->target, &st) == 0 ? w->error : -ENOENT;
}

static int
find(struct lower *l, const char *path, bool configured, const char **ret_real)
{
	const struct way *w = fs_cache_way(l->tree->fs_cache, path);

	if (w == NULL)
		return -ENOMEM;
	*ret_real = w->real;
	if (w->error == 0 && !S_ISREG(w->mode) && !S_ISDIR(w->mode))
		return -ENOENT; /* it is missing, too */
	if (w->error == 0 && (content_public(l, w) ||
				 (configured && fs_cache_public(l->tree->fs_cache, w))))
		return 0;
	l->of_server = true;
	if (w->error == 0)
		return content_granted(l, w) ? 0 : -EACCES;
	if (!link_granted(l, w))
		return way_error(w);
	*ret_real = w->target;
	return 0;
}

int
content_find(struct lower *l, const char *path, const char **ret_real)
{
	return find(l, path, false, ret_real);
}

int
content_find_configured(struct lower *l, const char *path, const char **ret_real)
{
	return find(l, path, true, ret_real);
}

int
content_refused(struct lower *l, struct at at, const char *what, const char *path)
{
	const struct way *w = fs_cache_way(l->tree->fs_cache, path);

	if (w == NULL)
		return -ENOMEM;
	if (is_read(l, w->real) && is_hidden(l, w->real))
		diag_error(l->diag, at, "%s %s is hidden: `hide` less, or read another",
		    what, w->real);
	else {
		content_needs(l, w->real, false);
		diag_error(l->diag, at, "%s %s is not granted: add `read %s`", what,
		    w->real, w->real);
	}
	return -EINVAL;
}

void
content_needs(struct lower *l, const char *real, bool start)
{
	struct policy_need *need = l->tree->need;

	if (need == NULL || need->path[0] != '\0' || strlen(real) >= PATH_MAX)
		return;
	need->start = start;
	memcpy(need->path, real, strlen(real) + 1);
}

bool
content_names(struct lower *l, const struct stmt *s, const char *path, const char *real)
{
	const struct way *w;

	if (s->kw != KW_RUN && s->kw != KW_EXEC)
		return false;
	if (strcmp(s->word[0].text, path) == 0)
		return true;
	w = fs_cache_way(l->tree->fs_cache, s->word[0].text);
	return w != NULL && w->error == 0 && strcmp(w->real, real) == 0;
}

bool
content_starts(const struct stmt *s, bool ask)
{
	return (s->kw == KW_RUN || s->verdict == VERDICT_ALLOW ||
		   (ask && s->verdict == VERDICT_ASK)) &&
	       stmt_qual(s, KW_FROM) == NULL && stmt_qual(s, KW_IN) == NULL &&
	       stmt_qual(s, KW_UNTIL) == NULL;
}
