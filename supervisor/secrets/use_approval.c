/*
 * Use approvals: what is asked for, what an answer means, and the paths that a person
 * refused.
 */
#include "supervisor/secrets/use_approval.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/secrets/dialogs.h"

#define REASON_MAX 512
#define ID_SHOWN   64 /* bytes of an unknown id that an error repeats */

/* ---- refused paths ------------------------------------------------------------------ */

static size_t
closed_find(const struct secrets_approvals *a, const char *path)
{
	size_t i = 0;

	while (i < a->closed_n && strcmp(a->closed[i], path) != 0)
		i++;
	return i;
}

bool
secrets_path_closed(const struct secrets_approvals *a, const char *path)
{
	return a->closed_n == CLOSED_MAX || closed_find(a, path) < a->closed_n;
}

static void
close_path(struct secrets_approvals *a, const char *path)
{
	if (!secrets_path_closed(a, path))
		(void)snprintf(a->closed[a->closed_n++], sizeof(a->closed[0]), "%s",
		    path); /* fits: a path */
}

void
secrets_path_refused(struct secrets_approvals *a, const char *path)
{
	close_path(a, path);
	grants_drop(&a->grants, path);
}

void
secrets_approvals_epoch(struct secrets_approvals *a, uint64_t epoch, uint64_t asked_at)
{
	grants_epoch(&a->grants, epoch, asked_at);
}

bool
secrets_grant_unknown(const struct secrets_approvals *a, const char *path,
    const uint8_t policy[HOLDER_ID_LEN])
{
	return grants_unknown(&a->grants, path, policy);
}

bool
secrets_grant_take(struct secrets_approvals *a, const char *path,
    const uint8_t policy[HOLDER_ID_LEN], struct secrets_grant *ret)
{
	return grants_take(&a->grants, path, policy, loop_now(), ret);
}

/* One that a person can reopen: not if all are closed because there are too many. */
static bool
is_listed(void *arg, const char *path)
{
	const struct secrets_approvals *a = arg;

	return closed_find(a, path) < a->closed_n;
}

static void
open_path(void *arg, const char *path)
{
	struct secrets_approvals *a = arg;
	size_t at = closed_find(a, path);

	if (at == a->closed_n)
		return;
	a->closed_n--;
	memmove(a->closed[at], a->closed[a->closed_n], sizeof(a->closed[0]));
}

static int
record_reopened(void *arg, const char *path, const struct answerer *by)
{
	struct secrets_approvals *a = arg;

	if (*a->o.report == NULL)
		return -EPIPE;
	event_begin(&a->event, EVENT_APPROVE);
	event_text(&a->event, KEY_SERVER, a->o.name);
	answerer_put_reopened(&a->event, path, by);
	return report_send(*a->o.report, &a->event, EVENT_GATE, NULL);
}

void
secrets_approvals_reopens(struct secrets_approvals *a, struct approve_socket *socket)
{
	approve_on_reopen(socket, &(struct approve_reopen){.record = record_reopened,
				      .is_closed = is_listed,
				      .open = open_path,
				      .arg = a});
}

/* ---- answers ------------------------------------------------------------------------ */

void
use_settled(struct dialog *d, enum secrets_state *state, const char **reason)
{
	struct secrets_approvals *a = d->approvals;
	bool agreed = *state == SECRETS_ONCE || *state == SECRETS_SESSION;
	struct secrets_grant is = {.session = *state == SECRETS_SESSION};

	memcpy(is.path, d->path, sizeof(is.path));
	memcpy(is.request_id, d->id, sizeof(is.request_id));
	if (agreed && grants_add(&a->grants, &is, &d->shown, loop_now()) < 0) {
		*state = SECRETS_FAILED;
		*reason = "too many approvals are in force: wait a minute";
	}
	if (*state == SECRETS_SESSION)
		a->o.ask_epoch(a->o.arg);
	if (*state == SECRETS_REFUSED)
		secrets_path_refused(a, d->path);
}

/* ---- secrets_request_use_approval ------------------------------------------------------- */

static bool
reason_read(struct json arguments, char out[REASON_MAX + 1], struct secrets_answer *a)
{
	if (!argument_needed(arguments, "reason", out, REASON_MAX + 1, a))
		return false;
	if (out[strspn(out, " \t\r\n")] != '\0')
		return true;
	fail(a, SECRETS_INVALID_ARGUMENTS,
	    "`reason` must be a non-empty human-facing explanation");
	return false;
}

/* The secret is declared and its use is approved by a person; false: an error. */
static bool
use_read(struct secrets_approvals *all, const struct metas *m, struct asked *u,
    struct secrets_answer *a)
{
	enum meta_approve approve;

	u->meta = inventory_find(m, u->path, a);
	if (u->meta == NULL)
		return false;
	dialogs_holders(all, u);
	approve = u->meta->approve;
	for (size_t i = 0; i < u->holder_n; i++)
		if (u->holder[i].approve > approve)
			approve = u->holder[i].approve;
	u->each = approve == META_PER_CALL;
	u->held = !u->each && grants_hold(&all->grants, u->path, &u->shown, loop_now());
	if (approve != META_NEVER && !secrets_path_closed(all, u->path))
		return true;
	fail_path(a,
	    approve == META_NEVER ? SECRETS_APPROVAL_NOT_REQUIRED : SECRETS_DENIED,
	    u->path);
	return false;
}

void
secrets_request_use(struct secrets_approvals *all, const struct secrets_context *c,
    struct json arguments, struct secrets_answer *a)
{
	char path[SECRET_PATH_MAX + 1], reason[REASON_MAX + 1];
	struct asked u = {
	    .kind = SECRETS_USE, .path = path, .reason = reason, .ttl_s = REQUEST_TTL_S};
	struct metas m;

	if (!arguments_object(&arguments, a) ||
	    !argument_path(arguments, "path", path, a) ||
	    !reason_read(arguments, reason, a) ||
	    !argument_number(arguments, "ttl_seconds", REQUEST_TTL_S, &u.ttl_s, a) ||
	    !inventory_read(c, &m, a))
		return;
	if (use_read(all, &m, &u, a))
		dialogs_ask(all, &u, a);
	metas_free(&m);
}

/* ---- secrets_poll_status ------------------------------------------------------------------ */

void
secrets_poll(
    struct secrets_approvals *all, struct json arguments, struct secrets_answer *a)
{
	char id[2048], shown[4 * ID_SHOWN + 1];
	struct secrets_status status;
	struct request *r;
	uint64_t now = loop_now();

	if (!arguments_object(&arguments, a) ||
	    !argument_needed(arguments, "request_id", id, sizeof(id), a))
		return;
	r = request_find(&all->requests, id, now);
	if (r == NULL) {
		fail(a, SECRETS_UNKNOWN_REQUEST, "unknown request_id: %s",
		    log_quote(shown, sizeof(shown), id, strnlen(id, ID_SHOWN)));
		return;
	}
	request_poll(r, now, &status);
	if (secrets_reply_status(&a->structured, &status) < 0)
		a->no_memory = true;
}
