/*
 * A program that prints a secret: how it is started and stopped, and how its end is
 * reported.
 *
 * Process: the leash, before it sandboxes itself, and its child between fork and
 * exec.  The program is the user's own and runs as the user, outside of any cell,
 * but in a sandbox (helper_sandbox.c): its only task is to print one value.
 *
 * No call of this file is in the leash's allow-list: what starts a helper (fork
 * execve dup2 setsid pidfd_open...) is blocked once the leash is sandboxed.
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
#include "leash/vault/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"

#define HELPER_PATH "PATH=/usr/local/bin:/usr/bin:/bin"
#define IMAGE_FD    3
#define SECRETS_LEN (HELPER_SECRETS_MAX * (HELPER_SECRET_LEN_MAX + 256))

extern char **environ;

/* What the child needs, prepared before the fork. */
struct start {
	const struct helper_order *order;
	char *envp[HELPER_ENV_MAX + HELPER_SECRETS_MAX + 2];
	size_t env_n;
	char runtime[64];
	int in[2], out[2], secrets[2]; /* pipes; -1: not used */
};

/* In the child: values come through a pipe.  The pages with the secrets are not in
 * this process, and a copy made before the fork would stay in the leash.  The values
 * remain here until the exec, which discards this memory. */
static void
start_secrets(struct start *s)
{
	static char text[SECRETS_LEN];
	size_t len = 0, i;
	ssize_t n;

	if (s->secrets[0] < 0)
		return;
	(void)close(s->secrets[1]);
	while ((n = read(s->secrets[0], text + len, sizeof(text) - len)) > 0)
		len += (size_t)n;
	if (n < 0 || len == 0 || len == sizeof(text) || text[len - 1] != '\0')
		_exit(127);
	for (i = 0; i < len; i += strlen(text + i) + 1)
		s->envp[s->env_n++] = text + i;
	s->envp[s->env_n] = NULL;
}

/* Moves fd to number to; the other moves must not overwrite it. */
static void
start_fd(int *fd)
{
	if (*fd >= 0)
		*fd = fcntl(*fd, F_DUPFD_CLOEXEC, 10);
	else
		*fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (*fd >= 0 && *fd < 10)
		*fd = fcntl(*fd, F_DUPFD_CLOEXEC, 10);
	if (*fd < 0)
		_exit(127);
}

/* In the child, between fork and exec: async-signal-safe calls only. */
static void __attribute__((noreturn)) helper_start(struct start *s, pid_t parent)
{
	const struct helper_order *o = s->order;
	int fd[4] = {s->in[0], s->out[1], -1, o->image}, sig, i; /* IMAGE_FD is last */
	char first[2];
	sigset_t none;

	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL); /* fails for SIGKILL and SIGSTOP */
	(void)sigemptyset(&none);
	/* a session of its own: no terminal, and a process group that can be killed */
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || setsid() < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(127);
	start_secrets(s);
	/* First out of the way: the leash may have been started without stdio. */
	for (i = 0; i < 4; i++)
		start_fd(&fd[i]);
	for (i = 0; i < 4; i++)
		if (dup2(fd[i], i) < 0)
			_exit(127);
	if (close_range(IMAGE_FD + 1, ~0u, 0) < 0 || chdir("/") < 0 ||
	    helper_confine(o->may) < 0)
		_exit(127);
	/* A script's interpreter opens it as /dev/fd/3; nothing else needs it. */
	if ((pread(IMAGE_FD, first, sizeof(first), 0) != sizeof(first) ||
		memcmp(first, "#!", sizeof(first)) != 0) &&
	    fcntl(IMAGE_FD, F_SETFD, FD_CLOEXEC) < 0)
		_exit(127);
	(void)syscall(SYS_execveat, IMAGE_FD, "", o->argv, s->envp, AT_EMPTY_PATH);
	_exit(127);
}

/* ---- its environment ------------------------------------------------------------- */

static int
env_put(struct start *s, const char *text)
{
	if (s->env_n >= HELPER_ENV_MAX)
		return -E2BIG;
	s->envp[s->env_n++] = (char *)(uintptr_t)text;
	s->envp[s->env_n] = NULL;
	return 0;
}

/* This user's XDG_RUNTIME_DIR, if this user owns it: the agent's value alone is not
 * trusted. */
