/*
 * What changes no record of a log and is a change all the same, or keeps a reader
 * waiting: the write-ahead log, its index, a journal, the header, free pages, bytes
 * behind the database, a link, the published key.  Each is made on a copy that was
 * found intact before.
 *
 *	killed	the recorder was killed: the records are in audit.db-wal
 *	ended	three epochs that were closed, and nothing beside the database
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/open_log.h"
#include "tests/unit/audit_forge.h"

#define RECORDS    120
#define SEEDS      120
#define DEADLINE_S 4 /* 2 s for opening, and a machine that has other work */
#define DB         "audit.db"
#define WAL        "audit.db-wal"
#define SHM        "audit.db-shm"

static struct fixture *killed, *ended;
static char copy[96], said[4096];
static uint64_t whole; /* records of the killed log */

static void
path_in(char out[200], const char *folder, const char *name)
{
	(void)snprintf(out, 200, "%s/%s", folder, name);
}

static uint64_t
now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct fixture *
make_one(int sessions, int signal)
{
	struct fixture *f = fixture_new();
	pid_t pid;

	configure(f, "epoch 3600\nheartbeat 3600\n");
	for (int i = 0; i < sessions; i++) {
		char name[16];
		struct report *report;

		(void)snprintf(name, sizeof(name), "s-%d", i);
		report = writer_open(f, name);
		for (int k = 0; k < RECORDS; k++)
			assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
		assert_int_equal(recorders(&pid), 1);
		assert_int_equal(kill(pid, signal), 0);
		assert_true(recorders_gone(4000));
		report_free(report);
	}
	return f;
}

static int
make_logs(void **state)
{
	killed = make_one(1, SIGKILL);
	ended = make_one(3, SIGTERM);
	(void)snprintf(copy, sizeof(copy), "%s/copy", killed->root);
	whole = RECORDS + 1;
	return 0;
}

static int
drop_logs(void **state)
{
	fixture_free(killed);
	fixture_free(ended);
	return 0;
}

static void
take_copy(const struct fixture *f)
{
	static const char *const name[] = {DB, WAL, SHM, "origin.vkey"};
	char from[200], to[200];

	remove_folder(copy);
	assert_int_equal(mkdir(copy, 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		path_in(from, f->log, name[i]);
		path_in(to, copy, name[i]);
		if (access(from, F_OK) == 0)
			copy_file(from, to);
	}
}

static int
verify_copy(void)
{
	uint64_t began = now_ns();
	int status = verify_old_stopped(killed, copy, said, sizeof(said));

	if (now_ns() - began > DEADLINE_S * 1000000000ull)
		fail_msg("took longer than %d s: %s", DEADLINE_S, said);
	return status;
}

/* Stale is no finding of these tests. */
static bool
is_intact(int status)
{
	return status == 0 || (status == 2 && strstr(said, "stale") != NULL);
}

static uint64_t
records_said(void)
{
	const char *at = strstr(said, "\"records\":");

	return at != NULL ? strtoull(at + 10, NULL, 10) : 0;
}

static long
size_of(const char *name)
{
	char path[200];
	struct stat st;

	path_in(path, copy, name);
	return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void
write_at(const char *name, long at, const void *bytes, size_t len)
{
	char path[200];
	int fd;

	path_in(path, copy, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, at), len);
	close(fd);
}

static uint64_t random_state;

static void
random_bytes(uint8_t *out, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		random_state = random_state * 6364136223846793005u + 1442695040888963407u;
		out[i] = (uint8_t)(random_state >> 33);
	}
}

/* ---- one change each ----------------------------------------------------------------- */

static const uint8_t noise[100] = {0xde, 0xad, 0xbe, 0xef, [99] = 1};

