/*
 * Caches answers of the file system during one compilation: a thousand servers
 * in one file start the same few programs.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/base/arena.h"
#include "policy/base/fs_cache.h"
#include "shim/base/fd.h"
#include "shim/base/hash.h"
#include "shim/host/path_open.h"
#include "shim/host/path_resolve.h"

#define SLOTS 4096 /* hash buckets; a file mentions a few thousand paths */

struct seen {
	struct seen *next;
	const char *path;
	struct way way;
};

/* The rows that a program adds to a view, in order. */
struct closure {
	struct closure *next;
	const char *path, *real;
	struct view_row *row;
	size_t n;
};

struct fs_cache {
	struct arena *arena;
	struct seen *seen[SLOTS];
	struct closure *closure;
};

struct fs_cache *
fs_cache_new(void)
{
	struct fs_cache *m = calloc(1, sizeof(*m));

	if (m != NULL && (m->arena = arena_new()) == NULL) {
		free(m);
		m = NULL;
	}
	return m;
}

void
fs_cache_free(struct fs_cache *m)
{
	if (m == NULL)
		return;
	arena_free(m->arena);
	free(m);
}

/* ---- paths ------------------------------------------------------------------- */

/* The links of one resolution, in order. */
struct followed {
	struct arena *arena;
	struct way *way;
	int error;
};

static void
follow(void *arg, const char *path)
{
	struct followed *f = arg;
	struct way_link link, *all;
	char text[PATH_MAX];
	ssize_t n;

	/* Only root can change it: what is read here is what was followed.
	 * syscalls: readlink readlinkat */
	n = readlink(path, text, sizeof(text));
	if (n < 0 || (size_t)n >= sizeof(text)) {
		f->error = n < 0 ? -errno : -ENAMETOOLONG;
		return;
	}
	link.path = arena_copy(f->arena, path, strlen(path));
	link.text = arena_copy(f->arena, text, (size_t)n);
	all = arena_push(f->arena, f->way->followed, f->way->followed_n, sizeof(*all));
	if (link.path == NULL || link.text == NULL || all == NULL) {
		f->error = -ENOMEM;
		return;
	}
	all[f->way->followed_n++] = link;
	f->way->followed = all;
}

static int
resolve(struct fs_cache *m, const char *path, struct way *w)
{
	struct followed f = {.arena = m->arena, .way = w};
	struct path_resolved p;
	struct stat st;

	w->error = path_resolve(path, PATH_MISSING_OK, follow, &f, &p);
	if (w->error == 0 && p.missing == 0) {
		/* syscalls: fstat newfstatat */
		if (fstat(p.fd, &st) < 0)
			w->error = -errno;
		else {
			w->mode = st.st_mode;
			w->uid = st.st_uid;
		}
	}
	fd_close(&p.fd);
	if (w->error == 0)
		w->error = f.error;
	w->real = arena_copy(m->arena, p.real, strlen(p.real));
	w->link = arena_copy(m->arena, p.link, strlen(p.link));
	w->target = arena_copy(m->arena, p.target, strlen(p.target));
	if (w->error == -ENOMEM || w->real == NULL || w->link == NULL ||
	    w->target == NULL)
		return -ENOMEM;
	w->missing = w->error == 0 && p.missing != 0;
	return 0;
}

const struct way *
fs_cache_way(struct fs_cache *m, const char *path)
{
	struct seen **list = &m->seen[hash32(path, strlen(path)) % SLOTS], *s;

	for (s = *list; s != NULL; s = s->next)
		if (strcmp(s->path, path) == 0)
			return &s->way;
	s = arena_alloc(m->arena, sizeof(*s));
	if (s == NULL || (s->path = arena_copy(m->arena, path, strlen(path))) == NULL ||
	    resolve(m, path, &s->way) < 0)
		return NULL;
	s->next = *list;
	*list = s;
	return &s->way;
}

/* A group that may write is refused as in path_resolve.c.  Each directory is asked once. */
static bool
is_public(const struct way *w, mode_t every_user)
{
	return w->error == 0 && !w->missing && w->uid == 0 &&
	       (w->mode & (S_IWGRP | S_IWOTH)) == 0 &&
	       (w->mode & every_user) == every_user;
}

bool
fs_cache_public(struct fs_cache *m, const struct way *w)
{
	mode_t every_user = S_ISDIR(w->mode) ? S_IROTH | S_IXOTH : S_IROTH;
	char up[PATH_MAX];
	size_t len;

	if (!is_public(w, every_user))
		return false;
	(void)snprintf(up, sizeof(up), "%s", w->real); /* as long */
	for (len = strlen(up); len > 1;) {
		while (up[--len] != '/')
			continue;
		len += len == 0;
		up[len] = '\0';
		w = fs_cache_way(m, up);
		if (w == NULL || strcmp(w->real, up) != 0 || !is_public(w, S_IXOTH))
			return false;
	}
	return true;
}

const char *
way_why(const struct way *w, char *out, size_t out_cap)
{
	struct path_resolved p;

	(void)snprintf(p.link, sizeof(p.link), "%s", w->link);       /* it fits */
	(void)snprintf(p.target, sizeof(p.target), "%s", w->target); /* it fits */
	return path_link_why(&p, w->error, out, out_cap);
}

/* ---- programs ---------------------------------------------------------------- */

const struct view_row *
fs_cache_closure(
    const struct fs_cache *m, const char *path, const char *real, size_t *ret_n)
{
	const struct closure *c;

	for (c = m->closure; c != NULL; c = c->next)
		if (strcmp(c->path, path) == 0 && strcmp(c->real, real) == 0) {
			*ret_n = c->n;
			return c->row;
		}
	return NULL;
}

static bool
keep_text(struct fs_cache *m, const char **text)
{
	*text = arena_copy(m->arena, *text, strlen(*text));
	return *text != NULL;
}

int
fs_cache_keep(struct fs_cache *m, const char *path, const char *real,
    const struct view_row *row, size_t n)
{
	struct closure *c = arena_alloc(m->arena, sizeof(*c));
	size_t i;

	if (c == NULL)
		return -ENOMEM;
	*c = (struct closure){m->closure, path, real, NULL, n};
	c->row = arena_alloc(m->arena, (n + 1) * sizeof(*row));
	if (c->row == NULL || !keep_text(m, &c->path) || !keep_text(m, &c->real))
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		c->row[i] = row[i];
		if (!keep_text(m, &c->row[i].source) || !keep_text(m, &c->row[i].target))
			return -ENOMEM;
	}
	m->closure = c;
	return 0;
}
