/*
 * The tables of audit.db; this is their only writer.
 *
 * Process: kennel-recorder. Every commit inserts records, the nodes that they
 * complete, and one checkpoint; nothing is ever changed or removed. The right edge of
 * the tree is in memory. At start it is rebuilt from the nodes and the last leaves,
 * and must match the last checkpoint's root.
 *
 * System calls of SQLite in WAL mode (found with strace -f, from an empty directory
 * to the last close):
 * syscalls: openat read write pread64 pwrite64 lseek fsync fdatasync ftruncate
 * syscalls: fallocate fcntl fstat newfstatat stat lstat readlink getcwd unlink
 * syscalls: access faccessat faccessat2 fchmod fchown geteuid getpid mmap munmap
 * syscalls: mremap sysinfo sched_getaffinity uname clock_nanosleep
 */
#include <errno.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/recorder/store.h"

#define CACHE_KIB 4096 /* the pages that one full batch writes */

const char *const store_sql[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    /* OR FAIL: the caller that began the transaction rolls it back as a whole, so
     * SQLite need not keep pages to undo this statement alone */
    [PUT_REC] = ("INSERT OR FAIL INTO rec(idx, ts, kind, server, session, tool, verdict, "
		 "rule, writer, wseq, body) SELECT idx, ts, kind, server, session, tool, "
		 "verdict, rule, writer, wseq, body FROM pending"),
    [PUT_TILE] = "INSERT INTO tile(level, n, root, h) VALUES(?, ?, ?, ?)",
    [PUT_CP] = "INSERT INTO cp(size, epoch, note) VALUES(?, ?, ?)",
    [LAST_SEQ] = ("SELECT coalesce(max(wseq), 0) FROM rec WHERE session = ? AND "
		  "writer = ?"),
};

/* ---- helpers --------------------------------------------------------------- */

/* The errno that a writer gets: disk full, or any other error. */
int
store_errno(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	default:
		return -EIO;
	}
}

const char *
store_why(const struct store *store)
{
	return sqlite3_errmsg(store->db);
}

static int
run(struct store *store, const char *sql)
{
	return store_errno(sqlite3_exec(store->db, sql, NULL, NULL, NULL));
}

/* Steps a statement that returns no rows, and resets it. */
int
store_finish(sqlite3_stmt *s)
{
	int code = sqlite3_step(s);

	(void)sqlite3_reset(s); /* repeats the step's result */
	return store_errno(code);
}

