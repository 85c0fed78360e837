/*
 * kennel ps: the running sessions of the calling user, and the hubs that some are of.
 *
 * Process: kennel, as the calling user; a client of each session's status socket
 * (docs/PROTOCOL.control) and of each hub's (docs/PROTOCOL.serve). One that does not
 * answer is named, and the others are listed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/base/terminal.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/status/status_client.h"

#define ID_SHOWN 8

struct session {
	long pid;
	struct status s;
};

struct ps {
	struct out o;
	bool json;
	size_t rows;
	size_t unanswered;
	struct session session[STATUS_SESSIONS_MAX]; /* sorted by pid */
	size_t session_n;
	long hub[STATUS_SESSIONS_MAX]; /* sorted */
	size_t hub_n;
};

/* ---- rows --------------------------------------------------------------------- */

static void
put_session_json(struct out *o, long pid, const struct status *s)
{
	char policy[2 * STATUS_POLICY_LEN + 1];

	(void)hex_put(policy, s->policy, sizeof(s->policy));
	out_object(o, NULL);
	out_text(o, "server", s->server);
	out_number(o, "pid", (uint64_t)pid);
	out_text(o, "session", s->session);
	out_text(o, "kind", status_kind_name(s->kind));
	out_text(o, "status", s->connected ? "connected" : "connecting");
	out_number(o, "since", s->since_ns / NS_PER_S);
	out_number(o, "calls", s->calls);
	out_number(o, "waiting", s->waiting);
	out_number(o, "calls_made", s->calls_made);
	out_number(o, "refused", s->refused);
	out_text(o, "policy", policy);
	if (s->via != 0)
		out_number(o, "via", s->via);
	else
		out_null(o, "via");
	out_end(o);
}

/* Callback of status_of_hub. */
static void
put_server_json(void *arg, long pid, const struct hub_row *s)
{
	char policy[2 * STATUS_POLICY_LEN + 1];
	struct out *o = arg;

	(void)hex_put(policy, s->policy, sizeof(s->policy));
	out_object(o, NULL);
	out_text(o, "name", s->name);
	out_text(o, "status", server_live_name(s->live));
	out_text(o, "discovery_status", discovery_status_name(s->discovery));
	out_text_or_null(o, "reason", server_reason_name(s->reason));
	out_text(o, "detail", s->detail);
	out_text(o, "failed", s->failed);
	out_number(o, "tools", s->tools);
	out_yes(o, "pinned", s->pinned);
	out_text_or_null(o, "policy", s->has_policy ? policy : NULL);
	out_text_or_null(o, "protocol", s->protocol[0] != '\0' ? s->protocol : NULL);
	out_number(o, "restarts", s->restarts);
	out_number(o, "calls", s->calls);
	out_number(o, "calls_made", s->calls_made);
	out_number(o, "refused", s->refused);
	out_number(o, "p50_us", s->p50_us);
	out_number(o, "p99_us", s->p99_us);
	out_end(o);
}

static void
put_heading(struct ps *p)
{
	if (p->rows++ == 0 && !p->json)
		printf("%-16s %-7s %-8s %-19s %5s %5s %7s  %s\n", "server", "pid",
		    "session", "since", "open", "calls", "refused", "state");
}

/* below: under the line of its hub. */
static void
put_session(struct ps *p, long pid, const struct status *s, bool below)
{
	char server[4 * STATUS_SERVER_MAX + 1], since[TERMINAL_TIME_MAX];

	put_heading(p);
	if (p->json) {
		put_session_json(&p->o, pid, s);
		return;
	}
	printf("%s%-*s %-7ld %.*s %-19s %5u %5llu %7llu  %s\n", below ? "  " : "",
	    below ? 14 : 16,
	    log_quote(server, sizeof(server), s->server, strlen(s->server)), pid,
	    ID_SHOWN, s->session, terminal_time(s->since_ns, since), s->calls,
	    (unsigned long long)s->calls_made, (unsigned long long)s->refused,
	    status_state_name(s));
}

