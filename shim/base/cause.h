/*
 * Texts about failures: why an operation failed, how a process ended.
 */
#ifndef KENNEL_SHIM_BASE_CAUSE_H
#define KENNEL_SHIM_BASE_CAUSE_H

#include <stddef.h>

#define REASON_MAX 9216 /* bytes: two paths, and what is wrong with them */
#define CAUSE_MAX  160

/* Why an operation failed, for the user: one line, without secrets. */
struct reason {
	char text[REASON_MAX];
	int status; /* of a program that exited, or 0; reason_set leaves it */
};

/* Returns r, so that a failure is one statement; a longer text is cut. */
int reason_set(struct reason *, int r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "PROGRAM was killed by signal 31 (SIGSYS: ...)" or "PROGRAM exited with status 1",
 * from a wait status.  Returns out. */
const char *cause_text(char *out, size_t cap, const char *program, int status);

#endif
