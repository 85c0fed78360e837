/*
 * Stores the highest version of each server's policy that was started here, so that
 * an older one, although signed, is not accepted again.
 *
 * The directory is /var/lib/kennel for root, otherwise in the home directory from the
 * user database. No environment variable moves it, but its owner can write it
 * (TRUST.md).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "supervisor/launch/find/policy_found.h"
#include "supervisor/base/paths.h"

#define ROOT_DIR  "/var/lib/kennel/policy-seen"
#define LINE_MAX_ 128

static int
folder_name(uid_t uid, char out[PATH_MAX])
{
	const char *home;
	int n;

	if (uid == 0)
		n = snprintf(out, PATH_MAX, "%s", ROOT_DIR);
	else if ((home = paths_home_of(uid)) == NULL)
		return -ENOENT;
	else
		n = snprintf(out, PATH_MAX, "%s/.local/state/kennel/policy-seen", home);
	return n > 0 && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int
folder_of(uid_t uid, char out[PATH_MAX])
{
	int r = folder_name(uid, out);

	return r == 0 ? fd_make_dirs(out) : r;
}

int
rollback_dir(char out[PATH_MAX])
{
	return folder_name(geteuid(), out);
}

/* Reads "VERSION ID"; a missing file means version 0. */
static int
line_read(int dir, const char *name, unsigned long long *ret, char id[65])
{
	char line[LINE_MAX_];
	ssize_t n;
	size_t len;
	char *end;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	*ret = 0;
	id[0] = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = read(fd, line, sizeof(line) - 1);
	fd_close(&fd);
	if (n < 0)
		return -errno;
	line[n] = 0;
	len = strspn(line, "0123456789");
	if (len == 0 || len > 18 || line[len] != ' ')
		return -EBADMSG;
	*ret = strtoull(line, &end, 10);
	len = hex_span(++end);
	if (len != 64)
		return -EBADMSG;
	memcpy(id, end, 64);
	id[64] = 0;
	return 0;
}

static int
line_write(int dir, const char *name, unsigned long long counter, const char *id)
{
	char line[LINE_MAX_], temp[NAME_MAX + 8];
	int n = snprintf(line, sizeof(line), "%llu %s\n", counter, id), fd, r;

	/* no server name begins with a dot, so this is never another server's file */
	(void)snprintf(temp, sizeof(temp), ".%.200s.new", name);
	fd = openat(
	    dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, line, (size_t)n);
	if (r == 0 && (fsync(fd) < 0 || renameat(dir, temp, dir, name) < 0))
		r = -errno;
	fd_close(&fd);
	return r == 0 && fsync(dir) < 0 ? -errno : r;
}

int
rollback_admit_in(const char *folder, const char *name, uint64_t counter,
    const uint8_t id[POLICY_ID_LEN], char *why, size_t why_cap)
{
	char mine[2 * POLICY_ID_LEN + 1], known[65];
	unsigned long long last = 0;
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	(void)hex_put(mine, id, POLICY_ID_LEN);
	r = dir < 0 || flock(dir, LOCK_EX) < 0 ? -errno
					       : line_read(dir, name, &last, known);
	if (r == 0 && counter < last)
		r = -ESTALE;
	else if (r == 0 && counter == last && strcmp(mine, known) != 0)
		r = -EEXIST;
	else if (r == 0 && counter > last)
		r = line_write(dir, name, counter, mine);
	if (r == -ESTALE)
		(void)snprintf(why, why_cap,
		    "version %llu of this policy is older than %llu, which was started "
		    "here",
		    (unsigned long long)counter, last);
	else if (r == -EEXIST)
		(void)snprintf(why, why_cap,
		    "another policy was started here as version %llu", last);
	else if (r < 0)
		(void)snprintf(why, why_cap,
		    "%s/%s: unable to keep the policy's version: %s", folder, name,
		    strerror(-r));
	fd_close(&dir); /* also releases the lock */
	return r;
}

int
rollback_admit(const char *name, uint64_t counter, const uint8_t id[POLICY_ID_LEN],
    char *why, size_t why_cap)
{
	char folder[PATH_MAX];
	int r = folder_of(geteuid(), folder);

	if (r < 0) {
		(void)snprintf(why, why_cap, "no directory for the policy's version: %s",
		    strerror(-r));
		return r;
	}
	return rollback_admit_in(folder, name, counter, id, why, why_cap);
}
