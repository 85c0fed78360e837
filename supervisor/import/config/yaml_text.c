/*
 * A text over lines is folded as YAML says: the blanks around a line end become one space,
 * and each empty line becomes a line end.
 */
#include "supervisor/import/config/yaml_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ------------------------------------------------------------------- */

int
yaml_peek(const struct yaml_scan *s)
{
	return s->at < s->end ? (unsigned char)s->t->bytes[s->at] : -1;
}

void
yaml_blanks(struct yaml_scan *s)
{
	while (yaml_peek(s) == ' ' || yaml_peek(s) == '\t')
		s->at++;
}

void
yaml_line_find_end(struct yaml_scan *s)
{
	const char *nl = memchr(s->t->bytes + s->at, '\n', s->t->len - s->at);

	s->end = nl == NULL ? s->t->len : (size_t)(nl - s->t->bytes);
	if (s->end > s->at && s->t->bytes[s->end - 1] == '\r')
		s->end--;
}

void
yaml_line_next(struct yaml_scan *s)
{
	const char *nl = memchr(s->t->bytes + s->end, '\n', s->t->len - s->end);

	s->at = nl == NULL ? s->t->len : (size_t)(nl + 1 - s->t->bytes);
	yaml_line_find_end(s);
}

static size_t
spaces(const struct yaml_scan *s)
{
	size_t n = 0;

	while (s->at + n < s->end && s->t->bytes[s->at + n] == ' ')
		n++;
	return n;
}

static bool
is_empty(const struct yaml_scan *s)
{
	struct yaml_scan in = *s;

	yaml_blanks(&in);
	return yaml_peek(&in) == -1;
}

bool
yaml_line_continues(struct yaml_scan *s)
{
	size_t n, start;

	do {
		yaml_line_next(s);
		if (s->at == s->t->len)
			return false;
	} while (is_empty(s));
	n = spaces(s);
	start = s->at;
	yaml_blanks(s);
	if (s->at == start && s->end - s->at >= 3 &&
	    (memcmp(s->t->bytes + s->at, "---", 3) == 0 ||
		memcmp(s->t->bytes + s->at, "...", 3) == 0))
		return false; /* the document ends */
	return n >= s->least;
}

/* ---- folding ----------------------------------------------------------------- */

/* The blanks and line ends from p on; *ret_ends: how many of the latter. */
static size_t
between(const char *p, size_t left, size_t *ret_ends)
{
	size_t n;

	*ret_ends = 0;
	for (n = 0; n < left && strchr(" \t\r\n", p[n]) != NULL; n++)
		*ret_ends += p[n] == '\n';
	return n;
}

/* The text of some bytes, with its escapes; the caller frees. NULL: no memory. */
static char *
fold(const char *p, size_t len, bool escapes)
{
	char *out = malloc(len + 1);
	size_t n = 0, ends, skip;

	for (size_t i = 0; out != NULL && i < len;) {
		bool escaped = escapes && p[i] == '\\' && i + 1 < len;

		skip = between(p + i + escaped, len - i - escaped, &ends);
		/* an escaped line end is no space: \ is its last byte but for blanks */
		if (escaped && (p[i + 1] == '\n' || strncmp(p + i + 1, "\r\n", 2) == 0)) {
			ends--;
		} else if (escaped || ends == 0) {
			size_t same = escaped ? 2 : skip > 0 ? skip : 1;

			memcpy(out + n, p + i, same);
			n += same;
			i += same;
			continue;
		} else if (--ends == 0) {
			out[n++] = ' ';
		}
		i += escaped + skip;
		for (; ends > 0; ends--)
			out[n++] = '\n';
	}
	if (out != NULL)
		out[n] = '\0';
	return out;
}

/* '' is one ' */
static void
undouble(char *text)
{
	size_t n = 0;

	for (const char *p = text; *p != '\0'; p++) {
		text[n++] = *p;
		p += p[0] == '\'';
	}
	text[n] = '\0';
}

/* ---- texts on lines ---------------------------------------------------------- */

/* Moves to the quote that ends the text. */
static int
find_quote(struct yaml_scan *s, char quote)
{
	size_t from = s->at;

	for (s->at++;; s->at++) {
		if (yaml_peek(s) == -1 && !yaml_line_continues(s))
			return config_bad(s->t, from,
			    "a quoted text without its end, or with a line that is not "
			    "further in");
		if (quote == '"' && yaml_peek(s) == '\\') {
			s->at += s->at + 1 < s->end;
		} else if (yaml_peek(s) == quote) {
			if (quote == '"' || s->at + 1 >= s->end ||
			    s->t->bytes[s->at + 1] != quote)
				return 0;
			s->at++;
		}
	}
}

int
yaml_quoted(struct yaml_scan *s, char **ret)
{
	char quote = (char)yaml_peek(s), *text;
	size_t from = s->at + 1;
	int r = find_quote(s, quote);

	if (r < 0)
		return r;
	text = fold(s->t->bytes + from, s->at - from, quote == '"');
	s->at++;
	if (text == NULL)
		return -ENOMEM;
	if (quote != '"') {
		undouble(text);
		*ret = text;
		return 0;
	}
	r = config_unescape(text, strlen(text), ret);
	config_wipe(text);
	if (r == -EILSEQ)
		*ret = NULL;
	return r == -EILSEQ ? 0 : r;
}

static bool
is_other(const char *text)
{
	static const char *const word[] = {"", "~", "null", "Null", "NULL", "true",
	    "True", "TRUE", "false", "False", "FALSE"};

	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (strcmp(text, word[i]) == 0)
			return true;
	return text[strspn(text, "0123456789.+-eE")] == '\0' &&
	       strpbrk(text, "0123456789") != NULL;
}

