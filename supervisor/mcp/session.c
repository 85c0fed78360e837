/*
 * One session: the two byte streams between the agent and the server.
 *
 * Process: kennel, between the agent and one leash. Holds the agent's stdio and the
 * server's scrubbed stdout, no secret. Trusts neither end. Must never: forward a
 * request that is not recorded, block, or buffer more than a bounded number of bytes
 * for a peer that does not read.
 *
 *	agent_in  -> from_agent -> from_agent.c  -> to_server   -> server_in
 *	agent_out <- to_agent   <- from_server.c <- from_server <- server_out
 *
 * Each round has one read and one write; events of answers are written after the
 * answers. A stream is read only while its receiver has room.
 */
#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/frame.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/hub/hub.h"

#define TEXT_MAX   (64u << 10) /* one message from kennel */
#define INSERT_MAX (1u << 20)  /* insertions in one line of the server */

static void arm(struct session *);
static void agent_ready(struct loop *, int, short, void *);
static void server_ready(struct loop *, int, short, void *);
static void out_ready(struct loop *, int, short, void *);

/* ---- begin and end ------------------------------------------------------ */

static int
watch(struct session *s)
{
	struct loop *l = s->o.loop;

	s->slot_agent_in = loop_add(l, s->o.agent_in, POLLIN, agent_ready, s);
	s->slot_agent_out = loop_add(l, s->o.agent_out, 0, out_ready, s);
	s->slot_server_in = loop_add(l, s->o.server_in, 0, out_ready, s);
	s->slot_server_out = loop_add(l, s->o.server_out, POLLIN, server_ready, s);
	if (s->slot_agent_in < 0 || s->slot_agent_out < 0 || s->slot_server_in < 0 ||
	    s->slot_server_out < 0)
		return -ENOSPC;
	return 0;
}

static int
prepare(struct session *s)
{
	const struct session_order *o = &s->o;
	uint64_t in = policy_limit(o->policy, o->server, LIMIT_INPUT);
	uint64_t out = policy_limit(o->policy, o->server, LIMIT_OUTPUT);
	int r;

	s->call_ns = policy_limit(o->policy, o->server, TIMEOUT_CALL) * LOOP_MS;
	s->most_ns = policy_limit(o->policy, o->server, TIMEOUT_MOST) * LOOP_MS;
	if (s->most_ns < s->call_ns)
		s->most_ns = s->call_ns;
	s->start_ns = policy_limit(o->policy, o->server, TIMEOUT_START) * LOOP_MS;
	s->ask_ns = s->budget_ns =
	    policy_limit(o->policy, o->server, TIMEOUT_ASK) * LOOP_MS;
	s->idle_ns = policy_limit(o->policy, o->server, TIMEOUT_IDLE) * LOOP_MS;
	held_times(s);
	s->active_at = s->health.at = loop_now();
	for (uint32_t i = 0; i < o->server->execs.n; i++)
		if (o->policy->exec[o->server->execs.first + i].verdict == VERDICT_ASK)
			s->asks_programs = true;
	for (uint32_t i = 0; i < o->server->gates.n; i++)
		if (o->policy->gate[o->server->gates.first + i].kind == GATE_METHOD)
			s->judges_methods = true;
	buf_init(&s->insert, INSERT_MAX);
	buf_init(&s->text, TEXT_MAX);
	batch_init(&s->batch);
	replay_init(&s->replay);
	frame_out_init(&s->to_agent, o->agent_out);
	frame_out_init(&s->to_server, o->server_in);
	if ((r = frame_in_init(&s->from_agent, o->agent_in,
		 in < MCP_MESSAGE_MAX ? in : MCP_MESSAGE_MAX)) < 0 ||
	    (r = frame_in_init(&s->from_server, o->server_out,
		 out < MCP_MESSAGE_MAX ? out : MCP_MESSAGE_MAX)) < 0 ||
	    (r = calls_init(&s->asked)) < 0 || (r = calls_init(&s->asking)) < 0 ||
	    (r = pins_new(o->policy, o->server, &s->pins)) < 0 ||
	    (r = call_limits_new(o->policy, o->server, &s->limits)) < 0)
		return r;
	/* syscalls: fcntl */
	s->agent_flags = fcntl(o->agent_out, F_GETFL);
	if (s->agent_flags < 0)
		return -errno;
	if ((r = fd_nonblock(o->agent_out, true)) < 0)
		return r;
	return fd_nonblock(o->server_in, true);
}

int
session_new(const struct session_order *order, struct session **ret)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (s == NULL)
		return -ENOMEM;
	s->o = *order;
	s->timer = s->agent_flags = s->held_timer = s->wait_timer = -1;
	s->slot_agent_in = s->slot_agent_out = -1;
	s->slot_server_in = s->slot_server_out = -1;
	r = prepare(s);
	if (r == 0)
		r = watch(s);
	if (r < 0) {
		s->o.server_in = s->o.server_out = -1; /* the caller's again */
		session_free(s);
		return r;
	}
	arm(s);
	*ret = s;
	return 0;
}

