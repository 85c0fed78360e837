/*
 * The tables of audit.db, as their only writer.
 *
 * Process: kennel-recorder.  Every commit inserts records, the nodes that they
 * complete, and one checkpoint; nothing is ever changed or removed.  The right
 * edge of the tree is kept in memory, rebuilt at the start from the nodes and
 * the last leaves, and must give the last checkpoint's root.
 *
 * What SQLite asks the kernel for in WAL mode (found with strace -f, from an
 * empty folder to the last close):
 * syscalls: openat read write pread64 pwrite64 lseek fsync fdatasync ftruncate
 * syscalls: fallocate fcntl fstat newfstatat stat lstat readlink getcwd unlink
 * syscalls: access faccessat faccessat2 fchmod fchown geteuid getpid mmap munmap
 * syscalls: mremap sysinfo sched_getaffinity uname clock_nanosleep
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/audit/inside.h"

#define STEP_LEAVES 256u /* 2^AUDIT_EDGE_STEP */
#define WAL_PAGES   4000 /* folded into the database at this size */
#define CACHE_KIB   8192

enum statement { BEGIN, COMMIT, PUT_REC, PUT_NODE, PUT_CP, LAST_SEQ, STATEMENTS };

static const char *const statement_sql[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [PUT_REC] = ("INSERT INTO rec(idx, ts, kind, server, session, verdict, writer, "
		 "wseq, body, leaf) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    [PUT_NODE] = "INSERT INTO node(level, n, hash) VALUES(?, ?, ?)",
    [PUT_CP] = "INSERT INTO cp(size, root, ts) VALUES(?, ?, ?)",
    [LAST_SEQ] = "SELECT coalesce(max(wseq), 0) FROM rec WHERE writer = ?",
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *statement[STATEMENTS];
	struct chain chain;
	bool open;  /* a transaction */
	int failed; /* the first failure of a node inside an append */
};

/* ---- small change ---------------------------------------------------------- */

/* What a writer is told: the disk, or everything else. */
static int
as_errno(int code)
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
	return as_errno(sqlite3_exec(store->db, sql, NULL, NULL, NULL));
}

/* Step a statement that returns nothing, and make it ready for the next time. */
static int
finish(sqlite3_stmt *s)
{
	int code = sqlite3_step(s);

	(void)sqlite3_reset(s); /* repeats the step's result */
	return as_errno(code);
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
	(void)sqlite3_finalize(s); /* its result was seen at the step */
	return as_errno(code);
}

static int
get_hash(sqlite3_stmt *s, int column, uint8_t ret[CHAIN_HASH_LEN])
{
	const void *hash = sqlite3_column_blob(s, column);

	if (hash == NULL || sqlite3_column_bytes(s, column) != CHAIN_HASH_LEN)
		return -EBADMSG;
	memcpy(ret, hash, CHAIN_HASH_LEN);
	return 0;
}

/* ---- opening ---------------------------------------------------------------- */

