/*
 * The files that the programs of a cell name, for an author who has a server learned
 * (kennel learn).  Each path is reported once for each use.
 *
 *	call waits ──▶ the path is copied, made absolute ──▶ new: LEASH_NAMED ──▶ CONTINUE
 *							└──▶ known: CONTINUE
 *
 * This decides nothing.  The kernel reads the path again after CONTINUE, and a second
 * thread may have changed it by then: so the report may name another file than the one
 * that was opened.  What the call may reach is decided by the mounts of the cell and by
 * Landlock, as in every cell, and the filter notifies only of calls that it allows.
 *
 * Process: the leash.  Trusts neither the path nor its length.  Must not wait: while the
 * supervisor is too slow, the call waits in the kernel, and with it all others.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "leash/exec/private.h"
#include "shim/base/array.h"
#include "shim/base/hash.h"

#define SEEN_SLOTS ((size_t)1 << 15) /* a power of two; 256 KiB */
#define SEEN_MAX   (SEEN_SLOTS / 4 * 3)
#define PATHS_MAX  2 /* of one call */
#define NO_ARG     (-1)
#define NAMED_CAP  (2 * (size_t)PATH_MAX)

/* What the use depends on. */
enum named_by { BY_CALL, BY_FLAGS, BY_HOW, BY_SOCKET };

/* Which arguments of a call name files. */
struct file_call {
	uint32_t nr;
	enum named_by by;
	enum gate_use use; /* BY_CALL, BY_SOCKET */
	struct {
		int8_t dir, path; /* numbers of arguments, or NO_ARG */
	} at[PATHS_MAX];
	int8_t flags; /* BY_FLAGS, BY_HOW: of open(2) or openat2(2) */
};

#define ONE(dir, path) \
	{ \
		{dir, path}, \
		{ \
			NO_ARG, NO_ARG \
		} \
	}
#define TWO(dir, path, dir2, path2) \
	{ \
		{dir, path}, \
		{ \
			dir2, path2 \
		} \
	}
#define CALL(name, use, at) \
	{ \
		SYS_##name, BY_CALL, GATE_##use, at, NO_ARG \
	}

static const struct file_call calls[] = {
    {SYS_openat, BY_FLAGS, 0, ONE(0, 1), 2},
    {SYS_openat2, BY_HOW, 0, ONE(0, 1), 2},
    {SYS_connect, BY_SOCKET, GATE_CONNECT, ONE(NO_ARG, 1), NO_ARG},
    CALL(newfstatat, LOOK, ONE(0, 1)),
    CALL(statx, LOOK, ONE(0, 1)),
    CALL(faccessat, LOOK, ONE(0, 1)),
    CALL(faccessat2, LOOK, ONE(0, 1)),
    CALL(readlinkat, LOOK, ONE(0, 1)),
    CALL(mkdirat, MAKEDIR, ONE(0, 1)),
    CALL(unlinkat, CREATE, ONE(0, 1)),
    CALL(symlinkat, CREATE, ONE(1, 2)),
    CALL(linkat, CREATE, TWO(0, 1, 2, 3)),
    CALL(renameat2, CREATE, TWO(0, 1, 2, 3)),
    CALL(truncate, WRITE, ONE(NO_ARG, 0)),
    CALL(fchmodat, WRITE, ONE(0, 1)),
    CALL(fchownat, WRITE, ONE(0, 1)),
    CALL(utimensat, WRITE, ONE(0, 1)),
#ifdef SYS_renameat
    CALL(renameat, CREATE, TWO(0, 1, 2, 3)),
#endif
#ifdef SYS_open
    {SYS_open, BY_FLAGS, 0, ONE(NO_ARG, 0), 1},
    CALL(creat, CREATE, ONE(NO_ARG, 0)),
    CALL(stat, LOOK, ONE(NO_ARG, 0)),
    CALL(lstat, LOOK, ONE(NO_ARG, 0)),
    CALL(access, LOOK, ONE(NO_ARG, 0)),
    CALL(readlink, LOOK, ONE(NO_ARG, 0)),
    CALL(mkdir, MAKEDIR, ONE(NO_ARG, 0)),
    CALL(rmdir, CREATE, ONE(NO_ARG, 0)),
    CALL(unlink, CREATE, ONE(NO_ARG, 0)),
    CALL(symlink, CREATE, ONE(NO_ARG, 1)),
    CALL(link, CREATE, TWO(NO_ARG, 0, NO_ARG, 1)),
    CALL(rename, CREATE, TWO(NO_ARG, 0, NO_ARG, 1)),
    CALL(chmod, WRITE, ONE(NO_ARG, 0)),
    CALL(chown, WRITE, ONE(NO_ARG, 0)),
    CALL(lchown, WRITE, ONE(NO_ARG, 0)),
#endif
};

