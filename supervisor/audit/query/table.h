/*
 * The table that answers are printed in, as text, JSON, CSV or HTML.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_TABLE_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/base/layout.h"
#include "supervisor/base/terminal.h"

enum cell {
	CELL_TEXT,
	CELL_NUMBER,
	CELL_TIME,    /* ns of CLOCK_REALTIME; shown in UTC, on a terminal as local */
	CELL_ID,      /* hex; text output shows the first digits */
	CELL_SESSION, /* hex; a terminal shows the first digits */
	CELL_US,      /* microseconds */
	CELL_VERDICT,
};
struct column {
	const char *name;
	enum cell cell;
	int width; /* in text output; 0: natural width */
};

struct table {
	FILE *out;
	enum form form;
	const struct column *column;
	size_t column_n, at;
	uint64_t rows, most; /* most: number of rows printed; 0: all */
	uint64_t skip;       /* rows that are not printed, at the beginning */
	struct {
		const char *what;
		uint64_t n;
	} left_out[2]; /* table_end reports them */
	const char *verb;
	bool bare;
	const struct query *q; /* for the head; NULL: it is printed */
	const struct log_view *view;
	struct terminal terminal; /* of out, if a person reads it there */
	/* on a terminal, a row is collected and then laid out */
	FILE *row;
	char *row_text;
	size_t row_len, start[LAYOUT_MAX]; /* start: of each field in row_text */
	const char *colour[LAYOUT_MAX];
	struct layout layout;
};

/* The query and the view must outlive the table. */
void table_begin(struct table *, const struct query *, const struct log_view *,
    const struct column *, size_t column_n);
/* Print the fields of a row, left to right; the last one ends the row. */
void table_text(struct table *, const char *text_or_null);
void table_number(struct table *, uint64_t);
void table_none(struct table *);
/* False if the row that ended last was not printed. */
bool table_shown(const struct table *);
/* Prints this field of the record in the type of the column. */
void table_field(struct table *, const struct log_record *, const char *key);
/* Below the rows, for people: how many records an option would add.
 * what: one of these (static), each once. */
void table_left_out(struct table *, const char *what, uint64_t n);
#define TABLE_ABSENT "attempts to run a file that does not exist, shown with --absent:"
#define TABLE_OWN    "records of sessions of kennel's own, shown with --own:"
/* The output, after the head: for text that is in no cell. */
FILE *table_out(struct table *);
/* failed: the query did; without rows, nothing is printed as the answer.  -EPIPE if the
 * reader has closed the pipe. */
int table_end(struct table *, bool failed);

#endif
