/*
 * The leash as it ships, with this test in the place of supervisor and recorder:
 * launches that are none, a log that does not answer, policies that do not load,
 * and what it is told while its server runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "leash/audit/writer.h"
#include "leash/leash.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "tests/unit/child.h"

#define SESSION "0123456789abcdef"

static char folder[64], program[512], sealed[128];

/* ---- what it is launched with ------------------------------------------------------ */

struct order {
	uint32_t type, version, mode;
	const char *name, *session, *arg;
	uint32_t argc; /* said to be */
	const char *policy;
	size_t fds_n;
	bool trailing, deaf;         /* a recorder that is not there */
	uint32_t approve_n, approve; /* so many, each of this kind */
	bool placeholders;
	uint32_t seed_len, rows; /* of them */
	const char *format;      /* of each */
};

static const struct order good = {LEASH_LAUNCH, LEASH_VERSION, LEASH_RUN, "t", SESSION,
    NULL, 0, sealed, 3, false, false, 0, 0};

struct leash_child {
	pid_t pid;
	int channel, recorder;
};

static void
say(int sock, const struct wire_out *out, const int *fds, size_t fds_n)
{
	assert_int_equal(wire_send(sock, out, fds, fds_n), 0);
}

static struct leash_child
leash_start(void)
{
	struct leash_child c = {.recorder = -1};
	int pair[2];

	assert_int_equal(fd_pair(pair), 0);
	c.pid = test_fork();
	if (c.pid == 0) {
		char *argv[] = {(char *)"kennel-leash", NULL}, *envp[] = {NULL};

		if (dup2(pair[1], LEASH_CHANNEL_FD) < 0 ||
		    fcntl(LEASH_CHANNEL_FD, F_SETFD, 0) < 0)
			_exit(99);
		execve(program, argv, envp);
		_exit(98);
	}
	close(pair[1]);
	c.channel = pair[0];
	return c;
}

/* The file as the supervisor passes it; /dev/null, as nobody does. */
static int
policy_open(const char *path)
{
	static uint8_t data[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = -1;
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, data, sizeof(data));
	if (n <= 0)
		return fd;
	close(fd);
	assert_int_equal(fd_sealed("policy", data, (size_t)n, false, &r), 0);
	return r;
}

static struct leash_child
launch(const struct order *o)
{
	struct leash_child c = leash_start();
	uint8_t memory[4096];
	struct wire_out out;
	int fds[3], recorder[2];

	assert_int_equal(fd_pair(recorder), 0);
	fds[0] = policy_open(o->policy);
	fds[1] = recorder[1];
	fds[2] = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fds[0] >= 0 && fds[2] >= 0);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, o->type);
	wire_put_u32(&out, o->version);
	wire_put_u32(&out, o->mode);
	wire_put_str(&out, o->name);
	wire_put_str(&out, o->session);
	wire_put_u32(&out, o->argc);
	if (o->arg != NULL)
		wire_put_str(&out, o->arg);
	wire_put_u32(&out, o->approve_n);
	for (uint32_t i = 0; i < o->approve_n; i++)
		wire_put_u32(&out, o->approve);
	wire_put_u32(&out, 0);
	wire_put_u32(&out, o->placeholders);
	if (o->placeholders) {
		static const uint8_t seed[2 * LEASH_SEED_LEN];

		wire_put_bytes(&out, seed, o->seed_len);
		wire_put_u32(&out, o->rows);
		for (uint32_t i = 0; i < o->rows && i < 4; i++) {
			wire_put_u32(&out, 0);
			wire_put_str(&out, o->format);
		}
	}
	if (o->trailing)
		wire_put_u8(&out, 0);
	if (o->deaf)
		fd_close(&recorder[0]);
	say(c.channel, &out, fds, o->fds_n);
	c.recorder = recorder[0];
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	return c;
}

/* ---- what it hears and says ---------------------------------------------------------- */

/* The recorder's part: everything is welcome, and on disk at once. */
static void
record(struct leash_child *c)
{
	static uint8_t packet[REPORT_EVENT_MAX];
	struct wire_out out;
	struct wire_in in;
	size_t len;
	uint32_t type;

	if (wire_recv(c->recorder, packet, sizeof(packet), &len, NULL, 0, NULL) < 0) {
		fd_close(&c->recorder);
		return;
	}
	wire_in_init(&in, packet, len);
	type = wire_get_u32(&in);
	uint64_t number = type == REPORT_EVENT ? wire_get_u64(&in) : 0;
	uint8_t memory[16];

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type == REPORT_EVENT ? REPORT_DURABLE : REPORT_WELCOME);
	wire_put_u64(&out, number);
	(void)wire_send(c->recorder, &out, NULL, 0); /* it may be gone */
}

