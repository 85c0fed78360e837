/*
 * The structure of a value, which stays; its leaves are drawn (leaf.c).
 *
 * A text that only looks like JSON or like fields loses nothing by it: all that is neither
 * a mark nor a plain key is a leaf.
 */
#include <ctype.h>
#include <string.h>

#include "leash/placeholder/private.h"
#include "shim/base/array.h"

#define KEY_MAX        40 /* bytes; a longer key may be a value */
#define KEY_DIGITS_MAX 3
#define REPLACED_MIN   8 /* drawn bytes, below which nothing stays */

/* What is read: bytes of the value, whether they are in the body of a PEM text, and in the
 * text of a field, of which each line has more blanks before it than its key. */
struct lines {
	struct draw *d;
	bool pem;
	bool text;
	size_t blanks;
};

struct part {
	uint8_t *at;
	size_t len;
};

static bool
is_one_of(uint8_t c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

static struct part
trimmed(struct part p)
{
	while (p.len > 0 && isspace(p.at[0]))
		p = (struct part){p.at + 1, p.len - 1};
	while (p.len > 0 && isspace(p.at[p.len - 1]))
		p.len--;
	return p;
}

static bool
begins(struct part p, const char *with)
{
	size_t n = strlen(with);

	return p.len >= n && memcmp(p.at, with, n) == 0;
}

static struct part
after(struct part p, size_t n)
{
	return (struct part){p.at + n, p.len - n};
}

/* A name as in `aws_secret_access_key`, which no value is taken for. */
static bool
is_key(struct part p)
{
	size_t digits = 0;

	if (p.len == 0 || p.len > KEY_MAX || isdigit(p.at[0]))
		return false;
	for (size_t i = 0; i < p.len; i++) {
		if (!isalnum(p.at[i]) && strchr("_.-", p.at[i]) == NULL)
			return false;
		digits += isdigit(p.at[i]) != 0;
	}
	return memchr(p.at, '\0', p.len) == NULL && digits <= KEY_DIGITS_MAX;
}

/* ---- PEM ---------------------------------------------------------------------------- */

/* "-----BEGIN RSA PRIVATE KEY-----" */
static bool
is_boundary(struct part p, const char *with)
{
	static const char *const ends[] = {
	    " KEY", " CERTIFICATE", " PARAMETERS", " REQUEST", " BLOCK", " CRL"};
	size_t n = strlen(with);

	if (!begins(p, with) || p.len < n + 5 || p.len > n + 5 + KEY_MAX ||
	    memcmp(p.at + p.len - 5, "-----", 5) != 0)
		return false;
	/* from the blank before the label, so that the label may be one word */
	p = (struct part){p.at + n - 1, p.len - n - 4};
	for (size_t i = 0; i < p.len; i++)
		if (!isupper(p.at[i]) && p.at[i] != ' ')
			return false;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t len = strlen(ends[i]);

		if (p.len >= len && memcmp(p.at + p.len - len, ends[i], len) == 0)
			return true;
	}
	return false;
}

static bool
is_base64(struct part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (!isalnum(p.at[i]) && !is_one_of(p.at[i], "+/="))
			return false;
	return true;
}

/* A line, without its end. */
static void
put_line(struct lines *l, struct part p)
{
	const uint8_t *comma;

	p = trimmed(p);
	if (is_boundary(p, "-----BEGIN ")) {
		l->pem = true;
		return;
	}
	if (is_boundary(p, "-----END ")) {
		l->pem = false;
		return;
	}
	if (l->pem && p.len == 22 && begins(p, "Proc-Type: 4,ENCRYPTED"))
		return;
	comma = memchr(p.at, ',', p.len);
	if (l->pem && begins(p, "DEK-Info: ") && comma != NULL)
		leaf(l->d, p.at + (comma + 1 - p.at), p.len - (size_t)(comma + 1 - p.at));
	else if (l->pem && is_base64(p))
		leaf_base64(l->d, p.at, p.len);
	else
		leaf(l->d, p.at, p.len);
}

/* ---- JSON ----------------------------------------------------------------------------- */

