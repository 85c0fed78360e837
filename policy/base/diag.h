/*
 * Error messages with a location and a caret.
 */
#ifndef KENNEL_POLICY_BASE_DIAG_H
#define KENNEL_POLICY_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/base/source.h"

struct at {
	uint32_t file; /* index into tree.source */
	uint32_t line; /* from 1 */
	uint32_t col;  /* from 1, in bytes */
};

#define DIAG_SHOWN_MAX 100 /* further ones are only counted */

struct diag {
	FILE *out;
	const struct policy_source *source;
	size_t source_n;
	size_t error_n;
	size_t warning_n;
	bool hide_line;     /* the current statement may hold a secret value */
	bool hide_all;      /* any line may hold one: a manifest */
	bool quiet;         /* only count warnings */
	bool sorted;        /* print the messages at diag_end, in source order */
	bool json;          /* print one JSON document at diag_end; needs sorted */
	bool elsewhere;     /* diag_host warns: the policy may be for another machine */
	size_t host_n;      /* of those */
	size_t unchecked_n; /* `expect` lines that were not run */
	bool unread;        /* errors ended the check: not every warning was looked for */
	struct held *held;
	size_t held_n;
};

/*
 * "file:line:col: error: ...", then the line and a caret under col.  Text from
 * the file is escaped and cut at 80 characters.  With hide_line, or on a secret
 * or env line, the line is not shown.
 */
void diag_error_in(const char *code, struct diag *, struct at, const char *, ...)
    __attribute__((format(printf, 4, 5)));
void diag_warning_in(const char *code, struct diag *, struct at, const char *, ...)
    __attribute__((format(printf, 4, 5)));
/* What this machine lacks: an error, or a warning with elsewhere. */
void diag_host_in(const char *code, struct diag *, struct at, const char *, ...)
    __attribute__((format(printf, 4, 5)));
/* Each file that reports defines DIAG_CODE, the code of its messages in
 * `policy check --json`.  kennel-policy(1) lists the codes; they are stable. */
#define diag_error(...)   diag_error_in(DIAG_CODE, __VA_ARGS__)
#define diag_warning(...) diag_warning_in(DIAG_CODE, __VA_ARGS__)
#define diag_host(...)    diag_host_in(DIAG_CODE, __VA_ARGS__)
/* The number of messages after which nothing can be compiled. */
static inline size_t
diag_failures(const struct diag *d)
{
	return d->error_n + d->host_n;
}
/*
 * Makes text from a file safe for a message: printable, cut at DIAG_TEXT_MAX
 * characters, NUL-terminated.  Returns out.
 */
#define DIAG_TEXT_MAX 80
#define DIAG_TEXT_CAP (DIAG_TEXT_MAX + 4)
char *diag_text(char out[DIAG_TEXT_CAP], const char *, size_t len);
/* The same, cut at max characters; out has four bytes more. */
char *diag_cut(char *out, size_t max, const char *, size_t len);
/* For a path that a person must find: a message has at most 8,192 bytes. */
#define DIAG_PATH_MAX 3000
#define DIAG_PATH_CAP (DIAG_PATH_MAX + 4)
/*
 * Prints the kept messages in source order, and one closing line if errors were
 * counted but not shown.
 */
void diag_end(struct diag *);

#endif
