/*
 * kennel-recorder as it ships, with many writers, killed, starved, lied to.
 * 48 (no record, no act): an event that was acknowledged is in the log, once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <linux/sockios.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "tests/unit/child.h"

#include "tests/unit/audit_fixture.h"

#define WRITERS      8
#define KILLS        20
#define TOLD         600 /* DURABLEs: more than a socket holds */
#define TOLD_AT_ONCE 100

/* what the writers said, beside the log's own records */
#define EXECS "SELECT count(*) FROM rec WHERE kind = 'exec'"

/* Several children that all do the same; each must end with 0. */
static void
in_children(int n, const struct fixture *f, int (*work)(const struct fixture *, int))
{
	pid_t child[64];
	int status;

	for (int i = 0; i < n; i++) {
		child[i] = test_fork();
		if (child[i] == 0)
			_exit(work(f, i));
	}
	for (int i = 0; i < n; i++) {
		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
}

static int
write_many(const struct fixture *f, int which)
{
	char session[32];
	struct report *report;

	(void)snprintf(session, sizeof(session), "w%d", which);
	report = writer_open(f, session);
	for (int i = 0; i < 300; i++) {
		if (write_one(report, session, i % 10 == 9 ? EVENT_GATE : EVENT_FLOW) < 0)
			return 1;
	}
	report_free(report);
	return 0;
}

/* All start at once: one recorder, every event, in each writer's order. */
static void
test_many_writers(void **state)
{
	struct fixture *f = fixture_new();
	pid_t pid;

	(void)state;
	in_children(WRITERS, f, write_many);
	assert_int_equal(recorders(&pid), 1);
	assert_intact(f); /* while it runs */
	assert_int_equal(ask_number(f->db, EXECS), WRITERS * 300);
	assert_int_equal(
	    ask_number(f->db,
		"SELECT count(*) FROM rec a JOIN rec b ON a.writer = b.writer "
		"AND a.wseq = b.wseq + 1 WHERE a.idx < b.idx"),
	    0);
	assert_int_equal(ask_number(f->db, "SELECT count(*) FROM tile WHERE level = 0"),
	    WRITERS * 300 / 256);
	assert_true(recorders_gone(4000));
	assert_int_equal(files_in(f->run, ""), 0); /* no socket stays */
	assert_int_equal(files_in(f->log, "-wal"), 0);
	assert_intact(f);
	fixture_free(f);
}

/* What a killed recorder must not lose: shared with the writers. */
struct tally {
	volatile bool stop;
	volatile bool rest; /* the log stands still */
	volatile uint64_t acked[WRITERS];
};
static struct tally *tally;

static int
write_through_kills(const struct fixture *f, int which)
{
	char session[32];
	struct report *report;
	struct event e;
	uint64_t number = 0;

	(void)snprintf(session, sizeof(session), "w%d", which);
	report = writer_open(f, session);
	while (!tally->stop) {
		int r = 0, sock;

		if (tally->rest) {
			pause_ms(1);
			continue;
		}

		for (int i = 0; i < 20; i++) {
			make_event(&e, session, number);
			r = report_send(
			    report, &e, i % 5 == 4 ? EVENT_GATE : EVENT_FLOW, &number);
			if (r < 0)
				return 1;
		}
		while ((r = report_wait(report, number, WAIT_MS)) == -EPIPE) {
			r = audit_connect(&f->place, WAIT_MS, &sock);
			if (r == 0)
				(void)report_replace(report, sock, WAIT_MS);
		}
		if (r < 0)
			return 2;
		tally->acked[which] = number;
	}
	report_free(report);
	return 0;
}

/* K-10: kill -9 of the recorder at random moments under load. */
static void
killed(const char *config, bool verified, int want)
{
	struct fixture *f = fixture_new();
	pid_t writer[WRITERS], pid;
	int status, kills = 0;
	char sql[256], said[1024];
	bool tampered = false;

	configure(f, config);
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(tally != MAP_FAILED);
	srand((unsigned int)time(NULL));
	for (int i = 0; i < WRITERS; i++) {
		writer[i] = test_fork();
		if (writer[i] == 0)
			_exit(write_through_kills(f, i));
	}
	for (int tries = 0; !tampered && kills < want && tries < 50 * want; tries++) {
		pause_ms(5 + (unsigned int)rand() % 80);
		if (recorders(&pid) == 0)
			continue;
		if (kill(pid, SIGKILL) == 0)
			kills++;
		/* Many kills make a long log, which would be read for ever longer
		 * while it grows. */
		tally->rest = kills > KILLS && kills % 5 == 0;
		if (waitpid(pid, NULL, 0) == pid && verified && kills % 5 == 0)
			tampered = run_verify(f, f->log, said, sizeof(said)) == 1;
		tally->rest = false;
	}
	pause_ms(50);
	tally->stop = true;
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(writer[i], &status, 0), writer[i]);
		assert_int_equal(status, 0);
	}
	if (tampered)
		fail_msg("%s", said);
	assert_int_equal(kills, want);
	assert_true(recorders_gone(4000)); /* it may close a file until then */
	for (int i = 0; i < WRITERS; i++) {
		(void)snprintf(sql, sizeof(sql),
		    "SELECT count(DISTINCT wseq) FROM rec WHERE session = 'w%d' "
		    "AND wseq <= %llu",
		    i, (unsigned long long)tally->acked[i]);
		assert_true(tally->acked[i] > 0);
		assert_int_equal(ask_files(f, sql), tally->acked[i]);
	}
	assert_int_equal(
	    ask_files(f, "SELECT count(*) - count(DISTINCT writer || wseq) FROM rec"), 0);
	assert_int_equal(ask_files(f, "SELECT count(*) FROM rec WHERE kind = 'gap'"), 0);
	assert_intact(f);
	assert_int_equal(files_in(f->run, ""), 0);
	(void)munmap(tally, sizeof(*tally));
	fixture_free(f);
}

