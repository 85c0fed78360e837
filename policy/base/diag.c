/*
 * Error messages: "file:line:col: error: ...", the line, a caret.
 *
 * The text of a policy is untrusted: it is shown printable and cut, and a line
 * that may hold a secret is not shown at all.
 */
#include "policy/base/diag.h"
#include "policy/base/output.h"
#include "shim/base/array.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX 8192 /* bytes; a message may contain a path */

/* One byte in printable form; returns its width. */
static size_t
show_byte(char out[5], unsigned char c)
{
	if (c == '\t')
		c = ' ';
	if (c >= 0x20 && c < 0x7f) {
		out[0] = (char)c;
		out[1] = '\0';
		return 1;
	}
	(void)snprintf(out, 5, "\\x%02x", c); /* four characters fit */
	return 4;
}

char *
diag_text(char out[DIAG_TEXT_CAP], const char *text, size_t len)
{
	return diag_cut(out, DIAG_TEXT_MAX, text, len);
}

char *
diag_cut(char *out, size_t max, const char *text, size_t len)
{
	size_t i, w, n = 0;
	char one[5];

	for (i = 0; i < len; i++) {
		w = show_byte(one, (unsigned char)text[i]);
		if (n + w > max) {
			memcpy(out + (n < max - 3 ? n : max - 3), "...", 4);
			return out;
		}
		memcpy(out + n, one, w);
		n += w;
	}
	out[n] = '\0';
	return out;
}

struct line {
	const char *text;
	size_t len;
};

static bool
line_find(const struct policy_source *s, uint32_t line, struct line *ret)
{
	const char *p = s->text, *end = s->text + s->len, *nl;
	uint32_t i;

	if (s->len == 0 || line == 0)
		return false;
	for (i = 1; i < line; i++) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (p == NULL)
			return false;
		p++;
	}
	nl = memchr(p, '\n', (size_t)(end - p));
	ret->text = p;
	ret->len = (size_t)((nl == NULL ? end : nl) - p);
	return true;
}

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '{' || c == '}';
}

/* Does this line contain a keyword that a secret may follow? */
static bool
line_has_value_word(const struct line *l)
{
	static const char *const words[] = {"env", "secret", "let"};
	size_t i, k, n;

	for (i = 0; i < l->len; i++) {
		if (i > 0 && !blank(l->text[i - 1]))
			continue;
		for (k = 0; k < ARRAY_LEN(words); k++) {
			n = strlen(words[k]);
			if (l->len - i >= n && memcmp(l->text + i, words[k], n) == 0 &&
			    (i + n == l->len || blank(l->text[i + n])))
				return true;
		}
	}
	return false;
}

/* Does this line, or one that it continues, contain a secret? */
static bool
line_is_hidden(const struct policy_source *s, struct line l)
{
	const char *end;

	for (;;) {
		if (line_has_value_word(&l))
			return true;
		if (l.text == s->text)
			return false;
		end = l.text - 1; /* the preceding newline */
		if (end == s->text || end[-1] != '\\')
			return false;
		for (l.text = end; l.text > s->text && l.text[-1] != '\n'; l.text--)
			;
		l.len = (size_t)(end - l.text);
	}
}

/* Prints the line and a caret under col, in a window of DIAG_TEXT_MAX. */
static void
line_show(FILE *out, const struct line *l, uint32_t col)
{
	size_t at = col > 0 ? col - 1 : 0, first = 0, i, w, width = 0, caret = 0;
	char one[5];

	if (at > l->len)
		at = l->len;
	if (at > DIAG_TEXT_MAX / 2 && l->len > DIAG_TEXT_MAX)
		first = at - DIAG_TEXT_MAX / 2;
	fputs(first > 0 ? "    ..." : "    ", out);
	if (first > 0)
		caret = 3;
	for (i = first; i < l->len; i++) {
		w = show_byte(one, (unsigned char)l->text[i]);
		if (width + w > DIAG_TEXT_MAX) {
			fputs("...", out);
			break;
		}
		fputs(one, out);
		width += w;
		if (i < at)
			caret += w;
	}
	fprintf(out, "\n    %*s^\n", (int)caret, "");
}

static void
print_shown(FILE *out, const char *text)
{
	char one[5];

	for (; *text != '\0'; text++) {
		(void)show_byte(one, (unsigned char)*text);
		fputs(one, out);
	}
}

