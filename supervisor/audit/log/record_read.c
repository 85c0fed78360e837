/*
 * Parses the bytes of a record: exactly the grammar that record_write.c writes. Runs
 * on untrusted bytes; allocates nothing.
 */
#include <errno.h>
#include <string.h>

#include "shim/base/hex.h"
#include "shim/base/wire.h"
#include "supervisor/audit/log/record.h"

struct cursor {
	const uint8_t *at;
	size_t len, off;
};

#define BEFORE(literal) literal, sizeof(literal) - 1

static const struct {
	const char *before;
	size_t len;
	bool string;
} head_row[SCAN_HEADS] = {
    [SCAN_V] = {BEFORE("{\"v\":"), false},
    [SCAN_IDX] = {BEFORE(",\"idx\":"), false},
    [SCAN_TS] = {BEFORE(",\"ts\":"), false},
    [SCAN_BOOT] = {BEFORE(",\"boot\":"), false},
    [SCAN_ROLE] = {BEFORE(",\"writer\":{\"role\":"), true},
    [SCAN_INSTANCE] = {BEFORE(",\"instance\":"), true},
    [SCAN_PID] = {BEFORE(",\"pid\":"), false},
    [SCAN_SEQ] = {BEFORE(",\"seq\":"), false},
    [SCAN_SESSION] = {BEFORE("},\"session\":"), true},
    [SCAN_KIND] = {BEFORE(",\"kind\":"), true},
};

static int
peek(const struct cursor *c)
{
	return c->off < c->len ? c->at[c->off] : -1;
}

static inline __attribute__((always_inline)) bool
take_bytes(struct cursor *c, const char *literal, size_t n)
{
	if (n > c->len - c->off || memcmp(c->at + c->off, literal, n) != 0)
		return false;
	c->off += n;
	return true;
}

/* Inline, so that the compiler knows the length of the literal. */
static inline __attribute__((always_inline)) bool
take(struct cursor *c, const char *literal)
{
	return take_bytes(c, literal, strlen(literal));
}

static bool
take_number(struct cursor *c)
{
	size_t from = c->off;

	while (peek(c) >= '0' && peek(c) <= '9')
		c->off++;
	/* reject an empty number, one with too many digits, and a leading zero */
	if (c->off == from || c->off - from > 20)
		return false;
	return c->at[from] != '0' || c->off - from == 1;
}

/* After a backslash: a quote, a backslash, or u00xx with lower-case digits. */
static bool
take_escape(struct cursor *c)
{
	if (take(c, "\"") || take(c, "\\"))
		return true;
	if (!take(c, "u00") || c->len - c->off < 2)
		return false;
	if (hex_lower(c->at[c->off]) < 0 || hex_lower(c->at[c->off + 1]) < 0)
		return false;
	c->off += 2;
	return true;
}

