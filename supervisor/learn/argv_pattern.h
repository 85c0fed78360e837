/*
 * The arguments of exec lines, from the argument lists with which a program was started.
 * Pure.
 *
 *	git log -3 a.txt			log -3 a.txt
 *	git show 1234abc, git show 99ff001	show *
 *	head -n 5 /w/a, head -n 20 /w/b		-n <number> <path:/w>
 *
 * Two lists become one pattern only if they are equally long and begin alike, and an
 * argument becomes one only if it differs.  Options never do, nor what follows one that may
 * take code (-c, -pe, -m, --require), to the end of the list; the word after any option
 * becomes a number or nothing.  The lists then get a line each.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_ARGV_PATTERN_H
#define KENNEL_SUPERVISOR_LEARN_ARGV_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define ARGV_WORDS_MAX 64 /* of a list; longer ones are not proposed */
#define ARGV_LINES_MAX 12 /* of one program; more are left out, and counted */

enum argv_word_kind {
	WORD_LITERAL, /* text */
	WORD_ANY,     /* "*": one argument, whatever it is; see below */
	WORD_NUMBER,  /* "<number>" */
	WORD_PATH,    /* "<path:ROOT>"; text is the root */
};

struct argv_line {
	struct {
		enum argv_word_kind kind;
		const char *text;
	} word[ARGV_WORDS_MAX];
	size_t n;
	size_t examples; /* lists that it comes from */
};

struct argv_lines {
	struct argv_line line[ARGV_LINES_MAX];
	size_t n, left_out;
};

/* Adds a list, without argv[0], whose text must outlive the lines.  root: paths below it
 * become a slot; "": none. */
void argv_add(
    struct argv_lines *, size_t argc, const char *const *argv, const char *root);
/* Would this word also match an option, which no example had?  Then the line needs an
 * exception for the lists that have one there. */
bool argv_may_be_option(const struct argv_line *, size_t i);

#endif
