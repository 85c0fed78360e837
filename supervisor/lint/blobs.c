/*
 * Encoded texts that decode to commands: base64 of both alphabets, and hex. A person sees
 * a run of letters; a model, or a shell that it starts, reads what is in it.
 */
#include <ctype.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/lint/private.h"

#define BLOB_MIN    16   /* characters of a run; fewer hold no command */
#define BLOB_MAX    4096 /* characters of a run that are decoded */
#define DECODED_MIN 8

/* What a command, or a text that fetches one, has in it. A blank before: a word begins. */
static const char *const commands[] = {" curl ", " wget ", " bash ", " sh -", "/bin/sh",
    "/bin/bash", " rm -", " chmod ", " sudo ", " eval", " exec", " nc -", " ncat ",
    " python -", " python3 -", " perl -", " node -e", " powershell", "/dev/tcp/", " scp ",
    " ssh ", " cat /", " cat ~", " import os", "os.system", "subprocess", "child_process",
    "http://", "https://", "| sh", "|sh", "| bash", "|bash"};

/* ---- decoding --------------------------------------------------------------------- */

static int
six_bits(char c)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at;

	if (c == '-' || c == '_')
		return c == '-' ? 62 : 63;
	at = c == '\0' ? NULL : strchr(digits, c);
	return at == NULL ? -1 : (int)(at - digits);
}

static size_t
from_base64(const char *text, size_t len, char *out)
{
	unsigned int bits = 0, n_bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bits = bits << 6 | (unsigned int)six_bits(text[i]);
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		out[n++] = (char)(bits >> n_bits & 0xff);
	}
	return n;
}

static int
four_bits(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* 0: not every character is a digit of hex. */
static size_t
from_hex(const char *text, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)text[i]))
			return 0;
	for (size_t i = 0; i + 1 < len; i += 2)
		out[n++] = (char)(four_bits(text[i]) << 4 | four_bits(text[i + 1]));
	return n;
}

/* ---- what is in it ---------------------------------------------------------------- */

/* A byte of a text of ASCII, as it is searched: in lower case, and quotes and what ends a
 * command as blanks; 0: not of such a text. */
static char
searched(uint8_t c)
{
	if (c == '\t' || c == '\r' || c == '\n' ||
	    (c != 0 && strchr(";&(`\"'", c) != NULL))
		return ' ';
	return (char)(c < ' ' || c >= 0x7f ? 0 : tolower(c));
}

/* The word is in the text, or begins it. */
static bool
has(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	if (word[0] == ' ' && len >= n - 1 && memcmp(text, word + 1, n - 1) == 0)
		return true;
	return memmem(text, len, word, n) != NULL;
}

/* The bytes are a text of ASCII that has a command in it. Changes them. */
static bool
is_command(char *text, size_t len)
{
	if (len < DECODED_MIN)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((text[i] = searched((uint8_t)text[i])) == 0)
			return false;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (has(text, len, commands[i]))
			return true;
	return false;
}

static bool
is_blob(const char *run, size_t len)
{
	char out[BLOB_MAX];
	size_t n;

	len = len < BLOB_MAX ? len : BLOB_MAX;
	n = from_hex(run, len, out);
	if (n > 0 && is_command(out, n))
		return true;
	n = from_base64(run, len, out);
	return is_command(out, n);
}

void
lint_blobs(struct lint *l, const struct lint_text *t)
{
	const char *end = t->at + t->len;

	for (const char *p = t->at; p < end; p++) {
		const char *run = p;

		while (p < end && six_bits(*p) >= 0)
			p++;
		if (p - run >= BLOB_MIN && is_blob(run, (size_t)(p - run)))
			lint_part(
			    l, LINT_BLOB, t, (size_t)(run - t->at), (size_t)(p - t->at));
	}
}
