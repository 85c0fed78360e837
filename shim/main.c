/*
 * kennel-shim: PID 1 of a cell.  Receives the plan, confines itself, starts the
 * server, reaps.
 *
 * Process: inside every namespace of the cell, without a capability.  Holds the
 * plan, secrets in its environment included, until the server's exec.  Trusts
 * only the leash at the other end of the channel.  Must never allocate, parse
 * text, or be dynamically linked.
 */
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/private.h"

#define SHIM_PATH_MAX    4096
#define SHIM_FILTER_MAX  4096 /* instructions; the kernel's own limit */
#define SHIM_EXIT_FAILED 125

static uint8_t memory[SHIM_PLAN_MAX];
static size_t memory_n;
static struct shim_rule rules[SHIM_RULES_MAX];
static const char *args[SHIM_ARGS_MAX + 1];
static const char *envs[SHIM_ENVS_MAX + 1];
static size_t files_n; /* from SHIM_FILE_FD on */

/* ---- messages to the leash ----------------------------------------------- */

int
shim_say(enum shim_message what, uint32_t value, size_t n)
{
	uint8_t bytes[16];
	struct wire_out out;

	wire_out_init(&out, bytes, sizeof(bytes));
	wire_put_u32(&out, what);
	if (n > 0)
		wire_put_u32(&out, value);
	return wire_send(SHIM_CHANNEL_FD, &out, NULL, 0);
}

void
shim_failed(enum shim_step step, int error, const char *detail)
{
	static uint8_t bytes[SHIM_PATH_MAX + 64];
	struct wire_out out;

	wire_out_init(&out, bytes, sizeof(bytes));
	wire_put_u32(&out, SHIM_FAILED);
	wire_put_u32(&out, step);
	wire_put_u32(&out, (uint32_t)-error);
	wire_put_str(&out, detail);
	/* If it cannot be sent, the end of file shows that something failed. */
	(void)wire_send(SHIM_CHANNEL_FD, &out, NULL, 0);
}

/* ---- the plan ------------------------------------------------------------ */

static void
plan_wipe(void)
{
	explicit_bzero(memory, memory_n);
	memory_n = 0;
}

/*
 * Places the descriptors that the server inherits besides its stdio, each at
 * its number.  The shim's own steps open fewer, so these numbers are free.
 */
static int
place_files(const int *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int number = SHIM_FILE_FD + (int)i;

		if (files[i] >= SHIM_FILE_FD)
			return -EBADMSG;
		if (syscall(SYS_dup3, files[i], number, 0) < 0)
			return -errno;
		close(files[i]);
	}
	files_n = n;
	return 0;
}

static int
plan_receive(void)
{
	int files[SHIM_FILES_MAX];
	size_t n = 0;
	uint8_t head[16];
	struct wire_in in;
	size_t got;
	uint32_t total;
	int r;

	r = wire_recv(
	    SHIM_CHANNEL_FD, head, sizeof(head), &got, files, SHIM_FILES_MAX, &n);
	if (r == 0)
		r = place_files(files, n);
	if (r != 0)
		return r;
	wire_in_init(&in, head, got);
	if (wire_get_u32(&in) != SHIM_PLAN)
		return -EBADMSG;
	total = wire_get_u32(&in);
	if (wire_end(&in) != 0 || total > sizeof(memory))
		return -EBADMSG;
	/*
	 * A swapped-out secret would outlive the cell.  A small RLIMIT_MEMLOCK
	 * prevents the lock, and the shim cannot change that.
	 */
	(void)mlock(memory, total);
	while (memory_n < total) {
		r = wire_recv(SHIM_CHANNEL_FD, memory + memory_n, total - memory_n, &got,
		    NULL, 0, NULL);
		if (r != 0)
			return r;
		memory_n += got;
	}
	return 0;
}

/* A counted list of strings; adds a final NULL. */
static int
plan_strings(
    struct wire_in *in, const char **list, uint32_t max, size_t len, uint32_t *ret_n)
{
	uint32_t n = wire_get_u32(in);

	if (n > max)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++)
		list[i] = wire_get_str(in, len);
	list[n] = NULL;
	*ret_n = n;
	return 0;
}

static int
plan_parse(struct shim_plan *ret)
{
	struct shim_plan p = {.rule = rules, .arg = args, .env = envs};
	struct wire_in in;

	wire_in_init(&in, memory, memory_n);
	if (wire_get_u32(&in) != SHIM_VERSION)
		return -EPROTO;
	p.handled_fs = wire_get_u64(&in);
	p.handled_net = wire_get_u64(&in);
	p.scoped = wire_get_u64(&in);
	p.rule_n = wire_get_u32(&in);
	if (p.rule_n > SHIM_RULES_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < p.rule_n; i++) {
		rules[i].path = wire_get_str(&in, SHIM_PATH_MAX);
		rules[i].allowed_fs = wire_get_u64(&in);
	}
	p.filter = wire_get_bytes(&in, SHIM_FILTER_MAX * sizeof(struct sock_filter));
	p.cwd = wire_get_str(&in, SHIM_PATH_MAX);
	p.path = wire_get_str(&in, SHIM_PATH_MAX);
	if (plan_strings(&in, args, SHIM_ARGS_MAX, SHIM_PLAN_MAX, &p.arg_n) != 0 ||
	    plan_strings(&in, envs, SHIM_ENVS_MAX, SHIM_PLAN_MAX, &p.env_n) != 0)
		return -EBADMSG;
	if (wire_end(&in) != 0 || p.filter.len == 0 || p.arg_n == 0 ||
	    p.filter.len % sizeof(struct sock_filter) != 0)
		return -EBADMSG;
	p.file_n = (uint32_t)files_n;
	*ret = p;
	return 0;
}

/* ---- steps --------------------------------------------------------------- */

static void
must(enum shim_step step, int error, const char *detail)
{
	if (error == 0)
		return;
	plan_wipe();
	shim_failed(step, error, detail);
	_exit(SHIM_EXIT_FAILED);
}

static int
wait_go(void)
{
	uint8_t bytes[16];
	struct wire_in in;
	size_t got;
	int r;

	r = wire_recv(SHIM_CHANNEL_FD, bytes, sizeof(bytes), &got, NULL, 0, NULL);
	if (r != 0)
		return r;
	wire_in_init(&in, bytes, got);
	return wire_get_u32(&in) != SHIM_GO || wire_end(&in) != 0 ? -EBADMSG : 0;
}

int
main(void)
{
	struct shim_plan plan = {0};
	const char *detail = "";
	int notify = -1, signals = -1;

	/*
	 * exec made it dumpable again; from here on no other process can read
	 * its memory
	 */
	must(SHIM_STEP_PRIVS, prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0, "");
	must(SHIM_STEP_PLAN, plan_receive(), "");
	must(SHIM_STEP_PLAN, plan_parse(&plan), "");
	must(SHIM_STEP_FORK, reap_signals(&signals), "");
	must(SHIM_STEP_PRIVS, doors_privs(&plan, &detail), detail);
	{
		int r = doors_landlock(&plan, &detail);

		must(SHIM_STEP_LANDLOCK, r, detail);
	}
	must(SHIM_STEP_SECCOMP, doors_seccomp(&plan, &notify), "");
	must(SHIM_STEP_SECCOMP, shim_say(SHIM_SHUT, (uint32_t)notify, 1), "");
	must(SHIM_STEP_PLAN, wait_go(), "");
	close(notify); /* the leash has it; no process in the cell may reply itself */
	reap_run(&plan, signals, plan_wipe);
}
