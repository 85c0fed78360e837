/*
 * The shim, with this test in the place of the leash: plans that are none, doors
 * that do not shut, servers that do not start, and what PID 1 does until its end.
 * No cell is needed for it: the filter lets everything through.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/shim.h"
#include "tests/unit/child.h"

int shim_main(void); /* shim/main.c's, under this name */

static const struct sock_filter let_all[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
static const struct sock_filter no_program[] = {{BPF_JMP | BPF_JA, 0, 0, 9}};

/* ---- a plan, field by field --------------------------------------------------- */

struct order {
	uint32_t version;
	uint64_t handled_fs;
	const char *rule[4];
	uint64_t rule_fs;
	const struct sock_filter *filter;
	size_t filter_len;
	const char *cwd, *path;
	const char *arg[4];
	uint32_t rule_n, arg_n, env_n; /* said to be; 0: as many as there are */
	bool no_args, trailing;
};

static uint8_t plan_memory[SHIM_PLAN_MAX];

static size_t
plan_put(const struct order *o)
{
	struct wire_out out;
	uint32_t rules = 0, args = 0;

	while (rules < ARRAY_LEN(o->rule) && o->rule[rules] != NULL)
		rules++;
	while (args < ARRAY_LEN(o->arg) && o->arg[args] != NULL)
		args++;
	wire_out_init(&out, plan_memory, sizeof(plan_memory));
	wire_put_u32(&out, o->version != 0 ? o->version : SHIM_VERSION);
	wire_put_u64(&out, o->handled_fs);
	wire_put_u64(&out, 0);
	wire_put_u64(&out, 0);
	wire_put_u32(&out, o->rule_n != 0 ? o->rule_n : rules);
	for (uint32_t i = 0; i < rules; i++) {
		wire_put_str(&out, o->rule[i]);
		wire_put_u64(&out, o->rule_fs);
	}
	wire_put_bytes(&out, o->filter != NULL ? o->filter : let_all,
	    o->filter != NULL ? o->filter_len : sizeof(let_all));
	wire_put_str(&out, o->cwd != NULL ? o->cwd : "/");
	wire_put_str(&out, o->path != NULL ? o->path : "/bin/sh");
	wire_put_u32(&out, o->no_args ? 0 : o->arg_n != 0 ? o->arg_n : args);
	for (uint32_t i = 0; i < args && !o->no_args; i++)
		wire_put_str(&out, o->arg[i]);
	wire_put_u32(&out, o->env_n != 0 ? o->env_n : 1);
	wire_put_str(&out, "PATH=/usr/bin:/bin");
	if (o->trailing)
		wire_put_u8(&out, 1);
	assert_int_equal(out.error, 0);
	return out.len;
}

/* ---- both ends ------------------------------------------------------------------ */

struct shim {
	pid_t pid;
	int channel;
};

static struct shim
shim_start(void)
{
	struct shim s = {.channel = -1};
	int pair[2];

	assert_int_equal(fd_pair(pair), 0);
	s.pid = test_fork();
	assert_true(s.pid >= 0);
	if (s.pid == 0) {
		close(pair[0]);
		if (pair[1] != SHIM_CHANNEL_FD &&
		    (dup2(pair[1], SHIM_CHANNEL_FD) < 0 || close(pair[1]) < 0))
			_exit(99);
		_exit(shim_main());
	}
	close(pair[1]);
	s.channel = pair[0];
	return s;
}

static void
say_with(
    struct shim *s, uint32_t what, uint32_t value, size_t n, const int *fds, size_t fds_n)
{
	uint8_t bytes[16];
	struct wire_out out;

	wire_out_init(&out, bytes, sizeof(bytes));
	wire_put_u32(&out, what);
	if (n > 0)
		wire_put_u32(&out, value);
	assert_int_equal(wire_send(s->channel, &out, fds, fds_n), 0);
}

static void
say(struct shim *s, uint32_t what, uint32_t value, size_t n)
{
	say_with(s, what, value, n, NULL, 0);
}

/* The plan in packets of at most each bytes. */
static void
say_plan(struct shim *s, const struct order *o, size_t each)
{
	size_t len = plan_put(o);

	say(s, SHIM_PLAN, (uint32_t)len, 1);
	for (size_t at = 0; at < len; at += each) {
		size_t n = len - at < each ? len - at : each;

		assert_int_equal(send(s->channel, plan_memory + at, n, 0), (ssize_t)n);
	}
}

static uint32_t
hear(struct shim *s, uint32_t want, uint32_t *ret_second)
{
	struct pollfd p = {.fd = s->channel, .events = POLLIN};
	uint8_t bytes[8192];
	struct wire_in in;
	size_t len = 0;
	uint32_t first;

	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(
	    wire_recv(s->channel, bytes, sizeof(bytes), &len, NULL, 0, NULL), 0);
	wire_in_init(&in, bytes, len);
	assert_int_equal(wire_get_u32(&in), want);
	first = wire_get_u32(&in);
	if (ret_second != NULL)
		*ret_second = wire_get_u32(&in);
	return first;
}

static void
hear_failed(struct shim *s, uint32_t step, int error)
{
	uint32_t number;

	assert_int_equal(hear(s, SHIM_FAILED, &number), step);
	assert_int_equal(number, error);
}

/* Its exit status. */
static int
shim_end(struct shim *s)
{
	int status;

	if (s->channel >= 0)
		close(s->channel);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Until the server may run. */
static struct shim
shim_ready(const struct order *o)
{
	struct shim s = shim_start();

	say_plan(&s, o, SHIM_PACKET_MAX);
	assert_true(hear(&s, SHIM_SHUT, NULL) > SHIM_CHANNEL_FD);
	return s;
}

/* ---- what goes well --------------------------------------------------------------- */

static void
runs(void **state)
{
	const struct order o = {
	    .arg = {"sh", "-c", "test \"$PATH\" = /usr/bin:/bin && exit 7"}};
	size_t each[] = {SHIM_PACKET_MAX, 1, 13};
	struct shim s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(each); i++) {
		s = shim_start();
		say_plan(&s, &o, each[i]);
		(void)hear(&s, SHIM_SHUT, NULL);
		say(&s, SHIM_GO, 0, 0);
		assert_int_equal(WEXITSTATUS(hear(&s, SHIM_EXITED, NULL)), 7);
		assert_int_equal(shim_end(&s), 0);
	}
}

/* What comes with the plan is the server's, at its number, and nobody else's: the
 * first holds "one", the last is the end of a pipe that closes with the server. */
static void
files(void **state)
{
	const struct order o = {.arg = {"sh", "-c",
				    "test \"$(cat /proc/self/fd/100)\" = one && "
				    "test \"$(cat /proc/self/fd/100)\" = one && "
				    "test -e /proc/self/fd/163 && "
				    "! test -e /proc/self/fd/164 && exit 9"}};
	struct shim s = shim_start();
	struct pollfd p = {.events = POLLIN};
	int fds[SHIM_FILES_MAX], ends[2];
	size_t len = plan_put(&o);

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fd_sealed("one", "one", 3, false, &fds[0]), 0);
	for (size_t i = 1; i < ARRAY_LEN(fds); i++)
		fds[i] = i + 1 < ARRAY_LEN(fds) ? fds[0] : ends[1];
	say_with(&s, SHIM_PLAN, (uint32_t)len, 1, fds, ARRAY_LEN(fds));
	close(fds[0]);
	close(ends[1]);
	assert_int_equal(send(s.channel, plan_memory, len, 0), (ssize_t)len);
	(void)hear(&s, SHIM_SHUT, NULL);
	p.fd = ends[0];
	assert_int_equal(poll(&p, 1, 0), 0);
	say(&s, SHIM_GO, 0, 0);
	/* The server is gone, PID 1 may still be there: it holds none. */
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(p.revents, POLLHUP);
	assert_int_equal(WEXITSTATUS(hear(&s, SHIM_EXITED, NULL)), 9);
	assert_int_equal(shim_end(&s), 0);
	close(ends[0]);
}

