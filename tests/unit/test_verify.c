/*
 * kennel-verify against a log that somebody edited, and the log read back.
 * Every tamper works on a copy of one good log; the copy is verified before it
 * is touched, so each detection has its control.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "supervisor/audit/inside.h"
#include "tests/unit/audit_fixture.h"

#define RECORDS 600 /* two nodes, and some leaves beside them */

static struct fixture *log_; /* one good log for all tests */

static void
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

static int
make_log(void **state)
{
	struct report *report;
	uint64_t number = 0;
	struct event e;

	log_ = fixture_new();
	report = writer_open(log_, "session-1");
	for (int i = 0; i < RECORDS; i++) {
		make_event(&e, i % 3 == 0 ? "github" : "files", (uint64_t)i);
		assert_int_equal(report_send(report, &e, EVENT_FLOW, &number), 0);
		if (i % 50 == 49) /* twelve checkpoints, or more */
			assert_int_equal(report_wait(report, number, WAIT_MS), 0);
	}
	report_free(report);
	assert_true(recorders_gone(4000));
	return 0;
}

static int
drop_log(void **state)
{
	fixture_free(log_);
	return 0;
}

/* ---- tampering ------------------------------------------------------------------ */

#define FREE \
	"DROP TRIGGER rec_no_update; DROP TRIGGER rec_no_delete;" \
	"DROP TRIGGER cp_no_update; DROP TRIGGER cp_no_delete;" \
	"DROP TRIGGER node_no_update; DROP TRIGGER node_no_delete;"
/* A new hash for the edited body: kennel's own leaf hash, as a function. */
#define REHASH "UPDATE rec SET leaf = leaf_hash(body)"