/* The next packet on the channel; 0: its end. */
static uint32_t
hear(struct leash_child *c, struct wire_in *in, uint8_t memory[LEASH_PACKET_MAX])
{
	int fds[3] = {-1, -1, -1};
	size_t len = 0, fds_n = 0;
	struct pollfd p[2];

	for (;;) {
		p[0] = (struct pollfd){.fd = c->channel, .events = POLLIN};
		p[1] = (struct pollfd){.fd = c->recorder, .events = POLLIN};
		assert_true(poll(p, 2, 10000) > 0);
		if (p[1].revents != 0)
			record(c);
		if (p[0].revents == 0)
			continue;
		if (wire_recv(
			c->channel, memory, LEASH_PACKET_MAX, &len, fds, 3, &fds_n) < 0)
			return 0;
		for (size_t i = 0; i < fds_n; i++)
			close(fds[i]);
		wire_in_init(in, memory, len);
		return wire_get_u32(in);
	}
}

static int
leash_end_of(struct leash_child *c)
{
	int status;

	fd_close(&c->channel);
	fd_close(&c->recorder);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	return status;
}

/* It refuses with this status and says why. */
static void
refused(const struct order *o, uint32_t status, const char *why)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct leash_child c = launch(o);
	struct wire_in in;

	assert_int_equal(hear(&c, &in, memory), LEASH_REFUSED);
	assert_int_equal(wire_get_u32(&in), status);
	assert_int_equal(wire_get_u32(&in), LEASH_CAUSE_OTHER);
	assert_string_equal(wire_get_str(&in, LEASH_VARIABLE_MAX), "");
	assert_string_equal(wire_get_str(&in, LEASH_PATH_MAX), "");
	assert_non_null(strstr(wire_get_str(&in, LEASH_TEXT_MAX), why));
	assert_int_equal(wire_end(&in), 0);
	(void)leash_end_of(&c);
}

/* ---- the tests --------------------------------------------------------------------------- */

/* A launch that is none is answered by nobody: who sent it is not the supervisor. */
static void
no_launch(void **state)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct order row[18];
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		row[i] = good;
	row[n++].type = LEASH_END;
	row[n++].version = 99;
	row[n++].mode = 0;
	row[n++].mode = LEASH_EXEC; /* without a program */
	row[n++].session = "short";
	row[n++].argc = LEASH_ARGS_MAX + 1;
	row[n++].argc = 3; /* that do not follow */
	row[n++].fds_n = 2;
	row[n++].fds_n = 0;
	row[n++].trailing = true;
	row[n].approve_n = 1; /* a way that there is not */
	row[n++].approve = 9;
	row[n++].name = "a-name-that-is-longer-than-any-name-of-a-server-may-be-"
			"a-name-that-is-longer-than-any-name-of-a-server-may-be-"
			"a-name-that-is-longer-than-any-name-of-a-server-may-be";
	row[n++].mode = LEASH_LEARN; /* with the secrets themselves */
	for (size_t i = 0; i < 4; i++)
		row[n + i].placeholders = true;
	row[n++].seed_len = LEASH_SEED_LEN - 1;
	row[n++].seed_len = LEASH_SEED_LEN + 1;
	row[n].seed_len = LEASH_SEED_LEN;
	row[n].format = "";
	row[n++].rows = LEASH_SECRETS_MAX + 1;
	row[n].seed_len = LEASH_SEED_LEN;
	row[n].rows = 1;
	row[n++].format = "no-such-format";
	for (size_t i = 0; i < n; i++) {
		struct leash_child c = launch(&row[i]);
		struct wire_in in;
		int status;

		assert_int_equal(hear(&c, &in, memory), 0);
		status = leash_end_of(&c);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == LOG_EXIT_FAILED);
	}
}

/* Nobody launches anything: it ends with its supervisor. */
static void
nobody(void **state)
{
	struct leash_child c = leash_start();
	int status;

	(void)state;
	status = leash_end_of(&c);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == LOG_EXIT_FAILED);
}

