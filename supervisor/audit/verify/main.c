/*
 * kennel-verify: checks whether a log was altered.
 *
 * Process: started by hand or by "kennel audit verify"; ends with the answer.
 * Holds: a database that another user may have made.
 * Trusts: no index, column, view or trigger in it; and, if a key is given, no other
 * key.
 * Must never: write anything, or base an answer on unchecked data.
 *
 * Exit status: 0 intact, 1 tampered with, 2 incomplete or stale, 3 unable to decide,
 * 64 usage error.
 *
 * SQLite when reading (strace -f):
 * syscalls: openat read pread64 lseek fcntl fstat newfstatat stat lstat readlink
 * syscalls: getcwd access faccessat faccessat2 geteuid getpid mmap munmap mremap
 * syscalls: sysinfo sched_getaffinity uname clock_nanosleep
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/segment.h"
#include "supervisor/audit/verify/verify.h"
#include "supervisor/audit/verify/verify_help.h"
#include "verify_syscalls.h"

#define AGAIN_MAX   10 /* retries if a log changes while it is read */
#define ANCHORS_MAX 64

static const char *const verdict_name[] = {"intact", "tampered", "incomplete", "error"};

struct options {
	bool json;
	const char *log;  /* if none is named after the options */
	const char *kept; /* directory of kept checkpoints of that log */
	struct judge_options judge;
	struct freshness fresh;
	struct anchor anchor[ANCHORS_MAX];
	struct note anchor_note[ANCHORS_MAX];
	char anchor_text[ANCHORS_MAX][NOTE_MAX];
	struct vkey origin, witness[ANCHORS_MAX];
	char folder[AUDIT_PATH_MAX];
	bool whole; /* a directory was named, not a file */
};

/* ---- printing --------------------------------------------------------------------- */

/* Replaces quotes, backslashes and everything not printable. */
static void
make_inert(char *text)
{
	for (; *text != '\0'; text++) {
		if (*text < 0x20 || *text == 0x7f || *text == '"' || *text == '\\')
			*text = '?';
	}
}

static void
put_root(const struct order_walk *walk, char out[2 * MERKLE_HASH_LEN + 1])
{
	uint8_t hash[MERKLE_HASH_LEN];

	merkle_root(&walk->tree.chain, hash);
	(void)hex_put(out, hash, sizeof(hash));
}

static void
tell_json(
    const struct verify_answer *answer, const struct order_walk *walk, const char *root)
{
	char vkey[NOTE_VKEY_MAX];

	printf("{\"status\":\"%s\",\"records\":%" PRIu64 ",\"gaps\":%" PRIu64,
	    verdict_name[answer->verdict], walk->tree.chain.size, walk->gaps);
	if (answer->verdict == INTACT || answer->verdict == INCOMPLETE)
		printf(",\"root\":\"%s\",\"first\":%" PRIu64 ",\"epochs\":%" PRIu64
		       ",\"checkpoints\":%" PRIu64 ",\"heartbeats\":%" PRIu64
		       ",\"clocks\":%" PRIu64 ",\"breaks\":%" PRIu64
		       ",\"unclean\":%" PRIu64 ",\"cosignatures\":%" PRIu64
		       ",\"ended\":%s,\"last\":%" PRIu64,
		    root, walk->first_record, walk->key_n, walk->cp_n, walk->heartbeats,
		    walk->clocks, walk->breaks, walk->unclean, walk->cosigs,
		    walk->ended ? "true" : "false", walk->last_ts);
	if (answer->verdict == INTACT && walk->begun) {
		vkey_put(&walk->origin_key, vkey);
		printf(",\"key\":\"%s\"", vkey);
	}
	if (answer->named)
		printf(",\"first_bad\":%" PRIu64, answer->bad);
	if (answer->file[0] != '\0')
		printf(",\"file\":\"%s\"", answer->file);
	if (answer->verdict != INTACT)
		printf(",\"reason\":\"%s\"", answer->why);
	printf("}\n");
}

static void
tell_more(const struct order_walk *walk)
{
	static const char *const what[] = {"report missing events",
	    "break the chain of keys", "are starts after an unrecorded end",
	    "report that the clock was set"};
	const uint64_t n[] = {walk->gaps, walk->breaks, walk->unclean, walk->clocks};

	for (size_t i = 0; i < ARRAY_LEN(n); i++) {
		if (n[i] > 0)
			printf("; %" PRIu64 " of them %s", n[i], what[i]);
	}
	if (walk->first_record > 0)
		printf("; those before %" PRIu64 " were removed", walk->first_record);
	printf("\n");
}