static const struct {
	const char *what;
	const char *sql;
	long bad;        /* the record that must be named; -1: none */
	const char *why; /* what must be said */
} tamper[] = {
    {"edit a body",
	"UPDATE rec SET body = CAST(replace(CAST(body AS TEXT), 'git', 'got') "
	"AS BLOB) WHERE idx = 123",
	123, "hash"},
    {"edit the first",
	"UPDATE rec SET body = CAST(replace(CAST(body AS TEXT), 'git', "
	"'got') AS BLOB) WHERE idx = 0",
	0, "hash"},
    {"edit and hash again",
	"UPDATE rec SET body = CAST(replace(CAST(body AS TEXT), 'usr/bin/git', "
	"'usr/bin/got') AS BLOB) WHERE idx = 310; " REHASH,
	-2, "another root"},
    {"edit below a node, hash again",
	"UPDATE rec SET body = CAST(replace(CAST(body AS TEXT), 'usr/bin/git', "
	"'usr/bin/got') AS BLOB) WHERE idx = 3; DELETE FROM cp WHERE size < 300; " REHASH,
	0, "node"},
    {"delete a row", "DELETE FROM rec WHERE idx = 77", 77, "missing"},
    {"delete the first", "DELETE FROM rec WHERE idx = 0", 0, "missing"},
    {"delete the last", "DELETE FROM rec WHERE idx = 599", 599, "missing"},
    {"truncate", "DELETE FROM rec WHERE idx >= 400", 400, "missing"},
    {"truncate with its checkpoints, not its nodes",
	"DELETE FROM rec WHERE idx >= (SELECT min(size) FROM cp WHERE size > 200); "
	"DELETE FROM cp WHERE size > (SELECT min(size) FROM cp WHERE size > 200)",
	-1, "nodes of records that do not exist"},
    {"insert behind the end",
	"INSERT INTO rec SELECT 600, ts, kind, server, session, verdict, writer, 601, "
	"body, leaf FROM rec WHERE idx = 599",
	600, ""},
    {"insert with a negative number",
	"INSERT INTO rec SELECT -1, ts, kind, server, session, verdict, writer, 601, "
	"body, leaf FROM rec WHERE idx = 599",
	0, ""},
    {"reorder",
	"UPDATE rec SET idx = -9 WHERE idx = 10; UPDATE rec SET idx = 10 WHERE idx = 11; "
	"UPDATE rec SET idx = 11 WHERE idx = -9",
	10, "number"},
    {"move up", "UPDATE rec SET idx = 900 WHERE idx = 599", 599, "missing"},
    {"lie in kind", "UPDATE rec SET kind = 'call' WHERE idx = 5", 5, "kind"},
    {"lie in server", "UPDATE rec SET server = 'x' WHERE idx = 6", 6, "server"},
    {"hide a server", "UPDATE rec SET server = NULL WHERE idx = 6", 6, "server"},
    {"lie in verdict", "UPDATE rec SET verdict = 'allow' WHERE idx = 7", 7, "verdict"},
    {"lie in session", "UPDATE rec SET session = 's' WHERE idx = 8", 8, "session"},
    {"lie in ts", "UPDATE rec SET ts = 1 WHERE idx = 9", 9, "ts"},
    {"lie in writer", "UPDATE rec SET writer = 'ff' WHERE idx = 10", 10, "writer"},
    {"lie in wseq", "UPDATE rec SET wseq = 9999 WHERE idx = 11", 11, "wseq"},
    {"lie in leaf", "UPDATE rec SET leaf = zeroblob(32) WHERE idx = 12", 12, "hash"},
    {"an empty body", "UPDATE rec SET body = zeroblob(0) WHERE idx = 13", 13, "size"},
    {"a huge body", "UPDATE rec SET body = zeroblob(100000) WHERE idx = 14", 14, "size"},
    {"not our JSON",
	"UPDATE rec SET body = CAST('{\"v\":1 }' AS BLOB) WHERE idx = 15; " REHASH, 15,
	"not written by kennel"},
    {"swap a checkpoint",
	"UPDATE cp SET root = zeroblob(32) WHERE size = "
	"(SELECT max(size) FROM cp)",
	-2, "another root"},
    {"drop the last checkpoint", "DELETE FROM cp WHERE size = 600", -2, "no checkpoint"},
    {"drop all checkpoints", "DELETE FROM cp", 0, "no checkpoint"},
    {"a checkpoint too far", "INSERT INTO cp VALUES(700, zeroblob(32), 1)", 600,
	"missing"},
    {"a checkpoint of nothing", "INSERT INTO cp VALUES(0, zeroblob(32), 1)", 0, ""},
    {"edit a node", "UPDATE node SET hash = zeroblob(32) WHERE n = 1", 256, "node"},
    {"drop a node", "DELETE FROM node WHERE n = 0", 0, "node"},
    {"a node too many", "INSERT INTO node VALUES(16, 0, zeroblob(32))", -1, "nodes"},
};

/* What is left of the schema's own guards: dropped, replaced, added. */
static const struct {
	const char *what, *sql, *why;
} schema_tamper[] = {
    {"drop a trigger", "DROP TRIGGER rec_no_update", "rec_no_delete"},
    {"drop the last trigger", "DROP TRIGGER meta_no_delete", "meta_no_delete"},
    {"a trigger that does nothing",
	"DROP TRIGGER meta_no_delete; CREATE TRIGGER meta_no_delete BEFORE DELETE ON "
	"meta "
	"BEGIN SELECT 1; END",
	"meta_no_delete"},
    {"one more index", "CREATE INDEX hide ON rec(kind) WHERE verdict <> 'deny'", "hide"},
    {"one more view", "CREATE VIEW denials AS SELECT 1", "denials"},
    {"one more table", "CREATE TABLE \"a\x1b[2Jb\"(x)", "x1b"},
    {"statistics", "ANALYZE", "sqlite_stat1"},
    {"drop an index", "DROP INDEX rec_server", "node"},
    {"a view for a table",
	"DROP TABLE meta; CREATE VIEW meta AS SELECT 'format' AS k, 'x' AS v", ""},
    {"rename", "ALTER TABLE rec RENAME TO old; CREATE VIEW rec AS SELECT * FROM old", ""},
};

