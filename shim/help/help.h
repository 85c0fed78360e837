/*
 * The help of a program: a table of its verbs, and all that is printed from it: the list,
 * the help of one verb, usage errors.  Completions read the same tables.
 *
 * For programs with a command line.  Nothing here allocates; what is printed comes from
 * the table, except words of the command line, which are quoted.
 */
#ifndef KENNEL_SHIM_HELP_HELP_H
#define KENNEL_SHIM_HELP_HELP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define HELP_EXIT_USAGE 64 /* sysexits(3) */

struct help_option {
	const char *name;  /* "--json" */
	const char *value; /* "FILE", or its values "csv|jsonl"; NULL: a flag */
	const char *what;
	const char *only; /* the one verb that this row is for; NULL: the others */
};

struct help_verb {
	const char *name;     /* "" for a program without verbs */
	const char *group;    /* heading in the list; the same one in adjacent rows */
	const char *takes;    /* the usage after the name; each line a form of it */
	const char *what;     /* one line */
	const char *options;  /* names, separated by blanks */
	const char *example;  /* a command that can be typed */
	const char *operands; /* of each argument: its kind or values, for completion:
	                       * "file", "server", "allow|deny", "-" for
	                       * any other; the last one with ... repeats */
	size_t plain;         /* no options follow that many arguments; 0: no limit */
	const char *more;     /* lines after "what"; NULL: none */
};

struct help_family {
	const char *program; /* "kennel policy" */
	const char *what;    /* of the list: one line */
	const char *page;    /* "kennel-policy(1)" */
	const struct help_verb *verb;
	size_t verb_n;
	const struct help_option *option;
	size_t option_n;
	const char *common; /* options of each verb whose own begin with "* " */
	bool quiet;         /* a word may be a misplaced secret: never print it */
};

const struct help_verb *help_find(const struct help_family *, const char *name);
/* The verb's option with this name, up to a '=' in it; NULL: it has none. */
const struct help_option *help_option_find(
    const struct help_family *, const struct help_verb *, const char *name);
/* The next name in a list of them that ends at a blank; false after the last. */
bool help_next(const char **list, char ret_name[32]);
/* True if the arguments after the verb, before "--", contain "-h" or "--help". */
bool help_asked(
    const struct help_family *, const struct help_verb *, int argc, char **argv);

/* ---- on standard output, or as part of an error ------------------------------------- */

/* All verbs, by group. */
void help_list(const struct help_family *, FILE *);
/* Usage, purpose, options, example and man page of one. */
void help_print(const struct help_family *, const struct help_verb *, FILE *);

/* ---- on standard error; each returns HELP_EXIT_USAGE ---------------------------------- */

/* why: what was expected; NULL: nothing but the usage. */
int help_usage(const struct help_family *, const char *verb, const char *why);
int help_unknown_verb(const struct help_family *, const char *word);
int help_unknown_option(const struct help_family *, const char *verb, const char *word);
/* The argument that the verb's parser did not accept: an unknown option, an option of its
 * own without its value, or one argument too many. */
int help_refuse(const struct help_family *, const char *verb, const char *word);

#endif