/* Signals of the leash, and those that reach PID 1, are the server's. */
static void
signals(void **state)
{
	const struct order o = {.arg = {"sh", "-c", "exec sleep 60"}};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct shim s = shim_ready(&o);
		uint32_t status;

		say(&s, SHIM_GO, 0, 0);
		if (i == 0)
			say(&s, SHIM_KILL, SIGUSR1, 1);
		else {
			usleep(
			    50000); /* the server is there: else PID 1 has nobody to tell */
			assert_int_equal(kill(s.pid, SIGTERM), 0);
		}
		status = hear(&s, SHIM_EXITED, NULL);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), i == 0 ? SIGUSR1 : SIGTERM);
		assert_int_equal(shim_end(&s), 0);
	}
}

/* A grandchild's end is reaped and is not the server's. */
static void
reaps(void **state)
{
	const struct order o = {.arg = {"sh", "-c", "(exit 3) & (exit 4); wait; exit 5"}};
	struct shim s = shim_ready(&o);

	(void)state;
	say(&s, SHIM_GO, 0, 0);
	assert_int_equal(WEXITSTATUS(hear(&s, SHIM_EXITED, NULL)), 5);
	assert_int_equal(shim_end(&s), 0);
}

/* Landlock: a rule whose path is not there is a right less, no more. */
static void
landlock(void **state)
{
	struct order o = {
	    .handled_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG,
	    .rule = {"/nowhere/at/all", "/dev"},
	    .rule_fs = LANDLOCK_ACCESS_FS_WRITE_FILE,
	    .arg = {
		"sh", "-c", "true > /dev/null && ! true > \"/tmp/kennel-test-shim.$$\""}};
	struct shim s = shim_ready(&o);

	(void)state;
	say(&s, SHIM_GO, 0, 0);
	assert_int_equal(hear(&s, SHIM_EXITED, NULL), 0);
	assert_int_equal(shim_end(&s), 0);
	o.handled_fs = 0; /* the control: without it the file can be made */
	o.arg[2] = ": > \"/tmp/kennel-test-shim.$$\" && rm \"/tmp/kennel-test-shim.$$\"";
	s = shim_ready(&o);
	say(&s, SHIM_GO, 0, 0);
	assert_int_equal(hear(&s, SHIM_EXITED, NULL), 0);
	assert_int_equal(shim_end(&s), 0);
}

