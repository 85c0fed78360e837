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
 * A record counts as sent when the collector's kernel has acknowledged it. After a
 * crash or a lost connection, the records since the last such moment are sent again.
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
#define PLACE_EACH 256       /* records between two writes of the position */
#define POLL_NS    300000000 /* between two checks of the log */

struct ship {
	struct ship_to to;
	const struct export_format *format;
	bool present; /* leaves out what is absent */
	int place_fd;
	uint64_t next;   /* to be sent */
	uint64_t placed; /* on disk as the next */
	char log[33];    /* the log's own name */
	char host[256];
	char line[SHIP_LINE_MAX];
	int error; /* of the socket */
};

/* ---- one record ------------------------------------------------------------------ */

static int
put_place(struct ship *s)
{
	int r;

	if (s->placed == s->next || !ship_all_taken(&s->to))
		return 0;
	r = ship_place_put(s->place_fd, s->log, s->next);
	if (r == 0)
		s->placed = s->next;
	return r;
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
	s->next = record->idx + 1;
	return s->next - s->placed >= PLACE_EACH ? put_place(s) : 0;
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

/* Sends all new records. Returns 0, or an error with why filled in. */
static int
ship_new(struct ship *s, struct query *q)
{
	static struct log_view view;
	int r = 0, status = log_view_open(q, &view);

	if (status != ASK_OK) {
		log_error("unable to read the log: %s", view.why);
		r = -EBADMSG;
	} else if (view.size > s->next) {
		r = skip_pruned(s, &view);
		q->first = s->next;
		if (r == 0)
			r = log_scan_each(&view, q, see_ship, s);
		if (r < 0 && s->error == 0)
			log_error("unable to read the log: %s",
			    view.why[0] != '\0' ? view.why : strerror(-r));
	}
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
open_place(struct ship *s, struct query *q, const char *path)
{
	static struct log_view view;
	int r, status = log_view_open(q, &view);

	if (status != ASK_OK || read_log_name(&view, s->log) < 0)
		die("unable to read the log: %s", view.why);
	log_view_close(&view);
	r = ship_place_open(path, s->log, &s->place_fd, &s->next);
	if (r == -EUCLEAN)
		die("%s is the position in another log; nothing was sent", path);
	if (r < 0)
		die("unable to open %s: %s", path,
		    r == -EWOULDBLOCK ? "another kennel-ship uses it" : strerror(-r));
	s->placed = s->next;
}

/* Waits, at most a few seconds, until the collector has acknowledged everything. */
static int
last_place(struct ship *s)
{
	const struct timespec pause = {.tv_nsec = 20000000};

	for (int i = 0; i < 250 && s->placed != s->next; i++) {
		if (put_place(s) < 0)
			return -EIO;
		if (s->placed != s->next)
			(void)nanosleep(&pause, NULL);
	}
	return s->placed == s->next ? 0 : -ETIMEDOUT;
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
	open_place(&s, &q, argv[2]);
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
		if (r == 0)
			r = put_place(&s);
		if (once)
			break;
		(void)nanosleep(&pause, NULL); /* syscalls: nanosleep */
	}
	if (s.error < 0) {
		log_error("lost the collector: %s", strerror(-s.error));
		return SHIP_AGAIN;
	}
	return r == 0 && last_place(&s) == 0 ? 0 : ASK_FAILED;
}
