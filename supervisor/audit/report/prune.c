/*
 * "kennel audit prune": removes the oldest files of a log, and records that. "kennel
 * audit rotate": closes the live file before it is full, to archive it.
 *
 * The recorder does the work after the record of it is on disk. The remaining files
 * still have the tree over everything, and the checkpoints of what was removed.
 */
#include <errno.h>
#include <getopt.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/log.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/log/segment.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/log/open_log.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/report/verbs.h"
#include "supervisor/base/paths.h"

/* Reads when the last record of a segment was written. */
static int
last_ts(const char *path, uint64_t *ret)
{
	char why[AUDIT_WHY_MAX];
	struct reader reader;
	sqlite3_stmt *s = NULL;
	int r;

	r = reader_open(path, &reader, why);
	if (r < 0)
		return r;
	r = -EBADMSG;
	if (sqlite3_prepare_v2(reader.db, "SELECT ts FROM rec ORDER BY idx DESC LIMIT 1",
		-1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW) {
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
		r = 0;
	}
	(void)sqlite3_finalize(s);
	reader_close(&reader);
	return r;
}

/* Chooses whole files, from the oldest on, whose last record is before that time, or
 * whose records are all before that number. */
static int
choose(const struct logtree *t, uint64_t number, uint64_t before_ns, uint64_t *ret_first)
{
	uint64_t first = t->segment[0].base, ts;
	int r;

	for (size_t i = 0; i + 1 < t->segment_n; i++) {
		uint64_t end = t->segment[i + 1].base;

		if (before_ns > 0) {
			r = last_ts(t->segment[i].path, &ts);
			if (r < 0)
				return r;
			if (ts >= before_ns)
				break;
		} else if (end > number) {
			break;
		}
		first = end;
	}
	*ret_first = first;
	return 0;
}

static int
prune(const struct logtree *t, uint64_t first)
{
	static struct event event;

	event_begin(&event, EVENT_PRUNE);
	event_text(&event, KEY_REASON, "asked for");
	event_number(&event, KEY_COUNT, first - t->segment[0].base);
	event_number(&event, KEY_FIRST, first);
	return audit_record(&event);
}

/* ---- rotate ------------------------------------------------------------------------ */

#define ROTATE_WAIT_MS 10000
#define ROTATE_LOOK_MS 20

/* Reads the base and the size of the live file. */
static int
live_file(const char *dir, uint64_t *ret_base, uint64_t *ret_size)
{
	struct logtree *t = NULL;
	int r = logtree_open(dir, 0, &t);

	if (r == 0) {
		*ret_base = t->segment[t->segment_n - 1].base;
		*ret_size = t->size;
	}
	logtree_close(t);
	return r;
}

/* The recorder closes the file after the record that requests it, once no reader is
 * active. */
static int
wait_closed(const char *dir, uint64_t old, uint64_t *ret_base)
{
	const struct timespec pause = {.tv_nsec = ROTATE_LOOK_MS * 1000000L};
	uint64_t size;

	for (int i = 0; i < ROTATE_WAIT_MS / ROTATE_LOOK_MS; i++) {
		/* a file that is being replaced cannot be read for a moment */
		if (live_file(dir, ret_base, &size) == 0 && *ret_base != old)
			return 0;
		(void)nanosleep(&pause, NULL); /* syscalls: clock_nanosleep nanosleep */
	}
	return -ETIMEDOUT;
}

int
rotate_main(int argc, char **argv)
{
	const char *dir = paths_audit_dir();
	uint64_t base = 0, size = 0, next = 0;
	static struct event event;
	int r;

	if (argc > 1 && argv[1][0] == '-')
		return help_unknown_option(&audit_help, "rotate", argv[1]);
	if (argc > 1)
		return help_usage(&audit_help, "rotate", "too many arguments");
	r = dir == NULL ? -ENOENT : live_file(dir, &base, &size);
	if (r == 0 && size - base < SEGMENT_LEAST) {
		printf(
		    "nothing to close: the file has %llu records, expected at least %d\n",
		    (unsigned long long)(size - base), SEGMENT_LEAST);
		return 0;
	}
	event_begin(&event, EVENT_ROTATE);
	event_number(&event, KEY_FIRST, base);
	event_text(&event, KEY_REASON, "asked for");
	if (r == 0)
		r = audit_record(&event);
	if (r == 0)
		r = wait_closed(dir, base, &next);
	if (r < 0) {
		log_error("unable to close the file: %s",
		    r == -ENOENT      ? "no log found"
		    : r == -ETIMEDOUT ? "another process is reading it; it will be "
					"closed with the next record after that"
				      : strerror(-r));
		return LOG_EXIT_FAILED;
	}
	printf("records %llu to %llu are in audit-%0*llu.db\n", (unsigned long long)base,
	    (unsigned long long)next - 1, SEGMENT_DIGITS, (unsigned long long)base);
	return 0;
}

/* ---- prune -------------------------------------------------------------------------- */

int
prune_main(int argc, char **argv)
{
	static const struct option option[] = {
	    {"before", required_argument, NULL, 'b'},
	    {NULL, 0, NULL, 0},
	};
	const char *dir = paths_audit_dir();
	uint64_t before = 0, number = 0, first = 0, base = 0;
	struct logtree *t = NULL;
	int c, r;

	optind = 0;
	while ((c = getopt_long(argc, argv, ":", option, NULL)) != -1) {
		if (c == '?')
			return help_unknown_option(
			    &audit_help, argv[0], argv[optind - 1]);
		if (c != 'b' || options_time(optarg, &before) < 0)
			return help_usage(&audit_help, argv[0],
			    "expected a time after --before: " OPTIONS_TIME_FORMS);
	}
	if (argc - optind != (before == 0) ||
	    (before == 0 &&
		!scan_number((struct span){(uint8_t *)argv[optind], strlen(argv[optind])},
		    &number)))
		return help_usage(&audit_help, argv[0], "expected --before TIME or IDX");
	r = dir == NULL ? -ENOENT : logtree_open(dir, 0, &t);
	if (r == 0)
		r = choose(t, number, before, &first);
	if (r == 0) {
		base = t->segment[0].base;
		if (first > base)
			r = prune(t, first);
	}
	logtree_close(t);
	if (r < 0) {
		log_error("unable to remove old records: %s", strerror(-r));
		return LOG_EXIT_FAILED;
	}
	if (first == base)
		printf("nothing to remove: no whole file is that old\n");
	else
		printf("removed records %llu to %llu\n", (unsigned long long)base,
		    (unsigned long long)first - 1);
	return 0;
}
