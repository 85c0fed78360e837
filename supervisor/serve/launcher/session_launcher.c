/*
 * The launcher: finds policies and starts sessions for the hub.
 *
 * A Landlocked process may not mount, nor may its children, so a confined hub could not
 * build a cell. Each session is a process of its own, forked here: it is "kennel run"
 * whose agent is the hub. A server that takes over the process that reads its messages
 * has taken over its own session, and no other.
 *
 * Process: kennel serve, its unconfined half. Holds: the policies that it found. Trusts:
 * the hub for the name of a server, and for what a person has approved (docs/TRUST.md).
 * Must never: read a byte of an agent or a server. At its end it removes the hub's socket,
 * also after a hub that was killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/run_session.h"
#include "supervisor/secrets/secrets.h"
#include "supervisor/serve/launcher/configured.h"
#include "supervisor/serve/launcher/startable.h"
#include "supervisor/serve/launcher/session_launcher.h"
#include "supervisor/serve/launcher/start_order.h"
#include "supervisor/status/hub_wire.h"

struct launcher {
	const struct launcher_order *order;
	int hub, children; /* the socket; a signalfd */
	pid_t agent;       /* the program that started kennel serve */
	pid_t serve;       /* kennel serve: the hub */
	struct startables servers;
	bool lost; /* the hub has ended, or does not read */
};

#define HUB_WAITS   20 /* so often for the hub to read */
#define HUB_WAIT_MS 1000

/* True: no session is left. */
static bool
reap(struct launcher *l)
{
	struct signalfd_siginfo info;
	pid_t pid;

	while (read(l->children, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		log_debug("session %d ended", (int)pid);
	return pid < 0;
}

/* False: the hub is stuck. A poll that ends late, because the process was stopped, counts
 * once. */
static bool
await_hub(struct launcher *l)
{
	struct pollfd p[2] = {
	    {.fd = l->hub, .events = POLLOUT}, {.fd = l->children, .events = POLLIN}};
	int r;

	for (int n = 0; n < HUB_WAITS; n += r == 0) {
		r = poll(p, 2, HUB_WAIT_MS);
		if (r < 0 && errno != EINTR)
			die("unable to wait for events: %s", strerror(errno));
		if (r > 0 && p[0].revents != 0)
			return true;
		if (r > 0)
			(void)reap(l);
	}
	log_error("kennel serve does not read what it asked for; ending its sessions");
	return false;
}

static void
answer(struct launcher *l, const struct wire_out *out, int fd)
{
	int r = -EAGAIN;

	while (!l->lost && r == -EAGAIN) {
		r = wire_send(l->hub, out, &fd, fd >= 0);
		if (r < 0)
			l->lost = r != -EAGAIN || !await_hub(l);
	}
}

/* ---- policies -------------------------------------------------------------- */

/* A session that runs keeps the policy that it started with. */
static void
find_one(struct launcher *l, struct startable *k)
{
	enum server_reason reason = REASON_NONE;
	char why[LEASH_TEXT_MAX] = "";
	uint8_t memory[LAUNCHER_PACKET_MAX];
	struct wire_out out;
	bool per_call = false;
	int status = startable_policy(&l->servers, k, &reason, why);

	if (status == 0 && asked_per_call(&k->policy, &per_call, why) < 0) {
		policy_found_free(&k->policy);
		k->found = false;
		reason = REASON_POLICY_ERROR;
		status = EXIT_INPUT;
	}
	why[1023] = '\0'; /* shown whole where it was found, on standard error */
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_SERVER);
	wire_put_str(&out, k->name);
	wire_put_str(&out, startable_policy_name(k));
	wire_put_u32(&out, k->row != NULL ? k->row->source : FROM_POLICY);
	wire_put_str(&out, k->protocol);
	wire_put_u32(&out, !k->disabled);
	wire_put_u32(&out, per_call);
	wire_put_u32(&out, (uint32_t)status);
	wire_put_u32(&out, reason);
	wire_put_str(&out, why);
	answer(l, &out, k->found ? k->policy.fd : -1);
}

static void
answer_end(struct launcher *l, enum launcher_message type)
{
	uint8_t memory[8];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	answer(l, &out, -1);
}

/* A project's file that no person has approved: the hub parses it, and asks. */
static void
send_skipped(struct launcher *l)
{
	uint8_t memory[LAUNCHER_PACKET_MAX];
	struct wire_out out;
	int fd;

	wire_out_init(&out, memory, sizeof(memory));
	fd = skipped_file_put(&l->servers.skipped, &out);
	if (fd >= 0)
		answer(l, &out, fd);
	fd_close(&fd);
}

static void
put_name(struct launcher *l, const struct startable *k, struct wire_out *out)
{
	wire_put_str(out, k->name);
	wire_put_str(out, k->about);
	wire_put_u32(out, startable_may(&l->servers, k));
}

/* As many as a packet takes: clients wait for the last. */
static void
on_names(struct launcher *l, struct wire_in *in)
{
	uint8_t memory[LAUNCHER_PACKET_MAX];
	struct wire_out out;

	if (wire_end(in) < 0)
		return;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_NAME);
	for (size_t i = 0; i < l->servers.n; i++) {
		size_t len = out.len;

		if (!l->servers.all[i]->wanted)
			continue;
		put_name(l, l->servers.all[i], &out);
		if (out.error == 0)
			continue;
		out.len = len;
		out.error = 0;
		answer(l, &out, -1);
		out.len = sizeof(uint32_t); /* of the type */
		put_name(l, l->servers.all[i], &out);
	}
	answer(l, &out, -1);
	send_skipped(l);
	answer_end(l, LAUNCHER_NAMED);
}

