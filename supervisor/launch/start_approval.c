/*
 * A start that needs approval: for secrets whose use the policy or a manifest wants
 * approved. The leash sends the request and waits; this file gets the answer.
 *
 * Process: kennel, before it is confined. Holds no secret. The agent's first request
 * stays in its pipe meanwhile. It is answered by the running server, or with the
 * reason why the server did not start.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/manifests/manifests.h"
#include "policy/sealed/policy.h"
#include "policy/tokens/token_format.h"
#include "shim/base/log.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/leash_approvals.h"
#include "supervisor/launch/leash_client.h"

_Static_assert((int)META_NEVER == (int)APPROVE_NONE &&
		   (int)META_SESSION == (int)APPROVE_SESSION &&
		   (int)META_PER_CALL == (int)APPROVE_PER_CALL,
    "manifests and policies mean the same");

/* ---- approval rules of manifests -------------------------------------------------- */

/* For any path, whether or not the project names it: this only adds approvals and
 * reveals nothing. NULL: no manifest has the path. */
static const struct meta *
meta_of(const struct metas *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (!m->meta[i].internal && strcmp(m->meta[i].path, path) == 0)
			return &m->meta[i];
	return NULL;
}

static int
read_manifests(struct metas *ret, char *why)
{
	/* diagnostics go to standard error, where the user sees them */
	int r = metas_read(metas_project(NULL), paths_config_dir(), 0, stderr, ret);

	if (r < 0)
		(void)snprintf(why, LEASH_TEXT_MAX,
		    "unable to read the secret manifests: run kennel secret validate");
	return r;
}

static int
refuse_key(const struct policy_found *f, struct sealed_at at, const char *what,
    const char *name, char *why)
{
	const char *file = at.file < f->policy.row_n[SEALED_FILES]
			       ? policy_str(&f->policy, f->policy.file[at.file])
			       : "?";

	(void)snprintf(why, LEASH_TEXT_MAX,
	    "%s %.200s at line %u needs a key: register one with kennel console --keys "
	    "(%.300s)",
	    what, name, at.line, file);
	return -EPERM;
}

static int
keys_of_gates(const struct policy_found *f, char *why)
{
	static const char *const kind[] = {[GATE_TOOL] = "tool ask",
	    [GATE_RESOURCE] = "resource ask",
	    [GATE_PROMPT] = "prompt ask"};
	const struct sealed_gate *g = f->policy.gate + f->server->gates.first;

	for (uint32_t n = f->server->gates.n; n > 0; n--, g++)
		if (policy_gate_factor(g) == FACTOR_KEY)
			return refuse_key(f, g->at, kind[g->kind],
			    policy_str(&f->policy, g->name), why);
	return 0;
}

/* What needs a key could never be allowed without one. */
static int
keys_refuse(const struct policy_found *f, const struct asked_approve *asked, char *why)
{
	const struct policy *p = &f->policy;
	const struct sealed_exec *e = p->exec + f->server->execs.first;
	const struct sealed_net *h = p->net + f->server->nets.first;
	const struct sealed_secret *s = p->secret + f->server->secrets.first;

	for (uint32_t n = f->server->execs.n; n > 0; n--, e++)
		if (e->factor == FACTOR_KEY)
			return refuse_key(f, e->at, "exec ask",
			    policy_str(p, p->image[e->asked].path), why);
	for (uint32_t n = f->server->nets.n; n > 0; n--, h++)
		if (h->factor == FACTOR_KEY)
			return refuse_key(
			    f, h->at, "net ask", policy_str(p, h->host), why);
	for (uint32_t i = 0; i < f->server->secrets.n; i++)
		if (asked->factor[i] == FACTOR_KEY)
			return refuse_key(
			    f, s[i].at, "secret", policy_str(p, s[i].name), why);
	return keys_of_gates(f, why);
}

/* In a table of this program: the manifest is freed. */
static const char *
format_name(const struct meta *m)
{
	const struct token_format *format =
	    m->pattern == NULL ? NULL : token_format_find(m->pattern);

	return format == NULL ? NULL : format->name;
}