/* The escape at p, its bytes drawn if they are of a character; its length. */
static size_t
put_escape(struct draw *d, struct part p)
{
	static const char digits[] = "0123456789abcdef";

	if (p.len < 2 || p.at[1] != 'u')
		return p.len < 2 ? 1 : 2;
	if (p.len < 6)
		return p.len;       /* cut: no character */
	memcpy(p.at + 2, "006", 3); /* a to o */
	p.at[5] = (uint8_t)digits[1 + draw_below(d, 15)];
	d->replaced++;
	return 6;
}

/* The inside of a string: the parts between its escapes are lines. */
static void
put_string(struct draw *d, struct part p)
{
	struct lines l = {.d = d};
	size_t from = 0, at = 0;

	if (memchr(p.at, '\\', p.len) == NULL) {
		put_line(&l, p);
		return;
	}
	while (at < p.len) {
		if (p.at[at] != '\\') {
			at++;
			continue;
		}
		put_line(&l, (struct part){p.at + from, at - from});
		at += put_escape(d, after(p, at));
		from = at < p.len ? at : p.len;
	}
	put_line(&l, (struct part){p.at + from, p.len - from});
}

/* Not within a string: a number, true, false or null; anything else is a leaf. */
static void
put_bare(struct draw *d, struct part p)
{
	static const char *const words[] = {"true", "false", "null"};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (p.len == strlen(words[i]) && begins(p, words[i]))
			return;
	for (size_t i = 0; i < p.len; i++)
		n += isdigit(p.at[i]) || is_one_of(p.at[i], "+-.eE");
	if (n < p.len || (!isdigit(p.at[0]) && p.at[0] != '-')) {
		leaf_whole(d, p.at, p.len);
		return;
	}
	for (size_t i = 0; i < p.len; i += n + 1) {
		for (n = 0; i + n < p.len && isdigit(p.at[i + n]);)
			n++;
		if (i > 0 && is_one_of(p.at[i - 1], "eE") && n > 0)
			memset(p.at + i, '1', n); /* any other may be no number */
		else
			leaf_digits(d, p.at + i, n);
	}
}

/* The bytes of the string after the quote at p.at. */
static size_t
string_len(struct part p)
{
	size_t n = 0;

	while (n < p.len && p.at[n] != '"')
		n += p.at[n] == '\\' ? 2 : 1;
	return n < p.len ? n : p.len;
}

static void
put_json(struct draw *d, struct part p)
{
	size_t at = 0, n, next;

	while (at < p.len) {
		uint8_t c = p.at[at];

		if (isspace(c) || is_one_of(c, "{}[],:")) {
			at++;
			continue;
		}
		if (c != '"') {
			for (n = 0; at + n < p.len && !isspace(p.at[at + n]) &&
				    !is_one_of(p.at[at + n], "{}[],:\"");)
				n++;
			put_bare(d, (struct part){p.at + at, n});
			at += n;
			continue;
		}
		n = string_len(after(p, ++at));
		for (next = at + n + 1; next < p.len && isspace(p.at[next]);)
			next++;
		if (next >= p.len || p.at[next] != ':' ||
		    !is_key((struct part){p.at + at, n}))
			put_string(d, (struct part){p.at + at, n});
		at += n + 1;
	}
}

/* ---- lines ---------------------------------------------------------------------------- */

/* The next line of *rest, without its end; false at the end. */
static bool
next_line(struct part *rest, struct part *ret)
{
	uint8_t *end;
	size_t n;

	if (rest->len == 0)
		return false;
	end = memchr(rest->at, '\n', rest->len);
	n = end == NULL ? rest->len : (size_t)(end - rest->at);
	*ret = (struct part){rest->at, n};
	*rest = after(*rest, n + (end != NULL));
	return true;
}

