/*
 * Starts a leash, sends it the launch order, receives its reports.
 *
 * Process: kennel. The leash's environment is built from nothing: the variables that
 * the policy passes on, and those of secrets "from env", which are then removed from
 * this process. This code reads no value: the kernel copies them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/launch/leash_client.h"

#define ENVS_MAX     1024
#define STARTED_FDS  3
#define REAP_WAIT_MS 3000

extern char **environ;

/* The entry NAME=value of our own environment, or NULL. */
static char *
environ_entry(const char *name)
{
	size_t len = strlen(name);

	for (char **e = environ; e != NULL && *e != NULL; e++)
		if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
			return *e;
	return NULL;
}

static bool
already_in(char *const *envp, size_t n, const char *entry)
{
	for (size_t i = 0; i < n; i++)
		if (envp[i] == entry)
			return true;
	return false;
}

/* Collects pointers into our environment for the variables that the policy names, and
 * no others. */
static int
leash_environment(const struct child_order *order, char **envp, size_t cap)
{
	const struct policy *p = order->policy;
	struct sealed_range envs = order->server->envs;
	struct sealed_range secrets = order->server->secrets;
	char *debug = environ_entry("KENNEL_DEBUG");
	size_t n = 0;

	if ((size_t)envs.n + secrets.n + 4 > cap)
		return -E2BIG;
	if (debug != NULL)
		envp[n++] = debug;
	if (order->run_at != NULL)
		envp[n++] = (char *)order->run_at;
	if (order->trace_at != NULL)
		envp[n++] = (char *)order->trace_at;
	for (uint32_t i = envs.first; i < envs.first + envs.n; i++) {
		char *entry = p->env[i].passed != 0
				  ? environ_entry(policy_str(p, p->env[i].name))
				  : NULL;

		if (entry != NULL && !already_in(envp, n, entry))
			envp[n++] = entry;
	}
	for (uint32_t i = secrets.first; i < secrets.first + secrets.n; i++) {
		char *entry = p->secret[i].source == SOURCE_ENV
				  ? environ_entry(policy_str(p, p->secret[i].ref))
				  : NULL;

		if (entry != NULL && !already_in(envp, n, entry))
			envp[n++] = entry;
	}
	envp[n] = NULL;
	return 0;
}

/* Erases the secrets' variables in place, so that neither getenv nor
 * /proc/PID/environ of this process has them any more. */
static void
forget_secrets(const struct child_order *order)
{
	struct sealed_range secrets = order->server->secrets;

	for (uint32_t i = secrets.first; i < secrets.first + secrets.n; i++) {
		const struct sealed_secret *row = &order->policy->secret[i];
		const char *name = policy_str(order->policy, row->ref);
		char *entry;

		if (row->source != SOURCE_ENV || (entry = environ_entry(name)) == NULL)
			continue;
		explicit_bzero(
		    entry + strlen(name) + 1, strlen(entry + strlen(name) + 1));
		(void)unsetenv(name); /* it exists */
	}
}