int
asked_approves(
    const struct policy_found *f, struct asked_approve *ret, bool *ret_any, char *why)
{
	struct sealed_range rows = f->server->secrets;
	struct metas m = {.n = 0};
	bool any = false, read = false;
	int r = 0;

	if (rows.n > LEASH_SECRETS_MAX) {
		(void)snprintf(
		    why, LEASH_TEXT_MAX, "more than %d secrets", LEASH_SECRETS_MAX);
		return -E2BIG;
	}
	for (uint32_t i = 0; r == 0 && i < rows.n; i++) {
		const struct sealed_secret *row = &f->policy.secret[rows.first + i];
		const char *path = policy_secret_path(&f->policy, row);
		const struct meta *meta;

		ret->of[i] = APPROVE_NONE;
		ret->factor[i] = row->factor;
		ret->format[i] = NULL;
		if (path != NULL && !read) {
			r = read_manifests(&m, why);
			read = r == 0;
		}
		meta = r == 0 && path != NULL ? meta_of(&m, path) : NULL;
		if (meta != NULL) {
			ret->of[i] = (uint32_t)meta->approve;
			ret->format[i] = format_name(meta);
			if ((uint32_t)meta->factor > row->factor)
				ret->factor[i] = (uint32_t)meta->factor;
		}
		any = any || row->approve != APPROVE_NONE || ret->of[i] != APPROVE_NONE;
	}
	if (read)
		metas_free(&m);
	if (r == 0 && (r = keys_refuse(f, ret, why)) == -EPERM && person_may_have_key())
		r = 0;
	if (r == 0)
		*ret_any = any;
	return r;
}

int
asked_per_call(const struct policy_found *f, bool *ret, char *why)
{
	static struct asked_approve approve; /* large */
	struct sealed_range rows = f->server->secrets;
	bool any = false, is = false;
	int r = asked_approves(f, &approve, &any, why);

	for (uint32_t i = 0; r == 0 && any && i < rows.n; i++)
		is |= approve.of[i] == APPROVE_PER_CALL ||
		      f->policy.secret[rows.first + i].approve == APPROVE_PER_CALL;
	if (r == 0)
		*ret = is;
	return r;
}

int
asked_oneshot(const struct policy_found *f, enum policy_oneshot *ret, char *why)
{
	enum policy_oneshot is = policy_oneshot(&f->policy, f->server);
	bool per_call = false;
	int r = is != ONESHOT_NO ? 0 : asked_per_call(f, &per_call, why);

	if (r == 0)
		*ret = per_call ? ONESHOT_IMPLIED : is;
	return r;
}

/* ---- while the approval is pending ------------------------------------------------ */

struct asking {
	struct opened *o;
	const struct child_order *order;
	struct control *control;
	int report_slot, timer; /* timer -1: a person is being asked */
	uint64_t until, left;   /* of the start; left: while a person is asked */
	int result;             /* -EINPROGRESS, then the result of asked_launch */
	int *status;
	char *why;
};

static void
ends(struct asking *a, int r, const char *why)
{
	if (why != NULL)
		(void)snprintf(a->why, LEASH_TEXT_MAX, "%s", why);
	a->result = r;
}

static void
on_channel(struct loop *loop, int fd, short revents, void *arg)
{
	static struct child_news news; /* large */
	struct asking *a = arg;
	char cause[CAUSE_MAX];
	int ended;
	int r = child_first(a->order, &a->o->child, &news, a->status, a->why);

	if (r == 1)
		control_news(a->control, &news);
	else if (r == 0 || r == -ECONNREFUSED || r == -ESTALE)
		ends(a, r, NULL);
	else if (r != -EAGAIN) {
		child_lost(&a->o->child, cause, &ended);
		ends(a, r, cause);
	}
}

static void
on_report(struct loop *loop, int fd, short revents, void *arg)
{
	struct asking *a = arg;

	if (report_ready(a->o->report) == 0) {
		control_recorded(a->control);
		return;
	}
	loop_remove(loop, a->report_slot);
	a->report_slot = -1;
	ends(a, -EPIPE, "lost the audit recorder: unable to record an approval");
}

