/*
 * Namespaces and ids: the id the server runs as, the maps that make it exist in the
 * cell, and what ties the cell to its leash.
 *
 * Process: the first two functions run in the leash, the rest in its child.  Must
 * never map an id that neither the policy nor the caller named, or let the server
 * be the host's uid 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/host/passwd_line.h"

#define NS_PASSWD_MAX (1u << 20)
#define NS_NOBODY     65534
#define NS_PROC_MAGIC 0x9fa0
#define NS_HOST_NAME  "kennel"

/* ---- choosing the id ----------------------------------------------------- */

/*
 * The static C library cannot load the host's name services, and a process that
 * will hold secrets should not.  So this reads /etc/passwd and nothing else.
 */
static int
passwd_find(const char *user, struct cell_ids *ret)
{
	char *text = NULL, *line, *end, field[64];
	uint32_t wanted = 0, uid, gid;
	bool by_number = colon_number(user, &wanted);
	size_t len = 0;
	int fd, r;

	fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : fd_slurp(fd, NS_PASSWD_MAX, &text, &len);
	fd_close(&fd);
	if (r != 0)
		goto out;
	r = -ENOENT;
	for (line = text; line < text + len; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + len - line));
		if (end == NULL)
			end = text + len;
		if (!colon_field(line, end, 2, field, sizeof(field)) ||
		    !colon_number(field, &uid) ||
		    !colon_field(line, end, 3, field, sizeof(field)) ||
		    !colon_number(field, &gid))
			continue;
		if (by_number ? uid != wanted
			      : !colon_field(line, end, 0, field, sizeof(field)) ||
				    strcmp(field, user) != 0)
			continue;
		ret->uid = uid;
		ret->gid = gid;
		r = 0;
		break;
	}
	if (r == -ENOENT && by_number) { /* an id needs no name */
		ret->uid = wanted;
		ret->gid = wanted;
		r = 0;
	}
out:
	free(text);
	return r;
}

/* As root, a write grant without a user would write as an arbitrary user. */
static int
default_ids(const struct cell_order *o, struct cell_ids *ret, char why[CELL_WHY_MAX])
{
	const struct sealed_mount *m;
	struct cell_reason w = {.step = "choose a user for the server",
	    .object = "",
	    .reason = "kennel runs as root, and the server may write; name another user "
		      "with `user` in the policy"};
	size_t n;

	m = cell_mounts(o, &n);
	for (size_t i = 0; i < n; i++) {
		if (m[i].why != WHY_WRITE)
			continue;
		w.at = m[i].at;
		return cell_say(why, o->policy, -EPERM, &w);
	}
	ret->uid = NS_NOBODY;
	ret->gid = NS_NOBODY;
	return 0;
}

/* `require subuid`: subordinate ids that root has assigned to this user, so that
 * another process of the user cannot read the server's /proc/PID. */
static int
lent_ids(const struct cell_order *o, const struct sealed_require *required,
    struct cell_ids *ids, char why[CELL_WHY_MAX])
{
	struct cell_reason w = {
	    .step = "give the server", .object = "a subordinate uid", .at = required->at};
	struct subid lent;
	int r;

	if (ids->root) {
		w.reason = "root has none; choose a uid of its own for the server with "
			   "`user` instead";
		return cell_say(why, o->policy, -EOPNOTSUPP, &w);
	}
	r = subid_find(ids->uid, &lent, &w.reason);
	if (r != 0)
		return cell_say(why, o->policy, -EOPNOTSUPP, &w);
	ids->uid = lent.uid;
	ids->gid = lent.gid;
	ids->lent = true;
	return 0;
}

int
ns_choose_ids(const struct cell_order *o, struct cell_ids *ret, char why[CELL_WHY_MAX])
{
	const struct sealed_require *lent =
	    policy_require(o->policy, o->server, REQUIRE_SUBUID);
	const char *user = policy_str(o->policy, o->server->user);
	struct cell_reason w = {
	    .step = "run the server as", .object = user, .at = o->server->at};
	struct cell_ids ids = {
	    .uid = geteuid(), .gid = getegid(), .root = geteuid() == 0};
	struct cell_ids named = ids;
	int r = 0;

	if (user[0] != '\0') {
		r = passwd_find(user, &named);
		if (r != 0) {
			w.reason = r == -ENOENT ? "no such user in /etc/passwd" : NULL;
			return cell_say(why, o->policy, r, &w);
		}
	} else if (ids.root) {
		r = default_ids(o, &named, why);
		if (r != 0)
			return r;
	}
	if (!ids.root && named.uid != ids.uid) {
		w.reason = "only root may choose another user";
		return cell_say(why, o->policy, -EPERM, &w);
	}
	if (named.uid == 0 || (ids.root && named.gid == 0)) {
		w.reason = "a server never runs as root";
		return cell_say(why, o->policy, -EPERM, &w);
	}
	ids.uid = named.uid;
	if (ids.root)
		ids.gid = named.gid;
	if (lent != NULL)
		r = lent_ids(o, lent, &ids, why);
	if (r == 0)
		*ret = ids;
	return r;
}

/* ---- writing the maps, in the leash -------------------------------------- */

int
cell_put_at(int dir, const char *name, const char *text)
{
	int fd, r;

	fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, text, strlen(text));
	fd_close(&fd);
	return r;
}

