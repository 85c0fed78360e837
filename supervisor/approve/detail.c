/*
 * How a long request is shown: every key, the head and the tail of each text.
 * Omissions are marked outside of quotation marks, where the agent's text cannot be,
 * and mark the request as truncated.
 *
 * Runs in kennel, on JSON that the scanner has accepted.
 */
#include "shim/base/array.h"
#include "supervisor/approve/approve.h"

#include <stdio.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "shim/base/buf.h"
#include "shim/base/hex.h"

#define MARK_MAX    48  /* bytes of " ...N bytes... " */
#define ENDS_MAX    128 /* bytes of " ...N bytes, SHA-256 of all: DIGEST... " */
#define RENDERS_MAX ((size_t)64 << 20)

/* ---- a text by its ends ------------------------------------------------------- */

static bool
continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void
question_shorten(char *out, size_t cap, const char *text, size_t len, bool *ret_cut)
{
	uint8_t sha256[REPORT_DIGEST_LEN];
	char hex[2 * REPORT_DIGEST_LEN + 1];
	size_t half, head, tail;
	int n;

	if (len < cap) {
		memcpy(out, text, len);
		out[len] = '\0';
		return;
	}
	*ret_cut = true;
	half = (cap - ENDS_MAX) / 2;
	for (head = half; head > 0 && continues(text[head]); head--)
		;
	for (tail = len - half; tail < len && continues(text[tail]); tail++)
		;
	memcpy(out, text, head);
	event_sha256(text, len, sha256);
	n = snprintf(out + head, ENDS_MAX, " ...%zu bytes, SHA-256 of all: %s... ",
	    tail - head, hex_put(hex, sha256, sizeof(sha256)));
	memcpy(out + head + n, text + tail, len - tail);
	out[head + (size_t)n + len - tail] = '\0';
}

/* ---- JSON on one line ----------------------------------------------------------- */

static const char *
string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\';
	return p < end ? p + 1 : end;
}

/* The position in a text nearest to `at`, not before it, that is inside neither a
 * character nor a JSON escape. */
static const char *
boundary(const char *from, const char *at, const char *end)
{
	while (from < at) {
		size_t n = from[0] != '\\' ? 1 : from[1] == 'u' ? 6 : 2;

		from += (size_t)(end - from) < n ? (size_t)(end - from) : n;
		while (from < end && continues(*from))
			from++;
	}
	return from;
}

/* Appends a text or number; only its ends if it is longer than most bytes. */
static void
put_scalar(struct buf *out, const char *p, const char *end, size_t most, bool *cut)
{
	const char *quote = *p == '"' ? "\"" : "", *head = p, *tail = end;
	size_t len = (size_t)(end - p);

	if (len > most) {
		head = boundary(p, p + most / 2, end);
		tail = boundary(head, end - most / 2, end);
	}
	if (len <= most || tail <= head + MARK_MAX) {
		(void)buf_put(out, p, len); /* errors surface at the end */
		return;
	}
	*cut = true;
	(void)buf_put(out, p, (size_t)(head - p)); /* so */
	(void)buf_printf(
	    out, "%s ...%zu bytes... %s", quote, (size_t)(tail - head), quote); /* so */
	(void)buf_put(out, tail, (size_t)(end - tail));                         /* so */
}

/* Appends the value without white space between its parts. */
static int
render(struct buf *out, const char *p, size_t len, size_t most, bool *cut)
{
	const char *end = p + len, *next;

	while (p < end) {
		if (strchr(" \t\r\n", *p) != NULL && *p != '\0') {
			p++;
			continue;
		}
		next = p + 1;
		if (*p == '"')
			next = string_end(p, end);
		else if (strchr("{}[],:", *p) == NULL)
			while (next < end && strchr(" \t\r\n{}[],:\"", *next) == NULL)
				next++;
		put_scalar(out, p, next, most, cut);
		p = next;
	}
	return buf_putc(out, '\0');
}

void
question_detail(struct question_text *q, const void *json, size_t len)
{
	/* of each text: all of it, or at most this much */
	static const size_t most[] = {SIZE_MAX, 1024, 256, 64};
	struct buf text;
	bool cut = false;

	buf_init(&text, RENDERS_MAX);
	for (size_t i = 0; i < ARRAY_LEN(most); i++) {
		buf_clear(&text);
		cut = false;
		if (render(&text, json, len, most[i], &cut) < 0) {
			q->cut = true; /* out of memory: show its beginning and its end */
			question_shorten(
			    q->detail, sizeof(q->detail), json, len, &q->cut);
			buf_free(&text);
			return;
		}
		if (text.len <= sizeof(q->detail))
			break;
	}
	q->cut = q->cut || cut;
	question_shorten(
	    q->detail, sizeof(q->detail), (const char *)text.data, text.len - 1, &q->cut);
	buf_free(&text);
}