/* Several threads read a log that grows under them: each sees it as it was when it
 * opened it, and what one does not see yet is not missing. */
static void
test_verified_while_written(void **state)
{
	struct fixture *f = fixture_new();
	char said[1024];
	int status, tampered = 0;
	pid_t writer;

	(void)state;
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(tally != MAP_FAILED);
	writer = test_fork();
	if (writer == 0)
		_exit(write_through_kills(f, 0));
	for (int i = 0; i < 40 && tampered == 0; i++) {
		pause_ms(10);
		tampered += run_verify(f, f->log, said, sizeof(said)) == 1;
	}
	tally->stop = true;
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	if (tampered > 0)
		fail_msg("%s", said);
	assert_true(tally->acked[0] > 100);
	assert_true(recorders_gone(4000));
	assert_intact(f);
	(void)munmap(tally, sizeof(*tally));
	fixture_free(f);
}

/* How often; more in the long target (tests/soak). */
static int
kills_wanted(void)
{
	const char *more = getenv("KENNEL_AUDIT_KILLS");

	return more != NULL ? atoi(more) : KILLS;
}

static void
test_killed(void **state)
{
	(void)state;
	killed("", true, kills_wanted());
}

/* The same while epochs end every second and files are full at once: a kill falls
 * into their ends.  Verified when the writers stand still: files come faster than
 * all of them are read. */
static void
test_killed_rotating(void **state)
{
	(void)state;
	killed("epoch 1\nsegment 2000\n", false, kills_wanted());
}

/* Files that were closed hold together, and may be removed from the first on. */
static void
test_segments(void **state)
{
	struct fixture *f = fixture_new();
	struct report *report;
	static struct event e;
	uint64_t number;
	char said[1024], path[300];
	int sock;

	(void)state;
	configure(f, "segment 300\n");
	report = writer_open(f, "s");
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 30; k++)
			assert_int_equal(write_one(report, "x", EVENT_FLOW), 0);
		assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	}
	assert_true(files_in(f->log, "audit-") >= 3);
	assert_intact(f);
	assert_int_equal(ask_files(f, EXECS), 40 * 31);
	/* a file taken away that nobody said was */
	(void)snprintf(path, sizeof(path), "%s/audit-%020d.db", f->log, 0);
	(void)snprintf(said, sizeof(said), "%s/away", f->root);
	assert_int_equal(rename(path, said), 0);
	if (run_verify(f, f->log, said, sizeof(said)) != 2)
		fail_msg("%s", said);
	assert_non_null(strstr(said, "no record reports their removal"));
	(void)snprintf(said, sizeof(said), "%s/away", f->root);
	assert_int_equal(rename(said, path), 0);
	assert_intact(f);
	/* who is no auditor may not ask for it */
	event_begin(&e, EVENT_PRUNE);
	event_number(&e, KEY_FIRST, 700);
	assert_int_equal(report_send(report, &e, EVENT_GATE, &number), 0);
	assert_int_equal(report_wait(report, number, WAIT_MS), -EPIPE);
	report_free(report);
	assert_intact(f);
	assert_int_equal(audit_connect(&f->place, WAIT_MS, &sock), 0);
	assert_int_equal(report_open(sock, REPORT_AUDITOR, "", WAIT_MS, &report), 0);
	assert_int_equal(report_send(report, &e, EVENT_GATE, &number), 0);
	assert_int_equal(report_wait(report, number, WAIT_MS), 0);
	report_free(report);
	assert_true(recorders_gone(4000));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(files_in(f->log, ".notes"), 2);
	assert_intact(f);
	fixture_free(f);
}