/* Each id is mapped to itself. */
static int
put_maps(int dir, const struct cell_ids *ids)
{
	char text[64];
	int r = 0;

	/* Root's child drops its groups itself, and then cannot regain them. */
	if (!ids->root)
		r = cell_put_at(dir, "setgroups", "deny");
	snprintf(text, sizeof(text), "%u %u 1\n", ids->uid, ids->uid);
	if (r == 0)
		r = cell_put_at(dir, "uid_map", text);
	snprintf(text, sizeof(text), "%u %u 1\n", ids->gid, ids->gid);
	return r == 0 ? cell_put_at(dir, "gid_map", text) : r;
}

int
ns_write_maps(const struct cell *cell, const struct cell_ids *ids, const char **ret_why)
{
	const struct subid lent = {ids->uid, ids->gid};
	char text[64];
	struct statfs fs;
	int dir, r = 0;

	snprintf(text, sizeof(text), "/proc/%d", cell->pid);
	dir = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	/* Only we reap it, so the pid cannot have been reused.  The signal proves that
	 * the child was not reaped when the directory was opened. */
	if (fstatfs(dir, &fs) < 0 || fs.f_type != NS_PROC_MAGIC ||
	    syscall(SYS_pidfd_send_signal, cell->pidfd, 0, NULL, 0) < 0)
		r = -ESRCH;
	/* Inherited over exec: no core dump contains memory of the cell. */
	if (r == 0)
		r = cell_put_at(dir, "coredump_filter", "0");
	/* Shared memory does not count against the limits of a process.  Without a
	 * cgroup, the host's out-of-memory killer ends the cell first. */
	if (r == 0)
		r = cell_put_at(dir, "oom_score_adj", "1000");
	if (r == 0 && !ids->lent)
		r = put_maps(dir, ids);
	else if (r == 0)
		r = subid_map(cell->pid, &lent, ret_why);
	fd_close(&dir);
	return r;
}

/* ---- in the child -------------------------------------------------------- */

/*
 * 0 1 2 stdio, 3 the channel, 4 the shim; nothing else.  The six are first moved
 * out of each other's way.
 */
static int
place_fds(struct cell_child *c)
{
	const int from[] = {c->order->stdin_fd, c->order->stdout_fd, c->order->stderr_fd,
	    c->channel, c->shim_fd};
	int high[5];

	for (int i = 0; i < 5; i++) {
		high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 5);
		if (high[i] < 0)
			return -errno;
	}
	for (int i = 0; i < 5; i++)
		if (dup3(high[i], i, i == 4 ? O_CLOEXEC : 0) < 0)
			return -errno;
	c->channel = SHIM_CHANNEL_FD;
	c->shim_fd = SHIM_CHANNEL_FD + 1;
	return syscall(SYS_close_range, 5, ~0U, 0) < 0 ? -errno : 0;
}

int
ns_open_up(struct cell_child *c)
{
	int r = place_fds(c);

	if (r != 0)
		return cell_fault(c, r, "by its descriptors");
	if (setsid() < 0 || chdir("/") < 0)
		return cell_fault(c, -errno, "");
	umask(022);
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return cell_fault(c, -errno, "");
	return 0;
}

int
ns_take_ids(struct cell_child *c)
{
	const struct cell_ids *ids = &c->ids;
	gid_t none;

	/* An ordinary user that keeps its own ids cannot drop its groups: setgroups is
	 * denied in here. */
	if ((ids->root || ids->lent) &&
	    (setgroups(0, NULL) < 0 || getgroups(0, &none) != 0))
		return cell_fault(c, errno != 0 ? -errno : -EPERM, "");
	if (setresgid(ids->gid, ids->gid, ids->gid) < 0 ||
	    setresuid(ids->uid, ids->uid, ids->uid) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return cell_fault(c, -errno, "");
	return 0;
}

/* These files are the cell's own: the kernel finds them by the writer's user
 * namespace. seccomp also refuses new namespaces; this is the second barrier.  The
 * cell's watches count for its user on the host as well, and could leave none for that
 * user's other programs and cells (tested). */
int
ns_no_more(struct cell_child *c)
{
	const struct {
		const char *name, *path;
		uint32_t value;
	} bounds[] = {
	    {"max_user_namespaces", "/proc/sys/user/max_user_namespaces", 0},
	    {"max_inotify_instances", "/proc/sys/user/max_inotify_instances",
		c->bounds.instances},
	    {"max_inotify_watches", "/proc/sys/user/max_inotify_watches",
		c->bounds.watches},
	};
	char text[24];
	int fd, n, r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(bounds); i++) {
		fd = open(bounds[i].path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = snprintf(text, sizeof(text), "%u\n", bounds[i].value);
		r = fd_write_all(fd, text, (size_t)n);
		fd_close(&fd);
		if (r != 0)
			return cell_fault(c, r, bounds[i].name);
	}
	return 0;
}

int
ns_name(struct cell_child *c)
{
	if (sethostname(NS_HOST_NAME, strlen(NS_HOST_NAME)) < 0 ||
	    setdomainname("(none)", 6) < 0)
		return cell_fault(c, -errno, "the host");
	return 0;
}

int
ns_tie(struct cell_child *c)
{
	struct pollfd p = {.fd = c->channel, .events = 0};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return cell_fault(c, -errno, "");
	/* A leash that died before the line above sent no signal: check. */
	if (poll(&p, 1, 0) < 0)
		return cell_fault(c, -errno, "");
	if ((p.revents & (POLLHUP | POLLERR)) != 0)
		return cell_fault(c, -EPIPE, "");
	return 0;
}