static void
on_signal(struct loop *loop, int fd, short revents, void *arg)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		ends(arg, -EINTR, "ended by a signal while an approval was pending");
}

/* Watches only for the agent's end; its input is for the session to come. */
static void
on_agent(struct loop *loop, int fd, short revents, void *arg)
{
	/* it closed its end, or will send nothing more */
	if ((revents & (POLLHUP | POLLERR | POLLRDHUP)) != 0)
		ends(arg, -EPIPE, "the agent disconnected while an approval was pending");
}

static void
on_time(struct loop *loop, void *arg)
{
	struct asking *a = arg;

	a->timer = -1;
	ends(a, -ETIMEDOUT,
	    report_late(a->o->report)
		? "the audit recorder has not written an approval in time"
		: "kennel-leash did not start the server in time");
}

/* The time of the start passes while no question is open. Each question has its own time,
 * in the queue. */
static void
arm_time(struct asking *a, struct loop *loop)
{
	bool asks = queue_next(a->o->questions, 0) != NULL;
	uint64_t now = loop_now();

	if (asks && a->timer >= 0) {
		loop_timer_stop(loop, a->timer);
		a->timer = -1;
		a->left = a->until > now ? a->until - now : 0;
	} else if (!asks && a->timer < 0 && a->result == -EINPROGRESS) {
		a->until = now + a->left;
		a->timer = loop_timer_at(loop, a->until, on_time, a);
		if (a->timer < 0)
			ends(a, -ENOSPC, "no timer left");
	}
}

/* The loop has only these until the start succeeds or fails. */
static void
wait_for_leash(struct asking *a, const struct open_order *order, uint64_t ms)
{
	struct loop *loop = order->loop;
	int channel = loop_add(loop, a->o->child.channel, POLLIN, on_channel, a);
	int signals = loop_add(loop, order->signals, POLLIN, on_signal, a);
	int agent = order->mode != LEASH_RUN
			? -1
			: loop_add(loop, STDIN_FILENO, POLLRDHUP, on_agent, a);

	a->report_slot = loop_add(loop, report_fd(a->o->report), POLLIN, on_report, a);
	if (channel < 0 || signals < 0 || a->report_slot < 0)
		ends(a, -ENOSPC, "no slot in the loop");
	a->left = ms * LOOP_MS;
	while (a->result == -EINPROGRESS) {
		arm_time(a, loop);
		if (a->result != -EINPROGRESS)
			break;
		loop_events(loop, a->report_slot,
		    report_wants_write(a->o->report) ? POLLIN | POLLOUT : POLLIN);
		if (loop_once(loop, -1) < 0)
			ends(a, -EIO, "unable to wait for events");
	}
	loop_remove(loop, channel);
	loop_remove(loop, signals);
	loop_remove(loop, agent);
	loop_remove(loop, a->report_slot);
	loop_timer_stop(loop, a->timer);
}

int
asked_launch(struct opened *o, const struct child_order *child,
    const struct open_order *order, uint64_t wait_ms, int *ret_status,
    char why[LEASH_TEXT_MAX])
{
	struct asking a = {.o = o,
	    .order = child,
	    .report_slot = -1,
	    .timer = -1,
	    .result = -EINPROGRESS,
	    .status = ret_status,
	    .why = why};
	struct control_order control = {.policy = &o->found.policy,
	    .server = o->found.server,
	    .report = o->report,
	    .child = &o->child,
	    .approved = order->approved,
	    .factor = o->factor};
	int r;

	*ret_status = EXIT_FAILED;
	(void)snprintf(
	    why, LEASH_TEXT_MAX, "no approval channel is available for its secrets");
	open_person_sockets(o);
	control.questions = o->questions;
	r = o->questions == NULL ? -ENOTCONN : control_new(&control, &a.control);
	if (r == 0) {
		(void)snprintf(why, LEASH_TEXT_MAX, "the leash does not answer");
		r = child_order(child, &o->child);
	}
	if (r == 0) {
		wait_for_leash(&a, order, wait_ms);
		r = a.result;
	}
	control_free(a.control); /* withdraws pending approvals */
	return r;
}
