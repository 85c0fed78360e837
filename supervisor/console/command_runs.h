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

struct command_run {
	command_fn *fn; /* NULL: free */
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
/* Runs it, and calls fn once at its end. name: NULL: it has none. 0; -EINVAL: the name is
 * not that of an MCP server; -EBUSY: COMMANDS_MAX run; -errno. */
int command_run(
    struct command_runs *, enum command, const char *name, command_fn *fn, void *arg);

#endif
