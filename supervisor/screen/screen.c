/*
 * A full-screen view on the user's terminal. The only file that calls ncurses.
 *
 * Process: kennel, as the calling user.
 */
#include "supervisor/screen/screen.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/terminal.h"

#define ESCAPE_MS    25
#define COLOUR_WRONG 1
#define COLOUR_GOOD  2
#define PAGE_ROWS    10
#define BYTE_ERASE   127

/* The screen of this process; a terminal has one. */
static struct {
	bool colour;
	bool cursor; /* it is visible */
} shown;

/* ---- begin and end --------------------------------------------------------------- */

static void
set_up(void)
{
	(void)cbreak(); /* without: keys need a newline */
	(void)noecho(); /* without: keys are shown */
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)curs_set(0); /* not every terminal can */
	(void)set_escdelay(ESCAPE_MS);
	shown.colour = terminal_of(STDOUT_FILENO).colour && has_colors() &&
		       start_color() == OK && use_default_colors() == OK &&
		       init_pair(COLOUR_WRONG, COLOR_RED, -1) == OK &&
		       init_pair(COLOUR_GOOD, COLOR_GREEN, -1) == OK;
}

bool
screen_open(void)
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
	if (newterm(NULL, stdout, stdin) == NULL) {
		log_warn("no terminfo entry for TERM `%.40s`: install ncurses-base or "
			 "ncurses-term, or set TERM=xterm",
		    type);
		return false;
	}
	set_up();
	return true;
}

void
screen_close(void)
{
	(void)endwin(); /* the terminal is as before */
}

void
screen_suspend(void)
{
	(void)endwin(); /* the next refresh takes the terminal again */
}

void
screen_resume(void)
{
	(void)flushinp(); /* keys for the other program are not for the view */
	(void)clearok(stdscr, TRUE);
	(void)refresh();
}

/* ---- output ------------------------------------------------------------------------ */

int
screen_height(void)
{
	return LINES;
}

int
screen_width(void)
{
	return COLS;
}

void
screen_begin(void)
{
	erase();
	if (shown.cursor)
		(void)curs_set(0);
	shown.cursor = false;
}

void
screen_end(void)
{
	refresh();
}

static attr_t
attributes(unsigned int style)
{
	attr_t a = 0;

	if ((style & SCREEN_BOLD) != 0)
		a |= A_BOLD;
	if ((style & SCREEN_SELECTED) != 0)
		a |= A_REVERSE;
	if ((style & SCREEN_WRONG) != 0)
		a |= shown.colour ? COLOR_PAIR(COLOUR_WRONG) : A_BOLD;
	if ((style & SCREEN_GOOD) != 0 && shown.colour)
		a |= COLOR_PAIR(COLOUR_GOOD);
	return a;
}

void
screen_line(int y, const char *text, unsigned int style)
{
	attr_t a = attributes(style);

	move(y, 0);
	clrtoeol();
	attron(a);
	addnstr(text, COLS);
	attroff(a);
}

void
screen_cursor(int y, int x)
{
	move(y, x < COLS ? x : COLS - 1);
	shown.cursor = curs_set(1) != ERR;
}

/* ---- keys ------------------------------------------------------------------------- */

/* A key that the terminal's description does not name begins with Escape too: its other
 * bytes are no keys. */
static int
escape_key(void)
{
	if (getch() == ERR)
		return SCREEN_ESCAPE;
	while (getch() != ERR)
		;
	return SCREEN_OTHER;
}

int
screen_key(void)
{
	static const struct {
		int curses, key;
	} keys[] = {
	    {ERR, SCREEN_NONE},
	    {KEY_UP, SCREEN_UP},
	    {KEY_DOWN, SCREEN_DOWN},
	    {KEY_PPAGE, SCREEN_PAGE_UP},
	    {KEY_NPAGE, SCREEN_PAGE_DOWN},
	    {KEY_BACKSPACE, SCREEN_ERASE},
	    {BYTE_ERASE, SCREEN_ERASE},
	    {'\b', SCREEN_ERASE},
	    {KEY_ENTER, SCREEN_ENTER},
	    {'\r', SCREEN_ENTER},
	    {KEY_RESIZE, SCREEN_RESIZED},
	};
	int key = getch();

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	if (key == SCREEN_ESCAPE)
		return escape_key();
	return key > BYTE_ERASE ? SCREEN_OTHER : key;
}

/* ---- a list ----------------------------------------------------------------------- */

void
screen_list_put(struct screen_list *l, int top, int bottom, screen_row_fn *put, void *arg)
{
	size_t rows = bottom >= top ? (size_t)(bottom - top + 1) : 0;

	if (rows > 0 && l->selected >= l->first + rows)
		l->first = l->selected - rows + 1;
	if (l->selected < l->first)
		l->first = l->selected;
	for (size_t i = 0; i < rows && l->first + i < l->n; i++)
		put(arg, top + (int)i, l->first + i,
		    l->first + i == l->selected ? SCREEN_SELECTED : SCREEN_PLAIN);
}

bool
screen_list_key(struct screen_list *l, int key)
{
	size_t last = l->n == 0 ? 0 : l->n - 1;

	switch (key) {
	case SCREEN_UP:
		l->selected -= l->selected > 0;
		return true;
	case SCREEN_DOWN:
		l->selected += l->selected < last;
		return true;
	case SCREEN_PAGE_UP:
		l->selected -= l->selected < PAGE_ROWS ? l->selected : PAGE_ROWS;
		return true;
	case SCREEN_PAGE_DOWN:
		l->selected =
		    l->selected + PAGE_ROWS < last ? l->selected + PAGE_ROWS : last;
		return true;
	default:
		return false;
	}
}