static int
set_up(struct store *store)
{
	char sql[256];
	int r;

	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	r = as_errno(sqlite3_busy_timeout(store->db, 5000));
	(void)snprintf(sql, sizeof(sql),
	    "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON;"
	    "PRAGMA recursive_triggers=ON; PRAGMA cache_size=-%d;"
	    "PRAGMA wal_autocheckpoint=%d;",
	    CACHE_KIB, WAL_PAGES);
	if (r == 0)
		r = run(store, sql);
	if (r == 0)
		r = run(store, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
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
	/* A name for this log, so that two logs are never taken for one. */
	if (r == 0)
		r = run(store,
		    "INSERT INTO meta(k, v) VALUES('format', 'kennel audit 1'), "
		    "('log', lower(hex(randomblob(16))))");
	if (r == 0)
		r = run(store, "COMMIT");
	return r;
}

/*
 * One step of the edge: the subtrees of 256^step leaves that the next larger
 * full one does not hold.  sql gives their hashes in order, from number ?1 on.
 */
static int
edge_step(struct store *store, unsigned int step, uint64_t size)
{
	unsigned int level = step * AUDIT_EDGE_STEP;
	uint64_t n = size >> level, from = n - n % STEP_LEAVES;
	struct chain part = {0};
	sqlite3_stmt *s = NULL;
	int code, r = 0;

	code = sqlite3_prepare_v2(store->db,
	    step == 0
		? "SELECT leaf, idx, body FROM rec WHERE idx >= ?1 ORDER BY idx"
		: "SELECT hash, n FROM node WHERE n >= ?1 AND level = ?2 ORDER BY n",
	    -1, &s, NULL);
	if (code != SQLITE_OK)
		return as_errno(code);
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)from);
	if (step > 0)
		(void)sqlite3_bind_int(s, 2, (int)level);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		uint8_t hash[CHAIN_HASH_LEN], again[CHAIN_HASH_LEN];

		r = get_hash(s, 0, hash);
		if ((uint64_t)sqlite3_column_int64(s, 1) != from + part.size)
			r = -EBADMSG;
		if (r == 0 && step == 0) {
			chain_leaf(sqlite3_column_blob(s, 2),
			    (size_t)sqlite3_column_bytes(s, 2), again);
			r = memcmp(hash, again, sizeof(hash)) == 0 ? 0 : -EBADMSG;
		}
		if (r == 0 && part.size == n % STEP_LEAVES)
			r = -EBADMSG;
		if (r == 0)
			chain_append(&part, hash);
	}
	if (r == 0)
		r = as_errno(code);
	if (r == 0 && part.size != n % STEP_LEAVES)
		r = -EBADMSG;
	if (r == 0)
		memcpy(store->chain.edge[level], part.edge,
		    AUDIT_EDGE_STEP * sizeof(part.edge[0]));
	(void)sqlite3_finalize(s);
	return r;
}

/* The last checkpoint, and whether the edge rebuilt gives its root. */
static int
check_edge(struct store *store, const char **ret_why)
{
	uint8_t want[CHAIN_HASH_LEN], root[CHAIN_HASH_LEN];
	sqlite3_stmt *s = NULL;
	uint64_t size = 0;
	int code, r = 0;

	chain_digest("", 0, want);
	code = sqlite3_prepare_v2(store->db,
	    "SELECT size, root FROM cp ORDER BY size DESC LIMIT 1", -1, &s, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW) {
		size = (uint64_t)sqlite3_column_int64(s, 0);
		r = get_hash(s, 1, want);
	}
	if (r == 0)
		r = as_errno(code);
	(void)sqlite3_finalize(s);
	for (unsigned int step = 0; r == 0 && step < CHAIN_LEVELS / AUDIT_EDGE_STEP;
	     step++)
		r = edge_step(store, step, size);
	if (r == 0) {
		store->chain.size = size;
		chain_root(&store->chain, root);
		r = memcmp(root, want, sizeof(root)) == 0 ? 0 : -EBADMSG;
	}
	if (r == -EBADMSG)
		*ret_why = "the records do not give the last checkpoint's root";
	return r;
}

static int
check_tables(struct store *store, const char **ret_why)
{
	int64_t tables = 0;
	int r;

	r = get_number(store, "SELECT count(*) FROM sqlite_schema", &tables);
	if (r == 0 && tables == 0)
		r = make_tables(store);
	if (r == 0 && schema_differs(store->db, (char[64]){0}, 64) != NULL) {
		*ret_why = "the tables are not those of a kennel audit log";
		r = -EBADMSG;
	}
	return r;
}

static int
prepare_all(struct store *store)
{
	int code = SQLITE_OK;

	for (int i = 0; code == SQLITE_OK && i < STATEMENTS; i++)
		code = sqlite3_prepare_v3(store->db, statement_sql[i], -1,
		    SQLITE_PREPARE_PERSISTENT, &store->statement[i], NULL);
	return as_errno(code);
}

