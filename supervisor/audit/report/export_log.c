/*
 * "kennel audit export --for-verify DIR": copies what kennel-verify needs to judge the
 * log elsewhere.
 *
 * Copies files by name: the closed files, the live file with its write-ahead log, and
 * the public key.  It must never copy a private key; a file that is not in this list
 * stays where it is.
 *
 * syscalls: openat fstat read write mkdir mkdirat fsync
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/segment.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/report/export.h"
#include "supervisor/base/paths.h"

#define WAL_NAME AUDIT_DB_NAME "-wal"
#define TRIES    20 /* if a recorder writes meanwhile */
#define PAUSE_NS 100000000

struct places {
	int from, to; /* directories */
};

static int
copy_bytes(int from, int to)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (fd_write_all(to, bytes, (size_t)n) < 0)
			return -EIO;
	}
	return fsync(to) == 0 ? 0 : -errno;
}

/* -ENOENT: there is no such file. */
static int
copy_one(const struct places *p, const char *name)
{
	int from = openat(p->from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int to = -1, r;

	if (from < 0)
		return -errno;
	to = openat(
	    p->to, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	r = to < 0 ? -errno : copy_bytes(from, to);
	fd_close(&from);
	fd_close(&to);
	return r;
}

/* What changes with every write: of a file that does not exist, zeros. */
static void
stamp(const struct places *p, const char *name, struct stat *ret)
{
	int fd = openat(p->from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	memset(ret, 0, sizeof(*ret));
	if (fd >= 0)
		(void)fstat(fd, ret); /* else zeros */
	fd_close(&fd);
}

static bool
same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The live file and its write-ahead log are one only if nothing was written between
 * the two copies, so they are copied again until nothing was. */
static int
copy_live(const struct places *p)
{
	static const char *const name[] = {AUDIT_DB_NAME, WAL_NAME};
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct stat before[ARRAY_LEN(name)], after[ARRAY_LEN(name)];

	for (int i = 0; i < TRIES; i++) {
		int r;

		for (size_t k = 0; k < ARRAY_LEN(name); k++)
			stamp(p, name[k], &before[k]);
		r = copy_one(p, AUDIT_DB_NAME);
		if (r == 0) {
			r = copy_one(p, WAL_NAME);
			if (r == -ENOENT)
				r = unlinkat(p->to, WAL_NAME, 0) == 0 || errno == ENOENT
					? 0
					: -errno;
		}
		if (r < 0)
			return r;
		for (size_t k = 0; k < ARRAY_LEN(name); k++)
			stamp(p, name[k], &after[k]);
		if (same(&before[0], &after[0]) && same(&before[1], &after[1]))
			return 0;
		(void)nanosleep(&pause, NULL); /* syscalls: nanosleep clock_nanosleep */
	}
	return -EBUSY;
}

/* The live file first: a rotation after it would make it a closed file too, which
 * kennel-verify then reports, instead of a file that is missing. */
static int
copy_log(const struct places *p)
{
	char(*name)[SEGMENT_NAME_MAX] = calloc(SEGMENTS_MAX, sizeof(*name));
	size_t n = 0;
	int r = name == NULL ? -ENOMEM : copy_live(p);

	if (r == 0)
		r = copy_one(p, AUDIT_VKEY_NAME);
	if (r == 0)
		r = segment_list(p->from, name, &n);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = copy_one(p, name[i]);
	free(name);
	return r;
}

/* A log that is not the user's own got no record of this export, so it may be old. */
static void
tell_how(const struct query *q, const struct places *p)
{
	const char *verifier = paths_libexec("kennel-verify");
	char key[256] = "";
	int fd = openat(p->to, AUDIT_VKEY_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, key, sizeof(key) - 1) : 0;

	fd_close(&fd);
	key[n > 0 ? n : 0] = '\0';
	key[strcspn(key, "\n")] = '\0';
	printf("copied the log to %s, without any private key; to verify it:\n\n"
	       "    kennel-verify ",
	    q->for_verify);
	if (q->log != NULL)
		printf("--stopped");
	else
		printf("--now %" PRId64, (int64_t)time(NULL));
	printf(" --key '%s' %s\n\n"
	       "kennel-verify is %s; it runs without kennel\n"
	       "pass on the key (%s) apart from the copy: it shows whose log this is\n",
	    key, q->for_verify, verifier != NULL ? verifier : "in libexec/kennel",
	    AUDIT_VKEY_NAME);
}

static int
copy_and_tell(const struct query *q, const char *folder)
{
	struct places p = {.from = -1, .to = -1};
	int r = 0;

	p.from = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p.from < 0 || mkdir(q->for_verify, 0700) < 0)
		r = -errno;
	if (r == 0)
		p.to =
		    open(q->for_verify, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r == 0)
		r = p.to < 0 ? -errno : copy_log(&p);
	if (r == 0)
		tell_how(q, &p);
	fd_close(&p.from);
	fd_close(&p.to);
	return r;
}

int
export_log(const struct query *q)
{
	static struct log_view view;
	const char *why = view.why;
	int r, status = log_view_open(q, &view);

	if (status == ASK_OK && disclosure_book("export", "log", q, &view) < 0)
		status = ASK_FAILED;
	if (status == ASK_OK) {
		r = copy_and_tell(q, view.folder);
		status = r == 0 ? ASK_OK : ASK_FAILED;
		why = r == -EEXIST  ? "the directory exists: name a new one"
		      : r == -EBUSY ? "the log is written to all the time: try again"
				    : strerror(-r);
	}
	verb_complain(q, status, why);
	log_view_close(&view);
	return fflush(stdout) == 0 ? status : ASK_FAILED;
}