static void
put_u32(const char *name, long at, uint32_t n)
{
	const uint8_t b[4] = {
	    (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};

	write_at(name, at, b, sizeof(b));
}

static void
change_noise_for_wal(void)
{
	write_at(WAL, 0, noise, sizeof(noise));
}

static void
change_noise_for_shm(void)
{
	uint8_t page[4096];

	random_state = 7;
	random_bytes(page, sizeof(page));
	for (int i = 0; i < 8; i++)
		write_at(SHM, i * 4096L, page, sizeof(page));
}

static void
change_shm_of_another(void)
{
	char from[200], to[200];

	path_in(from, killed->log, SHM);
	path_in(to, copy, SHM);
	copy_file(from, to);
	/* the salts of its log, one bit further, with a checksum that holds */
	{
		uint32_t head[12], sum[2] = {0, 0};
		FILE *f = fopen(to, "r+");

		assert_non_null(f);
		assert_int_equal(fread(head, 1, sizeof(head), f), sizeof(head));
		head[9] ^= 1;
		for (int i = 0; i < 10; i += 2) {
			sum[0] += head[i] + sum[1];
			sum[1] += head[i + 1] + sum[0];
		}
		head[10] = sum[0];
		head[11] = sum[1];
		rewind(f);
		assert_int_equal(fwrite(head, 1, sizeof(head), f), sizeof(head));
		assert_int_equal(fwrite(head, 1, sizeof(head), f), sizeof(head));
		assert_int_equal(fclose(f), 0);
	}
}

static void
change_journal(void)
{
	write_at("audit.db-journal", 0, noise, sizeof(noise));
}

static void
change_link(void)
{
	char path[200], away[200];

	path_in(path, copy, DB);
	path_in(away, copy, "elsewhere.db");
	assert_int_equal(rename(path, away), 0);
	assert_int_equal(symlink("elsewhere.db", path), 0);
}

static void
change_wal_link(void)
{
	char path[200], away[200];

	path_in(path, copy, WAL);
	path_in(away, copy, "elsewhere");
	assert_int_equal(rename(path, away), 0);
	assert_int_equal(symlink("elsewhere", path), 0);
}

static void
change_bytes_behind(void)
{
	write_at(DB, size_of(DB), noise, sizeof(noise));
}

/* A page that the header counts, and that nothing uses. */
static void
change_page_behind(void)
{
	long pages = size_of(DB) / 4096;
	uint8_t page[4096] = "hidden";

	write_at(DB, pages * 4096, page, sizeof(page));
	put_u32(DB, 28, (uint32_t)pages + 1);
}

/* The same as the first and only page of the list of free pages. */
static void
change_free_page(void)
{
	long pages = size_of(DB) / 4096;

	change_page_behind();
	put_u32(DB, 32, (uint32_t)pages + 1);
	put_u32(DB, 36, 1);
}

static void
change_cookie(void)
{
	put_u32(DB, 40, 4711);
}

static void
change_expansion(void)
{
	put_u32(DB, 80, 4711);
}

static void
change_cache_size(void)
{
	put_u32(DB, 48, 4711);
}

static void
change_application(void)
{
	put_u32(DB, 68, 4711);
}

static void
change_counter(void)
{
	put_u32(DB, 24, 4711);
}

static void
change_vkey(void)
{
	char from[200], to[200];

	path_in(from, killed->log, "origin.vkey");
	path_in(to, copy, "origin.vkey");
	copy_file(from, to);
}

static void
change_vkey_noise(void)
{
	write_at("origin.vkey", 0, noise, sizeof(noise));
}

static void
change_checkpoint(void)
{
	char path[200];

	path_in(path, copy, DB);
	forge_sql(path, "DELETE FROM cp WHERE size = 50");
	forge_tidy(path);
}

/* The first frame's page: all that follows is lost to SQLite, without a word. */
static void
change_wal_frame(void)
{
	write_at(WAL, WAL_HEAD + WAL_FRAME_HEAD + 3000, noise, sizeof(noise));
}

static void
change_wal_salts(void)
{
	write_at(WAL, WAL_HEAD + 20 * WAL_FRAME + 8, noise, 8);
}

static void
change_wal_cut(void)
{
	char path[200];

	path_in(path, copy, WAL);
	assert_int_equal(truncate(path, WAL_HEAD + 20 * WAL_FRAME + 100), 0);
}

static const struct {
	const char *what;
	bool of_killed;
	void (*change)(void);
	int status;
	const char *why;
} tamper[] = {
    {"a hundred bytes as audit.db-wal", false, change_noise_for_wal, 1,
	"write-ahead log"},
    {"a hundred bytes over audit.db-wal", true, change_noise_for_wal, 1, "write-ahead"},
    {"audit.db-wal is a link", true, change_wal_link, 1, "not a regular file"},
    {"a changed frame", true, change_wal_frame, 1, "audit.db-wal was changed"},
    {"a frame with other salts", true, change_wal_salts, 1, "audit.db-wal was changed"},
    {"a cut within a frame", true, change_wal_cut, 2, "not whole"},
    {"noise as audit.db-shm", true, change_noise_for_shm, 1, "audit.db-shm"},
    {"another log's audit.db-shm", true, change_shm_of_another, 2, "another write-ahead"},
    {"audit.db-shm by itself", false, change_noise_for_shm, 2, "audit.db-shm"},
    {"a journal", false, change_journal, 1, "journal"},
    {"audit.db is a link", false, change_link, 1, "symbolic link"},
    {"bytes behind the database", false, change_bytes_behind, 1, "bytes"},
    {"a page behind the database", false, change_page_behind, 1, "belongs to no table"},
    {"a free page with content", false, change_free_page, 1, "free page"},
    {"the schema cookie", false, change_cookie, 1, "schema cookie"},
    {"the space for expansion", false, change_expansion, 1, "expansion"},
    {"the cache size", false, change_cache_size, 1, "cache size"},
    {"the application id", false, change_application, 1, "application id"},
    {"the change counter", false, change_counter, 1, "counter"},
    {"another log's origin.vkey", false, change_vkey, 1, "the log's key"},
    {"noise as origin.vkey", false, change_vkey_noise, 1, "the log's key"},
    {"a checkpoint removed", false, change_checkpoint, 1, "checkpoint of the epoch"},
};

static void
test_changes_no_record(void **state)
{
	int wrong = 0;

	for (size_t i = 0; i < ARRAY_LEN(tamper); i++) {
		int status;

		take_copy(tamper[i].of_killed ? killed : ended);
		status = verify_copy();
		if (!is_intact(status))
			fail_msg(
			    "the control of %s: %d %s", tamper[i].what, status, said);
		take_copy(tamper[i].of_killed ? killed : ended);
		tamper[i].change();
		status = verify_copy();
		if (status != tamper[i].status || strstr(said, tamper[i].why) == NULL) {
			print_error("%s: %d %s\n", tamper[i].what, status, said);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

/* The rows in a file made anew are no change: what forge_tidy does is not what is
 * found above. */
static void
test_tidy_is_intact(void **state)
{
	char path[200];

	take_copy(ended);
	path_in(path, copy, DB);
	forge_tidy(path);
	if (!is_intact(verify_copy()))
		fail_msg("%s", said);
}

/* A recorder that finds no space for its index leaves three zero bytes. */
static void
test_full_disk_is_intact(void **state)
{
	static const uint8_t zero[3] = {0}, other[3] = {0, 1, 0};

	take_copy(ended);
	write_at(WAL, 0, zero, 0);
	write_at(SHM, 0, zero, sizeof(zero));
	if (!is_intact(verify_copy()))
		fail_msg("%s", said);
	write_at(SHM, 0, other, sizeof(other));
	assert_int_equal(verify_copy(), 1);
	write_at(SHM, 0, zero, sizeof(zero));
	write_at(SHM, 3, zero, 1);
	assert_int_equal(verify_copy(), 1);
}

/* ---- at random ----------------------------------------------------------------------- */

/* How many records plain SQLite finds in the copy; -1: no table. */
static long
records_of_sqlite(void)
{
	char path[200];
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	long n = -1;

	path_in(path, copy, DB);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, "SELECT count(*) FROM rec", -1, &s, NULL) == 0 &&
	    sqlite3_step(s) == SQLITE_ROW)
		n = (long)sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(db);
	return n;
}

/* A hundred random bytes in the write-ahead log, anywhere: the verifier ends in time,
 * and is not content with fewer records than there were.  The control: SQLite is, and
 * says nothing of those that it lost. */
static void
test_random_bytes_in_wal(void **state)
{
	long lost = 0, found_n = 0, size;

	take_copy(killed);
	assert_true(is_intact(verify_copy()));
	assert_int_equal(records_said(), whole);
	size = size_of(WAL);
	for (int seed = 1; seed <= SEEDS; seed++) {
		uint8_t bytes[100];
		long at;
		int status;

		random_state = (uint64_t)seed;
		random_bytes(bytes, sizeof(bytes));
		at = (long)(random_state >> 20) % (size - (long)sizeof(bytes));
		if (seed % 10 == 0)
			at = seed % 200 / 10; /* the head, more often than by chance */
		take_copy(killed);
		write_at(WAL, at, bytes, sizeof(bytes));
		status = verify_copy();
		found_n += !is_intact(status);
		if (status > 3 || (is_intact(status) && records_said() != whole))
			fail_msg("seed %d at %ld: %d %s", seed, at, status, said);
		lost += records_of_sqlite() < (long)whole;
	}
	print_message("%ld found, %ld with records lost\n", found_n, lost);
	assert_true(lost > SEEDS / 2 && found_n >= lost);
}

/* ---- nothing is written ----------------------------------------------------------------- */

struct trace {
	int n;
	struct {
		char name[64];
		struct stat st;
		uint64_t sum;
	} file[16];
};

static void
trace_take(const char *folder, struct trace *t)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	memset(t, 0, sizeof(*t));
	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL && t->n < 16) {
		char path[300];
		FILE *f;
		int c;

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%.60s", folder, e->d_name);
		(void)snprintf(t->file[t->n].name, 64, "%.60s", e->d_name);
		f = fopen(path, "rb");
		if (f != NULL) {
			while ((c = fgetc(f)) != EOF)
				t->file[t->n].sum = t->file[t->n].sum * 31 + (unsigned)c;
			(void)fclose(f);
		}
		assert_int_equal(lstat(path, &t->file[t->n].st), 0);
		t->n++;
	}
	closedir(dir);
}

