/*
 * Items by what the agent calls them: a wire name, or the URI of a resource or template.
 * Sorted, so that a server that chooses its names makes no lookup slow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/hex.h"
#include "supervisor/serve/private.h"

#define OWN_URI_PREFIX "kennel://"

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

/* ---- whose a URI is: the one server's that lists it or a template of it, or that of the
 * server that kennel's own scheme names ---- */

/* "kennel://SERVER/" and the percent-encoded URI: into out. */
static struct server *
own_uri(
    struct hub *h, const char *uri, size_t len, char out[MCP_NAME_MAX], size_t *ret_len)
{
	size_t n = sizeof(OWN_URI_PREFIX) - 1, at = 0;
	const char *slash, *end = uri + len;
	struct server *s;

	if (len <= n || memcmp(uri, OWN_URI_PREFIX, n) != 0 ||
	    (slash = memchr(uri + n, '/', len - n)) == NULL)
		return NULL;
	s = server_find(h, uri + n, (size_t)(slash - uri) - n);
	for (const char *p = slash + 1; s != NULL && p < end && at + 1 < MCP_NAME_MAX;
	     p++) {
		int high = *p == '%' && end - p > 2 ? hex_any(p[1]) : -1;
		int low = high >= 0 ? hex_any(p[2]) : -1;

		out[at++] = (char)(low >= 0 ? high << 4 | low : *p);
		p += low >= 0 ? 2 : 0;
	}
	out[at] = '\0';
	*ret_len = at;
	return s;
}

/* The literal text of a template before its first expression. */
static size_t
literal_prefix(const struct item *i)
{
	const char *brace = memchr(i->name, '{', i->name_len);

	return brace == NULL ? i->name_len : (size_t)(brace - i->name);
}

/* Is this what the agent means? A template may mean every URI with its literal beginning. */
static bool
claims(const struct item *i, const char *uri, size_t len)
{
	size_t n = i->kind == PIN_TEMPLATE ? literal_prefix(i) : len;

	return (i->kind == PIN_RESOURCE || i->kind == PIN_TEMPLATE) && item_offered(i) &&
	       n <= len && n <= i->name_len && memcmp(i->name, uri, n) == 0 &&
	       (i->kind == PIN_TEMPLATE || i->name_len == len);
}

/* No order of servers or templates decides: one that lists a URI, or a template of it, would
 * answer for another one. */
struct server *
offers_resource(struct hub *h, const char *uri, size_t len, const char **ret_uri,
    size_t *ret_len, const struct server *ret_two[2])
{
	static char own[MCP_NAME_MAX];
	struct server *s = own_uri(h, uri, len, own, ret_len);

	*ret_uri = own;
	ret_two[0] = ret_two[1] = NULL;
	if (s != NULL)
		return s;
	*ret_uri = uri;
	*ret_len = len;
	for (size_t i = 0; i < h->items.n; i++) {
		const struct item *it = h->items.item[i];

		if (it->server == s || !claims(it, uri, len))
			continue;
		if (s != NULL) {
			ret_two[0] = s;
			ret_two[1] = it->server;
			return NULL;
		}
		s = it->server;
	}
	return s;
}
