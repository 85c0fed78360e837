/*
 * The keeper's child: starts kennel-fido for each question and waits for it.
 *
 *	kennel-keeper		its child		kennel-fido
 *	question ---------------> readable: fork, exec -> reads it, in 4 s at most
 *		<-------------------------------------- answer, and it ends
 *		<--------------	failed, unless it ended with 0
 *
 * Process: a child that kennel-keeper forks before it has a key and before it confines
 * itself, since it may start nothing afterwards. Holds one socket. It ends when the
 * keeper does. A hostile signature that breaks kennel-fido breaks one answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leash/keeper/fido/fido.h"
#include "leash/keeper/private.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define PROGRAM "kennel-fido"
#define SPARE_S 1 /* that the keeper waits longer than a process may run */

static struct {
	int fd; /* to the child; -1 before it is started */
	uint32_t number;
	uint8_t packet[FIDO_PACKET_MAX];
} child = {.fd = -1};

/* ---- the child: no call of this part is in the keeper's list -------------------- */

static void
path_of_program(char path[PATH_MAX])
{
	/* early: readlink */
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof(PROGRAM));
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		die("unable to find " PROGRAM);
	memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
}

/* May read and start what its user may, so that the loader finds libraries. */
static void
confine_child(void)
{
	struct confine_path root = {.may = CONFINE_READ | CONFINE_EXEC};
	int r = confine_no_dumps();

	root.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC); /* early: open */
	if (r == 0)
		r = root.fd < 0 ? -errno : confine_paths(&root, 1);
	if (r < 0)
		die("unable to confine the keeper's child: %s", strerror(-r));
	fd_close(&root.fd);
}

/* An answer in the place of a process that gave none; its question is dropped. */
static void
answer_failed(void)
{
	const struct fido_answer a = {
	    .verdict = FIDO_FAILED, .why = PROGRAM " failed: see keeper.log"};
	struct wire_out out;

	(void)recv(FIDO_FD, child.packet, sizeof(child.packet), MSG_DONTWAIT);
	wire_out_init(&out, child.packet, sizeof(child.packet));
	fido_put_answer(&out, &a, FIDO_CONFIRM);
	(void)wire_send(FIDO_FD, &out, NULL, 0); /* the keeper waits no longer anyway */
}

static _Noreturn void
serve(const char *path)
{
	struct pollfd p = {.fd = FIDO_FD, .events = POLLIN};
	char *const argv[] = {(char[]){PROGRAM}, NULL}, *const env[] = {NULL};
	int status;
	pid_t pid;

	for (;;) {
		/* early: poll fork execve alarm wait4 */
		if (poll(&p, 1, -1) < 0 && errno == EINTR)
			continue;
		if (p.revents != POLLIN) /* the keeper has ended */
			_exit(0);
		pid = fork();
		if (pid == 0) {
			(void)alarm(FIDO_WAIT_S); /* stays over exec, and kills */
			(void)execve(path, argv, env);
			log_error("unable to start %s: %s", path, strerror(errno));
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			answer_failed();
	}
}

/* ---- the keeper ----------------------------------------------------------------- */

void
fido_child_start(void)
{
	struct timeval wait = {.tv_sec = FIDO_WAIT_S + SPARE_S};
	char path[PATH_MAX];
	int pair[2], r = fd_pair(pair);
	pid_t pid;

	if (r < 0)
		die("unable to make a socket: %s", strerror(-r));
	path_of_program(path);
	pid = fork();
	if (pid < 0)
		die("unable to start a process: %s", strerror(errno));
	if (pid == 0) {
		const int keep[] = {pair[1]};

		(void)prctl(PR_SET_NAME, PROGRAM); /* early: prctl */
		if (fd_close_others(keep, 1) < 0 || dup2(pair[1], FIDO_FD) < 0 ||
		    (pair[1] != FIDO_FD && close(pair[1]) < 0) ||
		    fd_cloexec(FIDO_FD, false) < 0)
			_exit(1);
		confine_child();
		serve(path);
	}
	fd_close(&pair[1]);
	/* early: setsockopt */
	if (setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
		die("unable to set a socket's time: %s", strerror(errno));
	child.fd = pair[0];
}

/* An answer of an earlier question that came too late is dropped. */
static int
receive(struct fido_answer *a, enum fido_use use)
{
	struct wire_in in;
	size_t len = 0;
	int r;

	do {
		r = wire_recv(
		    child.fd, child.packet, sizeof(child.packet), &len, NULL, 0, NULL);
		if (r < 0)
			return r;
		wire_in_init(&in, child.packet, len);
		if (fido_get_answer(&in, a, use) < 0)
			return -EBADMSG;
		if (a->number == 0 && a->verdict != FIDO_FAILED)
			return -EBADMSG;
	} while (a->number != child.number && a->number != 0);
	return 0;
}

void
fido_ask(struct fido_question *q, struct fido_answer *ret)
{
	struct wire_out out;
	int r;

	q->number = ++child.number == 0 ? ++child.number : child.number;
	wire_out_init(&out, child.packet, sizeof(child.packet));
	fido_put_question(&out, q);
	r = wire_send(child.fd, &out, NULL, 0);
	if (r == 0)
		r = receive(ret, q->use);
	if (r < 0) {
		*ret = (struct fido_answer){.verdict = FIDO_FAILED};
		(void)snprintf(ret->why, sizeof(ret->why), "no answer of " PROGRAM ": %s",
		    strerror(-r));
	}
}