static int
get_number(struct store *store, const char *sql, int64_t *ret)
{
	sqlite3_stmt *s = NULL;
	int code;

	code = sqlite3_prepare_v2(store->db, sql, -1, &s, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return store_errno(code);
}

static int
get_hash(sqlite3_stmt *s, int column, uint8_t ret[MERKLE_HASH_LEN])
{
	const void *hash = sqlite3_column_blob(s, column);

	if (hash == NULL || sqlite3_column_bytes(s, column) != MERKLE_HASH_LEN)
		return -EBADMSG;
	memcpy(ret, hash, MERKLE_HASH_LEN);
	return 0;
}

/* Inserts pending records into the table; call it before reading the table. */
static int
put_pending(struct store *store)
{
	int r = 0;

	if (pending_n(store->pending) > 0)
		r = store_finish(store->statement[PUT_REC]);
	pending_clear(store->pending);
	return r;
}

/* ---- opening ---------------------------------------------------------------- */

static int
on_committed(void *arg, sqlite3 *db, const char *name, int pages)
{
	struct store *store = arg;

	store->wal_pages = pages;
	return SQLITE_OK;
}

static int
set_up(struct store *store)
{
	char sql[256];
	int r;

	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	r = store_errno(sqlite3_busy_timeout(store->db, 5000));
	if (r == 0)
		r = pending_new(store->db, &store->pending);
	(void)snprintf(sql, sizeof(sql),
	    "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON;"
	    "PRAGMA recursive_triggers=ON; PRAGMA cache_size=-%d;",
	    CACHE_KIB);
	if (r == 0)
		r = run(store, sql);
	if (r == 0)
		r = run(store, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
	/* replaces SQLite's hook, which would checkpoint before the writer gets its
	 * acknowledgement */
	(void)sqlite3_wal_hook(store->db, on_committed, store);
	return r;
}

static int
make_tables(struct store *store)
{
	char sql[128];
	int r;

	r = run(store, "BEGIN IMMEDIATE");
	for (size_t i = 0; r == 0 && i < schema_rows; i++)
		r = run(store, schema_row[i].sql);
	(void)snprintf(sql, sizeof(sql),
	    "PRAGMA user_version=%d; PRAGMA application_id=%d", SCHEMA_VERSION,
	    SCHEMA_APPLICATION);
	if (r == 0)
		r = run(store, sql);
	if (r == 0)
		r = run(store, "COMMIT");
	return r;
}

/* ---- the right edge ---------------------------------------------------------- */

/* Reads one hash of the edge: entry n of its level. */
static int
edge_hash(struct store *store, sqlite3_stmt *s, unsigned int level, uint64_t n)
{
	uint8_t *to = store->tree.tile[level] + n % TILE_WIDTH * MERKLE_HASH_LEN;

	if ((uint64_t)sqlite3_column_int64(s, 0) != n)
		return -EBADMSG;
	if (level > 0)
		return get_hash(s, 1, to);
	merkle_leaf(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), to);
	return 0;
}

/* Loads the entries after the last full tile of one level: leaves from their records,
 * else the roots of the full tiles one level below. */
static int
edge_level(struct store *store, unsigned int level, uint64_t size)
{
	uint64_t end = size >> (level * TILE_BITS), n = end - end % TILE_WIDTH;
	sqlite3_stmt *s = NULL;
	int code, r = 0;

	if (level == 0 && n < store->base)
		n = store->base; /* earlier ones were copied into this file */
	code = sqlite3_prepare_v2(store->db,
	    level == 0
		? "SELECT idx, body FROM rec WHERE idx >= ?1 ORDER BY idx"
		: "SELECT n, root FROM tile WHERE n >= ?1 AND level = ?2 ORDER BY n",
	    -1, &s, NULL);
	if (code != SQLITE_OK)
		return store_errno(code);
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)n);
	if (level > 0)
		(void)sqlite3_bind_int(s, 2, (int)level - 1);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		r = n < end ? edge_hash(store, s, level, n) : -EBADMSG;
		n++;
	}
	if (r == 0)
		r = store_errno(code);
	if (r == 0 && n != end)
		r = -EBADMSG;
	(void)sqlite3_finalize(s);
	return r;
}

int
store_edge(struct store *store, uint64_t size)
{
	int r = 0;

	for (unsigned int level = 0; r == 0 && level < TILE_LEVELS; level++)
		r = edge_level(store, level, size);
	if (r == 0)
		tiles_edge(&store->tree, size);
	return r;
}

int
store_last_cp(struct store *store, uint64_t most, struct stored_cp *ret)
{
	sqlite3_stmt *s = NULL;
	const char *note;
	int code, r;

	*ret = (struct stored_cp){0};
	code = sqlite3_prepare_v2(store->db,
	    "SELECT size, epoch, note FROM cp WHERE size <= ? ORDER BY size DESC LIMIT 1",
	    -1, &s, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(
		    s, 1, (sqlite3_int64)(most > INT64_MAX ? INT64_MAX : most));
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	r = store_errno(code);
	if (code == SQLITE_ROW) {
		ret->size = (uint64_t)sqlite3_column_int64(s, 0);
		ret->epoch = (uint64_t)sqlite3_column_int64(s, 1);
		note = (const char *)sqlite3_column_text(s, 2);
		if (note == NULL ||
		    (size_t)sqlite3_column_bytes(s, 2) >= sizeof(ret->note))
			r = -EBADMSG;
		else
			(void)snprintf(ret->note, sizeof(ret->note), "%s", note);
	}
	(void)sqlite3_finalize(s);
	return r;
}

int
store_body(struct store *store, uint64_t idx, char body[AUDIT_BODY_MAX], size_t *ret_len)
{
	sqlite3_stmt *s = NULL;
	int code, len, r;

	r = put_pending(store);
	if (r < 0)
		return r;
	code = sqlite3_prepare_v2(
	    store->db, "SELECT body FROM rec WHERE idx = ?", -1, &s, NULL);
	if (code == SQLITE_OK) {
		(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)idx);
		code = sqlite3_step(s);
	}
	r = code == SQLITE_DONE ? -ENOENT : store_errno(code);
	if (code == SQLITE_ROW) {
		len = sqlite3_column_bytes(s, 0);
		if (len <= 0 || len > (int)AUDIT_BODY_MAX) {
			r = -EBADMSG;
		} else {
			memcpy(body, sqlite3_column_blob(s, 0), (size_t)len);
			*ret_len = (size_t)len;
		}
	}
	(void)sqlite3_finalize(s);
	return r;
}

