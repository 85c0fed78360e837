/*
 * A cover is gone: the server can read or write what the policy denies it.  So its
 * cell is killed, and the log and the supervisor get the cause.
 *
 * Process: the leash, in its loop.  There is a window between the host's rename and
 * the kill (docs/TRUST.md); this cannot close it.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "leash/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/log.h"

#define SHOWN_MAX 1024 /* bytes of a path */

/* Object and reason of the message; the supervisor adds the consequence. */
static void
say_lost(const struct leash *l, char *text, size_t cap)
{
	const char *path = policy_str(&l->policy, l->lost->target);
	char shown[SHOWN_MAX], at[300];

	log_quote(shown, sizeof(shown), path, strlen(path));
	(void)snprintf(text, cap,
	    "unable to keep %s %s: another program replaced, removed or renamed it or "
	    "a directory on the way (%s)",
	    shown, l->lost->kind == MOUNT_HIDE ? "hidden" : "read-only",
	    policy_at(&l->policy, l->lost->at, at, sizeof(at)));
}

int
cover_check(struct leash *l)
{
	if (l->lost != NULL)
		return 0;
	return cell_watch(&l->cell, &l->policy, l->server, &l->lost);
}

static void
on_change(struct loop *loop, int fd, short revents, void *arg)
{
	char text[LEASH_TEXT_MAX];
	struct leash *l = arg;

	if (cover_check(l) == 0)
		return;
	leash_end(l, COVER_LOST); /* first: until then the server keeps its access */
	say_lost(l, text, sizeof(text));
	dispatch_ends(l, COVER_LOST, text);
	cover_unwatch(l);
}

void
cover_warn_absent(const struct leash *l)
{
	char at[300];

	for (size_t i = 0; i < l->cell.absent_n; i++) {
		const struct sealed_mount *m =
		    &l->policy.mount[l->server->mounts.first + l->cell.absent[i]];

		log_warn("%s is not there: nothing covers it if another program creates "
			 "it while the server runs (%s)",
		    policy_str(&l->policy, m->target),
		    policy_at(&l->policy, m->at, at, sizeof(at)));
	}
}

int
cover_watch(struct leash *l)
{
	struct cell *cell = &l->cell;
	int r = 0;

	if (cell->mounts_fd >= 0)
		r = l->mounts_slot =
		    loop_add(&l->loop, cell->mounts_fd, POLLPRI, on_change, l);
	if (r >= 0 && cell->moves_fd >= 0)
		r = l->moves_slot =
		    loop_add(&l->loop, cell->moves_fd, POLLIN, on_change, l);
	return r < 0 ? r : 0;
}

void
cover_unwatch(struct leash *l)
{
	loop_remove(&l->loop, l->mounts_slot);
	loop_remove(&l->loop, l->moves_slot);
	l->mounts_slot = l->moves_slot = -1;
}

void
cover_record(const struct leash *l, struct event *e)
{
	if (l->lost == NULL)
		return;
	event_text(e, KEY_REASON, COVER_LOST);
	event_text(e, KEY_NAME, policy_str(&l->policy, l->lost->target));
}