/* ---- what does not ------------------------------------------------------------------ */

static void
no_plans(void **state)
{
	static const struct {
		struct order order;
		int error;
	} row[] = {
	    {{.version = 99, .arg = {"x"}}, EPROTO},
	    {{.rule_n = SHIM_RULES_MAX + 1, .arg = {"x"}}, EBADMSG},
	    {{.rule_n = 1000, .arg = {"x"}}, EBADMSG},
	    {{.arg_n = SHIM_ARGS_MAX + 1, .arg = {"x"}}, EBADMSG},
	    {{.env_n = SHIM_ENVS_MAX + 1, .arg = {"x"}}, EBADMSG},
	    {{.env_n = 7, .arg = {"x"}}, EBADMSG},
	    {{.no_args = true}, EBADMSG},
	    {{.trailing = true, .arg = {"x"}}, EBADMSG},
	    {{.filter = let_all, .filter_len = 0, .arg = {"x"}}, EBADMSG},
	    {{.filter = let_all, .filter_len = 7, .arg = {"x"}}, EBADMSG},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct shim s = shim_start();

		say_plan(&s, &row[i].order, SHIM_PACKET_MAX);
		hear_failed(&s, SHIM_STEP_PLAN, row[i].error);
		assert_int_equal(shim_end(&s), 125);
	}
}

static void
no_messages(void **state)
{
	struct shim s = shim_start();

	(void)state;
	say(&s, SHIM_GO, 0, 0); /* no plan */
	hear_failed(&s, SHIM_STEP_PLAN, EBADMSG);
	assert_int_equal(shim_end(&s), 125);
	s = shim_start();
	say(&s, SHIM_PLAN, SHIM_PLAN_MAX + 1, 1);
	hear_failed(&s, SHIM_STEP_PLAN, EBADMSG);
	assert_int_equal(shim_end(&s), 125);
	s = shim_start();
	say(&s, SHIM_PLAN, 100, 1); /* and then nobody */
	assert_int_equal(shim_end(&s), 125);
	s = shim_start();
	assert_int_equal(shim_end(&s), 125); /* nobody at all */
	s = shim_ready(&(struct order){.arg = {"true"}});
	say(&s, SHIM_KILL, 9, 1); /* no go */
	hear_failed(&s, SHIM_STEP_PLAN, EBADMSG);
	assert_int_equal(shim_end(&s), 125);
	s = shim_ready(&(struct order){.arg = {"true"}});
	assert_int_equal(shim_end(&s), 125);
}