/* Makes the whole message printable, whichever caller wrote it. */
static void message(FILE *out, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void
message(FILE *out, const char *fmt, va_list ap)
{
	char text[MESSAGE_MAX];

	(void)vsnprintf(text, sizeof(text), fmt, ap); /* may be truncated */
	print_shown(out, text);
	fputc('\n', out);
}

static void report(FILE *out, const struct diag *d, struct at at, const char *kind,
    const char *fmt, va_list ap) __attribute__((format(printf, 5, 0)));

static void
report(FILE *out, const struct diag *d, struct at at, const char *kind, const char *fmt,
    va_list ap)
{
	const struct policy_source *s = NULL;
	const char *path = "(standard input)";
	struct line l;

	if (at.file < d->source_n)
		s = &d->source[at.file];
	if (s != NULL && s->path != NULL)
		path = s->path;
	print_shown(out, path); /* whole: a person or a program opens it */
	if (at.line > 0)
		fprintf(out, ":%u:%u", at.line, at.col);
	fprintf(out, ": %s: ", kind);
	message(out, fmt, ap);
	if (s != NULL && !d->hide_line && !d->hide_all && line_find(s, at.line, &l) &&
	    !line_is_hidden(s, l))
		line_show(out, &l, at.col);
}

static void report_json(FILE *f, const struct diag *d, struct at at, const char *kind,
    const char *code, const char *fmt, va_list ap) __attribute__((format(printf, 6, 0)));

/* The same message as a JSON object; never includes the source line. */
static void
report_json(FILE *f, const struct diag *d, struct at at, const char *kind,
    const char *code, const char *fmt, va_list ap)
{
	const char *path = at.file < d->source_n ? d->source[at.file].path : NULL;
	char *text = NULL;
	size_t len = 0;
	struct out o;
	FILE *m = open_memstream(&text, &len);

	if (m == NULL)
		return;
	message(m, fmt, ap);
	if (fclose(m) != 0 || len == 0) {
		free(text);
		return;
	}
	out_init(&o, f);
	out_object(&o, NULL);
	out_text(&o, "severity", kind);
	out_text(&o, "code", code);
	out_text(&o, "file", path == NULL ? "(standard input)" : path);
	out_number(&o, "line", at.line);
	out_number(&o, "column", at.col);
	out_bytes(&o, "message", text, len - 1); /* without the newline */
	out_end(&o);
	free(text);
}

/* ---- source order -------------------------------------------------------- */

struct held {
	struct at at;
	size_t order;
	char *text;
};

#define HELD_MAX (2 * (size_t)DIAG_SHOWN_MAX)

static int
held_order(const void *va, const void *vb)
{
	const struct held *a = va, *b = vb;

	if (a->at.file != b->at.file)
		return a->at.file < b->at.file ? -1 : 1;
	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	if (a->at.col != b->at.col)
		return a->at.col < b->at.col ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static void
held_flush(struct diag *d)
{
	size_t i;

	if (d->held_n > 1)
		qsort(d->held, d->held_n, sizeof(*d->held), held_order);
	for (i = 0; i < d->held_n; i++) {
		if (d->json && i > 0)
			fputc(',', d->out);
		fputs(d->held[i].text, d->out);
		free(d->held[i].text);
	}
	free(d->held);
	d->held = NULL;
	d->held_n = 0;
}

/* The stream for the next message: a buffer of its own, or the output. */
static FILE *
held_open(struct diag *d, struct at at, size_t *len)
{
	struct held *h;
	FILE *f;

	if (!d->sorted)
		return d->out;
	if (d->held == NULL)
		d->held = calloc(HELD_MAX, sizeof(*d->held));
	if (d->held == NULL || d->held_n == HELD_MAX)
		return d->out;
	h = &d->held[d->held_n];
	f = open_memstream(&h->text, len);
	if (f == NULL)
		return d->out;
	h->at = at;
	h->order = d->held_n;
	return f;
}

static void say(struct diag *d, struct at at, const char *kind, const char *code,
    const char *fmt, va_list ap) __attribute__((format(printf, 5, 0)));

static void
say(struct diag *d, struct at at, const char *kind, const char *code, const char *fmt,
    va_list ap)
{
	size_t len = 0;
	FILE *f;

	if (d->out == NULL)
		return;
	f = held_open(d, at, &len);
	if (d->json && f == d->out)
		return; /* no memory to keep it; it is still counted */
	if (d->json)
		report_json(f, d, at, kind, code, fmt, ap);
	else
		report(f, d, at, kind, fmt, ap);
	if (f != d->out && fclose(f) == 0)
		d->held_n++;
}

static void error(struct diag *d, struct at at, const char *code, const char *fmt,
    va_list ap) __attribute__((format(printf, 4, 0)));
static void warning(struct diag *d, struct at at, const char *code, const char *fmt,
    va_list ap) __attribute__((format(printf, 4, 0)));

static void
error(struct diag *d, struct at at, const char *code, const char *fmt, va_list ap)
{
	if (d->error_n++ < DIAG_SHOWN_MAX)
		say(d, at, "error", code, fmt, ap);
}

static void
warning(struct diag *d, struct at at, const char *code, const char *fmt, va_list ap)
{
	if (d->warning_n++ < DIAG_SHOWN_MAX && !d->quiet)
		say(d, at, "warning", code, fmt, ap);
}

void
diag_error_in(const char *code, struct diag *d, struct at at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error(d, at, code, fmt, ap);
	va_end(ap);
}

void
diag_warning_in(const char *code, struct diag *d, struct at at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warning(d, at, code, fmt, ap);
	va_end(ap);
}

void
diag_host_in(const char *code, struct diag *d, struct at at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (d->elsewhere) {
		d->host_n++;
		warning(d, at, code, fmt, ap);
	} else
		error(d, at, code, fmt, ap);
	va_end(ap);
}

static void
end_count(struct diag *d, size_t n, const char *kind)
{
	if (d->out != NULL && n > DIAG_SHOWN_MAX)
		fprintf(d->out, "%zu more %s%s not shown\n", n - DIAG_SHOWN_MAX, kind,
		    n - DIAG_SHOWN_MAX == 1 ? "" : "s");
}

void
diag_end(struct diag *d)
{
	if (d->json && d->out != NULL)
		fputs("{\"diagnostics\":[", d->out);
	held_flush(d);
	if (d->json && d->out != NULL) {
		fprintf(d->out, "],\"errors\":%zu,\"warnings\":", d->error_n);
		if (d->unread)
			fputs("null", d->out);
		else
			fprintf(d->out, "%zu", d->warning_n);
		fprintf(d->out, ",\"unchecked\":%zu}\n", d->unchecked_n);
	}
	if (d->json)
		return;
	end_count(d, d->error_n, "error");
	end_count(d, d->quiet ? 0 : d->warning_n, "warning");
}
