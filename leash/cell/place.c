/*
 * The place of a cell among those of its user, which decides its share of what the kernel
 * counts by user and bounds by user namespace.  A bound for each cell alone does not bound
 * their sum: two cells with a half each have all of it.
 *
 *	places	inotify instances of each	all	of its 128
 *	0-3	16, or an eighth		64
 *	4-7	4, or a 32nd			16
 *	8-15	1, or a 128th			 8
 *	16-	none				 0
 *
 * So 40 of 128 remain for the user's other programs and for the leashes, which need one
 * for each server with a cover.  Sixteen are enough for node, tsc and what watches files.
 *
 * A place is a lock on one byte of a file in the directory of the servers' logs, which
 * only kennel writes.  The kernel drops it when its leash ends.
 *
 * Process: the leash.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"

#define PLACES_FILE "cells"

static const struct {
	uint32_t places, instances, part; /* of the host's limit */
} rows[] = {{4, 16, 8}, {4, 4, 32}, {8, 1, 128}};

/* The first free place, or the one after the last. *ret_fd holds it; -1: none is held. */
static uint32_t
take(int dir, int *ret_fd)
{
	uint32_t all = 0;
	int fd;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		all += rows[i].places;
	*ret_fd = -1;
	/* early: openat fcntl */
	fd = openat(dir, PLACES_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	for (uint32_t place = 0; fd >= 0 && place < all; place++) {
		struct flock lock = {.l_type = F_WRLCK,
		    .l_whence = SEEK_SET,
		    .l_start = place,
		    .l_len = 1};

		if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
			continue;
		*ret_fd = fd;
		return place;
	}
	fd_close(&fd);
	return all;
}

/* The host's limit per user, 0 if it is unknown. */
static uint32_t
limit_of(const char *path)
{
	char text[24] = "";
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	fd_close(&fd);
	return (uint32_t)strtoul(text, NULL, 10);
}

static uint32_t
least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

struct cell_bounds
place_bounds(int dir, int *ret_fd)
{
	uint32_t instances = limit_of("/proc/sys/fs/inotify/max_user_instances");
	uint32_t watches = limit_of("/proc/sys/fs/inotify/max_user_watches");
	uint32_t place = take(dir, ret_fd);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (place < rows[i].places)
			return (struct cell_bounds){
			    least(rows[i].instances, instances / rows[i].part),
			    watches / rows[i].part};
		place -= rows[i].places;
	}
	return (struct cell_bounds){0, 0};
}

/*
 * A user namespace may have as much of these as its creator's limits say, at its creation:
 * all cells and programs of the user together stay below it, or a cell gets no more.  So
 * a part of it is kept for programs outside.  before is for place_limits_back().
 */
static const struct {
	int what;
	rlim_t kept; /* 1/kept stays for programs outside */
} shared[PLACE_LIMITS] = {
    {RLIMIT_NPROC, 8}, /* no more: a session's own threads count, too */
    {RLIMIT_SIGPENDING, 2},
    {RLIMIT_MSGQUEUE, 2},
    {RLIMIT_MEMLOCK, 2},
};

void
place_limits_lower(struct rlimit before[PLACE_LIMITS])
{
	for (size_t i = 0; i < PLACE_LIMITS; i++) {
		struct rlimit lower;

		/* early: prlimit64 */
		if (getrlimit(shared[i].what, &before[i]) < 0)
			before[i] =
			    (struct rlimit){RLIM_INFINITY, RLIM_INFINITY}; /* keep */
		lower = before[i];
		if (lower.rlim_cur == RLIM_INFINITY)
			continue;
		lower.rlim_cur -= lower.rlim_cur / shared[i].kept;
		(void)setrlimit(shared[i].what, &lower); /* always allowed */
	}
}

void
place_limits_back(const struct rlimit before[PLACE_LIMITS])
{
	for (size_t i = 0; i < PLACE_LIMITS; i++)
		if (before[i].rlim_cur != RLIM_INFINITY)
			(void)setrlimit(shared[i].what, &before[i]); /* as it was */
}
