/*
 * The end of a server: the shim's last report, the last output, the last record.
 *
 * Process: the leash.  Must never: lose the record of an act that was allowed.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "leash/private.h"
#include "shim/base/log.h"

#define LAST_RECORD_MS 1000
/* After the cell is gone, for the readers of its last output: restarts while they
 * read, or the total if the end was requested. */
#define DRAIN_MS        700
#define DRAIN_ENDING_MS 250

void
leash_on_shim(struct loop *loop, int sock, short revents, void *arg)
{
	struct leash *l = arg;
	uint8_t memory[1024];
	struct wire_in in;
	uint32_t type, a, b;
	size_t len = 0;
	int r;

	r = wire_recv(sock, memory, sizeof(memory), &len, NULL, 0, NULL);
	if (r == -EAGAIN)
		return;
	if (r < 0) {
		/* PID 1 is exiting, or is compromised */
		loop_remove(loop, l->shim_slot);
		l->shim_slot = -1;
		leash_end(l, SHIM_CLOSED);
		return;
	}
	wire_in_init(&in, memory, len);
	type = wire_get_u32(&in);
	a = wire_get_u32(&in);
	if (type == SHIM_EXITED && wire_end(&in) == 0) {
		l->status = (int)a;
		l->shim_reported = true;
		return;
	}
	b = wire_get_u32(&in);
	if (type == SHIM_FAILED && in.error == 0) {
		l->exec_failed = a == SHIM_STEP_EXEC;
		l->exec_errno = (int)b;
		log_error("unable to %s: %s", shim_step_name(a), strerror((int)b));
		return;
	}
	leash_end(l, "protocol error from the shim");
}

/* PID 1 reports how the server ended right before it exits: its report may still be in
 * the channel when the kernel's notification arrives. */
static void
last_words(struct leash *l)
{
	struct pollfd said = {l->cell.channel, POLLIN, 0};

	while (l->shim_slot >= 0 && poll(&said, 1, 0) > 0)
		leash_on_shim(&l->loop, l->cell.channel, said.revents, l);
}

static void
on_drain_over(struct loop *loop, void *arg)
{
	struct leash *l = arg;
	uint64_t written = l->out.written + l->err.written;

	if (l->ordered || written == l->drained ||
	    loop_timer_at(loop, loop_now() + DRAIN_MS * LOOP_MS, on_drain_over, l) < 0)
		loop_stop(loop);
	l->drained = written;
}

void
leash_drain(struct leash *l)
{
	uint64_t drain_ms;

	last_words(l);
	drain_ms = l->ordered ? DRAIN_ENDING_MS : DRAIN_MS;
	l->drained = l->out.written + l->err.written;
	l->phase = PHASE_GONE;
	if (loop_timer_at(&l->loop, loop_now() + drain_ms * LOOP_MS, on_drain_over, l) >=
	    0)
		while (!l->loop.stopping && l->channel >= 0 &&
		       !(pump_done(&l->out) && pump_done(&l->err)))
			if (loop_once(&l->loop, -1) < 0)
				break;
}

/*
 * Gets the last events to disk, through another recorder if this one is gone: the
 * supervisor still listens, and the events include the last allowed acts.
 */
static int
last_records(struct leash *l, uint64_t number)
{
	uint64_t until = loop_now() + LAST_RECORD_MS * LOOP_MS, now;

	if (report_wait(l->report, number, LAST_RECORD_MS) != -EPIPE)
		return report_durable(l->report, number) ? 0 : -ETIMEDOUT;
	l->loop.stopping = false; /* the output is finished; this is not */
	leash_recorder_gone(l);
	while (!report_durable(l->report, number) && l->channel >= 0 &&
	       (now = loop_now()) < until) {
		leash_poll_report(l);
		if (loop_once(&l->loop, (int)((until - now) / LOOP_MS) + 1) < 0)
			break;
	}
	return report_durable(l->report, number) ? 0 : -ETIMEDOUT;
}

void
leash_record_stop(struct leash *l)
{
	static struct event e;
	struct gate_counts c = gate_counts(l->gate);
	char why[CAUSE_MAX] = "";
	uint64_t number = 0;
	int code = l->status < 0 ? 0 : l->status;

	leash_record_scrubs(l);
	event_begin(&e, EVENT_STOP);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): launch() found it */
	event_identity(&e, policy_str(&l->policy, l->server->name), l->policy.id);
	if (WIFSIGNALED(code))
		event_number(&e, KEY_SIGNAL, (uint64_t)WTERMSIG(code));
	else
		event_number(&e, KEY_STATUS, (uint64_t)WEXITSTATUS(code));
	if (l->exec_failed)
		event_text(&e, KEY_REASON, strerror(l->exec_errno));
	else if (dispatch_lost_shim(l, why))
		event_text(&e, KEY_PROGRAM, "kennel-shim");
	if (l->lost != NULL)
		cover_record(l, &e);
	else if (why[0] != '\0')
		event_sentence(&e, KEY_REASON, why);
	event_number(&e, KEY_COUNT, c.allowed);
	if (report_send(l->report, &e, EVENT_GATE, &number) < 0 ||
	    last_records(l, number) < 0)
		log_warn("unable to record how the server ended");
}
