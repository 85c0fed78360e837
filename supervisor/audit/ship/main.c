/*
 * kennel-ship: sends the log's records, one by one, to a syslog collector.
 *
 * Process: kennel-ship, started by "kennel audit ship".
 * Holds: the log directory, read-only; the file with its position; one socket,
 * connected before it confined itself.
 * Trusts: nothing. Text from the log is escaped; data from the collector is never
 * read.
 * Must never: write the log; hold a key; open another socket.
 *
 * A record counts as sent when the collector has closed the connection after the end of
 * ours. So a stream ends after STREAM_MAX bytes or STREAM_NS, and the caller starts the next
 * one. After a lost connection, the records since the last such moment are sent again.
 * Delivery is at least once; a duplicate has the same idx.
 */
/*
 * As in kennel-verify, called by SQLite:
 * syscalls: openat read pread64 lseek fcntl fstat newfstatat stat lstat readlink
 * syscalls: getcwd access faccessat faccessat2 geteuid getpid mmap munmap mremap
 * syscalls: sysinfo sched_getaffinity uname clock_nanosleep getdents64
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "ship_syscalls.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/ship/ship.h"

#define USAGE \
	"usage: kennel-ship LOG_DIR POSITION TO FORMAT once|follow present|absent (by " \
	"kennel audit ship)"
#define PLACE_EACH 256 /* datagrams between two writes of the position */
#define STREAM_MAX (4u << 20)
#define STREAM_NS  (60 * NS_PER_S)
#define POLL_NS    300000000 /* between two checks of the log */

struct ship {
	struct ship_to to;
	const struct export_format *format;
	bool present; /* leaves out what is absent */
	int place_fd;
	uint64_t next;           /* to be sent */
	uint64_t placed;         /* on disk as the next */
	uint64_t bytes;          /* sent on this stream */
	uint64_t since;          /* of its first, loop_now() */
	char log[33];            /* the log's own name */
	struct ship_place place; /* its checkpoint is that of the log when last opened */
	char host[256];
	char line[SHIP_LINE_MAX];
	int error; /* of the socket */
};

/* ---- one record ------------------------------------------------------------------ */

static int
put_place(struct ship *s)
{
	int r;

	if (s->placed == s->next)
		return 0;
	s->place.next = s->next;
	r = ship_place_put(s->place_fd, s->log, &s->place);
	if (r == 0)
		s->placed = s->next;
	return r;
}

/* Is this stream to end here? Never in the middle of a message. */
static bool
is_due(const struct ship *s)
{
	return s->to.way == SHIP_STREAM && s->bytes > 0 &&
	       (s->bytes >= STREAM_MAX || loop_now() - s->since >= STREAM_NS);
}

static int
see_ship(void *arg, const struct log_record *record)
{
	struct ship *s = arg;
	size_t len;
	char text[96];

	if (s->present && log_record_absent(record)) {
		s->next = record->idx + 1;
		return 0;
	}
	len = ship_line(record, s->format, s->host, s->line);
	if (len == 0) { /* report it rather than drop it */
		(void)snprintf(text, sizeof(text),
		    "record %" PRIu64 " is too long for a message", record->idx);
		len = ship_notice(s->host, record->ts, text, s->line);
	}
	s->error = ship_send(&s->to, s->line, len);
	if (s->error < 0)
		return s->error;
	if (s->bytes == 0)
		s->since = loop_now();
	s->bytes += len;
	s->next = record->idx + 1;
	if (is_due(s))
		return -ECANCELED; /* of the scan: see ship_new */
	return s->to.way == SHIP_DATAGRAM && s->next - s->placed >= PLACE_EACH
		   ? put_place(s)
		   : 0;
}

/* ---- the log ----------------------------------------------------------------------- */

