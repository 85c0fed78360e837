/*
 * The supervisor's requests and the leash's messages (docs/PROTOCOL.leash): one row
 * per request, with the phases in which it is valid.  Any other message, a
 * malformed one, or the end of the channel ends the cell: a supervisor that breaks
 * the protocol is not obeyed.
 *
 * Process: the leash.  Trusts the supervisor for what to start and when to end, but
 * not for what is allowed: the sealed policy defines that.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/launch.h"
#include "leash/launch_program.h"
#include "leash/network.h"
#include "leash/private.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define NAME_MAX_LEN     128
#define SESSION_LEN      16
#define LAUNCH_FDS       3
#define RECORDER_WAIT_MS 1000
#define ANSWER_WAIT_MS   1000

/* ---- the launch message --------------------------------------------------- */

static int
launch_args(struct leash *l, struct wire_in *in)
{
	uint32_t n = wire_get_u32(in);

	if (n > LEASH_ARGS_MAX)
		return -EBADMSG;
	l->argv = calloc((size_t)n + 1, sizeof(*l->argv));
	if (l->argv == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		l->argv[i] = wire_get_str(in, LEASH_PACKET_MAX);
	l->argc = n;
	return 0;
}

static int
launch_approves(struct leash *l, struct wire_in *in)
{
	uint32_t n = wire_get_u32(in);

	if (n > LEASH_SECRETS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++) {
		l->approve[i] = wire_get_u32(in);
		if (l->approve[i] > APPROVE_PER_CALL)
			return -EBADMSG;
	}
	l->approve_n = n;
	return 0;
}

static int
launch_fields(struct leash *l, size_t len, const char **ret_name)
{
	const char *session;
	struct wire_in in;
	uint32_t version;
	int r;

	wire_in_init(&in, l->memory, len);
	if (wire_get_u32(&in) != LEASH_LAUNCH)
		return -EBADMSG;
	version = wire_get_u32(&in);
	l->mode = wire_get_u32(&in);
	l->explain = l->mode == LEASH_EXPLAIN;
	l->login = l->mode == LEASH_LOGIN;
	if (l->explain || l->login)
		l->mode = LEASH_EXEC;
	l->live = l->mode == LEASH_LIVE;
	l->one_call = l->mode == LEASH_CALL || l->live;
	l->learn = l->mode == LEASH_LEARN;
	if (l->learn)
		l->explain = true;
	if (l->one_call || l->learn)
		l->mode = LEASH_RUN;
	*ret_name = wire_get_str(&in, NAME_MAX_LEN);
	session = wire_get_str(&in, SESSION_LEN);
	r = launch_args(l, &in);
	if (r == 0)
		r = launch_approves(l, &in);
	l->stale = wire_get_u32(&in) == 1;
	if (r == 0)
		r = placeholder_order(l, &in);
	if (r == 0)
		r = wire_end(&in);
	if (r < 0)
		return r;
	if (version != LEASH_VERSION || strlen(session) != SESSION_LEN ||
	    (l->mode != LEASH_RUN && l->mode != LEASH_EXEC) ||
	    (l->mode == LEASH_EXEC && l->argc == 0))
		return -EBADMSG;
	memcpy(l->session, session, SESSION_LEN + 1);
	l->given = l->argc > 0;
	return 0;
}

int
dispatch_launch(struct leash *l)
{
	int fds[LAUNCH_FDS] = {-1, -1, -1};
	char why[LEASH_TEXT_MAX] = "";
	const char *name = NULL;
	size_t len = 0, fds_n = 0;
	struct signed_by by;
	int r, loaded;

	l->memory = malloc(LEASH_PACKET_MAX);
	if (l->memory == NULL)
		return -ENOMEM;
	r = wire_recv(
	    l->channel, l->memory, LEASH_PACKET_MAX, &len, fds, LAUNCH_FDS, &fds_n);
	if (r < 0)
		return r;
	l->policy_fd = fds[0];
	l->log_dir = fds[2];
	if (fds_n != LAUNCH_FDS)
		r = -EBADMSG;
	if (r == 0)
		r = launch_fields(l, len, &name);
	if (r < 0) {
		fd_close(&fds[1]);
		return r;
	}
	/* The policy is loaded while the recorder prepares its reply. */
	r = report_open(fds[1], REPORT_LEASH, l->session, REPORT_LATER, &l->report);
	/* The supervisor has checked it already; the process that holds the secrets
	 * checks again. */
	loaded = sign_admit(l->policy_fd, &by, why, sizeof(why));
	if (loaded == 0)
		loaded = policy_load(l->policy_fd, &l->policy, why, sizeof(why));
	if (r == 0)
		r = report_welcome(l->report, RECORDER_WAIT_MS);
	/* From here on failures are reported to the supervisor. */
	if (r < 0) {
		dispatch_refuse(l, LEASH_REFUSED, LOG_EXIT_FAILED,
		    "the audit recorder does not answer; nothing was started");
		return r;
	}
	r = loaded;
	if (r < 0) {
		dispatch_refuse(
		    l, LEASH_REFUSED, r == -ESTALE ? 78 : LOG_EXIT_FAILED, why);
		return r;
	}
	l->server = policy_server(&l->policy, name);
	if (l->server == NULL) {
		dispatch_refuse(l, LEASH_REFUSED, 78,
		    "no server with this name in the sealed policy");
		return -ENOENT;
	}
	if (l->approve_n != 0 && l->approve_n != l->server->secrets.n) {
		dispatch_refuse(l, LEASH_REFUSED, LOG_EXIT_FAILED,
		    "invalid approval list in the launch message");
		return -EBADMSG;
	}
	return 0;
}

/* ---- messages -------------------------------------------------------------- */

static void
answer(struct leash *l, const struct wire_out *out, const int *fds, size_t fds_n)
{
	struct pollfd room = {l->channel, POLLOUT, 0};
	int r = -EPIPE;

	if (l->channel >= 0)
		r = wire_send(l->channel, out, fds, fds_n);
	/* the last message may wait: nothing else needs this process */
	if (r == -EAGAIN && poll(&room, 1, ANSWER_WAIT_MS) > 0) /* syscalls: poll */
		r = wire_send(l->channel, out, fds, fds_n);
	/* If the supervisor is gone, the channel reports its end. */
	if (r < 0 && r != -EPIPE)
		log_warn("unable to answer the supervisor: %s", strerror(-r));
}

/* The refusal is recorded, too, before it is reported. */
static void
record_refusal(struct leash *l, int status, const char *why)
{
	static struct event e;
	uint64_t number = 0;
	char at[300];

	if (l->report == NULL)
		return;
	event_begin(&e, EVENT_REFUSED);
	if (l->server != NULL)
		event_identity(&e, policy_str(&l->policy, l->server->name), l->policy.id);
	event_text(&e, KEY_MODE, l->mode == LEASH_RUN ? "run" : "exec");
	event_text(&e, KEY_VERDICT, "deny");
	if (l->path != NULL || l->argc > 0)
		event_text(&e, KEY_PROGRAM, l->path != NULL ? l->path : l->argv[0]);
	if (l->denied != NULL)
		event_text(
		    &e, KEY_RULE, policy_at(&l->policy, l->denied->at, at, sizeof(at)));
	program_put_argv(l, &e);
	event_text(&e, KEY_REASON, why);
	event_number(&e, KEY_STATUS, (uint64_t)status);
	if (report_send(l->report, &e, EVENT_GATE, &number) < 0 ||
	    report_wait(l->report, number, RECORDER_WAIT_MS) < 0)
		log_warn("unable to record that the start was refused");
}

void
dispatch_refuse(struct leash *l, enum leash_message type, int status, const char *why)
{
	uint8_t memory[LEASH_TEXT_MAX + LEASH_VARIABLE_MAX + LEASH_PATH_MAX + 64];
	struct wire_out out;

	if (type == LEASH_REFUSED)
		record_refusal(l, status, why);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	wire_put_u32(&out, (uint32_t)status);
	wire_put_u32(&out, l->refused.cause);
	wire_put_str(&out, l->refused.variable);
	wire_put_str(&out, l->refused.path);
	wire_put_bytes(&out, why, strnlen(why, LEASH_TEXT_MAX - 1));
	answer(l, &out, NULL, 0);
}

/* The features that the kernel lacks, as one line for people. */
static void
put_lacks(struct leash *l, struct wire_out *out)
{
	char line[LEASH_TEXT_MAX] = "";
	size_t len = 0;

	for (size_t i = 0; i < l->cell.lack_n; i++) {
		size_t n = strlen(l->cell.lack[i].what);

		if (len + n + 3 > sizeof(line))
			break;
		if (len > 0) {
			/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): counted */
			memcpy(line + len, "; ", 2);
			len += 2;
		}
		memcpy(line + len, l->cell.lack[i].what, n);
		len += n;
	}
	wire_put_bytes(out, line, len);
}

