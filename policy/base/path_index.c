#include <errno.h>
#include <string.h>

#include "policy/base/path_index.h"
#include "shim/base/hash.h"

#define FIRST_CAP 64

struct path_entry {
	const char *path;
	size_t len;
	uint32_t row;
};

/* The entry of the path, or the free one where it belongs. */
static struct path_entry *
place(const struct path_index *x, const char *path, size_t len)
{
	size_t i = hash32(path, len);

	for (;; i++) {
		struct path_entry *e = &x->entry[i & (x->cap - 1)];

		if (e->path == NULL || (e->len == len && memcmp(e->path, path, len) == 0))
			return e;
	}
}

/* At most half of the entries are in use, so that a search ends soon. */
static int
grow(struct arena *a, struct path_index *x)
{
	struct path_index more = {.cap = x->cap == 0 ? FIRST_CAP : 2 * x->cap, .n = x->n};

	more.entry = arena_alloc(a, more.cap * sizeof(more.entry[0]));
	if (more.entry == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < x->cap; i++)
		if (x->entry[i].path != NULL)
			*place(&more, x->entry[i].path, x->entry[i].len) = x->entry[i];
	*x = more;
	return 0;
}

int
path_index_set(struct arena *a, struct path_index *x, const char *path, uint32_t row)
{
	size_t len = strlen(path);
	struct path_entry *e;

	if (2 * (x->n + 1) > x->cap && grow(a, x) < 0)
		return -ENOMEM;
	e = place(x, path, len);
	x->n += e->path == NULL;
	*e = (struct path_entry){path, len, row};
	return 0;
}

uint32_t
path_index_get(const struct path_index *x, const char *path, size_t len)
{
	const struct path_entry *e = x->cap == 0 ? NULL : place(x, path, len);

	return e == NULL || e->path == NULL ? PATH_INDEX_NONE : e->row;
}

size_t
path_above(const char *path, size_t len)
{
	while (len > 0 && path[--len] != '/')
		;
	return len;
}

uint32_t
path_index_holder(const struct path_index *x, const char *path)
{
	uint32_t row = PATH_INDEX_NONE;

	for (size_t n = strlen(path); n > 0 && row == PATH_INDEX_NONE;
	     n = path_above(path, n))
		row = path_index_get(x, path, n);
	return row;
}
