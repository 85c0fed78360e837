/*
 * The server's side of the commands that its launcher runs.
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_COMMAND_RUNS_H
#define KENNEL_SUPERVISOR_CONSOLE_COMMAND_RUNS_H

#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/console/commands.h"

#define COMMAND_OUTPUT_MAX (7u << 20)

/* Its exit status, and what it printed, which the caller may change. */
typedef void command_fn(void *arg, int status, struct buf *output);
/* What it has printed until now, while it runs. */
typedef void command_more_fn(void *arg, const struct buf *output);

/* All of it is borrowed while command_run runs. */
struct command_call {
	enum command command;
	const char *word[COMMAND_WORDS_MAX];
	size_t word_n;
	const void *input; /* what it reads; NULL: nothing */
	size_t input_len;
	command_fn *fn;        /* called once, at its end */
	command_more_fn *more; /* NULL: not called */
	void *arg;
};

struct command_run {
	command_fn *fn; /* NULL: free */
	command_more_fn *more;
	void *arg;
	uint32_t id;
	int fd, slot; /* what it prints; -1: not started, or read to its end */
	bool ended;
	int status;
	struct buf output;
	struct command_runs *runs;
};

struct command_runs {
	struct loop *loop;
	int launcher; /* the socket; its end stops the loop */
	uint32_t last_id;
	struct command_run run[COMMANDS_MAX];
};

/* 0 or -errno. */
int command_runs_open(struct command_runs *, struct loop *, int launcher);
/* Reports that the server listens. 0 or -errno. */
int command_runs_ready(struct command_runs *);
/* The launcher prints it, each at most once a second. */
void command_report(struct command_runs *, enum command_report, uint32_t number);
/* Runs it. 0; -EINVAL: a word does not fit, or the input is larger than COMMAND_INPUT_MAX;
 * -EBUSY: COMMANDS_MAX run; -errno. */
int command_run(struct command_runs *, const struct command_call *);

#endif
