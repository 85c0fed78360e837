/*
 * Reads values: from a variable, a file, or the output of a helper.
 *
 * Process: the leash, before its loop and before it sandboxes itself.  Each value
 * is read directly into the vault's pages.  A helper (helper.c) is trusted with its
 * own value only.  Output of a failed helper is never shown, because it may be the
 * value.
 *
 * No call of this file is in the leash's allow-list.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leash/vault/helper.h"
#include "leash/vault/open_checked.h"
#include "leash/vault/private.h"
#include "shim/base/fd.h"

extern char **environ;

/* A value being read. */
struct intake {
	struct vault *vault;
	struct secret *secret; /* open in the vault */
	size_t len;            /* bytes so far */
	size_t cap;            /* maximum */
};

static int
intake_open(struct intake *in, struct vault *v)
{
	*in = (struct intake){.vault = v};
	return value_open(v, &in->secret, &in->cap);
}

/* Reads once.  1 at the end, 0 if there may be more, or -errno. */
static int
intake_read(struct intake *in, int fd)
{
	ssize_t n;

	if (in->len == in->cap)
		return in->cap > VAULT_VALUE_MAX ? -EFBIG : -ENOMEM;
	n = read(fd, in->secret->bytes + in->len, in->cap - in->len);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	in->len += (size_t)n;
	return n == 0;
}

static int
intake_close(struct intake *in, bool chomp, const char **ret_what)
{
	if (chomp && in->len > 0 && in->secret->bytes[in->len - 1] == '\n')
		in->len--;
	return value_close(in->vault, in->secret, in->len, ret_what);
}

/* ---- env ----------------------------------------------------------------- */

/* The value in this process's environment, or NULL. */
static char *
environ_find(const char *variable)
{
	size_t len = strlen(variable);
	char **e;

	for (e = environ; e != NULL && *e != NULL; e++)
		if (strncmp(*e, variable, len) == 0 && (*e)[len] == '=')
			return *e + len + 1;
	return NULL;
}

/* Removes it from the environment and from the memory that /proc/PID/environ shows. */
static void
environ_take(const char *variable)
{
	char *value;

	while ((value = environ_find(variable)) != NULL) {
		vault_wipe(value, strlen(value));
		if (unsetenv(variable) < 0)
			return;
	}
}

int
secret_from_env(
    struct vault *v, const char *variable, struct secret **ret, struct reason *why)
{
	struct secret *s = value_of_variable(v, variable);
	const char *what = "does not fit into the vault";
	struct intake in;
	char *value, *name = NULL;
	int r;

	if (s != NULL) {
		*ret = s;
		return 0;
	}
	if (*variable == '\0' || strchr(variable, '=') != NULL)
		return reason_set(
		    why, -EINVAL, "invalid name of an environment variable");
	r = -ENOENT;
	value = environ_find(variable);
	if (value == NULL) {
		what = "is not set: set it in the entry of this server in the agent's "
		       "configuration, or where kennel is started";
		goto out;
	}
	r = -ENOMEM;
	name = vault_name(v, variable);
	if (name == NULL || intake_open(&in, v) < 0)
		goto out;
	in.len = strlen(value);
	if (in.len > in.cap) {
		r = in.cap > VAULT_VALUE_MAX ? -EFBIG : -ENOMEM;
		what = r == -EFBIG ? "is bigger than 64 KiB" : what;
		goto out;
	}
	memcpy(in.secret->bytes, value, in.len);
	r = intake_close(&in, false, &what);
	if (r < 0)
		goto out;
	in.secret->variable = name;
	*ret = in.secret;
out:
	environ_take(variable);
	if (r < 0)
		(void)reason_set(why, r, "environment variable %s %s", variable, what);
	return r;
}

/* ---- file ---------------------------------------------------------------- */

/* May a value come from this open file?  If not, says why. */
static int
file_judge(int fd, const char **ret_what, mode_t *ret_mode)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_mode = st.st_mode & 07777;
	if (!S_ISREG(st.st_mode)) {
		*ret_what = "is not a regular file";
		return -EACCES;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		*ret_what = "belongs to another user";
		return -EACCES;
	}
	if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		*ret_what = "is open to its group or to others (chmod 600)";
		return -EACCES;
	}
	if (st.st_size > (off_t)VAULT_VALUE_MAX + 1) {
		*ret_what = "is bigger than 64 KiB";
		return -EFBIG;
	}
	return 0;
}

int
secret_from_file(
    struct vault *v, const char *path, struct secret **ret, struct reason *why)
{
	const char *what = NULL;
	struct intake in = {0};
	mode_t mode = 0;
	struct reason wrong = {0};
	char shown[24] = "";
	int r, fd = -1;