static int
spawn_actions(posix_spawn_file_actions_t *actions, int channel)
{
	int e = posix_spawn_file_actions_init(actions);

	if (e == 0)
		e = posix_spawn_file_actions_addopen(
		    actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	/* a leash must not have the agent's stdout */
	if (e == 0)
		e = posix_spawn_file_actions_addopen(
		    actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (e == 0)
		e = posix_spawn_file_actions_adddup2(actions, channel, LEASH_CHANNEL_FD);
	return -e;
}

static int
spawn_leash(const struct child_order *order, int channel, pid_t *ret_pid)
{
	char *argv[] = {(char *)"kennel-leash", NULL};
	char *envp[ENVS_MAX];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int e, r;

	r = leash_environment(order, envp, ENVS_MAX);
	if (r < 0)
		return r;
	r = spawn_actions(&actions, channel);
	if (r < 0)
		return r;
	sigemptyset(&none);
	sigfillset(&all);
	e = posix_spawnattr_init(&attr);
	if (e == 0)
		e = posix_spawnattr_setsigmask(&attr, &none);
	if (e == 0)
		e = posix_spawnattr_setsigdefault(&attr, &all);
	/* a session of its own: a terminal's ^C goes to kennel, which then ends the
	 * server in order */
	if (e == 0)
		e = posix_spawnattr_setflags(&attr,
		    POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	/* syscalls: clone clone3 vfork execve dup2 setsid openat */
	if (e == 0)
		e = posix_spawn(ret_pid, order->leash, &actions, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -e;
}

static void
put_approves(struct wire_out *out, const struct child_order *order)
{
	uint32_t n = order->approve == NULL ? 0 : order->server->secrets.n;

	wire_put_u32(out, n);
	for (uint32_t i = 0; i < n; i++)
		wire_put_u32(out, order->approve[i]);
}

int
child_placeholders_draw(struct child_placeholders *p)
{
	/* syscalls: getrandom */
	ssize_t n = getrandom(p->seed, sizeof(p->seed), 0);

	return n == (ssize_t)sizeof(p->seed) ? 0 : n < 0 ? -errno : -EIO;
}

static bool
is_real(const struct child_placeholders *p, const char *name)
{
	for (size_t i = 0; i < p->real_n; i++)
		if (strcmp(p->real[i], name) == 0)
			return true;
	return false;
}

static void
put_placeholders(struct wire_out *out, const struct child_order *order)
{
	const struct child_placeholders *p = order->placeholders;
	struct sealed_range rows = order->server->secrets;

	wire_put_u32(out, p != NULL);
	if (p == NULL)
		return;
	wire_put_bytes(out, p->seed, sizeof(p->seed));
	wire_put_u32(out, rows.n);
	for (uint32_t i = 0; i < rows.n; i++) {
		const struct sealed_secret *row = &order->policy->secret[rows.first + i];
		const char *format = order->format == NULL ? NULL : order->format[i];

		wire_put_u32(out, is_real(p, policy_str(order->policy, row->name)));
		wire_put_str(out, format == NULL ? "" : format);
	}
}

static int
send_launch(const struct child_order *order, int channel)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	int fds[3] = {order->policy_fd, order->recorder_fd, order->log_dir_fd};
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_LAUNCH);
	wire_put_u32(&out, LEASH_VERSION);
	wire_put_u32(&out, order->copy > 0 ? LEASH_LEARN : order->mode);
	wire_put_str(&out, policy_str(order->policy, order->server->name));
	wire_put_str(&out, order->session);
	wire_put_u32(&out, (uint32_t)order->argc);
	for (int i = 0; i < order->argc; i++)
		wire_put_str(&out, order->argv[i]);
	put_approves(&out, order);
	wire_put_u32(&out, order->stale);
	put_placeholders(&out, order);
	return wire_send(channel, &out, fds, 3);
}

/* ---- the start -------------------------------------------------------------- */

static int
take_started(struct child *c, struct wire_in *in, const int *fds, size_t fds_n,
    enum leash_mode mode)
{
	const char *lacks;

	(void)wire_get_u32(in); /* the pid, only for people who debug the channel */
	lacks = wire_get_str(in, LEASH_TEXT_MAX - 1);
	if (wire_end(in) < 0 ||
	    fds_n != (mode == LEASH_RUN || mode == LEASH_CALL ? 2 : 3))
		return -EBADMSG;
	(void)snprintf(c->lacks, sizeof(c->lacks), "%s", lacks);
	c->server_in = fds[0];
	c->server_out = fds[1];
	c->server_err = fds_n > 2 ? fds[2] : -1;
	return 0;
}

static int
take_resolved(const struct child_order *order, struct wire_in *in)
{
	uint32_t n = wire_get_u32(in), state, status;

	if (order->resolved == NULL || n > LEASH_RESOLVED_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++) {
		struct child_resolved *to = &order->resolved[i];
		const char *why;

		state = wire_get_u32(in);
		status = wire_get_u32(in);
		why = wire_get_str(in, LEASH_RESOLVED_WHY - 1);
		if (in->error != 0 || state == 0 || state >= RESOLVED_END || status > 255)
			return -EBADMSG;
		to->state = (enum leash_resolved)state;
		to->status = (int)status;
		(void)snprintf(to->why, sizeof(to->why), "%s", why); /* fits */
	}
	return wire_end(in) < 0 ? -EBADMSG : 0;
}

static int
take_refused(struct wire_in *in, const struct child_order *order, enum leash_message type,
    int *ret_status, char *why)
{
	uint32_t status = wire_get_u32(in), cause = wire_get_u32(in);
	const char *variable = wire_get_str(in, LEASH_VARIABLE_MAX - 1);
	const char *path = wire_get_str(in, LEASH_PATH_MAX - 1);
	const char *text = wire_get_str(in, LEASH_TEXT_MAX - 1);
	struct leash_refused *to = order->refused;

	if (wire_end(in) < 0 || cause >= LEASH_CAUSE_END)
		return -EBADMSG;
	if (to != NULL) {
		to->cause = (enum leash_cause)cause;
		(void)snprintf(to->variable, sizeof(to->variable), "%s", variable);
		(void)snprintf(to->path, sizeof(to->path), "%s", path); /* both fit */
	}
	*ret_status = status > 0 && status < 256 ? (int)status : LOG_EXIT_FAILED;
	(void)snprintf(why, LEASH_TEXT_MAX, "%s", text);
	return type == LEASH_STALE ? -ESTALE : -ECONNREFUSED;
}

/* Reads the first answer: started, resolved or refused; or an approval request (1). */
static int
first_answer(struct child *c, const struct child_order *order, struct child_news *news,
    int *ret_status, char *why)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	int fds[STARTED_FDS] = {-1, -1, -1};
	size_t len = 0, fds_n = 0;
	struct wire_in in;
	uint32_t type;
	int r;

	r = wire_recv(c->channel, memory, sizeof(memory), &len, fds, STARTED_FDS, &fds_n);
	if (r < 0)
		return r;
	wire_in_init(&in, memory, len);
	type = wire_get_u32(&in);
	if (type == LEASH_STARTED && order->resolved == NULL)
		r = take_started(c, &in, fds, fds_n, order->mode);
	else if (type == LEASH_RESOLVED)
		r = take_resolved(order, &in);
	else if (type == LEASH_USE && news != NULL)
		r = child_read(&in, type, news) < 0 ? -EBADMSG : 1;
	else
		r = type == LEASH_REFUSED || type == LEASH_STALE
			? take_refused(&in, order, type, ret_status, why)
			: -EBADMSG;
	if (r != 0)
		for (size_t i = 0; i < STARTED_FDS; i++)
			fd_close(&fds[i]);
	return r;
}

int
child_spawn(const struct child_order *order, struct child *ret)
{
	struct child c = CHILD_NONE;
	int pair[2] = {-1, -1}, r;

	r = fd_pair(pair);
	if (r < 0)
		return r;
	c.copy = order->copy;
	c.channel = pair[0];
	r = spawn_leash(order, pair[1], &c.pid);
	forget_secrets(order);
	fd_close(&pair[1]);
	if (r < 0) {
		child_free(&c);
		return r;
	}
	*ret = c;
	return 0;
}

int
child_order(const struct child_order *order, struct child *c)
{
	int r = send_launch(order, c->channel);

	return r == 0 ? fd_nonblock(c->channel, true) : r;
}

int
child_first(const struct child_order *order, struct child *c, struct child_news *ret_news,
    int *ret_status, char why[LEASH_TEXT_MAX])
{
	return first_answer(c, order, ret_news, ret_status, why);
}

int
child_launch(const struct child_order *order, int wait_ms, struct child *c,
    int *ret_status, char why[LEASH_TEXT_MAX])
{
	struct pollfd wait = {c->channel, POLLIN, 0};
	int ended, r;

	*ret_status = LOG_EXIT_FAILED;
	(void)snprintf(why, LEASH_TEXT_MAX, "kennel-leash does not answer");
	r = child_order(order, c);
	if (r == 0 && poll(&wait, 1, wait_ms) <= 0)
		r = -ETIMEDOUT;
	if (r == 0)
		r = first_answer(c, order, NULL, ret_status, why);
	if (r == -EPIPE)
		child_lost(c, why, &ended);
	if (r < 0)
		child_free(c);
	return r;
}

static int
child_send(struct child *c, enum leash_message type, uint32_t value)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	wire_put_u32(&out, value);
	return wire_send(c->channel, &out, NULL, 0);
}

