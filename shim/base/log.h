/*
 * Kennel's log for its operator, on standard error: one printable line per
 * message.  The audit log is for the user and is separate; the two share no
 * function.
 */
#ifndef KENNEL_SHIM_BASE_LOG_H
#define KENNEL_SHIM_BASE_LOG_H

#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Exit status of a program that failed in its own work (kennel(1)). */
#define LOG_EXIT_FAILED 125

/*
 * Sets the name at the start of each line, and the least important level shown.
 */
void log_open(const char *program, enum log_level most);

/* "unable to VERB OBJECT: reason"; control bytes are shown as \xNN. */
void log_at(enum log_level, const char *, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

/* For failures of the environment: logs one line, then exits with status 125. */
void die(const char *, ...) __attribute__((format(printf, 1, 2), noreturn));
/* For cases that cannot happen: logs one line with the place, then aborts. */
void bug_at(const char *file, int line, const char *what) __attribute__((noreturn));
#define bug(what) bug_at(__FILE__, __LINE__, (what))

/*
 * Makes foreign bytes safe for a log line: control bytes, DEL, and bytes that
 * are not ASCII become \xNN; cut at out_cap.  Returns out, always terminated.
 */
char *log_quote(char *out, size_t out_cap, const void *bytes, size_t len);

#endif
