#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/check/path_holders.h"
#include "policy/lang/scalar.h"

static int
holder_order(const void *x, const void *y)
{
	const struct path_holder *a = x, *b = y;
	int r = strcmp(a->word->text, b->word->text);

	return r != 0 ? r : (a->order > b->order) - (a->order < b->order);
}

int
path_holders_make(const struct server *server, enum keyword kw, struct path_holders *ret)
{
	size_t n = 0;

	*ret = (struct path_holders){.row = NULL};
	for (size_t i = 0; i < server->stmt_n; i++)
		if (server->stmt[i].kw == kw)
			n += server->stmt[i].word_n;
	if (n == 0)
		return 0;
	ret->row = calloc(n, sizeof(ret->row[0]));
	if (ret->row == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < server->stmt_n; i++) {
		const struct stmt *s = &server->stmt[i];

		for (size_t k = 0; s->kw == kw && k < s->word_n; k++)
			if (path_is_normal(s->word[k].text)) {
				ret->row[ret->n] =
				    (struct path_holder){&s->word[k], ret->n};
				ret->n++;
			}
	}
	qsort(ret->row, ret->n, sizeof(ret->row[0]), holder_order);
	return 0;
}

void
path_holders_free(struct path_holders *h)
{
	free(h->row);
	*h = (struct path_holders){.row = NULL};
}

/* The first row whose path is not before the len bytes at path. */
static size_t
first_from(const struct path_holders *h, const char *path, size_t len)
{
	size_t low = 0, high = h->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		/* equal bytes and longer: after */
		if (strncmp(h->row[mid].word->text, path, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct word *
path_holders_find(
    const struct path_holders *h, const char *path, const struct word * not )
{
	const struct path_holder *best = NULL;
	size_t whole = strlen(path);

	for (size_t len = 1; len <= whole; len++) {
		/* "/" itself, each directory above, and the path */
		if (len != 1 && len != whole && path[len] != '/')
			continue;
		for (size_t i = first_from(h, path, len); i < h->n; i++) {
			const struct path_holder *row = &h->row[i];

			if (row->word->len != len ||
			    strncmp(row->word->text, path, len) != 0)
				break; /* a shorter text sorts first among equal beginnings */
			if (row->word == not )
				continue;
			if (best == NULL || row->order < best->order)
				best = row;
			break; /* the others of this path come later */
		}
	}
	return best == NULL ? NULL : best->word;
}
