/*
 * Items by what the agent calls them: a wire name, or the URI of a resource or template.
 * Sorted, so that a server that chooses its names makes no lookup slow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/serve/private.h"

struct key {
	enum sealed_pin_kind kind;
	const char *text;
	size_t len;
};

static struct key
key_of(const struct item *i)
{
	if (i->wire != NULL)
		return (struct key){i->kind, i->wire, strlen(i->wire)};
	return (struct key){i->kind, i->name, i->name_len};
}

static int
compare(const struct key *a, const struct key *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int d = (int)a->kind - (int)b->kind;

	if (d == 0)
		d = memcmp(a->text, b->text, n);
	return d != 0 ? d : (a->len > b->len) - (a->len < b->len);
}

/* The place of the first item with this key and of this or a later server; "": of any. */
static size_t
place(const struct items *all, const struct key *key, const char *server)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		struct key have = key_of(all->by_key[mid]);
		int d = compare(&have, key);

		if (d == 0)
			d = strcmp(all->by_key[mid]->server->name, server);
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Notes whether the item before has the wire name of this one. */
static void
link_at(struct items *all, size_t at)
{
	struct item *i = all->by_key[at], *other;
	struct key key = key_of(i), have;

	if (at == 0 || i->wire == NULL)
		return;
	other = all->by_key[at - 1];
	have = key_of(other);
	if (compare(&have, &key) == 0)
		other->twin = i->twin = true;
}

int
item_index_add(struct items *all, struct item *new)
{
	struct key key = key_of(new);
	size_t at;

	if (all->n == all->key_cap) {
		size_t cap = all->key_cap == 0 ? 256 : all->key_cap * 2;
		struct item **more = reallocarray(all->by_key, cap, sizeof(void *));

		if (more == NULL)
			return -ENOMEM;
		all->by_key = more;
		all->key_cap = cap;
	}
	at = place(all, &key, new->server->name);
	memmove(all->by_key + at + 1, all->by_key + at, (all->n - at) * sizeof(void *));
	all->by_key[at] = new;
	link_at(all, at);
	if (at < all->n)
		link_at(all, at + 1);
	return 0;
}

void
item_index_forget(struct items *all, const struct server *s)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		all->by_key[i]->twin = false;
		if (all->by_key[i]->server != s)
			all->by_key[n++] = all->by_key[i];
	}
	for (size_t i = 0; i < n; i++)
		link_at(all, i);
}

struct item *
item_index_find(
    const struct items *all, enum sealed_pin_kind kind, const char *text, size_t len)
{
	struct key key = {kind, text, len}, have;
	size_t at = place(all, &key, "");

	if (at == all->n)
		return NULL;
	have = key_of(all->by_key[at]);
	return compare(&have, &key) == 0 ? all->by_key[at] : NULL;
}

bool
item_index_alone(
    const struct items *all, const struct item *i, bool (*counts)(const struct item *))
{
	struct key key = key_of(i), have;

	for (size_t at = place(all, &key, ""); at < all->n; at++) {
		const struct item *other = all->by_key[at];

		have = key_of(other);
		if (compare(&have, &key) != 0)
			break;
		if (other != i && counts(other))
			return false;
	}
	return true;
}
