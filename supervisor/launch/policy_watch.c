/*
 * The watcher of a signed policy: see policy_watch.h.
 *
 * Process: kennel, forked before the session confines itself. Holds: the sealed policy.
 * Trusts: root, who writes /etc/kennel/trust. Must never: read a byte of anyone; hold the
 * agent's descriptors, the leash's channel or a secret.
 */
#include "supervisor/launch/policy_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/sealed/signature.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "shim/base/wire.h"
#include "supervisor/launch/launch.h"

#define LOOK_MS     1000 /* between two looks at the files */
#define LOOKS_MAX   60   /* then the policy is checked, even if no file has changed */
#define TRIES_MAX   3    /* of a directory that changes while it is read */
#define WHY_MAX     512
#define LOST_REASON "lost the process that watches the signed policies"

/* ---- the watcher ------------------------------------------------------------------ */

/* What changes when a file is written, replaced or removed. */
struct look {
	struct {
		dev_t dev;
		ino_t ino;
		off_t size;
		struct timespec changed;
	} of[4];
};

static void
look_at(struct look *ret)
{
	static const char *const paths[] = {TRUST_DIR, TRUST_DIR "/" TRUST_CURRENT,
	    TRUST_DIR "/revoked", TRUST_DIR "/threshold"};
	struct stat st;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (stat(paths[i], &st) < 0)
			continue; /* counts as another file than any */
		ret->of[i].dev = st.st_dev;
		ret->of[i].ino = st.st_ino;
		ret->of[i].size = st.st_size;
		ret->of[i].changed = st.st_ctim;
	}
}

/* 0, or the policy may not be in force any more, and why. */
static int
check(int policy_fd, char why[WHY_MAX])
{
	struct signed_by by;
	int r = -EAGAIN;

	for (int i = 0; i < TRIES_MAX && r == -EAGAIN; i++)
		r = sign_admit(policy_fd, &by, why, WHY_MAX);
	return r;
}

static _Noreturn void
watch(int policy_fd, int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	struct look last = {0}, now;
	uint8_t memory[WHY_MAX + 16];
	char why[WHY_MAX] = "";
	struct wire_out out;
	unsigned int looks = 0;
	int r;

	for (;;) {
		look_at(&now);
		if (memcmp(&now, &last, sizeof(now)) != 0 || looks++ == LOOKS_MAX) {
			last = now;
			looks = 0;
			if (check(policy_fd, why) < 0)
				break;
		}
		r = poll(&p, 1, LOOK_MS);
		if (r > 0 || (r < 0 && errno != EINTR))
			_exit(0); /* the session has ended */
	}
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_str(&out, why);
	(void)wire_send(sock, &out, NULL, 0); /* a session that is gone */
	_exit(0);
}

/* Leaves the standard error, the policy and the socket. */
static int
leave(const struct opened *o, int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int keep[] = {sock, o->found.fd};

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -errno;
	return fd_close_others(keep, ARRAY_LEN(keep));
}

/* ---- the session ------------------------------------------------------------------- */

static bool
is_wanted(const struct opened *o)
{
	struct sign_row row[SIGN_SIGNERS_MAX];
	struct sign_head head;
	struct stat st;
	size_t n = 0;

	return sign_rows(o->found.fd, &head, row, &n) == 0 && n > 0 &&
	       stat(TRUST_DIR, &st) == 0;
}

int
policy_watch_fork(struct opened *o)
{
	int pair[2], r;
	pid_t pid;

	if (!is_wanted(o))
		return 0;
	r = fd_pair(pair);
	if (r < 0)
		return r;
	/* early: fork clone */
	pid = fork();
	if (pid == 0) {
		if (leave(o, pair[1]) < 0)
			die("unable to set up the watch of the signed policies");
		watch(o->found.fd, pair[1]);
	}
	fd_close(&pair[1]);
	if (pid < 0) {
		fd_close(&pair[0]);
		return -EAGAIN;
	}
	o->watch = pair[0];
	o->watch_pid = pid;
	return 0;
}

struct watching {
	policy_watch_fn *fn;
	void *arg;
	int slot;
};

static void
on_watch(struct loop *loop, int fd, short revents, void *arg)
{
	struct watching *w = arg;
	uint8_t packet[WHY_MAX + 16];
	const char *why = LOST_REASON;
	struct wire_in in;
	size_t len;

	if (wire_recv(fd, packet, sizeof(packet), &len, NULL, 0, NULL) == 0) {
		wire_in_init(&in, packet, len);
		why = wire_get_str(&in, WHY_MAX);
		if (wire_end(&in) < 0)
			why = LOST_REASON;
	}
	loop_remove(loop, w->slot);
	w->fn(w->arg, why);
}

int
policy_watch_add(struct opened *o, struct loop *loop, policy_watch_fn *fn, void *arg)
{
	static struct watching watching; /* a process has one session */

	if (o->watch < 0)
		return 0;
	watching = (struct watching){.fn = fn, .arg = arg};
	watching.slot = loop_add(loop, o->watch, POLLIN, on_watch, &watching);
	return watching.slot < 0 ? -ENOSPC : 0;
}

void
policy_watch_end(struct opened *o)
{
	fd_close(&o->watch);
	/* syscalls: wait4 */
	while (o->watch_pid > 0 && waitpid(o->watch_pid, NULL, 0) < 0 && errno == EINTR)
		;
	o->watch_pid = 0;
}
