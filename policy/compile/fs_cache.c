/*
 * What the file system said, asked once in one compilation: a thousand servers of
 * one file start the same few programs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/compile/lower.h"

#define SLOTS 4096 /* lists of that hash; a file mentions a few thousand paths */

struct seen {
	struct seen *next;
	const char *path;
	int error; /* of lstat, or 0 */
	mode_t mode;
	const char *link; /* of a symbolic link; NULL: not read yet */
	size_t link_len;
};

/* What a program brought into a view, in the order in which it came. */
struct closure {
	struct closure *next;
	const char *path, *real;
	struct view_row *row;
	size_t n;
};

struct memo {
	struct arena *arena;
	struct seen *seen[SLOTS];
	struct closure *closure;
};

struct memo *
memo_new(void)
{
	struct memo *m = calloc(1, sizeof(*m));

	if (m != NULL && (m->arena = arena_new()) == NULL) {
		free(m);
		m = NULL;
	}
	return m;
}

void
memo_free(struct memo *m)
{
	if (m == NULL)
		return;
	arena_free(m->arena);
	free(m);
}

/* ---- paths ------------------------------------------------------------------- */

static size_t
hash(const char *text)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return (h ^ h >> 15) % SLOTS;
}

static struct seen *
seen_find(struct memo *m, const char *path)
{
	struct seen **list = &m->seen[hash(path)], *s;
	struct stat st;

	for (s = *list; s != NULL; s = s->next)
		if (strcmp(s->path, path) == 0)
			return s;
	s = arena_alloc(m->arena, sizeof(*s));
	if (s == NULL || (s->path = arena_copy(m->arena, path, strlen(path))) == NULL)
		return NULL;
	/* syscalls: newfstatat */
	if (lstat(path, &st) < 0)
		s->error = errno;
	else
		s->mode = st.st_mode;
	s->next = *list;
	*list = s;
	return s;
}

int
memo_mode(struct memo *m, const char *path, mode_t *ret)
{
	const struct seen *s = seen_find(m, path);

	if (s == NULL)
		return -ENOMEM;
	if (s->error != 0)
		return -s->error;
	*ret = s->mode;
	return 0;
}

int
memo_link(struct memo *m, const char *path, const char **ret, size_t *ret_len)
{
	struct seen *s = seen_find(m, path);
	char text[PATH_MAX];
	ssize_t n;

	if (s == NULL)
		return -ENOMEM;
	if (s->link == NULL) {
		/* syscalls: readlink readlinkat */
		n = readlink(path, text, sizeof(text));
		if (n < 0)
			return -errno;
		s->link = arena_copy(m->arena, text, (size_t)n);
		if (s->link == NULL)
			return -ENOMEM;
		s->link_len = (size_t)n;
	}
	*ret = s->link;
	*ret_len = s->link_len;
	return 0;
}

/* ---- programs ---------------------------------------------------------------- */

const struct view_row *
memo_closure(const struct memo *m, const char *path, const char *real, size_t *ret_n)
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
keep_text(struct memo *m, const char **text)
{
	*text = arena_copy(m->arena, *text, strlen(*text));
	return *text != NULL;
}

int
memo_keep(struct memo *m, const char *path, const char *real, const struct view_row *row,
    size_t n)
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
