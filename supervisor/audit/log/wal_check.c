/*
 * Checks a write-ahead log and its index, which another process may have changed,
 * before SQLite reads them. SQLite stops at the first invalid frame without reporting
 * the frames after it, and retries for minutes over an invalid head.
 *
 *	head	magic, version, page size, count, two salts, checksum of these
 *	frame	page number, size of the database in pages if it ends a commit, the
 *		salts, and a checksum over all frames so far; then the page
 *	...	zeros (room for commits to come), frames of an earlier use of the file
 *
 * Every commit is on disk before the next one is written (synchronous=FULL). So if a
 * frame that ends a commit is followed by another frame, everything before was
 * acknowledged, and no crash can have changed it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/loop.h"
#include "supervisor/audit/log/open_log.h"

#define MAGIC       0x377f0682u /* plus one: checksums of big-endian words */
#define VERSION     3007000u
#define RESETS_MAX  (1u << 20) /* each reset increments the first salt */
#define TIME_EVERY  256
#define INDEX_UNIT  4096
#define INDEX_STUB  3 /* SQLite's first step of making an index */
#define WHY(w, ...) (void)snprintf(w, READER_WHY_MAX, __VA_ARGS__)

struct wal {
	int fd;
	bool big;
	uint8_t head[WAL_HEAD];
	uint64_t frames;
	uint32_t sum[2]; /* after the last valid frame */
	size_t rest;     /* bytes after the last frame */
	/* what follows the last valid frame */
	bool torn;    /* a frame of the same use of the file */
	bool earlier; /* one of an earlier use */
	bool chained; /* the frame before ends a commit; its checksums are in link */
	uint32_t link[2];
};

/* ---- integers ---------------------------------------------------------------------- */

static uint32_t
word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
	       at[3];
}

static void
add_sum(const struct wal *w, const uint8_t *at, size_t len, uint32_t sum[2])
{
	for (size_t i = 0; i < len; i += 8) {
		uint32_t a = word(at + i), b = word(at + i + 4);

		sum[0] += (w->big ? a : __builtin_bswap32(a)) + sum[1];
		sum[1] += (w->big ? b : __builtin_bswap32(b)) + sum[0];
	}
}

static bool
is_zero(const uint8_t *at, size_t len)
{
	/* the caller has read len bytes */
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	return len == 0 || (at[0] == 0 && memcmp(at, at + 1, len - 1) == 0);
}

/* True if this frame follows the one with these checksums; then stores its own
 * checksums there. */
static bool
follows(const struct wal *w, const uint8_t frame[WAL_FRAME], uint32_t sum[2])
{
	uint32_t next[2] = {sum[0], sum[1]};

	add_sum(w, frame, 8, next);
	add_sum(w, frame + WAL_FRAME_HEAD, WAL_PAGE, next);
	if (word(frame) == 0 || word(frame + 16) != next[0] ||
	    word(frame + 20) != next[1])
		return false;
	memcpy(sum, next, sizeof(next));
	return true;
}

/* ---- the head ------------------------------------------------------------------------ */

/* syscalls: openat fstat */
static int
open_beside(const char *path, const char *suffix, uint64_t *ret_size, int *ret_fd)
{
	char name[READER_PATH_MAX + 8];
	struct stat st;
	int fd;

	(void)snprintf(name, sizeof(name), "%s%s", path, suffix);
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		fd_close(&fd);
		return -ELOOP;
	}
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = fd;
	return 0;
}

/* True for a prefix of a valid head: a full disk leaves one. */
static bool
begins(const uint8_t *head, size_t len)
{
	static const uint8_t want[8] = {0x37, 0x7f, 0x06, 0x82, 0x00, 0x2d, 0xe2, 0x18};

	for (size_t i = 0; i < len && i < sizeof(want); i++) {
		if (head[i] != want[i] && !(i == 3 && head[i] == want[i] + 1))
			return false;
	}
	return true;
}