/* The bytes before the value of a field: "export KEY=", "- key: ", "KEY = ". 0: none. */
static size_t
field_len(struct part p)
{
	size_t from = 0, n;

	while (begins(after(p, from), "- "))
		from += 2;
	if (begins(after(p, from), "export "))
		from += 7;
	for (n = from; n < p.len && (isalnum(p.at[n]) || is_one_of(p.at[n], "_.-"));)
		n++;
	if (!is_key((struct part){p.at + from, n - from}))
		return 0;
	while (n < p.len && p.at[n] == ' ')
		n++;
	if (n == p.len || (p.at[n] != ':' && p.at[n] != '='))
		return 0;
	if (p.at[n] == ':' && n + 1 < p.len && p.at[n + 1] != ' ')
		return 0;
	return n + 1;
}

/* "[default]", "---", "# text": lines that fields may be between. */
static bool
is_heading(struct part p)
{
	return (p.len > 2 && p.at[0] == '[' && p.at[p.len - 1] == ']' &&
		   is_key((struct part){p.at + 1, p.len - 2})) ||
	       (p.len == 3 && begins(p, "---"));
}

static bool
is_fields(struct part rest)
{
	struct part line, inner;
	bool any = false;

	while (next_line(&rest, &line)) {
		inner = trimmed(line);
		if (inner.len == 0 || is_heading(inner) || begins(inner, "#") ||
		    begins(inner, ";"))
			continue;
		if (field_len(inner) > 0)
			any = true;
		else if (!any || line.len == 0 || !isspace(line.at[0]))
			return false;
	}
	return any;
}

/* Does a field of this length end with its mark?  Then it may be base64, which ends with `=`. */
static bool
is_padded(struct part p, size_t n)
{
	return n > 1 && p.at[n - 1] == '=' && p.at[n - 2] != ' ' &&
	       (n == p.len || (n + 1 == p.len && p.at[n] == '='));
}

/* "|", ">-": the lines below are the text of the field. */
static bool
is_text_mark(struct part p)
{
	if (p.len == 0 || p.len > 3 || !is_one_of(p.at[0], "|>"))
		return false;
	for (size_t i = 1; i < p.len; i++)
		if (!is_one_of(p.at[i], "+-123456789"))
			return false;
	return true;
}

static void
put_field(struct lines *l, struct part p)
{
	size_t n = field_len(p);

	if (is_heading(p))
		return;
	if (begins(p, "#") || begins(p, ";"))
		n = 1;
	else if (is_padded(p, n))
		n = 0;
	p = trimmed(after(p, n));
	l->text = n > 1 && is_text_mark(p);
	if (l->text)
		return;
	if (p.len >= 2 && (p.at[0] == '"' || p.at[0] == '\'') &&
	    p.at[p.len - 1] == p.at[0])
		p = (struct part){p.at + 1, p.len - 2};
	put_line(l, p);
}

static void
put_lines(struct draw *d, struct part rest)
{
	struct lines l = {.d = d};
	bool fields = is_fields(rest);
	struct part line;

	while (next_line(&rest, &line)) {
		struct part inner = trimmed(line);
		size_t blanks = (size_t)(inner.at - line.at);

		if (l.text && inner.len > 0 && blanks <= l.blanks)
			l.text = false;
		if (!fields || l.pem || l.text) {
			put_line(&l, line);
			continue;
		}
		l.blanks = blanks;
		put_field(&l, inner);
	}
}

/* ---- a value ---------------------------------------------------------------------------- */

void
structure(struct draw *d, uint8_t *text, size_t len)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct part p = trimmed((struct part){text, len});

	if (begins(p, bom))
		p = trimmed(after(p, 3));
	if (p.len == 0)
		p = (struct part){text, len};
	if (begins(p, "{") || begins(p, "["))
		put_json(d, p);
	else if (memchr(p.at, '\n', p.len) != NULL)
		put_lines(d, p);
	else
		leaf(d, p.at, p.len);
	/* it was all structure: then the structure was the value */
	if (d->replaced < REPLACED_MIN && d->replaced < p.len)
		leaf_whole(d, p.at, p.len);
}

void
placeholder_replace(const struct placeholder *p, uint8_t *text, size_t len)
{
	struct draw d;

	draw_begin(&d, p);
	structure(&d, text, len);
}
