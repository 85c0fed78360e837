/*
 * The file of the registry. The only file that includes SQLite for it.
 *
 * Journal: the rollback journal (journal_mode DELETE), not a write-ahead log. Changes
 * are rare and small, and several processes of one user share the file, one of them
 * confined and long-lived. A write-ahead log needs shared memory that each of them maps
 * and could damage for the others, and it leaves two more files. With a rollback journal
 * a statement holds a lock only while it runs, and a waiting one tries again for 5 s.
 *
 * The file is the user's own and not trusted: its schema must be this one byte for byte
 * (a trigger or a view would run in this process), and its pages must be intact.
 */
#include "supervisor/registry/database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"

#define DB_NAME        "registry.db"
#define DB_VERSION     1
#define APPLICATION_ID 0x6b6e7267 /* "knrg" */
#define BUSY_MS        5000
#define VALUE_MAX      (4 << 20) /* bytes of a value: the lists of a server's tools */
#define MOVED_MAX      100       /* damaged files that are kept */

struct database {
	sqlite3 *db;
	bool changing;
};

struct statement {
	sqlite3_stmt *s;
	int bound, column;
};

/* The vocabularies of the columns are CHECKs, so that no writer can store another word. */
#define SERVERS \
	"CREATE TABLE servers(name TEXT PRIMARY KEY NOT NULL " \
	"CHECK(length(name) BETWEEN 1 AND 64 AND name NOT GLOB '*[^A-Za-z0-9_-]*'), " \
	"scope TEXT NOT NULL CHECK(scope IN ('user', 'global')), " \
	"source TEXT NOT NULL CHECK(source IN ('policy', 'file', 'person', 'agent')), " \
	"transport_type TEXT NOT NULL CHECK(transport_type IN ('stdio', 'http')), " \
	"command TEXT, args_json TEXT, url TEXT, headers_json TEXT, " \
	"auth_type TEXT NOT NULL DEFAULT 'none' " \
	"CHECK(auth_type IN ('none', 'api_key', 'bearer', 'oauth2')), " \
	"auth_ref TEXT, env_json TEXT, note TEXT, " \
	"enabled INTEGER NOT NULL DEFAULT 1 CHECK(enabled IN (0, 1)), " \
	"discovery_status TEXT NOT NULL DEFAULT 'pending' " \
	"CHECK(discovery_status IN ('pending', 'connected', 'unreachable', 'error')), " \
	"protocol TEXT, policy_server TEXT NOT NULL, " \
	"created_gen INTEGER NOT NULL CHECK(created_gen > 0), " \
	"updated_gen INTEGER NOT NULL CHECK(updated_gen >= created_gen), " \
	"created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT"

#define OF_SERVER "server TEXT NOT NULL REFERENCES servers(name) ON DELETE CASCADE, "

static const struct {
	const char *name, *sql;
} tables[] = {
    {"generation", "CREATE TABLE generation(one INTEGER PRIMARY KEY CHECK(one = 1), "
		   "value INTEGER NOT NULL CHECK(value >= 0)) STRICT"},
    {"servers", SERVERS},
    {"tools",
	"CREATE TABLE tools(" OF_SERVER "name TEXT NOT NULL, tool_key TEXT NOT NULL, "
	"description TEXT, parameters TEXT, annotations TEXT, sha256 TEXT NOT NULL, "
	"pinned_sha256 TEXT, seen_gen INTEGER NOT NULL, PRIMARY KEY(server, name)) "
	"STRICT"},
    {"resources", "CREATE TABLE resources(" OF_SERVER "uri TEXT NOT NULL, name TEXT, "
		  "description TEXT, sha256 TEXT NOT NULL, pinned_sha256 TEXT, "
		  "seen_gen INTEGER NOT NULL, PRIMARY KEY(server, uri)) STRICT"},
    {"prompts", "CREATE TABLE prompts(" OF_SERVER "name TEXT NOT NULL, description TEXT, "
		"arguments TEXT, sha256 TEXT NOT NULL, pinned_sha256 TEXT, "
		"seen_gen INTEGER NOT NULL, PRIMARY KEY(server, name)) STRICT"},
    {"trusted_files", "CREATE TABLE trusted_files(sha256 TEXT PRIMARY KEY NOT NULL "
		      "CHECK(length(sha256) = 64), path TEXT NOT NULL, "
		      "approved_gen INTEGER NOT NULL) STRICT"},
};