static void
leaf_hash(sqlite3_context *context, int n, sqlite3_value **value)
{
	uint8_t leaf[CHAIN_HASH_LEN];

	chain_leaf(
	    sqlite3_value_blob(value[0]), (size_t)sqlite3_value_bytes(value[0]), leaf);
	sqlite3_result_blob(context, leaf, sizeof(leaf), SQLITE_TRANSIENT);
}

static void
run_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	(void)sqlite3_create_function(
	    db, "leaf_hash", 1, SQLITE_UTF8, NULL, leaf_hash, NULL, NULL);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The guards as text, so that only the data differs afterwards. */
static void
put_guards_back(const char *path)
{
	static const char *const order[] = {"rec", "node", "cp", "meta"};

	/* all of them, so that they stand in their order again */
	run_sql(path, "DROP TRIGGER meta_no_update; DROP TRIGGER meta_no_delete;");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		for (size_t k = 0; k < schema_rows; k++) {
			if (strcmp(schema_row[k].type, "trigger") == 0 &&
			    strcmp(schema_row[k].table, order[i]) == 0)
				run_sql(path, schema_row[k].sql);
		}
	}
}

static void
new_copy(char path[160])
{
	(void)snprintf(path, 160, "%s/copy.db", log_->root);
	copy_file(log_->db, path);
}

/* The number behind "first_bad", or -1. */
static long
first_bad(const char *said)
{
	const char *at = strstr(said, "\"first_bad\":");

	return at != NULL ? atol(at + 12) : -1;
}

/* K-10 */
static void
test_tampered(void **state)
{
	char path[160], said[2048];

	for (size_t i = 0; i < sizeof(tamper) / sizeof(tamper[0]); i++) {
		int status;

		new_copy(path);
		assert_int_equal(run_verify(log_, path, said, sizeof(said)), 0);
		run_sql(path, FREE);
		put_guards_back(path);
		/* the control: taking the guards off and back is not seen */
		assert_int_equal(run_verify(log_, path, said, sizeof(said)), 0);
		run_sql(path, FREE);
		run_sql(path, tamper[i].sql);
		put_guards_back(path);
		status = run_verify(log_, path, said, sizeof(said));
		if (status != 1 || strstr(said, tamper[i].why) == NULL)
			fail_msg("%s: %d %s", tamper[i].what, status, said);
		/* -2: some record, by the checkpoint before it */
		if (tamper[i].bad == -2 ? first_bad(said) < 0
					: first_bad(said) != tamper[i].bad)
			fail_msg("%s: names another: %s", tamper[i].what, said);
		(void)unlink(path);
	}
}

static void
test_schema(void **state)
{
	char path[160], said[2048];

	for (size_t i = 0; i < sizeof(schema_tamper) / sizeof(schema_tamper[0]); i++) {
		int status;

		new_copy(path);
		assert_int_equal(run_verify(log_, path, said, sizeof(said)), 0);
		run_sql(path, schema_tamper[i].sql);
		status = run_verify(log_, path, said, sizeof(said));
		if (status != 1 || strstr(said, "schema") == NULL ||
		    strstr(said, schema_tamper[i].why) == NULL)
			fail_msg("%s: %d %s", schema_tamper[i].what, status, said);
		/* an escape sequence in a name is not passed on */
		assert_null(strchr(said, 0x1b));
		(void)unlink(path);
	}
}

/* K-10: A row is taken out of an index only: queries would not see it, a full scan
 * does.  The index's own pages are emptied by hand through a partial twin. */
