/*
 * What somebody does who can write the database: SQL without the guards, and,
 * with the keys that lie beside it, a new tree and new checkpoints.
 */
#ifndef KENNEL_TESTS_UNIT_AUDIT_FORGE_H
#define KENNEL_TESTS_UNIT_AUDIT_FORGE_H

#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/log/sign_key.h"
#include "supervisor/audit/log/signed_note.h"
#include "supervisor/audit/recorder/startup.h"
#include "tests/unit/audit_fixture.h"

enum forge {
	FORGE_NOTHING,
	FORGE_TREE,  /* all hashes again; the signatures stay */
	FORGE_SIGNED /* and signed again, with the keys of today */
};

static inline void
copy_file(const char *from, const char *to)
{
	char *bytes = NULL;
	long len;
	FILE *f = fopen(from, "rb");

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	len = ftell(f);
	rewind(f);
	bytes = malloc((size_t)len + 1);
	assert_int_equal(fread(bytes, 1, (size_t)len, f), len);
	(void)fclose(f);
	f = fopen(to, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, (size_t)len, f), len);
	assert_int_equal(fclose(f), 0);
	free(bytes);
}

static inline sqlite3 *
forge_open(const char *path)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	/* the guards are no obstacle to who can write the file */
	assert_int_equal(
	    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL), SQLITE_OK);
	return db;
}

static inline void
forge_sql(const char *path, const char *sql)
{
	sqlite3 *db = forge_open(path);
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The rows in a file of their own, made as a recorder makes it: no free page, nothing
 * that belongs to no table.  Who can write the file can do that too. */
static inline void
forge_tidy(const char *path)
{
	static const char *const table[] = {"rec", "tile", "cp", "meta"};
	char fresh[200], sql[400];

	(void)snprintf(fresh, sizeof(fresh), "%s.tidy", path);
	forge_sql(fresh, "PRAGMA journal_mode=WAL");
	for (size_t i = 0; i < schema_rows; i++)
		forge_sql(fresh, schema_row[i].sql);
	(void)snprintf(sql, sizeof(sql),
	    "PRAGMA user_version=%d; PRAGMA application_id=%d; ATTACH '%s' AS old; BEGIN",
	    SCHEMA_VERSION, SCHEMA_APPLICATION, path);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		(void)snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql),
		    "; INSERT INTO %s SELECT * FROM old.%s", table[i], table[i]);
	(void)strcat(sql, "; COMMIT");
	forge_sql(fresh, sql);
	assert_int_equal(rename(fresh, path), 0);
}

struct forger {
	sqlite3 *db;
	sqlite3_stmt *tile;
	struct key *origin, *epoch; /* NULL: not used */
	int64_t only;               /* checkpoints of this epoch; -1: all */
	char name[NOTE_NAME_MAX];
	struct merkle_tiles tree;
};

static inline int
forge_tile(void *arg, unsigned int level, uint64_t n, const uint8_t root[MERKLE_HASH_LEN],
    const uint8_t tile[TILE_LEN])
{
	struct forger *f = arg;

	(void)sqlite3_bind_int(f->tile, 1, (int)level);
	(void)sqlite3_bind_int64(f->tile, 2, (sqlite3_int64)n);
	(void)sqlite3_bind_blob(f->tile, 3, root, MERKLE_HASH_LEN, SQLITE_TRANSIENT);
	(void)sqlite3_bind_blob(f->tile, 4, tile, (int)TILE_LEN, SQLITE_TRANSIENT);
	assert_int_equal(sqlite3_step(f->tile), SQLITE_DONE);
	(void)sqlite3_reset(f->tile);
	return 0;
}