static int
read_log_name(struct log_view *view, char ret[33])
{
	sqlite3_stmt *s = NULL;
	const char *name;
	int r = -EBADMSG;

	if (sqlite3_prepare_v2(view->reader.db, "SELECT v FROM meta WHERE k = 'log'", -1,
		&s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW) {
		name = (const char *)sqlite3_column_text(s, 0);
		if (name != NULL && hex_is(name, strlen(name), 32)) {
			memcpy(ret, name, 33);
			r = 0;
		}
	}
	(void)sqlite3_finalize(s);
	return r;
}

/* Reports records that were pruned before they were shipped. */
static int
skip_pruned(struct ship *s, const struct log_view *view)
{
	char text[128];
	size_t len;

	if (s->next >= view->first)
		return 0;
	(void)snprintf(text, sizeof(text),
	    "records %" PRIu64 " to %" PRIu64 " were pruned before they were shipped",
	    s->next, view->first - 1);
	len = ship_notice(s->host, (uint64_t)time(NULL) * NS_PER_S, text, s->line);
	s->error = ship_send(&s->to, s->line, len);
	if (s->error == 0)
		s->next = view->first;
	return s->error;
}

/* Has this log the checkpoint that was last read? Also if the checkpoint is older than the
 * first record that is left: then nothing shows it. -EUCLEAN: no. */
static int
check_history(struct ship *s, struct log_view *view)
{
	const struct ship_place *last = &s->place;
	int status = ASK_OK;

	if (last->size > 0)
		status = log_view_has(view, last->size, last->root);
	if (status == ASK_NO_SUCH && last->size < view->first) {
		log_warn("the records up to %" PRIu64 " were pruned: nothing shows that "
			 "this log continues what was shipped",
		    last->size);
		status = ASK_OK;
	}
	if (status == ASK_FAILED) {
		log_error("unable to read the log: %s", view->why);
		return -EIO;
	}
	return status != ASK_OK || s->next > view->size ? -EUCLEAN : 0;
}

/* Stores which log is sent from now on, before the first of its records is: the next process
 * knows it too, if this one ends with its stream not confirmed. */
static int
put_history(struct ship *s, const struct log_view *view)
{
	int r;

	s->place.next = s->placed;
	s->place.size = view->size;
	memcpy(s->place.root, view->root, sizeof(view->root));
	r = ship_place_put(s->place_fd, s->log, &s->place);
	if (r < 0)
		log_error("unable to store the position: %s", strerror(-r));
	return r;
}

/* Sends all new records. Returns 0; -EUCLEAN, if the log is not the one that was shipped;
 * -ENODEV, if it cannot be opened, as with another directory in its place, which this
 * process may not read; or another error. All but the first are reported. */
static int
ship_new(struct ship *s, struct query *q)
{
	static struct log_view view;
	int r, status = log_view_open(q, &view);

	if (status != ASK_OK) {
		log_error("unable to read the log: %s", view.why);
		r = -ENODEV;
		goto out;
	}
	r = check_history(s, &view);
	if (r < 0 || view.size == s->next)
		goto out;
	r = put_history(s, &view);
	if (r < 0)
		goto out;
	r = skip_pruned(s, &view);
	q->first = s->next;
	if (r == 0)
		r = log_scan_each(&view, q, see_ship, s);
	if (r == -ECANCELED)
		r = 0;
	if (r < 0 && s->error == 0)
		log_error("unable to read the log: %s",
		    view.why[0] != '\0' ? view.why : strerror(-r));
out:
	log_view_close(&view);
	return r;
}

/* ---- the process ------------------------------------------------------------------- */

/* As root, SQLite would give a write-ahead log to the owner of its database. They
 * already have it, and this process may not change owners. */
static int
no_fchown(void)
{
	return 0;
}

static void
take_fchown_away(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (vfs == NULL || vfs->iVersion < 3 ||
	    vfs->xSetSystemCall(vfs, "fchown",
		(sqlite3_syscall_ptr)(void (*)(void))no_fchown) != SQLITE_OK)
		die("unable to keep SQLite from writing");
}

static void
confine(const char *log_dir)
{
	struct confine_path may = {.may = CONFINE_READ};
	int r;

	may.fd = open(log_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = may.fd < 0 ? -errno : confine_no_dumps();
	if (r == 0)
		r = confine_paths(&may, 1);
	if (r == 0)
		r = confine_syscalls(ship_syscalls, ARRAY_LEN(ship_syscalls));
	fd_close(&may.fd);
	if (r < 0)
		die("unable to confine kennel-ship: %s", strerror(-r));
}

static void
refuse_history(const struct ship *s, const char *path)
{
	log_error(
	    "this log is not the one of which %" PRIu64 " records were read to ship "
	    "them: it was restored from a copy, and perhaps went on from an earlier "
	    "record; nothing of it was sent; keep both, and remove %s to ship this one "
	    "from its beginning",
	    s->place.size > s->next ? s->place.size : s->next, path);
}

/* Reads the position, and checks that the log continues it. 0 or -EUCLEAN. */
static int
open_place(struct ship *s, struct query *q, const char *path)
{
	static struct log_view view;
	int r, status = log_view_open(q, &view);

	if (status != ASK_OK || read_log_name(&view, s->log) < 0)
		die("unable to read the log: %s", view.why);
	r = ship_place_open(path, s->log, &s->place_fd, &s->place);
	if (r == -EUCLEAN)
		die("%s is damaged, or the position in another log; nothing was sent",
		    path);
	if (r < 0)
		die("unable to open %s: %s", path,
		    r == -EWOULDBLOCK ? "another kennel-ship uses it" : strerror(-r));
	s->placed = s->next = s->place.next;
	r = check_history(s, &view);
	log_view_close(&view);
	if (r < 0 && r != -EUCLEAN)
		exit(ASK_FAILED);
	return r;
}

/* The end of the stream: the position moves on only if the collector has read it all. */
static int
finish(struct ship *s, bool once)
{
	int r = s->placed == s->next ? 0 : ship_confirm(&s->to);

	if (r == -ETIMEDOUT) {
		log_error("the collector did not close the connection within %d s after "
			  "the end of what was sent, so nothing shows that it read it: "
			  "records from %" PRIu64 " on will be sent again; give it no "
			  "proxy that keeps connections open",
		    SHIP_CLOSE_MS / 1000, s->placed);
		return ASK_FAILED; /* not again: it would be sent for ever */
	}
	if (r < 0) {
		log_error("lost the collector: %s", strerror(-r));
		return SHIP_AGAIN;
	}
	if (put_place(s) < 0) {
		log_error("unable to store the position");
		return ASK_FAILED;
	}
	return once ? 0 : SHIP_ON;
}

int
main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	static struct ship s = {.place_fd = -1};
	struct query q = {.verb = "ship", .to_ns = INT64_MAX};
	bool once;
	int r;

	log_open("kennel-ship", LOG_INFO);
	if (argc != 7 || (s.format = export_find(argv[4])) == NULL) {
		fprintf(stderr, "%s\n", USAGE);
		return ASK_USAGE;
	}
	once = strcmp(argv[5], "once") == 0;
	s.present = s.format->present && strcmp(argv[6], "present") == 0;
	q.log = argv[1];
	(void)signal(SIGPIPE, SIG_IGN);                  /* early: rt_sigaction */
	if (gethostname(s.host, sizeof(s.host) - 1) < 0) /* early: uname */
		s.host[0] = '\0';
	take_fchown_away();
	if (open_place(&s, &q, argv[2]) < 0) {
		refuse_history(&s, argv[2]);
		return SHIP_TWO;
	}
	r = ship_connect(argv[3], &s.to);
	if (r < 0) {
		log_error("unable to reach %s: %s", argv[3],
		    r == -EINVAL ? "not unix:PATH, unix-stream:PATH or tcp:ADDRESS:PORT"
				 : strerror(-r));
		return r == -EINVAL ? ASK_USAGE : SHIP_AGAIN;
	}
	confine(argv[1]);
	for (r = 0; r == 0;) {
		r = ship_new(&s, &q);
		if (r == 0 && s.to.way == SHIP_DATAGRAM)
			r = put_place(&s);
		if (once || is_due(&s))
			break;
		(void)nanosleep(&pause, NULL); /* syscalls: nanosleep */
	}
	if (s.error < 0) {
		log_error("lost the collector: %s", strerror(-s.error));
		return SHIP_AGAIN;
	}
	if (r == -EUCLEAN) {
		refuse_history(&s, argv[2]);
		return SHIP_TWO;
	}
	if (r == -ENODEV)
		return SHIP_AGAIN; /* a new process sees what is there now, and says it */
	return r == 0 ? finish(&s, once && !is_due(&s)) : ASK_FAILED;
}