static void
refuses(void **state)
{
	struct order o = good;

	(void)state;
	o.deaf = true;
	refused(&o, LOG_EXIT_FAILED, "the audit recorder does not answer");
	o = good;
	o.policy = "/dev/null";
	refused(&o, LOG_EXIT_FAILED, "");
	o.policy = program; /* as much a policy as any other file */
	refused(&o, LOG_EXIT_FAILED, "");
	o = good;
	o.approve_n = 1; /* of a server that has no secret */
	refused(&o, LOG_EXIT_FAILED, "invalid approval list");
	o = good;
	o.placeholders = true;
	o.seed_len = LEASH_SEED_LEN;
	o.rows = 1; /* the same */
	o.format = "github-pat";
	refused(&o, 78, "placeholders");
	o = good;
	o.name = "u";
	refused(&o, 78, "no server with this name");
	o = good;
	o.mode = LEASH_EXEC;
	o.argc = 1;
	o.arg = "/bin/true";
	refused(&o, 126, "");
	o.mode = LEASH_RUN; /* a server of the registry */
	refused(&o, 126, "not granted; to grant it: exec allow /bin/true **");
}

static void
order_end(struct leash_child *c, uint32_t type, uint32_t value, bool with_value)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	if (with_value)
		wire_put_u32(&out, value);
	say(c->channel, &out, NULL, 0);
}

/* A server that runs is ended by a signal, by an end, and by what nobody asks. */
static void
ends(void **state)
{
	static const struct {
		uint32_t type, value;
		bool with_value;
		int signal; /* of the server; 0: the channel just ends */
	} row[] = {
	    {LEASH_SIGNAL, SIGUSR1, true, SIGUSR1},
	    {LEASH_END, 100, true, SIGTERM},
	    {LEASH_SIGNAL, 0, true, 0},
	    {LEASH_SIGNAL, 99, true, 0},
	    {LEASH_END, 0, false, 0},
	    {LEASH_RECORDER, 0, false, 0},
	    {LEASH_LAUNCH, 0, false, 0},
	    {1234, 0, false, 0},
	};
	static uint8_t memory[LEASH_PACKET_MAX];
	struct wire_in in;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct leash_child c = launch(&good);
		uint32_t what = hear(&c, &in, memory);

		if (what == LEASH_REFUSED)
			fail_msg("not started");
		assert_int_equal(what, LEASH_STARTED);
		order_end(&c, row[i].type, row[i].value, row[i].with_value);
		what = hear(&c, &in, memory);
		assert_int_equal(what, row[i].signal != 0 ? LEASH_EXITED : 0);
		if (row[i].signal != 0)
			assert_int_equal(WTERMSIG(wire_get_u32(&in)), row[i].signal);
		assert_int_equal(leash_end_of(&c), 0);
	}
}

/* ---- secrets that a person is asked about -------------------------------------------- */

static void
say_answer(struct leash_child *c, uint32_t type, uint32_t number, uint32_t answer)
{
	uint8_t memory[64];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	wire_put_u32(&out, number);
	wire_put_u32(&out, answer);
	wire_put_str(&out, "somebody");
	say(c->channel, &out, NULL, 0);
}

/* Its question: number, digest; it is about this file. */
static void
asked(struct leash_child *c, uint32_t number, const char *file,
    uint8_t ret[LEASH_DIGEST_LEN])
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct wire_in in;
	struct span digest;

	assert_int_equal(hear(c, &in, memory), LEASH_USE);
	assert_int_equal(wire_get_u32(&in), number);
	assert_true(wire_get_u32(&in) > 0);
	assert_int_equal(wire_get_u32(&in), 1); /* session */
	digest = wire_get_bytes(&in, LEASH_DIGEST_LEN);
	assert_int_equal(digest.len, LEASH_DIGEST_LEN);
	memcpy(ret, digest.data, LEASH_DIGEST_LEN);
	(void)wire_get_str(&in, 64);
	assert_string_equal(wire_get_str(&in, 64), "file");
	assert_string_equal(wire_get_str(&in, 64), file);
	(void)wire_get_str(&in, 256);
	assert_string_equal(wire_get_str(&in, 64), ""); /* nobody signed it */
	assert_int_equal(wire_end(&in), 0);
}

/* S1-78 S1-84: nothing but a yes to each lets a start go on, and no other word does.
 * The control: with both it goes on, and misses the file that is not there. */
