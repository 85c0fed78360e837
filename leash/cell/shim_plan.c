/*
 * The plan: the message to the shim (shim/shim.h), and the descriptor that the shim
 * returns.  Process: the leash.  The vault appends the environment, which contains
 * the secrets.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/fd.h"

#define PLAN_SEND_MS_MAX 5000

#if defined(__x86_64__)
#define PLAN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define PLAN_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter is compiled for this machine"
#endif

/* linux/seccomp.h: SECCOMP_IOCTL_NOTIF_ID_VALID */
#define PLAN_ID_VALID _IOW('!', 2, uint64_t)

_Static_assert(sizeof(struct sealed_insn) == sizeof(struct sock_filter),
    "the sealed file holds what the kernel takes");

static const char *const step_names[SHIM_STEP_END] = {
    [SHIM_STEP_PLAN] = "read the plan",
    [SHIM_STEP_PRIVS] = "drop privileges",
    [SHIM_STEP_LANDLOCK] = "confine files by Landlock",
    [SHIM_STEP_SECCOMP] = "filter system calls",
    [SHIM_STEP_FORK] = "fork",
    [SHIM_STEP_CWD] = "enter the working directory",
    [SHIM_STEP_EXEC] = "start the server",
    [SHIM_STEP_START] = "start the shim",
};

const char *
shim_step_name(uint32_t step)
{
	if (step >= SHIM_STEP_END || step_names[step] == NULL)
		return "take an unknown step";
	return step_names[step];
}

static void
put_rule(struct wire_out *out, const char *path, uint64_t fs)
{
	if (out == NULL)
		return;
	wire_put_str(out, path);
	wire_put_u64(out, fs);
}

/* Counts first, because the count precedes the rules. */
static uint32_t
put_rules(const struct cell_order *o, uint64_t handled, struct wire_out *out)
{
	const struct sealed_mount *m;
	char path[CELL_PATH_MAX];
	uint32_t count = 0;
	uint64_t fs;
	size_t n;

	m = cell_mounts(o, &n);
	for (size_t i = 0; i < n; i++) {
		const char *target = policy_str(o->policy, m[i].target);

		fs = landlock_rights(&m[i], handled);
		if (fs != 0) {
			count++;
			put_rule(out, target, fs);
		}
		for (size_t d = 0; m[i].kind == MOUNT_DEV && synthetic_device_name(d);
		     d++) {
			count++;
			snprintf(path, sizeof(path), "%s/%s", target,
			    synthetic_device_name(d));
			put_rule(out, path, landlock_device_rights(handled));
		}
		if (m[i].kind == MOUNT_DEV && (o->server->flags & SERVER_TTY) != 0) {
			count++;
			snprintf(path, sizeof(path), "%s/pts", target);
			put_rule(out, path, landlock_tty_rights(handled));
		}
	}
	return count;
}

const struct sealed_filter *
cell_filter(const struct cell_order *o)
{
	const struct sealed_filter *f = o->policy->filter + o->server->filters.first;

	for (uint32_t i = 0; i < o->server->filters.n; i++)
		if (f[i].arch == PLAN_ARCH)
			return &f[i];
	return NULL;
}

static void
put_filter(const struct cell_order *o, const struct sealed_insn *insn, size_t n,
    struct wire_out *out)
{
	static struct sealed_insn watching[WATCHED_INSNS_MAX];

	if (o->watched_n > 0) {
		n = watched_filter(insn, n, o->watched, o->watched_n, watching);
		insn = watching;
		if (n == 0)
			out->error = -E2BIG;
	}
	wire_put_bytes(out, insn, n * sizeof(*insn));
}

int
cell_plan(const struct cell_order *o, const char *path, const char *const *argv,
    size_t argc, struct wire_out *out)
{
	const struct sealed_filter *f = cell_filter(o);
	const struct policy *tables;
	struct cell_landlock l;
	uint32_t rules;

	if (f == NULL)
		return -ENOEXEC;
	tables = policy_filter_tables(o->policy, &f);
	cell_landlock_probe(&l);
	rules = put_rules(o, l.handled_fs, NULL);
	if (rules > SHIM_RULES_MAX || argc > SHIM_ARGS_MAX)
		return -E2BIG;
	wire_put_u32(out, SHIM_VERSION);
	wire_put_u64(out, l.handled_fs);
	wire_put_u64(out, 0); /* TCP: see landlock.c */
	wire_put_u64(out, l.scoped);
	wire_put_u32(out, rules);
	put_rules(o, l.handled_fs, out);
	put_filter(o, tables->insn + f->insns.first, f->insns.n, out);
	wire_put_str(out, policy_str(o->policy, o->server->cwd));
	wire_put_str(out, path);
	wire_put_u32(out, (uint32_t)argc);
	for (size_t i = 0; i < argc; i++)
		wire_put_str(out, argv[i]);
	return out->error;
}

/* The channel must not block the leash's loop; here it may, for a while. */
static int
send_one(int channel, const struct wire_out *out, const int *fds, size_t fds_n)
{
	struct pollfd p = {.fd = channel, .events = POLLOUT};
	int r;

	for (;;) {
		r = wire_send(channel, out, fds, fds_n);
		if (r != -EAGAIN)
			return r;
		if (poll(&p, 1, PLAN_SEND_MS_MAX) == 0)
			return -ETIMEDOUT;
	}
}

int
cell_send_plan(
    struct cell *cell, const struct wire_out *plan, const int *files, size_t files_n)
{
	uint8_t memory[8];
	struct wire_out head;
	size_t off;
	int r;

	if (plan->error != 0)
		return plan->error;
	if (plan->len > SHIM_PLAN_MAX)
		return -EMSGSIZE;
	wire_out_init(&head, memory, sizeof(memory));
	wire_put_u32(&head, SHIM_PLAN);
	wire_put_u32(&head, (uint32_t)plan->len);
	r = send_one(cell->channel, &head, files, files_n);
	for (off = 0; r == 0 && off < plan->len; off += SHIM_PACKET_MAX) {
		struct wire_out part = {.data = plan->data + off,
		    .len = plan->len - off,
		    .cap = plan->len - off};

		if (part.len > SHIM_PACKET_MAX)
			part.len = SHIM_PACKET_MAX;
		r = send_one(cell->channel, &part, NULL, 0);
	}
	return r;
}

int
cell_notify_fd(struct cell *cell, uint32_t number, int *ret_fd)
{
	uint64_t none = 0;
	int fd;

	if (number > INT32_MAX)
		return -EBADMSG;
	/* Allowed in the leash's own sandbox: a process that may ptrace the shim, as
	 * its leash does, gains nothing by it. */
	/* syscalls: pidfd_getfd */
	fd = (int)syscall(SYS_pidfd_getfd, cell->pidfd, (int)number, 0);
	if (fd < 0)
		return -errno;
	/* Only a notify descriptor reports an unknown notification id. */
	/* syscalls: ioctl */
	if (ioctl(fd, PLAN_ID_VALID, &none) == 0 || errno != ENOENT) {
		fd_close(&fd);
		return -EBADMSG;
	}
	*ret_fd = fd;
	return 0;
}