/* A hub that ends meanwhile leaves an entry without servers. */
static void
put_hub_json(struct ps *p, long pid, const struct hub_status *h)
{
	struct out *o = &p->o;
	struct hub_status again;

	out_object(o, NULL);
	out_null(o, "server");
	out_number(o, "pid", (uint64_t)pid);
	out_null(o, "session");
	out_text(o, "kind", "serve");
	out_text(o, "status", h->era == HUB_NEW ? "connecting" : "connected");
	out_number(o, "since", h->since_ns / NS_PER_S);
	out_number(o, "calls", h->calls);
	out_number(o, "waiting", 0); /* its sessions ask */
	out_number(o, "calls_made", h->calls_made);
	out_number(o, "refused", h->refused);
	out_null(o, "policy");
	out_null(o, "via");
	out_text_or_null(o, "client", h->client[0] != '\0' ? h->client : NULL);
	out_text(o, "era", hub_era_name(h->era));
	out_list(o, "servers");
	(void)status_of_hub(pid, &again, put_server_json, o);
	out_end(o);
	out_end(o);
}

static void
put_hub(struct ps *p, long pid, const struct hub_status *h)
{
	char client[4 * HUB_CLIENT_MAX + 1], since[TERMINAL_TIME_MAX];

	put_heading(p);
	if (p->json) {
		put_hub_json(p, pid, h);
		return;
	}
	printf("%-16s %-7ld %-8s %-19s %5u %5llu %7llu  %u server%s%s%.24s\n",
	    "kennel serve", pid, "-", terminal_time(h->since_ns, since), h->calls,
	    (unsigned long long)h->calls_made, (unsigned long long)h->refused, h->servers,
	    h->servers == 1 ? "" : "s", h->client[0] != '\0' ? ", " : "",
	    log_quote(client, sizeof(client), h->client, strlen(h->client)));
}

/* ---- all of them ---------------------------------------------------------------- */

static int
by_pid(const void *a, const void *b)
{
	const long *x = a, *y = b; /* the first member of a session too */

	return (*x > *y) - (*x < *y);
}

static void
no_answer(struct ps *p, const char *what, long pid, int r)
{
	if (status_ended(pid, r))
		return;
	log_error("the %s of process %ld does not answer: %s%s", what, pid, strerror(-r),
	    r == -EBADMSG || r == -EPIPE ? "; it may run another version of kennel" : "");
	p->unanswered++;
}

static void
ask_sessions(struct ps *p)
{
	static long pid[STATUS_SESSIONS_MAX];
	size_t n = person_sockets(STATUS_SOCKET, pid, ARRAY_LEN(pid));

	qsort(pid, n, sizeof(pid[0]), by_pid);
	for (size_t i = 0; i < n; i++) {
		struct session *s = &p->session[p->session_n];
		int r = status_of_session(pid[i], &s->s);

		s->pid = pid[i];
		if (r == 0)
			p->session_n++;
		else
			no_answer(p, "session", pid[i], r);
	}
}

static bool
is_of(const struct ps *p, const struct session *s)
{
	long hub = (long)s->s.via;

	return bsearch(&hub, p->hub, p->hub_n, sizeof(p->hub[0]), by_pid) != NULL;
}

/* The hubs with their sessions, then the sessions of an agent of their own. */
static void
list_all(struct ps *p)
{
	struct hub_status hub;
	int r;

	p->hub_n = person_sockets(HUB_SOCKET, p->hub, ARRAY_LEN(p->hub));
	qsort(p->hub, p->hub_n, sizeof(p->hub[0]), by_pid);
	ask_sessions(p);
	for (size_t i = 0; i < p->hub_n; i++) {
		r = status_of_hub(p->hub[i], &hub, NULL, NULL);
		if (r == 0)
			put_hub(p, p->hub[i], &hub);
		else
			no_answer(p, "kennel serve", p->hub[i], r);
		for (size_t k = 0; k < p->session_n; k++)
			if ((long)p->session[k].s.via == p->hub[i])
				put_session(
				    p, p->session[k].pid, &p->session[k].s, r == 0);
	}
	for (size_t k = 0; k < p->session_n; k++)
		if (!is_of(p, &p->session[k]))
			put_session(p, p->session[k].pid, &p->session[k].s, false);
}

int
ps_main(int argc, char **argv)
{
	static struct ps p;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") != 0)
			return help_refuse(&kennel_help, argv[0], argv[i]);
		p.json = true;
	}
	out_init(&p.o, stdout);
	if (p.json)
		out_list(&p.o, NULL);
	list_all(&p);
	if (p.json)
		out_end(&p.o);
	else if (p.rows == 0 && p.unanswered == 0)
		printf("no session is running\n");
	if (fflush(stdout) != 0)
		return EXIT_FAILED;
	return p.unanswered > 0 ? EXIT_FAILED : 0;
}
