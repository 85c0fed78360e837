/*
 * Starts and ends kennel-egress and kennel-dial.
 *
 * Process: the leash, before it sandboxes itself, and its child between fork and
 * exec.  The processes have the leash's own uid, an environment built from scratch
 * and the descriptors named here.
 *
 * No call of this file but close is in the leash's allow-list.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/egress/dial.h"
#include "leash/egress/plan.h"
#include "leash/launch.h"
#include "leash/network.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"

#define CHANNEL_FD 3

/* In the child: async-signal-safe calls only. */
static _Noreturn void
exec_helper(const char *path, const char *name, const char *const *envp, int channel)
{
	const char *const argv[] = {name, NULL};
	sigset_t none;
	int null;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL); /* fails for SIGKILL and SIGSTOP */
	(void)sigemptyset(&none);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* first out of the way: the leash's descriptors may have any number */
	channel = fcntl(channel, F_DUPFD_CLOEXEC, 10);
	if (null < 0 || channel < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || setsid() < 0 || dup2(null, 0) < 0 ||
	    dup2(null, 1) < 0 || dup2(channel, CHANNEL_FD) < 0 ||
	    close_range(CHANNEL_FD + 1, ~0u, 0) < 0 || chdir("/") < 0)
		_exit(127);
	(void)execve(
	    path, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
	_exit(127);
}

/* *ret_channel is the leash's end. */
static int
start_one(const char *name, const char *variable, int *ret_channel, pid_t *ret_pid)
{
	const char *envp[3] = {variable, NULL, NULL};
	char path[HELPER_PATH_CAP];
	pid_t parent = getpid(), pid;
	int pair[2] = {-1, -1}, r;

	/* kennel's own variable, for debugging */
	if (getenv("KENNEL_DEBUG") != NULL)
		envp[variable != NULL] = "KENNEL_DEBUG=1";
	r = helper_path(name, path);
	if (r == 0)
		r = fd_pair(pair);
	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0) {
		if (getppid() != parent)
			_exit(127);
		exec_helper(path, name, envp, pair[1]);
	}
	r = pid < 0 ? -errno : 0;
	fd_close(&pair[1]);
	if (r < 0) {
		fd_close(&pair[0]);
		return r;
	}
	*ret_channel = pair[0];
	*ret_pid = pid;
	return 0;
}

/* Each process maps the policy itself and looks up the server in it. */
static int
say_start(struct leash *l, int channel, uint32_t type, const uint32_t *sockets, int other)
{
	int fds[2] = {l->policy_fd, other};
	uint8_t memory[EGRESS_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	/* NOLINTNEXTLINE(bugprone-branch-clone): two protocols, now of one number */
	wire_put_u32(&out, sockets != NULL ? EGRESS_VERSION : DIAL_VERSION);
	wire_put_str(&out, policy_str(&l->policy, l->server->name));
	if (sockets != NULL)
		wire_put_u32(&out, *sockets);
	return wire_send(channel, &out, fds, other >= 0 ? 2 : 1);
}

static int
refuse(const struct leash *l, struct sealed_at at, const char *what, char *why)
{
	char place[128];

	(void)snprintf(why, NETWORK_WHY_MAX, "%s: %s",
	    policy_at(&l->policy, at, place, sizeof(place)), what);
	return -EOPNOTSUPP;
}

/* Rejects what exceeds this version's limits before anything starts. */
static int
check(const struct leash *l, uint32_t *ret_sockets, char *why)
{
	static struct plan plan;
	struct sealed_at at = {0, 0};

	for (uint32_t i = 0; i < l->server->nets.n; i++) {
		const struct sealed_net *n = &l->policy.net[l->server->nets.first + i];

		if (n->verdict != VERDICT_DENY && n->proto > NET_STARTTLS_POSTGRES)
			return refuse(l, n->at,
			    "`starttls` supports only postgres in this version; grant "
			    "the host's TLS port instead, or `plain`",
			    why);
	}
	if (plan_make(&l->policy, l->server, &plan, &at) < 0)
		return refuse(l, at,
		    "too many hosts and ports: at most 64 ports in one grant, 1024 "
		    "listeners (one for each port of a name, 32 of a suffix) in all",
		    why);
	*ret_sockets = (uint32_t)(plan.listener_n + 2 * (size_t)PLAN_SOCKET_END);
	return 0;
}

int
network_check(const struct leash *l, char why[NETWORK_WHY_MAX])
{
	uint32_t sockets;

	return check(l, &sockets, why);
}

int
network_start(struct leash *l, char why[NETWORK_WHY_MAX])
{
	struct network *n = calloc(1, sizeof(*n));
	bool grants = plan_grants(&l->policy, l->server);
	int between[2] = {-1, -1}, r;
	uint32_t sockets = 0;

	if (n == NULL)
		return -ENOMEM;
	n->leash = l;
	for (size_t i = 0; i < SHOWN_END; i++)
		buf_init(&n->shown[i], NETWORK_SHOWN_MAX);
	n->relay = n->dial = n->relay_slot = n->dial_slot = n->tick = -1;
	n->relay_pidfd = n->ping.timer = -1;
	n->ask_number = LEASH_NET_FIRST;
	l->network = n;
	r = check(l, &sockets, why);
	if (r == 0 && grants)
		r = fd_pair(between);
	if (r == 0)
		r = start_one("kennel-egress", NULL, &n->relay, &n->relay_pid);
	if (r == 0 &&
	    (n->relay_pidfd = (int)syscall(SYS_pidfd_open, n->relay_pid, 0)) < 0)
		r = -errno;
	if (r == 0 && grants)
		/* no search list: a lookup is for the granted name only */
		r = start_one("kennel-dial", "LOCALDOMAIN=.", &n->dial, &n->dial_pid);
	if (r == 0)
		r = say_start(l, n->relay, EGRESS_START, &sockets, between[0]);
	if (r == 0 && grants)
		r = say_start(l, n->dial, DIAL_START, NULL, between[1]);
	fd_close(&between[0]);
	fd_close(&between[1]);
	if (r < 0 && why[0] == '\0')
		(void)snprintf(why, NETWORK_WHY_MAX,
		    "unable to start kennel-egress or kennel-dial: %s", strerror(-r));
	if (r < 0)
		network_end(l);
	return r;
}

static int
into_cgroup(const struct leash *l, pid_t pid)
{
	char path[sizeof(l->cell.cgroup) + 16], text[24];

	if (l->cell.cgroup[0] == '\0' || pid <= 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", l->cell.cgroup);
	(void)snprintf(text, sizeof(text), "%d", pid);
	return cell_put_at(AT_FDCWD, path, text);
}

int
network_serve(struct leash *l)
{
	struct network *n = l->network;
	uint8_t memory[8];
	struct wire_out out;
	int r;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, EGRESS_READY);
	r = wire_send(n->relay, &out, NULL, 0);
	/* its resource usage counts for the server */
	if (r == 0)
		r = into_cgroup(l, n->relay_pid);
	if (r == 0)
		r = into_cgroup(l, n->dial_pid);
	return r;
}

void
network_end(struct leash *l)
{
	struct network *n = l->network;

	if (n == NULL)
		return;
	loop_remove(&l->loop, n->relay_slot);
	loop_remove(&l->loop, n->dial_slot);
	loop_timer_stop(&l->loop, n->tick);
	network_ping_stop(n);
	fd_close(&n->relay_pidfd);
	fd_close(&n->relay);
	fd_close(&n->dial);
	for (size_t i = 0; i < SHOWN_END; i++)
		buf_free(&n->shown[i]);
	free(n);
	l->network = NULL;
}
