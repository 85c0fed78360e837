/*
 * SQLite VFS for readers of a log: the default VFS without anything that could change
 * a file, plus a record of the pages that were read.
 *
 * Process: kennel, kennel-verify, kennel-ship. Each thread opens one connection at a
 * time; its database and write-ahead log belong to one struct view.
 *
 *	open	read-only, and only these two files: no journal, nothing temporary
 *	write	refused, as are truncate and delete
 *	lock	a shared lock at most: a reader that keeps the index of a
 *		write-ahead log in memory requests more, without a descriptor for it
 *	sleep	not past the deadline: SQLite retries for ten seconds if it
 *		may not write an index
 *	read	recorded by page: a page that no connection reads is in no table
 *
 * Must never: write.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/loop.h"
#include "supervisor/audit/log/open_log.h"

#define VFS_NAME  "kennel-reader"
#define NS_PER_US 1000u
#define PAGES_MAX (1u << 26) /* 256 GiB: one file holds a million records */
#define DENIED    (SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_DELETEONCLOSE)

/* SQLite's handle; the handle of the real VFS follows it in memory. */
struct watched {
	sqlite3_file base;
	struct view *view;
	bool wal;
};

static sqlite3_vfs *below;
static _Thread_local struct view *opening;
static _Thread_local uint64_t sleep_until; /* loop_now(); 0: no deadline */

static struct watched *
watched_of(sqlite3_file *file)
{
	return (struct watched *)(void *)file;
}

static sqlite3_file *
real_of(sqlite3_file *file)
{
	return (sqlite3_file *)(void *)(watched_of(file) + 1);
}

/* ---- recording reads -------------------------------------------------------------- */

static void
note_page(struct view *view, uint32_t page, const uint8_t *bytes)
{
	size_t byte = page / 8, len = view->seen_len;

	if (page == 0 || page > PAGES_MAX)
		return;
	if (page == 1)
		memcpy(view->head, bytes, sizeof(view->head));
	if (byte >= len) {
		uint8_t *more;

		len = byte < 4096 ? 8192 : 2 * byte;
		more = realloc(view->seen, len);
		if (more == NULL) {
			view->lost = true; /* the answer is then unknown */
			return;
		}
		memset(more + view->seen_len, 0, len - view->seen_len);
		view->seen = more;
		view->seen_len = len;
	}
	view->seen[byte] |= (uint8_t)(1u << page % 8);
}

/* The head of a frame in the write-ahead log gives its page number. */
static void
note_read(sqlite3_file *file, const uint8_t *bytes, int len, sqlite3_int64 at)
{
	struct watched *w = watched_of(file);
	uint8_t head[4];

	if (len != WAL_PAGE)
		return;
	if (!w->wal) {
		if (at % WAL_PAGE == 0 && at / WAL_PAGE < PAGES_MAX)
			note_page(w->view, (uint32_t)(at / WAL_PAGE) + 1, bytes);
		return;
	}
	at -= WAL_FRAME_HEAD;
	if (at >= WAL_HEAD && (at - WAL_HEAD) % WAL_FRAME == 0 &&
	    real_of(file)->pMethods->xRead(real_of(file), head, (int)sizeof(head), at) ==
		SQLITE_OK)
		note_page(w->view,
		    (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 |
			(uint32_t)head[2] << 8 | head[3],
		    bytes);
}

/* ---- file methods -------------------------------------------------------------------- */

static int
on_read(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
	int code = real_of(file)->pMethods->xRead(real_of(file), out, len, at);

	if (code == SQLITE_OK)
		note_read(file, out, len, at);
	return code;
}

static int
on_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
	return SQLITE_READONLY;
}

static int
on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return SQLITE_READONLY;
}

static int
on_sync(sqlite3_file *file, int flags)
{
	return SQLITE_OK; /* nothing was written */
}

static int
on_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	return real_of(file)->pMethods->xFileSize(real_of(file), ret);
}

static int
on_close(sqlite3_file *file)
{
	return real_of(file)->pMethods->xClose(real_of(file));
}