static int
code_to_errno(int code)
{
	static const struct {
		int code, r;
	} row[] = {
	    {SQLITE_OK, 0},
	    {SQLITE_DONE, 0},
	    {SQLITE_ROW, 0},
	    {SQLITE_BUSY, -EBUSY},
	    {SQLITE_NOMEM, -ENOMEM},
	    {SQLITE_READONLY, -EROFS},
	    {SQLITE_FULL, -ENOSPC},
	    {SQLITE_TOOBIG, -EMSGSIZE},
	    {SQLITE_CONSTRAINT, -EINVAL},
	    {SQLITE_CANTOPEN, -EACCES},
	    {SQLITE_CORRUPT, -EBADMSG},
	    {SQLITE_NOTADB, -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (row[i].code == (code & 0xff))
			return row[i].r;
	return -EIO;
}

static int
run(sqlite3 *db, const char *sql)
{
	return code_to_errno(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

/* ---- schema ------------------------------------------------------------------ */

/* The first value of the first row, a number. */
static int
ask_number(sqlite3 *db, const char *sql, int64_t *ret)
{
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return code == SQLITE_DONE ? -EBADMSG : code_to_errno(code);
}

static int
create(sqlite3 *db)
{
	char sql[128];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(tables); i++)
		r = run(db, tables[i].sql);
	(void)snprintf(sql, sizeof(sql),
	    "PRAGMA application_id=%d; PRAGMA user_version=%d; "
	    "INSERT INTO generation VALUES(1, 0)",
	    APPLICATION_ID, DB_VERSION);
	return r < 0 ? r : run(db, sql);
}

static bool
is_table(const char *type, const char *name, const char *sql)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		if (strcmp(tables[i].name, name) == 0)
			return strcmp(type, "table") == 0 && sql != NULL &&
			       strcmp(tables[i].sql, sql) == 0;
	/* the index of a primary key has no text */
	return strcmp(type, "index") == 0 && sql == NULL;
}

/* Every object is one of the tables above or an index that they imply. */
static int
check_schema(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	size_t n = 0;
	int code = sqlite3_prepare_v2(
	    db, "SELECT type, name, sql FROM sqlite_schema", -1, &s, NULL);
	int r = code_to_errno(code);

	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *type = (const char *)sqlite3_column_text(s, 0);
		const char *name = (const char *)sqlite3_column_text(s, 1);

		if (type == NULL || name == NULL ||
		    !is_table(type, name, (const char *)sqlite3_column_text(s, 2)))
			r = -EBADMSG;
		n += r == 0 && strcmp(type, "table") == 0;
	}
	if (r == 0)
		r = code_to_errno(code);
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return r == 0 && n != ARRAY_LEN(tables) ? -EBADMSG : r;
}

/* Pages, indexes and references are intact, and there is exactly one generation. */
static int
check_pages(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int64_t n = 0, broken = 1;
	int r = code_to_errno(
	    sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &s, NULL));

	if (r == 0 && sqlite3_step(s) == SQLITE_ROW) {
		const char *said = (const char *)sqlite3_column_text(s, 0);

		broken = said == NULL || strcmp(said, "ok") != 0;
	}
	(void)sqlite3_finalize(s); /* a failed step leaves `broken` */
	if (r == 0)
		r = broken != 0 ? -EBADMSG
				: ask_number(db, "SELECT count(*) FROM generation", &n);
	if (r == 0 && n != 1)
		r = -EBADMSG;
	if (r == 0)
		r = ask_number(
		    db, "SELECT count(*) FROM pragma_foreign_key_check", &broken);
	return r == 0 && broken != 0 ? -EBADMSG : r;
}

/* Creates the tables in an empty file; checks those of any other. */
static int
prepare(sqlite3 *db)
{
	int64_t objects = 0, version = 0, application = 0;
	int ended, r = run(db, "BEGIN IMMEDIATE");

	if (r == 0)
		r = ask_number(db, "SELECT count(*) FROM sqlite_schema", &objects);
	if (r == 0)
		r = ask_number(db, "PRAGMA user_version", &version);
	if (r == 0)
		r = ask_number(db, "PRAGMA application_id", &application);
	if (r == 0 && objects == 0 && version == 0 && application == 0) {
		r = create(db);
	} else if (r == 0) {
		if (application != APPLICATION_ID || version < DB_VERSION)
			r = -EBADMSG;
		else if (version > DB_VERSION)
			r = -EPROTONOSUPPORT;
		if (r == 0)
			r = check_schema(db);
		if (r == 0)
			r = check_pages(db);
	}
	ended = run(db, r == 0 ? "COMMIT" : "ROLLBACK");
	return r == 0 ? ended : r;
}

/* ---- open -------------------------------------------------------------------- */

