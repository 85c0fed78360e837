/*
 * Where a `$ref` leads: URIs of `$id`, names of `$anchor`, and JSON pointers, all in
 * this document. Nothing is fetched.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "shim/base/hex.h"
#include "supervisor/schema/private.h"

#define PLACES_MAX 1024 /* of `$id` and `$anchor`, each */
#define URI_MAX    2048

struct resource { /* a schema with a URI of its own */
	uint32_t value;
	struct buf uri; /* absolute, if its base is; without fragment */
};

struct anchor {
	uint32_t value, resource; /* values */
	const struct value *name;
	size_t skip; /* of the name: 1 for a draft-07 `$id` of the form "#name" */
};

struct places {
	struct resource *resource;
	size_t resource_n;
	struct anchor *anchor;
	size_t anchor_n;
	uint32_t *resource_of; /* of each value: the value that has its `$id`, or 0 */
};

static const char *const anchor_words[] = {"$anchor", "$dynamicAnchor"};

/* ---- URIs ----------------------------------------------------------------- */

static size_t
scheme_len(const char *uri, size_t len)
{
	size_t n = 0;

	while (n < len && uri[n] != 0 && strchr(":/?#", uri[n]) == NULL)
		n++;
	return n > 0 && n < len && uri[n] == ':' ? n + 1 : 0;
}

/* The base up to the root of its path. */
static size_t
authority_len(const char *uri, size_t len)
{
	size_t n = scheme_len(uri, len);

	if (len - n < 2 || memcmp(uri + n, "//", 2) != 0)
		return n;
	for (n += 2; n < len && uri[n] != '/'; n++)
		;
	return n;
}

/* A reference without fragment against a base (RFC 3986, 5.2, without dot segments:
 * such a reference finds nothing). */
static int
uri_resolve(const struct buf *base, const char *ref, size_t len, struct buf *out)
{
	const char *b = base->len == 0 ? "" : (const char *)base->data;
	size_t keep = base->len;
	int r;

	if (scheme_len(ref, len) > 0)
		keep = 0;
	else if (len > 0 && ref[0] == '/')
		keep = authority_len(b, base->len);
	else if (len > 0)
		while (keep > 0 && b[keep - 1] != '/')
			keep--;
	buf_init(out, URI_MAX);
	r = buf_put(out, b, keep);
	return r < 0 ? r : buf_put(out, ref, len);
}

static size_t
before_fragment(const struct value *uri)
{
	const char *hash = memchr(uri->text, '#', uri->len);

	return hash == NULL ? uri->len : (size_t)(hash - uri->text);
}

/* ---- what the document has ------------------------------------------------ */

static const struct buf *
resource_uri(const struct places *p, uint32_t value)
{
	for (size_t i = 0; i < p->resource_n; i++)
		if (p->resource[i].value == value)
			return &p->resource[i].uri;
	return &p->resource[0].uri;
}

/* Most schemas have one resource and no anchor: room for n + 1, doubled as needed. */
static int
room_for(void *array, size_t n, size_t row_size, void **ret)
{
	void *more;

	*ret = array;
	if (n == PLACES_MAX)
		return -E2BIG;
	if ((n & (n - 1)) != 0) /* neither none nor a power of two: there is room */
		return 0;
	more = reallocarray(array, n == 0 ? 1 : 2 * n, row_size);
	if (more == NULL)
		return -ENOMEM;
	*ret = more;
	return 0;
}

/* base may be one of p's own. */
static int
resource_add(
    struct places *p, uint32_t value, const struct buf *base, const struct value *id)
{
	struct buf uri;
	void *rows;
	int r = uri_resolve(
	    base, id == NULL ? "" : id->text, id == NULL ? 0 : before_fragment(id), &uri);

	if (r == 0) {
		r = room_for(p->resource, p->resource_n, sizeof(*p->resource), &rows);
		p->resource = rows;
	}
	if (r != 0) {
		buf_free(&uri);
		return r;
	}
	p->resource[p->resource_n++] = (struct resource){value, uri};
	return 0;
}