static void
tell(struct verify_answer *answer, const struct order_walk *walk, bool json)
{
	char root[2 * MERKLE_HASH_LEN + 1], vkey[NOTE_VKEY_MAX];

	put_root(walk, root);
	make_inert(answer->why);
	make_inert(answer->file);
	if (json) {
		tell_json(answer, walk, root);
		return;
	}
	if (answer->verdict != INTACT) {
		printf("%s: %s%s%s%s\n", verdict_name[answer->verdict],
		    answer->named || answer->file[0] == '\0' ? "" : answer->file,
		    answer->named || answer->file[0] == '\0' ? "" : ": ", answer->why,
		    "");
		return;
	}
	vkey_put(&walk->origin_key, vkey);
	printf("intact: %" PRIu64 " records, root %s, %" PRIu64 " checkpoints in %" PRIu64
	       " epochs, signed by %s",
	    walk->tree.chain.size, root, walk->cp_n, walk->key_n, vkey);
	tell_more(walk);
}

/* ---- confinement -------------------------------------------------------------------- */

/* Restricts the process to reading this directory. */
static int
confine(const char *folder)
{
	struct confine_path may = {.may = CONFINE_READ};
	int r;

	may.fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (may.fd < 0)
		return -errno;
	r = confine_no_dumps();
	if (r == 0)
		r = confine_paths(&may, 1);
	if (r == 0)
		r = confine_syscalls(verify_syscalls, ARRAY_LEN(verify_syscalls));
	fd_close(&may.fd);
	return r;
}

/* Removes the calls with which SQLite could write (as root it gives a write-ahead log
 * to the owner of the database), before it opens anything. */
static int
no_writing(void)
{
	errno = EROFS;
	return -1;
}

static int
take_writing_away(void)
{
	static const char *const call[] = {"fchown", "fchmod", "ftruncate", "fallocate",
	    "write", "pwrite", "pwrite64", "unlink", "mkdir", "rmdir"};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (vfs == NULL || vfs->iVersion < 3)
		return -ENOSYS;
	for (size_t i = 0; i < ARRAY_LEN(call); i++) {
		/* a call that this SQLite does not know is never made */
		(void)vfs->xSetSystemCall(
		    vfs, call[i], (sqlite3_syscall_ptr)(void (*)(void))no_writing);
	}
	return 0;
}

/* ---- options ---------------------------------------------------------------------------- */

static bool
take_vkey(const char *text, struct vkey *ret)
{
	return vkey_parse((struct span){(const uint8_t *)text, strlen(text)}, ret) == 0;
}

static bool
take_seconds(const char *text, uint64_t *ret_ns)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' ||
	    n > UINT64_MAX / NS_PER_S)
		return false;
	*ret_ns = n * NS_PER_S;
	return true;
}

