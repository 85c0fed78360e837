/*
 * A page for a person to read: wrapped to the terminal, each character of a server's text
 * visible.
 */
#ifndef KENNEL_SUPERVISOR_PIN_PAGE_H
#define KENNEL_SUPERVISOR_PIN_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/buf.h"
#include "supervisor/json/json.h"

struct page {
	int columns, at; /* of the terminal; of the current line */
	int blanks;      /* that the last text ended with */
	bool utf8, colour;
	struct buf text, shown; /* of the text that is printed */
};

void page_begin(struct page *);
void page_free(struct page *);

enum page_style { PAGE_PLAIN, PAGE_NAME, PAGE_MARK, PAGE_OLD, PAGE_NEW };

/* Appends to the current line; what does not fit goes on below, after indent blanks. */
void page_put(struct page *, int indent, enum page_style, const char *text, size_t len);
void page_puts(struct page *, int indent, enum page_style, const char *);
/* A JSON string as its text; another value as it is written. */
void page_json(struct page *, int indent, enum page_style, struct json);
/* Goes to this column, on the next line if the current one is past it. */
void page_to(struct page *, int column);
void page_line(struct page *);
/* Columns that the text takes if it is on one line. */
int page_width(struct page *, const char *text, size_t len);

#endif