static int
anchor_add(
    const struct schema *s, struct places *p, uint32_t value, uint32_t name, size_t skip)
{
	void *rows;
	int r = room_for(p->anchor, p->anchor_n, sizeof(*p->anchor), &rows);

	p->anchor = rows;
	if (r != 0)
		return r;
	p->anchor[p->anchor_n++] =
	    (struct anchor){value, p->resource_of[value], &s->tree.value[name], skip};
	return 0;
}

static bool
is_text(const struct schema *s, uint32_t value)
{
	return value != NO_VALUE && s->tree.value[value].type == JSON_IS_STRING &&
	       !s->tree.value[value].raw;
}

/* What this object adds; its parent has been read. */
static int
read_object(const struct schema *s, struct places *p, uint32_t i)
{
	uint32_t id = value_tree_named(&s->tree, i, "$id"), name;
	const struct value *v = is_text(s, id) ? &s->tree.value[id] : NULL;
	int r = 0;

	if (v != NULL && v->len > 0 && v->text[0] == '#')
		r = anchor_add(s, p, i, id, 1);
	else if (v != NULL && i != 0) {
		r = resource_add(p, i, resource_uri(p, p->resource_of[i]), v);
		if (r == 0)
			p->resource_of[i] = i;
	}
	for (size_t w = 0; r == 0 && w < ARRAY_LEN(anchor_words); w++) {
		name = value_tree_named(&s->tree, i, anchor_words[w]);
		if (is_text(s, name))
			r = anchor_add(s, p, i, name, 0);
	}
	return r;
}

static int
read_all(const struct schema *s, struct places *p)
{
	const struct buf none = {0};
	uint32_t id = value_tree_named(&s->tree, 0, "$id");
	bool named = is_text(s, id) && s->tree.value[id].text[0] != '#';
	int r = resource_add(p, 0, &none, named ? &s->tree.value[id] : NULL);

	for (uint32_t i = 0; r == 0 && i < s->tree.n; i++) {
		uint32_t parent = s->tree.value[i].parent;

		p->resource_of[i] = parent == NO_VALUE ? 0 : p->resource_of[parent];
		if (s->tree.value[i].type != JSON_IS_OBJECT)
			continue;
		r = read_object(s, p, i);
		if (r == -E2BIG || r == -EMSGSIZE) {
			schema_warn(s, i,
			    "`$id` or `$anchor` is not used: too long, or "
			    "one too many");
			r = 0;
		}
	}
	return r;
}

int
places_new(const struct schema *s, struct places **ret)
{
	struct places *p = calloc(1, sizeof(*p));
	int r = -ENOMEM;

	if (p == NULL)
		return r;
	p->resource_of = calloc(s->tree.n, sizeof(*p->resource_of));
	if (p->resource_of != NULL)
		r = read_all(s, p);
	if (r == 0)
		*ret = p;
	else
		places_free(p);
	return r;
}

void
places_free(struct places *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->resource_n; i++)
		buf_free(&p->resource[i].uri);
	free(p->resource);
	free(p->anchor);
	free(p->resource_of);
	free(p);
}

/* ---- fragments ------------------------------------------------------------ */

static int
percent_decode(const char *text, size_t len, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < len; i++) {
		int high = -1, low = -1;

		if (text[i] == '%' && len - i > 2) {
			high = hex_any((uint8_t)text[i + 1]);
			low = hex_any((uint8_t)text[i + 2]);
		}
		if (high >= 0 && low >= 0) {
			r = buf_putc(out, high << 4 | low);
			i += 2;
		} else
			r = buf_putc(out, text[i]);
	}
	return r;
}