static int
open_wal(struct wal *w, const char *path, char why[READER_WHY_MAX])
{
	uint64_t size = 0;
	ssize_t n;
	int r = open_beside(path, "-wal", &size, &w->fd);

	if (r == -ENOENT)
		return r;
	if (r == -ELOOP) {
		WHY(why, "audit.db-wal is not a regular file; remove it");
		return -EBADMSG;
	}
	if (r < 0) {
		WHY(why, "unable to open audit.db-wal: %s", strerror(-r));
		return r;
	}
	n = pread(w->fd, w->head, sizeof(w->head), 0); /* syscalls: pread64 */
	if (n < 0)
		return -EIO;
	w->big = (w->head[3] & 1) != 0;
	add_sum(w, w->head, 24, w->sum);
	if (is_zero(w->head, (size_t)n) || (n < WAL_HEAD && begins(w->head, (size_t)n))) {
		WHY(why, "audit.db-wal has no header");
		r = size <= WAL_HEAD ? -ENOENT : -ENODATA;
	} else if (n < WAL_HEAD || (word(w->head) & ~1u) != MAGIC ||
		   word(w->head + 4) != VERSION || word(w->head + 8) != WAL_PAGE ||
		   word(w->head + 24) != w->sum[0] || word(w->head + 28) != w->sum[1]) {
		WHY(why, "audit.db-wal is not a write-ahead log that kennel wrote");
		r = -EBADMSG;
	} else if (size <= WAL_HEAD) {
		r = -ENOENT; /* a head alone: nothing was committed */
	}
	w->frames = size <= WAL_HEAD ? 0 : (size - WAL_HEAD) / WAL_FRAME;
	w->rest = size <= WAL_HEAD ? 0 : (size - WAL_HEAD) % WAL_FRAME;
	if (r < 0)
		fd_close(&w->fd);
	return r;
}

int
wal_check_head(const char *path, char why[READER_WHY_MAX])
{
	struct wal w = {.fd = -1};
	int r = open_wal(&w, path, why);

	fd_close(&w.fd);
	return r;
}

/* ---- the frames ---------------------------------------------------------------------- */

static int
read_frame(const struct wal *w, uint64_t i, uint64_t until, uint8_t frame[WAL_FRAME])
{
	if (i % TIME_EVERY == 0 && loop_now() > until)
		return -ETIME;
	return pread(w->fd, frame, WAL_FRAME, (off_t)(WAL_HEAD + i * WAL_FRAME)) ==
		       WAL_FRAME
		   ? 0
		   : -EIO;
}

static bool
same_salts(const struct wal *w, const uint8_t *frame)
{
	return memcmp(frame + 8, w->head + 16, 8) == 0;
}

/* Counts the valid frames, and how many of them are committed. */
static int
count_whole(struct wal *w, uint64_t until, uint64_t *ret_whole, uint64_t *ret_committed)
{
	uint8_t frame[WAL_FRAME];
	uint64_t i;
	int r;

	for (i = 0; i < w->frames; i++) {
		r = read_frame(w, i, until, frame);
		if (r < 0)
			return r;
		if (!same_salts(w, frame) || !follows(w, frame, w->sum))
			break;
		if (word(frame + 4) != 0)
			*ret_committed = i + 1;
	}
	*ret_whole = i;
	return 0;
}

/* Classifies a frame that is invalid or follows an invalid one. */
static const char *
look_behind(struct wal *w, const uint8_t frame[WAL_FRAME], bool first)
{
	uint32_t sum[2] = {w->sum[0], w->sum[1]};
	uint32_t resets = word(w->head + 16) - word(frame + 8);

	if (is_zero(frame, WAL_FRAME)) {
		w->chained = false;
		return NULL;
	}
	if (!same_salts(w, frame)) {
		w->chained = false;
		w->earlier = true;
		if (first && follows(w, frame, sum))
			return "a frame was changed";
		return resets >= 1 && resets <= RESETS_MAX && word(frame) != 0
			   ? NULL
			   : "it contains bytes that no recorder wrote";
	}
	w->torn = true;
	if (w->chained && follows(w, frame, w->link))
		return "commits that were on disk are incomplete";
	w->chained = word(frame + 4) != 0;
	w->link[0] = word(frame + 16);
	w->link[1] = word(frame + 20);
	return NULL;
}

static int
read_rest(const struct wal *w, uint8_t frame[WAL_FRAME])
{
	off_t at = (off_t)(WAL_HEAD + w->frames * WAL_FRAME);

	return pread(w->fd, frame, w->rest, at) == (ssize_t)w->rest ? 0 : -EIO;
}

