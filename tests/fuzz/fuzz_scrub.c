/*
 * Any values in any text, cut anywhere: no crash, the same output however it
 * is cut, and no value in it; and nothing held where a line or message ends.  S4-35
 * As a name no value without regard to case and signs.
 *
 *	make build/fuzz/scrub && build/fuzz/scrub tests/fuzz/corpus/scrub
 *
 * Input: one byte, how many values (1 to 4); for each one byte length and its
 * bytes; one byte that moves the cuts; the rest is the text.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/foreign.h"
#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"

#define VALUES 4

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct input {
	const uint8_t *at;
	size_t left;
};

static size_t
take(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* A value of the input's, learned; "" when it is none. */
static void
learn(
    struct vault *v, struct scrub *s, struct input *in, uint32_t number, char value[256])
{
	struct secret *secret;
	char name[32];
	struct reason why;
	size_t len = take(in), i;

	if (len > in->left)
		len = in->left;
	for (i = 0; i < len; i++)
		value[i] = in->at[i] != 0 ? (char)in->at[i] : 1;
	value[len] = '\0';
	in->at += len;
	in->left -= len;
	(void)snprintf(name, sizeof(name), "KENNEL_FUZZ%u", number);
	if (setenv(name, value, 1) < 0 || secret_from_env(v, name, &secret, &why) < 0)
		value[0] = '\0';
	else if (scrub_learn(s, secret, number) < 0)
		abort();
}

static void
through(struct scrub *s, const uint8_t *text, size_t len, size_t piece, struct buf *out)
{
	struct scrub_stream *st;
	size_t n;

	if (scrub_stream_new(s, &st) < 0)
		abort();
	for (; len > 0; len -= n, text += n) {
		n = len < piece ? len : piece;
		if (scrub_feed(st, text, n, out) < 0)
			abort();
	}
	if (scrub_flush(st, out) < 0)
		abort();
	scrub_stream_free(st);
}

/* Of messages nothing is held after the end of one; of lines nothing that ends in
 * one is after a while. */
static void
by_lines(struct scrub *s, const uint8_t *text, size_t len, size_t piece, bool messages,
    struct buf *out)
{
	struct scrub_stream *st;
	size_t n, before;

	if (scrub_stream_new(s, &st) < 0)
		abort();
	if (messages)
		scrub_stream_messages(st);
	for (; len > 0; len -= n, text += n) {
		n = len < piece ? len : piece;
		if (scrub_feed(st, text, n, out) < 0)
			abort();
		if (messages && scrub_holds_lines(st))
			abort();
		if (!messages && text[n - 1] == '\n' && scrub_flush_lines(st, out) < 0)
			abort();
		if (text[n - 1] == '\n' && scrub_holds_lines(st))
			abort();
	}
	if (scrub_feed(st, "\n", 1, out) < 0 || scrub_flush_lines(st, out) < 0)
		abort();
	before = out->len;
	if (scrub_flush(st, out) < 0 || out->len != before)
		abort();
	scrub_stream_free(st);
}

/* What is left of a text without its signs and case; a mask is one byte. */
static size_t
kept(const char *text, char out[1024])
{
	size_t n = 0;

	for (; *text != '\0' && n < 1023; text++)
		if (*text == '*' || (*text & 0x80) != 0 || isalnum((unsigned char)*text))
			out[n++] = (char)tolower((unsigned char)*text);
	out[n] = '\0';
	return n;
}

/* The text as a name: no value is in it, however it is cut and whatever its case. */
static void
as_name(struct scrub *s, const uint8_t *text, size_t len, char value[VALUES][256])
{
	char name[FOREIGN_NAME_MAX], left[1024], looked[1024];
	struct buf room;
	const char *out;

	len = len < sizeof(name) ? len : sizeof(name) - 1;
	for (size_t i = 0; i < len; i++)
		name[i] = text[i] != 0 ? (char)text[i] : '.';
	name[len] = '\0';
	buf_init(&room, 4096);
	out = foreign_str(foreign_name(s, name, &room));
	(void)kept(out, left);
	for (size_t i = 0; i < VALUES; i++)
		if (kept(value[i], looked) >= 8 && strchr(value[i], '*') == NULL &&
		    strstr(out, "[REDACTED:") == NULL && strstr(left, looked) != NULL)
			abort();
	buf_free(&room);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, len};
	char value[VALUES][256] = {{0}};
	struct buf whole, cut;
	struct vault *v;
	struct scrub *s;
	size_t n = take(&in) % VALUES + 1, i, piece;
	struct buf lines;

	if (vault_new(16384, &v) < 0 || scrub_new(&s) < 0)
		abort();
	for (i = 0; i < n; i++)
		learn(v, s, &in, (uint32_t)i, value[i]);
	piece = take(&in) % 17 + 1;
	buf_init(&whole, in.left * 3 + 64);
	buf_init(&cut, in.left * 3 + 64);
	through(s, in.at, in.left, in.left + 1, &whole);
	through(s, in.at, in.left, piece, &cut);
	/* a line's end between two pieces may stand in base64: stream.c waits for
	 * more only where four bytes of a value stand before it */
	if (memchr(in.at, '\n', in.left) != NULL)
		goto values;
	if (whole.len != cut.len ||
	    (whole.len > 0 && memcmp(whole.data, cut.data, cut.len) != 0))
		abort();
values:
	for (i = 0; i < n; i++)
		if (value[i][0] != '\0' && strchr(value[i], '*') == NULL &&
		    whole.len > 0 &&
		    memmem(whole.data, whole.len, value[i], strlen(value[i])) != NULL)
			abort();
	buf_init(&lines, in.left * 3 + 64);
	by_lines(s, in.at, in.left, piece, false, &lines);
	buf_clear(&lines);
	by_lines(s, in.at, in.left, piece, true, &lines);
	as_name(s, in.at, in.left, value);
	buf_free(&lines);
	buf_free(&whole);
	buf_free(&cut);
	scrub_free(s);
	vault_free(v);
	return 0;
}