static void
uses(void **state)
{
	static const struct {
		uint32_t type, number, answer;
		const char *why;
		enum leash_cause cause;
	} row[] = {
	    {LEASH_ANSWER, 1, LEASH_ONCE, "missing secret: A", LEASH_CAUSE_NO_VALUE},
	    {LEASH_ANSWER, 1, LEASH_SESSION, "missing secret: A", LEASH_CAUSE_NO_VALUE},
	    {LEASH_ANSWER, 1, LEASH_DENY, "a person denied", LEASH_CAUSE_DENIED},
	    {LEASH_ANSWER, 1, LEASH_NOBODY, "timed out", LEASH_CAUSE_UNAPPROVED},
	    {LEASH_ANSWER, 1, 0, "timed out", LEASH_CAUSE_UNAPPROVED},
	    {LEASH_ANSWER, 2, LEASH_ONCE, "unable to request"}, /* nobody was asked */
	    {LEASH_ANSWER, 3, LEASH_ONCE, "unable to request"}, /* twice */
	    {LEASH_ANSWER, 0, LEASH_ONCE, "unable to request"},
	    {LEASH_ANSWER, 4, LEASH_ONCE, "unable to request"},
	    {LEASH_SIGNAL, 1, LEASH_ONCE, "unable to request"},
	    {LEASH_STARTED, 1, LEASH_ONCE, "unable to request"},
	};
	static uint8_t memory[LEASH_PACKET_MAX];
	uint8_t a[LEASH_DIGEST_LEN], c[LEASH_DIGEST_LEN];
	struct order o = good;
	struct wire_in in;

	(void)state;
	o.name = "s";
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct leash_child child = launch(&o);

		asked(&child, 1, "/nowhere/a", a);
		asked(&child, 3, "/nowhere/c", c);
		assert_memory_not_equal(a, c, sizeof(a));
		say_answer(&child, LEASH_ANSWER, 3, LEASH_ONCE);
		say_answer(&child, row[i].type, row[i].number, row[i].answer);
		assert_int_equal(hear(&child, &in, memory), LEASH_REFUSED);
		(void)wire_get_u32(&in);
		assert_int_equal(wire_get_u32(&in), row[i].cause);
		assert_string_equal(wire_get_str(&in, LEASH_VARIABLE_MAX),
		    row[i].cause != LEASH_CAUSE_OTHER ? "A" : "");
		assert_string_equal(wire_get_str(&in, LEASH_PATH_MAX), ""); /* a file */
		if (strstr(wire_get_str(&in, LEASH_TEXT_MAX), row[i].why) == NULL)
			fail_msg("row %zu: not %s", i, row[i].why);
		(void)leash_end_of(&child);
	}
}

/* The supervisor is gone while it asks: it ends, and nothing was resolved. */
static void
uses_alone(void **state)
{
	uint8_t digest[LEASH_DIGEST_LEN];
	struct leash_child c;
	struct order o = good;

	(void)state;
	o.name = "s";
	c = launch(&o);
	asked(&c, 1, "/nowhere/a", digest);
	assert_true(WIFEXITED(leash_end_of(&c)));
}

static int
set_up(void **state)
{
	char cwd[300], command[1200], text[160];
	FILE *f;

	(void)state;
	if (getcwd(cwd, sizeof(cwd)) == NULL)
		return -1;
	(void)snprintf(
	    program, sizeof(program), "%s/build/libexec/kennel/kennel-leash", cwd);
	(void)strcpy(folder, "/var/tmp/kennel-test-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(sealed, sizeof(sealed), "%s/t.sealed", folder);
	(void)snprintf(text, sizeof(text), "%s/t.kennel", folder);
	f = fopen(text, "we");
	if (f == NULL)
		return -1;
	/* asleep until somebody ends it */
	(void)fprintf(f, "server t {\n    run /bin/sleep 60\n}\n");
	(void)fprintf(f, "server s {\n    run /bin/sleep 60\n"
			 "    secret A from file /nowhere/a { approve session }\n"
			 "    secret B from file /nowhere/b\n"
			 "    secret C from file /nowhere/c { approve session }\n}\n");
	(void)fclose(f);
	(void)snprintf(command, sizeof(command),
	    "%s/build/bin/kennel policy compile %s -o %s", cwd, text, sealed);
	return system(command) == 0 ? 0 : -1; /* NOLINT(cert-env33-c): names of ours */
}

static int
tear_down(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command); /* NOLINT(cert-env33-c): names of ours */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_launch),
	    cmocka_unit_test(nobody),
	    cmocka_unit_test(refuses),
	    cmocka_unit_test(ends),
	    cmocka_unit_test(uses),
	    cmocka_unit_test(uses_alone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