int
store_open(int log_dir, struct store **ret, const char **ret_why)
{
	struct store *store;
	char path[64];
	int r;

	*ret_why = "no memory";
	store = calloc(1, sizeof(*store));
	if (store == NULL)
		return -ENOMEM;
	*ret_why = "the database cannot be opened";
	/* its generator opens /dev/urandom once, and soon that is out of reach */
	sqlite3_randomness(sizeof(path), path);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", log_dir, AUDIT_DB_NAME);
	r = as_errno(sqlite3_open_v2(path, &store->db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE, NULL));
	if (r == 0)
		r = set_up(store);
	if (r == 0)
		r = check_tables(store, ret_why);
	if (r == 0)
		r = check_edge(store, ret_why);
	if (r == 0)
		r = prepare_all(store);
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
	/* an open transaction is rolled back: nobody was told that it held */
	(void)sqlite3_close(store->db);
	free(store);
}

/* ---- writing ---------------------------------------------------------------- */

uint64_t
store_next(const struct store *store)
{
	return store->chain.size;
}

bool
store_pending(const struct store *store)
{
	return store->open;
}

int
store_last_seq(struct store *store, const char *instance, uint64_t *ret)
{
	sqlite3_stmt *s = store->statement[LAST_SEQ];
	int code;

	(void)sqlite3_bind_text(s, 1, instance, -1, SQLITE_STATIC);
	code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
	(void)sqlite3_reset(s);
	return as_errno(code);
}

/* Kept for proofs and for the next start: a node for each full 256^k leaves. */
static void
keep_node(void *arg, unsigned int level, uint64_t n, const uint8_t hash[CHAIN_HASH_LEN])
{
	struct store *store = arg;
	sqlite3_stmt *s = store->statement[PUT_NODE];

	if (level % AUDIT_EDGE_STEP != 0 || store->failed != 0)
		return;
	(void)sqlite3_bind_int(s, 1, (int)level);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)n);
	(void)sqlite3_bind_blob(s, 3, hash, CHAIN_HASH_LEN, SQLITE_STATIC);
	store->failed = finish(s);
}

/* NULL binds as NULL.  A bind can only fail for want of memory, and then the
 * NOT NULL column refuses the row. */
static void
bind_text(sqlite3_stmt *s, int at, const char *text)
{
	(void)sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

int
store_append(struct store *store, const struct writer *writer, const struct record *rec)
{
	sqlite3_stmt *s = store->statement[PUT_REC];
	uint8_t leaf[CHAIN_HASH_LEN];
	int r;

	if (!store->open) {
		r = finish(store->statement[BEGIN]);
		if (r < 0)
			return r;
		store->open = true;
	}
	chain_leaf(rec->body, rec->body_len, leaf);
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)rec->idx);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)rec->ts);
	bind_text(s, 3, event_kind_name(rec->kind));
	bind_text(s, 4, rec->server);
	bind_text(s, 5, writer->session);
	bind_text(s, 6, rec->verdict);
	bind_text(s, 7, writer->instance);
	(void)sqlite3_bind_int64(s, 8, (sqlite3_int64)rec->wseq);
	(void)sqlite3_bind_blob(s, 9, rec->body, (int)rec->body_len, SQLITE_STATIC);
	(void)sqlite3_bind_blob(s, 10, leaf, CHAIN_HASH_LEN, SQLITE_STATIC);
	r = finish(s);
	if (r == 0) {
		chain_append_with(&store->chain, leaf, keep_node, store);
		r = store->failed;
	}
	return r;
}

int
store_commit(struct store *store, uint64_t now_ns)
{
	sqlite3_stmt *s = store->statement[PUT_CP];
	uint8_t root[CHAIN_HASH_LEN];
	int r;

	if (!store->open)
		return 0;
	chain_root(&store->chain, root);
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)store->chain.size);
	(void)sqlite3_bind_blob(s, 2, root, CHAIN_HASH_LEN, SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 3, (sqlite3_int64)now_ns);
	r = finish(s);
	if (r == 0)
		r = finish(store->statement[COMMIT]);
	if (r == 0)
		store->open = false;
	return r;
}
