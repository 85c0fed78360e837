/*
 * The rows of kennel top: servers of hubs, each with its sessions, and sessions of
 * "kennel run" without a hub.
 *
 * Process: kennel, as the calling user; a client of their sockets.
 */
#include "supervisor/top/top_table.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/top/process_memory.h"

#define NUMBER_MAX 24

/* ---- reading -------------------------------------------------------------------- */

static struct top_row *
add(struct top_table *t, const char *name, long pid)
{
	struct top_row *r;

	if (t->n == TOP_ROWS_MAX)
		return NULL;
	r = &t->row[t->n++];
	*r = (struct top_row){.pid = pid};
	(void)log_quote(r->name, sizeof(r->name), name, strlen(name));
	return r;
}

/* Callback of status_of_hub. */
static void
add_server(void *arg, long pid, const struct hub_row *s)
{
	struct top_row *r = add(arg, s->name, pid);

	if (r == NULL)
		return;
	r->of_hub = true;
	r->state = server_live_name(s->live);
	if (s->live != LIVE_CONNECTED && s->reason != REASON_NONE)
		r->state = server_reason_name(s->reason);
	r->wrong = s->live == LIVE_ERROR || s->reason != REASON_NONE;
	r->calls = s->calls;
	r->calls_made = s->calls_made;
	r->refused = s->refused;
	r->p50_us = s->p50_us;
	r->p99_us = s->p99_us;
}

static struct top_row *
row_of(struct top_table *t, long hub, const char *name)
{
	char shown[4 * STATUS_SERVER_MAX + 1];

	(void)log_quote(shown, sizeof(shown), name, strlen(name));
	for (size_t i = 0; i < t->n; i++)
		if (t->row[i].of_hub && t->row[i].pid == hub &&
		    strcmp(t->row[i].name, shown) == 0)
			return &t->row[i];
	return NULL;
}

static void
add_session(struct top_table *t, long pid, const struct status *s,
    const struct process_tree *tree)
{
	struct top_row *r = s->via == 0 ? NULL : row_of(t, (long)s->via, s->server);

	t->sessions++;
	if (r == NULL) {
		r = add(t, s->server, pid);
		if (r == NULL)
			return;
		r->calls = s->calls;
		r->calls_made = s->calls_made;
	}
	r->refused += s->refused;
	r->waiting += s->waiting;
	if (!r->of_hub || s->waiting > 0) /* the hub knows its servers' states else */
		r->state = status_state_name(s);
	if (s->waiting > 0)
		r->wrong = true;
	if (tree != NULL)
		r->memory += process_tree_memory(tree, (pid_t)pid);
}

void
top_table_read(struct top_table *t)
{
	static long pid[STATUS_SESSIONS_MAX];
	struct process_tree *tree = process_tree_new();
	struct hub_status hub;
	struct status s;
	size_t n;
	int r;

	t->n = t->hubs = t->sessions = t->unanswered = 0;
	n = person_sockets(HUB_SOCKET, pid, ARRAY_LEN(pid));
	for (size_t i = 0; i < n; i++) {
		r = status_of_hub(pid[i], &hub, add_server, t);
		if (r == 0)
			t->hub[t->hubs++] = pid[i];
		else
			t->unanswered += !status_ended(pid[i], r);
	}
	n = person_sockets(STATUS_SOCKET, pid, ARRAY_LEN(pid));
	for (size_t i = 0; i < n; i++) {
		r = status_of_session(pid[i], &s);
		if (r == 0)
			add_session(t, pid[i], &s, tree);
		else
			t->unanswered += !status_ended(pid[i], r);
	}
	process_tree_free(tree);
}

/* ---- texts ---------------------------------------------------------------------- */

static void
put_count(uint64_t n, char out[NUMBER_MAX])
{
	static const char unit[] = " kMGTPE";
	size_t at = 0;

	while (n >= 10000 && unit[at + 1] != '\0') {
		n /= 1000;
		at++;
	}
	if (at == 0)
		(void)snprintf(out, NUMBER_MAX, "%llu", (unsigned long long)n);
	else
		(void)snprintf(
		    out, NUMBER_MAX, "%llu%c", (unsigned long long)n, unit[at]);
}

static void
put_time(uint64_t us, char out[NUMBER_MAX])
{
	if (us == 0)
		(void)snprintf(out, NUMBER_MAX, "-");
	else if (us < 1000)
		(void)snprintf(out, NUMBER_MAX, "%uus", (unsigned int)us);
	else if (us < 10000)
		(void)snprintf(out, NUMBER_MAX, "%.1fms", (double)us / 1e3);
	else if (us < 1000000)
		(void)snprintf(out, NUMBER_MAX, "%ums", (unsigned int)(us / 1000));
	else
		(void)snprintf(out, NUMBER_MAX, "%.1fs", (double)us / 1e6);
}

