/*
 * Starts the server, then acts as PID 1: reaps all children, forwards signals,
 * and ends with the server or with the leash, whichever ends first.
 *
 *	channel		SHIM_KILL		to the server
 *			end of file		exit: the kernel kills the rest
 *	signals		CHLD			reap; report the server's status
 *			TERM INT HUP ...	to the server
 *	started		end of file		the server's exec is done: wipe
 *
 * Process: the shim, already under the server's own filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/private.h"

#define EXIT_FAILED    125
#define EXIT_DENIED    126
#define EXIT_NOT_FOUND 127

static const int heard[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

struct life {
	pid_t server;
	int signal_fd;
	int started_fd; /* -1 once the exec is done */
	void (*wipe)(void);
};

int
reap_signals(int *ret_signal_fd)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	sigset_t set;
	int fd;

	sigfillset(&set);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return -errno;
	/*
	 * The server must not inherit ignored signals from the leash.  Some
	 * signals cannot be changed, which gives an error that is ignored.
	 */
	for (int i = 1; i < NSIG; i++)
		(void)sigaction(i, &plain, NULL);
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(heard); i++)
		sigaddset(&set, heard[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_signal_fd = fd;
	return 0;
}

/* ---- the server ---------------------------------------------------------- */

static _Noreturn void
server_run(const struct shim_plan *plan)
{
	sigset_t none;
	int r;

	/*
	 * A process group of its own: signals that the server sends to its
	 * group do not reach PID 1.
	 */
	(void)setsid();
	if (chdir(plan->cwd) < 0) {
		shim_failed(SHIM_STEP_CWD, -errno, plan->cwd);
		_exit(EXIT_FAILED);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(plan->path, (char *const *)(uintptr_t)plan->arg,
	    (char *const *)(uintptr_t)plan->env);
	r = -errno;
	shim_failed(SHIM_STEP_EXEC, r, plan->path);
	_exit(r == -ENOENT || r == -ENOTDIR ? EXIT_NOT_FOUND : EXIT_DENIED);
}

/* ---- PID 1 --------------------------------------------------------------- */

static _Noreturn void
life_end(int status)
{
	(void)shim_say(SHIM_EXITED, (uint32_t)status, 1); /* no other receiver */
	_exit(0);
}

static void
on_channel(struct life *l)
{
	uint8_t bytes[16];
	struct wire_in in;
	uint32_t what, number;
	size_t got;
	int r;

	r = wire_recv(SHIM_CHANNEL_FD, bytes, sizeof(bytes), &got, NULL, 0, NULL);
	if (r == -EAGAIN)
		return;
	if (r != 0)
		_exit(EXIT_FAILED); /* the leash ended, so the cell ends */
	wire_in_init(&in, bytes, got);
	what = wire_get_u32(&in);
	number = wire_get_u32(&in);
	if (wire_end(&in) != 0 || what != SHIM_KILL || number == 0 || number >= NSIG)
		_exit(EXIT_FAILED);
	(void)kill(l->server, (int)number); /* it may already have ended */
}

/* Reaps all ended processes; exits when the server ended. */
static void
reap(struct life *l)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == l->server)
			life_end(status);
}

static void
on_signal(struct life *l)
{
	struct signalfd_siginfo info;

	if (read(l->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		reap(l);
	else
		(void)kill(l->server, (int)info.ssi_signo); /* as above */
}

static void
on_started(struct life *l)
{
	l->wipe();
	close(l->started_fd);
	l->started_fd = -1;
}

void
reap_run(const struct shim_plan *plan, int signal_fd, void (*wipe)(void))
{
	struct life l = {.signal_fd = signal_fd, .started_fd = -1, .wipe = wipe};
	int started[2];

	if (pipe2(started, O_CLOEXEC) < 0 || (l.server = fork()) < 0 ||
	    fcntl(SHIM_CHANNEL_FD, F_SETFD, FD_CLOEXEC) < 0) {
		shim_failed(SHIM_STEP_FORK, -errno, "");
		_exit(EXIT_FAILED);
	}
	if (l.server == 0)
		server_run(plan);
	close(started[1]);
	l.started_fd = started[0];
	/*
	 * The server's stdio belongs to the server: its pipes must close when
	 * it ends.
	 */
	for (int fd = 0; fd < SHIM_CHANNEL_FD; fd++)
		close(fd);
	for (uint32_t i = 0; i < plan->file_n; i++)
		close(SHIM_FILE_FD + (int)i);
	for (;;) {
		struct pollfd p[] = {
		    {.fd = SHIM_CHANNEL_FD, .events = POLLIN},
		    {.fd = l.signal_fd, .events = POLLIN},
		    {.fd = l.started_fd, .events = POLLIN},
		};

		if (poll(p, ARRAY_LEN(p), -1) < 0 && errno != EINTR)
			_exit(EXIT_FAILED);
		if (p[2].revents != 0)
			on_started(&l);
		if (p[1].revents != 0)
			on_signal(&l);
		if (p[0].revents != 0)
			on_channel(&l);
	}
}