/* -EINVAL: usage error. Other errors are already reported. */
static int
take_option(int c, const char *arg, struct options *o)
{
	struct judge_options *j = &o->judge;
	uint64_t n;
	int r;

	switch (c) {
	case 'j':
		o->json = true;
		return 0;
	case 's':
		o->fresh.stopped = true;
		return 0;
	case 'r':
		o->fresh.stopped = false;
		return 0;
	case 'm':
		return take_seconds(arg, &o->fresh.max_age_ns) ? 0 : -EINVAL;
	case 'n':
		return take_seconds(arg, &o->fresh.now_ns) ? 0 : -EINVAL;
	case 'J':
		if (!take_seconds(arg, &n) || n == 0 || n / NS_PER_S > CREW_MAX)
			return -EINVAL;
		j->threads = (int)(n / NS_PER_S);
		return 0;
	case 'l':
		o->log = arg;
		o->kept = NULL; /* of an earlier one */
		return *arg != '\0' ? 0 : -EINVAL;
	case 'K':
		o->kept = arg;
		return *arg != '\0' ? 0 : -EINVAL;
	case 'k':
		j->origin = &o->origin;
		return take_vkey(arg, &o->origin) && o->origin.type == NOTE_ED25519
			   ? 0
			   : -EINVAL;
	case 'w':
		if (j->witness_n == ARRAY_LEN(o->witness))
			return -EINVAL;
		return take_vkey(arg, &o->witness[j->witness_n++]) ? 0 : -EINVAL;
	case 'a':
		if (j->anchor_n == ANCHORS_MAX)
			return -EINVAL;
		r = anchor_read(arg, &o->anchor_note[j->anchor_n],
		    o->anchor_text[j->anchor_n], &o->anchor[j->anchor_n]);
		if (r < 0) {
			log_error("unable to read the checkpoint %s: %s", arg,
			    r == -EBADMSG ? "not a checkpoint" : strerror(-r));
			return -EIO;
		}
		j->anchor_n++;
		return 0;
	default:
		return -EINVAL;
	}
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* syscalls: mmap munmap mremap brk */
static int
add_path(struct judge_options *j, const char *folder, const char *name)
{
	const char **more;
	char *path;

	if (j->path_n == SEGMENTS_MAX)
		return -E2BIG;
	if ((j->path_n & (j->path_n - 1)) == 0) { /* full at 0, 1, 2, 4, ... */
		more = reallocarray(
		    j->path, j->path_n == 0 ? 1 : 2 * j->path_n, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		j->path = more;
	}
	if (asprintf(&path, "%s%s%s", folder, name[0] != '\0' ? "/" : "", name) < 0)
		return -ENOMEM;
	j->path[j->path_n++] = path;
	return 0;
}

/* Lists the segments of a directory in order: their names sort. */
static int
list_segments(struct options *o, const char *path)
{
	struct judge_options *j = &o->judge;
	struct dirent *e;
	DIR *dir = opendir(path); /* syscalls: openat getdents64 */
	int r = 0;

	if (dir == NULL)
		return -errno;
	while (j->path_n > 0)
		free((char *)(uintptr_t)j->path[--j->path_n]); /* allocated below */
	while (r == 0 && (e = readdir(dir)) != NULL) {
		if (segment_is_name(e->d_name))
			r = add_path(j, path, e->d_name);
	}
	(void)closedir(dir);
	if (j->path_n > 0)
		qsort(j->path, j->path_n, sizeof(j->path[0]), by_name);
	if (r == 0)
		r = add_path(j, path, AUDIT_DB_NAME);
	if (r < 0)
		return r;
	if (path != o->folder)
		(void)snprintf(o->folder, sizeof(o->folder), "%s", path);
	o->whole = true;
	return 0;
}

static int
find_log(struct options *o, const char *path)
{
	struct stat st;
	char *slash;

	if (strlen(path) >= sizeof(o->folder))
		return -ENAMETOOLONG;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return list_segments(o, path);
	(void)snprintf(o->folder, sizeof(o->folder), "%s", path);
	slash = strrchr(o->folder, '/');
	if (slash == NULL)
		(void)snprintf(o->folder, sizeof(o->folder), ".");
	else
		slash[slash == o->folder ? 1 : 0] = '\0';
	return add_path(&o->judge, path, "");
}

static int
processors(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set) < 0) /* early: sched_getaffinity */
		return 1;
	n = CPU_COUNT(&set);
	return n < 1 ? 1 : n > CREW_MAX ? CREW_MAX : n;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Kept checkpoints belong to the log only if the log's key signed them. */
static void
check_anchor_keys(
    const struct options *o, const struct order_walk *walk, struct verify_answer *answer)
{
	for (size_t i = 0; i < o->judge.anchor_n; i++) {
		if (o->anchor[i].kept == NULL &&
		    strcmp(o->anchor[i].cp.origin, walk->origin) == 0 &&
		    !note_signed_by(&o->anchor_note[i], &walk->origin_key, NULL))
			(void)found(answer, TAMPERED,
			    "a kept checkpoint is not signed by the log's key");
	}
}

/*
 * A recipient of a log may take origin.vkey in it for the log's key, so they must
 * match. A copy of the log may come without it.
 * syscalls: openat fstat read
 */
static void
check_published_key(
    const struct options *o, const struct order_walk *walk, struct verify_answer *answer)
{
	char path[AUDIT_PATH_MAX + 16], text[NOTE_VKEY_MAX + 2];
	struct vkey vkey;
	ssize_t n;
	int fd;

	if (!o->whole)
		return;
	(void)snprintf(path, sizeof(path), "%s/" AUDIT_VKEY_NAME, o->folder);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return;
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!take_vkey(text, &vkey) || strcmp(vkey.name, walk->origin_key.name) != 0 ||
	    vkey.type != walk->origin_key.type ||
	    memcmp(vkey.public, walk->origin_key.public, KEY_LEN) != 0) {
		(void)found(answer, TAMPERED, "it does not contain the log's key");
		(void)snprintf(answer->file, sizeof(answer->file), AUDIT_VKEY_NAME);
	}
}

static void
verify(struct options *o, struct order_walk *walk, struct verify_answer *answer)
{
	size_t files;
	int r = 0;

	for (int i = 0; r == 0 && i < AGAIN_MAX; i++) {
		free(walk->key);
		free(walk->mark);
		*walk = (struct order_walk){0};
		*answer = (struct verify_answer){0};
		for (size_t k = 0; k < o->judge.anchor_n; k++)
			o->anchor[k].seen = false;
		judge(&o->judge, walk, answer);
		/* Checks whether a file was closed, or some were removed, while we
		 * read. What was found intact was intact when its live file was
		 * opened; other findings may mix two moments. */
		files = o->judge.path_n;
		if (o->whole)
			r = list_segments(o, o->folder);
		if (r == 0 && !walk->changed &&
		    (files == o->judge.path_n || answer->verdict == INTACT))
			break;
		walk->changed = true;
	}
	if (r < 0)
		(void)found(answer, UNKNOWN, "the log was removed while it was read");
	if (walk->changed) {
		/* discard findings that may mix two moments */
		*answer = (struct verify_answer){0};
		(void)found(answer, UNKNOWN, "the log changes faster than it is read");
	}
	if (answer->verdict == INTACT)
		check_anchor_keys(o, walk, answer);
	if (answer->verdict == INTACT)
		check_published_key(o, walk, answer);
	if (answer->verdict == INTACT)
		freshness_check(&o->fresh, walk, answer);
}

