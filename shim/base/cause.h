/*
 * Describes how a process ended.
 */
#ifndef KENNEL_SHIM_BASE_CAUSE_H
#define KENNEL_SHIM_BASE_CAUSE_H

#include <stddef.h>

#define CAUSE_MAX 160

/* "PROGRAM was killed by signal 31 (SIGSYS: ...)" or "PROGRAM exited with status 1",
 * from a wait status.  Returns out. */
const char *cause_text(char *out, size_t cap, const char *program, int status);

#endif
