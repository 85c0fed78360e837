/*
 * The lexer.  A newline ends a statement, `\` before it continues the line, `#`
 * at the start of a word begins a comment, a quoted string is literal.
 *
 * The input may be any bytes.  The whole text is first scanned for characters
 * that no policy may contain.  After that a bad byte counts as an ordinary one,
 * so that it is reported once and parsing continues.
 */
#define DIAG_CODE "text"

#include "policy/base/arena.h"
#include "policy/base/output.h"
#include "policy/lang/lex.h"
#include "shim/base/array.h"

#include <errno.h>
#include <string.h>

#include "shim/base/hex.h"
#include "shim/base/utf8.h"

/* ---- bytes --------------------------------------------------------------- */

/* Why a policy may not contain this code point, or NULL. */
static const char *
refused(uint32_t c, bool first)
{
	if (c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f))
		return NULL;
	if (c == 0)
		return "a NUL byte is not allowed";
	if (c == '\r')
		return "a carriage return is not allowed: end lines with a newline only "
		       "(sed -i 's/\\r$//' FILE converts a Windows file)";
	if (c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xa0))
		return "a control character is not allowed (in quotes, write it as "
		       "\\u00XX)";
	if (c == 0xfeff && first)
		return "a byte order mark is not allowed: save the file as UTF-8 without "
		       "one";
	if (utf8_is_unseen(c))
		return "an invisible character, or one that reorders the line, is not "
		       "allowed (in quotes, write it as \\uXXXX)";
	return NULL;
}

void
lex_scan(const struct policy_source *s, uint32_t file, struct diag *diag)
{
	struct at at = {.file = file, .line = 1, .col = 1};
	uint32_t code = 0, last = 0;
	size_t off = 0, n;
	const char *why;
	bool cr = false;

	while (off < s->len) {
		n = utf8_read(s->text + off, s->len - off, &code);
		why = n == 0 ? "invalid UTF-8: save the file as UTF-8"
			     : refused(code, off == 0);
		if (n == 0)
			n = 1;
		/* report once a line, and a CRLF file only once */
		if (why != NULL && at.line != last && !(cr && code == '\r')) {
			diag_error(diag, at, "%s", why);
			last = at.line;
			cr = cr || code == '\r';
		}
		at.col += (uint32_t)n;
		if (s->text[off] == '\n') {
			at.line++;
			at.col = 1;
		}
		off += n;
	}
}

void
lex_init(struct lexer *l, const struct policy_source *s, uint32_t file,
    struct arena *arena, struct diag *diag)
{
	memset(l, 0, sizeof(*l));
	l->text = s->text;
	l->len = s->len;
	l->at = (struct at){.file = file, .line = 1, .col = 1};
	l->arena = arena;
	l->diag = diag;
	if (l->len >= 3 && memcmp(l->text, "\xef\xbb\xbf", 3) == 0)
		l->off = 3; /* reported by lex_scan */
}

/*
 * The byte n further on; '\n' at the end of the text, which ends any open
 * token.
 */
static char
peek(const struct lexer *l, size_t n)
{
	if (n >= l->len - l->off)
		return '\n';
	return l->text[l->off + n];
}

static void
take(struct lexer *l, size_t n)
{
	while (n-- > 0 && l->off < l->len) {
		l->at.col++;
		if (l->text[l->off++] == '\n') {
			l->at.line++;
			l->at.col = 1;
		}
	}
}