static void
trace_same(const struct trace *a, const struct trace *b, const char *what)
{
	if (a->n != b->n)
		fail_msg("%s: %d files, then %d", what, a->n, b->n);
	for (int i = 0; i < a->n; i++) {
		const struct stat *s = &a->file[i].st, *t = &b->file[i].st;

		if (strcmp(a->file[i].name, b->file[i].name) != 0 ||
		    a->file[i].sum != b->file[i].sum || s->st_size != t->st_size ||
		    s->st_mtim.tv_sec != t->st_mtim.tv_sec ||
		    s->st_mtim.tv_nsec != t->st_mtim.tv_nsec ||
		    s->st_ctim.tv_sec != t->st_ctim.tv_sec ||
		    s->st_ctim.tv_nsec != t->st_ctim.tv_nsec)
			fail_msg("%s: %s was changed", what, a->file[i].name);
	}
}

static int
run_program(const char *const *argv)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		int null = open("/dev/null", O_RDWR);

		(void)dup2(null, 1);
		(void)dup2(null, 2);
		(void)execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(99);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Every way to read, on a log with each kind of file beside it. */
static void
test_reading_writes_nothing(void **state)
{
	static const char *const what[] = {"log", "sessions", "gaps", "denials"};
	static const char *const without[] = {NULL, SHM, WAL};
	char path[200];

	for (size_t i = 0; i < 4 * 2; i++) {
		const struct fixture *f = i < 6 ? killed : ended;
		struct trace before, after;

		take_copy(f);
		if (i / 2 == 1 || i / 2 == 2) {
			path_in(path, copy, without[i / 2]);
			(void)unlink(path);
			if (i / 2 == 2) { /* and the index that was its */
				path_in(path, copy, SHM);
				(void)unlink(path);
			}
		}
		if (i % 2 == 1)
			assert_int_equal(chmod(copy, 0500), 0);
		trace_take(copy, &before);
		(void)verify_copy();
		trace_take(copy, &after);
		trace_same(&before, &after, "verify");
		for (size_t k = 0; k < 4 * 2; k++) {
			const char *const argv[] = {"build/bin/kennel", "audit",
			    what[k / 2], "--log", copy, k % 2 ? "--verified" : NULL,
			    NULL};
			int status = run_program(argv);

			trace_take(copy, &after);
			trace_same(&before, &after, what[k / 2]);
			if (i / 2 != 2 && status != 0 && k % 2 == 0)
				fail_msg("%s: %d (copy %zu)", what[k / 2], status, i);
		}
		(void)chmod(copy, 0700);
	}
	remove_folder(copy);
}

