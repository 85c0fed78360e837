/*
 * How often a plugin failed, in a file of the run directory: three times on the
 * clock that counts from boot, oldest first.  Each launch has its own plugin; the
 * count is shared by all.
 *
 * Process: the leash, before it sandboxes itself.  The file belongs to this user
 * and contains no secret.  Altering it can only cause a failing start or a delay.
 *
 * No call of this file is in the leash's allow-list.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "leash/vault/plugin.h"
#include "shim/base/fd.h"

#define MAGIC 0x31534853415243ULL /* "CRASHS1" */

struct crashes {
	uint64_t magic;
	uint64_t at[PLUGIN_CRASHES]; /* 0: none; the newest is the last */
};

uint64_t
plugin_failures_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t); /* cannot fail */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int
crashes_open(int run_dir, const char *source, int *ret_fd)
{
	char name[PLUGIN_NAME_MAX + 32];
	struct stat st;
	int fd, n;

	n = snprintf(name, sizeof(name), "plugin.%s.crashes", source);
	if (n < 0 || (size_t)n >= sizeof(name) || strchr(source, '/') != NULL)
		return -EINVAL;
	fd = openat(run_dir, name,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		fd_close(&fd);
		return -EACCES;
	}
	*ret_fd = fd;
	return 0;
}

/* A file that is empty, or was written before the last boot, counts as empty. */
static void
crashes_read(int fd, uint64_t now, struct crashes *ret)
{
	struct crashes c = {.magic = 0};
	size_t i;

	if (pread(fd, &c, sizeof(c), 0) != (ssize_t)sizeof(c) || c.magic != MAGIC)
		c = (struct crashes){.magic = MAGIC};
	for (i = 0; i < PLUGIN_CRASHES; i++)
		if (c.at[i] > now)
			c.at[i] = 0;
	*ret = c;
}

int
plugin_failures_may(int run_dir, const char *source, uint64_t now, uint64_t *ret_wait)
{
	struct crashes c;
	uint64_t newest, until = 0;
	int fd = -1, recent = 0, r;
	size_t i;

	r = crashes_open(run_dir, source, &fd);
	if (r < 0)
		return r;
	crashes_read(fd, now, &c);
	fd_close(&fd);
	newest = c.at[PLUGIN_CRASHES - 1];
	if (newest == 0)
		return 0;
	for (i = 0; i < PLUGIN_CRASHES; i++)
		recent += c.at[i] != 0 && newest - c.at[i] < PLUGIN_CRASH_MS;
	if (recent == PLUGIN_CRASHES)
		until = newest + PLUGIN_OFF_MS;
	else if (now - newest < PLUGIN_CRASH_MS)
		until = newest + ((uint64_t)PLUGIN_BACK_MS << (recent - 1));
	if (now >= until)
		return 0;
	*ret_wait = until - now;
	return -EAGAIN;
}

int
plugin_failures_note(int run_dir, const char *source, uint64_t now)
{
	struct crashes c;
	int fd = -1, r;

	r = crashes_open(run_dir, source, &fd);
	if (r < 0)
		return r;
	crashes_read(fd, now, &c);
	memmove(&c.at[0], &c.at[1], sizeof(c.at) - sizeof(c.at[0]));
	c.at[PLUGIN_CRASHES - 1] = now;
	if (pwrite(fd, &c, sizeof(c), 0) != (ssize_t)sizeof(c))
		r = -EIO;
	fd_close(&fd);
	return r;
}