struct report_of {
	enum gate_use use;
	struct buf path; /* redacted, as is program below */
	const struct foreign *shown;
};

struct named {
	uint64_t seen[SEEN_SLOTS]; /* hashes of what was reported; 0: free */
	size_t seen_n;
	/* of the call that waits for room in the channel, or is being read */
	uint64_t id;
	bool waits;
	size_t todo_n, todo_at;
	struct report_of todo[PATHS_MAX];
	struct buf program;
	const struct foreign *shown;
};

const uint32_t *
gate_file_calls(size_t *ret_n)
{
	static uint32_t nr[ARRAY_LEN(calls)];

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		nr[i] = calls[i].nr;
	*ret_n = ARRAY_LEN(calls);
	return nr;
}

int
named_new(const struct gate *g, struct named **ret)
{
	*ret = NULL;
	if (!g->order.learn || g->order.person == NULL || g->order.person->named == NULL)
		return 0;
	*ret = calloc(1, sizeof(**ret));
	if (*ret == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < PATHS_MAX; i++)
		buf_init(&(*ret)->todo[i].path, NAMED_CAP);
	buf_init(&(*ret)->program, NAMED_CAP);
	return 0;
}

void
named_free(struct named *n)
{
	for (size_t i = 0; n != NULL && i < PATHS_MAX; i++)
		buf_free(&n->todo[i].path);
	if (n != NULL)
		buf_free(&n->program);
	free(n);
}

static const struct file_call *
call_find(const struct seccomp_notif *n)
{
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (calls[i].nr == (uint32_t)n->data.nr)
			return &calls[i];
	return NULL;
}

bool
named_waits(const struct gate *g)
{
	return g->named != NULL && g->named->waits;
}

/* ---- the path -------------------------------------------------------------------- */

/* Removes empty components, "." and, as text, "..": links in between may make that another
 * name, which is then reported. */
static void
path_tidy(char *path)
{
	char *to = path, *at = path;

	while (*at != '\0') {
		size_t n;

		at += strspn(at, "/");
		n = strcspn(at, "/");
		if (n == 2 && at[0] == '.' && at[1] == '.') {
			while (to > path && *--to != '/')
				;
		} else if (n > 0 && !(n == 1 && at[0] == '.')) {
			*to++ = '/';
			memmove(to, at, n);
			to += n;
		}
		at += n;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

static bool
link_read(const char *link, char *to, size_t cap)
{
	/* syscalls: readlink readlinkat */
	ssize_t n = readlink(link, to, cap - 1);

	if (n <= 0 || to[0] != '/')
		return false;
	to[n] = '\0';
	return true;
}

/* The path of the call in g->call, absolute and tidy, to `to`. */
static bool
path_absolute(struct gate *g, char to[NAMED_CAP])
{
	const char *path = g->call->path;
	size_t n = 0;

	if (path[0] == '\0')
		return false; /* it means the descriptor */
	if (path[0] != '/') {
		if (call_base(g->call, to, PATH_MAX) < 0)
			return false;
		n = strlen(to);
	}
	(void)snprintf(to + n, NAMED_CAP - n, "/%s", path); /* fits */
	path_tidy(to);
	return true;
}

/* Not worth a line in a policy: every cell has its own. */
static bool
is_synthetic(const char *path)
{
	static const char *const own[] = {"/proc", "/dev", "/sys"};

	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		size_t n = strlen(own[i]);

		if (strncmp(path, own[i], n) == 0 && (path[n] == '/' || path[n] == '\0'))
			return true;
	}
	return strcmp(path, "/") == 0;
}

/* ---- the use --------------------------------------------------------------------- */

static enum gate_use
use_of_flags(uint64_t flags)
{
	if ((flags & O_PATH) != 0)
		return GATE_LOOK;
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return GATE_WRITE;
	if ((flags & O_CREAT) != 0)
		return GATE_CREATE;
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0)
		return GATE_WRITE;
	return (flags & O_DIRECTORY) != 0 ? GATE_LIST : GATE_READ;
}