static void
test_hidden_from_index(void **state)
{
	char path[160], said[2048];
	long page, size;
	FILE *f;
	uint8_t head[12];

	new_copy(path);
	page = ask_number(
	    path, "SELECT rootpage FROM sqlite_schema WHERE name = 'rec_server'");
	size = ask_number(path, "PRAGMA page_size");
	f = fopen(path, "r+b");
	assert_non_null(f);
	/* an interior index page: one cell fewer, the first left out */
	assert_int_equal(fseek(f, (page - 1) * size, SEEK_SET), 0);
	assert_int_equal(fread(head, 1, sizeof(head), f), sizeof(head));
	assert_int_equal(head[0], 2);
	assert_true(head[4] > 0);
	head[4]--;
	assert_int_equal(fseek(f, (page - 1) * size, SEEK_SET), 0);
	assert_int_equal(fwrite(head, 1, sizeof(head), f), sizeof(head));
	assert_int_equal(fclose(f), 0);
	assert_int_equal(run_verify(log_, path, said, sizeof(said)), 1);
	(void)unlink(path);
}

/* Every byte of the database turned over, some hundreds of them: never a
 * crash, never "intact" with other records. */
static void
test_flipped(void **state)
{
	char path[160], said[2048], good[2048];
	long size;
	int seen = 0;

	new_copy(path);
	assert_int_equal(run_verify(log_, path, good, sizeof(good)), 0);
	srand(7);
	size =
	    ask_number(path, "PRAGMA page_count") * ask_number(path, "PRAGMA page_size");
	for (int i = 0; i < 300; i++) {
		long at = rand() % size;
		FILE *f = fopen(path, "r+b");
		int byte, status;

		assert_non_null(f);
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		byte = fgetc(f);
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		(void)fputc(byte ^ (1 << (i % 8)), f);
		assert_int_equal(fclose(f), 0);
		status = run_verify(log_, path, said, sizeof(said));
		if (status == 0 ? strcmp(said, good) != 0 : status > 3)
			fail_msg("byte %ld: %d %s", at, status, said);
		seen += status == 1;
		f = fopen(path, "r+b");
		assert_non_null(f);
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		(void)fputc(byte, f);
		assert_int_equal(fclose(f), 0);
	}
	/* free space and pointers to it may be turned; records may not */
	assert_true(seen > 100);
	assert_int_equal(run_verify(log_, path, said, sizeof(said)), 0);
	(void)unlink(path);
}

static void
test_no_log(void **state)
{
	char path[160], said[2048];

	(void)snprintf(path, sizeof(path), "%s/none.db", log_->root);
	assert_int_equal(run_verify(log_, path, said, sizeof(said)), 3);
	copy_file("/dev/null", path);
	assert_int_equal(run_verify(log_, path, said, sizeof(said)), 2);
	copy_file("/etc/passwd", path);
	assert_int_equal(run_verify(log_, path, said, sizeof(said)), 1);
	(void)unlink(path);
}

/* A copy of database and write-ahead log, without the index beside them: read
 * whole, and nothing is written there. */