static int
check_frames(struct wal *w, uint64_t until, char why[READER_WHY_MAX])
{
	uint8_t frame[WAL_FRAME];
	uint64_t whole = 0, committed = 0;
	int r = count_whole(w, until, &whole, &committed);

	for (uint64_t i = whole; r == 0 && i < w->frames; i++) {
		const char *what;

		r = read_frame(w, i, until, frame);
		if (r < 0)
			break;
		what = look_behind(w, frame, i == whole);
		if (what != NULL) {
			WHY(why, "audit.db-wal was changed: %s (frame %llu)", what,
			    (unsigned long long)i);
			return -EBADMSG;
		}
	}
	if (r == 0)
		r = read_rest(w, frame);
	if (r < 0)
		return r;
	if (w->torn || !is_zero(frame, w->rest) || whole > committed ||
	    (whole == 0 && w->earlier)) {
		WHY(why, "the last commit in audit.db-wal is not whole: kennel-recorder "
			 "was killed while it wrote, or the file was changed");
		return -ENODATA;
	}
	return 0;
}

int
wal_check(const char *path, uint64_t until, char why[READER_WHY_MAX])
{
	struct wal w = {.fd = -1};
	int r = open_wal(&w, path, why);

	if (r < 0)
		return r;
	r = check_frames(&w, until, why);
	if (r == -ETIME)
		WHY(why, "audit.db-wal is too long to be read in time");
	else if (r == -EIO)
		WHY(why, "unable to read audit.db-wal");
	fd_close(&w.fd);
	return r;
}

/* ---- the index ----------------------------------------------------------------------- */

/* Checks one of the two index heads, which use the machine's byte order. */
static bool
is_index_head(const uint8_t copy[48])
{
	uint32_t version, sum[2] = {0, 0}, is[2], part[2];
	uint16_t page;

	memcpy(&version, copy, sizeof(version));
	memcpy(&page, copy + 14, sizeof(page));
	memcpy(is, copy + 40, sizeof(is));
	for (size_t i = 0; i < 40; i += 8) {
		memcpy(part, copy + i, sizeof(part));
		sum[0] += part[0] + sum[1];
		sum[1] += part[1] + sum[0];
	}
	/* an empty write-ahead log has no page size yet */
	return version == VERSION && (page == WAL_PAGE || page == 0) &&
	       memcmp(is, sum, sizeof(is)) == 0;
}

/* Checks the index file by itself. */
static int
read_index(const char *path, uint8_t copy[2][48], char why[READER_WHY_MAX])
{
	int fd = -1, r;
	uint64_t size = 0;

	memset(copy, 0, 2 * sizeof(copy[0]));
	r = open_beside(path, "-shm", &size, &fd);
	if (r == -ENOENT)
		return r;
	/* a full disk can end a recorder after that step */
	if (r < 0 || (size % INDEX_UNIT != 0 && size != INDEX_STUB)) {
		WHY(why, "audit.db-shm is not a file that kennel-recorder left");
		r = -EBADMSG;
	}
	/* an empty index holds nothing, and the heads stay zero */
	if (r == 0)
		(void)!pread(fd, copy, 2 * sizeof(copy[0]), 0);
	fd_close(&fd);
	return r;
}

int
shm_check(const char *path, char why[READER_WHY_MAX])
{
	struct wal w = {.fd = -1};
	uint8_t copy[2][48], *head = copy[1];
	char none[READER_WHY_MAX];
	uint64_t size;
	int r = read_index(path, copy, why);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (open_beside(path, "-wal", &size, &w.fd) == -ENOENT) {
		WHY(why, "audit.db-shm exists without audit.db-wal");
		return -ENODATA;
	}
	fd_close(&w.fd);
	if (is_zero(copy[0], sizeof(copy)))
		return 0;
	if (is_index_head(copy[0]))
		head = copy[0];
	if (!is_index_head(head)) {
		WHY(why, "audit.db-shm is not an index of a write-ahead log");
		return -EBADMSG;
	}
	r = open_wal(&w, path, none);
	fd_close(&w.fd);
	/* when a write-ahead log is reused, the index has the new salts first */
	if (r < 0 || word(head + 32) - word(w.head + 16) == 1 ||
	    memcmp(head + 32, w.head + 16, 8) == 0)
		return 0;
	WHY(why, "audit.db-shm is the index of another write-ahead log");
	return -ENODATA;
}