/* A `\` before a newline; at the very end of the file it continues nothing. */
static bool
continues(const struct lexer *l)
{
	return l->off + 1 < l->len && peek(l, 0) == '\\' && peek(l, 1) == '\n';
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* ---- quoted strings ------------------------------------------------------ */

static int
hex4(const struct lexer *l, size_t n, uint32_t *ret)
{
	uint32_t v = 0;
	size_t i;
	int d;

	for (i = 0; i < 4; i++) {
		d = hex_any(peek(l, n + i));
		if (d < 0)
			return -EINVAL;
		v = v << 4 | (uint32_t)d;
	}
	*ret = v;
	return 0;
}

/*
 * Reads the \u escape at off, with its second half if it is a surrogate pair.
 * Returns the bytes read and the bytes written to out.
 */
static size_t
escape_unicode(struct lexer *l, char *out, size_t *ret_put)
{
	uint32_t c, low;
	size_t took = 6;

	*ret_put = 0;
	if (hex4(l, 2, &c) != 0) {
		diag_error(l->diag, l->at, "expected four hex digits after `\\u`");
		return 2;
	}
	if (c >= 0xd800 && c < 0xdc00 && peek(l, 6) == '\\' && peek(l, 7) == 'u' &&
	    hex4(l, 8, &low) == 0 && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
		took = 12;
	}
	if (c == 0)
		diag_error(l->diag, l->at, "a NUL character is not allowed in a string");
	else if (c >= 0xd800 && c < 0xe000)
		diag_error(l->diag, l->at, "unpaired surrogate in \\u escape");
	else
		*ret_put = utf8_put(c, (uint8_t *)out);
	return took;
}

static size_t
escape(struct lexer *l, char *out, size_t *ret_put)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = peek(l, 1);
	const char *p = c == '\0' ? NULL : strchr(from, c);

	*ret_put = 0;
	if (p != NULL) {
		*out = to[p - from];
		*ret_put = 1;
		return 2;
	}
	if (c == 'u')
		return escape_unicode(l, out, ret_put);
	diag_error(l->diag, l->at,
	    "unknown escape: expected \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX");
	/* not past the end of the line */
	return c == '\n' ? 1 : 2;
}

/* Copies the text between the quotes to out, which is large enough. */
static size_t
quoted_text(struct lexer *l, char *out)
{
	size_t n = 0, put;

	take(l, 1);
	while (peek(l, 0) != '"') {
		if (peek(l, 0) == '\n')
			return n;
		if (peek(l, 0) == '\\') {
			take(l, escape(l, out + n, &put));
			n += put;
		} else {
			/* lex_scan reported a raw NUL */
			if (peek(l, 0) != '\0')
				out[n++] = peek(l, 0);
			take(l, 1);
		}
	}
	return n;
}

static bool
ends_word(const struct lexer *l, char c)
{
	if ((c == ',' && (l->commas || l->parens)) ||
	    ((c == '(' || c == ')') && l->parens))
		return true;
	return is_space(c) || c == '\n' || c == '{' || c == '}' || c == '[' || c == ']' ||
	       c == '"';
}

static int
quoted(struct lexer *l, struct word *w)
{
	const char *end;
	size_t room;
	char *out;

	end = memchr(l->text + l->off, '\n', l->len - l->off);
	room = (size_t)((end == NULL ? l->text + l->len : end) - (l->text + l->off));
	/* an escape is never shorter than its value */
	out = arena_alloc(l->arena, room + 1);
	if (out == NULL)
		return -ENOMEM;
	w->quoted = true;
	w->text = out;
	w->len = quoted_text(l, out);
	out[w->len] = '\0';
	if (peek(l, 0) != '"') {
		diag_error(l->diag, w->at,
		    "unterminated string: expected `\"` before the end of the line");
		return 0;
	}
	take(l, 1);
	if (w->len > WORD_LEN_MAX)
		diag_error(
		    l->diag, w->at, "this word is longer than %d bytes", WORD_LEN_MAX);
	if (!ends_word(l, peek(l, 0)) || peek(l, 0) == '"')
		diag_error(l->diag, l->at,
		    "expected a space after the closing quote: add one, or quote the "
		    "whole word");
	return 0;
}

/* ---- bare words ---------------------------------------------------------- */

static void
bare_backslash(struct lexer *l)
{
	diag_error(l->diag, l->at,
	    "`\\` is only allowed at the end of a line, to continue it; quote the word "
	    "to use the character literally");
	take(l, 1);
}

/*
 * ${name} is part of a word although a brace is not.  An invalid one also is,
 * up to its end.
 */
static void
bare_brace(struct lexer *l)
{
	size_t n = 2;

	while (!ends_word(l, peek(l, n)))
		n++;
	take(l, peek(l, n) == '}' ? n + 1 : n);
}