/* ---- kept checkpoints ------------------------------------------------------------------------ */

static bool
take_kept(struct options *o)
{
	const char *bad = "";
	int r = o->kept == NULL ? 0
				: anchors_kept(o->kept, o->anchor, ANCHORS_MAX,
				      &o->judge.anchor_n, &bad);

	if (r < 0)
		log_error("unable to read the kept checkpoints in %s: %s%s%s; remove "
			  "what is not the recorder's",
		    o->kept, bad, *bad != '\0' ? ": " : "",
		    r == -EBADMSG ? "not a checkpoint" : strerror(-r));
	return r == 0;
}

/* Where the log of this place stopped, if it cannot be read. */
static void
tell_kept(const struct options *o)
{
	char text[KEPT_TEXT_MAX];

	for (size_t i = 0; i < o->judge.anchor_n; i++)
		if (o->anchor[i].kept != NULL)
			log_error("in this place was the log %s",
			    kept_text(o->anchor[i].kept, text));
}

/* Finds the log, and confines the process to it. */
static bool
prepare(struct options *o)
{
	int r;

	if (!take_kept(o)) /* before the log, which may grow */
		return false;
	r = find_log(o, o->log);
	if (r == 0)
		r = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK
			? take_writing_away()
			: -ENOSYS;
	if (r == 0)
		r = confine(o->folder);
	if (r < 0) {
		log_error("unable to read %s: %s", o->log, strerror(-r));
		tell_kept(o);
	}
	return r == 0;
}

/* What getopt_long or take_option did not accept. */
static int
refuse(int c, const char *word)
{
	struct vkey key;

	if (c == '?')
		return help_unknown_option(&verify_help, "", word);
	if ((c == 'k' || c == 'w') && !take_vkey(optarg, &key))
		return refuse_vkey(c == 'k' ? "--key" : "--witness", optarg);
	return help_usage(&verify_help, "", "missing or invalid value of an option");
}

int
main(int argc, char **argv)
{
	static const struct option option[] = {
	    {"json", no_argument, NULL, 'j'},
	    {"stopped", no_argument, NULL, 's'},
	    {"expect-running", no_argument, NULL, 'r'},
	    {"max-age", required_argument, NULL, 'm'},
	    {"now", required_argument, NULL, 'n'},
	    {"jobs", required_argument, NULL, 'J'},
	    {"key", required_argument, NULL, 'k'},
	    {"witness", required_argument, NULL, 'w'},
	    {"anchor", required_argument, NULL, 'a'},
	    {"log", required_argument, NULL, 'l'},
	    {"kept", required_argument, NULL, 'K'},
	    {NULL, 0, NULL, 0},
	};
	static struct options o;
	static struct verify_answer answer;
	static struct order_walk walk;
	static char said[BUFSIZ];
	int c, r = 0;

	log_open("kennel-verify", LOG_WARN);
	if (verify_help_asked(argc - 1, argv + 1))
		return 0;
	/* use our own buffer: otherwise the library calls ioctl to detect a terminal,
	 * which the filter forbids */
	(void)setvbuf(stdout, said, _IOFBF, sizeof(said));
	if (argc > 1 && strcmp(argv[1], "proof") == 0)
		return proof_main(argc - 1, argv + 1);
	o.judge.threads = processors();
	o.judge.anchor = o.anchor;
	o.judge.witness = o.witness;
	o.fresh.now_ns = (uint64_t)time(NULL) * NS_PER_S;
	while ((c = getopt_long(argc, argv, ":", option, NULL)) != -1) {
		r = take_option(c, optarg, &o);
		if (r < 0)
			return r == -EINVAL ? refuse(c, argv[optind - 1]) : UNKNOWN;
	}
	if (argc - optind == 1) {
		o.log = argv[optind];
		o.kept = NULL;
	}
	if (argc - optind > 1 || o.log == NULL)
		return help_usage(&verify_help, "", "expected the directory of one log");
	if (!prepare(&o))
		return UNKNOWN;
	verify(&o, &walk, &answer);
	tell(&answer, &walk, o.json);
	if (answer.verdict == UNKNOWN)
		tell_kept(&o);
	return (int)answer.verdict;
}