int
child_signal(struct child *c, int sig)
{
	return child_send(c, LEASH_SIGNAL, (uint32_t)sig);
}

int
child_end(struct child *c, uint32_t grace_ms)
{
	return child_send(c, LEASH_END, grace_ms);
}

int
child_recorder(struct child *c, int fd)
{
	uint8_t memory[8];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_RECORDER);
	return wire_send(c->channel, &out, &fd, 1);
}

int
child_said(struct child *c, uint32_t number, enum leash_answer answer, const char *who)
{
	uint8_t memory[128];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_ANSWER);
	wire_put_u32(&out, number);
	wire_put_u32(&out, answer);
	wire_put_str(&out, who);
	return wire_send(c->channel, &out, NULL, 0);
}

/* The packet as it is: its reader is child_read again. */
static void
copy_news(struct child *c, enum leash_message type, uint8_t *memory, size_t len)
{
	const struct wire_out out = {.data = memory, .len = len, .cap = len};

	if (type != LEASH_JUDGED && type != LEASH_UNREACHED && type != LEASH_NAMED)
		return;
	if (wire_send(c->copy, &out, NULL, 0) < 0)
		c->copy = 0; /* the reader is gone: the server goes on */
}

int
child_answer(struct child *c, struct child_news *ret)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct wire_in in;
	size_t len = 0;
	int r;

	r = wire_recv(c->channel, memory, sizeof(memory), &len, NULL, 0, NULL);
	if (r < 0)
		return r;
	wire_in_init(&in, memory, len);
	r = child_read(&in, wire_get_u32(&in), ret);
	if (r == 0 && c->copy > 0)
		copy_news(c, ret->type, memory, len);
	return r;
}

