/*
 * Limits: a cgroup for the cell if one is delegated, rlimits always.
 *
 * Process: limits_prepare and limits_free in the leash, limits_set in the cell's
 * first process.  A limit that cannot be enforced at all refuses the start.  One
 * that falls back to its per-process form is logged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"

#define CGROUP2_MAGIC    0x63677270
#define CGROUP_TEXT_MAX  4096
#define CGROUP_CPU_US    100000 /* the period of cpu.max */
#define CGROUP_END_TRIES 50     /* of 2 ms each, until the last task is gone */
#define STACK_SOFT_MAX   (8ul << 20)
#define SIGNALS_MAX      2048 /* queued signals and timers; the user has ~ 4000 per GB */
#define QUEUE_BYTES_MAX  (128u << 10) /* of POSIX queues; the user has 800 KB in total */

static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

/* ---- cgroup -------------------------------------------------------------- */

static int
read_text(int dir, const char *name, char *out, size_t cap)
{
	ssize_t n;
	int fd;

	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, out, cap - 1);
	fd_close(&fd);
	if (n < 0)
		return -errno;
	out[n] = '\0';
	return 0;
}

static bool
has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word))
		if ((p == text || p[-1] == ' ') &&
		    (p[len] == ' ' || p[len] == '\n' || p[len] == '\0'))
			return true;
	return false;
}

/* The leash's own cgroup, as a path on disk. */
static int
own_cgroup(char *out, size_t cap)
{
	char text[CGROUP_TEXT_MAX] = "", *line, *end;
	struct statfs fs;
	int r;

	r = read_text(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	if (r != 0)
		return r;
	line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	if (line == NULL)
		return -ENOENT;
	line += line[0] == '\n' ? 4 : 3; /* up to the slash */
	end = strchr(line, '\n');
	if (end != NULL)
		*end = '\0';
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		if (statfs(roots[i], &fs) < 0 || fs.f_type != CGROUP2_MAGIC)
			continue;
		r = snprintf(out, cap, "%s%s", roots[i], line[1] != '\0' ? line : "");
		return r < 0 || (size_t)r >= cap ? -ENAMETOOLONG : 0;
	}
	return -ENOENT;
}

/*
 * Makes a cgroup below dir, if dir delegates every wanted controller.  *ret_fd is
 * its directory.
 */
static int
make_below(const char *dir, const char *const *wanted, struct cell *cell, int *ret_fd)
{
	char text[CGROUP_TEXT_MAX];
	int fd, made = -1, r;

	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	r = read_text(fd, "cgroup.controllers", text, sizeof(text));
	for (size_t i = 0; r == 0 && wanted[i] != NULL; i++)
		if (!has_word(text, wanted[i]))
			r = -ENOENT;
	/* Fails if dir itself contains processes, which is usual for the leash's own
	 * cgroup: the caller then tries the parent. */
	for (size_t i = 0; r == 0 && wanted[i] != NULL; i++) {
		snprintf(text, sizeof(text), "+%s", wanted[i]);
		r = cell_put_at(fd, "cgroup.subtree_control", text);
	}
	if (r == 0)
		r = read_text(fd, "cgroup.subtree_control", text, sizeof(text));
	for (size_t i = 0; r == 0 && wanted[i] != NULL; i++)
		if (!has_word(text, wanted[i]))
			r = -ENOENT;
	if (r == 0) {
		r = snprintf(
		    cell->cgroup, sizeof(cell->cgroup), "%s/kennel-%d", dir, getpid());
		r = r < 0 || (size_t)r >= sizeof(cell->cgroup) ? -ENAMETOOLONG : 0;
		if (r == 0 && mkdir(cell->cgroup, 0755) < 0)
			r = -errno;
		if (r == 0)
			made = open(cell->cgroup, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		if (r == 0 && made < 0)
			r = -errno;
		if (r != 0 && r != -EEXIST)
			(void)rmdir(cell->cgroup); /* may not exist */
		if (r != 0)
			cell->cgroup[0] = '\0';
	}
	fd_close(&fd);
	if (r == 0)
		*ret_fd = made;
	return r;
}

static int
make_cgroup(const char *const *wanted, struct cell *cell, int *ret_fd)
{
	char dir[sizeof(cell->cgroup)], *slash;
	int r;

	r = own_cgroup(dir, sizeof(dir));
	if (r != 0)
		return r;
	r = make_below(dir, wanted, cell, ret_fd);
	slash = strrchr(dir, '/');
	if (r != 0 && slash != NULL && slash != dir) {
		*slash = '\0';
		r = make_below(dir, wanted, cell, ret_fd);
	}
	return r;
}

static int
fill_cgroup(int fd, uint64_t memory, uint64_t processes, uint64_t cpu)
{
	char text[64];
	int r = 0;

	if (memory != 0) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)memory);
		r = cell_put_at(fd, "memory.max", text);
		/* Without swap accounting this file does not exist. */
		if (r == 0)
			r = cell_put_at(fd, "memory.swap.max", "0");
		if (r == -ENOENT)
			r = 0;
	}
	if (r == 0 && processes != 0) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)processes + 1);
		r = cell_put_at(fd, "pids.max", text);
	}
	if (r == 0 && cpu != 0) {
		snprintf(text, sizeof(text), "%llu %d",
		    (unsigned long long)cpu * (CGROUP_CPU_US / 100), CGROUP_CPU_US);
		r = cell_put_at(fd, "cpu.max", text);
	}
	return r;
}

