/*
 * What a descriptor's terminal can show, and the time as its user reads it.
 */
#ifndef KENNEL_SUPERVISOR_BASE_TERMINAL_H
#define KENNEL_SUPERVISOR_BASE_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

struct terminal {
	bool is;     /* false: a file, a pipe; the rest is 0 then */
	bool colour; /* neither NO_COLOR nor TERM=dumb */
	int columns; /* at least TERMINAL_COLUMNS_MIN */
};
#define TERMINAL_COLUMNS_MIN 40

struct terminal terminal_of(int fd);
/* From now on terminal_of(fd) is this: the descriptor leads to a pager. */
void terminal_keep(int fd, struct terminal);
/* 2026-11-22 18:58:11 in the user's time zone. */
#define TERMINAL_TIME_LEN 19
#define TERMINAL_TIME_MAX 40
const char *terminal_time(uint64_t ns, char out[TERMINAL_TIME_MAX]);

#endif
