/*
 * Confines the shim, in this order: no new privileges, Landlock, seccomp.
 *
 * Process: the shim, PID 1 of the cell, before the server exists.  Trusts the
 * plan.  Must never continue after one of these failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/private.h"

/* Newer than some versions of linux/seccomp.h and linux/landlock.h. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#define RULE_PATH_BENEATH 1

struct ruleset_attr {
	uint64_t handled_fs, handled_net, scoped;
};
struct path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

int
doors_privs(const struct shim_plan *plan, const char **ret_detail)
{
	struct pollfd p = {.fd = SHIM_CHANNEL_FD, .events = 0};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* exec may have cleared it; and the leash may already have ended */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || poll(&p, 1, 0) < 0)
		return -errno;
	return (p.revents & (POLLHUP | POLLERR)) != 0 ? -EPIPE : 0;
}

static int
add_rule(int ruleset, const struct shim_rule *rule)
{
	struct path_attr attr = {.allowed = rule->allowed_fs};
	int r = 0;

	attr.parent_fd = open(rule->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	/* a missing optional path: one right less */
	if (attr.parent_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0) < 0)
		r = -errno;
	close(attr.parent_fd);
	return r;
}

int
doors_landlock(const struct shim_plan *plan, const char **ret_detail)
{
	const struct ruleset_attr attr = {
	    plan->handled_fs, plan->handled_net, plan->scoped};
	int ruleset, r = 0;

	if ((attr.handled_fs | attr.handled_net | attr.scoped) == 0)
		return 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return -errno;
	for (uint32_t i = 0; r == 0 && i < plan->rule_n; i++) {
		r = add_rule(ruleset, &plan->rule[i]);
		if (r != 0)
			*ret_detail = plan->rule[i].path;
	}
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = -errno;
	close(ruleset);
	return r;
}

/*
 * WAIT_KILLABLE_RECV, so that a flood of signals cannot restart an exec again
 * and again while it is judged.  Kernels without it are not supported.
 */
int
doors_seccomp(const struct shim_plan *plan, int *ret_notify)
{
	struct sock_fprog prog = {
	    .len = (unsigned short)(plan->filter.len / sizeof(struct sock_filter)),
	    .filter = (struct sock_filter *)(uintptr_t)plan->filter.data};
	long fd;

	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
	    &prog);
	if (fd < 0)
		return -errno;
	*ret_notify = (int)fd;
	return 0;
}