int
dispatch_started(struct leash *l)
{
	int fds[3] = {l->server_in[1], l->pass_out[0], l->pass_err[0]};
	uint8_t memory[LEASH_TEXT_MAX + 64];
	struct wire_out out;
	int r;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_STARTED);
	wire_put_u32(&out, (uint32_t)l->cell.pid);
	put_lacks(l, &out);
	r = wire_send(l->channel, &out, fds, l->mode == LEASH_EXEC ? 3 : 2);
	fd_close(&l->server_in[1]);
	fd_close(&l->pass_out[0]);
	fd_close(&l->pass_err[0]);
	return r;
}

bool
dispatch_lost_shim(const struct leash *l, char why[CAUSE_MAX])
{
	bool killed = l->end_why != NULL && strcmp(l->end_why, SHIM_CLOSED) != 0;

	why[0] = '\0';
	if (l->shim_reported || l->exec_failed)
		return false;
	if (killed) {
		(void)snprintf(why, CAUSE_MAX, "%s", l->end_why); /* fits */
		return false;
	}
	(void)cause_text(why, CAUSE_MAX, "kennel-shim", l->pid1_status); /* why itself */
	return true;
}

void
dispatch_ends(struct leash *l, const char *reason, const char *text)
{
	uint8_t memory[LEASH_TEXT_MAX + 256];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_ENDS);
	wire_put_str(&out, reason);
	wire_put_str(&out, text);
	answer(l, &out, NULL, 0);
}

