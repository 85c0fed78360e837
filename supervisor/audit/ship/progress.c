/*
 * The position in a log up to which it was shipped: one line of fixed length,
 * overwritten in place.
 *
 *	kennel-ship 1 LOG(32) NEXT(20)\n
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
#include "supervisor/audit/ship/ship.h"

#define PLACE_HEAD "kennel-ship 1 "
#define LOG_LEN    32
#define NEXT_LEN   20
#define PLACE_END  (sizeof(PLACE_HEAD) - 1 + LOG_LEN + 1 + NEXT_LEN)

int
ship_place_open(const char *path, const char *log, int *ret_fd, uint64_t *ret_next)
{
	char line[SHIP_PLACE_LEN + 1];
	size_t head = strlen(PLACE_HEAD);
	uint64_t next = 0;
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
	n = pread(fd, line, SHIP_PLACE_LEN, 0);
	r = -EUCLEAN;
	if (n < 0 || (n > 0 && (size_t)n < PLACE_END))
		goto out;
	if (n > 0) {
		struct span digits = {
		    (const uint8_t *)line + PLACE_END - NEXT_LEN, NEXT_LEN};

		if (memcmp(line, PLACE_HEAD, head) != 0 || strlen(log) != LOG_LEN ||
		    memcmp(line + head, log, LOG_LEN) != 0 || !scan_number(digits, &next))
			goto out;
	}
	*ret_fd = fd;
	*ret_next = next;
	return 0;
out:
	fd_close(&fd);
	return r;
}

int
ship_place_put(int fd, const char *log, uint64_t next)
{
	char line[SHIP_PLACE_LEN + 1];
	int n =
	    snprintf(line, sizeof(line), PLACE_HEAD "%.32s %020" PRIu64 "\n", log, next);

	/* syscalls: pwrite64 fdatasync */
	if (pwrite(fd, line, (size_t)n, 0) != n || fdatasync(fd) < 0)
		return -errno;
	return 0;
}