	r = open_checked_file(v, path, &fd, &wrong);
	if (r < 0) {
		what = wrong.text;
		goto out;
	}
	r = file_judge(fd, &what, &mode);
	(void)snprintf(shown, sizeof(shown), " (mode %04o)", (unsigned int)mode);
	if (r < 0)
		goto out;
	r = intake_open(&in, v);
	if (r < 0)
		goto out;
	while (r == 0)
		r = intake_read(&in, fd);
	if (r > 0)
		r = intake_close(&in, true, &what);
	else
		value_drop(v, in.secret, in.len);
	if (r == 0)
		*ret = in.secret;
out:
	fd_close(&fd);
	if (r < 0)
		(void)reason_set(why, r, "file %s%s %s", path, shown,
		    what != NULL ? what : strerror(-r));
	return r;
}

/* ---- cmd ----------------------------------------------------------------- */

static int64_t
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads what is in the pipe now.  1 at its end, 0 if there may be more, or -errno. */
static int
helper_drain(struct helper *h, struct intake *in)
{
	int r;

	do
		r = intake_read(in, h->out);
	while (r == 0);
	return r == -EAGAIN ? 0 : r;
}

/*
 * Reads until the helper is gone.  Does not wait for a grandchild that keeps the
 * pipe open: the content of the pipe when the helper ends is its reply.
 */
static int
helper_hear(struct helper *h, struct intake *in, int64_t wait_ms)
{
	int64_t end = now_ms() + wait_ms, left;
	struct pollfd p[2] = {
	    {.fd = h->pidfd, .events = POLLIN}, {.fd = h->out, .events = POLLIN}};
	int r;

	for (;;) {
		left = end - now_ms();
		if (left <= 0) {
			h->timed_out = true;
			return -ETIMEDOUT;
		}
		if (poll(p, 2, (int)left) < 0 && errno != EINTR)
			return -errno;
		/* Read again after the poll that reported the end: nothing is missed. */
		if (p[1].fd >= 0) {
			r = helper_drain(h, in);
			if (r < 0)
				return r;
			if (r > 0)
				p[1].fd = -1;
		}
		if (p[0].revents != 0)
			return 0;
	}
}

/* Keeps the first of several lines. */
static void
intake_first_line(struct intake *in)
{
	const char *end = memchr(in->secret->bytes, '\n', in->len);
	size_t keep = end == NULL ? in->len : (size_t)(end - in->secret->bytes);

	vault_wipe(in->secret->bytes + keep, in->len - keep);
	in->len = keep;
}

int
secret_from_cmd(struct vault *v, const char *const *argv, unsigned int may,
    const struct plugin_credential *credential, size_t n, struct secret **ret,
    struct reason *why)
{
	struct helper_order order = {
	    .argv = argv, .may = may, .secret = credential, .secret_n = n, .image = -1};

	return secret_from_program(v, &order, VAULT_CMD_WAIT_MS, ret, why);
}

int
secret_from_program(struct vault *v, const struct helper_order *order, int64_t wait_ms,
    struct secret **ret, struct reason *why)
{
	const char *const *argv = order->argv;
	struct helper_order judged = *order;
	unsigned int may = order->may;
	struct helper h = HELPER_NONE;
	struct intake in = {0};
	const char *what = NULL;
	struct reason wrong = {0};
	char how[96] = "";
	int r;

	if (argv[0] == NULL)
		return reason_set(why, -EINVAL, "helper has no absolute path");
	/* Before the fork, so that a missing program is reported as such. */
	r = open_checked_program(v, argv[0], &judged.image, &wrong);
	if (r == 0)
		r = open_checked_args(v, argv, &wrong);
	if (r < 0) {
		(void)reason_set(why, r, "helper %s %s", argv[0], wrong.text);
		goto out;
	}
	r = intake_open(&in, v);
	if (r < 0) {
		(void)reason_set(why, r, "helper %s: the vault is full", argv[0]);
		goto out;
	}
	r = helper_run(&h, &judged);
	if (r == 0)
		r = helper_hear(&h, &in, wait_ms);
	helper_end(&h);
	r = helper_told(&h, r, how, sizeof(how));
	if (r == -EIO && WIFEXITED(h.status))
		why->status = WEXITSTATUS(h.status);
	if (r < 0)
		value_drop(v, in.secret, in.len);
	else {
		if ((may & SECRET_CMD_FIRST_LINE) != 0)
			intake_first_line(&in);
		r = intake_close(&in, true, &what);
	}
	if (r < 0)
		(void)reason_set(why, r, "helper %s %s%s%s", argv[0],
		    what != NULL ? "exited with status 0, but its output " : "", how,
		    what != NULL ? what : "");
	else
		*ret = in.secret;
out:
	fd_close(&judged.image);
	return r;
}
