/*
 * The position in a log up to which it was shipped: one line of fixed length,
 * overwritten in place.
 *
 *	kennel-ship 2 LOG(32) NEXT(20) SIZE(20) ROOT(64)\n
 *
 * SIZE and ROOT are a checkpoint of the log: one that was restored and has grown past it
 * again has another root there, or none. Version 1 had neither; it is read, and the next
 * position is written as version 2.
 *
 * It fits into one sector, which a disk writes atomically. The log itself is the
 * queue; nothing else is stored, however long the collector is unreachable.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "supervisor/audit/ship/ship.h"

#define PLACE_1  "kennel-ship 1 "
#define PLACE_2  "kennel-ship 2 "
#define HEAD_LEN (sizeof(PLACE_1) - 1)
#define LOG_LEN  32
#define NEXT_LEN 20
#define NEXT_AT  (HEAD_LEN + LOG_LEN + 1)
#define SIZE_AT  (NEXT_AT + NEXT_LEN + 1)
#define ROOT_AT  (SIZE_AT + NEXT_LEN + 1)
#define END_1    (NEXT_AT + NEXT_LEN + 1)
#define END_2    (ROOT_AT + (size_t)2 * MERKLE_HASH_LEN + 1)

int
ship_place_read(const char *line, size_t len, const char *log, struct ship_place *ret)
{
	struct ship_place p = {.next = 0};
	struct span digits = {(const uint8_t *)line + NEXT_AT, NEXT_LEN};
	bool old = len == END_1 && memcmp(line, PLACE_1, HEAD_LEN) == 0;

	if (!old && (len != END_2 || memcmp(line, PLACE_2, HEAD_LEN) != 0))
		return -EUCLEAN;
	if (line[len - 1] != '\n' || line[NEXT_AT - 1] != ' ' || strlen(log) != LOG_LEN ||
	    memcmp(line + HEAD_LEN, log, LOG_LEN) != 0 || !scan_number(digits, &p.next))
		return -EUCLEAN;
	digits.data = (const uint8_t *)line + SIZE_AT;
	if (!old &&
	    (line[SIZE_AT - 1] != ' ' || line[ROOT_AT - 1] != ' ' ||
		!scan_number(digits, &p.size) || p.size < p.next ||
		!hex_get(line + ROOT_AT, 2 * sizeof(p.root), p.root, sizeof(p.root))))
		return -EUCLEAN;
	*ret = p;
	return 0;
}

int
ship_place_open(const char *path, const char *log, int *ret_fd, struct ship_place *ret)
{
	struct ship_place place = {.next = 0};
	char line[SHIP_PLACE_LEN];
	ssize_t n;
	int r = 0, fd;

	/* early: openat flock pread64 */
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* two processes would send everything twice */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = -errno;
		goto out;
	}
	n = pread(fd, line, sizeof(line), 0);
	if (n < 0)
		r = -errno;
	else if (n == 0) /* bound to this log before anything is sent of it */
		r = ship_place_put(fd, log, &place);
	else
		r = ship_place_read(line, (size_t)n, log, &place);
	if (r < 0)
		goto out;
	*ret_fd = fd;
	*ret = place;
	return 0;
out:
	fd_close(&fd);
	return r;
}

int
ship_place_put(int fd, const char *log, const struct ship_place *place)
{
	char line[SHIP_PLACE_LEN], hex[2 * MERKLE_HASH_LEN + 1];
	int n = snprintf(line, sizeof(line),
	    PLACE_2 "%.32s %020" PRIu64 " %020" PRIu64 " %s\n", log, place->next,
	    place->size, hex_put(hex, place->root, sizeof(place->root)));

	/* syscalls: pwrite64 fdatasync */
	if (pwrite(fd, line, (size_t)n, 0) != n || fdatasync(fd) < 0)
		return -errno;
	return 0;
}
