/*
 * kennel top: the servers that run, live. A hub reports changes; in addition all are asked
 * every second.
 *
 * Process: kennel, as the calling user; a client of the sockets of hubs and sessions.
 * What they answer is escaped before it is shown (top_table.c).
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/screen/screen.h"
#include "supervisor/top/top_table.h"

#define REFRESH_MS  1000
#define WATCHED_MAX 32
#define PLAIN_WIDTH 80
#define HEAD_LINES  2 /* the title and the headings */
#define FOOT_LINES  1

struct top {
	struct top_table table;
	enum top_column by;
	struct screen_list list;
	struct {
		long pid;
		int fd;
	} watched[WATCHED_MAX];
	size_t watched_n;
	bool quit;
	/* The restart that waits for a confirmation; pid 0: none. */
	long restart_pid;
	char restart[STATUS_SERVER_MAX];
	char message[160];
};

/* ---- hubs that report changes --------------------------------------------------- */

static void
watch(struct top *t, long pid)
{
	int fd;

	for (size_t i = 0; i < t->watched_n; i++)
		if (t->watched[i].pid == pid)
			return;
	if (t->watched_n == WATCHED_MAX || (fd = status_watch(pid)) < 0)
		return; /* it is asked every second */
	t->watched[t->watched_n].pid = pid;
	t->watched[t->watched_n++].fd = fd;
}

/* Drops what came. A hub that has ended is forgotten. */
static void
drain(struct top *t, size_t at)
{
	static uint8_t packet[HUB_PACKET_MAX];
	size_t len, none;
	int r;

	do
		r = wire_recv(
		    t->watched[at].fd, packet, sizeof(packet), &len, NULL, 0, &none);
	while (r == 0);
	if (r == -EAGAIN)
		return;
	fd_close(&t->watched[at].fd);
	t->watched[at] = t->watched[--t->watched_n];
}

static void
refresh_table(struct top *t)
{
	top_table_read(&t->table);
	top_table_sort(&t->table, t->by);
	for (size_t i = 0; i < t->table.hubs; i++)
		watch(t, t->table.hub[i]);
	t->list.n = t->table.n;
	if (t->list.selected >= t->list.n)
		t->list.selected = t->list.n == 0 ? 0 : t->list.n - 1;
}

/* ---- the screen ----------------------------------------------------------------- */

static void
put_title(const struct top *t)
{
	char line[200], clock[16] = "";
	time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local) != NULL)
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &local); /* fits */
	(void)snprintf(line, sizeof(line),
	    "kennel top  %s  %zu kennel serve, %zu sessions, by %s%s", clock,
	    t->table.hubs, t->table.sessions, top_column_name(t->by),
	    t->table.unanswered > 0 ? ", some do not answer" : "");
	screen_line(0, line, SCREEN_PLAIN);
}

static void
put_row(void *arg, int y, size_t at, unsigned int style)
{
	const struct top *t = arg;
	const struct top_row *row = &t->table.row[at];
	char line[TOP_LINE_MAX];

	top_table_line(row, screen_width(), line);
	screen_line(y, line, style | (row->wrong ? SCREEN_WRONG : 0u));
}

static void
draw(struct top *t)
{
	char line[TOP_LINE_MAX];
	int last = screen_height() - 1;

	screen_begin();
	put_title(t);
	top_table_line(NULL, screen_width(), line);
	screen_line(1, line, SCREEN_BOLD);
	screen_list_put(&t->list, HEAD_LINES, last - FOOT_LINES, put_row, t);
	if (t->table.n == 0)
		screen_line(HEAD_LINES, "no session is running", SCREEN_PLAIN);
	screen_line(last,
	    t->message[0] != '\0'
		? t->message
		: "q quit   s sort by the next column   up, down select   "
		  "r restart",
	    SCREEN_PLAIN);
	screen_end();
}

/* ---- keys ----------------------------------------------------------------------- */

static void
on_quit(struct top *t)
{
	t->quit = true;
}