/* Bytes that are not literal text inside a string. */
static const bool no_text[256] = {
    [0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, [0x7f] = true};

static bool
take_string(struct cursor *c)
{
	if (!take(c, "\""))
		return false;
	for (;;) {
		int byte;

		while (c->off < c->len && !no_text[c->at[c->off]])
			c->off++;
		byte = peek(c);
		if (byte < 0x20 || byte == 0x7f) /* also the end */
			return false;
		c->off++;
		if (byte == '"')
			return true;
		if (!take_escape(c)) /* a backslash: nothing else is left */
			return false;
	}
}

static bool
take_list(struct cursor *c)
{
	if (!take(c, "["))
		return false;
	do {
		if (!take_string(c))
			return false;
	} while (take(c, ","));
	return take(c, "]");
}

static bool
take_value(struct cursor *c)
{
	int byte = peek(c);

	if (byte == '"')
		return take_string(c);
	return byte == '[' ? take_list(c) : take_number(c);
}

static bool
take_key(struct cursor *c, struct span *ret)
{
	size_t from;
	int byte;

	if (!take(c, "\""))
		return false;
	from = c->off;
	while ((byte = peek(c)) == '_' || (byte >= 'a' && byte <= 'z') ||
	       (byte >= '0' && byte <= '9'))
		c->off++;
	*ret = (struct span){c->at + from, c->off - from};
	return c->off > from && take(c, "\":");
}

static bool
take_fields(struct cursor *c, struct scan *scan)
{
	if (take(c, "}}"))
		return true;
	do {
		struct scan_field *f = &scan->field[scan->field_n];
		size_t from;

		if (scan->field_n == SCAN_FIELDS_MAX || !take_key(c, &f->key))
			return false;
		for (size_t i = 0; i < scan->field_n; i++) {
			const struct span *k = &scan->field[i].key;

			/* the first byte, before a call: most keys differ in it */
			if (k->len == f->key.len && k->data[0] == f->key.data[0] &&
			    memcmp(k->data, f->key.data, k->len) == 0)
				return false;
		}
		from = c->off;
		if (!take_value(c))
			return false;
		f->value = (struct span){c->at + from, c->off - from};
		scan->field_n++;
	} while (take(c, ","));
	return take(c, "}}");
}

int
scan_body(const void *bytes, size_t len, struct scan *ret)
{
	struct cursor c = {bytes, len, 0};

	ret->field_n = 0;
	for (int i = 0; i < SCAN_HEADS; i++) {
		size_t from;

		if (!take_bytes(&c, head_row[i].before, head_row[i].len))
			return -EBADMSG;
		from = c.off;
		if (!(head_row[i].string ? take_string(&c) : take_number(&c)))
			return -EBADMSG;
		ret->head[i] = (struct span){c.at + from, c.off - from};
	}
	if (!take(&c, ",\"fields\":{") || !take_fields(&c, ret) || c.off != c.len)
		return -EBADMSG;
	return 0;
}

const struct scan_field *
scan_find(const struct scan *scan, const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < scan->field_n; i++) {
		const struct span *k = &scan->field[i].key;

		if (k->len == len && k->data[0] == (uint8_t)key[0] &&
		    memcmp(k->data, key, len) == 0)
			return &scan->field[i];
	}
	return NULL;
}

bool
scan_number(struct span raw, uint64_t *ret)
{
	uint64_t value = 0;

	if (raw.len == 0)
		return false;
	for (size_t i = 0; i < raw.len; i++) {
		unsigned int digit = raw.data[i] - (unsigned int)'0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret = value;
	return true;
}

/* Decodes the escape at *at; moves *at to its last byte. */
static int
escaped(struct span raw, size_t *at)
{
	size_t left = raw.len - *at;
	int high, low;

	if (left < 3)
		return -EBADMSG;
	*at += 1;
	if (raw.data[*at] != 'u')
		return raw.data[*at];
	if (left < 7)
		return -EBADMSG;
	high = hex_lower(raw.data[*at + 3]);
	low = hex_lower(raw.data[*at + 4]);
	*at += 4;
	return high < 0 || low < 0 ? -EBADMSG : high << 4 | low;
}

long
scan_string(struct span raw, char *out, size_t out_cap)
{
	size_t o = 0;

	if (raw.len < 2 || raw.data[0] != '"')
		return -EBADMSG;
	for (size_t i = 1; i < raw.len - 1; i++) {
		int c = raw.data[i];

		if (o + 2 > out_cap)
			return -EBADMSG;
		if (c == '\\') {
			c = escaped(raw, &i);
			if (c < 0)
				return -EBADMSG;
		}
		if (c >= 0x80 && raw.data[i] < 0x80) { /* \u0080..\u009f */
			out[o++] = (char)0xc2;
		}
		out[o++] = (char)c;
	}
	return (long)o;
}

bool
scan_is(struct span raw, const char *word)
{
	size_t len = strlen(word);

	return raw.len == len + 2 && memcmp(raw.data + 1, word, len) == 0;
}

int
scan_next(struct span raw, size_t *at, struct span *ret)
{
	struct cursor c = {raw.data, raw.len, *at};
	size_t from;

	if (raw.len == 0 || raw.data[0] != '[') {
		if (*at != 0)
			return 0;
		*at = raw.len;
		*ret = raw;
		return 1;
	}
	c.off += 1; /* the bracket or the comma */
	from = c.off;
	if (c.off >= c.len || !take_string(&c))
		return 0;
	*at = c.off;
	*ret = (struct span){c.at + from, c.off - from};
	return 1;
}
