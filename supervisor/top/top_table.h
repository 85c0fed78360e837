/*
 * What kennel top shows: one row for each server that runs or may run.
 */
#ifndef KENNEL_SUPERVISOR_TOP_TOP_TABLE_H
#define KENNEL_SUPERVISOR_TOP_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/status/status_client.h"

#define TOP_ROWS_MAX 4096
#define TOP_LINE_MAX 1024

struct top_row {
	char name[4 * STATUS_SERVER_MAX + 1]; /* escaped */
	long pid;                             /* of the hub, or of its own session */
	bool of_hub;
	const char *state;
	bool wrong; /* to be seen */
	uint64_t calls, calls_made, refused, waiting, p50_us, p99_us;
	uint64_t memory; /* bytes of the processes of its sessions */
};

struct top_table {
	struct top_row row[TOP_ROWS_MAX];
	size_t n;
	size_t hubs, sessions, unanswered;
	long hub[STATUS_SESSIONS_MAX];
};

/* The columns, by which rows are sorted. */
enum top_column {
	TOP_SERVER,
	TOP_PID,
	TOP_STATE,
	TOP_OPEN,
	TOP_CALLS,
	TOP_REFUSED,
	TOP_ASK,
	TOP_P50,
	TOP_P99,
	TOP_MEMORY,
	TOP_COLUMN_N
};
const char *top_column_name(enum top_column);

/* Asks all hubs and sessions of the calling user. */
void top_table_read(struct top_table *);
void top_table_sort(struct top_table *, enum top_column);
/* The line of a row, or of the headings (NULL), of at most width characters. */
void top_table_line(const struct top_row *, int width, char out[TOP_LINE_MAX]);

#endif