static int
bare(struct lexer *l, struct word *w)
{
	size_t start = l->off, raw_len;
	bool gap = false;
	char *clean;

	for (;;) {
		if (peek(l, 0) == '$' && peek(l, 1) == '{') {
			bare_brace(l);
			continue;
		}
		if (peek(l, 0) == '\\' && !continues(l)) {
			bare_backslash(l);
			continue;
		}
		if (ends_word(l, peek(l, 0)) || peek(l, 0) == '\\')
			break;
		gap = gap || peek(l, 0) == '\0';
		take(l, 1);
	}
	raw_len = l->off - start;
	w->raw = l->text + start;
	w->raw_len = raw_len;
	if (gap) { /* reported by lex_scan: keep text a C string */
		clean = arena_copy(l->arena, w->raw, raw_len);
		if (clean == NULL)
			return -ENOMEM;
		for (; raw_len > 0; raw_len--)
			if (clean[raw_len - 1] == '\0')
				clean[raw_len - 1] = '?';
		w->raw = clean;
	}
	if (peek(l, 0) == '"')
		diag_error(l->diag, l->at,
		    "expected a space before the opening quote: add one, or quote the "
		    "whole word");
	if (w->raw[0] == '\'')
		diag_error(l->diag, w->at,
		    "single quotes are not supported: use \"...\", with \\\" for a quote "
		    "inside");
	w->kw = keyword_find(w->raw, w->raw_len);
	return word_expand(l->arena, l->lets, l->diag, w);
}

/* ---- tokens -------------------------------------------------------------- */

static void
skip_space(struct lexer *l)
{
	for (;;) {
		if (l->off == l->len)
			return;
		if (peek(l, 0) == '#') {
			if (l->keep_comments)
				return;
			while (l->off < l->len && peek(l, 0) != '\n')
				take(l, 1);
		} else if (continues(l)) {
			take(l, 2);
		} else if (is_space(peek(l, 0)) || (l->flat && peek(l, 0) == '\n')) {
			take(l, 1);
		} else {
			return;
		}
	}
}

static const struct {
	char c;
	enum token_kind kind;
	bool commas, parens; /* only in one of these modes; neither set: always */
} marks[] = {
    {'\n', TOKEN_NEWLINE, false, false},
    {'{', TOKEN_OPEN, false, false},
    {'}', TOKEN_CLOSE, false, false},
    {'[', TOKEN_LIST, false, false},
    {']', TOKEN_UNLIST, false, false},
    {',', TOKEN_COMMA, true, true},
    {'(', TOKEN_LEFT, false, true},
    {')', TOKEN_RIGHT, false, true},
};

/* The kind of the mark at the current position, or TOKEN_END. */
static enum token_kind
mark(const struct lexer *l)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(marks); i++)
		if (peek(l, 0) == marks[i].c &&
		    ((!marks[i].commas && !marks[i].parens) ||
			(marks[i].commas && l->commas) || (marks[i].parens && l->parens)))
			return marks[i].kind;
	return TOKEN_END;
}

/* With keep_comments: up to the end of the line. */
static void
comment(struct lexer *l, struct word *w)
{
	size_t start = l->off;

	while (l->off < l->len && peek(l, 0) != '\n')
		take(l, 1);
	w->raw = l->text + start;
	w->raw_len = l->off - start;
}

int
lex_next(struct lexer *l, struct token *ret)
{
	struct token t = {.kind = TOKEN_END};
	size_t start;
	int r;

	skip_space(l);
	t.at = l->at;
	if (l->off == l->len) {
		*ret = t;
		return 0;
	}
	t.kind = mark(l);
	if (t.kind != TOKEN_END) {
		take(l, 1);
		*ret = t;
		return 0;
	}
	t.word.at = l->at;
	if (peek(l, 0) == '#') {
		t.kind = TOKEN_COMMENT;
		comment(l, &t.word);
		*ret = t;
		return 0;
	}
	t.kind = TOKEN_WORD;
	start = l->off;
	if (peek(l, 0) == '"') {
		r = quoted(l, &t.word);
		t.word.raw = l->text + start;
		t.word.raw_len = l->off - start;
	} else {
		r = bare(l, &t.word);
	}
	if (r == 0)
		*ret = t;
	return r;
}
