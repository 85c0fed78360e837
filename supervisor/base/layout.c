/*
 * Lays out the rows of a table on a terminal.
 */
#include "supervisor/base/layout.h"

#include <string.h>

#include "shim/base/array.h"

#define GAP    2 /* between columns */
#define INDENT 4 /* of the second and further lines of a row */

/* ---- widths ------------------------------------------------------------------- */

/* Shares a line's spare width among its columns [from, to), by what they lack; a column
 * that takes the rest gets at least half of it. */
static void
share(struct layout *l, size_t from, size_t to, int spare)
{
	int lack = 0, left = spare, may = spare;

	for (size_t i = from; i < to; i++) {
		if (l->column[i].width == 0)
			may = spare / 2;
		else
			lack += l->column[i].width - l->column[i].least;
	}
	for (size_t i = from; i < to; i++) {
		struct layout_column *c = &l->column[i];
		int more = c->width - c->least;

		if (c->width == 0)
			continue;
		if (lack > 0 && lack > may)
			more = more * may / lack;
		c->width = c->least + more;
		left -= more;
	}
	for (size_t i = from; i < to; i++)
		if (l->column[i].width == 0)
			l->column[i].width = l->column[i].least + left;
}

void
layout_fit(struct layout *ret, const struct layout_column *column, size_t n, int columns)
{
	struct layout l = {.n = n};
	size_t from = 0;
	int used = 0;

	for (size_t i = 0; i < n; i++) {
		struct layout_column *c = &l.column[i];
		int lead = i == 0 ? 0 : GAP;

		*c = column[i];
		if (c->least > columns - INDENT)
			c->least = columns - INDENT;
		if (c->width != 0 && c->width < c->least)
			c->width = c->least;
		if (i > 0 && used + lead + c->least > columns) {
			share(&l, from, i, columns - used);
			l.begins[i] = true;
			from = i;
			used = 0;
			lead = INDENT;
		}
		used += lead + c->least;
	}
	share(&l, from, n, columns - used);
	*ret = l;
}

/* ---- rows --------------------------------------------------------------------- */

/* Number of bytes of the text that one line of the column shows: up to a space in its
 * second half, or to another good place to break, or all that fit. */
static int
slice_len(const char *text, int width)
{
	static const char *const good[] = {" ", ",/_:"};
	int len = (int)strnlen(text, (size_t)width + 1);

	if (len <= width)
		return len;
	for (size_t g = 0; g < ARRAY_LEN(good); g++) {
		for (int i = width; i > width / 2; i--)
			if (strchr(good[g], text[i - 1]) != NULL)
				return i;
	}
	return width;
}

static void
put_slice(FILE *out, const struct layout_column *c, const char *text, int len,
    const char *colour, bool last)
{
	int pad = c->width - len;

	if (c->right)
		fprintf(out, "%*s", pad, "");
	if (len == 0)
		colour = NULL;
	fprintf(out, "%s%.*s%s", colour != NULL ? colour : "", len, text,
	    colour != NULL ? "\x1b[0m" : "");
	if (!c->right && !last)
		fprintf(out, "%*s", pad, "");
}

/* Prints one line of the columns [from, to); moves each text past its slice. False if
 * all texts ended before. */
static bool
put_line(const struct layout *l, FILE *out, const char **text, const char *const *colour,
    size_t from, size_t to)
{
	size_t last = to;

	for (size_t i = from; i < to; i++)
		if (text[i][0] != '\0')
			last = i;
	if (last == to)
		return false;
	if (from > 0)
		fprintf(out, "%*s", INDENT, "");
	for (size_t i = from; i <= last; i++) {
		int len = slice_len(text[i], l->column[i].width);

		if (i > from)
			fprintf(out, "%*s", GAP, "");
		put_slice(out, &l->column[i], text[i], len, colour[i], i == last);
		text[i] += len;
	}
	(void)fputc('\n', out);
	return true;
}

void
layout_row(
    const struct layout *l, FILE *out, const char *const *text, const char *const *colour)
{
	const char *rest[LAYOUT_MAX];

	for (size_t i = 0; i < l->n; i++)
		rest[i] = text[i];
	for (size_t from = 0, to; from < l->n; from = to) {
		for (to = from + 1; to < l->n && !l->begins[to];)
			to++;
		while (put_line(l, out, rest, colour, from, to))
			;
	}
}
