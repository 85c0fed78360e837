/*
 * The end of a session: its record, and the wait until the last records are on disk.
 */
#include <poll.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/refused_start.h"
#include "supervisor/mcp/mcp.h"
#include "supervisor/mcp/rpc.h"
#include "supervisor/launch/leash_client.h"

#define LAST_RECORDS_MS 500
#define AGAIN_MS        10

void
opened_leash_gone(struct opened *o, struct opened_end *ret)
{
	child_lost(&o->child, ret->why, &ret->leash_status);
	ret->leash_lost = true;
}

void
opened_record_end(struct opened *o, const struct opened_end *end)
{
	static struct event e;

	event_begin(&e, EVENT_STOP);
	event_identity(
	    &e, policy_str(&o->found.policy, o->found.server->name), o->found.policy.id);
	event_sentence(&e, KEY_REASON, end->why);
	event_number(&e, KEY_STATUS, (uint64_t)end->status);
	if (end->crashed || end->late)
		event_text(&e, KEY_OUTCOME, end->late ? "late" : "crashed");
	if (end->leash_lost) {
		event_text(&e, KEY_PROGRAM, "kennel-leash");
		if (WIFSIGNALED(end->leash_status))
			event_number(
			    &e, KEY_SIGNAL, (uint64_t)WTERMSIG(end->leash_status));
	}
	if (report_send(o->report, &e, EVENT_GATE, NULL) < 0)
		log_warn("unable to record how the session ended");
}

void
opened_last_records(struct opened *o)
{
	uint64_t until = loop_now() + LAST_RECORDS_MS * LOOP_MS;

	while (report_pending(o->report) > 0 && loop_now() < until) {
		struct pollfd wait = {report_fd(o->report), POLLIN, 0};

		if (wait.fd < 0) {
			/* one that is exiting sends no WELCOME; the next one may */
			if (open_report(o) < 0)
				(void)poll(NULL, 0, AGAIN_MS);
			continue;
		}
		if (report_wants_write(o->report))
			wait.events |= POLLOUT;
		if (poll(&wait, 1, LAST_RECORDS_MS / 10) < 0)
			break;
		(void)report_ready(o->report); /* gone: seen at the top */
	}
	if (report_pending(o->report) > 0)
		log_warn(
		    "unable to record the last %zu events", report_pending(o->report));
}

void
opened_refused(const struct opened *o, const char *why, int wait_ms)
{
	const struct rpc_why said = refused_start_why(why, &o->refused);

	session_refuse(STDIN_FILENO, STDOUT_FILENO, &said, wait_ms);
}