static void
on_sort(struct top *t)
{
	t->by = (enum top_column)((t->by + 1) % TOP_COLUMN_N);
	top_table_sort(&t->table, t->by);
}

static void
on_restart(struct top *t)
{
	const struct top_row *row = &t->table.row[t->list.selected];

	if (t->table.n == 0)
		return;
	if (!row->of_hub) {
		(void)snprintf(t->message, sizeof(t->message),
		    "%.60s restarts with its agent: it is a session of kennel run",
		    row->name);
		return;
	}
	t->restart_pid = row->pid;
	(void)snprintf(t->restart, sizeof(t->restart), "%.*s",
	    (int)sizeof(t->restart) - 1, row->name);
	(void)snprintf(t->message, sizeof(t->message),
	    "restart %.60s? y restarts it, and its open calls fail; any other key does "
	    "not",
	    row->name);
}

static void
confirmed(struct top *t, int key)
{
	static const char *const done[RESTART_N] = {
	    [RESTART_OK] = "stopped; the next call starts it",
	    [RESTART_UNKNOWN] = "unknown to its kennel serve",
	    [RESTART_NOT_RUNNING] = "was not running; the next call starts it"};
	enum restart_outcome outcome;
	int r;

	if (key == 'y') {
		r = status_restart(t->restart_pid, t->restart, &outcome);
		(void)snprintf(t->message, sizeof(t->message), "%.60s: %s", t->restart,
		    r < 0 ? strerror(-r) : done[outcome]);
	}
	t->restart_pid = 0;
}

static const struct {
	int key;
	void (*fn)(struct top *);
} keys[] = {
    {'q', on_quit},
    {'s', on_sort},
    {'r', on_restart},
};

static void
on_key(struct top *t, int key)
{
	t->message[0] = '\0';
	if (t->restart_pid != 0 && key != SCREEN_RESIZED) {
		confirmed(t, key);
		return;
	}
	if (screen_list_key(&t->list, key))
		return;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].key == key)
			keys[i].fn(t);
}

/* ---- the loop ------------------------------------------------------------------- */

/* Until a key, a change, or the next second. */
static void
wait_for_news(struct top *t)
{
	struct pollfd p[1 + WATCHED_MAX] = {{.fd = STDIN_FILENO, .events = POLLIN}};
	size_t n = t->watched_n;

	for (size_t i = 0; i < n; i++)
		p[1 + i] = (struct pollfd){.fd = t->watched[i].fd, .events = POLLIN};
	if (poll(p, 1 + n, REFRESH_MS) < 0)
		return; /* a signal: the size of the screen */
	for (size_t i = n; i > 0; i--)
		if (p[i].revents != 0)
			drain(t, i - 1);
	if ((p[0].revents & (POLLHUP | POLLERR)) != 0)
		t->quit = true;
}

static void
live(struct top *t)
{
	int key;

	while (!t->quit) {
		refresh_table(t);
		draw(t);
		wait_for_news(t);
		while ((key = screen_key()) != SCREEN_NONE)
			on_key(t, key);
	}
	screen_close();
}

static int
once(struct top *t)
{
	char line[TOP_LINE_MAX];

	top_table_read(&t->table);
	top_table_sort(&t->table, t->by);
	if (t->table.n == 0)
		printf("no session is running\n");
	else {
		top_table_line(NULL, PLAIN_WIDTH, line);
		puts(line);
	}
	for (size_t i = 0; i < t->table.n; i++) {
		top_table_line(&t->table.row[i], PLAIN_WIDTH, line);
		puts(line);
	}
	if (t->table.unanswered > 0)
		log_error("%zu processes do not answer; `kennel ps` names them",
		    t->table.unanswered);
	return fflush(stdout) != 0 || t->table.unanswered > 0 ? EXIT_FAILED : 0;
}

int
top_main(int argc, char **argv)
{
	static struct top t = {.by = TOP_SERVER};

	if (argc > 1)
		return help_refuse(&kennel_help, argv[0], argv[1]);
	if (!screen_open())
		return once(&t);
	live(&t);
	return 0;
}