/* Waits for the leash and returns its wait status. If it does not exit, kills it and
 * thereby its cell: *ret_killed. */
static int
reap_leash(pid_t pid, bool *ret_killed)
{
	/* syscalls: pidfd_open wait4 kill */
	struct pollfd end = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
	bool killed = end.fd < 0 || poll(&end, 1, REAP_WAIT_MS) <= 0;
	int status = 0;

	if (killed)
		(void)kill(pid, SIGKILL); /* not reaped: the pid is still its own */
	fd_close(&end.fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	*ret_killed = killed;
	return status;
}

void
child_lost(struct child *c, char why[CAUSE_MAX], int *ret_status)
{
	bool killed = false;
	int status = 0;

	fd_close(&c->channel);
	if (c->pid > 0)
		status = reap_leash(c->pid, &killed);
	c->pid = -1;
	if (killed)
		(void)snprintf(why, CAUSE_MAX,
		    "kennel-leash closed its channel and did not end: it was killed");
	else
		(void)cause_text(why, CAUSE_MAX, "kennel-leash", status); /* why itself */
	*ret_status = status;
}

void
child_free(struct child *c)
{
	bool killed;

	fd_close(&c->server_in);
	fd_close(&c->server_out);
	fd_close(&c->server_err);
	/* the leash sees its channel close, kills the cell and exits */
	fd_close(&c->channel);
	if (c->pid > 0)
		(void)reap_leash(c->pid, &killed); /* it was ending anyway */
	c->pid = -1;
}

int
exit_status(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return LOG_EXIT_FAILED;
}