static void
test_copy_of_live(void **state)
{
	struct fixture *f = fixture_new();
	struct report *report = writer_open(f, "s");
	char copy[160], wal[176], from[176], said[2048];
	pid_t pid;

	for (int i = 0; i < 30; i++)
		assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	assert_int_equal(recorders(&pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(recorders_gone(4000));
	(void)snprintf(copy, sizeof(copy), "%s/copy.db", f->root);
	(void)snprintf(wal, sizeof(wal), "%s-wal", copy);
	(void)snprintf(from, sizeof(from), "%s-wal", f->db);
	copy_file(f->db, copy);
	copy_file(from, wal);
	assert_int_equal(run_verify(f, copy, said, sizeof(said)), 0);
	assert_non_null(strstr(said, "\"records\":30"));
	assert_int_equal(files_in(f->root, "copy.db"), 2);
	(void)unlink(copy);
	(void)unlink(wal);
	report_free(report);
	fixture_free(f);
}

/* ---- reading back ----------------------------------------------------------------- */

static char *
read_log(const struct audit_filter *filter, bool json, int want)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(audit_log(log_->log, filter, json, out), want);
	assert_int_equal(fclose(out), 0);
	return text;
}

static int
lines_in(char *text)
{
	int n = 0;

	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		n++;
	free(text);
	return n;
}

/* K-10, S3-41 */
static void
test_log(void **state)
{
	struct audit_filter all = {0}, f = {.server = "github"},
			    denied = {.verdict = "deny", .server = "files"},
			    last = {.last_n = 5, .kind = "exec"},
			    later = {.since_ns = UINT64_C(1) << 62},
			    session = {.session = "session-1"}, none = {.session = "x"};
	char *text;

	assert_int_equal(lines_in(read_log(&all, true, 0)), RECORDS);
	assert_int_equal(lines_in(read_log(&all, false, 0)), RECORDS);
	assert_int_equal(lines_in(read_log(&f, false, 0)), RECORDS / 3);
	/* number % 7 == 0 and number % 3 != 0, of 600 */
	assert_int_equal(lines_in(read_log(&denied, false, 0)), 86 - 29);
	assert_int_equal(lines_in(read_log(&session, false, 0)), RECORDS);
	assert_int_equal(lines_in(read_log(&none, false, 0)), 0);
	assert_int_equal(lines_in(read_log(&later, false, 0)), 0);
	text = read_log(&last, true, 0);
	assert_int_equal(strncmp(text, "{\"v\":1,\"idx\":595,", 17), 0);
	assert_non_null(strstr(text, "\"argv\":[\"git\",\"status \\\"quoted\\\" "
				     "\xef\xbf\xbd\\u0001\"]"));
	assert_int_equal(lines_in(text), 5);
	text = read_log(&last, false, 0);
	assert_null(strchr(text, 1)); /* inert */
	assert_non_null(strstr(text, "\\x01"));
	assert_int_equal(lines_in(text), 5);
}

static void
test_log_refuses(void **state)
{
	struct audit_filter all = {0};
	FILE *out = fopen("/dev/null", "w");

	assert_int_equal(audit_log("/nonexistent", &all, false, out), -ENOENT);
	(void)fclose(out);
}

/* What a body may look like, and what it may not. */
static void
test_scan(void **state)
{
#define HEAD \
	"{\"v\":1,\"idx\":0,\"ts\":1,\"boot\":2,\"writer\":{\"role\":\"leash\"," \
	"\"instance\":\"a\",\"pid\":1,\"seq\":1},\"session\":\"\",\"kind\":\"exec\"," \
	"\"fields\":{"
	static const struct {
		const char *body;
		int want;
	} row[] = {
	    {HEAD "}}", 0},
	    {HEAD "\"a\":1,\"b\":\"x\",\"c\":[\"y\",\"z\"]}}", 0},
	    {HEAD "\"a\":\"\\u0001\\\"\\\\\"}}", 0},
	    {HEAD "\"a\":1,\"a\":1}}", -EBADMSG},
	    {HEAD "\"a\":01}}", -EBADMSG},
	    {HEAD "\"a\":-1}}", -EBADMSG},
	    {HEAD "\"a\":1.5}}", -EBADMSG},
	    {HEAD "\"a\":null}}", -EBADMSG},
	    {HEAD "\"a\":[]}}", -EBADMSG},
	    {HEAD "\"a\":[1]}}", -EBADMSG},
	    {HEAD "\"A\":1}}", -EBADMSG},
	    {HEAD "\"a\": 1}}", -EBADMSG},
	    {HEAD "\"a\":\"\n\"}}", -EBADMSG},
	    {HEAD "\"a\":\"\\n\"}}", -EBADMSG},
	    {HEAD "\"a\":\"\\u00FF\"}}", -EBADMSG},
	    {HEAD "\"a\":\"\\u0100\"}}", -EBADMSG},
	    {HEAD "\"a\":\"}}", -EBADMSG},
	    {HEAD "\"a\":1}}x", -EBADMSG},
	    {HEAD "\"a\":1,}}", -EBADMSG},
	    {HEAD "\"a\":1}", -EBADMSG},
	    {"", -EBADMSG},
	};
	static struct scan scan;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		size_t len = strlen(row[i].body);
		/* of its own size, so that a byte too far is seen by ASan */
		char *copy = malloc(len + (len == 0));

		assert_non_null(copy);
		memcpy(copy, row[i].body, len);
		if (scan_body(copy, len, &scan) != row[i].want)
			fail_msg("%s", row[i].body);
		free(copy);
		for (size_t cut = 0; row[i].want == 0 && cut < len; cut++) {
			copy = malloc(cut + 1);
			memcpy(copy, row[i].body, cut);
			assert_int_equal(scan_body(copy, cut, &scan), -EBADMSG);
			free(copy);
		}
	}
}