/* The leash is gone when the doors are about to shut. */
static void
leash_gone(void **state)
{
	const struct order o = {.arg = {"true"}};
	struct shim s = {.channel = -1};
	size_t len = plan_put(&o);
	int pair[2], hold[2];
	char byte;

	(void)state;
	assert_int_equal(fd_pair(pair), 0);
	assert_int_equal(pipe(hold), 0);
	s.pid = test_fork();
	if (s.pid == 0) {
		close(pair[0]);
		close(hold[1]);
		if (read(hold[0], &byte, 1) != 0)
			_exit(99);
		if (pair[1] != SHIM_CHANNEL_FD && dup2(pair[1], SHIM_CHANNEL_FD) < 0)
			_exit(99);
		_exit(shim_main());
	}
	close(pair[1]);
	s.channel = pair[0];
	say(&s, SHIM_PLAN, (uint32_t)len, 1);
	assert_int_equal(send(s.channel, plan_memory, len, 0), (ssize_t)len);
	close(s.channel);
	s.channel = -1;
	close(hold[0]);
	close(hold[1]);
	assert_int_equal(shim_end(&s), 125);
}

static void
no_doors(void **state)
{
	struct order o = {.arg = {"true"}};
	struct shim s = shim_start();

	(void)state;
	o.filter = no_program; /* jumps out of itself */
	o.filter_len = sizeof(no_program);
	say_plan(&s, &o, SHIM_PACKET_MAX);
	hear_failed(&s, SHIM_STEP_SECCOMP, EINVAL);
	assert_int_equal(shim_end(&s), 125);
	o.filter = NULL;
	o.handled_fs = UINT64_C(1) << 63; /* a right that no kernel knows */
	s = shim_start();
	say_plan(&s, &o, SHIM_PACKET_MAX);
	hear_failed(&s, SHIM_STEP_LANDLOCK, EINVAL);
	assert_int_equal(shim_end(&s), 125);
	o.handled_fs = LANDLOCK_ACCESS_FS_WRITE_FILE;
	o.rule[0] = "/etc/passwd/x";
	s = shim_start();
	say_plan(&s, &o, SHIM_PACKET_MAX);
	hear_failed(&s, SHIM_STEP_LANDLOCK, ENOTDIR);
	assert_int_equal(shim_end(&s), 125);
	o.rule[0] = "/dev/null";
	o.rule_fs = LANDLOCK_ACCESS_FS_MAKE_DIR; /* on a file, and not handled */
	s = shim_start();
	say_plan(&s, &o, SHIM_PACKET_MAX);
	hear_failed(&s, SHIM_STEP_LANDLOCK, EINVAL);
	assert_int_equal(shim_end(&s), 125);
}

static void
no_server(void **state)
{
	static const struct {
		const char *path, *cwd;
		uint32_t step;
		int error, status;
	} row[] = {
	    {"/nowhere/x", "/", SHIM_STEP_EXEC, ENOENT, 127},
	    {"/etc/passwd/x", "/", SHIM_STEP_EXEC, ENOTDIR, 127},
	    {"/etc/passwd", "/", SHIM_STEP_EXEC, EACCES, 126},
	    {"/bin/true", "/dev/null", SHIM_STEP_CWD, ENOTDIR, 125},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const struct order o = {
		    .path = row[i].path, .cwd = row[i].cwd, .arg = {"x"}};
		struct shim s = shim_ready(&o);

		say(&s, SHIM_GO, 0, 0);
		hear_failed(&s, row[i].step, row[i].error);
		assert_int_equal(WEXITSTATUS(hear(&s, SHIM_EXITED, NULL)), row[i].status);
		assert_int_equal(shim_end(&s), 0);
	}
}

/* Who is not understood, or gone, is served no longer. */
static void
no_more(void **state)
{
	static const struct {
		uint32_t what, value;
		size_t n;
	} row[] = {
	    {SHIM_KILL, 0, 1}, {SHIM_KILL, NSIG, 1}, {SHIM_GO, 0, 0}, {99, 9, 1}, {0}};
	const struct order o = {.arg = {"sh", "-c", "exec sleep 0.3"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct shim s = shim_ready(&o);

		say(&s, SHIM_GO, 0, 0);
		if (row[i].what != 0)
			say(&s, row[i].what, row[i].value, row[i].n);
		assert_int_equal(shim_end(&s), 125);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(runs),
	    cmocka_unit_test(files),
	    cmocka_unit_test(signals),
	    cmocka_unit_test(reaps),
	    cmocka_unit_test(landlock),
	    cmocka_unit_test(no_plans),
	    cmocka_unit_test(no_messages),
	    cmocka_unit_test(leash_gone),
	    cmocka_unit_test(no_doors),
	    cmocka_unit_test(no_server),
	    cmocka_unit_test(no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