static int
on_lock(sqlite3_file *file, int lock)
{
	if (lock > SQLITE_LOCK_SHARED)
		lock = SQLITE_LOCK_SHARED;
	return real_of(file)->pMethods->xLock(real_of(file), lock);
}

static int
on_unlock(sqlite3_file *file, int lock)
{
	return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}

static int
on_reserved(sqlite3_file *file, int *ret)
{
	*ret = 0;
	return SQLITE_OK;
}

static int
on_control(sqlite3_file *file, int what, void *arg)
{
	return real_of(file)->pMethods->xFileControl(real_of(file), what, arg);
}

static int
on_sector(sqlite3_file *file)
{
	return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int
on_device(sqlite3_file *file)
{
	return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

/* Refuses an index that no recorder holds. With this code SQLite builds one in its
 * own memory. */
static int
on_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret)
{
	int code = real_of(file)->pMethods->xShmMap(real_of(file), region, size, 0, ret);

	watched_of(file)->view->live = code == SQLITE_OK || code == SQLITE_READONLY;
	return code;
}

static int
on_map_lock(sqlite3_file *file, int offset, int n, int flags)
{
	return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void
on_barrier(sqlite3_file *file)
{
	real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int
on_unmap(sqlite3_file *file, int delete)
{
	return real_of(file)->pMethods->xShmUnmap(real_of(file), 0);
}

static const sqlite3_io_methods watched_methods = {
    .iVersion = 2, /* no memory mapping, which would hide reads */
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_reserved,
    .xFileControl = on_control,
    .xSectorSize = on_sector,
    .xDeviceCharacteristics = on_device,
    .xShmMap = on_map,
    .xShmLock = on_map_lock,
    .xShmBarrier = on_barrier,
    .xShmUnmap = on_unmap,
};

/* ---- file-system methods ------------------------------------------------------------- */

static int
on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct watched *w = watched_of(file);
	int code;

	w->base.pMethods = NULL; /* SQLite does not close it */
	if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0 || opening == NULL)
		return SQLITE_CANTOPEN;
	code = below->xOpen(below, name, real_of(file),
	    (flags & ~DENIED) | SQLITE_OPEN_READONLY, ret_flags);
	if (code != SQLITE_OK)
		return code;
	w->view = opening;
	w->wal = (flags & SQLITE_OPEN_WAL) != 0;
	w->base.pMethods = &watched_methods;
	return SQLITE_OK;
}

static int
on_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	return SQLITE_READONLY;
}

static int
on_sleep(sqlite3_vfs *vfs, int us)
{
	uint64_t now = loop_now(), left = UINT64_MAX;

	if (sleep_until != 0)
		left = sleep_until > now ? (sleep_until - now) / NS_PER_US : 0;
	if (left == 0)
		return us;
	return below->xSleep(below, (uint64_t)us < left ? us : (int)left);
}

/* As root, SQLite would give the side files to the owner of the database; they
 * already have one. */
static int
no_chown(int fd, uid_t uid, gid_t gid)
{
	return 0;
}

const char *
reader_vfs(struct view *view, uint64_t until)
{
	static sqlite3_vfs vfs;

	opening = view;
	sleep_until = until;
	if (below != NULL)
		return VFS_NAME;
	below = sqlite3_vfs_find(NULL);
	if (below == NULL || below->iVersion < 3)
		return NULL;
	(void)below->xSetSystemCall(
	    below, "fchown", (sqlite3_syscall_ptr)(void (*)(void))no_chown);
	vfs = *below;
	vfs.pNext = NULL;
	vfs.zName = VFS_NAME;
	vfs.szOsFile = (int)sizeof(struct watched) + below->szOsFile;
	vfs.xOpen = on_open;
	vfs.xDelete = on_delete;
	vfs.xSleep = on_sleep;
	/* cannot fail: sqlite3_vfs_find has initialized SQLite */
	(void)sqlite3_vfs_register(&vfs, 0);
	return VFS_NAME;
}

bool
view_saw(const struct view *view, uint32_t page)
{
	return page / 8 < view->seen_len &&
	       (view->seen[page / 8] & (1u << page % 8)) != 0;
}