void
session_free(struct session *s)
{
	if (s == NULL)
		return;
	held_drop_all(s);
	pings_end(s);
	record_drops(s);
	loop_remove(s->o.loop, s->slot_agent_in);
	loop_remove(s->o.loop, s->slot_agent_out);
	loop_remove(s->o.loop, s->slot_server_in);
	loop_remove(s->o.loop, s->slot_server_out);
	if (s->timer >= 0)
		loop_timer_stop(s->o.loop, s->timer);
	if (s->agent_flags >= 0)
		/* syscalls: fcntl */
		(void)fcntl(s->o.agent_out, F_SETFL, s->agent_flags); /* best effort */
	fd_close(&s->o.server_in);
	fd_close(&s->o.server_out);
	frame_in_free(&s->from_agent);
	frame_in_free(&s->from_server);
	frame_out_free(&s->to_agent);
	frame_out_free(&s->to_server);
	calls_free(&s->asked);
	calls_free(&s->asking);
	pins_free(s->pins);
	call_limits_free(s->limits);
	free(s->cuts.cut);
	buf_free(&s->text);
	buf_free(&s->insert);
	batch_free(&s->batch);
	replay_free(&s->replay);
	free(s);
}

void
session_stop(struct session *s, const char *why)
{
	if (s->ended)
		return;
	s->ended = true;
	s->o.end(s->o.end_arg, why);
}

size_t
session_left(const struct session *s)
{
	return s->to_agent.closed ? 0 : frame_queued(&s->to_agent);
}

bool
session_server_ended(const struct session *s)
{
	return s->server_eof;
}

bool
session_server_hung(const struct session *s)
{
	return s->hung;
}

void
session_count(const struct session *s, struct session_counts *ret)
{
	ret->answered = s->replay.phase == SERVER_RUNS && s->started && s->start_at == 0;
	ret->open = s->asked.open;
	ret->made = s->made;
	ret->refused = s->refused;
}

bool
session_drained(const struct session *s)
{
	return session_left(s) == 0;
}

struct gate_ask
session_ask(const struct session *s, enum sealed_gate_kind kind)
{
	return (struct gate_ask){.policy = s->o.policy,
	    .server = s->o.server,
	    .pins = s->pins,
	    .kind = kind,
	    .name = s->name};
}

/* ---- the streams -------------------------------------------------------- */

/* Stores the method as text in s->method; returns its row. */
const struct method *
session_method(struct session *s, const struct json_message *m)
{
	size_t len;

	if (json_text(m->top[TOP_METHOD], s->method, sizeof(s->method), &len) < 0)
		bug("a method that rpc_kind passed");
	return method_find(s->method, len);
}

/* Writes what may pass, then records the answers. */
static void
flush(struct session *s)
{
	size_t queued = frame_queued(&s->to_server);
	int to_agent = frame_flush(&s->to_agent), to_server = frame_flush(&s->to_server);
	size_t left = frame_queued(&s->to_server);

	if (left < FRAME_SOON)
		s->unread_since = 0;
	else if (left < queued || s->unread_since == 0)
		s->unread_since = session_clock(s);

	for (int i = 0; i < s->done_n; i++) {
		struct done *d = &s->done[i];

		record_answer(s, d->call, d->calls == &s->asked ? "agent" : "server",
		    d->at, d->len, d->outcome);
		calls_remove(d->calls, d->call);
	}
	s->done_n = 0;
	if (to_agent == -ENOMEM || to_server == -ENOMEM)
		s->error = -ENOMEM;
}

void
session_done(struct session *s, struct calls *calls, struct call *call, struct json body,
    const char *outcome)
{
	bool was_open = call->state == CALL_OPEN;

	if (s->done_n == SESSION_DONE)
		flush(s);
	calls_state(calls, call, CALL_DONE);
	if (!was_open) { /* cancelled: already recorded */
		calls_remove(calls, call);
		return;
	}
	s->done[s->done_n++] = (struct done){calls, call, body.at, body.len, outcome};
}

/* An agent that is faster than the disk waits; otherwise a full queue would refuse its
 * calls. If the recorder writes nothing at all, they are read, and refused. */
bool
session_log_behind(const struct session *s)
{
	return s->o.report != NULL &&
	       report_pending(s->o.report) > REPORT_QUEUE_MAX / 2 &&
	       !report_late(s->o.report);
}

