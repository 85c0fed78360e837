/*
 * Detects changes that alter no record: header fields of the database, pages that no
 * table uses, bytes after the last page, the write-ahead log and its index.
 *
 * The header must be what a recorder writes: page size, WAL mode, no free pages (a
 * recorder only inserts), UTF-8, as many schema changes as schema.c has rows. Only
 * two counters and the version of the last SQLite that wrote may vary. By now every
 * part of the file was read, so a page that no connection has read is unused.
 */
#include <sqlite3.h>
#include <string.h>
#include <time.h>

#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/verify/verify.h"

#define LOCK_PAGE   (0x40000000u / WAL_PAGE + 1) /* SQLite skips this page */
#define LOOKS       5
#define PAUSE_NS    20000000
#define VERSION_MIN 3007000u /* the first SQLite with a write-ahead log */
#define VERSION_END 4000000u

static uint32_t
number_at(const uint8_t *head, size_t at, size_t len)
{
	uint32_t n = 0;

	for (size_t i = 0; i < len; i++)
		n = n << 8 | head[at + i];
	return n;
}

/* ---- the header ------------------------------------------------------------------- */

static const char *
wrong_field(const uint8_t *head, uint32_t pages)
{
	const struct {
		const char *name;
		uint32_t at, len, want;
	} row[] = {
	    {"page size", 16, 2, WAL_PAGE},
	    {"write version", 18, 1, 2},
	    {"read version", 19, 1, 2},
	    {"reserved bytes", 20, 1, 0},
	    {"payload fractions", 21, 3, 64 << 16 | 32 << 8 | 32},
	    {"size in pages", 28, 4, pages},
	    {"first free page", 32, 4, 0},
	    {"number of free pages", 36, 4, 0},
	    {"schema cookie", 40, 4, (uint32_t)schema_rows},
	    {"schema format", 44, 4, 4},
	    {"cache size", 48, 4, 0},
	    {"largest root page", 52, 4, 0},
	    {"text encoding", 56, 4, SQLITE_UTF8},
	    {"user version", 60, 4, SCHEMA_VERSION},
	    {"incremental vacuum", 64, 4, 0},
	    {"application id", 68, 4, SCHEMA_APPLICATION},
	    {"valid-for counter", 92, 4, number_at(head, 24, 4)},
	};
	static const uint8_t none[20];
	uint32_t version = number_at(head, 96, 4);

	if (memcmp(head, "SQLite format 3", 16) != 0)
		return "magic string";
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (number_at(head, row[i].at, row[i].len) != row[i].want)
			return row[i].name;
	}
	if (memcmp(head + 72, none, sizeof(none)) != 0)
		return "space for expansion";
	return version < VERSION_MIN || version >= VERSION_END ? "SQLite version" : NULL;
}

static int
page_count(struct sqlite3 *db, struct verify_answer *answer, uint32_t *ret)
{
	sqlite3_stmt *s = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(db, "PRAGMA page_count", -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		r = sql_failed(answer, db, 0);
	else
		*ret = (uint32_t)sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return r;
}

/* ---- the pages ---------------------------------------------------------------------- */

static bool
was_read(const struct reader *reader, int n, uint32_t page)
{
	for (int i = 0; i < n; i++) {
		if (view_saw(reader[i].view, page))
			return true;
	}
	return false;
}

static int
check_pages(
    const struct reader *reader, int n, uint32_t pages, struct verify_answer *answer)
{
	uint64_t end = (uint64_t)pages * WAL_PAGE;

	for (int i = 0; i < n; i++) {
		if (reader[i].view->lost)
			return found(answer, UNKNOWN, "out of memory");
	}
	for (uint32_t page = 1; page <= pages && page != 0; page++) {
		if (page != LOCK_PAGE && !was_read(reader, n, page))
			return found(answer, TAMPERED,
			    "page %u of the database belongs to no table and no index",
			    page);
	}
	/* pages only in the write-ahead log make the file shorter, never longer */
	if (reader->size > end || (!reader->wal && reader->size < end))
		return found(answer, TAMPERED,
		    "the file has %llu bytes and the database in it %llu",
		    (unsigned long long)reader->size, (unsigned long long)end);
	return 0;
}

/* ---- side files ----------------------------------------------------------------------- */

/* If a recorder is writing, a real change is still there at the next check. */
int
dbfile_check_wal(const struct reader *reader, struct verify_answer *answer)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	char why[AUDIT_WHY_MAX] = "";
	int r = 0;

	for (int i = 0; i < LOOKS; i++) {
		r = wal_check(reader->path, loop_now() + READER_OPEN_NS, why);
		if (r == 0 || r == -ENOENT || (r == -ENODATA && reader->view->live))
			return 0;
		if (!reader->view->live)
			break;
		(void)nanosleep(&pause, NULL);
	}
	return found(answer,
	    r == -EBADMSG   ? TAMPERED
	    : r == -ENODATA ? INCOMPLETE
			    : UNKNOWN,
	    "%s", why[0] != '\0' ? why : strerror(-r));
}

/* If a recorder holds the index, SQLite has compared it. If none does, our
 * connections do not have it open, so closing it drops none of their locks. A
 * recorder that is just starting or ending is caught at the next check. */
static int
check_index(const struct reader *reader, struct verify_answer *answer)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	char why[AUDIT_WHY_MAX] = "";
	int r = 0;

	if (reader->view->live)
		return 0;
	for (int i = 0; i < LOOKS; i++) {
		r = shm_check(reader->path, why);
		if (r == 0)
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return found(answer, r == -EBADMSG ? TAMPERED : INCOMPLETE, "%s", why);
}

int
dbfile_check(const struct reader *reader, int n, struct verify_answer *answer)
{
	const char *field;
	uint32_t pages = 0;
	int r = page_count(reader->db, answer, &pages);

	if (r < 0)
		return r;
	field = wrong_field(reader->view->head, pages);
	if (field != NULL)
		return found(answer, TAMPERED,
		    "the database's header was changed: its %s is not kennel's", field);
	r = check_pages(reader, n, pages, answer);
	return r == 0 ? check_index(reader, answer) : r;
}