/* of_file: only those that mcp-servers.json defines, or defined. */
static void
find_wanted(struct launcher *l, bool of_file)
{
	for (size_t i = 0; i < l->servers.n && !l->lost; i++)
		if (l->servers.all[i]->wanted && (l->servers.all[i]->of_file || !of_file))
			find_one(l, l->servers.all[i]);
}

static void
on_find(struct launcher *l, struct wire_in *in)
{
	if (wire_end(in) < 0)
		return;
	find_wanted(l, false);
	answer_end(l, LAUNCHER_FOUND);
}

/* The hub holds lines back until an answer comes. */
static void
send_unknown(struct launcher *l, const char *name)
{
	uint8_t memory[1024];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_SERVER);
	wire_put_str(&out, name);
	wire_put_str(&out, name);
	wire_put_u32(&out, FROM_POLICY);
	wire_put_str(&out, "");
	wire_put_u32(&out, 0);
	wire_put_u32(&out, 0);
	wire_put_u32(&out, EXIT_INPUT);
	wire_put_u32(&out, REASON_NO_POLICY);
	wire_put_str(&out, "no policy defines this server: see `kennel list`");
	answer(l, &out, -1);
}

static void
on_again(struct launcher *l, struct wire_in *in)
{
	const char *name = wire_get_str(in, LAUNCHER_NAME_MAX);
	struct startable *k;

	if (wire_end(in) < 0)
		return;
	startables_configure(&l->servers);
	startables_look(&l->servers, l->order, name);
	startables_want(&l->servers, l->order);
	k = startable_find(&l->servers, name);
	if (k != NULL && k->wanted && (k->has_policy || k->row != NULL || k->named))
		find_one(l, k);
	else
		send_unknown(l, name);
	send_skipped(l);
}

static void
on_reread(struct launcher *l, struct wire_in *in)
{
	const char *sha256 = wire_get_str(in, FILE_DIGEST_LEN);
	uint8_t memory[FILE_DIGEST_LEN + 32];
	struct wire_out out;

	if (wire_end(in) < 0)
		return;
	startables_configure(&l->servers);
	startables_want(&l->servers, l->order);
	find_wanted(l, true);
	send_skipped(l);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_CONFIGURED);
	wire_put_str(&out, sha256);
	wire_put_u32(&out, configured_trusts(sha256));
	answer(l, &out, -1);
}

/* ---- sessions -------------------------------------------------------------- */

/* In the child: from here on "kennel run". */
static _Noreturn void
be_session(struct launcher *l, struct startable *k, bool one_call,
    const struct approved_uses *approved, int agent)
{
	struct run_order order = {.file = k->file,
	    .name = startable_policy_name(k),
	    .found = &k->policy,
	    .argc = k->argc,
	    .argv = k->argv,
	    .caller = l->agent,
	    .one_call = one_call,
	    .hub = l->serve,
	    .approved = approved};
	sigset_t none;

	sigemptyset(&none);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGHUP, SIG_DFL);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || dup2(agent, STDIN_FILENO) < 0 ||
	    dup2(agent, STDOUT_FILENO) < 0 || startables_keep(&l->servers, k) < 0)
		die("unable to set up the session of %s", k->name);
	exit(run_session(&order));
}

static int
start(struct launcher *l, struct startable *k, bool one_call,
    const struct approved_uses *approved)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	/* A session fills the free memory that it inherits, and clears it for its tables. */
	(void)malloc_trim(0); /* 0: there was none */
	pid = fork();
	if (pid == 0)
		be_session(l, k, one_call, approved, pair[1]);
	fd_close(&pair[1]);
	if (pid < 0)
		fd_close(&pair[0]);
	return pair[0];
}

/* A start asks for the use of secrets, and for a row's argv, which the gate judges. An error
 * is the session's, which finds it again. */
static bool
may_ask(const struct startable *k)
{
	static struct asked_approve approve; /* large */
	char why[LEASH_TEXT_MAX];
	bool asks = false;

	return k->argv != NULL ||
	       (asked_approves(&k->policy, &approve, &asks, why) == 0 && asks);
}

static void
on_start(struct launcher *l, struct wire_in *in)
{
	static struct approved_uses approved; /* large */
	uint32_t ticket = wire_get_u32(in);
	bool one_call = wire_get_u32(in) == 1;
	const char *name = wire_get_str(in, LAUNCHER_NAME_MAX);
	struct startable *k;
	uint8_t memory[16];
	struct wire_out out;
	int fd = -1;

	approved_uses_read(in, &approved);
	k = wire_end(in) < 0 ? NULL : startable_find(&l->servers, name);
	if (k != NULL && k->found)
		fd = start(l, k, one_call, &approved);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_STARTED);
	wire_put_u32(&out, ticket);
	wire_put_u32(&out, fd >= 0 && may_ask(k));
	answer(l, &out, fd);
	fd_close(&fd);
}