static bool
room_for_agent(const struct session *s)
{
	return s->replay.phase <= SERVER_DOWN &&
	       frame_queued(&s->to_server) < FRAME_SOON &&
	       frame_queued(&s->to_agent) < FRAME_SOON && !session_log_behind(s);
}

static bool
room_for_server(const struct session *s)
{
	return frame_queued(&s->to_agent) < FRAME_SOON;
}

/* At the end, keeps the server's last output for an agent that reads slowly. */
static bool
room_for_last(const struct session *s)
{
	return frame_queued(&s->to_agent) < FRAME_MAX - (size_t)2 * MCP_MESSAGE_MAX;
}

struct stream {
	bool (*room)(const struct session *);
	void (*line)(struct session *, const uint8_t *, size_t);
	void (*oversize)(struct session *, uint64_t);
};
static const struct stream agent_stream = {room_for_agent, agent_line, agent_oversize};
static const struct stream server_stream = {
    room_for_server, server_line, server_oversize};
static const struct stream last_stream = {room_for_last, server_line, server_oversize};

/* Passes on what was read, as long as there is room. */
static void
pump(struct session *s, struct frame_in *in, const struct stream *stream)
{
	const uint8_t *line;
	enum frame_what what;
	uint64_t len;
	bool some;

	do {
		some = false;
		while (s->error == 0 && stream->room(s) &&
		       (what = frame_next(in, &line, &len)) != FRAME_NONE) {
			some = true;
			if (what == FRAME_LINE)
				stream->line(s, line, (size_t)len);
			else
				stream->oversize(s, len);
		}
		flush(s);
	} while (some && s->error == 0 && stream->room(s));
}

/* A server that was greeted again gets what the agent has sent meanwhile, and one that is
 * lost refuses it; not before the server's line has been handled: its cuts are open. */
static void
pump_server(struct session *s, const struct stream *stream)
{
	s->replay.in_line = true;
	pump(s, &s->from_server, stream);
	s->replay.in_line = false;
	if (!s->replay.resume)
		return;
	s->replay.resume = false;
	session_resume(s);
}

void
session_server_eof(struct session *s, const char *why)
{
	char text[TEXT_MAX / 8], missed[MISSED_TEXT_MAX];

	if (s->server_eof)
		return;
	programs_hear(s); /* the leash reports a cause before it kills */
	if (s->cause == NULL && s->start_at != 0 && s->o.failed_start != NULL &&
	    s->replay.phase == SERVER_RUNS)
		s->o.failed_start(s->o.hear_arg);
	if (s->cause != NULL)
		why = s->cause;
	if (frame_rest(&s->from_server) > 0)
		record_dropped(
		    s, "server", frame_rest(&s->from_server), "an unterminated line");
	s->server_eof = true;
	(void)snprintf(text, sizeof(text), "kennel: the server is gone: %s%s", why,
	    s->start_at != 0 ? missed_text(s, NULL, missed) : "");
	session_answer_all(s, RPC_SERVER_GONE, "gone", text);
	flush(s);
	if (replay_may(s))
		replay_lost(s, why);
	else
		session_stop(s, why);
	if (s->replay.waiting.len > 0) /* it made the server start, and is refused now */
		session_resume(s);
}

void
session_hung(struct session *s, const char *why)
{
	s->hung = true;
	session_server_eof(s, why);
}

void
session_detach(struct session *s)
{
	loop_remove(s->o.loop, s->slot_server_in);
	loop_remove(s->o.loop, s->slot_server_out);
	s->slot_server_in = s->slot_server_out = -1;
	fd_close(&s->o.server_in);
	fd_close(&s->o.server_out);
	frame_in_again(&s->from_server, -1);
	frame_out_free(&s->to_server);
	frame_out_init(&s->to_server, -1);
	s->to_server.closed = true;
	s->unread_since = 0;
}

int
session_attach(struct session *s, int in, int out)
{
	struct loop *l = s->o.loop;
	int r = fd_nonblock(in, true);

	if (r < 0)
		return r;
	s->slot_server_in = loop_add(l, in, 0, out_ready, s);
	s->slot_server_out = loop_add(l, out, POLLIN, server_ready, s);
	if (s->slot_server_in < 0 || s->slot_server_out < 0) {
		loop_remove(l, s->slot_server_in);
		loop_remove(l, s->slot_server_out);
		s->slot_server_in = s->slot_server_out = -1;
		return -ENOSPC;
	}
	s->o.server_in = in;
	s->o.server_out = out;
	frame_in_again(&s->from_server, out);
	frame_out_init(&s->to_server, in);
	s->server_eof = s->hung = false;
	s->active_at = loop_now();
	health_traffic(s, true);
	return 0;
}

