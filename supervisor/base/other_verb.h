/*
 * Runs another verb of kennel in a child: it prints, changes directories and confines
 * itself.
 */
#ifndef KENNEL_SUPERVISOR_BASE_OTHER_VERB_H
#define KENNEL_SUPERVISOR_BASE_OTHER_VERB_H

#include <stdbool.h>
#include <stddef.h>

typedef int verb_fn(int argc, char **argv);

struct other_verb {
	const char *dir; /* to work in, or NULL */
	/* give it no input; at its end print its errors, after its output if it failed */
	bool quiet;
	/* quiet: gets the last error, or ""; or NULL */
	char *why;
	size_t why_size;
};

/* Returns its exit status. */
int other_verb_run(const struct other_verb *how, verb_fn *fn, int argc, char **argv);
/*
 * The same with no input, and without ^C, which is for the verb alone. What it prints, on
 * standard error too, is returned: at most max bytes of its end, with a NUL; the caller
 * frees. NULL: none, or no memory.
 */
int other_verb_captured(
    verb_fn *fn, int argc, char **argv, size_t max, char **ret_output);
/* The same in a directory, or NULL, with both apart: what it printed, whole, at most max bytes, and the end of what
 * it wrote to standard error. The caller frees both. */
struct verb_output {
	char *text, *errors; /* each may be NULL; text: also if it is longer than max */
	size_t len;
};
int other_verb_split(const char *dir, verb_fn *fn, int argc, char **argv, size_t max,
    struct verb_output *ret);
/* Prints lines from outside on standard error, each after this text, printable. A line that
 * is repeated is printed once. */
void other_verb_show(const char *before, const char *output);

#endif
