/*
 *	kennel learn ── fork ──▶ a session: `kennel run` of the learning cell
 *	     ▲	   └─── fork ──▶ the client that exercises it, on the session's stdio
 *	     └── the session's copies of LEASH_NAMED, LEASH_JUDGED, LEASH_UNREACHED
 *
 * Three processes, because each of them waits: the session for the server, the client for
 * its answers, and the reader for facts, which the session must never wait for.
 *
 * Process: kennel.  Trusts a fact as little as the server that caused it.
 */
#include "leash/audit/writer.h"
#include "supervisor/learn/learn_session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/launch/run_session.h"

struct pipes {
	int in[2], out[2]; /* of the session: its agent's end is in[1] and out[0] */
	int facts[2];      /* [1]: the session's */
};

static void
pipes_close(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		fd_close(&p->in[i]);
		fd_close(&p->out[i]);
		fd_close(&p->facts[i]);
	}
}

static int
pipes_open(struct pipes *p)
{
	*p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
	if (pipe2(p->in, O_CLOEXEC) < 0 || pipe2(p->out, O_CLOEXEC) < 0)
		return -errno;
	return fd_pair(p->facts);
}

/* In the child that becomes the session. */
static void
run(const struct learn_session *s, struct pipes *p)
{
	struct run_order order = {.file = s->file,
	    .name = s->name,
	    .purpose = PURPOSE_LEARN,
	    .copy = p->facts[1],
	    .placeholders = s->placeholders};

	if (!s->stdio &&
	    (dup2(p->in[0], STDIN_FILENO) < 0 || dup2(p->out[1], STDOUT_FILENO) < 0))
		die("unable to set up the server's input and output");
	p->facts[1] = -1;
	pipes_close(p);
	exit(run_session(&order));
}

/* In the child that becomes the client. */
static void
call(const struct learn_session *s, struct pipes *p)
{
	int to = p->in[1], from = p->out[0], r;
	char why[256] = "";

	p->in[1] = p->out[0] = -1;
	pipes_close(p);
	r = exercise(to, from, &s->values, why, sizeof(why));
	if (r < 0)
		client_log("unable to exercise the server", why);
	exit(r < 0 ? 1 : 0);
}

static int
fork_one(const struct learn_session *s, struct pipes *p,
    void (*child)(const struct learn_session *, struct pipes *), pid_t *ret)
{
	(void)fflush(stdout); /* or the child prints it, too */
	*ret = fork();
	if (*ret < 0)
		return -errno;
	if (*ret == 0) {
		(void)signal(SIGTERM, SIG_DFL); /* a valid signal */
		(void)signal(SIGINT, SIG_DFL);
		child(s, p);
	}
	return 0;
}

/* Reads until the session has ended. */
static void
read_facts(int from, struct seen *seen)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct child_news news;
	struct wire_in in;
	size_t len = 0;
	int r;

	while ((r = wire_recv(from, memory, sizeof(memory), &len, NULL, 0, NULL)) == 0 ||
	       r == -EINTR) {
		if (r != 0)
			continue;
		wire_in_init(&in, memory, len);
		if (child_read(&in, wire_get_u32(&in), &news) == 0)
			seen_add(seen, &news);
	}
}

static int
status_of(pid_t pid)
{
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int
learn_session(const struct learn_session *s, struct seen *seen)
{
	pid_t session = -1, client = -1;
	struct pipes p;
	int r = pipes_open(&p), started = 0, called = 0;

	/* the agent, or a person, ends the session: what it was seen to want is drafted */
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	if (r == 0)
		r = fork_one(s, &p, run, &session);
	if (r == 0 && !s->stdio)
		r = fork_one(s, &p, call, &client);
	fd_close(&p.in[0]);
	fd_close(&p.in[1]);
	fd_close(&p.out[0]);
	fd_close(&p.out[1]);
	fd_close(&p.facts[1]);
	if (session > 0) {
		read_facts(p.facts[0], seen);
		started = status_of(session);
	}
	called = status_of(client);
	pipes_close(&p);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	if (r < 0)
		return r;
	return called != 0 || (s->stdio && started == 125) ? -ECANCELED : 0;
}