/* The questions end in time too, and do not answer from what is no log. */
static void
test_questions_in_time(void **state)
{
	const char *const argv[] = {
	    "build/bin/kennel", "audit", "log", "--log", copy, NULL};

	for (size_t i = 0; i < ARRAY_LEN(tamper); i++) {
		uint64_t began;
		int status;

		take_copy(tamper[i].of_killed ? killed : ended);
		assert_int_equal(run_program(argv), 0);
		tamper[i].change();
		began = now_ns();
		status = run_program(argv);
		if (now_ns() - began > DEADLINE_S * 1000000000ull)
			fail_msg("%s: took too long", tamper[i].what);
		if ((strstr(tamper[i].what, "link") != NULL ||
			strstr(tamper[i].what, "hundred") != NULL ||
			strstr(tamper[i].what, "journal") != NULL) &&
		    status == 0)
			fail_msg("%s: answered", tamper[i].what);
	}
	remove_folder(copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_changes_no_record),
	    cmocka_unit_test(test_tidy_is_intact),
	    cmocka_unit_test(test_full_disk_is_intact),
	    cmocka_unit_test(test_random_bytes_in_wal),
	    cmocka_unit_test(test_reading_writes_nothing),
	    cmocka_unit_test(test_questions_in_time),
	};

	return cmocka_run_group_tests(tests, make_logs, drop_logs);
}
