/*
 * A program that prints one secret: how it is started, ended, and told of.
 *
 * Process: the leash, before it confines itself, and between fork and exec its
 * child.  The program is the person's own and runs as the person, outside of any
 * cell, but behind a fence (fence.c): it is there to print one value.
 *
 * No call of this file is in the leash's allow-list: what starts a helper
 * (fork execve dup2 setsid pidfd_open...) is gone once the leash is confined.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leash/vault/helper.h"
#include "shim/base/fd.h"

#define HELPER_PATH "PATH=/usr/local/bin:/usr/bin:/bin"
#define ENV_MAX     6

extern char **environ;

/* What the child needs, made before the fork. */
struct start {
	const char *const *argv;
	char *envp[ENV_MAX];
	unsigned int may;
	char runtime[64];
};

/* In the child, between fork and exec: only what is safe there. */
static void __attribute__((noreturn))
helper_start(const struct start *s, int out, pid_t parent)
{
	sigset_t none;
	int null, sig;

	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL); /* SIGKILL and SIGSTOP say no */
	(void)sigemptyset(&none);
	/* a session of its own: no terminal, and a group that can be killed */
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || setsid() < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(127);
	/* Above 2 first: the leash may have been started without stdio. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	null = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, 3);
	out = fcntl(out, F_DUPFD_CLOEXEC, 3);
	if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(null, 2) < 0 || close_range(3, ~0u, 0) < 0 || chdir("/") < 0 ||
	    fence_raise(s->may) < 0)
		_exit(127);
	execve(s->argv[0], (char *const *)s->argv, (char *const *)s->envp);
	_exit(127);
}

/* A fixed PATH; of ours, HOME USER LANG; and the folder of this user's sockets,
 * where it is this user's (an agent's word for it is not taken). */
static void
helper_environ(struct start *s)
{
	static const char *const kept[] = {"HOME=", "USER=", "LANG="};
	static const char name[] = "XDG_RUNTIME_DIR=";
	struct stat st;
	size_t i, n = 0;
	char **e;

	s->envp[n++] = (char *)HELPER_PATH;
	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		for (e = environ; e != NULL && *e != NULL; e++) {
			if (strncmp(*e, kept[i], strlen(kept[i])) == 0) {
				s->envp[n++] = *e;
				break;
			}
		}
	}
	(void)snprintf(s->runtime, sizeof(s->runtime), "%s/run/user/%u", name,
	    (unsigned int)geteuid());
	if (stat(s->runtime + sizeof(name) - 1, &st) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_uid == geteuid())
		s->envp[n++] = s->runtime;
	s->envp[n] = NULL;
}

int
helper_run(struct helper *h, const char *const *argv, unsigned int may)
{
	struct start s = {.argv = argv, .may = may};
	pid_t self = getpid();
	int pipe[2], r = 0;

	if (!fence_possible())
		return -EOPNOTSUPP;
	helper_environ(&s);
	if (pipe2(pipe, O_CLOEXEC) < 0)
		return -errno;
	h->pid = fork();
	if (h->pid == 0)
		helper_start(&s, pipe[1], self);
	if (h->pid < 0) {
		r = -errno;
		fd_close(&pipe[0]);
	} else {
		h->out = pipe[0];
		h->pidfd = (int)syscall(SYS_pidfd_open, h->pid, 0);
		if (h->pidfd < 0)
			r = -errno;
		else
			r = fd_nonblock(h->out, true);
	}
	fd_close(&pipe[1]);
	return r;
}

/* Nothing of the helper stays: its group is killed while the helper itself,
 * dead or not, still holds the group's number. */
void
helper_end(struct helper *h)
{
	if (h->pid > 0) {
		(void)kill(-h->pid, SIGKILL); /* ESRCH: all gone */
		(void)kill(h->pid, SIGKILL);  /* its group may not stand yet */
		while (waitpid(h->pid, &h->status, 0) < 0 && errno == EINTR)
			;
	}
	fd_close(&h->pidfd);
	fd_close(&h->out);
}

/* How it ended, and no byte of what it said. */
int
helper_told(const struct helper *h, int r, char *how, size_t how_cap)
{
	if (r == -ETIMEDOUT || h->timed_out)
		(void)snprintf(how, how_cap, "timed out");
	else if (r == -EOPNOTSUPP)
		(void)snprintf(how, how_cap, "cannot be confined: no Landlock here");
	else if (r == -EFBIG)
		(void)snprintf(how, how_cap, "printed more than 64 KiB");
	else if (r < 0)
		(void)snprintf(how, how_cap, "could not be heard: %s", strerror(-r));
	else if (WIFSIGNALED(h->status)) {
		(void)snprintf(
		    how, how_cap, "was killed by signal %d", WTERMSIG(h->status));
		r = -EIO;
	} else if (WEXITSTATUS(h->status) != 0) {
		(void)snprintf(
		    how, how_cap, "exited with status %d", WEXITSTATUS(h->status));
		r = -EIO;
	}
	return r;
}
