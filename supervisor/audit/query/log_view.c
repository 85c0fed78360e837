/*
 * Opens a log for a query: its segments in order, the checkpoint that the answer is
 * about, and, with --verified, the verdict of kennel-verify.
 *
 * Runs in kennel. Writes nothing, and correct answers depend on no column, index or
 * view of the log: see scan.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/log/open_log.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/table.h"
#include "supervisor/base/paths.h"

#define SEGMENT_PREFIX "audit-"
#define SEGMENT_DIGITS 20

/* ---- segments ------------------------------------------------------------------ */

/* "audit-00000000000000000256.db" */
static bool
is_segment(const char *name, uint64_t *ret_base)
{
	size_t prefix = strlen(SEGMENT_PREFIX);
	struct span digits = {(const uint8_t *)name + prefix, SEGMENT_DIGITS};

	return strncmp(name, SEGMENT_PREFIX, prefix) == 0 &&
	       strlen(name) == prefix + SEGMENT_DIGITS + 3 &&
	       strcmp(name + prefix + SEGMENT_DIGITS, ".db") == 0 &&
	       scan_number(digits, ret_base);
}

static int
by_base(const void *a, const void *b)
{
	const struct segment_at *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

static int
add_segment(struct log_view *view, uint64_t base, const char *name)
{
	struct segment_at *more;

	if (view->segment_n >= LOG_VIEW_SEGMENTS_MAX)
		return -E2BIG;
	more = reallocarray(view->segment, view->segment_n + 1, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	view->segment = more;
	more[view->segment_n].base = base;
	(void)snprintf(more[view->segment_n].name, sizeof(more->name), "%s", name);
	view->segment_n++;
	return 0;
}

/* Lists the closed segments before the live one. A segment that was closed after we
 * opened the live one is the live one. */
static int
list_segments(struct log_view *view, uint64_t live_base)
{
	DIR *dir = opendir(view->folder); /* syscalls: openat getdents64 newfstatat */
	struct dirent *e;
	int r = 0;

	if (dir == NULL)
		return -errno;
	while (r == 0 && (e = readdir(dir)) != NULL) {
		uint64_t base;

		if (is_segment(e->d_name, &base) && base < live_base)
			r = add_segment(view, base, e->d_name);
	}
	(void)closedir(dir); /* read-only */
	if (r == 0 && view->segment_n > 0)
		qsort(view->segment, view->segment_n, sizeof(*view->segment), by_base);
	if (r == 0)
		r = add_segment(view, live_base, AUDIT_DB_NAME);
	if (r == 0)
		view->first = view->segment[0].base;
	return r;
}

/* Opens a file of the log and compares its schema. */
static int
open_file(struct log_view *view, const char *file)
{
	char path[AUDIT_PATH_MAX + 48];

	(void)snprintf(path, sizeof(path), "%s/%s", view->folder, file);
	return reader_open_log(path, &view->reader, view->why);
}

/* Reads the base of the open file; a file without that row begins the log. */
static int
read_base(struct log_view *view, uint64_t *ret)
{
	sqlite3_stmt *s = NULL;
	const char *text = NULL;
	int r = 0, code;

	*ret = 0;
	code = sqlite3_prepare_v2(
	    view->reader.db, "SELECT v FROM meta WHERE k = 'base'", -1, &s, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(s, 0);
	if (sqlite_errno(code) < 0)
		r = reader_failed(&view->reader, view->why);
	else if (code == SQLITE_ROW &&
		 (text == NULL ||
		     !scan_number(
			 (struct span){(const uint8_t *)text, strlen(text)}, ret)))
		r = -EBADMSG;
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return r;
}

/* Opens the live file. If it was closed since it was listed, its name now has a
 * number. */
static int
open_last(struct log_view *view, struct segment_at *at)
{
	uint64_t base = 0;
	int r = open_file(view, at->name);

	if (r == 0) {
		r = read_base(view, &base);
		if (r < 0 || base != at->base)
			reader_close(&view->reader);
	}
	if (r < 0 || base == at->base)
		return r;
	(void)snprintf(at->name, sizeof(at->name), SEGMENT_PREFIX "%0*" PRIu64 ".db",
	    SEGMENT_DIGITS, at->base);
	return open_file(view, at->name);
}

int
log_view_turn(struct log_view *view, size_t segment)
{
	struct segment_at *at = &view->segment[segment];
	int r;

	if (view->open == segment)
		return 0;
	if (view->open < view->segment_n)
		reader_close(&view->reader);
	view->open = SIZE_MAX;
	if (strcmp(at->name, AUDIT_DB_NAME) == 0)
		r = open_last(view, at);
	else
		r = open_file(view, at->name);
	if (r == 0)
		view->open = segment;
	return r;
}

/* ---- checkpoints ---------------------------------------------------------------- */

static bool
read_note(
    const char *text, size_t len, uint64_t *ret_size, uint8_t ret_root[MERKLE_HASH_LEN])
{
	static struct note note;
	struct checkpoint cp;

	if (note_parse(text, len, &note) < 0 || checkpoint_parse(note.text, &cp) < 0)
		return false;
	*ret_size = cp.size;
	memcpy(ret_root, cp.root, MERKLE_HASH_LEN);
	return true;
}

/* Finds the checkpoint with exactly this size in the open segment, or the last one
 * (size UINT64_MAX): 0, -ENOENT, or another error with why. */
static int
find_checkpoint(struct log_view *view, uint64_t size, uint64_t *ret_size,
    uint8_t ret_root[MERKLE_HASH_LEN])
{
	sqlite3_stmt *s = NULL;
	const char *note = NULL;
	int code, r = 0;

	code = sqlite3_prepare_v2(view->reader.db,
	    "SELECT note FROM cp NOT INDEXED WHERE ?1 < 0 OR size = ?1 "
	    "ORDER BY size DESC LIMIT 1",
	    -1, &s, NULL);
	if (code == SQLITE_OK) {
		(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)size);
		code = sqlite3_step(s);
	}
	if (code == SQLITE_ROW)
		note = (const char *)sqlite3_column_text(s, 0);
	if (sqlite_errno(code) < 0) {
		r = reader_failed(&view->reader, view->why);
	} else if (code == SQLITE_DONE) {
		r = -ENOENT;
	} else if (note == NULL || !read_note(note, (size_t)sqlite3_column_bytes(s, 0),
				       ret_size, ret_root)) {
		(void)snprintf(
		    view->why, sizeof(view->why), "unable to parse a checkpoint");
		r = -EBADMSG;
	}
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return r;
}

/* ---- --as-of ---------------------------------------------------------------------- */

struct as_of {
	uint64_t size;
	bool rooted;
	char root[2 * MERKLE_HASH_LEN + 1];
};

/* Parses SIZE, SIZE:ROOT, or a file that holds a checkpoint. */
static int
read_as_of(const char *text, struct as_of *ret)
{
	const char *colon = strchr(text, ':');
	size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);
	uint8_t root[MERKLE_HASH_LEN];
	char note[NOTE_MAX];
	ssize_t n;
	int fd;

	if (scan_number((struct span){(const uint8_t *)text, len}, &ret->size)) {
		ret->rooted = colon != NULL;
		if (colon != NULL && strlen(colon + 1) != sizeof(ret->root) - 1)
			return -EINVAL;
		(void)snprintf(
		    ret->root, sizeof(ret->root), "%s", colon != NULL ? colon + 1 : "");
		return 0;
	}
	fd = open(text, O_RDONLY | O_CLOEXEC); /* syscalls: openat */
	if (fd < 0)
		return -errno;
	n = read(fd, note, sizeof(note));
	fd_close(&fd);
	ret->rooted = true;
	if (n <= 0 || !read_note(note, (size_t)n, &ret->size, root))
		return -EINVAL;
	(void)hex_put(ret->root, root, sizeof(root));
	return 0;
}

/* Finds the checkpoint of this size in whichever segment has it; a segment also has that of
 * its base. 0, -ENOENT, or another error. */
static int
search_checkpoint(struct log_view *view, uint64_t want, uint64_t *ret_size,
    uint8_t ret_root[MERKLE_HASH_LEN])
{
	int r = -ENOENT;

	for (size_t i = view->segment_n; r == -ENOENT && i-- > 0;) {
		if (view->segment[i].base > want)
			continue;
		r = log_view_turn(view, i);
		if (r == 0)
			r = find_checkpoint(view, want, ret_size, ret_root);
	}
	return r;
}

/* Limits the view to that checkpoint, which is in one of the segments. */
static int
go_back(struct log_view *view, const char *text)
{
	struct as_of want;
	char root[2 * MERKLE_HASH_LEN + 1];
	int r = read_as_of(text, &want);

	if (r < 0) {
		(void)snprintf(
		    view->why, sizeof(view->why), "--as-of: invalid checkpoint");
		return ASK_USAGE;
	}
	r = search_checkpoint(view, want.size, &view->size, view->root);
	if (r < 0 && r != -ENOENT)
		return ASK_FAILED;
	(void)hex_put(root, view->root, sizeof(view->root));
	if (r == 0 && (!want.rooted || strcmp(root, want.root) == 0))
		return ASK_OK;
	(void)snprintf(view->why, sizeof(view->why),
	    r < 0 ? "no checkpoint at %" PRIu64 " records"
		  : "the checkpoint at %" PRIu64 " records has another root in this log",
	    want.size);
	return r < 0 ? ASK_NO_SUCH : ASK_TAMPERED;
}

/* Exit statuses of kennel-verify. */
enum { VERIFY_INTACT = 0, VERIFY_INCOMPLETE = 2 };

/* ---- --verified -------------------------------------------------------------------- */

/* Finds "key":VALUE in the one line that kennel-verify printed. */
static bool
find_word(const char *said, const char *key, const char **ret)
{
	const char *at = strstr(said, key);

	*ret = at != NULL ? at + strlen(key) : NULL;
	return at != NULL;
}

static bool
read_verdict(const char *said, uint64_t *ret_size, uint8_t ret_root[MERKLE_HASH_LEN])
{
	const char *records, *root;

	if (!find_word(said, "\"records\":", &records) ||
	    !find_word(said, "\"root\":\"", &root))
		return false;
	*ret_size = strtoull(records, NULL, 10);
	return hex_get(root, strcspn(root, "\""), ret_root, MERKLE_HASH_LEN);
}

/* Runs kennel-verify on the whole log; returns its exit status and its line. */
static int
run_verify(const char *folder, char *said, size_t said_cap)
{
	const char *path = paths_libexec("kennel-verify");
	size_t len = 0;
	int out[2], status;
	ssize_t n;
	pid_t child;

	if (path == NULL || pipe2(out, O_CLOEXEC) < 0) /* syscalls: pipe2 */
		return ASK_FAILED;
	child = fork(); /* syscalls: clone fork vfork */
	if (child == 0) {
		(void)dup2(out[1], STDOUT_FILENO); /* syscalls: dup2 dup3 */
		(void)execl(path, "kennel-verify", "--json", folder, (char *)NULL);
		_exit(ASK_FAILED); /* syscalls: execve */
	}
	fd_close(&out[1]);
	while (child > 0 && len < said_cap - 1 &&
	       (n = read(out[0], said + len, said_cap - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	fd_close(&out[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0) /* syscalls: wait4 */
		return ASK_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : ASK_FAILED;
}

/* Loads the roots of the full subtrees left of the first record, if earlier records
 * were pruned. A false one leads to a different root at the end. */
static int
seed(struct log_view *view)
{
	struct logtree *t = NULL;
	struct hashes hashes;
	int r = logtree_open(view->folder, view->sure_size, &t);

	if (r < 0)
		return r;
	hashes = logtree_hashes(t);
	for (unsigned int level = 0; r == 0 && level < MERKLE_LEVELS - 1; level++) {
		if (view->first >> level & 1)
			r = hashes.get(hashes.arg, level, view->first >> (level + 1) << 1,
			    view->start.edge[level]);
	}
	view->start.size = view->first;
	logtree_close(t);
	return r;
}

static int
open_live(struct log_view *view)
{
	uint64_t base;
	int r;

	r = open_file(view, AUDIT_DB_NAME);
	if (r < 0)
		return r;
	r = read_base(view, &base);
	if (r == 0)
		r = list_segments(view, base);
	if (r < 0) {
		reader_close(&view->reader);
		return r;
	}
	view->open = view->segment_n - 1;
	r = find_checkpoint(view, UINT64_MAX, &view->size, view->root);
	if (r == -ENOENT) { /* begun, but empty */
		view->size = base;
		merkle_digest("", 0, view->root);
		r = 0;
	}
	return r;
}

static void
drop_segments(struct log_view *view)
{
	if (view->open < view->segment_n)
		reader_close(&view->reader);
	free(view->segment);
	view->segment = NULL;
	view->segment_n = 0;
	view->open = SIZE_MAX;
}

/* Opens the log again: the files that were opened before the verification may be
 * outdated. */
static int
open_again(struct log_view *view)
{
	uint64_t size = view->size;
	uint8_t root[MERKLE_HASH_LEN];
	int r;

	memcpy(root, view->root, sizeof(root));
	drop_segments(view);
	r = open_live(view);
	view->size = size;
	memcpy(view->root, root, sizeof(root));
	return r;
}

static int
make_sure(struct log_view *view)
{
	char said[4096], shown[200];
	int status = run_verify(view->folder, said, sizeof(said));

	/* an old log is intact, but never proven complete */
	if ((status == VERIFY_INTACT || status == VERIFY_INCOMPLETE) &&
	    read_verdict(said, &view->sure_size, view->sure_root)) {
		view->verified = true;
		view->complete = status == VERIFY_INTACT;
		if (open_again(view) < 0)
			return ASK_FAILED;
		if (view->first == 0 || seed(view) == 0)
			return ASK_OK;
		(void)snprintf(view->why, sizeof(view->why),
		    "unable to read the tree before the first record");
		return ASK_FAILED;
	}
	said[strcspn(said, "\n")] = '\0';
	(void)snprintf(view->why, sizeof(view->why), "not verified (%d): %s", status,
	    log_quote(shown, sizeof(shown), said, strlen(said)));
	return status == 0 ? ASK_FAILED : ASK_TAMPERED;
}

/* ---- public functions --------------------------------------------------------------- */

int
log_view_open(const struct query *q, struct log_view *ret)
{
	const char *folder = q->log != NULL ? q->log : paths_audit_dir();
	const struct timespec pause = {.tv_nsec = 10 * LOOP_MS};
	uint64_t until = loop_now() + READER_OPEN_NS;
	int r;

	*ret = (struct log_view){.open = SIZE_MAX};
	if (folder == NULL || (size_t)snprintf(ret->folder, sizeof(ret->folder), "%s",
				  folder) >= sizeof(ret->folder)) {
		(void)snprintf(ret->why, sizeof(ret->why),
		    "no home directory: set HOME or KENNEL_HOME");
		return ASK_FAILED;
	}
	ret->record = calloc(1, sizeof(*ret->record));
	r = ret->record != NULL ? open_live(ret) : -ENOMEM;
	while (r == -EAGAIN && loop_now() < until) {
		(void)nanosleep(&pause, NULL);
		drop_segments(ret);
		r = open_live(ret);
	}
	if (r < 0) {
		if (ret->why[0] == '\0')
			(void)snprintf(ret->why, sizeof(ret->why), "%s", strerror(-r));
		return r == -ENOENT ? ASK_NO_LOG : ASK_FAILED;
	}
	r = q->as_of != NULL ? go_back(ret, q->as_of) : ASK_OK;
	if (r == ASK_OK && q->verified)
		r = make_sure(ret);
	if (r != ASK_OK || !ret->verified || q->as_of != NULL)
		return r;
	/* later records were not verified */
	ret->size = ret->sure_size;
	memcpy(ret->root, ret->sure_root, sizeof(ret->root));
	return ASK_OK;
}

int
log_view_has(struct log_view *view, uint64_t size, const uint8_t root[MERKLE_HASH_LEN])
{
	uint8_t found[MERKLE_HASH_LEN];
	uint64_t at;
	int r = 0;

	if (size == view->size)
		memcpy(found, view->root, sizeof(found));
	else
		r = search_checkpoint(view, size, &at, found);
	if (r < 0)
		return r == -ENOENT ? ASK_NO_SUCH : ASK_FAILED;
	return memcmp(found, root, sizeof(found)) == 0 ? ASK_OK : ASK_TAMPERED;
}

void
log_view_close(struct log_view *view)
{
	drop_segments(view);
	free(view->record);
	view->record = NULL;
}