/* Decodes ~0 and ~1 in place; returns the length. */
static size_t
token_decode(char *token, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bool escaped = token[i] == '~' && len - i > 1 &&
			       (token[i + 1] == '0' || token[i + 1] == '1');

		if (escaped)
			token[n++] = token[++i] == '0' ? '~' : '/';
		else
			token[n++] = token[i];
	}
	return n;
}

static uint32_t
item_at(const struct value_tree *t, uint32_t array, const char *token, size_t len)
{
	uint32_t c = array + 1, n = 0;

	if (t->value[array].type != JSON_IS_ARRAY || len == 0 || len > 6)
		return NO_VALUE;
	for (size_t i = 0; i < len; i++) {
		if (token[i] < '0' || token[i] > '9')
			return NO_VALUE;
		n = n * 10 + (uint32_t)(token[i] - '0');
	}
	while (c < t->value[array].next && n-- > 0)
		c = t->value[c].next;
	return c < t->value[array].next ? c : NO_VALUE;
}

static uint32_t
follow_pointer(const struct value_tree *t, uint32_t at, char *pointer, size_t len)
{
	char *p = pointer, *end = pointer + len;

	while (p < end && at != NO_VALUE) {
		char *token = p + 1, *slash = memchr(token, '/', (size_t)(end - token));
		size_t n;

		p = slash == NULL ? end : slash;
		n = token_decode(token, (size_t)(p - token));
		at = t->value[at].type == JSON_IS_OBJECT
			 ? value_tree_member(t, at, token, n)
			 : item_at(t, at, token, n);
	}
	return at;
}

static uint32_t
find_anchor(const struct places *p, uint32_t resource, const char *name, size_t len)
{
	for (size_t i = 0; i < p->anchor_n; i++) {
		const struct anchor *a = &p->anchor[i];

		if (a->resource == resource && a->name->len - a->skip == len &&
		    memcmp(a->name->text + a->skip, name, len) == 0)
			return a->value;
	}
	return NO_VALUE;
}

static int
find_fragment(const struct schema *s, uint32_t resource, const char *text, size_t len,
    uint32_t *ret)
{
	struct buf fragment;
	uint32_t found = resource;
	int r;

	buf_init(&fragment, SCHEMA_SIZE_MAX);
	r = percent_decode(text, len, &fragment);
	if (r == 0 && fragment.len > 0)
		found = fragment.data[0] == '/'
			    ? follow_pointer(
				  &s->tree, resource, (char *)fragment.data, fragment.len)
			    : find_anchor(s->places, resource, (char *)fragment.data,
				  fragment.len);
	buf_free(&fragment);
	if (r == 0 && found == NO_VALUE)
		r = -ENOENT;
	if (r == 0)
		*ret = found;
	return r == -EMSGSIZE ? -ENOENT : r;
}

/* ---- references ----------------------------------------------------------- */

static int
find_resource(
    const struct places *p, uint32_t from, const char *ref, size_t len, uint32_t *ret)
{
	struct buf uri;
	size_t i;
	int r = uri_resolve(resource_uri(p, p->resource_of[from]), ref, len, &uri);

	for (i = 0; r == 0 && i < p->resource_n; i++) {
		const struct buf *b = &p->resource[i].uri;

		if (b->len == uri.len && b->len > 0 &&
		    memcmp(b->data, uri.data, uri.len) == 0)
			break;
	}
	buf_free(&uri);
	if (r == 0 && i < p->resource_n) {
		*ret = p->resource[i].value;
		return 0;
	}
	return r == -ENOMEM ? r : -EXDEV;
}

int
places_find(
    const struct schema *s, uint32_t from, const struct value *reference, uint32_t *ret)
{
	size_t n = before_fragment(reference);
	uint32_t resource = s->places->resource_of[from];
	int r = 0;

	if (n > 0)
		r = find_resource(s->places, from, reference->text, n, &resource);
	if (r < 0)
		return r;
	if (n < reference->len)
		n++;
	return find_fragment(s, resource, reference->text + n, reference->len - n, ret);
}