static int
env_put_runtime(struct start *s)
{
	static const char name[] = "XDG_RUNTIME_DIR=";
	struct stat st;

	(void)snprintf(s->runtime, sizeof(s->runtime), "%s/run/user/%u", name,
	    (unsigned int)geteuid());
	if (stat(s->runtime + sizeof(name) - 1, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid())
		return 0;
	return env_put(s, s->runtime);
}

/* NAME=VALUE as is; for NAME our own value, if it may be passed on. */
static int
env_put_one(struct start *s, const char *text)
{
	static const char *const kept[] = {"HOME", "USER", "LANG"};
	size_t i, len = strlen(text);
	char **e;

	if (strchr(text, '=') != NULL)
		return env_put(s, text);
	if (strcmp(text, "XDG_RUNTIME_DIR") == 0)
		return env_put_runtime(s);
	for (i = 0; i < ARRAY_LEN(kept); i++) {
		if (strcmp(text, kept[i]) != 0)
			continue;
		for (e = environ; e != NULL && *e != NULL; e++)
			if (strncmp(*e, text, len) == 0 && (*e)[len] == '=')
				return env_put(s, *e);
	}
	return 0;
}

static int
helper_environ(struct start *s)
{
	static const char *const usual[] = {
	    "HOME", "USER", "LANG", "XDG_RUNTIME_DIR", NULL};
	const char *const *e = s->order->env != NULL ? s->order->env : usual;
	int r = env_put(s, HELPER_PATH);

	for (; r == 0 && *e != NULL; e++)
		r = env_put_one(s, *e);
	return r;
}

/* All of them fit into a pipe before the child reads. */
static int
helper_secrets(struct start *s)
{
	const struct plugin_credential *c = s->order->secret;
	size_t i;
	int r = 0;

	if (s->order->secret_n == 0)
		return 0;
	if (s->order->secret_n > HELPER_SECRETS_MAX)
		return -E2BIG;
	if (pipe2(s->secrets, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	for (i = 0; r == 0 && i < s->order->secret_n; i++, c++) {
		if (c->value->len > HELPER_SECRET_LEN_MAX || strlen(c->name) > 254)
			return -E2BIG;
		r = fd_write_all(s->secrets[1], c->name, strlen(c->name));
		if (r == 0)
			r = fd_write_all(s->secrets[1], "=", 1);
		if (r == 0)
			r = fd_write_all(
			    s->secrets[1], c->value->bytes, c->value->len + 1);
	}
	/* the child reads to the end, and waits for the rest */
	return r == 0 ? fd_nonblock(s->secrets[0], false) : r;
}

static int
helper_pipes(struct start *s)
{
	int r;

	if (pipe2(s->out, O_CLOEXEC) < 0 ||
	    (s->order->asked && pipe2(s->in, O_CLOEXEC) < 0))
		return -errno;
	r = fd_nonblock(s->out[0], true);
	return r == 0 && s->order->asked ? fd_nonblock(s->in[1], true) : r;
}

static void
start_close(int pipe[2])
{
	fd_close(&pipe[0]);
	fd_close(&pipe[1]);
}

int
helper_run(struct helper *h, const struct helper_order *order)
{
	struct start s = {.order = order, .in = {-1, -1}, .out = {-1, -1}};
	pid_t self = getpid();
	int r;

	s.secrets[0] = s.secrets[1] = -1;
	if (!helper_confine_possible())
		return -EOPNOTSUPP;
	r = helper_environ(&s);
	if (r == 0)
		r = helper_pipes(&s);
	if (r == 0)
		r = helper_secrets(&s);
	if (r < 0)
		goto out;
	h->pid = fork();
	if (h->pid == 0)
		helper_start(&s, self);
	if (h->pid < 0) {
		r = -errno;
		goto out;
	}
	h->out = s.out[0];
	h->in = s.in[1];
	s.out[0] = s.in[1] = -1;
	h->pidfd = (int)syscall(SYS_pidfd_open, h->pid, 0);
	if (h->pidfd < 0)
		r = -errno;
out:
	start_close(s.in);
	start_close(s.out);
	start_close(s.secrets);
	return r;
}

/* Kills the helper's process group while the helper itself, dead or not, still
 * reserves the group's id. */
void
helper_end(struct helper *h)
{
	if (h->pid > 0) {
		(void)kill(-h->pid, SIGKILL); /* ESRCH: all gone */
		(void)kill(h->pid, SIGKILL);  /* its group may not exist yet */
		while (waitpid(h->pid, &h->status, 0) < 0 && errno == EINTR)
			;
	}
	h->pid = -1;
	fd_close(&h->pidfd);
	fd_close(&h->in);
	fd_close(&h->out);
}

/* Describes how it ended, without any of its output. */
int
helper_told(const struct helper *h, int r, char *how, size_t how_cap)
{
	if (r == -ETIMEDOUT || h->timed_out)
		(void)snprintf(how, how_cap, "timed out");
	else if (r == -EOPNOTSUPP)
		(void)snprintf(
		    how, how_cap, "cannot be confined: this kernel has no Landlock");
	else if (r == -EFBIG)
		(void)snprintf(how, how_cap, "printed more than 64 KiB");
	else if (r < 0)
		(void)snprintf(
		    how, how_cap, "failed while its output was read: %s", strerror(-r));
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
