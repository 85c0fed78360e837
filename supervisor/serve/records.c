/*
 * The hub's own records: what it refuses before a session sees it, and then its end.
 * Everything else is recorded by the sessions.
 *
 * The hub opens no file and starts no program, so the launcher connects to the recorder
 * and hands over the connection.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "leash/audit/writer.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

#define LAST_MS  500
#define LOST_MAX 5

static void
lost(struct hub *h)
{
	if (h->lost_n++ < LOST_MAX) /* it ended, with the session before this one */
		launcher_ask(h, LAUNCHER_RECORDER, NULL);
	else
		log_warn("lost the audit recorder");
}

static void
on_report(struct loop *loop, int fd, short revents, void *arg)
{
	struct hub *h = arg;

	if (report_ready(h->report) == 0) {
		if (report_greeted(h->report))
			h->lost_n = 0;
		secrets_recorded(h);
		parked_wake(h);
		hub_arm(h); /* what waited for the disk is answered now */
		return;
	}
	loop_remove(&h->loop, h->slot_report);
	h->slot_report = -1;
	lost(h);
}

/* The welcome of a recorder that is stopped comes when it goes on. Only records wait for it,
 * so no other connection would help. */
void
records_open(struct hub *h, int fd)
{
	uint8_t raw[8];
	int r;

	if (fd < 0) {
		log_warn("unable to reach the audit recorder: what kennel serve itself "
			 "refuses "
			 "is not recorded; every server's start needs the recorder too");
		return;
	}
	if (h->report != NULL)
		r = report_replace(h->report, fd, REPORT_LATER);
	else if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		r = -1;
	else
		r = report_open(fd, REPORT_SUPERVISOR,
		    hex_put(h->session, raw, sizeof(raw)), REPORT_LATER, &h->report);
	if (r == 0)
		h->slot_report =
		    loop_add(&h->loop, report_fd(h->report), POLLIN, on_report, h);
	else
		lost(h);
}

void
records_arm(struct hub *h)
{
	if (h->report != NULL && h->slot_report >= 0)
		loop_events(&h->loop, h->slot_report,
		    report_wants_write(h->report) ? POLLIN | POLLOUT : POLLIN);
}

static void
put_shown(struct event *e, enum event_key key, const char *text)
{
	if (text != NULL && text[0] != '\0')
		event_text(e, key, text);
}

/* A name for the log; no server has it, because a server's name has no space. */
const char *
hub_name(const struct hub *h)
{
	return h->order->single ? "kennel run" : "kennel serve";
}

/* s: NULL if it is unknown; its policy may be gone. */
static void
put_server(struct event *e, const struct hub *h, const struct server *s)
{
	if (s != NULL && s->ready)
		event_identity(e, s->name, s->policy.id);
	else
		event_text(e, KEY_SERVER, s != NULL ? s->name : hub_name(h));
}

static void
put_dropped(struct server *s, uint64_t bytes, const char *reason)
{
	static struct event e;

	s->hub->refused++;
	if (s->hub->report == NULL)
		return;
	event_begin(&e, EVENT_DROPPED);
	put_server(&e, s->hub, s);
	event_text(&e, KEY_DIRECTION, "server");
	event_number(&e, KEY_BYTES, bytes);
	event_text(&e, KEY_REASON, reason);
	/* as below */
	(void)report_send(s->hub->report, &e, EVENT_FLOW, NULL);
}

static void
put_drops(struct server *s)
{
	char text[64];

	if (s->more_drops == 0)
		return;
	(void)snprintf(text, sizeof(text), "%llu more lines of that kind",
	    (unsigned long long)s->more_drops); /* fits */
	put_dropped(s, s->more_dropped, text);
	s->more_drops = s->more_dropped = 0;
}

void
records_dropped(struct server *s, size_t bytes, const char *reason)
{
	if (budget_take(&s->drops, loop_now(), RECORDS_MAX, RECORDS_EACH_NS)) {
		put_drops(s);
		put_dropped(s, bytes, reason);
		return;
	}
	s->more_drops++;
	s->more_dropped += bytes;
}

void
records_left_out(struct server *s, const char *name)
{
	static struct event e;

	if (s->hub->report == NULL)
		return; /* it has been logged */
	event_begin(&e, EVENT_REFUSED);
	put_server(&e, s->hub, s);
	event_text(&e, KEY_DIRECTION, "server");
	event_text(&e, KEY_VERDICT, "deny");
	event_text(&e, KEY_METHOD, "tools/list");
	put_shown(&e, KEY_NAME, name);
	event_text(&e, KEY_REASON, "kennel has a tool with this name");
	/* nothing was forwarded, so losing this record lets nothing through */
	(void)report_send(s->hub->report, &e, EVENT_FLOW, NULL);
}

void
records_refused(struct hub *h, const struct incoming *in, struct server *s,
    const char *name, const char *rule, const char *reason)
{
	struct json id = in->m.top[TOP_ID];
	static struct event e;
	char source[320]; /* a server's name has 255 bytes at most */

	h->refused++;
	if (s != NULL)
		s->refused++;
	if (h->report == NULL)
		return;
	event_begin(&e, EVENT_REFUSED);
	put_server(&e, h, s);
	event_text(&e, KEY_DIRECTION, "agent");
	event_text(&e, KEY_VERDICT, "deny");
	event_text(&e, KEY_METHOD, in->method != NULL ? in->method->name : "tools/call");
	put_shown(&e, KEY_NAME, name);
	if (id.type != JSON_IS_NONE && id.len > 0)
		event_bytes(&e, KEY_REQUEST, id.at, id.len);
	put_shown(&e, KEY_RULE, rule);
	put_shown(&e, KEY_REASON, reason);
	if (s != NULL) {
		(void)snprintf(source, sizeof(source), "mcp:%s", s->name); /* fits */
		event_short(&e, KEY_SOURCE, source);
		event_text(&e, KEY_ACTION, "mcp_tool_call");
	}
	/* nothing was forwarded, so losing this record lets nothing through */
	(void)report_send(h->report, &e, EVENT_FLOW, NULL);
}

void
records_close(struct hub *h)
{
	uint64_t until = loop_now() + LAST_MS * LOOP_MS;
	static struct event e;

	if (h->report == NULL || h->refused == 0)
		goto out;
	for (size_t i = 0; i < h->server_n; i++)
		put_drops(h->server[i]);
	event_begin(&e, EVENT_STOP);
	event_text(&e, KEY_SERVER, hub_name(h));
	event_text(&e, KEY_REASON, h->why != NULL ? h->why : "");
	(void)report_send(h->report, &e, EVENT_GATE, NULL); /* best effort at the end */
	while (report_pending(h->report) > 0 && report_fd(h->report) >= 0 &&
	       loop_now() < until) {
		struct pollfd p = {report_fd(h->report),
		    (short)(report_wants_write(h->report) ? POLLIN | POLLOUT : POLLIN),
		    0};

		if (poll(&p, 1, LAST_MS / 10) < 0 || report_ready(h->report) < 0)
			break;
	}
out:
	report_free(h->report);
	h->report = NULL;
}
