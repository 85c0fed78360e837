/*
 * A full-screen view on the user's terminal: lines, a list with a selected row, keys.
 *
 * Texts must be printable ASCII: texts from outside are escaped before.
 */
#ifndef KENNEL_SUPERVISOR_SCREEN_SCREEN_H
#define KENNEL_SUPERVISOR_SCREEN_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Takes the terminal of standard input and output. False: they are no terminal, or one
 * that cannot show it, and then the user is informed. */
bool screen_open(void);
/* The terminal is as before. */
void screen_close(void);
/* Gives the terminal to another program, and takes it back. */
void screen_suspend(void);
void screen_resume(void);

int screen_height(void);
int screen_width(void);

enum screen_style {
	SCREEN_PLAIN = 0,
	SCREEN_BOLD = 1,
	SCREEN_SELECTED = 2,
	SCREEN_WRONG = 4, /* red, or bold without colours */
	SCREEN_GOOD = 8,  /* green, or plain */
};

/* Begins an empty screen; shows what was put. */
void screen_begin(void);
void screen_end(void);
/* Puts a line, cut at the width; style: of enum screen_style. */
void screen_line(int y, const char *text, unsigned int style);
/* Puts the cursor there for typing; it is invisible without. */
void screen_cursor(int y, int x);

/* A key, or one of these; SCREEN_NONE: none was typed. Does not wait. */
enum screen_key {
	SCREEN_NONE = -1,
	SCREEN_ENTER = '\n',
	SCREEN_ESCAPE = 27,
	SCREEN_UP = 0x10000,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_ERASE,
	SCREEN_RESIZED,
	SCREEN_OTHER
};
int screen_key(void);

/* ---- a list ------------------------------------------------------------------- */

struct screen_list {
	size_t n;        /* rows */
	size_t selected; /* less than n, if n > 0 */
	size_t first;    /* the first row that is shown */
};
/* Puts row `at` on line y; style: SCREEN_SELECTED, or 0. */
typedef void screen_row_fn(void *arg, int y, size_t at, unsigned int style);

/* Puts as many rows as lines top .. bottom hold, with the selected one among them. */
void screen_list_put(
    struct screen_list *, int top, int bottom, screen_row_fn *, void *arg);
/* Moves the selection; false: the key does not move it. */
bool screen_list_key(struct screen_list *, int key);

#endif