static int
open_file(const char *path, bool wait, sqlite3 **ret)
{
	sqlite3 *db = NULL;
	struct stat st;
	mode_t mask;
	int r;

	/* a link would lead out of the directory; a device would block */
	if (lstat(path, &st) == 0 &&
	    !S_ISREG(st.st_mode)) /* syscalls: newfstatat lstat */
		return -EBADMSG;
	mask = umask(0177); /* syscalls: umask */
	r = code_to_errno(sqlite3_open_v2(path, &db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW, NULL));
	if (r == 0) {
		(void)sqlite3_busy_timeout(db, wait ? BUSY_MS : 0);
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
		(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
		(void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
		r = run(db, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL; "
			    "PRAGMA mmap_size=0; PRAGMA cell_size_check=ON");
	}
	if (r == 0)
		r = prepare(db);
	(void)umask(mask);
	if (r < 0)
		(void)sqlite3_close(db);
	else
		*ret = db;
	return r;
}

/* Renames a damaged file, so that what it holds is not lost. */
static int
move_aside(const char *path, struct reason *moved)
{
	char to[PATH_MAX], from[PATH_MAX];
	struct stat st;

	for (int n = 1; n <= MOVED_MAX; n++) {
		(void)snprintf(to, sizeof(to), "%.4000s.damaged-%d", path, n);
		if (lstat(to, &st) == 0)
			continue;
		if (rename(path, to) < 0) /* syscalls: rename */
			return -errno;
		/* a journal belongs to its file: it must not be applied to the new one */
		(void)snprintf(from, sizeof(from), "%.4000s-journal", path);
		(void)snprintf(to, sizeof(to), "%.4000s.damaged-%d-journal", path, n);
		(void)rename(from, to); /* there may be none */
		if (moved != NULL)
			(void)reason_set(moved, 0,
			    "the registry %s is damaged: moved to %s.damaged-%d and "
			    "created an empty one; `kennel server import` restores an "
			    "export",
			    path, path, n);
		return 0;
	}
	return -EEXIST;
}

/*
 * One process opens at a time (flock of the directory): of two that find a damaged
 * file, the second would move the new one aside.
 */
static int
lock_dir(const char *dir, bool wait, int *ret_fd)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	/* syscalls: flock */
	while ((r = flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB)) < 0 && errno == EINTR)
		;
	if (r < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int
database_open(const char *dir, bool wait, struct database **ret, struct reason *moved,
    struct reason *why)
{
	struct database *d = calloc(1, sizeof(*d));
	char path[PATH_MAX];
	int lock = -1, r = d == NULL ? -ENOMEM : fd_make_dirs(dir);

	(void)snprintf(path, sizeof(path), "%.3900s/" DB_NAME, dir);
	if (moved != NULL)
		moved->text[0] = '\0';
	if (r == 0)
		r = lock_dir(dir, wait, &lock);
	if (r == 0)
		r = open_file(path, wait, &d->db);
	if (r == -EBADMSG && (r = move_aside(path, moved)) == 0)
		r = open_file(path, wait, &d->db);
	fd_close(&lock);
	if (r < 0) {
		free(d);
		return reason_set(why, r, "unable to open the registry %s: %s", path,
		    r == -EPROTONOSUPPORT ? "a newer version of kennel wrote it"
					  : strerror(-r));
	}
	*ret = d;
	return 0;
}

void
database_close(struct database *d)
{
	if (d == NULL)
		return;
	(void)sqlite3_close(d->db); /* all statements are ended */
	free(d);
	/* It was open for milliseconds, and a hub keeps what it freed for days: 100 KB. */
	(void)malloc_trim(0);
}

/* ---- transactions -------------------------------------------------------------- */

int
database_begin(struct database *d)
{
	int r = run(d->db, "BEGIN IMMEDIATE");

	d->changing = r == 0;
	return r;
}

int
database_commit(struct database *d)
{
	int r = run(d->db, "COMMIT");

	if (r == 0)
		d->changing = false;
	return r;
}

void
database_undo(struct database *d)
{
	if (d->changing)
		(void)run(d->db, "ROLLBACK"); /* an error has ended it already */
	d->changing = false;
}

uint64_t
database_changed(const struct database *d)
{
	return (uint64_t)sqlite3_changes64(d->db);
}

/* ---- statements ---------------------------------------------------------------- */

int
statement_new(struct database *d, const char *sql, struct statement **ret)
{
	struct statement *s = calloc(1, sizeof(*s));
	int r = s == NULL
		    ? -ENOMEM
		    : code_to_errno(sqlite3_prepare_v2(d->db, sql, -1, &s->s, NULL));

	if (r < 0)
		free(s);
	else
		*ret = s;
	return r;
}

/* A failed bind leaves NULL, which the columns that matter refuse. */
void
statement_text(struct statement *s, const char *text)
{
	if (text == NULL)
		(void)sqlite3_bind_null(s->s, ++s->bound);
	else
		(void)sqlite3_bind_text(s->s, ++s->bound, text, -1, SQLITE_STATIC);
}

void
statement_number(struct statement *s, uint64_t number)
{
	(void)sqlite3_bind_int64(s->s, ++s->bound, (sqlite3_int64)number);
}

int
statement_step(struct statement *s)
{
	int code = sqlite3_step(s->s);

	s->column = 0;
	return code == SQLITE_ROW ? 1 : code_to_errno(code);
}

const char *
column_text(struct statement *s)
{
	return (const char *)sqlite3_column_text(s->s, s->column++);
}

uint64_t
column_number(struct statement *s)
{
	return (uint64_t)sqlite3_column_int64(s->s, s->column++);
}

void
statement_end(struct statement *s)
{
	if (s == NULL)
		return;
	(void)sqlite3_finalize(s->s); /* the result was checked at the step */
	free(s);
}
