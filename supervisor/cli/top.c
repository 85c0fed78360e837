/*
 * kennel top: the servers that run, live. A hub reports changes; in addition all are asked
 * every second.
 *
 * Process: kennel, as the calling user; a client of the sockets of hubs and sessions.
 * What they answer is escaped before it is shown (top_table.c).
 */
#include <curses.h>
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
#include "supervisor/base/terminal.h"
#include "supervisor/cli/cli.h"
#include "supervisor/top/top_table.h"
#include "supervisor/help/help.h"

#define REFRESH_MS   1000
#define WATCHED_MAX  32
#define PLAIN_WIDTH  80
#define HEAD_LINES   2 /* the title and the headings */
#define FOOT_LINES   1
#define ESCAPE_MS    25
#define COLOUR_WRONG 1

struct top {
	struct top_table table;
	enum top_column by;
	size_t selected, first; /* rows */
	struct {
		long pid;
		int fd;
	} watched[WATCHED_MAX];
	size_t watched_n;
	bool colour, quit;
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
	if (t->selected >= t->table.n)
		t->selected = t->table.n == 0 ? 0 : t->table.n - 1;
}

/* ---- the screen ----------------------------------------------------------------- */

static void
put_line(int y, const char *text)
{
	move(y, 0);
	clrtoeol();
	addnstr(text, COLS);
}

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
	put_line(0, line);
}

static void
put_row(struct top *t, int y, size_t at)
{
	const struct top_row *row = &t->table.row[at];
	attr_t wrong = t->colour ? COLOR_PAIR(COLOUR_WRONG) : A_BOLD;
	char line[TOP_LINE_MAX];

	top_table_line(row, COLS, line);
	if (at == t->selected)
		attron(A_REVERSE);
	if (row->wrong)
		attron(wrong);
	put_line(y, line);
	attroff(A_REVERSE);
	attroff(wrong);
}

static void
draw(struct top *t)
{
	int rows = LINES - HEAD_LINES - FOOT_LINES;
	char line[TOP_LINE_MAX];

	erase();
	put_title(t);
	top_table_line(NULL, COLS, line);
	attron(A_BOLD);
	put_line(1, line);
	attroff(A_BOLD);
	if (rows > 0 && t->selected >= t->first + (size_t)rows)
		t->first = t->selected - (size_t)rows + 1;
	if (t->selected < t->first)
		t->first = t->selected;
	for (int i = 0; i < rows && t->first + (size_t)i < t->table.n; i++)
		put_row(t, HEAD_LINES + i, t->first + (size_t)i);
	if (t->table.n == 0)
		put_line(HEAD_LINES, "no session is running");
	put_line(
	    LINES - 1, t->message[0] != '\0'
			   ? t->message
			   : "q quit   s sort by the next column   up, down select   "
			     "r restart");
	refresh();
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
on_up(struct top *t)
{
	t->selected -= t->selected > 0;
}

static void
on_down(struct top *t)
{
	t->selected += t->selected + 1 < t->table.n;
}

static void
on_restart(struct top *t)
{
	const struct top_row *row = &t->table.row[t->selected];

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
    {KEY_UP, on_up},
    {KEY_DOWN, on_down},
};

static void
on_key(struct top *t, int key)
{
	t->message[0] = '\0';
	if (t->restart_pid != 0 && key != KEY_RESIZE) {
		confirmed(t, key);
		return;
	}
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

	(void)cbreak(); /* without: keys need a newline */
	(void)noecho(); /* without: keys are shown */
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)curs_set(0); /* not every terminal can */
	(void)set_escdelay(ESCAPE_MS);
	t->colour = terminal_of(STDOUT_FILENO).colour && has_colors() &&
		    start_color() == OK && use_default_colors() == OK &&
		    init_pair(COLOUR_WRONG, COLOR_RED, -1) == OK;
	while (!t->quit) {
		refresh_table(t);
		draw(t);
		wait_for_news(t);
		while ((key = getch()) != ERR)
			on_key(t, key);
	}
	(void)endwin(); /* the terminal is as before */
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

/* False: this terminal cannot show it, and the user is told. */
static bool
has_screen(void)
{
	const char *type = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	if (type == NULL || strcmp(type, "dumb") == 0) {
		log_warn("a terminal of type `%s` has no live view; set TERM to the "
			 "terminal's type",
		    type == NULL ? "" : type);
		return false;
	}
	if (newterm(NULL, stdout, stdin) != NULL)
		return true;
	log_warn("no terminfo entry for TERM `%.40s`: install ncurses-base or "
		 "ncurses-term, or set TERM=xterm",
	    type);
	return false;
}

int
top_main(int argc, char **argv)
{
	static struct top t = {.by = TOP_SERVER};

	if (argc > 1)
		return help_refuse(&kennel_help, argv[0], argv[1]);
	if (!has_screen())
		return once(&t);
	live(&t);
	return 0;
}
