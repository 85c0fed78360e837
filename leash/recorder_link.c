/*
 * The connection to the recorder, and what was redacted, for the audit log.
 *
 * Process: the leash.  Must never: let the server act while no recorder writes.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "leash/network.h"
#include "leash/private.h"
#include "leash/refresh.h"
#include "shim/base/log.h"

#define RECORDER_GONE_MS 3000 /* then the cell is killed: no act without a record */
#define SCRUB_REPORT_MS  1000

static void
on_recorder_missed(struct loop *loop, void *arg)
{
	struct leash *l = arg;

	l->report_timer = -1;
	log_error("lost the recorder and could not start another; stopping the server");
	leash_end(l, "no recorder");
}

void
leash_recorder_gone(struct leash *l)
{
	uint8_t memory[8];
	struct wire_out out;

	loop_remove(&l->loop, l->report_slot);
	l->report_slot = -1;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_NEEDS_RECORDER);
	/* one request each time, but a single timeout for finding one that works */
	if (l->report_timer < 0)
		l->report_timer = loop_timer_at(&l->loop,
		    loop_now() + RECORDER_GONE_MS * LOOP_MS, on_recorder_missed, l);
	if (l->channel < 0 || wire_send(l->channel, &out, NULL, 0) < 0 ||
	    l->report_timer < 0)
		leash_end(l, "no audit recorder, and no supervisor to start one");
}

/* A recorder that writes nothing to the disk counts as missing. */
static void
recorder_works(struct leash *l)
{
	if (report_late(l->report))
		return;
	loop_timer_stop(&l->loop, l->report_timer);
	l->report_timer = -1;
}

static void
on_report(struct loop *loop, int fd, short revents, void *arg)
{
	struct leash *l = arg;

	if (report_ready(l->report) < 0)
		leash_recorder_gone(l);
	else
		recorder_works(l);
	network_recorded(l);
	refresh_recorded(l);
}

void
leash_poll_report(struct leash *l)
{
	if (l->report_slot >= 0)
		loop_events(&l->loop, l->report_slot,
		    report_wants_write(l->report) ? POLLIN | POLLOUT : POLLIN);
}

int
leash_watch_report(struct leash *l)
{
	loop_remove(&l->loop, l->report_slot);
	l->report_slot = -1;
	if (report_fd(l->report) < 0) {
		leash_recorder_gone(l);
		return 0;
	}
	recorder_works(l);
	l->report_slot = loop_add(&l->loop, report_fd(l->report), POLLIN, on_report, l);
	return l->report_slot < 0 ? l->report_slot : 0;
}

/* trace NULL: a credential format; path NULL: not from the vault. */
struct scrubbed {
	const char *name, *trace, *path;
};

/* Records redactions since the last call. */
static int
record_scrub(struct leash *l, const struct scrubbed *s, uint64_t n, uint64_t *told)
{
	static struct event e;
	char text[300];

	if (n == *told)
		return 0;
	(void)snprintf(
	    text, sizeof(text), "%s%s", s->trace == NULL ? "shape:" : "", s->name);
	event_begin(&e, EVENT_SCRUB);
	event_identity(&e, policy_str(&l->policy, l->server->name), l->policy.id);
	event_short(&e, KEY_NAME, text);
	event_number(&e, KEY_COUNT, n - *told);
	if (s->trace != NULL)
		event_text(&e, KEY_TRACE, s->trace);
	if (s->path != NULL)
		event_text(&e, KEY_PATH, s->path);
	if (report_send(l->report, &e, EVENT_FLOW, NULL) < 0) {
		log_warn("unable to record what was redacted; trying again later");
		return -EAGAIN;
	}
	*told = n;
	return 0;
}

/* Which secrets, and which credential formats: names and counts only. */
void
leash_record_scrubs(struct leash *l)
{
	const struct sealed_secret *row;
	int r = 0;

	if (l->server == NULL)
		return; /* nothing was launched */
	row = l->policy.secret + l->server->secrets.first;
	for (uint32_t i = 0; i < l->secret_n && r == 0; i++) {
		const struct scrubbed s = {.name = policy_str(&l->policy, row[i].name),
		    .trace = l->fingerprint[i],
		    .path = row[i].source == SOURCE_VAULT
				? policy_str(&l->policy, row[i].ref)
				: NULL};

		r = record_scrub(l, &s, scrub_count(l->scrub, i), &l->scrubbed[i]);
	}
	for (uint32_t i = 0; l->scrub != NULL && scrub_credential(i) != NULL && r == 0;
	     i++)
		r = record_scrub(l, &(struct scrubbed){.name = scrub_credential(i)},
		    scrub_credential_count(l->scrub, i), &l->shaped[i]);
}

void
leash_watch_scrubs(struct loop *loop, void *arg)
{
	struct leash *l = arg;

	leash_record_scrubs(l);
	l->scrub_timer = loop_timer_at(
	    loop, loop_now() + SCRUB_REPORT_MS * LOOP_MS, leash_watch_scrubs, l);
}