/* Without the rest of a character whose beginning is not in it. */
static const char *
whole_characters(const char *text, size_t len)
{
	while (len > 0 && ((unsigned char)*text & 0xc0) == 0x80) {
		text++;
		len--;
	}
	return text;
}

void
dispatch_exited(struct leash *l)
{
	struct gate_counts counts = {0};
	char why[CAUSE_MAX];
	uint64_t scrubbed = 0;
	uint8_t memory[CAUSE_MAX + LEASH_LAST_MAX + 128];
	struct wire_out out;

	for (size_t i = 0; i < l->secret_n; i++)
		scrubbed += scrub_count(l->scrub, (uint32_t)i);
	if (l->gate != NULL)
		counts = gate_counts(l->gate);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_EXITED);
	wire_put_u32(&out, (uint32_t)l->status);
	wire_put_u64(&out, scrubbed);
	wire_put_u64(&out, counts.denied + counts.killed);
	wire_put_str(&out, dispatch_lost_shim(l, why) ? why : "");
	wire_put_str(&out, whole_characters(l->err.last, l->err.last_n));
	answer(l, &out, NULL, 0);
}

/* ---- execs that need approval -------------------------------------------------- */

/* Does not wait for a slow supervisor: the loop must not block. */
int
dispatch_tell(struct leash *l, const struct wire_out *out)
{
	return l->channel < 0 ? -EPIPE : wire_send(l->channel, out, NULL, 0);
}

/* Appends n consecutive strings; returns the position after them. */
static const char *
put_strings(struct wire_out *out, size_t n, const char *at)
{
	wire_put_u32(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		wire_put_str(out, at);
		at += strlen(at) + 1;
	}
	return at;
}

static int
ask(void *arg, const struct gate_question *q)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct wire_out out;
	const char *at;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_ASK);
	wire_put_u32(&out, q->number);
	wire_put_u32(&out, (uint32_t)q->timeout_ms);
	wire_put_u32(&out, q->factor);
	wire_put_bytes(&out, q->digest, LEASH_DIGEST_LEN);
	wire_put_str(&out, foreign_str(q->program));
	wire_put_str(&out, foreign_str(q->cwd));
	wire_put_str(&out, q->rule);
	wire_put_str(&out, q->because);
	wire_put_u32(&out, q->cut);
	at = put_strings(&out, q->argc, foreign_list_str(q->words));
	(void)put_strings(&out, q->envc, at); /* the end */
	return dispatch_tell(arg, &out);
}

static void
withdrawn(void *arg, uint32_t number)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_WITHDRAWN);
	wire_put_u32(&out, number);
	(void)dispatch_tell(arg, &out); /* its answer will be ignored */
}

void
dispatch_withdrawn(struct leash *l, uint32_t number)
{
	withdrawn(l, number);
}

static void
refused(void *arg, const struct gate_refusal *r)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_DENIED);
	wire_put_str(&out, foreign_str(r->program));
	wire_put_str(&out, r->rule);
	wire_put_str(&out, r->because);
	wire_put_str(&out, r->instead);
	wire_put_str(&out, r->reason);
	(void)dispatch_tell(arg, &out); /* it is in the log in any case */
}

static void
judged(void *arg, const struct gate_judged *j)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	static uint32_t lost;
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_JUDGED);
	wire_put_str(&out, j->verdict);
	wire_put_str(&out, foreign_str(j->program));
	wire_put_str(&out, j->caller);
	wire_put_str(&out, j->rule);
	wire_put_str(&out, j->reason);
	wire_put_u32(&out, lost);
	(void)put_strings(&out, j->chain_n, j->chain); /* the end */
	wire_put_u32(&out, j->cut);
	(void)put_strings(&out, j->words->n, foreign_list_str(j->words)); /* the end */
	lost = dispatch_tell(arg, &out) < 0 ? lost + 1 : 0;
}

const struct gate_person dispatch_person = {
    ask, withdrawn, refused, judged, dispatch_named};

