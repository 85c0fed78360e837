/*
 * A log of four epochs, changed in every way that its owner's account and its
 * keys of today allow.  Each change is made to a copy, after the copy was found
 * intact, so each detection has its control.
 *
 *	record	0	genesis		epoch 0
 *		1-150	exec
 *		151	end
 *		152	open		epoch 1
 *		153-302	exec
 *		303	end
 *		304	open		epoch 2
 *		305-454	exec
 *		455	end
 *		456	open		epoch 3, its key still there
 *		457-606	exec		the recorder was killed
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "tests/unit/audit_forge.h"

#define SESSIONS 4
#define EACH     150
#define ALL      607

static struct fixture *log_;
static int slot; /* of the key of epoch 3 */
static char said[2048], kept[160];

static void
one_session(int i)
{
	char name[32];
	struct report *report;
	uint64_t number = 0;
	struct event e;
	pid_t pid;

	(void)snprintf(name, sizeof(name), "session-%d", i);
	report = writer_open(log_, name);
	for (int k = 0; k < EACH; k++) {
		make_event(&e, k % 3 == 0 ? "github" : "files", (uint64_t)k);
		assert_int_equal(report_send(report, &e, EVENT_FLOW, &number), 0);
		if (k % 50 == 49)
			assert_int_equal(report_wait(report, number, WAIT_MS), 0);
	}
	assert_int_equal(recorders(&pid), 1);
	assert_int_equal(kill(pid, i == SESSIONS - 1 ? SIGKILL : SIGTERM), 0);
	assert_true(recorders_gone(4000));
	report_free(report);
}