/* ---- the log ----------------------------------------------------------------- */

static void
on_recorder(struct launcher *l, struct wire_in *in)
{
	char why[LEASH_TEXT_MAX] = "";
	uint8_t memory[8];
	struct wire_out out;
	int fd = -1;

	if (wire_end(in) < 0)
		return;
	if (open_recorder(&fd, why) < 0)
		log_error("unable to write the audit log: %s", why);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_CONNECTED);
	answer(l, &out, fd);
	fd_close(&fd);
}

/* ---- secrets ------------------------------------------------------------------ */

static void
on_manifests(struct launcher *l, struct wire_in *in)
{
	uint8_t memory[LAUNCHER_PACKET_MAX];
	struct wire_out out;
	int fd;

	if (wire_end(in) < 0)
		return;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_TEXTS);
	secrets_manifests_put(&out, &fd);
	answer(l, &out, fd);
	fd_close(&fd);
}

/* ---- the loop -------------------------------------------------------------- */

static void
on_packet(struct launcher *l, const uint8_t *packet, size_t len)
{
	static const struct {
		enum launcher_message type;
		void (*fn)(struct launcher *, struct wire_in *);
	} on[] = {
	    {LAUNCHER_FIND, on_find},
	    {LAUNCHER_START, on_start},
	    {LAUNCHER_AGAIN, on_again},
	    {LAUNCHER_NAMES, on_names},
	    {LAUNCHER_RECORDER, on_recorder},
	    {LAUNCHER_MANIFESTS, on_manifests},
	    {LAUNCHER_REREAD, on_reread},
	};
	struct wire_in in;
	uint32_t type;

	wire_in_init(&in, packet, len);
	type = wire_get_u32(&in);
	for (size_t i = 0; i < ARRAY_LEN(on); i++)
		if (on[i].type == type) {
			on[i].fn(l, &in);
			return;
		}
	die("an invalid request of the hub");
}

static _Noreturn void
serve_hub(struct launcher *l)
{
	uint8_t packet[LAUNCHER_PACKET_MAX];
	bool open = true, idle = true;
	size_t len, fds_n;
	int r;

	if (l->order->name_n == 0) /* no name can be wrong; the hub sets itself up */
		(void)startables_name(&l->servers, l->order, NULL);
	while (open || !idle) {
		struct pollfd p[2] = {{.fd = l->children, .events = POLLIN},
		    {.fd = open ? l->hub : -1, .events = POLLIN}};

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			die("unable to wait for events: %s", strerror(errno));
		if (p[1].revents != 0) {
			r = wire_recv(
			    l->hub, packet, sizeof(packet), &len, NULL, 0, &fds_n);
			if (r == 0)
				on_packet(l, packet, len);
			else if (r != -EAGAIN)
				l->lost = true;
		}
		/* sessions end when the hub's sockets do; it waits for the end of ours */
		if (l->lost)
			open = false;
		idle = reap(l);
	}
	person_socket_remove(HUB_SOCKET, (long)l->serve);
	person_socket_remove(APPROVE_SOCKET, (long)l->serve);
	_exit(0);
}

static int
open_children(int *ret)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	*ret = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret < 0 ? -errno : 0;
}

/* No byte of the agent's can be read from here on. */
static int
leave_agent(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int r = null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0;

	fd_close(&null);
	return -r;
}

int
launcher_fork(
    const struct launcher_order *order, int *ret_socket, char why[LEASH_TEXT_MAX])
{
	static struct launcher l; /* large */
	int pair[2], r;
	pid_t pid;

	l = (struct launcher){.order = order, .agent = getppid(), .serve = getpid()};
	if (order->name_n > 0 && (r = startables_name(&l.servers, order, why)) != 0)
		return r;
	r = fd_pair(pair);
	if (r < 0)
		return r;
	l.hub = pair[1];
	/* early: fork clone */
	pid = fork();
	if (pid == 0) {
		/* the hub ends the launcher, by closing its socket */
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGTERM, SIG_IGN);
		(void)signal(SIGHUP, SIG_IGN);
		(void)signal(SIGPIPE, SIG_IGN);
		if (leave_agent() < 0 || fd_close_others(&l.hub, 1) < 0)
			die("unable to set up the launcher");
		if (metas_project_fix(order->project) < 0)
			log_warn("unable to find the directory of this project");
		if (fd_nonblock(l.hub, true) < 0 || confine_core() < 0 ||
		    open_children(&l.children) < 0)
			die("unable to set up the launcher");
		serve_hub(&l);
	}
	fd_close(&pair[1]);
	if (pid < 0) {
		fd_close(&pair[0]);
		return -errno;
	}
	*ret_socket = pair[0];
	return 0;
}
