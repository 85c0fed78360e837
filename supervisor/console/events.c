/*
 * The stream of events of the page (server-sent events): what has changed, and no content.
 * The page then asks for the content.
 */
#include <string.h>

#include "supervisor/console/approvals.h"
#include "supervisor/console/private.h"

#define TICK_NS   (NS_PER_S / 2)
#define HEARTBEAT 4 /* ticks: a reader that is gone is found by a failed write */
#define QUIET     ":\n\n"

static void on_tick(struct loop *, void *arg);

static void
start_clock(struct console *c)
{
	if (c->tick < 0)
		c->tick = loop_timer_at(&c->loop, loop_now() + TICK_NS, on_tick, c);
}

static bool
is_open(const struct http_owner *o)
{
	const struct login *login = o->who;

	/* another login in its place began at another time */
	return login->used != 0 && login->began == o->mark &&
	       login_left(login, loop_now()) > 0;
}

static void
on_tick(struct loop *loop, void *arg)
{
	struct console *c = arg;

	c->tick = -1;
	if (http_streams(c->http, is_open) == 0)
		return; /* the next stream starts the clock */
	if (approvals_changed())
		http_event(c->http, "event: approvals\ndata: {}\n\n");
	else if (++c->quiet % HEARTBEAT == 0)
		http_event(c->http, QUIET);
	start_clock(c);
}

void
events_open(struct console *c, const struct login *login, struct http_reply *reply)
{
	if (buf_puts(&reply->body, QUIET) < 0)
		return;
	reply->status = HTTP_OK;
	reply->type = "text/event-stream";
	reply->stream = true;
	reply->owner = (struct http_owner){login, login->began};
	start_clock(c);
}
