/*
 * A private key in PEM, as RFC 7468 and OpenSSL write it:
 *
 *	-----BEGIN [LABEL ]PRIVATE KEY-----
 *	Proc-Type: 4,ENCRYPTED			both are optional
 *	DEK-Info: AES-128-CBC,...
 *	lines of base64, 64 characters or more in all
 *	-----END [LABEL ]PRIVATE KEY-----
 *
 * A line ends raw or as JSON escapes it.  The key ends at the first byte that does
 * not fit, so that text which only mentions a key stays as it is.
 */
#include <string.h>

#include "leash/scrub/private.h"

#define PEM_MAX    16384 /* bytes; an 8192-bit RSA key has 6.4 KB */
#define KEY_MIN    64    /* base64 characters; the shortest key has 64 */
#define LABEL_MAX  40
#define INDENT_MAX 40
#define FIELD_MAX  120
#define SQUASHED   60 /* shortest line whose end may have been replaced by a blank */

/* A text and the offset read so far. */
struct cursor {
	const uint8_t *text;
	size_t n, at;
	bool open; /* the text ended where more was expected */
};

static bool
at_end(struct cursor *c)
{
	c->open |= c->at == c->n;
	return c->at == c->n;
}

/* Matches the literal at the cursor and moves the cursor after it. */
static bool
take(struct cursor *c, const char *literal)
{
	size_t len = strlen(literal), left = c->n - c->at;

	if (left < len) {
		c->open |= memcmp(c->text + c->at, literal, left) == 0;
		return false;
	}
	if (memcmp(c->text + c->at, literal, len) != 0)
		return false;
	c->at += len;
	return true;
}

/* The end of a line and the next line's indentation; or a single blank after a line of
 * the usual length. */
static bool
take_line_end(struct cursor *c, size_t line_len)
{
	size_t from = c->at, indent = 0;
	int r;

	while ((r = decode_line_end(c->text + c->at, c->n - c->at)) > 0)
		c->at += (size_t)r;
	if (r == UNFINISHED)
		c->open = true;
	if (c->at == from && line_len < SQUASHED)
		return false;
	while (c->at < c->n && indent < INDENT_MAX &&
	       (c->text[c->at] == ' ' || c->text[c->at] == '\t')) {
		c->at++;
		indent++;
	}
	(void)at_end(c);
	return c->at > from;
}

/* Counts base64 characters at the cursor; a slash may be escaped. */
static size_t
take_base64(struct cursor *c)
{
	size_t count = 0, i;

	for (; !at_end(c); c->at++, count++) {
		uint8_t byte = c->text[c->at];

		for (i = c->at; byte == '\\' && i < c->n && c->text[i] == '\\'; i++)
			;
		if (i > c->at && i < c->n && c->text[i] == '/')
			c->at = i;
		else if (byte == '-' || byte == '_' ||
			 (!decode_is_base64(byte) && byte != '='))
			break;
	}
	return count;
}

/* "LABEL PRIVATE KEY-----" after "-----BEGIN " or "-----END ". */
static bool
take_label(struct cursor *c)
{
	static const char key[] = "PRIVATE KEY";
	size_t from = c->at;

	for (; !at_end(c) && c->at - from < LABEL_MAX; c->at++) {
		uint8_t byte = c->text[c->at];

		if ((byte < 'A' || byte > 'Z') && (byte < '0' || byte > '9') &&
		    byte != ' ')
			break;
	}
	if (c->at - from < sizeof(key) - 1 ||
	    memcmp(c->text + c->at - (sizeof(key) - 1), key, sizeof(key) - 1) != 0)
		return false;
	return take(c, "-----");
}

/* "Proc-Type: 4,ENCRYPTED" and the like, through the end of the line, if present. */
static void
take_field(struct cursor *c, const char *name)
{
	struct cursor field = *c;
	size_t from = c->at;
	uint8_t byte;

	if (!take(&field, name)) {
		c->open |= field.open;
		return;
	}
	for (; !at_end(&field) && field.at - from < FIELD_MAX; field.at++) {
		byte = field.text[field.at];
		if (!decode_is_base64(byte) && byte != ',' && byte != ' ')
			break;
	}
	c->open |= field.open;
	if (take_line_end(&field, 0))
		*c = field;
}

/* The lines of the key; returns the number of characters. */
static size_t
take_lines(struct cursor *c)
{
	struct cursor next = *c;
	size_t count = 0, line;

	(void)take_line_end(&next, SQUASHED);
	take_field(&next, "Proc-Type:");
	take_field(&next, "DEK-Info:");
	for (;;) {
		line = take_base64(&next);
		count += line;
		if (line > 0)
			*c = next;
		if (line == 0 || !take_line_end(&next, line))
			break;
	}
	c->open |= next.open;
	return count;
}

int
pem_key(const uint8_t *text, size_t n, bool last)
{
	struct cursor c = {.text = text, .n = n < PEM_MAX ? n : PEM_MAX}, end;
	size_t count;

	last |= n >= PEM_MAX;
	if (!take(&c, "-----BEGIN ") || !take_label(&c))
		return c.open && !last ? OPEN : NONE;
	count = take_lines(&c);
	end = c;
	(void)take_line_end(&end, SQUASHED);
	if (take(&end, "-----END ") && take_label(&end))
		return count < KEY_MIN ? NONE : (int)end.at;
	if ((c.open || end.open) && !last)
		return OPEN;
	return count < KEY_MIN ? NONE : (int)c.at;
}
