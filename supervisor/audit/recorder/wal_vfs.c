/*
 * SQLite VFS of the recorder, which writes the write-ahead log differently from the
 * default one in two ways.
 *
 * Process: kennel-recorder. SQLite writes a commit page by page, each after a head of
 * 24 bytes. This VFS buffers adjacent writes and passes them to the kernel in one
 * piece, at the latest when SQLite syncs, reads, or asks for the file's size. It also
 * allocates space after the last page, because a commit that extends the file waits
 * for file-system metadata as well.
 *
 * Fast path: with both a gate's record costs 0.94 to 1.14 of a bare commit, and 1.90
 * without (docs/BENCHMARKS.md). SQLite's own VFS reads what it wrote
 * (tests/e2e/e2e_audit.py).
 *
 * Must never: report as synced what is still in the buffer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/audit/log/open_log.h"
#include "supervisor/audit/recorder/store.h"

#define VFS_NAME    "kennel"
#define HELD_MAX    (64u << 10)
#define ROOM_WAITED 16           /* short sessions need no extra space */
#define ROOM_FIRST  (256u << 10) /* the first time; later as much again as is used */
#define ROOM_STEP   (4u << 20)   /* but never more than this at once */
#define ROOM_MOST   ((sqlite3_int64)WAL_PAGES * WAL_FRAME)
#define ROOM_ENOUGH ((sqlite3_int64)24 * WAL_FRAME) /* for the next commit of a gate */

/* SQLite's handle; the handle of the real VFS follows it in memory. */
struct frames {
	sqlite3_file base;
	uint8_t *held; /* held_n bytes for offset held_at; owned */
	size_t held_n;
	sqlite3_int64 held_at;
	sqlite3_int64 end; /* end of what was written last */
	/* Size of the file; -1: not read yet. Cached, because reading it makes the
	 * file system give the next write a timestamp of its own, which is one more
	 * block to write. */
	sqlite3_int64 size;
};

static sqlite3_vfs *below;

static struct frames *
frames_of(sqlite3_file *file)
{
	return (struct frames *)(void *)file;
}

static sqlite3_file *
real_of(sqlite3_file *file)
{
	return (sqlite3_file *)(void *)(frames_of(file) + 1);
}

/* A failed write is not retried: SQLite got the error and rolls back. */
static int
give(sqlite3_file *file)
{
	struct frames *f = frames_of(file);
	size_t n = f->held_n;

	f->held_n = 0;
	return n == 0 ? SQLITE_OK
		      : real_of(file)->pMethods->xWrite(
			    real_of(file), f->held, (int)n, f->held_at);
}

/* ---- file methods ---------------------------------------------------------------- */

static int
on_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
	struct frames *f = frames_of(file);
	size_t n = (size_t)len;
	int code = SQLITE_OK;

	if (f->held_n > 0 &&
	    (at != f->held_at + (sqlite3_int64)f->held_n || n > HELD_MAX - f->held_n))
		code = give(file);
	if (code != SQLITE_OK)
		return code;
	f->end = at + len;
	if (f->size >= 0 && f->size < f->end)
		f->size = f->end;
	if (n > HELD_MAX)
		return real_of(file)->pMethods->xWrite(real_of(file), bytes, len, at);
	if (f->held_n == 0)
		f->held_at = at;
	memcpy(f->held + f->held_n, bytes, n);
	f->held_n += n;
	return SQLITE_OK;
}

static int
on_read(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
	int code = give(file);

	return code != SQLITE_OK
		   ? code
		   : real_of(file)->pMethods->xRead(real_of(file), out, len, at);
}

static int
on_sync(sqlite3_file *file, int flags)
{
	int code = give(file);

	return code != SQLITE_OK ? code
				 : real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int
on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	int code = give(file);

	frames_of(file)->end = 0;
	frames_of(file)->size = -1;
	return code != SQLITE_OK
		   ? code
		   : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int
on_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	int code = give(file);

	return code != SQLITE_OK ? code
				 : real_of(file)->pMethods->xFileSize(real_of(file), ret);
}

static int
on_close(sqlite3_file *file)
{
	struct frames *f = frames_of(file);
	int code = give(file), closed = real_of(file)->pMethods->xClose(real_of(file));

	free(f->held);
	f->held = NULL;
	return code != SQLITE_OK ? code : closed;
}

static int
on_lock(sqlite3_file *file, int lock)
{
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
	return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret);
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

static const sqlite3_io_methods frames_methods = {
    .iVersion = 1, /* no memory mapping, no locks: only the database has those */
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
};

static int
on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct frames *f = frames_of(file);
	int code;

	if ((flags & SQLITE_OPEN_WAL) == 0)
		return below->xOpen(below, name, file, flags, ret_flags);
	*f = (struct frames){.held = malloc(HELD_MAX), .size = -1};
	if (f->held == NULL)
		return SQLITE_NOMEM;
	code = below->xOpen(below, name, real_of(file), flags, ret_flags);
	if (code != SQLITE_OK) {
		free(f->held);
		f->held = NULL;
		return code; /* no methods: SQLite does not close it */
	}
	f->base.pMethods = &frames_methods;
	return SQLITE_OK;
}

/* ---- public functions ---------------------------------------------------------- */

const char *
frames_vfs(void)
{
	static sqlite3_vfs vfs;

	if (below == NULL) {
		below = sqlite3_vfs_find(NULL);
		if (below == NULL)
			return NULL;
		vfs = *below;
		vfs.pNext = NULL;
		vfs.zName = VFS_NAME;
		vfs.szOsFile = (int)sizeof(struct frames) + below->szOsFile;
		vfs.xOpen = on_open;
		/* cannot fail: sqlite3_vfs_find has initialized SQLite */
		(void)sqlite3_vfs_register(&vfs, 0);
	}
	return VFS_NAME;
}

/* Allocates space for the next commits. If the disk is full, nothing is lost. */
static int
make_room(sqlite3 *db)
{
	sqlite3_file *file = NULL, *real;
	sqlite3_int64 more;
	struct frames *f;
	int code;

	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) !=
		SQLITE_OK ||
	    file == NULL || file->pMethods != &frames_methods)
		return SQLITE_OK;
	f = frames_of(file);
	real = real_of(file);
	code = f->size < 0 ? on_size(file, &f->size) : give(file);
	if (code != SQLITE_OK || f->size >= ROOM_MOST || f->end + ROOM_ENOUGH <= f->size)
		return code;
	more = f->size < ROOM_FIRST  ? ROOM_FIRST
	       : f->size > ROOM_STEP ? ROOM_STEP
				     : f->size;
	memset(f->held, 0, HELD_MAX);
	while (code == SQLITE_OK && more > 0) {
		code = real->pMethods->xWrite(real, f->held, (int)HELD_MAX, f->size);
		f->size += HELD_MAX;
		more -= HELD_MAX;
	}
	if (code != SQLITE_OK) {
		f->size = -1;
		return code;
	}
	return real->pMethods->xSync(real, SQLITE_SYNC_DATAONLY | SQLITE_SYNC_NORMAL);
}

/* A commit into allocated space reaches the disk sooner than one that extends the
 * file. Only commits that a writer waits for are worth it. */
int
store_room(struct store *store)
{
	int code;

	if (store->waited < ROOM_WAITED) {
		store->waited++;
		return 0;
	}
	code = make_room(store->db);
	return code == SQLITE_FULL ? 0 : store_errno(code);
}