/* ---- opening, continued ------------------------------------------------------- */

static int
check_tables(struct store *store, const char **ret_why)
{
	int64_t tables = 0, version = 0;
	int r;

	r = get_number(store, "SELECT count(*) FROM sqlite_schema", &tables);
	if (r == 0 && tables == 0)
		r = make_tables(store);
	if (r == 0)
		r = get_number(store, "PRAGMA user_version", &version);
	if (r == 0 && version != SCHEMA_VERSION) {
		*ret_why = version == 1
			       ? "it has version 1 of the format, and this kennel writes "
				 "version 2: move it away"
			       : "it has an unknown version of the format: move it away";
		return -EPROTO;
	}
	if (r == 0)
		r = schema_compare(store->db, (char[64]){0}, 64);
	if (r == -EBADMSG)
		*ret_why = "the tables are not those of a kennel audit log";
	return r;
}

/* Reads where this file begins, and the earlier leaves in its first tile. */
static int
read_meta(struct store *store, const char **ret_why)
{
	int64_t base = 0;
	sqlite3_stmt *s = NULL;
	size_t want;
	int code, r;

	r = get_number(
	    store, "SELECT CAST(v AS INTEGER) FROM meta WHERE k = 'base'", &base);
	if (r < 0 || base <= 0)
		return r;
	store->base = (uint64_t)base;
	want = store->base % TILE_WIDTH * MERKLE_HASH_LEN;
	code = sqlite3_prepare_v2(
	    store->db, "SELECT h FROM tile WHERE level = -1", -1, &s, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	r = store_errno(code);
	if (r == 0 && want > 0) {
		if (code != SQLITE_ROW || (size_t)sqlite3_column_bytes(s, 0) != want) {
			*ret_why = "the hashes of the records before this file are "
				   "missing";
			r = -EBADMSG;
		} else {
			memcpy(store->tree.tile[0], sqlite3_column_blob(s, 0), want);
		}
	}
	(void)sqlite3_finalize(s);
	return r;
}

static int
prepare_all(struct store *store)
{
	int code = SQLITE_OK;

	for (int i = 0; code == SQLITE_OK && i < STATEMENTS; i++)
		code = sqlite3_prepare_v3(store->db, store_sql[i], -1,
		    SQLITE_PREPARE_PERSISTENT, &store->statement[i], NULL);
	return store_errno(code);
}

int
store_open(int log_dir, struct store **ret, const char **ret_why)
{
	return store_open_as(log_dir, AUDIT_DB_NAME, ret, ret_why);
}

int
store_open_as(int log_dir, const char *name, struct store **ret, const char **ret_why)
{
	struct store *store;
	char path[96];
	int r;

	*ret_why = "out of memory";
	store = calloc(1, sizeof(*store));
	if (store == NULL)
		return -ENOMEM;
	*ret_why = "unable to open the database";
	/* one thread, and memory statistics are unused */
	(void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	/* SQLite's generator opens /dev/urandom once; after confinement it could not */
	sqlite3_randomness(sizeof(path), path);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", log_dir, name);
	r = store_errno(sqlite3_open_v2(path, &store->db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE,
	    frames_vfs()));
	if (r == 0)
		r = set_up(store);
	if (r == 0)
		r = check_tables(store, ret_why);
	if (r == 0)
		r = prepare_all(store);
	if (r == 0)
		r = read_meta(store, ret_why);
	if (r < 0) {
		store_close(store);
		return r;
	}
	*ret = store;
	return 0;
}

void
store_close(struct store *store)
{
	if (store == NULL)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		(void)sqlite3_finalize(store->statement[i]);
	/* an open transaction is rolled back: none of it was acknowledged */
	(void)sqlite3_close(store->db);
	pending_free(store->pending);
	free(store);
}

void
store_fold_some(struct store *store)
{
	if (store->wal_pages < WAL_PAGES)
		return;
	store->wal_pages = 0;
	/* a partial checkpoint is fine: a long write-ahead log loses nothing */
	(void)sqlite3_wal_checkpoint_v2(
	    store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

/* Releases the page cache of an idle log. */
void
store_rest(struct store *store)
{
	(void)sqlite3_db_release_memory(store->db); /* as much as possible */
	pending_rest(store->pending);
	(void)malloc_trim(0); /* syscalls: brk madvise munmap */
}

/* ---- writing ---------------------------------------------------------------- */

uint64_t
store_next(const struct store *store)
{
	return store->tree.chain.size;
}

const struct merkle *
store_merkle(const struct store *store)
{
	return &store->tree.chain;
}

bool
store_pending(const struct store *store)
{
	return store->open;
}

int
store_last_seq(struct store *store, const struct writer *writer, uint64_t *ret)
{
	sqlite3_stmt *s = store->statement[LAST_SEQ];
	int code, r = put_pending(store);

	if (r < 0)
		return r;
	(void)sqlite3_bind_text(s, 1, writer->session, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(s, 2, writer->instance, -1, SQLITE_STATIC);
	code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
	(void)sqlite3_reset(s);
	return store_errno(code);
}

static int
begin(struct store *store)
{
	int r;

	if (store->open)
		return 0;
	r = store_finish(store->statement[BEGIN]);
	store->open = r == 0;
	return r;
}

int
store_put_meta(struct store *store, const char *key, const char *value)
{
	sqlite3_stmt *s = NULL;
	int r;

	r = begin(store);
	if (r == 0)
		r = store_errno(sqlite3_prepare_v2(
		    store->db, "INSERT INTO meta(k, v) VALUES(?, ?)", -1, &s, NULL));
	if (r == 0) {
		(void)sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
		(void)sqlite3_bind_text(s, 2, value, -1, SQLITE_STATIC);
		r = store_finish(s);
	}
	(void)sqlite3_finalize(s);
	return r;
}

int
store_get_meta(struct store *store, const char *key, char *out, size_t out_cap)
{
	sqlite3_stmt *s = NULL;
	const char *value;
	int code, r;

	code =
	    sqlite3_prepare_v2(store->db, "SELECT v FROM meta WHERE k = ?", -1, &s, NULL);
	if (code == SQLITE_OK) {
		(void)sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
		code = sqlite3_step(s);
	}
	r = code == SQLITE_DONE ? -ENOENT : store_errno(code);
	value = r == 0 ? (const char *)sqlite3_column_text(s, 0) : NULL;
	if (r == 0 && (value == NULL || strlen(value) >= out_cap))
		r = -EBADMSG;
	if (r == 0)
		(void)snprintf(out, out_cap, "%s", value);
	(void)sqlite3_finalize(s);
	return r;
}

static int
keep_tile(void *arg, unsigned int level, uint64_t n, const uint8_t root[MERKLE_HASH_LEN],
    const uint8_t tile[TILE_LEN])
{
	struct store *store = arg;
	sqlite3_stmt *s = store->statement[PUT_TILE];

	(void)sqlite3_bind_int(s, 1, (int)level);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)n);
	(void)sqlite3_bind_blob(s, 3, root, MERKLE_HASH_LEN, SQLITE_STATIC);
	(void)sqlite3_bind_blob(s, 4, tile, (int)TILE_LEN, SQLITE_STATIC);
	return store_finish(s);
}

int
store_append(struct store *store, const struct writer *writer, const struct record *rec)
{
	uint8_t leaf[MERKLE_HASH_LEN];
	int r;

	r = begin(store);
	if (r == 0)
		r = pending_put(store->pending, writer, rec);
	if (r == -ENOBUFS) {
		r = put_pending(store);
		if (r == 0)
			r = pending_put(store->pending, writer, rec);
	}
	if (r < 0)
		return r;
	merkle_leaf(rec->body, rec->body_len, leaf);
	return tiles_append(&store->tree, leaf, keep_tile, store);
}

int
store_commit(struct store *store, uint64_t epoch, const char *note)
{
	sqlite3_stmt *s = store->statement[PUT_CP];
	int r;

	if (!store->open)
		return 0;
	r = put_pending(store);
	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)store->tree.chain.size);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)epoch);
	(void)sqlite3_bind_text(s, 3, note, -1, SQLITE_STATIC);
	r = store_finish(s);
	if (r == 0)
		r = store_finish(store->statement[COMMIT]);
	if (r == 0)
		store->open = false;
	return r;
}

void
store_rollback(struct store *store)
{
	if (store->open)
		/* on failure, SQLite has already rolled back */
		(void)store_finish(store->statement[ROLLBACK]);
	pending_clear(store->pending);
	store->open = false;
}