/* Sets path_at to the path of a Unix socket; false: another socket. */
static bool
socket_path(struct call *c, uint64_t address)
{
	struct {
		sa_family_t family;
		char path[6];
	} head;
	uint64_t bytes;

	_Static_assert(sizeof(head) == sizeof(bytes), "the beginning of sockaddr_un");
	if (call_copy_u64(c, address, &bytes) < 0)
		return false;
	memcpy(&head, &bytes, sizeof(head));
	c->path_at = address + offsetof(struct sockaddr_un, sun_path);
	return head.family == AF_UNIX && head.path[0] != '\0';
}

/* 0: the arguments name no file. */
static enum gate_use
use_of(struct call *c, const struct file_call *f, const uint64_t *arg)
{
	uint64_t flags;

	if (f->by == BY_FLAGS)
		return use_of_flags(arg[f->flags]);
	if (f->by == BY_HOW && call_copy_u64(c, arg[f->flags], &flags) == 0)
		return use_of_flags(flags);
	if (f->by == BY_SOCKET && !socket_path(c, arg[1]))
		return 0;
	return f->use; /* BY_HOW has none */
}

/* ---- the report ------------------------------------------------------------------ */

/* True if it was not seen before.  A full table has seen everything. */
static bool
seen_add(struct named *n, const struct report_of *r)
{
	const char *path = foreign_str(r->shown);
	uint64_t h = hash64(HASH64_START, path, strlen(path));
	size_t at;

	h = hash64_add(h, r->use);
	h = h == 0 ? 1 : h;
	for (at = (h ^ h >> 32) % SEEN_SLOTS; n->seen[at] != 0;
	     at = (at + 1) % SEEN_SLOTS)
		if (n->seen[at] == h)
			return false;
	if (n->seen_n >= SEEN_MAX)
		return false;
	n->seen[at] = h;
	n->seen_n++;
	return true;
}

/* Sends what is left, then lets the call continue. */
static void
send_rest(struct gate *g)
{
	struct named *n = g->named;

	for (; n->todo_at < n->todo_n; n->todo_at++) {
		const struct report_of *r = &n->todo[n->todo_at];

		n->waits = g->order.person->named(g->order.person_arg, r->use, r->shown,
			       n->shown) == -EAGAIN;
		if (n->waits)
			return;
	}
	(void)notify_reply(g, n->id, 0); /* a dead caller needs no reply */
}

/* Copies one path of the call into the reports to send. */
static void
add_path(struct gate *g, const struct file_call *f, size_t i, const uint64_t *arg)
{
	struct named *n = g->named;
	struct report_of *r = &n->todo[n->todo_n];
	struct call *c = g->call;
	char path[NAMED_CAP];

	c->dirfd = f->at[i].dir == NO_ARG ? AT_FDCWD : (int)arg[f->at[i].dir];
	c->path_at = arg[f->at[i].path];
	r->use = use_of(c, f, arg);
	if (r->use == 0 || call_copy_path(c) < 0 || !path_absolute(g, path) ||
	    is_synthetic(path))
		return;
	r->shown = foreign_text(g->order.scrub, path, &r->path);
	if (strlen(foreign_str(r->shown)) < PATH_MAX && seen_add(n, r))
		n->todo_n++;
}

bool
named_take(struct gate *g, const struct seccomp_notif *notif)
{
	const struct file_call *f = call_find(notif);
	const uint64_t *arg = (const uint64_t *)notif->data.args;
	struct named *n = g->named;
	struct call *c = g->call;
	char link[64], program[PATH_MAX];

	if (f == NULL)
		return false;
	call_begin(c, notif);
	c->argv_at = c->envp_at = 0; /* it has none */
	n->id = notif->id;
	n->todo_n = n->todo_at = 0;
	for (size_t i = 0; i < PATHS_MAX; i++)
		if (f->at[i].path != NO_ARG)
			add_path(g, f, i, arg);
	call_wipe(c);
	(void)snprintf(link, sizeof(link), "/proc/%d/exe", c->tid);
	if (n->todo_n > 0) {
		if (!link_read(link, program, sizeof(program)))
			program[0] = '\0';
		n->shown = foreign_text(g->order.scrub, program, &n->program);
	}
	/* all of it belonged to the caller if it still waits now */
	if (n->todo_n == 0 || notify_valid(g, n->id))
		send_rest(g);
	return true;
}

void
named_tick(struct gate *g)
{
	struct named *n = g->named;

	if (n == NULL || !n->waits)
		return;
	n->waits = false;
	if (notify_valid(g, n->id))
		send_rest(g);
}