static int
only_connect(const struct fixture *f, int which)
{
	struct report *report = writer_open(f, "s");

	pause_ms(300);
	report_free(report);
	return 0;
}

/* Twenty spawners at once, ten times: never two recorders of one log. */
static void
test_one_recorder(void **state)
{
	struct fixture *f = fixture_new();
	pid_t pid;

	(void)state;
	for (int i = 0; i < 10; i++) {
		in_children(20, f, only_connect);
		assert_int_equal(recorders(&pid), 1);
		(void)kill(pid, i % 2 == 0 ? SIGKILL : SIGTERM);
		assert_true(recorders_gone(4000));
	}
	assert_intact(f);
	fixture_free(f);
}

/* SIGTERM: what was taken is on disk. */
static void
test_term(void **state)
{
	struct fixture *f = fixture_new();
	struct report *report = writer_open(f, "s");
	pid_t pid;

	(void)state;
	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	assert_int_equal(write_one(report, "x", EVENT_FLOW), 0);
	pause_ms(40); /* it looks again at a busy writer after 3 */
	assert_int_equal(recorders(&pid), 1);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_true(recorders_gone(4000));
	assert_int_equal(ask_number(f->db, EXECS), 2);
	assert_int_equal(
	    ask_number(f->db, "SELECT kind = 'end' FROM rec ORDER BY idx DESC LIMIT 1"),
	    1);
	assert_int_equal(files_in(f->run, ""), 0);
	report_free(report);
	assert_intact(f);
	fixture_free(f);
}

/* ---- liars -------------------------------------------------------------------- */

static int
say(int sock, const struct wire_out *out)
{
	return wire_send(sock, out, NULL, 0);
}

static int
raw_hello(const struct fixture *f, const char *instance)
{
	uint8_t memory[256];
	struct wire_out out;
	size_t len;
	int sock;

	assert_int_equal(audit_connect(&f->place, WAIT_MS, &sock), 0);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, REPORT_HELLO);
	wire_put_u32(&out, REPORT_VERSION);
	wire_put_u32(&out, REPORT_LEASH);
	wire_put_str(&out, "liar");
	wire_put_str(&out, instance);
	wire_put_u32(&out, 1);
	assert_int_equal(say(sock, &out), 0);
	assert_int_equal(poll(&(struct pollfd){sock, POLLIN, 0}, 1, WAIT_MS), 1);
	if (wire_recv(sock, memory, sizeof(memory), &len, NULL, 0, NULL) < 0) {
		close(sock);
		return -1;
	}
	return sock;
}

static void
raw_event(int sock, uint64_t number, const char *fields, size_t fields_len)
{
	uint8_t memory[512];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, REPORT_EVENT);
	wire_put_u64(&out, number);
	wire_put_u32(&out, EVENT_CALL);
	wire_put_u32(&out, EVENT_GATE);
	wire_put_u64(&out, 1);
	wire_put_u64(&out, 2);
	memcpy(memory + out.len, fields, fields_len);
	out.len += fields_len;
	(void)say(sock, &out); /* an event after a hang-up finds nobody */
}

/* The end of the connection, after any DURABLE. */
static bool
hung_up(int sock)
{
	uint8_t memory[64];
	size_t len;
	int r;

	do {
		if (poll(&(struct pollfd){sock, POLLIN, 0}, 1, WAIT_MS) != 1)
			return false;
		r = wire_recv(sock, memory, sizeof(memory), &len, NULL, 0, NULL);
	} while (r == 0);
	return r == -EPIPE;
}

