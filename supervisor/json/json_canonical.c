/*
 * The canonical form of a JSON value (docs/FORMAT.pins), so that two definitions can
 * be compared by their bytes: members sorted by the bytes of their keys, no white
 * space, the shortest escapes, numbers as written.
 */
#include "shim/base/buf.h"
#include "supervisor/json/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct member {
	size_t key_at, key_len; /* decoded, in canon.keys */
	struct json value;
};

struct level { /* an open container */
	bool object;
	size_t first, n, i; /* object: its members, sorted by key */
	size_t keys;        /* start of its keys */
	struct json_walk w; /* array */
};

struct canon {
	struct buf *out;
	struct level level[MCP_DEPTH_MAX];
	size_t depth;
	struct buf keys;
	char *text; /* of the current string; as long as the whole value */
	size_t text_cap;
	struct member *member; /* of every open object, one after the other */
	size_t member_n, member_cap;
};

/* ---- texts ---------------------------------------------------------------- */

static int
put_escaped(struct buf *out, uint8_t c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = strchr(from, c);

	if (at != NULL && c != 0)
		return buf_printf(out, "\\%c", to[at - from]);
	return buf_printf(out, "\\u%04x", c);
}

int
json_quote(struct buf *out, const char *text, size_t len)
{
	size_t i, from = 0;
	int r = buf_putc(out, '"');

	for (i = 0; r == 0 && i < len; i++) {
		uint8_t c = (uint8_t)text[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		r = buf_put(out, text + from, i - from);
		if (r == 0)
			r = put_escaped(out, c);
		from = i + 1;
	}
	if (r == 0)
		r = buf_put(out, text + from, len - from);
	return r < 0 ? r : buf_putc(out, '"');
}

/* Bytes of the escape at p: a surrogate pair is one. */
static size_t
escape_len(const uint8_t *p, const uint8_t *end)
{
	int32_t high, low;

	if (p[1] != 'u')
		return 2;
	if (end - p < 12 || p[6] != '\\' || p[7] != 'u')
		return 6;
	high = json_hex4(p + 2, end);
	low = json_hex4(p + 8, end);
	return high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000 ? 12 : 6;
}

/* One escape of a text, or the bytes up to the next one; moves *p past it. */
static int
put_part(struct buf *out, const uint8_t **p, const uint8_t *end)
{
	const uint8_t *from = *p;
	uint8_t quoted[16] = "\"";
	size_t n = 0, len;
	char text[8];

	if (*from != '\\') {
		while (*p < end && **p != '\\')
			++*p;
		return buf_put(out, from, (size_t)(*p - from));
	}
	n = escape_len(from, end);
	*p += n;
	memcpy(quoted + 1, from, n);
	quoted[n + 1] = '"';
	if (json_text((struct json){quoted, n + 2, JSON_IS_STRING}, text, sizeof(text),
		&len) < 0)
		return buf_put(out, from, n); /* a NUL, or half a pair */
	if ((uint8_t)text[0] < 0x20 || text[0] == '"' || text[0] == '\\')
		return put_escaped(out, (uint8_t)text[0]);
	return buf_put(out, text, len);
}

int
json_plain(struct json value, struct buf *out)
{
	const uint8_t *p = value.at, *end = value.at + value.len;
	bool inside = false;
	int r = 0;

	while (r == 0 && p < end) {
		const uint8_t *stop = p;

		if (*p == '"') {
			inside = !inside;
			r = buf_putc(out, *p++);
		} else if (inside) {
			while (*stop != '"')
				stop += *stop == '\\' ? 2 : 1;
			while (r == 0 && p < stop)
				r = put_part(out, &p, stop);
		} else if (strchr(" \t\r\n", *p) != NULL)
			p++;
		else
			r = buf_putc(out, *p++);
	}
	return r;
}

static int
put_string(struct canon *c, struct json value)
{
	size_t len;
	int r = json_text(value, c->text, c->text_cap, &len);

	return r < 0 ? r : json_quote(c->out, c->text, len);
}

/* ---- objects -------------------------------------------------------------- */

static int
member_add(struct canon *c, struct json key, struct json value)
{
	size_t len;
	int r = json_text(key, c->text, c->text_cap, &len);

	if (r < 0)
		return r;
	if (c->member_n == c->member_cap) {
		size_t cap = c->member_cap == 0 ? 64 : c->member_cap * 2;
		struct member *m = realloc(c->member, cap * sizeof(*m));

		if (m == NULL)
			return -ENOMEM;
		c->member = m;
		c->member_cap = cap;
	}
	c->member[c->member_n++] = (struct member){c->keys.len, len, value};
	return buf_put(&c->keys, c->text, len);
}

static int
by_key(const void *a, const void *b, void *arg)
{
	const struct member *x = a, *y = b;
	const uint8_t *keys = arg;
	size_t n = x->key_len < y->key_len ? x->key_len : y->key_len;
	int d = n == 0 ? 0 : memcmp(keys + x->key_at, keys + y->key_at, n);

	return d != 0 ? d : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

/* Adds its members, sorted. Those of nested objects are added after them and removed
 * again. */
static int
object_open(struct canon *c, struct json object, struct level *l)
{
	struct json key, value;
	struct json_walk w;
	int r;

	l->first = c->member_n;
	l->keys = c->keys.len;
	json_walk(&w, object);
	while (json_next(&w, &key, &value))
		if ((r = member_add(c, key, value)) < 0)
			return r;
	l->n = c->member_n - l->first;
	if (l->n > 0)
		qsort_r(
		    c->member + l->first, l->n, sizeof(*c->member), by_key, c->keys.data);
	return 0;
}

/* ---- values --------------------------------------------------------------- */

static int
value_begin(struct canon *c, struct json value)
{
	struct level *l;
	int r = 0;

	if (value.type == JSON_IS_STRING)
		return put_string(c, value);
	if (value.type != JSON_IS_OBJECT && value.type != JSON_IS_ARRAY)
		return buf_put(c->out, value.at, value.len);
	if (c->depth == MCP_DEPTH_MAX)
		return -E2BIG;
	l = &c->level[c->depth++];
	*l = (struct level){.object = value.type == JSON_IS_OBJECT};
	if (l->object)
		r = object_open(c, value, l);
	else
		json_walk(&l->w, value);
	return r < 0 ? r : buf_putc(c->out, l->object ? '{' : '[');
}

/* The next member's key and value: 1; 0 at the end. */
static int
member_next(struct canon *c, struct level *l, struct json *ret)
{
	struct member m;
	int r = 0;

	if (l->i == l->n)
		return 0;
	m = c->member[l->first + l->i];
	if (l->i > 0) {
		if (by_key(&c->member[l->first + l->i - 1], &m, c->keys.data) == 0)
			return -EEXIST;
		r = buf_putc(c->out, ',');
	}
	l->i++;
	if (r == 0)
		r = json_quote(c->out, /* no key has a byte: there is no buffer */
		    m.key_len == 0 ? "" : (const char *)c->keys.data + m.key_at,
		    m.key_len);
	if (r == 0)
		r = buf_putc(c->out, ':');
	*ret = m.value;
	return r < 0 ? r : 1;
}

static int
item_next(struct canon *c, struct level *l, struct json *ret)
{
	struct json key;
	int r = 0;

	if (!json_next(&l->w, &key, ret))
		return 0;
	if (l->i++ > 0)
		r = buf_putc(c->out, ',');
	return r < 0 ? r : 1;
}

/* One step in the innermost open container. */
static int
step(struct canon *c)
{
	struct level *l = &c->level[c->depth - 1];
	struct json value;
	int r = l->object ? member_next(c, l, &value) : item_next(c, l, &value);

	if (r < 0)
		return r;
	if (r > 0)
		return value_begin(c, value);
	if (l->object) {
		c->member_n = l->first;
		c->keys.len = l->keys;
	}
	c->depth--;
	return buf_putc(c->out, l->object ? '}' : ']');
}

int
json_canon(struct json value, struct buf *out)
{
	struct canon c = {.out = out, .text_cap = value.len + 1};
	size_t before = out->len;
	int r = -ENOMEM;

	buf_init(&c.keys, MCP_MESSAGE_MAX);
	c.text = malloc(c.text_cap);
	if (c.text != NULL)
		r = value_begin(&c, value);
	while (r == 0 && c.depth > 0)
		r = step(&c);
	if (r < 0)
		out->len = before;
	free(c.text);
	free(c.member);
	buf_free(&c.keys);
	return r;
}
