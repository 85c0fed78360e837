/*
 * Writes an event as the one line of JSON that is stored and hashed.
 *
 * Runs in the recorder, on bytes that a writer sent: every string becomes valid
 * UTF-8, control characters are escaped, and what does not fit is omitted and counted
 * in "cut". The keys have a fixed order, so that record_read.c can use a strict
 * parser.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "shim/base/wire.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/recorder/startup.h"

#define FIELDS_MAX 2560 /* more than fit into one packet */
#define TAIL_ROOM  40   /* ,"cut":18446744073709551615}} */

struct field {
	enum event_key key;
	uint64_t number;
	struct span text;
	uint16_t next; /* index + 1 of the next field with this key; 0: none */
};

/* Index + 1 of the first and last field of each key; 0: none. */
struct keys {
	uint16_t first[KEY_END], last[KEY_END];
};

struct line {
	char *at;
	size_t len, cap;
	bool full; /* something did not fit: the caller rolls back */
};

/* ---- UTF-8 ---------------------------------------------------------------- */

/* Length of the well-formed character at bytes[0..len), or 0 (RFC 3629: no overlong
 * forms, no surrogates, nothing above U+10FFFF). */
static size_t
utf8_len(const uint8_t *b, size_t len)
{
	static const struct {
		uint8_t first, last, low, high; /* lead byte; second byte */
		size_t n;
	} form[] = {
	    {0x01, 0x7f, 0, 0, 1},
	    {0xc2, 0xdf, 0x80, 0xbf, 2},
	    {0xe0, 0xe0, 0xa0, 0xbf, 3},
	    {0xe1, 0xec, 0x80, 0xbf, 3},
	    {0xed, 0xed, 0x80, 0x9f, 3},
	    {0xee, 0xef, 0x80, 0xbf, 3},
	    {0xf0, 0xf0, 0x90, 0xbf, 4},
	    {0xf1, 0xf3, 0x80, 0xbf, 4},
	    {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < ARRAY_LEN(form); i++) {
		if (b[0] < form[i].first || b[0] > form[i].last)
			continue;
		if (form[i].n > len)
			return 0;
		if (form[i].n > 1 && (b[1] < form[i].low || b[1] > form[i].high))
			return 0;
		for (size_t k = 2; k < form[i].n; k++) {
			if ((b[k] & 0xc0) != 0x80)
				return 0;
		}
		return form[i].n;
	}
	return 0;
}

/* Number of leading bytes that are ASCII and not NUL: eight at a time, then one by
 * one. */
static size_t
ascii_run(const uint8_t *b, size_t len)
{
	const uint64_t high = UINT64_C(0x8080808080808080), ones = high >> 7;
	size_t n = 0;
	uint64_t word;

	for (; n + sizeof(word) <= len; n += sizeof(word)) {
		memcpy(&word, b + n, sizeof(word));
		if (((word | (word - ones)) & high) != 0)
			break;
	}
	while (n < len && b[n] > 0 && b[n] < 0x80)
		n++;
	return n;
}

void
body_utf8(char *out, size_t out_cap, const void *bytes, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	const uint8_t *in = bytes;
	size_t o = 0;

	for (size_t i = 0; i < len;) {
		size_t plain = ascii_run(in + i, len - i), n;

		if (plain > 0) {
			if (plain > out_cap - 1 - o)
				plain = out_cap - 1 - o;
			memcpy(out + o, in + i, plain);
			o += plain;
			i += plain;
			if (o + 1 == out_cap)
				break;
			continue;
		}
		n = utf8_len(in + i, len - i);
		const void *from = n > 0 ? (const void *)(in + i) : replacement;
		size_t put = n > 0 ? n : sizeof(replacement) - 1;

		if (o + put >= out_cap)
			break;
		memcpy(out + o, from, put);
		o += put;
		i += n > 0 ? n : 1;
	}
	out[o] = '\0';
}

/* ---- the line ------------------------------------------------------------- */

static void
put(struct line *line, const char *bytes, size_t len)
{
	if (len > line->cap - line->len) {
		line->full = true;
		return;
	}
	memcpy(line->at + line->len, bytes, len);
	line->len += len;
}

static void
put_text(struct line *line, const char *text)
{
	put(line, text, strlen(text));
}

static void
put_number(struct line *line, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	put(line, digits + at, sizeof(digits) - at);
}

/* Number of bytes at s that need no escape. */
static size_t
plain_run(const char *s)
{
	static const uint8_t special[256] = {
	    [0 ... 0x1f] = 1, ['"'] = 1, ['\\'] = 1, [0x7f] = 1, [0xc2] = 1};
	size_t n = 0;

	for (;; n++) {
		while (!special[(uint8_t)s[n]])
			n++;
		if (s[n] == '\0')
			break;
		uint8_t c = (uint8_t)s[n];

		if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
			break;
		if (c == 0xc2 && (uint8_t)s[n + 1] < 0xa0) /* U+0080..9F */
			break;
	}
	return n;
}

/* Appends UTF-8 text as a quoted string. */
static void
put_string(struct line *line, const char *s)
{
	char escape[8];

	put(line, "\"", 1);
	for (;;) {
		size_t n = plain_run(s);
		uint8_t c;

		put(line, s, n);
		s += n;
		if (*s == '\0' || line->full)
			break;
		c = (uint8_t)*s++;
		if (c == 0xc2)
			c = (uint8_t)*s++; /* equals the code point */
		if (c == '"' || c == '\\')
			(void)snprintf(escape, sizeof(escape), "\\%c", c);
		else
			(void)snprintf(escape, sizeof(escape), "\\u%04x", c);
		put_text(line, escape);
	}
	put(line, "\"", 1);
}

static void
put_head(struct line *line, const struct writer *writer, const struct record *rec)
{
	put_text(line, "{\"v\":2,\"idx\":");
	put_number(line, rec->idx);
	put_text(line, ",\"ts\":");
	put_number(line, rec->ts);
	put_text(line, ",\"boot\":");
	put_number(line, rec->boot);
	put_text(line, ",\"writer\":{\"role\":");
	put_string(line, writer->role);
	put_text(line, ",\"instance\":");
	put_string(line, writer->instance);
	put_text(line, ",\"pid\":");
	put_number(line, writer->pid);
	put_text(line, ",\"seq\":");
	put_number(line, rec->wseq);
	put_text(line, "},\"session\":");
	put_string(line, writer->session);
	put_text(line, ",\"kind\":");
	put_string(line, event_kind_name(rec->kind));
	put_text(line, ",\"fields\":{");
}

/* ---- fields --------------------------------------------------------------- */

static int
read_fields(struct wire_in *in, struct field *field, struct keys *ret_keys, size_t *ret_n)
{
	struct keys keys = {0};
	size_t n = 0;

	while (in->error == 0 && in->off < in->len) {
		enum event_key key = wire_get_u8(in);

		if (key == 0 || key >= KEY_END || n == FIELDS_MAX)
			return -EBADMSG;
		if (keys.last[key] != 0 && !event_key_repeats(key))
			return -EBADMSG;
		field[n] = (struct field){.key = key};
		if (event_key_is_number(key))
			field[n].number = wire_get_u64(in);
		else
			field[n].text = wire_get_bytes(in, REPORT_TEXT_MAX);
		n++;
		*(keys.last[key] == 0 ? &keys.first[key]
				      : &field[keys.last[key] - 1].next) = (uint16_t)n;
		keys.last[key] = (uint16_t)n;
	}
	if (wire_end(in) < 0)
		return -EBADMSG;
	*ret_keys = keys;
	*ret_n = n;
	return 0;
}

static void
put_value(struct line *line, const struct field *field)
{
	static char text[3 * REPORT_TEXT_MAX + 1]; /* one at a time */

	if (event_key_is_number(field->key)) {
		put_number(line, field->number);
		return;
	}
	body_utf8(text, sizeof(text), field->text.data, field->text.len);
	put_string(line, text);
}

/* Appends all values of one key, from this index on. Returns 0 or the number that did
 * not fit; also the first value that did, or NULL. */
static size_t
put_field(struct line *line, enum event_key key, const struct field *field, size_t at,
    const struct field **ret_first)
{
	bool list = event_key_repeats(key), first = true;
	size_t left_out = 0;

	for (; at > 0; at = field[at - 1].next) {
		size_t back = line->len;

		if (first) {
			put_text(line, line->at[line->len - 1] == '{' ? "\"" : ",\"");
			put_text(line, event_key_name(key));
			put_text(line, list ? "\":[" : "\":");
		} else {
			put(line, ",", 1);
		}
		put_value(line, &field[at - 1]);
		if (line->full || line->len + list > line->cap) {
			line->len = back;
			line->full = false;
			left_out++;
			continue;
		}
		if (first)
			*ret_first = &field[at - 1];
		first = false;
	}
	if (list && !first)
		put(line, "]", 1);
	return left_out;
}

/* Copies fields of the body into columns. A field that was omitted from the body must
 * not be in a column. */
static void
copy_column(struct record *rec, const struct field *field)
{
	static const enum event_key of[COLUMNS] = {
	    [COLUMN_SERVER] = KEY_SERVER,
	    [COLUMN_TOOL] = KEY_NAME,
	    [COLUMN_VERDICT] = KEY_VERDICT,
	    [COLUMN_RULE] = KEY_RULE,
	};

	for (int c = 0; c < COLUMNS; c++) {
		if (of[c] != field->key)
			continue;
		body_utf8(rec->text[c], sizeof(rec->text[c]), field->text.data,
		    field->text.len);
		rec->column[c] = rec->text[c];
	}
}

int
body_make(const struct writer *writer, struct wire_in *in, struct record *rec)
{
	static struct field field[FIELDS_MAX]; /* one event at a time */
	struct line line = {.at = rec->body, .cap = sizeof(rec->body) - TAIL_ROOM};
	struct keys keys;
	size_t n, left_out = 0;
	bool tool_call = false;
	uint64_t cut = 0;
	int r;

	r = read_fields(in, field, &keys, &n);
	if (r < 0)
		return r;
	put_head(&line, writer, rec);
	memset(rec->column, 0, sizeof(rec->column));
	for (enum event_key key = 1; key < KEY_CUT; key++) {
		const struct field *first = NULL;

		if (keys.first[key] == 0)
			continue;
		left_out += put_field(&line, key, field, keys.first[key], &first);
		if (first == NULL)
			continue;
		copy_column(rec, first);
		tool_call |= key == KEY_ACTION;
	}
	if (!tool_call)
		rec->column[COLUMN_TOOL] = NULL;
	if (keys.last[KEY_CUT] != 0)
		cut = field[keys.last[KEY_CUT] - 1].number;
	cut += left_out;
	line.cap = sizeof(rec->body);
	if (cut > 0) {
		put_text(&line, line.at[line.len - 1] == '{' ? "\"cut\":" : ",\"cut\":");
		put_number(&line, cut);
	}
	put_text(&line, "}}");
	rec->body_len = line.len;
	return 0;
}
