/*
 * Begins the next file of a log: copies what the tree needs from the file before and
 * the checkpoint over it. Also reads sequence numbers from a closed file.
 *
 * Process: kennel-recorder.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/audit/recorder/store.h"

int
store_fold(struct store *store)
{
	sqlite3_stmt *s = NULL;
	int code, r;

	code = sqlite3_prepare_v2(
	    store->db, "PRAGMA wal_checkpoint(TRUNCATE)", -1, &s, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	r = store_errno(code);
	if (code == SQLITE_ROW && sqlite3_column_int(s, 0) != 0)
		r = -EAGAIN; /* a reader is active */
	(void)sqlite3_finalize(s);
	return r;
}

uint64_t
store_records(const struct store *store)
{
	return store->tree.chain.size - store->base;
}

uint64_t
store_base(const struct store *store)
{
	return store->base;
}

/* A closed file never changes, so it is opened without locks and without side files. */
int
store_closed_seq(
    int log_dir, const char *name, const struct writer *writer, uint64_t *ret)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	char uri[128];
	int code;

	(void)snprintf(
	    uri, sizeof(uri), "file:/proc/self/fd/%d/%s?immutable=1", log_dir, name);
	code = sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(db, store_sql[LAST_SEQ], -1, &s, NULL);
	if (code == SQLITE_OK) {
		(void)sqlite3_bind_text(s, 1, writer->session, -1, SQLITE_STATIC);
		(void)sqlite3_bind_text(s, 2, writer->instance, -1, SQLITE_STATIC);
		code = sqlite3_step(s);
	}
	if (code == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(db);
	return store_errno(code);
}

/* Copies rows of the old file into the new one. */
static int
copy_rows(struct store *old, struct store *store, const char *get, const char *put)
{
	sqlite3_stmt *from = NULL, *to = NULL;
	int code, r;

	code = sqlite3_prepare_v2(old->db, get, -1, &from, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(store->db, put, -1, &to, NULL);
	r = store_errno(code);
	if (r == 0)
		(void)sqlite3_bind_int64(from, 1, (sqlite3_int64)old->tree.chain.size);
	while (r == 0 && (code = sqlite3_step(from)) == SQLITE_ROW) {
		for (int c = 0; c < sqlite3_column_count(from); c++)
			(void)sqlite3_bind_value(
			    to, c + 1, sqlite3_column_value(from, c));
		r = store_finish(to);
	}
	if (r == 0)
		r = store_errno(code);
	(void)sqlite3_finalize(from);
	(void)sqlite3_finalize(to);
	return r;
}

/* Copies what the tree needs: whole tiles above the leaves, the roots of the leaf
 * tiles that no whole tile holds yet, the leaves of the last tile; and the checkpoint
 * over all of it. */
int
store_carry(struct store *old, struct store *store)
{
	static const char put_tile[] = "INSERT INTO tile(level, n, root, h) "
				       "VALUES(?, ?, ?, ?)";
	uint64_t size = old->tree.chain.size, rest = size % TILE_WIDTH;
	sqlite3_stmt *s = store->statement[PUT_TILE];
	int r;

	r = copy_rows(old, store,
	    "SELECT level, n, root, h FROM tile WHERE level >= 1 AND ?1 > 0", put_tile);
	if (r == 0)
		r = copy_rows(old, store,
		    "SELECT 0, n, root, zeroblob(0) FROM tile WHERE level = 0 AND "
		    "n >= (?1 >> 16 << 8)",
		    put_tile);
	if (r == 0 && rest > 0) {
		(void)sqlite3_bind_int(s, 1, -1);
		(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)(size / TILE_WIDTH));
		(void)sqlite3_bind_zeroblob(s, 3, 0);
		(void)sqlite3_bind_blob(s, 4, old->tree.tile[0],
		    (int)(rest * MERKLE_HASH_LEN), SQLITE_STATIC);
		r = store_finish(s);
	}
	if (r == 0)
		r = copy_rows(old, store,
		    "SELECT size, epoch, note FROM cp WHERE size = ?1",
		    "INSERT INTO cp(size, epoch, note) VALUES(?, ?, ?)");
	if (r == 0) {
		store->tree = old->tree;
		store->base = size;
	}
	return r;
}

/* Search backwards: an epoch is short, a file is long. */
int
store_count_cps(struct store *store, uint64_t epoch, uint64_t *ret)
{
	sqlite3_stmt *s = NULL;
	uint64_t n = 0;
	int code;

	code = sqlite3_prepare_v2(store->db,
	    "SELECT epoch FROM cp WHERE size > ? ORDER BY size DESC", -1, &s, NULL);
	if (code == SQLITE_OK) {
		(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)store->base);
		while ((code = sqlite3_step(s)) == SQLITE_ROW &&
		       (uint64_t)sqlite3_column_int64(s, 0) == epoch)
			n++;
	}
	(void)sqlite3_finalize(s);
	*ret = n;
	return store_errno(code);
}

int
store_notes(struct store *store, FILE *out)
{
	sqlite3_stmt *s = NULL;
	int code;

	code = sqlite3_prepare_v2(store->db,
	    "SELECT note FROM cp WHERE size IN (SELECT max(size) FROM cp GROUP BY epoch) "
	    "ORDER BY size",
	    -1, &s, NULL);
	if (code != SQLITE_OK)
		return store_errno(code);
	while ((code = sqlite3_step(s)) == SQLITE_ROW)
		fprintf(out, "%s\n", (const char *)sqlite3_column_text(s, 0));
	(void)sqlite3_finalize(s);
	return store_errno(code);
}
