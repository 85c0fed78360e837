/*
 * kennel ps: the running sessions of the calling user.
 *
 * Process: kennel, as the calling user; a client of each session's status socket
 * (docs/PROTOCOL.control). A session that does not answer is named, and the others are
 * listed.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/base/output.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/base/terminal.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/status/status.h"

#define SESSIONS_MAX 256
#define ID_SHOWN     8

struct ps {
	struct out o;
	bool json;
	size_t rows;
	size_t unanswered;
};

/* ---- one session -------------------------------------------------------------- */

static int
ask(long pid, struct status *ret)
{
	uint8_t memory[STATUS_PACKET_MAX];
	int fd = person_connect(STATUS_SOCKET, pid), r;
	struct wire_out out;
	struct wire_in in;

	if (fd < 0)
		return fd;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, STATUS_ASK);
	wire_put_u32(&out, STATUS_VERSION);
	r = wire_send(fd, &out, NULL, 0);
	if (r == 0)
		r = person_receive(fd, memory, sizeof(memory), &in);
	if (r == 0)
		r = status_get(&in, ret);
	fd_close(&fd);
	return r;
}

/* A session that was killed leaves its sockets. */
static void
remove_left(long pid)
{
	static const char *const prefix[] = {STATUS_SOCKET, "ask-"};
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(
		    path, sizeof(path), "%.4000s/%s%ld", paths_run_dir(), prefix[i], pid);
		(void)unlink(path); /* the next call tries again */
	}
}

/* ---- rows --------------------------------------------------------------------- */

static const char *
state_of(const struct status *s)
{
	if (s->waiting > 0)
		return "waiting for approval";
	return s->connected ? "connected" : "connecting";
}

static void
put_json(struct out *o, long pid, const struct status *s)
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
	out_end(o);
}

static void
put_row(struct ps *p, long pid, const struct status *s)
{
	char server[4 * STATUS_SERVER_MAX + 1], since[TERMINAL_TIME_MAX];

	if (p->rows++ == 0 && !p->json)
		printf("%-16s %-7s %-8s %-19s %5s %5s %7s  %s\n", "server", "pid",
		    "session", "since", "open", "calls", "refused", "state");
	if (p->json) {
		put_json(&p->o, pid, s);
		return;
	}
	printf("%-16s %-7ld %.*s %-19s %5u %5llu %7llu  %s\n",
	    log_quote(server, sizeof(server), s->server, strlen(s->server)), pid,
	    ID_SHOWN, s->session, terminal_time(s->since_ns, since), s->calls,
	    (unsigned long long)s->calls_made, (unsigned long long)s->refused,
	    s->kind == STATUS_EXEC && s->waiting == 0 ? "exec" : state_of(s));
}

/* ---- all sessions --------------------------------------------------------------- */

static int
by_pid(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
list_one(struct ps *p, long pid)
{
	struct status s;
	int r = ask(pid, &s);

	if (r == 0) {
		put_row(p, pid, &s);
		return;
	}
	if (r == -ENOENT)
		return; /* it ended meanwhile */
	if (r == -ECONNREFUSED && kill((pid_t)pid, 0) < 0 && errno == ESRCH) {
		remove_left(pid);
		return;
	}
	log_error("the session of process %ld does not answer: %s%s", pid, strerror(-r),
	    r == -EBADMSG ? "; it may run another version of kennel" : "");
	p->unanswered++;
}

int
ps_main(int argc, char **argv)
{
	static long pid[SESSIONS_MAX];
	struct ps p = {.json = false};
	size_t n;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") != 0)
			return help_refuse(&kennel_help, argv[0], argv[i]);
		p.json = true;
	}
	n = person_sockets(STATUS_SOCKET, pid, SESSIONS_MAX);
	qsort(pid, n, sizeof(pid[0]), by_pid);
	out_init(&p.o, stdout);
	if (p.json)
		out_list(&p.o, NULL);
	for (size_t i = 0; i < n; i++)
		list_one(&p, pid[i]);
	if (p.json)
		out_end(&p.o);
	else if (p.rows == 0 && p.unanswered == 0)
		printf("no session is running\n");
	if (fflush(stdout) != 0)
		return EXIT_FAILED;
	return p.unanswered > 0 ? EXIT_FAILED : 0;
}
