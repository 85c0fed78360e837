/*
 * The sockets of a session for its user: approvals, and its status.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "leash/keeper/keeper.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/launch.h"
#include "supervisor/mcp/mcp.h"
#include "supervisor/status/status.h"

/* Callback of the status socket. */
static void
put_status(void *arg, struct status *s)
{
	const struct opened *o = arg;
	const struct question *q = NULL;
	struct session_counts counts;

	s->kind = o->mode == LEASH_RUN ? STATUS_RUN : STATUS_EXEC;
	(void)snprintf(s->server, sizeof(s->server), "%s",
	    policy_str(&o->found.policy, o->found.server->name)); /* may be cut */
	(void)snprintf(s->session, sizeof(s->session), "%s", o->session);
	memcpy(s->policy, o->found.policy.id, sizeof(s->policy));
	s->since_ns = o->since_ns;
	s->via = (uint32_t)o->hub;
	s->connected = s->kind == STATUS_EXEC;
	while (o->questions != NULL &&
	       (q = queue_next(o->questions, q == NULL ? 0 : q->number)) != NULL)
		s->waiting++;
	if (o->serving == NULL)
		return;
	session_count(o->serving, &counts);
	s->connected = counts.answered;
	s->calls = counts.open;
	s->calls_made = counts.made;
	s->refused = counts.refused;
}

_Static_assert((int)CONFIRMED_PASSPHRASE == (int)QUESTION_PASSPHRASE &&
		   (int)CONFIRMED_KEY == (int)QUESTION_KEY,
    "factors");

static int
keeper_has_factor(void *arg, const uint8_t digest[QUESTION_DIGEST_LEN])
{
	const struct opened *o = arg;

	return keeper_confirmed(o->place.run_dir, digest);
}

int
person_keys(void)
{
	const char *run = paths_run_dir();

	return run != NULL ? keeper_keys(run) : -ENOENT;
}

bool
person_may_have_key(void)
{
	const char *vault = paths_vault_dir();
	char path[PATH_MAX];
	int n = person_keys();

	if (n >= 0)
		return n > 0;
	(void)snprintf(
	    path, sizeof(path), "%s/secrets.vault", vault != NULL ? vault : "");
	/* syscalls: access faccessat */
	return access(path, F_OK) == 0;
}

bool
person_vault_open(void)
{
	const char *run = paths_run_dir();

	return run != NULL && keeper_state_now(run) == STATE_OPEN;
}

static int
record_reopened(void *arg, const char *name, const struct answerer *by)
{
	static struct event e; /* large, and rarely needed */
	struct opened *o = arg;

	if (o->report == NULL)
		return -EPIPE;
	event_begin(&e, EVENT_APPROVE);
	event_identity(
	    &e, policy_str(&o->found.policy, o->found.server->name), o->found.policy.id);
	answerer_put_reopened(&e, name, by);
	return report_send(o->report, &e, EVENT_GATE, NULL);
}

static void
open_approvals(struct opened *o)
{
	uint64_t wait = policy_limit(&o->found.policy, o->found.server, TIMEOUT_ASK);
	int r;

	if (o->socket != NULL)
		return;
	r = queue_new(o->loop, wait, &o->questions);
	if (r == 0)
		queue_on_factor(o->questions, keeper_has_factor, o);
	if (r == 0)
		r = approve_open(o->loop, o->place.run_dir, o->questions, &o->socket);
	if (r == 0)
		approve_on_reopen(o->socket,
		    &(struct approve_reopen){.record = record_reopened, .arg = o});
	if (r < 0) {
		log_warn("approval is not available: unable to listen in %s: %s",
		    o->place.run_dir, strerror(-r));
		queue_free(o->questions);
		o->questions = NULL;
	}
}

void
open_person_sockets(struct opened *o)
{
	struct timespec now;
	int r;

	open_approvals(o);
	if (o->status != NULL)
		return;
	if (clock_gettime(CLOCK_REALTIME, &now) == 0)
		o->since_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	r = status_open(o->loop, o->place.run_dir, put_status, o, &o->status);
	if (r < 0)
		log_warn("`kennel ps` will not list this session: unable to listen in "
			 "%s: %s",
		    o->place.run_dir, strerror(-r));
}

void
close_person_sockets(struct opened *o)
{
	status_free(o->status);
	approve_free(o->socket);
	queue_free(o->questions);
	o->status = NULL;
	o->socket = NULL;
	o->questions = NULL;
}