/* Malformed: hung up on, recorded, and nobody else feels it. */
static void
test_malformed(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
	    {"\x00", 1},                                            /* no such key */
	    {"\xff", 1},                                            /* nor this */
	    {"\x0a\x01", 2},                                        /* half a number */
	    {"\x01\xff\xff\xff\x7f", 5},                            /* 2 GiB of text */
	    {"\x01\x01\x00\x00\x00yz", 7},                          /* no NUL behind it */
	    {"\x01\x01\x00\x00\x00y\0\x01\x01\x00\x00\x00y\0", 14}, /* twice */
	};
	struct fixture *f = fixture_new();
	struct report *report = writer_open(f, "good");
	char instance[17];
	size_t n = ARRAY_LEN(bad);

	(void)state;
	assert_int_equal(raw_hello(f, "not hexadecimal!"), -1);
	assert_int_equal(raw_hello(f, "00"), -1);
	for (size_t i = 0; i < n; i++) {
		int sock;

		(void)snprintf(instance, sizeof(instance), "%016zx", i + 1);
		sock = raw_hello(f, instance);
		assert_true(sock >= 0);
		raw_event(sock, 1, bad[i].bytes, bad[i].len);
		assert_true(hung_up(sock));
		close(sock);
	}
	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	assert_int_equal(
	    ask_number(f->db, "SELECT count(*) FROM rec WHERE kind = 'gap'"), n);
	assert_int_equal(
	    ask_number(f->db, "SELECT count(*) FROM rec WHERE session = 'liar'"), 0);
	report_free(report);
	assert_intact(f);
	fixture_free(f);
}

/* An event as it stands in a packet by itself or in one of several. */
static void
put_event(struct wire_out *out, uint64_t number, bool whole)
{
	uint8_t memory[64];
	struct wire_out one;

	wire_out_init(&one, memory, sizeof(memory));
	wire_put_u32(&one, REPORT_EVENT);
	wire_put_u64(&one, number);
	wire_put_u32(&one, EVENT_CALL);
	wire_put_u32(&one, EVENT_GATE);
	wire_put_u64(&one, 1);
	if (whole)
		wire_put_u64(&one, 2);
	wire_put_bytes(out, memory, one.len);
}

/* Several in one packet: taken in order, up to the first that is none. */
static void
test_joined(void **state)
{
	static const char instance[] = "00000000000000bb";
	struct fixture *f = fixture_new();
	struct report *report = writer_open(f, "good");
	int sock = raw_hello(f, instance);
	uint8_t memory[512];
	struct wire_out out;

	(void)state;
	for (int half = 0; half < 3; half++) {
		wire_out_init(&out, memory, sizeof(memory));
		wire_put_u32(&out, REPORT_EVENTS);
		for (uint64_t n = 1; n <= 3; n++)
			put_event(&out, 3 * (uint64_t)half + n, half == 0 || n < 3);
		out.len -= half == 2; /* the last one's NUL */
		assert_int_equal(say(sock, &out), 0);
		if (half == 0)
			continue;
		assert_true(hung_up(sock));
		close(sock);
		sock = half == 1 ? raw_hello(f, instance) : -1;
	}
	/* with it, or before it, those are on disk */
	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	assert_int_equal(
	    ask_number(
		f->db, "SELECT count(*) FROM rec WHERE writer = '00000000000000bb'"),
	    7);
	assert_int_equal(ask_number(f->db, "SELECT max(wseq) FROM rec WHERE writer = "
					   "'00000000000000bb'"),
	    8);
	report_free(report);
	assert_intact(f);
	fixture_free(f);
}

/* One event by itself, and until the recorder has read it. */
static void
say_one(int sock, uint64_t number, uint32_t class)
{
	uint8_t memory[64];
	struct wire_out out;
	int unread = 1;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, REPORT_EVENT);
	wire_put_u64(&out, number);
	wire_put_u32(&out, EVENT_CALL);
	wire_put_u32(&out, class);
	wire_put_u64(&out, 1);
	wire_put_u64(&out, 2);
	assert_int_equal(say(sock, &out), 0);
	while (unread > 0) {
		assert_int_equal(ioctl(sock, SIOCOUTQ, &unread), 0);
		(void)sched_yield();
	}
}

static void
say_some(int sock, uint64_t before)
{
	uint8_t memory[TOLD_AT_ONCE * 64];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, REPORT_EVENTS);
	for (uint64_t n = 1; n <= TOLD_AT_ONCE; n++)
		put_event(&out, before + n, true);
	assert_int_equal(say(sock, &out), 0);
}

/* The next DURABLE; 0: there is none just now. */
static uint64_t
told(int sock, int wait_ms)
{
	uint8_t memory[64];
	struct wire_in in;
	size_t len;

	if (poll(&(struct pollfd){sock, POLLIN, 0}, 1, wait_ms) != 1)
		return 0;
	assert_int_equal(wire_recv(sock, memory, sizeof(memory), &len, NULL, 0, NULL), 0);
	wire_in_init(&in, memory, len);
	assert_int_equal(wire_get_u32(&in), REPORT_DURABLE);
	return wire_get_u64(&in);
}