static void
put_memory(uint64_t bytes, char out[NUMBER_MAX])
{
	if (bytes == 0)
		(void)snprintf(out, NUMBER_MAX, "-");
	else if (bytes < 10ull << 20)
		(void)snprintf(
		    out, NUMBER_MAX, "%.1fM", (double)bytes / (double)(1 << 20));
	else
		(void)snprintf(
		    out, NUMBER_MAX, "%lluM", (unsigned long long)(bytes >> 20));
}

static void
put_pid(const struct top_row *r, char out[NUMBER_MAX])
{
	(void)snprintf(out, NUMBER_MAX, "%ld", r->pid);
}

/* ---- columns -------------------------------------------------------------------- */

static const struct {
	const char *name;
	int width; /* negative: to the left; 0: what remains */
	size_t at; /* of its number in a row */
	void (*put)(uint64_t, char[NUMBER_MAX]);
} columns[TOP_COLUMN_N] = {
    [TOP_SERVER] = {"server", 0},
    [TOP_PID] = {"pid", -7},
    [TOP_STATE] = {"state", -STATUS_STATE_LEN},
    [TOP_OPEN] = {"open", 4, offsetof(struct top_row, calls), put_count},
    [TOP_CALLS] = {"calls", 6, offsetof(struct top_row, calls_made), put_count},
    [TOP_REFUSED] = {"refused", 7, offsetof(struct top_row, refused), put_count},
    [TOP_ASK] = {"ask", 4, offsetof(struct top_row, waiting), put_count},
    [TOP_P50] = {"p50", 6, offsetof(struct top_row, p50_us), put_time},
    [TOP_P99] = {"p99", 6, offsetof(struct top_row, p99_us), put_time},
    [TOP_MEMORY] = {"memory", 6, offsetof(struct top_row, memory), put_memory},
};

#define SERVER_WIDTH_MIN 8

const char *
top_column_name(enum top_column c)
{
	return columns[c].name;
}

static uint64_t
number(const struct top_row *r, enum top_column c)
{
	return *(const uint64_t *)(const void *)((const char *)r + columns[c].at);
}

static int
server_width(int width)
{
	for (size_t i = 0; i < TOP_COLUMN_N; i++)
		if (columns[i].width != 0)
			width -= abs(columns[i].width) + 1;
	return width < SERVER_WIDTH_MIN ? SERVER_WIDTH_MIN : width;
}

static const char *
cell(const struct top_row *r, enum top_column c, char number_text[NUMBER_MAX])
{
	if (r == NULL)
		return columns[c].name;
	if (c == TOP_SERVER)
		return r->name;
	if (c == TOP_STATE)
		return r->state;
	if (c == TOP_PID)
		put_pid(r, number_text);
	else
		columns[c].put(number(r, c), number_text);
	return number_text;
}

void
top_table_line(const struct top_row *r, int width, char out[TOP_LINE_MAX])
{
	int server = server_width(width), at = 0;
	char text[NUMBER_MAX];

	for (enum top_column c = 0; c < TOP_COLUMN_N && at < TOP_LINE_MAX - 1; c++) {
		int w = c == TOP_SERVER ? -server : columns[c].width;

		at += snprintf(out + at, (size_t)(TOP_LINE_MAX - at), "%s%*.*s",
		    c == 0 ? "" : " ", w, abs(w), cell(r, c, text));
	}
	if (width < TOP_LINE_MAX && at > width)
		out[width] = '\0';
}

/* ---- order ---------------------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r != 0 ? r : (x->pid > y->pid) - (x->pid < y->pid);
}

static int
by_pid(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid) : by_name(a, b);
}

static int
by_state(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int r = strcmp(x->state, y->state);

	return r != 0 ? r : by_name(a, b);
}

/* The largest first. */
static int
by_number(const void *a, const void *b, void *column)
{
	uint64_t x = number(a, *(enum top_column *)column),
		 y = number(b, *(enum top_column *)column);

	return x != y ? (x < y) - (x > y) : by_name(a, b);
}

void
top_table_sort(struct top_table *t, enum top_column c)
{
	static int (*const by[TOP_COLUMN_N])(const void *, const void *) = {
	    [TOP_SERVER] = by_name, [TOP_PID] = by_pid, [TOP_STATE] = by_state};

	if (by[c] != NULL)
		qsort(t->row, t->n, sizeof(t->row[0]), by[c]);
	else
		qsort_r(t->row, t->n, sizeof(t->row[0]), by_number, &c);
}