/* Whatever the bytes of the fields, body.c's line is one that scan.c reads, and
 * it says the same; or it is refused. */
static void
test_body_fuzz(void **state)
{
	struct writer writer = {.role = "leash", .instance = "0123456789abcdef"};
	static struct record rec;
	static struct scan scan;
	int made = 0;

	srand(11);
	body_utf8(writer.session, sizeof(writer.session), "\xed\xa0\x80\xc0\x80\xf5z", 7);
	for (int i = 0; i < 20000; i++) {
		uint8_t memory[REPORT_EVENT_MAX];
		struct wire_out out;
		struct wire_in in;
		int n = rand() % 40;

		wire_out_init(&out, memory, sizeof(memory));
		for (int k = 0; k < n; k++) {
			enum event_key key = 1 + rand() % (KEY_END - 1);
			uint8_t text[REPORT_TEXT_MAX];
			size_t len = (size_t)rand() % (i % 50 == 0 ? sizeof(text) : 12);

			for (size_t b = 0; b < len; b++)
				text[b] = (uint8_t)(i % 3 == 0 ? rand() % 32 : rand());
			wire_put_u8(&out, (uint8_t)key);
			if (event_key_is_number(key))
				wire_put_u64(&out, (uint64_t)rand() << 33);
			else
				wire_put_bytes(&out, text, len);
		}
		if (out.error != 0)
			continue;
		if (i % 5 == 0 && out.len > 0)
			memory[(size_t)rand() % out.len] ^= 1;
		wire_in_init(&in, memory, out.len);
		rec.kind = EVENT_CALL;
		rec.idx = (uint64_t)i;
		if (body_make(&writer, &in, &rec) < 0)
			continue;
		made++;
		assert_true(rec.body_len <= AUDIT_BODY_MAX);
		if (scan_body(rec.body, rec.body_len, &scan) < 0)
			fail_msg("%.*s", (int)rec.body_len, rec.body);
		assert_true((rec.column[COLUMN_SERVER] != NULL) ==
			    (scan_find(&scan, "server") != NULL));
		if (rec.column[COLUMN_SERVER] != NULL) {
			char text[AUDIT_BODY_MAX];
			long len = scan_string(
			    scan_find(&scan, "server")->value, text, sizeof(text));

			assert_int_equal(len, strlen(rec.column[COLUMN_SERVER]));
			assert_memory_equal(text, rec.column[COLUMN_SERVER], (size_t)len);
		}
	}
	assert_true(made > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tampered),
	    cmocka_unit_test(test_schema),
	    cmocka_unit_test(test_hidden_from_index),
	    cmocka_unit_test(test_flipped),
	    cmocka_unit_test(test_no_log),
	    cmocka_unit_test(test_copy_of_live),
	    cmocka_unit_test(test_log),
	    cmocka_unit_test(test_log_refuses),
	    cmocka_unit_test(test_scan),
	    cmocka_unit_test(test_body_fuzz),
	};

	return cmocka_run_group_tests(tests, make_log, drop_log);
}