/* A writer that does not listen until its socket is full, says one thing more that
 * nobody waits for, and listens again: it is not told of what is not on disk yet. */
static void
test_told_late(void **state)
{
	static const char instance[] = "00000000000000cc";
	struct fixture *f = fixture_new();
	int sock = raw_hello(f, instance);
	uint64_t last, heard = 0, messages = 0;
	pid_t pid;

	(void)state;
	for (uint64_t n = 0; n < TOLD; n += TOLD_AT_ONCE)
		say_some(sock, n);
	while (heard < TOLD) {
		last = told(sock, WAIT_MS);
		assert_true(last > heard);
		heard = last;
	}
	close(sock);
	/* again: each is acknowledged at once, as it is there */
	sock = raw_hello(f, instance);
	for (uint64_t n = 1; n <= TOLD; n++)
		say_one(sock, n, EVENT_GATE);
	say_one(sock, TOLD + 1, EVENT_FLOW);
	for (heard = 0; heard <= TOLD; heard = last, messages++) {
		last = told(sock, WAIT_MS);
		assert_true(last > heard);
	}
	assert_int_equal(recorders(&pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(recorders_gone(4000));
	assert_true(messages < TOLD); /* else it was never full */
	assert_int_equal(ask_number(f->db, "SELECT max(wseq) FROM rec WHERE writer = "
					   "'00000000000000cc'"),
	    TOLD + 1);
	close(sock);
	fixture_free(f);
}

/* Numbers that are missing are recorded as missing; those that come twice are
 * acknowledged and written once. */
static void
test_numbers(void **state)
{
	struct fixture *f = fixture_new();
	int sock = raw_hello(f, "00000000000000aa");

	(void)state;
	raw_event(sock, 1, "", 0);
	raw_event(sock, 5, "", 0);
	raw_event(sock, 5, "", 0);
	raw_event(sock, 2, "", 0); /* too late: it counts as sent again */
	pause_ms(100);
	close(sock);
	sock = raw_hello(f, "00000000000000aa");
	raw_event(sock, 5, "", 0);
	raw_event(sock, 6, "", 0);
	pause_ms(100);
	close(sock);
	assert_int_equal(
	    ask_number(
		f->db, "SELECT count(*) FROM rec WHERE writer = '00000000000000aa'"),
	    3);
	assert_int_equal(
	    ask_number(f->db, "SELECT count(*) FROM rec WHERE kind = 'gap' AND "
			      "CAST(body AS TEXT) LIKE '%\"count\":3}}'"),
	    1);
	assert_intact(f);
	fixture_free(f);
}

/* Another user's connection is refused, even with every mode wide open. */
static void
test_other_user(void **state)
{
	struct fixture *f;
	struct report *report;
	char name[64] = "";
	struct dirent *e;
	DIR *dir;
	int status;
	pid_t child;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can become another user\n");
		skip();
	}
	f = fixture_new();
	report = writer_open(f, "s");
	dir = opendir(f->run);
	while ((e = readdir(dir)) != NULL) {
		if (strstr(e->d_name, ".sock") != NULL)
			(void)snprintf(name, sizeof(name), "%.60s", e->d_name);
	}
	child = test_fork();
	if (child == 0) {
		struct sockaddr_un a = {.sun_family = AF_UNIX};
		int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		/* as made: the folder keeps others out; opened: SO_PEERCRED does */
		if (chdir(f->run) < 0 || setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", name);
		if (connect(sock, (struct sockaddr *)&a, sizeof(a)) == 0)
			_exit(3);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(f->root, 0755), 0);
	assert_int_equal(chmod(f->run, 0755), 0);
	assert_int_equal(fchmodat(dirfd(dir), name, 0666, 0), 0);
	closedir(dir);
	child = test_fork();
	if (child == 0) {
		struct sockaddr_un a = {.sun_family = AF_UNIX};
		int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (chdir(f->run) < 0 || setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", name);
		if (connect(sock, (struct sockaddr *)&a, sizeof(a)) < 0)
			_exit(3);
		_exit(hung_up(sock) ? 0 : 4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	report_free(report);
	fixture_free(f);
}

/* ---- a full disk ---------------------------------------------------------------- */

static void
map_self(const char *file, const char *line)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		_exit(77);
	close(fd);
}

/* In namespaces of its own: 1.2 MB of disk, then events until it is full. */
static int
fill_disk(const struct fixture *f)
{
	char line[64];
	unsigned int uid = geteuid(), gid = getegid();
	struct report *report;
	uint64_t acked = 0;
	struct event e;
	int r = 0;
	long rows;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		_exit(77);
	map_self("/proc/self/setgroups", "deny");
	(void)snprintf(line, sizeof(line), "0 %u 1", uid);
	map_self("/proc/self/uid_map", line);
	(void)snprintf(line, sizeof(line), "0 %u 1", gid);
	map_self("/proc/self/gid_map", line);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mkdir(f->log, 0700) < 0 ||
	    mount("tmpfs", f->log, "tmpfs", 0, "size=1200k,mode=700") < 0)
		_exit(77);
	report = writer_open(f, "s");
	while (r == 0 && acked < 100000) {
		uint64_t number;

		make_event(&e, "x", 1);
		r = report_send(report, &e, EVENT_GATE, &number);
		if (r == 0)
			r = report_wait(report, number, WAIT_MS);
		if (r == 0)
			acked = number;
	}
	/* closed on us, nothing promised that is not there */
	if (r != -EPIPE || acked == 0)
		_exit(1);
	rows = ask_number(f->db, "SELECT max(wseq) FROM rec WHERE kind = 'exec'");
	/* the last words, in the room that was kept for them */
	if (ask_number(f->db, "SELECT count(*) FROM rec WHERE kind = 'gap' AND "
			      "CAST(body AS TEXT) LIKE '%the disk is full%'") != 1 ||
	    ask_number(f->db, "SELECT kind = 'end' FROM rec ORDER BY idx DESC LIMIT 1") !=
		1)
		_exit(3);
	_exit(rows >= (long)acked ? 0 : 2);
}

/* ESCAPES 86 */
static void
test_disk_full(void **state)
{
	struct fixture *f = fixture_new();
	pid_t child;
	int status;

	(void)state;
	child = test_fork();
	if (child == 0)
		_exit(fill_disk(f));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(recorders_gone(4000));
	fixture_free(f);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skipped: no user namespace with a tmpfs here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* A log whose records do not give its last root is not written any more, and
 * nobody is welcomed. */
static void
test_tampered_log(void **state)
{
	struct fixture *f = fixture_new();
	struct report *report = writer_open(f, "s");
	sqlite3 *db = NULL;
	char said[256] = "", path[160];
	int sock, fd;

	(void)state;
	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	report_free(report);
	assert_true(recorders_gone(4000));
	report = writer_open(f, "s"); /* the control */
	report_free(report);
	assert_true(recorders_gone(4000));
	assert_int_equal(sqlite3_open(f->db, &db), SQLITE_OK);
	/* the guards are no obstacle to who can write the file */
	assert_int_equal(
	    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
			     "UPDATE cp SET note = replace(note, '/', '+') WHERE size = "
			     "(SELECT max(size) FROM cp)",
			     NULL, NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(audit_connect(&f->place, WAIT_MS, &sock), 0);
	assert_int_equal(report_open(sock, REPORT_LEASH, "s", WAIT_MS, &report), -EPIPE);
	assert_true(recorders_gone(4000));
	(void)snprintf(path, sizeof(path), "%s/recorder.log", f->log);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, said, sizeof(said) - 1) > 0);
	close(fd);
	assert_non_null(strstr(said, "last checkpoint's root"));
	assert_int_equal(files_in(f->run, ""), 0);
	fixture_free(f);
}

/* A recorder that cannot start: an error, at once. */
static void
test_no_recorder(void **state)
{
	struct fixture *f = fixture_new();
	int sock = -1;

	(void)state;
	f->place.recorder = "/nonexistent/kennel-recorder";
	assert_int_equal(audit_connect(&f->place, WAIT_MS, &sock), -ENOENT);
	assert_int_equal(sock, -1);
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_many_writers),
	    cmocka_unit_test(test_verified_while_written),
	    cmocka_unit_test(test_killed),
	    cmocka_unit_test(test_killed_rotating),
	    cmocka_unit_test(test_segments),
	    cmocka_unit_test(test_one_recorder),
	    cmocka_unit_test(test_term),
	    cmocka_unit_test(test_malformed),
	    cmocka_unit_test(test_joined),
	    cmocka_unit_test(test_told_late),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_other_user),
	    cmocka_unit_test(test_disk_full),
	    cmocka_unit_test(test_tampered_log),
	    cmocka_unit_test(test_no_recorder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