static int
make_log(void **state)
{
	char path[160];
	FILE *f;

	log_ = fixture_new();
	assert_int_equal(mkdir(log_->log, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/audit.conf", log_->log);
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fputs("# one epoch for each session\nepoch 3600\nheartbeat 3600\n", f);
	assert_int_equal(fclose(f), 0);
	for (int i = 0; i < SESSIONS; i++)
		one_session(i);
	/* the write-ahead log into the database: one file to copy */
	forge_sql(log_->db, "PRAGMA wal_checkpoint(TRUNCATE)");
	(void)snprintf(path, sizeof(path), "%s-wal", log_->db);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s-shm", log_->db);
	(void)unlink(path);
	assert_int_equal(ask_number(log_->db, "SELECT count(*) FROM rec"), ALL);
	slot = (SESSIONS - 1) % 2;
	(void)snprintf(kept, sizeof(kept), "%s/copy.db", log_->root);
	return 0;
}

static int
drop_log(void **state)
{
	(void)unlink(kept);
	fixture_free(log_);
	return 0;
}

static long
first_bad(void)
{
	const char *at = strstr(said, "\"first_bad\":");

	return at != NULL ? atol(at + 12) : -1;
}

#define SOME (-2) /* some record, by the checkpoint before it */
#define NONE (-1)

/* Texts that are as long as what they replace. */
#define GOT(where) \
	"UPDATE rec SET body = CAST(replace(CAST(body AS TEXT), 'usr/bin/git', " \
	"'usr/bin/got') AS BLOB) WHERE " where
#define CUT(idx) \
	"DELETE FROM rec WHERE idx >= " #idx "; DELETE FROM cp WHERE size > " #idx ";"

static const struct tamper {
	const char *what;
	const char *sql;
	enum forge how;
	int status;
	long bad;
	const char *why;
} tamper[] = {
    /* records */
    {"edit a body", GOT("idx = 123"), 0, 1, 123, "hash"},
    {"edit the first",
	"UPDATE rec SET body = CAST(replace(CAST(body AS TEXT), "
	"'\"period\":3600', '\"period\":9600') AS BLOB) WHERE idx = 0",
	0, 1, 0, "hash"},
    {"edit one that no tile holds yet", GOT("idx = 600"), 0, 1, SOME, "the signed root"},
    {"edit, and all hashes again", GOT("idx = 310"), FORGE_TREE, 1, SOME, "not signed"},
    {"edit, hashes again, signed by the keys of today", GOT("idx = 310"), FORGE_SIGNED, 1,
	SOME, "not signed by the epoch's key"},
    {"delete one", "DELETE FROM rec WHERE idx = 77", 0, 1, 77, "missing"},
    {"delete the first", "DELETE FROM rec WHERE idx = 0", 0, 1, 0, "missing"},
    {"delete the last", "DELETE FROM rec WHERE idx = 606", 0, 1, 606, "missing"},
    {"delete many", "DELETE FROM rec WHERE idx BETWEEN 200 AND 299", 0, 1, 200,
	"missing"},
    {"insert behind the end",
	"INSERT INTO rec SELECT 607, ts, kind, server, session, tool, verdict, rule, "
	"writer, 9999, body FROM rec WHERE idx = 606",
	0, 1, 607, "no checkpoint covers"},
    {"insert with a negative number",
	"INSERT INTO rec SELECT -1, ts, kind, server, session, tool, verdict, rule, "
	"writer, 9999, body FROM rec WHERE idx = 606",
	0, 1, NONE, "no number"},
    {"reorder two",
	"UPDATE rec SET idx = -9 WHERE idx = 10; UPDATE rec SET idx = 10 WHERE idx = 11; "
	"UPDATE rec SET idx = 11 WHERE idx = -9",
	0, 1, 10, "number"},
    {"reorder two and their numbers",
	"UPDATE rec SET idx = -9 WHERE idx = 10; UPDATE rec SET idx = 10, body = "
	"CAST(replace(CAST(body AS TEXT), '\"idx\":11,', '\"idx\":10,') AS BLOB) WHERE "
	"idx = 11; UPDATE rec SET idx = 11, body = CAST(replace(CAST(body AS TEXT), "
	"'\"idx\":10,', '\"idx\":11,') AS BLOB) WHERE idx = -9",
	0, 1, 10, "hash"},
    {"move the last away", "UPDATE rec SET idx = 900 WHERE idx = 606", 0, 1, 606,
	"missing"},
    {"an empty body", "UPDATE rec SET body = zeroblob(0) WHERE idx = 13", 0, 1, 13,
	"size"},
    {"a huge body", "UPDATE rec SET body = zeroblob(100000) WHERE idx = 14", 0, 1, 14,
	"size"},
    {"not our JSON", "UPDATE rec SET body = CAST('{\"v\":2 }' AS BLOB) WHERE idx = 15", 0,
	1, 15, "not written by kennel"},
    {"a writer speaks for the recorder",
	"UPDATE rec SET kind = 'end', body = CAST(replace(CAST(body AS TEXT), "
	"'\"kind\":\"exec\"', '\"kind\":\"end\"') AS BLOB) WHERE idx = 16",
	0, 1, 16, "only the recorder"},
    /* columns */
    {"lie in kind", "UPDATE rec SET kind = 'call' WHERE idx = 5", 0, 1, 5, "kind"},
    {"lie in server", "UPDATE rec SET server = 'x' WHERE idx = 6", 0, 1, 6, "server"},
    {"hide a server", "UPDATE rec SET server = NULL WHERE idx = 6", 0, 1, 6, "server"},
    {"lie in verdict", "UPDATE rec SET verdict = 'allow' WHERE idx = 8", 0, 1, 8,
	"verdict"},
    {"lie in session", "UPDATE rec SET session = 's' WHERE idx = 9", 0, 1, 9, "session"},
    {"lie in tool", "UPDATE rec SET tool = 'read' WHERE idx = 9", 0, 1, 9, "tool"},
    {"lie in rule", "UPDATE rec SET rule = 'other:1' WHERE idx = 9", 0, 1, 9, "rule"},
    {"lie in ts", "UPDATE rec SET ts = 1 WHERE idx = 10", 0, 1, 10, "ts"},
    {"lie in writer", "UPDATE rec SET writer = 'ff' WHERE idx = 11", 0, 1, 11, "writer"},
    {"lie in wseq", "UPDATE rec SET wseq = 99999 WHERE idx = 12", 0, 1, 12, "wseq"},
    /* the end */
    {"cut the records off", "DELETE FROM rec WHERE idx >= 400", 0, 1, 400, "missing"},
    {"cut with the checkpoints, not the tiles", CUT(152), 0, 1, NONE,
	"some tiles belong to records that do not exist"},
    {"cut within an epoch, and signed by the key of today",
	CUT(354) "INSERT INTO cp SELECT 354, 2, note FROM cp WHERE size = 304",
	FORGE_SIGNED, 1, SOME, "not signed by the epoch's key"},
    {"cut back to an earlier end, nothing else left", CUT(304), FORGE_TREE, 2, NONE,
	"stale"},
    {"cut back to the middle of the first epoch",
	"DELETE FROM rec WHERE idx >= (SELECT min(size) FROM cp WHERE size > 20); "
	"DELETE FROM cp WHERE size > (SELECT min(size) FROM cp WHERE size > 20);",
	FORGE_TREE, 2, NONE, "stale"},
    /* checkpoints */
    {"swap the last checkpoint",
	"UPDATE cp SET note = (SELECT note FROM cp WHERE size < 607 ORDER BY size DESC "
	"LIMIT 1) WHERE size = 607",
	0, 1, SOME, "the signed root"},
    {"drop the last checkpoint", "DELETE FROM cp WHERE size = 607", 0, 1, SOME,
	"no checkpoint covers"},
    {"drop all checkpoints", "DELETE FROM cp", 0, 1, 0, "no checkpoint covers"},
    {"drop an epoch's last checkpoint", "DELETE FROM cp WHERE size = 152", 0, 1, 151,
	"ends its epoch"},
    {"a checkpoint of more than there is",
	"INSERT INTO cp SELECT 700, epoch, replace(note, '607', '700') FROM cp WHERE "
	"size = 607",
	0, 1, 607, "missing"},
    {"a checkpoint of nothing", "INSERT INTO cp SELECT 0, 0, note FROM cp LIMIT 1", 0, 1,
	SOME, "out of order"},
    {"a signature of another record's checkpoint",
	"UPDATE cp SET note = substr(note, 1, instr(note, char(10) || char(10))) || "
	"(SELECT substr(note, instr(note, char(10) || char(10)) + 1) FROM cp WHERE size "
	"= "
	"607) WHERE size = 1",
	0, 1, 0, "not signed"},
    {"without the origin's signature",
	"UPDATE cp SET note = substr(note, 1, instr(note, char(10) || char(10)) + 1) || "
	"substr(note, instr(note, '\xe2\x80\x94 ' || (SELECT v FROM meta WHERE k = "
	"'origin') || '/epoch')) WHERE size = 304",
	0, 1, 303, "not signed by the origin's key"},
    {"a checkpoint said to be of another epoch",
	"UPDATE cp SET epoch = 2 WHERE size = 304", 0, 1, 303, "another epoch"},
    {"no note at all", "UPDATE cp SET note = 'x' WHERE size = 152", 0, 1, SOME, "root"},
    /* epochs and keys */
    {"a newer key for an older epoch: its announcement too",
	"UPDATE rec SET body = CAST(replace(CAST(body AS TEXT), '/epoch/1+', "
	"'/epoch/3+') "
	"AS BLOB) WHERE idx = 151",
	FORGE_SIGNED, 1, 151, "not the next"},
    {"skip an epoch",
	"UPDATE rec SET body = CAST(replace(replace(CAST(body AS TEXT), '\"epoch\":2', "
	"'\"epoch\":3'), '/epoch/2+', '/epoch/3+') AS BLOB) WHERE idx = 303",
	FORGE_SIGNED, 1, 303, "not the next"},
    {"begin twice",
	"UPDATE rec SET kind = 'genesis', body = CAST(replace(CAST(body AS TEXT), "
	"'\"kind\":\"open\"', '\"kind\":\"genesis\"') AS BLOB) WHERE idx = 152",
	FORGE_SIGNED, 1, 152, "begins twice"},
    {"an unclean start made clean",
	"UPDATE rec SET body = CAST(replace(CAST(body AS TEXT), '\"outcome\":\"clean\"', "
	"'\"outcome\":\"unclean\"') AS BLOB) WHERE idx = 304",
	FORGE_SIGNED, 1, 304, "to follow no end"},
    /* clocks */
    {"the clock forward, unsaid",
	"UPDATE rec SET ts = ts + 7000000000, body = CAST(replace(CAST(body AS TEXT), "
	"'\"ts\":' || ts, '\"ts\":' || (ts + 7000000000)) AS BLOB) WHERE idx = 303",
	FORGE_SIGNED, 1, 303, "two clocks"},
    {"a record of the future",
	"UPDATE rec SET body = CAST(replace(CAST(body AS TEXT), '\"boot\":', "
	"'\"boot\":999') AS BLOB) WHERE idx = 250",
	FORGE_SIGNED, 1, 303, "older than a record"},
    /* tiles, the name */
    {"edit a tile", "UPDATE tile SET h = zeroblob(8192) WHERE level = 0 AND n = 1", 0, 1,
	256, "the one in its tile"},
    {"edit a tile's root", "UPDATE tile SET root = zeroblob(32) WHERE n = 1", 0, 1, 256,
	"root"},
    {"drop a tile", "DELETE FROM tile WHERE n = 0", 0, 1, 0, "tile is missing"},
    {"a tile too many", "INSERT INTO tile SELECT 1, 0, root, h FROM tile WHERE n = 0", 0,
	1, NONE, "some tiles belong"},
    {"another origin", "UPDATE meta SET v = 'x' || v WHERE k = 'origin'", 0, 1, 0,
	"another log"},
    {"another base", "UPDATE meta SET v = '5' WHERE k = 'base'", 0, 1, SOME, ""},
    {"one name more", "INSERT INTO meta VALUES('note', 'x')", 0, 1, NONE, "name"},
};

/* The control and the change of one row. */
static int
one(const struct tamper *t)
{
	int status, wrong = 0;

	copy_file(log_->db, kept);
	forge_sql(kept, t->sql);
	forge(kept, t->how, log_->log, slot);
	status = run_verify(log_, kept, said, sizeof(said));
	if (t->status == 2 && status == 0) /* it is young: not stale yet */
		status = run_verify_old(log_, kept, said, sizeof(said));
	if (status != t->status || strstr(said, t->why) == NULL ||
	    (t->bad == SOME ? first_bad() < 0 : first_bad() != t->bad)) {
		print_error("%s: %d %s", t->what, status, said);
		wrong = 1;
	}
	(void)unlink(kept);
	return wrong;
}

/* K-10, ESCAPES 95, MCP-ATTACKS 49 */
static void
test_tampered(void **state)
{
	int wrong = 0;

	copy_file(log_->db, kept);
	assert_int_equal(run_verify(log_, kept, said, sizeof(said)), 0);
	/* SQL and the guards are nothing by themselves */
	forge_sql(kept, "UPDATE rec SET ts = ts; UPDATE cp SET epoch = epoch");
	forge(kept, FORGE_TREE, log_->log, slot);
	assert_int_equal(run_verify(log_, kept, said, sizeof(said)), 0);
	for (size_t i = 0; i < ARRAY_LEN(tamper); i++)
		wrong += one(&tamper[i]);
	assert_int_equal(wrong, 0);
}

/* Who has all keys of today rewrites the epoch of today: that is what this does
 * not show, unless somebody kept a checkpoint. */
static void
test_stolen_key(void **state)
{
	char anchor[160];
	sqlite3 *db;
	sqlite3_stmt *s;
	FILE *f;

	copy_file(log_->db, kept);
	(void)snprintf(anchor, sizeof(anchor), "%s/kept.note", log_->root);
	db = forge_open(kept);
	assert_int_equal(
	    sqlite3_prepare_v2(db, "SELECT note FROM cp WHERE size = 607", -1, &s, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	f = fopen(anchor, "w");
	(void)fputs((const char *)sqlite3_column_text(s, 0), f);
	assert_int_equal(fclose(f), 0);
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(db);
	assert_int_equal(
	    verify_with(log_, "--anchor", anchor, kept, said, sizeof(said)), 0);
	forge_sql(kept, GOT("idx = 500"));
	/* only those of this epoch are signed again: the others still hold */
	forge_sql(kept, "CREATE TEMP TABLE x AS SELECT 1");
	forge_epoch(kept, log_->log, slot, 3);
	assert_int_equal(run_verify(log_, kept, said, sizeof(said)), 0);
	assert_int_equal(
	    verify_with(log_, "--anchor", anchor, kept, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "kept checkpoint"));
	/* cut back behind the kept checkpoint, young enough to pass for all */
	copy_file(log_->db, kept);
	forge_sql(kept, CUT(304));
	forge(kept, FORGE_TREE, log_->log, slot);
	assert_int_equal(
	    verify_with(log_, "--anchor", anchor, kept, said, sizeof(said)), 1);
	assert_int_equal(first_bad(), 304);
	(void)unlink(anchor);
	(void)unlink(kept);
}

/* Another log in its place: whole, signed, and not the one that was meant. */
static void
test_another_log(void **state)
{
	char vkey[NOTE_VKEY_MAX + 2], path[160];
	struct fixture *other = fixture_new();
	struct report *report = writer_open(other, "s");
	FILE *f;

	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	report_free(report);
	assert_true(recorders_gone(4000));
	(void)snprintf(path, sizeof(path), "%s/origin.vkey", log_->log);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(vkey, sizeof(vkey), f));
	(void)fclose(f);
	vkey[strcspn(vkey, "\n")] = '\0';
	assert_int_equal(
	    verify_with(log_, "--key", vkey, log_->db, said, sizeof(said)), 0);
	assert_int_equal(
	    verify_with(other, "--key", vkey, other->db, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "not the given one"));
	fixture_free(other);
}

/* What is left of the schema's own guards: dropped, replaced, added. */
static const struct {
	const char *what, *sql, *why;
} schema_tamper[] = {
    {"drop a trigger", "DROP TRIGGER rec_no_update", "rec_no_delete"},
    {"drop the last trigger", "DROP TRIGGER meta_no_delete", "meta_no_delete"},
    {"a trigger that does nothing",
	"DROP TRIGGER meta_no_delete; CREATE TRIGGER meta_no_delete BEFORE DELETE ON "
	"meta BEGIN SELECT 1; END",
	"meta_no_delete"},
    {"one more index", "CREATE INDEX hide ON rec(kind) WHERE verdict <> 'deny'", "hide"},
    {"one more view", "CREATE VIEW denials AS SELECT 1", "denials"},
    {"one more table", "CREATE TABLE \"a\x1b[2Jb\"(x)", "x1b"},
    {"statistics", "ANALYZE", "sqlite_stat1"},
    {"drop an index", "DROP INDEX rec_server", "rec_tool"},
    {"a view for a table",
	"DROP TABLE meta; CREATE VIEW meta AS SELECT 'format' AS k, 'x' AS v", ""},
    {"rename", "ALTER TABLE rec RENAME TO old; CREATE VIEW rec AS SELECT * FROM old", ""},
};

static void
test_schema(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(schema_tamper); i++) {
		int status;

		copy_file(log_->db, kept);
		forge_sql(kept, schema_tamper[i].sql);
		status = run_verify(log_, kept, said, sizeof(said));
		if (status != 1 || strstr(said, "schema") == NULL ||
		    strstr(said, schema_tamper[i].why) == NULL)
			fail_msg("%s: %d %s", schema_tamper[i].what, status, said);
		/* an escape sequence in a name is not passed on */
		assert_null(strchr(said, 0x1b));
		(void)unlink(kept);
	}
}

/* A row is taken out of an index only, or put into it twice: queries would not
 * see what is there.  The guards of SQLite are taken off for it. */
static void
test_hidden_from_index(void **state)
{
	static const char *const sql[] = {
	    /* the index made again over other rows, and called what it was */
	    "PRAGMA writable_schema=ON; "
	    "CREATE INDEX x ON rec(ts) WHERE verdict <> 'allow' AND idx <> 8; "
	    "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema "
	    "WHERE "
	    "name = 'x') WHERE name = 'rec_denied'; "
	    "DELETE FROM sqlite_schema WHERE name = 'x'",
	    "PRAGMA writable_schema=ON; "
	    "CREATE INDEX x ON rec(server, ts) WHERE server = 'github'; "
	    "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema "
	    "WHERE "
	    "name = 'x') WHERE name = 'rec_server'; "
	    "DELETE FROM sqlite_schema WHERE name = 'x'",
	    "PRAGMA writable_schema=ON; "
	    "CREATE INDEX x ON rec(kind, ts) WHERE kind = 'open'; "
	    "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema "
	    "WHERE "
	    "name = 'x') WHERE name = 'rec_rare'; "
	    "DELETE FROM sqlite_schema WHERE name = 'x'",
	};

	for (size_t i = 0; i < ARRAY_LEN(sql); i++) {
		copy_file(log_->db, kept);
		forge_sql(kept, sql[i]);
		assert_int_equal(run_verify(log_, kept, said, sizeof(said)), 1);
		if (strstr(said, "the index rec_") == NULL)
			fail_msg("%s", said);
		(void)unlink(kept);
	}
}

/* ---- inner pages ---------------------------------------------------------------- */

/* The cells of rec's first page, which is an inner one: where each one's key lies in
 * the file, two bytes long (numbers of 128 and more). */
static size_t
inner_keys(long *ret_at, size_t cap)
{
	long page = 0, size;
	size_t n = 0;
	uint8_t b[8];
	FILE *f;

	page = ask_number(kept, "SELECT rootpage FROM sqlite_schema WHERE name = 'rec'");
	f = fopen(kept, "r");
	assert_non_null(f);
	assert_int_equal(fseek(f, 16, SEEK_SET), 0);
	assert_int_equal(fread(b, 1, 2, f), 2);
	size = b[0] << 8 | b[1];
	page = (page - 1) * size;
	assert_int_equal(fseek(f, page, SEEK_SET), 0);
	assert_int_equal(fread(b, 1, 5, f), 5);
	assert_int_equal(b[0], 5); /* inner, of a table */
	for (int i = 0; i < (b[3] << 8 | b[4]) && n < cap; i++) {
		uint8_t at[2], key[6];

		assert_int_equal(fseek(f, page + 12 + 2 * (long)i, SEEK_SET), 0);
		assert_int_equal(fread(at, 1, 2, f), 2);
		ret_at[n] = page + (at[0] << 8 | at[1]) + 4;
		assert_int_equal(fseek(f, ret_at[n] - 4, SEEK_SET), 0);
		assert_int_equal(fread(key, 1, 6, f), 6);
		n += (key[4] & 0x80) != 0 && (key[5] & 0x80) == 0;
	}
	(void)fclose(f);
	return n;
}

static void
lie_in_key(long at, int by)
{
	FILE *f = fopen(kept, "r+");
	uint8_t b[2];
	int key;

	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_int_equal(fread(b, 1, 2, f), 2);
	key = ((b[0] & 0x7f) << 7 | b[1]) + by;
	b[0] = (uint8_t)(0x80 | key >> 7);
	b[1] = key & 0x7f;
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_int_equal(fwrite(b, 1, 2, f), 2);
	assert_int_equal(fclose(f), 0);
}

/* The first record that nobody finds who asks for it; -1: none.  A scan shows all. */
static long
first_hidden(void)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	long hidden = -1;

	assert_int_equal(ask_number(kept, "SELECT count(*) FROM rec NOT INDEXED"), ALL);
	assert_int_equal(sqlite3_open(kept, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
			     "SELECT 1 FROM rec NOT INDEXED WHERE idx = ?", -1, &s, NULL),
	    SQLITE_OK);
	for (long i = 0; hidden < 0 && i < ALL; i++) {
		(void)sqlite3_bind_int64(s, 1, i);
		if (sqlite3_step(s) != SQLITE_ROW)
			hidden = i;
		(void)sqlite3_reset(s);
	}
	(void)sqlite3_finalize(s);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return hidden;
}

/* A page says of those below it what is not so: a scan goes on as ever, and who asks
 * for one record does not find it.  (K-10, ESCAPES 95) */
static void
test_hidden_by_inner_page(void **state)
{
	/* the last of a page, most of it, some of the next, far away */
	static const int by[] = {-1, -5, 1, 4, -128, 128};
	long at[128];
	size_t n, hid = 0;

	copy_file(log_->db, kept);
	assert_int_equal(first_hidden(), -1);
	n = inner_keys(at, ARRAY_LEN(at));
	assert_true(n > 20);
	for (size_t i = 0; i < n; i += 4) {
		long hidden;
		int status;

		lie_in_key(at[i], by[i / 4 % 6]);
		hidden = first_hidden();
		status = run_verify(log_, kept, said, sizeof(said));
		hid += hidden >= 0;
		if (status != (hidden >= 0) || first_bad() != hidden)
			fail_msg("%ld is hidden: %d %s", hidden, status, said);
		lie_in_key(at[i], -by[i / 4 % 6]);
	}
	assert_true(hid >= 3);
	assert_int_equal(run_verify(log_, kept, said, sizeof(said)), 0);
	(void)unlink(kept);
}

/* The old version is named, not guessed at. */
static void
test_version_1(void **state)
{
	copy_file(log_->db, kept);
	forge_sql(kept, "PRAGMA user_version=1");
	assert_int_equal(run_verify(log_, kept, said, sizeof(said)), 3);
	assert_non_null(strstr(said, "version 1"));
	(void)unlink(kept);
}

/* How old a last word may be, and what an end is worth. */
static void
test_fresh(void **state)
{
	char recent[32];

	(void)snprintf(recent, sizeof(recent), "%lld", (long long)time(NULL) + 3600);
	assert_int_equal(run_verify(log_, log_->db, said, sizeof(said)), 0);
	/* within two heartbeats of the log's own period, an hour */
	assert_int_equal(
	    verify_with(log_, "--now", recent, log_->db, said, sizeof(said)), 0);
	assert_int_equal(run_verify_old(log_, log_->db, said, sizeof(said)), 2);
	assert_non_null(strstr(said, "stale"));
	copy_file(log_->db, kept);
	forge_sql(kept, CUT(304));
	forge(kept, FORGE_TREE, log_->log, slot);
	assert_int_equal(run_verify_old(log_, kept, said, sizeof(said)), 2);
	assert_non_null(strstr(said, "ended"));
	/* the operator says that it was stopped */
	assert_int_equal(verify_old_stopped(log_, kept, said, sizeof(said)), 0);
	/* but an end that is none stays none */
	assert_int_equal(verify_old_stopped(log_, log_->db, said, sizeof(said)), 2);
	(void)unlink(kept);
}

/* The epoch's key is lost: the log goes on, and every verifier says so. */
static void
test_key_lost(void **state)
{
	struct fixture *f = fixture_new();
	struct report *report = writer_open(f, "s");
	char path[160];

	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	report_free(report);
	assert_true(recorders_gone(4000));
	assert_intact(f);
	(void)snprintf(path, sizeof(path), "%s/audit.key", f->log);
	assert_int_equal(unlink(path), 0);
	report = writer_open(f, "s");
	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	report_free(report);
	assert_true(recorders_gone(4000));
	assert_int_equal(run_verify(f, f->log, said, sizeof(said)), 2);
	assert_non_null(strstr(said, "broken at record"));
	assert_non_null(strstr(said, "\"breaks\":1"));
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tampered),
	    cmocka_unit_test(test_stolen_key),
	    cmocka_unit_test(test_another_log),
	    cmocka_unit_test(test_schema),
	    cmocka_unit_test(test_hidden_from_index),
	    cmocka_unit_test(test_hidden_by_inner_page),
	    cmocka_unit_test(test_version_1),
	    cmocka_unit_test(test_fresh),
	    cmocka_unit_test(test_key_lost),
	};

	return cmocka_run_group_tests(tests, make_log, drop_log);
}
