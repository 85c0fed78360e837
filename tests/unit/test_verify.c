/*
 * kennel-verify against damaged files, no file and a live one, and the log read
 * back.  Changes made with a purpose are test_log_tamper.c's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "tests/unit/audit_forge.h"
#include "tests/unit/child.h"

#define RECORDS 600 /* two nodes, and some leaves beside them */

static struct fixture *log_; /* one good log for all tests */

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

static void
new_copy(char path[160])
{
	(void)snprintf(path, 160, "%s/copy.db", log_->root);
	copy_file(log_->db, path);
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

/* Whoever wants only the status sends the words to /dev/null: a device, of which the
 * library would like to know whether it is a terminal. */
static void
test_status_alone(void **state)
{
	int status;
	pid_t child = test_fork();

	(void)state;
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		(void)dup2(null, STDOUT_FILENO);
		(void)execl(
		    log_->verify, "kennel-verify", "--stopped", log_->log, (char *)NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
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
	if (run_verify(f, copy, said, sizeof(said)) != 0)
		fail_msg("%s", said);
	assert_non_null(strstr(said, "\"records\":31"));
	assert_int_equal(files_in(f->root, "copy.db"), 2);
	(void)unlink(copy);
	(void)unlink(wal);
	report_free(report);
	fixture_free(f);
}

/* The header of a write-ahead log and no more, as a full disk leaves it: there is
 * nothing in it, and the verifier does not wait for something. */
static void
test_header_of_wal(void **state)
{
	struct fixture *f = fixture_new();
	struct report *report = writer_open(f, "s");
	char copy[160], beside[176], from[176], said[2048];
	time_t began;
	pid_t pid;

	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	assert_int_equal(recorders(&pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(recorders_gone(4000));
	(void)snprintf(copy, sizeof(copy), "%s/copy.db", f->root);
	copy_file(log_->db, copy);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(from, sizeof(from), "%s-%s", f->db, i ? "wal" : "shm");
		(void)snprintf(beside, sizeof(beside), "%s-%s", copy, i ? "wal" : "shm");
		copy_file(from, beside);
	}
	assert_int_equal(truncate(beside, 32), 0);
	began = time(NULL);
	assert_int_equal(run_verify(log_, copy, said, sizeof(said)), 0);
	assert_true(time(NULL) - began < 5);
	(void)unlink(copy);
	(void)unlink(beside);
	(void)snprintf(beside, sizeof(beside), "%s-shm", copy);
	(void)unlink(beside);
	report_free(report);
	fixture_free(f);
}

/* ---- reading back ----------------------------------------------------------------- */

static int
log_status(const char *folder, const struct query *filter, bool json, FILE *out)
{
	struct query q = *filter;
	struct log_view view;
	const char *why;
	int status;

	q.verb = "log";
	q.log = folder;
	q.to_ns = INT64_MAX;
	q.bare = true;
	q.form = json ? FORM_JSON : FORM_TEXT;
	status = log_view_open(&q, &view);
	if (status == ASK_OK)
		status = verb_ask(verb_find("log"), &q, &view, out, &why);
	log_view_close(&view);
	return status;
}

static char *
read_log(const struct query *filter, bool json)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(log_status(log_->log, filter, json, out), ASK_OK);
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
	struct query all = {0}, f = {.server = "github"},
		     denied = {.verdict = "deny", .server = "files"},
		     last = {.last_n = 5, .kind = "exec"},
		     later = {.from_ns = INT64_C(1) << 62},
		     session = {.session = "session-1"}, none = {.session = "x"};
	char *text;

	assert_int_equal(lines_in(read_log(&all, true)), RECORDS);
	assert_int_equal(lines_in(read_log(&all, false)), RECORDS);
	assert_int_equal(lines_in(read_log(&f, false)), RECORDS / 3);
	/* number % 7 == 0 and number % 3 != 0, of 600 */
	assert_int_equal(lines_in(read_log(&denied, false)), 86 - 29);
	assert_int_equal(lines_in(read_log(&session, false)), RECORDS);
	assert_int_equal(lines_in(read_log(&none, false)), 0);
	assert_int_equal(lines_in(read_log(&later, false)), 0);
	text = read_log(&last, true);
	assert_int_equal(strncmp(text, "{\"v\":2,\"idx\":596,", 17), 0);
	assert_non_null(strstr(text, "\"argv\":[\"git\",\"status \\\"quoted\\\" "));
	assert_int_equal(lines_in(text), 5);
	text = read_log(&last, false);
	assert_null(strchr(text, 1)); /* inert */
	assert_non_null(strstr(text, "\\x01"));
	assert_int_equal(lines_in(text), 5);
}

static void
test_log_refuses(void **state)
{
	struct query all = {0};
	FILE *out = fopen("/dev/null", "w");

	assert_int_equal(log_status("/nonexistent", &all, false, out), ASK_NO_LOG);
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

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
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

/* Whatever the bytes of the fields, record_write.c's line is one that record_read.c reads, and
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
	    cmocka_unit_test(test_flipped),
	    cmocka_unit_test(test_no_log),
	    cmocka_unit_test(test_status_alone),
	    cmocka_unit_test(test_copy_of_live),
	    cmocka_unit_test(test_header_of_wal),
	    cmocka_unit_test(test_log),
	    cmocka_unit_test(test_log_refuses),
	    cmocka_unit_test(test_scan),
	    cmocka_unit_test(test_body_fuzz),
	};

	return cmocka_run_group_tests(tests, make_log, drop_log);
}