/* The checkpoint of this size over the tree as it is now. */
static inline void
forge_cp(struct forger *f)
{
	struct checkpoint cp = {.size = f->tree.chain.size};
	char note[NOTE_MAX], name[NOTE_NAME_MAX];
	sqlite3_stmt *get, *set;
	struct vkey vkey;
	const char *old;
	uint64_t epoch;
	size_t len, text_len;

	assert_int_equal(sqlite3_prepare_v2(f->db,
			     "SELECT epoch, note FROM cp WHERE size = ?", -1, &get, NULL),
	    SQLITE_OK);
	(void)sqlite3_bind_int64(get, 1, (sqlite3_int64)cp.size);
	if (sqlite3_step(get) == SQLITE_ROW) {
		epoch = (uint64_t)sqlite3_column_int64(get, 0);
		old = (const char *)sqlite3_column_text(get, 1);
		if (f->only >= 0 && (uint64_t)f->only != epoch) {
			(void)sqlite3_finalize(get);
			return;
		}
		(void)snprintf(cp.origin, sizeof(cp.origin), "%s", f->name);
		merkle_root(&f->tree.chain, cp.root);
		text_len = len = checkpoint_put(&cp, note, sizeof(note));
		if (f->origin == NULL) {
			(void)snprintf(note + len, sizeof(note) - len, "%s",
			    strstr(old, "\n\n") + 1);
		} else {
			(void)vkey_make(
			    f->name, NOTE_ED25519, key_public(f->origin), &vkey);
			(void)note_sign(
			    note, sizeof(note), text_len, &len, &vkey, f->origin);
			(void)snprintf(name, sizeof(name), "%s/epoch/%llu", f->name,
			    (unsigned long long)epoch);
			(void)vkey_make(name, NOTE_ED25519, key_public(f->epoch), &vkey);
			(void)note_sign(
			    note, sizeof(note), text_len, &len, &vkey, f->epoch);
		}
		assert_int_equal(
		    sqlite3_prepare_v2(
			f->db, "UPDATE cp SET note = ? WHERE size = ?", -1, &set, NULL),
		    SQLITE_OK);
		(void)sqlite3_bind_text(set, 1, note, -1, SQLITE_TRANSIENT);
		(void)sqlite3_bind_int64(set, 2, (sqlite3_int64)cp.size);
		assert_int_equal(sqlite3_step(set), SQLITE_DONE);
		(void)sqlite3_finalize(set);
	}
	(void)sqlite3_finalize(get);
}

/* A key as it lies in a file: its seed is the first of each slot. */
static inline struct key *
steal(const char *path, int slot)
{
	struct key *key = NULL;
	uint8_t seed[KEY_LEN];
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fseek(f, slot * 64L, SEEK_SET), 0);
	assert_int_equal(fread(seed, 1, sizeof(seed), f), sizeof(seed));
	(void)fclose(f);
	assert_int_equal(key_from_seed(seed, &key), 0);
	return key;
}

/* log: the folder with the keys.  slot: where the epoch's key lies. */
static inline void
forge_only(const char *path, enum forge how, const char *log, int slot, int64_t only)
{
	static struct forger f;
	char file[160];
	sqlite3_stmt *rec = NULL, *name = NULL;

	if (how == FORGE_NOTHING)
		return;
	memset(&f, 0, sizeof(f));
	f.only = only;
	f.db = forge_open(path);
	if (how == FORGE_SIGNED) {
		(void)snprintf(file, sizeof(file), "%s/origin.key", log);
		f.origin = steal(file, 0);
		(void)snprintf(file, sizeof(file), "%s/audit.key", log);
		f.epoch = steal(file, slot);
	}
	assert_int_equal(
	    sqlite3_exec(f.db, "BEGIN; DELETE FROM tile", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(f.db, "SELECT v FROM meta WHERE k = 'origin'",
			     -1, &name, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_step(name), SQLITE_ROW);
	(void)snprintf(f.name, sizeof(f.name), "%s", sqlite3_column_text(name, 0));
	(void)sqlite3_finalize(name);
	assert_int_equal(sqlite3_prepare_v2(f.db, "INSERT INTO tile VALUES(?, ?, ?, ?)",
			     -1, &f.tile, NULL),
	    SQLITE_OK);
	assert_int_equal(
	    sqlite3_prepare_v2(f.db, "SELECT body FROM rec ORDER BY idx", -1, &rec, NULL),
	    SQLITE_OK);
	while (sqlite3_step(rec) == SQLITE_ROW) {
		uint8_t leaf[MERKLE_HASH_LEN];

		merkle_leaf(sqlite3_column_blob(rec, 0),
		    (size_t)sqlite3_column_bytes(rec, 0), leaf);
		(void)tiles_append(&f.tree, leaf, forge_tile, &f);
		forge_cp(&f);
	}
	(void)sqlite3_finalize(rec);
	(void)sqlite3_finalize(f.tile);
	assert_int_equal(sqlite3_exec(f.db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(f.db), SQLITE_OK);
	key_free(f.origin);
	key_free(f.epoch);
	forge_tidy(path);
}

static inline void
forge(const char *path, enum forge how, const char *log, int slot)
{
	forge_only(path, how, log, slot, -1);
}

static inline void
forge_epoch(const char *path, const char *log, int slot, int64_t epoch)
{
	forge_only(path, FORGE_SIGNED, log, slot, epoch);
}

#endif
