/*
 * The processes above the caller of an exec, for the record and for --explain.  No
 * decision depends on it.
 *
 * A process that has children is learned once: its pid, its parent's pid and the
 * image that it runs.  A pidfd is kept for each, so that one poll shows whether all
 * processes of a chain are still the ones that were learned.  A reused pid is never
 * mistaken for the first process.  An exec changes the image, and each exec passes
 * through here.
 *
 *  caller --pidfd or /proc/PID/stat--> 57 --learned--> 40 --learned--> 3 (shim's child)
 *
 * Process: the leash.  Reads kernel data about untrusted processes.  Must not wait:
 * an unreadable entry ends the chain.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/exec/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"

#define KIN_MAX   64 /* processes learned at one time; longer than any chain */
#define KIN_TRIES 3  /* retries if one of them ended meanwhile */

_Static_assert(KIN_MAX > 2 * GATE_CHAIN_MAX, "a chain fits beside another");

struct kin {
	pid_t pid; /* 0: free */
	pid_t up;  /* its parent, or the process it was reparented to; 0: end of chain */
	int fd;    /* pidfd */
	uint32_t image;
	uint32_t walk; /* the last walk that used it */
};

struct kinship {
	struct kin kin[KIN_MAX];
	size_t next; /* the next one to evict */
	uint32_t walk;
};

int
kin_new(struct kinship **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret != NULL ? 0 : -ENOMEM;
}

void
kin_free(struct kinship *all)
{
	if (all == NULL)
		return;
	for (size_t i = 0; i < KIN_MAX; i++)
		if (all->kin[i].pid != 0)
			fd_close(&all->kin[i].fd);
	free(all);
}

/* The reply of PIDFD_GET_INFO, from linux/pidfd.h of Linux 6.13. */
struct pidfd_says {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid;
	uint32_t ids[8], none;
};

#define SAYS_PID  1u
#define SAYS_OPEN O_EXCL /* PIDFD_THREAD: accepts thread ids */
#define SAYS_GET  _IOWR(0xff, 11, struct pidfd_says)

/* Half the cost of reading /proc; -1: use /proc. */
static pid_t
parent_by_pidfd(pid_t pid)
{
	struct pidfd_says says = {.mask = SAYS_PID};
	int fd, r;

	/* syscalls: pidfd_open ioctl */
	fd = (int)syscall(SYS_pidfd_open, pid, SAYS_OPEN);
	if (fd < 0)
		return -1; /* before Linux 6.9, or the process is gone */
	r = ioctl(fd, SAYS_GET, &says);
	fd_close(&fd);
	return r < 0 || !(says.mask & SAYS_PID) ? -1 : (pid_t)says.ppid;
}

/* The parent of this process; 0: unknown, or outside of the cell. */
static pid_t
parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *at;
	pid_t up = parent_by_pidfd(pid);
	ssize_t n;
	int fd;

	if (up >= 0)
		return up;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid); /* fits */
	/* syscalls: openat read */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strrchr(text, ')'); /* ") S ppid ..." */
	return at != NULL && strlen(at) > 4 ? (pid_t)strtol(at + 4, NULL, 10) : 0;
}

/* Also forgets the processes learned below it: their parent is now unknown. */
static void
forget(struct kinship *all, pid_t pid)
{
	pid_t gone[KIN_MAX + 1] = {pid};
	size_t n = 1;

	for (size_t i = 0; i < n; i++)
		for (struct kin *k = all->kin; k < all->kin + KIN_MAX; k++) {
			if (k->pid == 0 || (k->pid != gone[i] && k->up != gone[i]))
				continue;
			if (k->pid != gone[i])
				gone[n++] = k->pid; /* once per entry: it is free then */
			fd_close(&k->fd);
			k->pid = 0;
		}
}

static struct kin *
known(struct kinship *all, pid_t pid)
{
	for (size_t i = 0; i < KIN_MAX; i++)
		if (all->kin[i].pid == pid)
			return &all->kin[i];
	return NULL;
}

/* A free entry, or one that this walk does not use. */
static struct kin *
place(struct kinship *all)
{
	struct kin *k = known(all, 0);

	for (size_t i = 0; k == NULL && i < KIN_MAX; i++) {
		k = &all->kin[all->next++ % KIN_MAX];
		if (k->walk == all->walk)
			k = NULL;
		else
			forget(all, k->pid);
	}
	return k;
}

/* The parent of `child`.  Reads the child's parent again once the pidfd exists: if the
 * parent had ended before, the child now has another one. */
static struct kin *
learn(struct gate *g, pid_t pid, pid_t child)
{
	struct kinship *all = g->kin;
	struct kin *k = place(all);
	pid_t up;
	int fd;

	if (k == NULL)
		return NULL;
	/* syscalls: pidfd_open */
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return NULL;
	if (parent_of(child) != pid) {
		fd_close(&fd);
		return NULL;
	}
	up = parent_of(pid);
	*k = (struct kin){.pid = pid,
	    .up = up == getpid() ? 0 : up,
	    .fd = fd,
	    .image = caller_image(g, pid)};
	return k;
}

/* True if all are still the processes that were learned; else forgets the others. */
static bool
still_there(struct kinship *all, struct kin *const *met, size_t n)
{
	struct pollfd p[GATE_CHAIN_MAX + 1];

	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = met[i]->fd, .events = POLLIN};
	/* syscalls: poll */
	if (n == 0 || poll(p, n, 0) == 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (p[i].revents != 0 && met[i]->pid != 0)
			forget(all, met[i]->pid);
	return false;
}

static bool
walk_up(struct gate *g, pid_t child, struct kin_chain *ret)
{
	struct kin *met[GATE_CHAIN_MAX + 1] = {NULL};
	size_t n = 0;
	pid_t pid = parent_of(child);

	ret->n = 0;
	ret->more = false;
	g->kin->walk++;
	while (pid > 0 && n < GATE_CHAIN_MAX + 1) {
		struct kin *k = known(g->kin, pid);

		if (k == NULL)
			k = learn(g, pid, child);
		if (k == NULL)
			return false;
		k->walk = g->kin->walk;
		met[n++] = k;
		if (k->up == 0 || k->image == POLICY_NO_IMAGE)
			break; /* the shim */
		ret->more = ret->n == GATE_CHAIN_MAX;
		if (!ret->more)
			ret->level[ret->n++] =
			    (struct kin_level){.pid = pid, .image = k->image};
		child = pid;
		pid = k->up;
	}
	return still_there(g->kin, met, n);
}

void
kin_of(struct gate *g, struct call *c)
{
	int tries = KIN_TRIES;

	while (!walk_up(g, c->tid, &c->chain))
		if (--tries == 0) {
			c->chain.n = 0; /* no chain rather than half of one */
			return;
		}
}

void
kin_exec(struct gate *g, pid_t pid, uint32_t image)
{
	struct kin *k = pid > 0 ? known(g->kin, pid) : NULL;

	if (k != NULL)
		k->image = image;
}

const char *
kin_text(const struct gate *g, const struct call *c, size_t i, char *text, size_t cap)
{
	const struct policy *p = g->order.policy;
	const struct kin_level *l = &c->chain.level[i];

	(void)snprintf(text, cap, "%d %s", l->pid,
	    l->image < p->row_n[SEALED_IMAGES] ? policy_str(p, p->image[l->image].real)
					       : "?");
	return text;
}
