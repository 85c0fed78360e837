/*
 * Logs that were altered, cannot be read, or are not complete yet: an answer or a refusal,
 * and never another answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "tests/unit/child.h"
#include "tests/unit/query_log.h"

static const char free_log[] = "DROP TRIGGER rec_no_update; DROP TRIGGER rec_no_delete;";

static void
run_sql(const char *path, const char *sql)
{
	char *why = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A copy of the log in a folder of its own. */
static void
new_copy(char folder[128], char db[160])
{
	static char bytes[8 << 20];
	FILE *from = fopen(log_->db, "rb"), *to;
	size_t n;

	(void)snprintf(folder, 128, "%s/copy", log_->root);
	(void)mkdir(folder, 0700);
	(void)snprintf(db, 160, "%s/audit.db", folder);
	n = fread(bytes, 1, sizeof(bytes), from);
	(void)fclose(from);
	to = fopen(db, "wb");
	assert_int_equal(fwrite(bytes, 1, n, to), n);
	assert_int_equal(fclose(to), 0);
}

static void
drop_copy(const char *folder)
{
	remove_folder(folder);
}

/* The triggers as they were: dropped, the schema differs already. */
static void
guards_back(const char *db)
{
	char as_made[64];

	for (size_t i = 0; i < schema_rows; i++) {
		if (strcmp(schema_row[i].name, "rec_no_update") == 0 ||
		    strcmp(schema_row[i].name, "rec_no_delete") == 0) {
			char sql[1024];
			int rowid = (int)i + 1;

			(void)snprintf(sql, sizeof(sql),
			    "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema(rowid, "
			    "type, name, tbl_name, rootpage, sql) VALUES(%d, '%s', '%s', "
			    "'%s', 0, \"%s\")",
			    rowid, schema_row[i].type, schema_row[i].name,
			    schema_row[i].table, schema_row[i].sql);
			run_sql(db, sql);
		}
	}
	(void)snprintf(
	    as_made, sizeof(as_made), "PRAGMA schema_version=%zu", schema_rows);
	run_sql(db, as_made);
}

/* A column that says another thing than its body is seen when it is used. */
static void
test_lying_columns(void **state)
{
	static const struct {
		const char *sql, *line;
	} row[] = {
	    {"UPDATE rec SET server = 'files' WHERE idx = 5", "log --server files"},
	    {"UPDATE rec SET verdict = 'allow' WHERE idx = 5", "exec --verdict allow"},
	    {"UPDATE rec SET session = 'x' WHERE idx = 5", "session x"},
	    {"UPDATE rec SET tool = 'x' WHERE idx = 8", "log --tool x"},
	    {"UPDATE rec SET rule = 'x' WHERE idx = 10", "log --rule x"},
	    {"UPDATE rec SET ts = 4000000000000000000 WHERE idx = 5",
		"log --server github --since 2090-01-01"},
	    {"UPDATE rec SET idx = 900 WHERE idx = 3", "log --verified"},
	    {"UPDATE rec SET body = zeroblob(10) WHERE idx = 5", "log"},
	    {"UPDATE rec SET body = zeroblob(100000) WHERE idx = 5", "log"},
	    {"DELETE FROM rec WHERE idx = 5", "log --verified"},
	    {"UPDATE rec SET verdict = 'allow' WHERE idx = 5", "denials --verified"},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		char folder[128], db[160];
		int status;

		new_copy(folder, db);
		run_sql(db, free_log);
		guards_back(db);
		/* the control: the copy answers */
		assert_int_equal(ask_in(folder, "log --verified"), ASK_OK);
		run_sql(db, free_log);
		run_sql(db, row[i].sql);
		guards_back(db);
		status = ask_in(folder, row[i].line);
		if (status != ASK_FAILED && status != ASK_TAMPERED)
			fail_msg("%s: %d\n%s", row[i].sql, status, said);
		drop_copy(folder);
	}
}

/* An index that leaves a record out hides it from whoever asks fast; --verified
 * says that the log is not what was written. */
static void
test_hidden(void **state)
{
	static const char hide[] =
	    "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = "
	    "'CREATE INDEX rec_denied ON rec(ts) WHERE verdict <> ''allow'' AND idx <> "
	    "5' "
	    "WHERE name = 'rec_denied'";
	static const char back[] =
	    "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = "
	    "'CREATE INDEX rec_denied ON rec(ts) WHERE verdict <> ''allow''' "
	    "WHERE name = 'rec_denied'";
	char folder[128], db[160], *before;

	new_copy(folder, db);
	assert_int_equal(ask_in(folder, "denials --json"), 0);
	before = strdup(said);
	run_sql(db, hide);
	run_sql(db, "REINDEX rec_denied");
	run_sql(db, back);
	assert_int_equal(ask_in(folder, "denials --json"), 0);
	assert_string_not_equal(said, before); /* it is hidden */
	assert_int_equal(ask_in(folder, "denials --json --verified"), ASK_TAMPERED);
	free(before);
	drop_copy(folder);
}