/* ---- limits of the policy ------------------------------------------------ */

static const struct sealed_limit *
limit_row(const struct cell_order *o, enum sealed_limit_kind kind)
{
	const struct sealed_limit *l = o->policy->limit + o->server->limits.first;

	for (uint32_t i = 0; i < o->server->limits.n; i++)
		if (l[i].kind == (uint32_t)kind)
			return &l[i];
	return NULL;
}

int
limits_prepare(const struct cell_order *o, struct cell *cell, int *ret_cgroup_fd,
    char why[CELL_WHY_MAX])
{
	const struct sealed_limit *cpu = limit_row(o, LIMIT_CPU);
	const struct sealed_require *required =
	    policy_require(o->policy, o->server, REQUIRE_CGROUP);
	uint64_t memory = policy_limit(o->policy, o->server, LIMIT_MEMORY);
	uint64_t processes = policy_limit(o->policy, o->server, LIMIT_PROCESSES);
	const char *wanted[4] = {NULL};
	struct cell_reason w = {.step = "limit",
	    .object = "CPU time",
	    .reason = "no cgroup with that controller is delegated to this user"};
	size_t n = 0;
	int fd = -1, r;

	if (memory == 0 && cpu == NULL && required == NULL)
		return 0; /* RLIMIT_NPROC already counts per cell */
	if (memory != 0)
		wanted[n++] = "memory";
	if (cpu != NULL)
		wanted[n++] = "cpu";
	wanted[n++] = "pids";
	r = make_cgroup(wanted, cell, &fd);
	if (r == 0)
		r = fill_cgroup(fd, memory, processes, cpu != NULL ? cpu->value : 0);
	if (r == 0) {
		*ret_cgroup_fd = fd;
		return 0;
	}
	fd_close(&fd);
	limits_free(cell);
	if (cpu != NULL) {
		w.at = cpu->at;
		return cell_say(why, o->policy, -EOPNOTSUPP, &w);
	}
	if (required != NULL) {
		w.object = "with the required cgroup";
		w.at = required->at;
		return cell_say(why, o->policy, -EOPNOTSUPP, &w);
	}
	cell_lacks(cell, "cgroup memory: RLIMIT_DATA of each process instead");
	return 0;
}

void
limits_free(struct cell *cell)
{
	struct timespec pause = {.tv_nsec = 2000000};

	if (cell->cgroup[0] == '\0')
		return;
	for (int i = 0; i < CGROUP_END_TRIES; i++) {
		/* syscalls: rmdir unlinkat clock_nanosleep */
		if (rmdir(cell->cgroup) == 0 || errno != EBUSY)
			break;
		(void)nanosleep(&pause, NULL); /* may be shorter */
	}
	cell->cgroup[0] = '\0';
}

/* ---- rlimits ------------------------------------------------------------- */

static int
set_limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit now;

	if (getrlimit(what, &now) < 0)
		return -errno;
	/* Never raise: the caller's own limits also apply. */
	if (hard > now.rlim_max)
		hard = now.rlim_max;
	now.rlim_max = hard;
	now.rlim_cur = soft < hard ? soft : hard;
	return setrlimit(what, &now) < 0 ? -errno : 0;
}

int
limits_set(struct cell_child *c)
{
	const struct cell_order *o = c->order;
	/* A cgroup counts memory that is touched, this limit what is allocated. */
	uint64_t memory =
	    c->cgroup ? 0 : policy_limit(o->policy, o->server, LIMIT_MEMORY);
	uint64_t processes = policy_limit(o->policy, o->server, LIMIT_PROCESSES);
	uint64_t files = policy_limit(o->policy, o->server, LIMIT_FILES);
	const struct {
		const char *name;
		int what;
		rlim_t soft, hard;
	} rows[] = {
	    /* 1: a core handler that the kernel pipes to treats 0 as no limit. */
	    {"cores", RLIMIT_CORE, 1, 1},
	    /* Counted in the cell's own user namespace; PID 1 is one more. */
	    {"processes", RLIMIT_NPROC, processes != 0 ? processes + 1 : RLIM_INFINITY,
		processes != 0 ? processes + 1 : RLIM_INFINITY},
	    {"files", RLIMIT_NOFILE, files != 0 ? files : RLIM_INFINITY,
		files != 0 ? files : RLIM_INFINITY},
	    {"memory", RLIMIT_DATA, memory != 0 ? memory : RLIM_INFINITY,
		memory != 0 ? memory : RLIM_INFINITY},
	    /* Without a limit here the kernel's memory layout is predictable. */
	    {"the stack", RLIMIT_STACK, STACK_SOFT_MAX, RLIM_INFINITY},
	    /* Both count for the cell's user on the host, timers as signals.  Without
	     * a bound one server could use up everything that user has. */
	    {"pending signals", RLIMIT_SIGPENDING, SIGNALS_MAX, SIGNALS_MAX},
	    {"message queues", RLIMIT_MSGQUEUE, QUEUE_BYTES_MAX, QUEUE_BYTES_MAX},
	    {"real-time priority", RLIMIT_RTPRIO, 0, 0},
	    {"priority", RLIMIT_NICE, 0, 0},
	};
	int r;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		r = set_limit(rows[i].what, rows[i].soft, rows[i].hard);
		if (r != 0)
			return cell_fault(c, r, rows[i].name);
	}
	return 0;
}
