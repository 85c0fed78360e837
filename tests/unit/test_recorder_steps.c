/*
 * The recorder killed at each step of its commits: before each write to any of its
 * files, in the midst of it, and before and behind each sync; from the first byte
 * of a log through the ends of epochs and the change of a file to its own end.
 * After each death what was acknowledged is there, once, the log is intact, and the
 * next recorder goes on.  (K-10)
 *
 * Needs build/fault and some minutes: `make audit-kill` runs it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "tests/fault/fault.h"
#include "tests/unit/audit_forge.h"

#define STEPS_MIN 500 /* fewer would not be what this is for */
#define ROUNDS    20  /* the last of them behind room in the write-ahead log */
#define EACH      30  /* flow events before a gate one */
#define CONFIG    "epoch 1\nsegment 256\n"

static char exe[128]; /* the round's own recorder, beside which its orders lie */

static void
put_file(const char *suffix, const void *bytes, size_t len)
{
	char path[160];
	FILE *out;

	(void)snprintf(path, sizeof(path), "%s%s", exe, suffix);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

static void
order(const char *text)
{
	static const uint64_t zero[FAULT_KINDS + 1];

	put_file(".fault", text, strlen(text));
	put_file(".count", zero, sizeof(zero));
}

static uint64_t
counted(enum fault_kind kind)
{
	uint64_t n[FAULT_KINDS + 1] = {0};
	char path[160];
	FILE *in;

	(void)snprintf(path, sizeof(path), "%s.count", exe);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_int_equal(fread(n, 1, sizeof(n), in), sizeof(n));
	(void)fclose(in);
	return n[kind];
}

static struct fixture *
rigged(void)
{
	static const char *const suffix[] = {"", ".fault", ".count"};
	struct fixture *f = fixture_new();
	char from[600], *slash;

	/* beside the recorder as it ships */
	(void)snprintf(from, sizeof(from), "%s", f->recorder);
	slash = strstr(from, "/libexec/kennel/kennel-recorder");
	assert_non_null(slash);
	(void)snprintf(slash, sizeof(from) - (size_t)(slash - from),
	    "/fault/libexec/kennel/kennel-recorder");
	(void)snprintf(exe, sizeof(exe), "%s/kennel-recorder", f->root);
	copy_file(from, exe);
	assert_int_equal(chmod(exe, 0700), 0);
	for (size_t i = 1; i < ARRAY_LEN(suffix); i++)
		put_file(suffix[i], "", 0);
	f->place.recorder = exe;
	configure(f, CONFIG);
	return f;
}

static void
rigged_free(struct fixture *f)
{
	static const char *const suffix[] = {"", ".fault", ".count"};
	char path[160];

	for (size_t i = 0; i < ARRAY_LEN(suffix); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", exe, suffix[i]);
		assert_int_equal(unlink(path), 0);
	}
	fixture_free(f);
}

/* One writer, as every writer does it, through whatever happens: the number of the
 * last event that was acknowledged. */
static uint64_t
tell(const struct fixture *f, const char *session, int rounds)
{
	struct report *report = writer_open(f, session);
	static struct event e;
	uint64_t number = 0;
	int r, sock;

	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k <= EACH; k++) {
			make_event(&e, session, number);
			assert_int_equal(report_send(report, &e,
					     k < EACH ? EVENT_FLOW : EVENT_GATE, &number),
			    0);
		}
		while ((r = report_wait(report, number, WAIT_MS)) == -EPIPE) {
			r = audit_connect(&f->place, WAIT_MS, &sock);
			if (r == 0)
				(void)report_replace(report, sock, WAIT_MS);
		}
		assert_int_equal(r, 0);
		/* an epoch's end falls into each of the first rounds */
		if (i < 2)
			pause_ms(30);
	}
	report_free(report);
	return number;
}

static void
end_recorder(void)
{
	pid_t pid;

	if (recorders(&pid) > 0)
		(void)kill(pid, SIGTERM); /* or it is being killed just now */
	assert_true(recorders_gone(10000));
}

static void
must_hold(const struct fixture *f, const char *text, const char *session, uint64_t acked)
{
	char said[1024], sql[256];
	int status = run_verify(f, f->log, said, sizeof(said));

	if (status != 0)
		fail_msg("%s: verify: %d %s", text, status, said);
	(void)snprintf(sql, sizeof(sql),
	    "SELECT count(*) FROM rec WHERE session = '%s' AND wseq <= %llu", session,
	    (unsigned long long)acked);
	if (ask_files(f, sql) != (long)acked)
		fail_msg("%s: %ld of %llu acknowledged", text, ask_files(f, sql),
		    (unsigned long long)acked);
	if (ask_files(f, "SELECT count(*) FROM rec WHERE kind IN ('gap', 'break')") != 0)
		fail_msg("%s: a gap or a break", text);
}

/* Was it killed there? */
static bool
killed_at(enum fault_kind kind, uint64_t n, int how)
{
	struct fixture *f = rigged();
	uint64_t acked, more;
	char text[64];
	bool met;

	(void)snprintf(text, sizeof(text), "%s %llu 1 %d\n",
	    kind == FAULT_WRITE ? "write" : "sync", (unsigned long long)n, how);
	order(text);
	acked = tell(f, "a", ROUNDS);
	end_recorder();
	met = counted(kind) >= n;
	must_hold(f, text, "a", acked);
	more = tell(f, "b", 1);
	end_recorder();
	must_hold(f, text, "b", more);
	must_hold(f, text, "a", acked);
	rigged_free(f);
	return met;
}

static void
test_every_step(void **state)
{
	static const struct {
		enum fault_kind kind;
		int how;
		const char *what;
	} row[] = {
	    {FAULT_WRITE, FAULT_KILL, "before a write"},
	    {FAULT_WRITE, FAULT_KILL_WITHIN, "within a write"},
	    {FAULT_SYNC, FAULT_KILL, "before a sync"},
	    {FAULT_SYNC, FAULT_KILL_BEHIND, "behind a sync"},
	};
	unsigned int met = 0;
	struct fixture *f;
	uint64_t steps[FAULT_KINDS], acked;

	(void)state;
	if (getenv("KENNEL_AUDIT_KILLS") == NULL) {
		print_message("skipped: by make audit-kill only\n");
		skip();
	}
	f = rigged();
	order(""); /* the control: nobody is killed */
	acked = tell(f, "a", ROUNDS);
	end_recorder();
	must_hold(f, "nothing", "a", acked);
	steps[FAULT_WRITE] = counted(FAULT_WRITE);
	steps[FAULT_SYNC] = counted(FAULT_SYNC);
	assert_true(files_in(f->log, "audit-") > 0); /* a file was closed */
	rigged_free(f);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		unsigned int here = 0;

		for (uint64_t n = 1; n <= steps[row[i].kind]; n++)
			here += killed_at(row[i].kind, n, row[i].how);
		print_message("# killed %u times %s\n", here, row[i].what);
		met += here;
	}
	assert_true(met >= STEPS_MIN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_step)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