static int
on_answer(struct leash *l, struct wire_in *in, int *fd)
{
	uint32_t number = wire_get_u32(in), answer = wire_get_u32(in);
	const char *who = wire_get_str(in, GATE_WHO_MAX);

	if (wire_end(in) < 0 || answer < LEASH_ONCE || answer > LEASH_NOBODY)
		return -EBADMSG;
	if (number >= LEASH_NET_FIRST)
		return network_answer(l, number, (enum leash_answer)answer, who);
	/* an answer to a withdrawn request is ignored */
	if (l->gate != NULL)
		(void)gate_answer(l->gate, number, (enum gate_answer)answer, who);
	return 0;
}

/* ---- requests --------------------------------------------------------------- */

static void
shim_signal(struct leash *l, uint32_t sig)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, SHIM_KILL);
	wire_put_u32(&out, sig);
	/* a shim that is gone needs no signal: its pidfd is readable */
	(void)wire_send(l->cell.channel, &out, NULL, 0);
}

int
dispatch_go(struct leash *l)
{
	uint8_t memory[8];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, SHIM_GO);
	return wire_send(l->cell.channel, &out, NULL, 0);
}

static int
on_signal(struct leash *l, struct wire_in *in, int *fd)
{
	uint32_t sig = wire_get_u32(in);

	if (wire_end(in) < 0 || sig == 0 || sig >= 32)
		return -EBADMSG;
	shim_signal(l, sig);
	return 0;
}

static void
on_grace_over(struct loop *loop, void *arg)
{
	struct leash *l = arg;

	l->grace_timer = -1;
	leash_end(l, "grace period expired");
}

static int
on_end(struct leash *l, struct wire_in *in, int *fd)
{
	uint64_t grace_ms = wire_get_u32(in);

	if (wire_end(in) < 0)
		return -EBADMSG;
	if (l->phase != PHASE_RUNNING)
		return 0;
	l->phase = PHASE_ENDING;
	l->ordered = true;
	shim_signal(l, SIGTERM);
	l->grace_timer =
	    loop_timer_at(&l->loop, loop_now() + grace_ms * LOOP_MS, on_grace_over, l);
	if (l->grace_timer < 0)
		leash_end(l, "no timer");
	return 0;
}

static int
on_recorder(struct leash *l, struct wire_in *in, int *fd)
{
	int r;

	if (wire_end(in) < 0 || *fd < 0)
		return -EBADMSG;
	/* A recorder that is just exiting sends no welcome: then request another. */
	r = report_replace(l->report, *fd, RECORDER_WAIT_MS);
	*fd = -1;
	if (r < 0)
		log_debug("no welcome from the recorder: %s", strerror(-r));
	return leash_watch_report(l);
}

static const struct request {
	enum leash_message type;
	enum leash_phase from, to; /* the phases in which it is valid */
	int (*fn)(struct leash *, struct wire_in *, int *fd);
} requests[] = {
    {LEASH_SIGNAL, PHASE_RUNNING, PHASE_GONE, on_signal},
    {LEASH_END, PHASE_RUNNING, PHASE_GONE, on_end},
    {LEASH_RECORDER, PHASE_RUNNING, PHASE_GONE, on_recorder},
    {LEASH_ANSWER, PHASE_RUNNING, PHASE_GONE, on_answer},
};

static int
dispatch_one(struct leash *l, const uint8_t *bytes, size_t len, int *fd)
{
	struct wire_in in;
	uint32_t type;

	wire_in_init(&in, bytes, len);
	type = wire_get_u32(&in);
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		const struct request *q = &requests[i];

		if (q->type == type && l->phase >= q->from && l->phase <= q->to)
			return q->fn(l, &in, fd);
	}
	return -EBADMSG;
}

static void
on_channel(struct loop *loop, int sock, short revents, void *arg)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct leash *l = arg;
	size_t len = 0, fds_n = 0;
	int fd = -1, r;

	r = wire_recv(sock, memory, sizeof(memory), &len, &fd, 1, &fds_n);
	if (r == -EAGAIN)
		return;
	if (r == 0)
		r = dispatch_one(l, memory, len, &fd);
	fd_close(&fd);
	if (r < 0) {
		loop_remove(&l->loop, l->channel_slot);
		l->channel_slot = -1;
		fd_close(&l->channel);
		l->ordered = true;
		leash_end(l, r == -EPIPE ? "supervisor gone"
					 : "protocol error from the supervisor");
	}
}

int
dispatch_add(struct leash *l)
{
	l->channel_slot = loop_add(&l->loop, l->channel, POLLIN, on_channel, l);
	if (l->channel_slot < 0)
		return l->channel_slot;
	return fd_nonblock(l->channel, true); /* syscalls: fcntl */
}