/* The part of a plain text on this line. *ret_end: after its last byte. 1: the text may go
 * on in the next line; 0; -EBADMSG. */
static int
plain_line(struct yaml_scan *s, const char *stop, size_t *ret_end)
{
	for (; yaml_peek(s) != -1 && strchr(stop, yaml_peek(s)) == NULL; s->at++) {
		int c = yaml_peek(s);
		int next = s->at + 1 < s->end ? s->t->bytes[s->at + 1] : -1;

		if (c == ':' && (next == -1 || next == ' ' || next == '\t'))
			return config_bad(s->t, s->at, "unexpected mapping");
		if ((c == ' ' || c == '\t') && next == '#')
			return 0;
		if (c != ' ' && c != '\t')
			*ret_end = s->at + 1;
	}
	return yaml_peek(s) == -1;
}

int
yaml_plain(struct yaml_scan *s, const char *stop, struct config_node *node)
{
	int c = yaml_peek(s), next = s->at + 1 < s->end ? s->t->bytes[s->at + 1] : ' ';
	struct yaml_scan last;
	size_t end = s->at;
	int r;

	if (c == -1 || strchr("&*!|>@`%?\"'#,[]{}", c) != NULL ||
	    ((c == '-' || c == ':') && (next == ' ' || next == '\t')))
		return config_bad(s->t, s->at, "expected a plain or quoted text");
	do {
		r = plain_line(s, stop, &end);
		last = *s;
	} while (r > 0 && yaml_line_continues(s) && yaml_peek(s) != '#' &&
		 strchr(stop, yaml_peek(s)) == NULL);
	if (r < 0)
		return r;
	*s = last;
	s->at = end;
	node->end = end;
	node->text = fold(s->t->bytes + node->at, end - node->at, false);
	if (node->text == NULL)
		return -ENOMEM;
	node->type = is_other(node->text) ? NODE_OTHER : NODE_STRING;
	return 0;
}

/* ---- block scalars ----------------------------------------------------------- */

struct block {
	bool folded;
	char chomp;    /* '-', '+' or 0 */
	size_t indent; /* of its lines; 0: that of the first one */
	char *out;
	size_t n;
	bool ended, blank; /* the last line: with a line end, begun by a blank */
	size_t empty;      /* lines after it */
};

/* | or >, then a number and a sign in any order, and a comment. */
static int
block_head(struct yaml_scan *s, size_t indent, struct block *b)
{
	size_t from;

	b->folded = yaml_peek(s) == '>';
	s->at++;
	for (int i = 0; i < 2; i++) {
		int c = yaml_peek(s);

		if (c >= '1' && c <= '9' && b->indent == 0)
			b->indent = indent + (size_t)(c - '0');
		else if ((c == '-' || c == '+') && b->chomp == 0)
			b->chomp = (char)c;
		else
			break;
		s->at++;
	}
	from = s->at;
	yaml_blanks(s);
	if (yaml_peek(s) == '#' && s->at > from)
		config_comment(s->t, s->at, s->end);
	else if (yaml_peek(s) != -1)
		return config_bad(s->t, s->at, "expected the end of the line");
	return 0;
}

/* Line ends before the next line, or after the last one. */
static void
put_ends(struct block *b, size_t n)
{
	for (; n > 0; n--)
		b->out[b->n++] = '\n';
}

static void
block_line(struct block *b, const struct yaml_scan *s)
{
	const char *p = s->t->bytes + s->at + b->indent;
	size_t len = s->end - s->at - b->indent;
	bool blank = len > 0 && (*p == ' ' || *p == '\t');

	if (b->ended && b->folded && !b->blank && !blank) {
		if (b->empty == 0)
			b->out[b->n++] = ' ';
	} else if (b->ended) {
		put_ends(b, 1);
	}
	put_ends(b, b->empty);
	memcpy(b->out + b->n, p, len);
	b->n += len;
	b->empty = 0;
	b->blank = blank;
	b->ended = s->end < s->t->len;
}

/* Its lines. The first one that is not empty says how far in they are. */
static int
block_lines(struct yaml_scan *s, size_t indent, struct block *b, size_t *ret_end)
{
	size_t widest = 0;

	for (yaml_line_next(s); s->at < s->t->len; yaml_line_next(s)) {
		size_t n = spaces(s);
		bool only = s->at + n == s->end; /* spaces */

		if (b->indent == 0 && !only) {
			if (n <= indent)
				return 0;
			if (widest > n)
				return config_bad(s->t, s->at,
				    "an empty line is further in than the text after it");
			b->indent = n;
		}
		if (only && (b->indent == 0 || n <= b->indent)) {
			widest = n > widest ? n : widest;
			b->empty += s->end < s->t->len;
			continue;
		}
		if (n < b->indent)
			return 0;
		block_line(b, s);
		*ret_end = only ? *ret_end : s->end;
	}
	return 0;
}

int
yaml_block_text(struct yaml_scan *s, size_t indent, struct config_node *node)
{
	struct block b = {.indent = 0};
	int r = block_head(s, indent, &b);

	node->type = NODE_STRING;
	node->end = s->end;
	if (r < 0)
		return r;
	b.out = malloc(s->t->len - s->end + 2);
	if (b.out == NULL)
		return -ENOMEM;
	r = block_lines(s, indent, &b, &node->end);
	if (b.ended && b.chomp != '-')
		put_ends(&b, 1);
	if (b.chomp == '+')
		put_ends(&b, b.empty);
	b.out[b.n] = '\0';
	if (r == 0)
		node->text = config_copy(b.out, b.n);
	config_wipe(b.out);
	return r == 0 && node->text == NULL ? -ENOMEM : r;
}