static void
test_schema(void **state)
{
	static const char *const sql[] = {
	    "DROP INDEX rec_server",
	    "CREATE VIEW v AS SELECT * FROM rec",
	    "CREATE TRIGGER t AFTER INSERT ON rec BEGIN SELECT 1; END",
	    "CREATE INDEX more ON rec(kind)",
	};

	for (size_t i = 0; i < ARRAY_LEN(sql); i++) {
		char folder[128], db[160];

		new_copy(folder, db);
		run_sql(db, sql[i]);
		assert_int_equal(ask_in(folder, "log"), ASK_FAILED);
		drop_copy(folder);
	}
}

/* A schema that cannot be read now is not one that differs: a reader that said so of a log
 * that is busy, or that has no memory, would call it altered. */
static void
test_schema_unread(void **state)
{
	static const struct {
		int code, r;
	} row[] = {
	    {SQLITE_DONE, 0},
	    {SQLITE_BUSY, -EAGAIN},
	    {SQLITE_BUSY_RECOVERY, -EAGAIN},
	    {SQLITE_READONLY_CANTINIT, -EAGAIN},
	    {SQLITE_NOMEM, -ENOMEM},
	    {SQLITE_IOERR_READ, -EIO},
	    {SQLITE_CORRUPT_VTAB, -EBADMSG},
	    {SQLITE_NOTADB, -EBADMSG},
	};
	char folder[128], db[160], name[64] = "?";
	sqlite3 *holds, *reads;

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		assert_int_equal(sqlite_errno(row[i].code), row[i].r);
	new_copy(folder, db);
	run_sql(db, "PRAGMA journal_mode=DELETE");
	assert_int_equal(sqlite3_open(db, &holds), SQLITE_OK);
	assert_int_equal(sqlite3_open(db, &reads), SQLITE_OK);
	assert_int_equal(schema_compare(reads, name, sizeof(name)), 0); /* the control */
	assert_int_equal(
	    sqlite3_exec(holds, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(schema_compare(reads, name, sizeof(name)), -EAGAIN);
	assert_string_equal(name, "?");
	assert_int_equal(
	    sqlite3_exec(holds, "DROP INDEX rec_tool; COMMIT", NULL, NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(schema_compare(reads, name, sizeof(name)), -EBADMSG);
	assert_string_equal(name, "rec_denied");
	assert_int_equal(sqlite3_close(holds), SQLITE_OK);
	assert_int_equal(sqlite3_close(reads), SQLITE_OK);
	drop_copy(folder);
}

/* A recorder that creates a log has committed no table yet: the query waits for it. */
static void
test_schema_late(void **state)
{
	char folder[128], db[160], made[176], name[64];
	sqlite3 *empty;
	pid_t pid;
	int status;

	new_copy(folder, db);
	(void)snprintf(made, sizeof(made), "%s.made", db);
	assert_int_equal(rename(db, made), 0);
	assert_int_equal(sqlite3_open(db, &empty), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(empty, "PRAGMA user_version=2", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(schema_compare(empty, name, sizeof(name)), -ENODATA);
	assert_int_equal(sqlite3_close(empty), SQLITE_OK);
	assert_int_equal(ask_in(folder, "log"), ASK_FAILED); /* it stays so */
	pid = test_fork();
	if (pid == 0) {
		(void)usleep(300000);
		_exit(rename(made, db) < 0);
	}
	assert_int_equal(ask_in(folder, "log"), ASK_OK);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	drop_copy(folder);
}

/* Bytes turned over anywhere: an answer or a refusal, never anything else. */
static void
test_flipped(void **state)
{
	static const char *const line[] = {"log --json", "session s-1", "denials", "tool",
	    "anomalies", "log --tool echo", "gaps", "sample --seed 1", "log -n 4"};
	char folder[128], db[160];
	long size;

	new_copy(folder, db);
	size = ask_number(db, "PRAGMA page_count") * ask_number(db, "PRAGMA page_size");
	srand(11);
	for (int i = 0; i < 400; i++) {
		long at = rand() % size;
		FILE *f = fopen(db, "r+b");
		int byte, status;

		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		byte = fgetc(f);
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		(void)fputc(byte ^ (1 << (i % 8)), f);
		assert_int_equal(fclose(f), 0);
		status = ask_in(folder, line[(size_t)i % ARRAY_LEN(line)]);
		if (status != ASK_OK && status != ASK_FAILED && status != ASK_NO_SUCH)
			fail_msg("byte %ld: %d", at, status);
		f = fopen(db, "r+b");
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		(void)fputc(byte, f);
		assert_int_equal(fclose(f), 0);
	}
	drop_copy(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lying_columns),
	    cmocka_unit_test(test_hidden),
	    cmocka_unit_test(test_schema),
	    cmocka_unit_test(test_schema_unread),
	    cmocka_unit_test(test_schema_late),
	    cmocka_unit_test(test_flipped),
	};

	return cmocka_run_group_tests(tests, make_log, drop_log);
}
