/*
 * The toy MCP server: a server that does what the test says, good or bad.
 *
 *	toy.c	the loop: reads a line, answers it
 *	say.c	tools that say something: leaks, junk, progress, questions
 *	act.c	tools that do something: files, programs, signals, death
 *	json.c	a JSON reader of one page
 */
#ifndef KENNEL_TESTS_TOY_TOY_H
#define KENNEL_TESTS_TOY_TOY_H

#include "tests/toy/json.h"

#define TOY_LINE_MAX (24u << 20)
#define TOY_TEXT_MAX (1u << 20)

struct call {
	struct json line; /* the request as it came */
	struct json id;
	struct json args; /* params.arguments */
};

struct tool {
	const char *name;
	void (*act)(const struct call *);
	const char *about;
};
extern const struct tool say_tools[], act_tools[]; /* end with name NULL */

/* Next line from the client, without its newline; at NULL: end of file. */
struct json toy_read(void);
/* The initialize request; at NULL: there was none. */
struct json toy_first(void);
/* A tool result with one text content. */
void toy_result(const struct call *, const char *text, size_t len);
void toy_resultf(const struct call *, const char *, ...)
    __attribute__((format(printf, 2, 3)));
/* Argument `name` as text, or otherwise. Static memory, one per name. */
const char *toy_arg(const struct call *, const char *name, const char *otherwise);
/* Begin an answer: {"jsonrpc":"2.0","id":ID, */
void toy_head(const struct call *);

#endif
