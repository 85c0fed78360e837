/*
 * Starts the server of a session again after it has ended:
 *
 *	open ── need ──> starter ── channel ──> leash ── STARTED ──> done
 *	   <───────────────┴── refused, too late ──┴── backoff
 *
 * Process: kennel, confined: the starter builds the cell (starter.c), and this file
 * handles what its leash sends until the server runs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/launch/restart.h"
#include "supervisor/launch/starter.h"

#define START_MARGIN_MS 20000 /* secret helpers take up to ten seconds each */

static const char *
name_of(const struct restart *r)
{
	return policy_str(&r->o->found.policy, r->o->found.server->name);
}

bool
restart_possible(const struct opened *o)
{
	struct sealed_range rows = o->found.server->secrets;

	for (uint32_t i = rows.first; i < rows.first + rows.n; i++)
		if (o->found.policy.secret[i].source == SOURCE_ENV)
			return false;
	return true;
}

void
restart_stop(struct restart *r)
{
	loop_remove(r->loop, r->slot);
	loop_timer_stop(r->loop, r->timer);
	r->slot = r->timer = -1;
	r->under_way = false;
}

void
restart_ended(struct restart *r, const char *why)
{
	uint64_t now = loop_now();

	control_free(*r->control); /* withdraws what its programs wait for */
	*r->control = NULL;
	child_free(&r->o->child);
	(void)snprintf(
	    r->failed, sizeof(r->failed), "%.*s", (int)strcspn(why, "\n"), why);
	backoff_ended(&r->backoff, now, r->healthy_at != 0 ? now - r->healthy_at : 0);
	r->healthy_at = 0;
	r->open = true;
	log_warn("%s: %s; the next request starts it again%s", name_of(r), r->failed,
	    r->backoff.crash_loop ? ", after five minutes, because it has ended five "
				    "times in five minutes"
				  : "");
}

static void
failed(struct restart *r, const char *why)
{
	restart_stop(r);
	restart_ended(r, why);
	r->done(r->arg, false);
}

static void
on_late(struct loop *loop, void *arg)
{
	struct restart *r = arg;

	r->timer = -1;
	failed(r, "it did not start in time");
}

/* What the leash sends before its server runs. */
static void
on_leash(struct loop *loop, int fd, short revents, void *arg)
{
	static const struct child_order order = {.mode = LEASH_RUN};
	static struct child_news news; /* large */
	struct restart *r = arg;
	char why[LEASH_TEXT_MAX] = "kennel-leash ended";
	int status, got = child_first(&order, &r->o->child, &news, &status, why);

	if (got == -EAGAIN)
		return;
	if (got == 1) {
		control_news(*r->control, &news);
		return;
	}
	if (got < 0) {
		failed(r, why);
		return;
	}
	restart_stop(r);
	r->open = false;
	r->healthy_at = loop_now();
	if (r->o->child.lacks[0] != '\0')
		log_info("%s runs without: %s", name_of(r), r->o->child.lacks);
	r->done(r->arg, true);
}

static int
watch_leash(struct restart *r, int channel)
{
	struct control_order order = {.policy = &r->o->found.policy,
	    .server = r->o->found.server,
	    .report = r->o->report,
	    .questions = r->o->questions,
	    .child = &r->o->child,
	    .session = r->session};

	r->o->child.channel = channel;
	loop_remove(r->loop, r->slot);
	r->slot = loop_add(r->loop, channel, POLLIN, on_leash, r);
	return r->slot < 0 ? r->slot : control_new(&order, r->control);
}

static void
set_timer(struct restart *r, bool asks)
{
	const struct policy *p = &r->o->found.policy;
	const struct sealed_server *s = r->o->found.server;
	uint64_t ms = policy_limit(p, s, TIMEOUT_START) + START_MARGIN_MS;

	if (asks)
		ms += policy_limit(p, s, TIMEOUT_ASK);
	loop_timer_stop(r->loop, r->timer);
	r->timer = loop_timer_at(r->loop, loop_now() + ms * LOOP_MS, on_late, r);
}

static void
on_starter(struct loop *loop, int fd, short revents, void *arg)
{
	struct restart *r = arg;
	char why[LEASH_TEXT_MAX];
	bool asks = false;
	int channel = starter_take(fd, r->asked, &asks, why);

	if (channel == -EAGAIN)
		return;
	if (channel < 0)
		failed(r, why);
	else if (watch_leash(r, channel) < 0)
		failed(r, "no slot in the loop, or out of memory");
	else
		set_timer(r, asks);
}

bool
restart_need(struct restart *r, char *text, size_t cap)
{
	uint64_t left = backoff_left_s(&r->backoff, loop_now());

	if (r->under_way)
		return true;
	if (!r->open || left > 0) {
		(void)snprintf(text, cap,
		    "kennel: %s is restarting: try again in %llu s%s%s%s", name_of(r),
		    (unsigned long long)(left > 0 ? left : 1), r->open ? " (" : "",
		    r->open ? r->failed : "", r->open ? ")" : "");
		return false;
	}
	r->slot = loop_add(r->loop, r->o->starter, POLLIN, on_starter, r);
	if (r->slot < 0 || starter_ask(r->o->starter, ++r->asked) < 0) {
		loop_remove(r->loop, r->slot);
		r->slot = -1;
		(void)snprintf(text, cap,
		    "kennel: %s has ended and cannot be started again in this session",
		    name_of(r));
		return false;
	}
	set_timer(r, false);
	r->under_way = true;
	return true;
}
