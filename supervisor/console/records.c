/*
 * What the audit log gets of the page: a command of kennel writes each record, because
 * the process that reads HTTP is not linked with the log's writer. A record has no text
 * of a browser.
 */
#include <stdio.h>
#include <stdlib.h>

#include "supervisor/console/private.h"

#define REFUSED_NS (60 * NS_PER_S) /* between two records of refused requests */

static void on_minute(struct loop *, void *arg);

/* 0, and fn is called at its end; or -errno. */
static int
record(struct console *c, const char *event, unsigned int n, command_fn *fn, void *arg)
{
	char count[16];
	struct command_call call = {.command = COMMAND_RECORD,
	    .word = {event, count},
	    .word_n = 2,
	    .fn = fn,
	    .arg = arg};

	(void)snprintf(count, sizeof(count), "%u", n); /* fits */
	return command_run(&c->commands, &call);
}

int
record_login(struct console *c, command_fn *fn, void *arg)
{
	return record(c, "login", 1, fn, arg);
}

/* Callback of command_run. What was refused stays refused. */
static void
on_recorded(void *arg, int status, struct buf *output)
{
	struct console *c = arg;

	if (status != 0)
		command_report(&c->commands, REPORT_UNRECORDED, 0);
}

void
record_link_reused(struct console *c)
{
	if (record(c, "link-reused", 1, on_recorded, c) < 0)
		on_recorded(c, -1, NULL);
}

static void
send_refused(struct console *c)
{
	/* too many commands run: a minute later */
	if (record(c, "refused", c->refused, on_recorded, c) == 0)
		c->refused = 0;
	c->minute = loop_timer_at(&c->loop, loop_now() + REFUSED_NS, on_minute, c);
}

static void
on_minute(struct loop *loop, void *arg)
{
	struct console *c = arg;

	c->minute = -1;
	if (c->refused > 0)
		send_refused(c);
}

void
record_refused(struct console *c)
{
	if (c->refused < UINT32_MAX)
		c->refused++;
	if (c->minute < 0)
		send_refused(c);
}