void
session_resume(struct session *s)
{
	struct buf line = s->replay.waiting;

	if (s->replay.in_line) {
		s->replay.resume = true; /* pump_server does */
		return;
	}
	buf_init(&s->replay.waiting, MCP_MESSAGE_MAX + 1);
	if (line.len > 0)
		agent_line(s, line.data, line.len - 1);
	flush(s); /* it borrows the line */
	buf_free(&line);
	pump(s, &s->from_agent, &agent_stream);
	arm(s);
}

static void
agent_gone(struct session *s)
{
	s->agent_eof = true;
	last_begin(s);
}

/* Closes what is done, and waits for what can be done next. */
static void
arm(struct session *s)
{
	struct loop *l = s->o.loop;
	bool read_agent = !s->agent_eof && room_for_agent(s);
	bool read_server = !s->server_eof && room_for_server(s);
	short wanted = 0;

	if (s->error != 0)
		session_stop(s, "out of memory");
	if (s->to_agent.closed && (!s->agent_eof || s->after.until != 0)) {
		s->after.until = 0;
		agent_gone(s);
	}
	if (s->after.until != 0 && last_done(s, room_for_agent(s)))
		session_stop(s, "agent closed its end");
	if (s->o.server_in >= 0 &&
	    (s->to_server.closed ||
		(s->agent_eof && s->ended && frame_queued(&s->to_server) == 0))) {
		loop_remove(l, s->slot_server_in);
		s->slot_server_in = -1;
		s->to_server.closed = true;
		fd_close(&s->o.server_in);
	}
	/* not read, but watched for its end */
	if (!s->agent_eof && !s->leaving)
		wanted = POLLRDHUP;
	if (read_agent && s->error == 0)
		wanted = POLLIN;
	loop_events(l, s->slot_agent_in, wanted);
	loop_events(l, s->slot_server_out, read_server && s->error == 0 ? POLLIN : 0);
	/* after the end of the input, watched for that of its reader: POLLERR, POLLHUP */
	wanted = 0;
	if (!s->to_agent.closed && frame_queued(&s->to_agent) > 0)
		wanted = POLLOUT;
	else if (!s->to_agent.closed && s->after.until != 0 && !s->ended)
		wanted = POLLPRI;
	loop_events(l, s->slot_agent_out, wanted);
	if (s->slot_server_in >= 0)
		loop_events(
		    l, s->slot_server_in, frame_queued(&s->to_server) > 0 ? POLLOUT : 0);
	session_set_timer(s);
}

void
session_arm(struct session *s)
{
	arm(s);
}

static void
agent_ready(struct loop *l, int fd, short revents, void *arg)
{
	struct session *s = arg;
	int r;

	(void)l, (void)fd;
	/* Polled only for its end: remaining input is read when there is room, but
	 * the end begins now. */
	if (!room_for_agent(s)) {
		if ((revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0)
			last_leave(s);
		arm(s);
		return;
	}
	r = frame_fill(&s->from_agent);
	if (r == -EAGAIN)
		return;
	s->active_at = loop_now();
	health_traffic(s, false);
	pump(s, &s->from_agent, &agent_stream);
	if (r == -ENOMEM)
		s->error = r;
	else if (r <= 0)
		agent_gone(s);
	arm(s);
}

static void
server_ready(struct loop *l, int fd, short revents, void *arg)
{
	struct session *s = arg;
	int r = frame_fill(&s->from_server);

	(void)l, (void)fd, (void)revents;
	if (r == -EAGAIN)
		return;
	s->health.active_at = s->active_at;
	s->active_at = loop_now();
	health_traffic(s, true);
	pump_server(s, &server_stream);
	if (r == -ENOMEM)
		s->error = r;
	else if (r <= 0)
		session_server_eof(s, "it closed its output");
	arm(s);
}

/* There is room again: writes, then continues with what waited for it. */
static void
out_ready(struct loop *l, int fd, short revents, void *arg)
{
	struct session *s = arg;

	(void)l;
	if (fd == s->o.agent_out && s->after.until != 0 &&
	    (revents & (POLLERR | POLLHUP)) != 0)
		s->to_agent.closed = true;
	flush(s);
	pump_server(s, &server_stream);
	pump(s, &s->from_agent, &agent_stream);
	arm(s);
}

void
session_recorded(struct session *s)
{
	held_recorded(s);
	pump(s, &s->from_agent, &agent_stream);
	arm(s);
}

void
session_cause(struct session *s, const char *why)
{
	s->cause = why;
}

void
session_server_gone(struct session *s, const char *why)
{
	int r = 1;

	if (!s->server_eof && fd_nonblock(s->o.server_out, true) == 0)
		do {
			pump_server(s, &last_stream);
			if (room_for_last(s))
				r = frame_fill(&s->from_server);
		} while (r > 0 && s->error == 0 && room_for_last(s));
	session_server_eof(s, why);
	arm(s);
}
