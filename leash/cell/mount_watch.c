/*
 * Is each mount that covers a name of the host still in place?
 *
 * A cover belongs to a directory entry.  When the host removes the entry, or
 * renames another over it (rename(2): mv, sed -i, git config, most editors), the
 * kernel detaches the mount; mountinfo then reports POLLPRI.  When the host renames
 * the entry, or a directory on the way, the cover goes along; mountinfo reports
 * nothing, and inotify does.  A directory, or a file with one name, that has moved is a
 * loss by itself: it may be back by now, and another file was in its place meanwhile.
 *
 *	removed, replaced -> POLLPRI of mountinfo -> mount id and path of each cover
 *	renamed           -> IN_MOVE_SELF         -> lost; the same for a file of many names
 *
 * Process: the leash.  Trusts the kernel.  Must never report a cover as in place
 * without having found it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/fd.h"

#define MOUNTINFO_MAX (64u << 20) /* far more than fs.mount-max allows */
#define BLOCK         4096

/* ---- while the cell is created --------------------------------------------- */

/* The watch, or -errno. */
static int
watch_inode(int moves_fd, int fd, uint32_t events)
{
	char path[32];
	int wd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* fits */
	/* early: inotify_add_watch */
	wd = inotify_add_watch(moves_fd, path, events | IN_MASK_ADD);
	return wd < 0 ? -errno : wd;
}

static int
put_move(struct cell *cell, int wd, int entry, uint32_t row)
{
	struct cell_move *more;
	struct stat st;

	/* early: fstat newfstatat */
	if (fstat(entry, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) && st.st_nlink > 1)
		return 0; /* it may be another name that moves: mountinfo decides */
	more = reallocarray(cell->move, cell->move_n + 1, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	cell->move = more;
	cell->move[cell->move_n++] = (struct cell_move){wd, row};
	return 0;
}

void
watch_prepare(const struct cell_order *o, struct cell *cell)
{
	/* If none is left, watch_moves() says so, if one is needed.  early: inotify_init1 */
	if (o->server->mounts.n > 0)
		cell->moves_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

static int
watch_moves(struct cell *cell, int dir, int entry, uint32_t row)
{
	int r;

	if (cell->moves_fd < 0) {
		/* early: inotify_init1 */
		cell->moves_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		if (cell->moves_fd < 0)
			return -errno;
	}
	r = watch_inode(cell->moves_fd, entry, IN_MOVE_SELF);
	if (r >= 0)
		return put_move(cell, r, entry, row);
	/* This user may not read the entry: its directory reports each rename. */
	if (r == -EACCES)
		r = watch_inode(cell->moves_fd, dir, IN_MOVED_FROM | IN_ONLYDIR);
	return r < 0 ? r : 0;
}

static int
put_cover(struct cell *cell, const struct cell_order *o, uint32_t row, uint64_t id)
{
	if (cell->cover == NULL)
		cell->cover = calloc(o->server->mounts.n, sizeof(*cell->cover));
	if (cell->cover == NULL)
		return -ENOMEM;
	if (cell->cover_n == o->server->mounts.n)
		return -EBADMSG;
	cell->cover[cell->cover_n++] = (struct cell_cover){
	    .path = policy_str(
		o->policy, o->policy->mount[o->server->mounts.first + row].target),
	    .mount_id = id,
	    .row = row};
	return 0;
}

static const char *
reason(int error)
{
	if (error == -EMFILE)
		return "no inotify instance is left; raise "
		       "fs.inotify.max_user_instances";
	if (error == -ENOSPC)
		return "no inotify watch is left; raise fs.inotify.max_user_watches";
	return NULL;
}

int
watch_placed(struct cell *cell, const struct cell_order *o, struct wire_in *in,
    const int *fds, size_t fds_n, char why[CELL_WHY_MAX])
{
	struct cell_reason w = {.step = "watch"};
	uint32_t row = wire_get_u32(in);
	uint64_t id = wire_get_u64(in);
	const struct sealed_mount *m;
	int r = 0;

	if (wire_end(in) != 0 || row >= o->server->mounts.n || (fds_n != 0 && fds_n != 2))
		return -EBADMSG;
	m = o->policy->mount + o->server->mounts.first + row;
	if (fds_n == 2)
		r = watch_moves(cell, fds[0], fds[1], row);
	if (r == 0 && id != 0)
		r = put_cover(cell, o, row, id);
	if (r == 0 || r == -EBADMSG)
		return r;
	w.object = policy_str(o->policy, m->target);
	w.reason = reason(r);
	w.at = m->at;
	return cell_say(why, o->policy, r, &w);
}

int
watch_begin(struct cell *cell)
{
	char path[48];

	(void)snprintf(
	    path, sizeof(path), "/proc/%d/mountinfo", (int)cell->pid); /* fits */
	/* The pid is ours until it is reaped.  early: openat */
	cell->mounts_fd = open(path, O_RDONLY | O_CLOEXEC);
	return cell->mounts_fd < 0 ? -errno : 0;
}

/* ---- while the cell runs ---------------------------------------------------- */

static int
read_all(int mounts_fd, struct mountinfo *to)
{
	char block[BLOCK];
	off_t at = 0;
	ssize_t n;

	while (at < (off_t)MOUNTINFO_MAX) {
		/* syscalls: pread64 */
		n = pread(mounts_fd, block, sizeof(block), at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (ssize_t i = 0; i < n; i++)
			mountinfo_byte(to, block[i]);
		at += n;
	}
	return -EFBIG;
}

/* The row of a cover that has moved, or -1. */
static int64_t
moves_read(const struct cell *cell)
{
	char block[BLOCK];
	struct inotify_event e;
	int64_t row = -1;
	ssize_t n = 0;

	/* Once: the rest of a flood is reported again, after all other events. */
	if (cell->moves_fd >= 0)
		n = read(cell->moves_fd, block, sizeof(block)); /* syscalls: read */
	/* A failure is reported again, and mountinfo is read either way. */
	for (ssize_t at = 0; at + (ssize_t)sizeof(e) <= n;
	     at += (ssize_t)(sizeof(e) + e.len)) {
		memcpy(&e, block + at, sizeof(e));
		for (size_t i = 0; (e.mask & IN_MOVE_SELF) != 0 && i < cell->move_n; i++)
			if (cell->move[i].wd == e.wd)
				row = cell->move[i].row;
	}
	return row;
}

int
cell_watch(struct cell *cell, const struct policy *policy,
    const struct sealed_server *server, const struct sealed_mount **ret_lost)
{
	struct mountinfo m = {.cover = cell->cover, .cover_n = cell->cover_n};
	int64_t moved;
	int error;

	if (cell->cover_n == 0)
		return 0;
	moved = moves_read(cell);
	if (moved >= 0) {
		*ret_lost = policy->mount + server->mounts.first + moved;
		return -ENOENT;
	}
	for (size_t i = 0; i < cell->cover_n; i++)
		cell->cover[i].seen = false;
	error = read_all(cell->mounts_fd, &m);
	for (size_t i = 0; i < cell->cover_n; i++) {
		if (error == 0 && cell->cover[i].seen)
			continue;
		*ret_lost = policy->mount + server->mounts.first + cell->cover[i].row;
		return error != 0 ? error : -ENOENT;
	}
	return 0;
}
