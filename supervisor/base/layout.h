/*
 * Lays out the rows of a table on a terminal, so that nothing is cut: columns shrink,
 * text wraps inside its column, and columns that do not fit continue on the next line.
 *
 * 	idx  time                 server
 * 	     what
 * 	  4  2026-11-22 18:58:11  github
 * 	     a text that is longer than the line is
 * 	     wrapped
 */
#ifndef KENNEL_SUPERVISOR_BASE_LAYOUT_H
#define KENNEL_SUPERVISOR_BASE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define LAYOUT_MAX 16 /* columns of a table */

struct layout_column {
	int width, least; /* wanted, and at least; width 0: the rest of its line */
	bool right;
};
struct layout {
	size_t n;
	struct layout_column column[LAYOUT_MAX]; /* its width is what it got */
	bool begins[LAYOUT_MAX];                 /* a line */
};

/* n is at most LAYOUT_MAX; columns is the width of the terminal. */
void layout_fit(
    struct layout *, const struct layout_column *column, size_t n, int columns);
/* One row; the texts are printable ASCII.  colour: what begins a colour, or NULL, for
 * each text. */
void layout_row(
    const struct layout *, FILE *, const char *const *text, const char *const *colour);

#endif
