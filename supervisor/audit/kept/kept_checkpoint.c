/*
 * The last checkpoint of each log of a place (kept_checkpoint.h).
 *
 * Process: kennel-recorder writes them; kennel and kennel-verify read them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/loop.h"
#include "supervisor/audit/kept/kept_checkpoint.h"

#define ID_LEN 12 /* of an origin, HOST/kennel/ID */
#define TAIL   ".checkpoint"

int
kept_parse(const char *text, size_t len, struct checkpoint *ret)
{
	struct checkpoint cp;
	struct note note;

	if (note_parse(text, len, &note) < 0 || checkpoint_parse(note.text, &cp) < 0)
		return -EBADMSG;
	*ret = cp;
	return 0;
}

bool
kept_is_name(const char *name)
{
	const char *tail = strstr(name, TAIL);

	if (tail == NULL || strcmp(tail, TAIL) != 0 || tail - name < ID_LEN ||
	    strlen(name) >= KEPT_NAME_MAX || !hex_is(name, ID_LEN, ID_LEN))
		return false;
	name += ID_LEN;
	return name == tail ||
	       (*name == '-' && name + 1 < tail &&
		   strspn(name + 1, "0123456789") == (size_t)(tail - name - 1));
}

/* "ID": the end of the origin. */
static int
id_of(const char *origin, char ret[ID_LEN + 1])
{
	const char *slash = strrchr(origin, '/');

	if (slash == NULL || !hex_is(slash + 1, strlen(slash + 1), ID_LEN))
		return -EBADMSG;
	memcpy(ret, slash + 1, ID_LEN + 1);
	return 0;
}

static int
read_one(int dir, struct kept *kept)
{
	char text[NOTE_MAX], id[ID_LEN + 1];
	struct stat st = {0};
	ssize_t n = -1;
	/* syscalls: openat fstat read */
	int fd = openat(dir, kept->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EBADMSG;
	if (r == 0 && (n = read(fd, text, sizeof(text))) < 0)
		r = -errno;
	fd_close(&fd);
	if (r == 0)
		r = kept_parse(text, (size_t)n, &kept->cp);
	if (r == 0)
		r = id_of(kept->cp.origin, id);
	if (r == 0 && strncmp(id, kept->name, ID_LEN) != 0)
		r = -EBADMSG;
	if (r < 0)
		return r == -ELOOP ? -EBADMSG : r;
	kept->ts = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	return 0;
}

static int
newest_first(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->ts != y->ts ? (x->ts < y->ts ? 1 : -1) : strcmp(x->name, y->name);
}

int
kept_list(int dir, struct kept ret[KEPT_MAX], size_t *ret_n)
{
	/* syscalls: openat getdents64 lseek fstat */
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct kept kept;
	struct dirent *e;
	size_t n = 0;

	if (list == NULL)
		return -errno;
	while (r == 0 && (e = readdir(list)) != NULL) {
		if (!kept_is_name(e->d_name))
			continue;
		if (n == KEPT_MAX) {
			r = -E2BIG;
			break;
		}
		(void)snprintf(kept.name, sizeof(kept.name), "%s", e->d_name);
		r = read_one(dir, &kept);
		if (r != -ENOENT) /* just removed */
			ret[r == 0 ? n++ : 0] = kept;
		else
			r = 0;
	}
	(void)closedir(list); /* read-only */
	if (r < 0)
		return r;
	if (n > 1)
		qsort(ret, n, sizeof(ret[0]), newest_first);
	*ret_n = n;
	return 0;
}

const char *
kept_text(const struct kept *kept, char out[KEPT_TEXT_MAX])
{
	time_t s = (time_t)(kept->ts / NS_PER_S);
	char date[32] = "an unknown time";
	struct tm tm;

	if (gmtime_r(&s, &tm) != NULL)
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	(void)snprintf(out, KEPT_TEXT_MAX,
	    "%s, which had %" PRIu64 " records at %s (kept checkpoint %s)",
	    kept->cp.origin, kept->cp.size, date, kept->name);
	return out;
}

int
kept_put(int dir, const char *origin, const char *note)
{
	char id[ID_LEN + 1], name[KEPT_NAME_MAX], aside[KEPT_NAME_MAX];
	int fd, r = id_of(origin, id);

	if (r < 0)
		return r;
	(void)snprintf(aside, sizeof(aside), "%s.new", id);
	(void)snprintf(name, sizeof(name), "%s" TAIL, id);
	/* syscalls: openat write fsync renameat unlinkat */
	fd = openat(
	    dir, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, note, strlen(note));
	/* before the rename: after a crash the name has the old bytes or the new ones */
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	fd_close(&fd);
	if (r == 0 && renameat(dir, aside, dir, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir, aside, 0); /* incomplete */
	return r;
}

int
kept_set_aside(int dir, const struct kept *kept)
{
	char name[KEPT_NAME_MAX];

	(void)snprintf(
	    name, sizeof(name), "%.*s-%" PRIu64 TAIL, ID_LEN, kept->name, kept->cp.size);
	return renameat(dir, kept->name, dir, name) < 0 ? -errno : 0;
}
