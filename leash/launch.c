/*
 * From an order to a sandboxed server that waits for its go: policy, program,
 * environment, secrets, cell, shim, gate, in this order.  Records precede the acts:
 * secrets are recorded before they are written into the plan, the start before
 * SHIM_GO.
 *
 * Process: the leash, single-threaded, before its loop.  It is sandboxed right
 * before the server may run.  Must never: start the server without one of its
 * secrets, with an incomplete sandbox, or without a record.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/launch.h"
#include "leash/launch_program.h"
#include "leash/network.h"
#include "leash/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#include "leash_syscalls.h"

#define STATUS_INPUT    65
#define STATUS_CONFIG   78
#define RECORD_WAIT_MS  5000
#define SHIM_WAIT_MS    5000
#define VAULT_BYTES     (2u << 20) /* bytes: secrets, and once the whole plan */
#define PLAN_BYTES      SHIM_PLAN_MAX
#define SHIM_IMAGE_MAX  (8u << 20)
#define NO_START_RECORD "unable to record the start in the audit log; nothing was started"

/* Progress of the launch, for messages and for the cleanup. */
struct launch {
	struct leash *l;
	int status;
	char *why; /* LEASH_TEXT_MAX */
	const struct sealed_exec *row;
	uint64_t secrets; /* number of the record of their names, 0: none */
	uint64_t view;    /* number of the record of the view */
};

static int refuse(struct launch *a, int status, int r, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int
refuse(struct launch *a, int status, int r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(a->why, LEASH_TEXT_MAX, format, ap);
	va_end(ap);
	a->status = status;
	return r;
}

/* ---- the program ------------------------------------------------------------- */

/* run: the argv of the policy's own line; its final ** adds nothing. */
static int
program_of_run(struct launch *a)
{
	struct leash *l = a->l;
	const struct policy *p = &l->policy;
	uint32_t n = 1;

	a->row = &p->exec[l->server->run];
	free(l->argv);
	l->argv = calloc((size_t)a->row->args.n + 2, sizeof(*l->argv));
	if (l->argv == NULL)
		return refuse(a, LOG_EXIT_FAILED, -ENOMEM, "out of memory");
	l->path = policy_str(p, p->image[a->row->asked].path);
	l->argv[0] = l->path;
	for (uint32_t i = 0; i < a->row->args.n; i++) {
		const struct sealed_arg *arg = &p->arg[a->row->args.first + i];

		if (arg->kind == ARG_LITERAL)
			l->argv[n++] = policy_str(p, arg->text);
	}
	l->argc = n;
	return 0;
}

/* ---- environment and secrets ---------------------------------------------------- */

static int
plain_values(struct launch *a)
{
	struct leash *l = a->l;
	const struct policy *p = &l->policy;
	struct sealed_range rows = l->server->envs;
	int r = env_new(&l->env);

	for (uint32_t i = rows.first; r == 0 && i < rows.first + rows.n; i++) {
		const struct sealed_env *e = &p->env[i];
		const char *name = policy_str(p, e->name);
		const char *value = policy_str(p, e->value);

		if (e->passed != 0)
			value = getenv(name);
		/* a variable that is not set in the agent's environment is not added */
		if (value != NULL)
			r = env_plain(l->env, name, value);
	}
	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, r,
		    "unable to build the environment: %s", strerror(-r));
	return 0;
}

static int
refuse_missing(struct launch *a, const struct sealed_secret *row, int r, const char *why)
{
	const struct policy *p = &a->l->policy;
	bool vault = row->source == SOURCE_VAULT;
	char at[300];

	return refuse(a, LOG_EXIT_FAILED, r, "%s: missing secret: %s (%s%s%s%s",
	    policy_at(p, row->at, at, sizeof(at)), policy_str(p, row->name),
	    vault ? policy_str(p, row->ref) : "", vault ? "): " : "",
	    why[0] != '\0' ? why : strerror(-r), vault ? "" : ")");
}

/* weak NULL: the value is too large. */
static int
refuse_value(struct launch *a, const struct sealed_secret *row, const char *weak)
{
	const struct policy *p = &a->l->policy;
	const char *name = policy_str(p, row->name);
	char at[300];

	policy_at(p, row->at, at, sizeof(at));
	if (weak == NULL)
		return refuse(a, LOG_EXIT_FAILED, -E2BIG,
		    "%s: secret `%s` has more than 64 lines and secret fields to redact; "
		    "store its secret parts as separate secrets",
		    at, name);
	return refuse(a, LOG_EXIT_FAILED, -EINVAL,
	    "%s: the value of %s is too weak: %s; choose a stronger value, or write `{ "
	    "weak allowed }`",
	    at, name, weak);
}

static int
secret_values(struct launch *a)
{
	struct leash *l = a->l;
	const struct policy *p = &l->policy;
	struct sealed_range rows = l->server->secrets;
	const char *weak = NULL;
	char why[2048] = "";
	int r = 0;

	if (rows.n > LEASH_SECRETS_MAX)
		return refuse(
		    a, STATUS_CONFIG, -E2BIG, "more than %d secrets", LEASH_SECRETS_MAX);
	r = vault_new(VAULT_BYTES + PLAN_BYTES, &l->vault);
	if (r == 0)
		vault_judge(l->vault, writes_find, &l->policy);
	if (r == 0)
		r = scrub_new(&l->scrub);
	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, r,
		    "unable to lock memory for secrets: %s", strerror(-r));
	for (uint32_t i = 0; i < rows.n; i++) {
		const struct sealed_secret *row = &p->secret[rows.first + i];
		struct secret *value = NULL;

		r = secret_resolve(l, row, &value, why, sizeof(why));
		if (r == 0)
			r = secret_give(l, row, value, i, &weak);
		if (r == 0)
			r = vaulted_replaced(l, row, i, why, sizeof(why));
		if (weak != NULL || r == -E2BIG)
			return refuse_value(a, row, weak);
		if (r < 0)
			return refuse_missing(a, row, r, why);
		l->secret[l->secret_n++] = value;
	}
	vaulted_end();
	route_end();
	return 0;
}

/* ---- records ------------------------------------------------------------------ */

static void
begin(struct leash *l, struct event *e, enum event_kind kind)
{
	event_begin(e, kind);
	event_identity(e, policy_str(&l->policy, l->server->name), l->policy.id);
}

static int
record_start(struct leash *l, const struct launch *a)
{
	static struct event e;
	char at[300];

	begin(l, &e, EVENT_START);
	event_text(&e, KEY_VERDICT, "allow");
	event_text(&e, KEY_MODE, l->mode == LEASH_RUN ? "run" : "exec");
	event_text(&e, KEY_PROGRAM, l->path);
	event_text(&e, KEY_RULE, policy_at(&l->policy, a->row->at, at, sizeof(at)));
	/* early: getuid */
	event_number(&e, KEY_UID, getuid());
	return report_send(l->report, &e, EVENT_GATE, NULL);
}

static int
record_view(struct leash *l, const struct cell *cell, uint64_t *ret_number)
{
	static struct event e;
	struct sealed_range rows = l->server->mounts;

	begin(l, &e, EVENT_MOUNTS);
	event_number(&e, KEY_UID, cell->uid);
	event_number(&e, KEY_PID, (uint64_t)cell->pid);
	for (size_t i = 0; i < cell->lack_n; i++)
		event_text(&e, KEY_LACKS, cell->lack[i].what);
	for (uint32_t i = rows.first; i < rows.first + rows.n; i++) {
		const struct sealed_mount *m = &l->policy.mount[i];
		const char *how = (m->right & RIGHT_WRITE) != 0 ? "rw" : "ro";
		char line[600];

		if (m->kind == MOUNT_DIR || m->kind == MOUNT_SYMLINK)
			continue;
		if (m->kind == MOUNT_HIDE)
			how = "hide";
		(void)snprintf(line, sizeof(line), "%s %.500s (%s)", how,
		    policy_str(&l->policy, m->target), policy_why_name(m->why));
		event_text(&e, KEY_MOUNT, line);
	}
	return report_send(l->report, &e, EVENT_GATE, ret_number);
}

/* ---- the cell ------------------------------------------------------------------- */

static int
copy_sealed(int fd, int *ret_fd)
{
	struct stat st;
	void *image;
	size_t len;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || st.st_size > SHIM_IMAGE_MAX)
		return -EFBIG;
	len = (size_t)st.st_size;
	image = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (image == MAP_FAILED)
		return -errno;
	r = fd_sealed("kennel-shim", image, len, true, ret_fd);
	(void)munmap(image, len); /* cannot fail: our mapping */
	return r;
}

/* The shim's image, from this program's directory, as a sealed memfd: later changes of
 * the file do not reach a running cell. */
static int
shim_image(int *ret_fd)
{
	char path[4096], *slash;
	ssize_t n;
	int fd, r;

	/* early: readlink readlinkat */
	n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("kennel-shim"));
	if (n < 0)
		return -errno;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return -ENOENT;
	memcpy(slash + 1, "kennel-shim", sizeof("kennel-shim"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = copy_sealed(fd, ret_fd);
	fd_close(&fd);
	return r;
}

/* The server's uid may differ from ours, and opening /dev/stdout or /dev/stderr by
 * name checks the mode: theirs is the mode for others. */
static int
make_pipe(int ret[2], mode_t theirs)
{
	/* early: pipe2 fchmod */
	if (pipe2(ret, O_CLOEXEC) < 0)
		return -errno;
	return theirs != 0 && fchmod(ret[0], 0600 | theirs) < 0 ? -errno : 0;
}

static int
make_pipes(struct leash *l)
{
	int r = make_pipe(l->server_in, 0004);

	if (r == 0)
		r = make_pipe(l->server_out, 0002);
	if (r == 0)
		r = make_pipe(l->server_err, 0002);
	if (r == 0)
		r = make_pipe(l->pass_out, 0);
	if (r == 0 && l->mode == LEASH_EXEC)
		r = make_pipe(l->pass_err, 0);
	return r;
}

/* One reply of the shim before the server runs. */
static int
shim_answer(struct launch *a, uint32_t *ret_notify)
{
	struct pollfd wait = {a->l->cell.channel, POLLIN, 0};
	uint8_t memory[1024];
	struct wire_in in;
	uint32_t type, step, error;
	size_t len = 0;
	int r;

	if (poll(&wait, 1, SHIM_WAIT_MS) <= 0)
		return refuse(a, LOG_EXIT_FAILED, -ETIMEDOUT, "the shim does not answer");
	r = wire_recv(a->l->cell.channel, memory, sizeof(memory), &len, NULL, 0, NULL);
	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, r, "lost the shim: %s", strerror(-r));
	wire_in_init(&in, memory, len);
	type = wire_get_u32(&in);
	if (type == SHIM_SHUT) {
		*ret_notify = wire_get_u32(&in);
		r = wire_end(&in);
		return r < 0
			   ? refuse(a, LOG_EXIT_FAILED, r, "protocol error from the shim")
			   : 0;
	}
	step = wire_get_u32(&in);
	error = wire_get_u32(&in);
	if (type != SHIM_FAILED || in.error != 0)
		return refuse(
		    a, LOG_EXIT_FAILED, -EBADMSG, "protocol error from the shim");
	return refuse(a, LOG_EXIT_FAILED, -EIO, "unable to %s in the cell: %s",
	    shim_step_name(step), strerror((int)error));
}

/* Sends the plan, which is in locked memory here and in the shim. */
static int
send_plan(struct launch *a, const struct cell_order *order)
{
	struct leash *l = a->l;
	struct wire_out plan;
	const int *files;
	size_t files_n = env_files(l->env, &files);
	void *memory;
	int r;

	memory = vault_scratch(l->vault, PLAN_BYTES);
	if (memory == NULL)
		return refuse(a, LOG_EXIT_FAILED, -ENOMEM,
		    "unable to allocate locked memory for the plan");
	wire_out_init(&plan, memory, PLAN_BYTES);
	r = cell_plan(order, l->path, l->argv, l->argc, &plan);
	if (r == 0) {
		env_write(l->env, &plan);
		r = plan.error;
	}
	if (r == 0)
		r = cell_send_plan(&l->cell, &plan, files, files_n);
	env_files_close(l->env); /* from here on only the server has them */
	vault_scratch_end(l->vault, memory, plan.len);
	return r < 0 ? refuse(a, LOG_EXIT_FAILED, r, "unable to send the plan: %s",
			   strerror(-r))
		     : 0;
}

/*
 * Prepares everything that this process needs before the server may run, then
 * sandboxes it; meanwhile the shim finishes the cell's sandbox.
 */
static int
make_ready(struct launch *a)
{
	struct leash *l = a->l;
	struct gate_order gate = {.policy = &l->policy,
	    .server = l->server,
	    .image_fd = l->cell.image_fd,
	    .image_n = l->cell.image_n,
	    .notify_fd = -1,
	    .env = l->env,
	    .report = l->report,
	    .scrub = l->secret_n > 0 ? l->scrub : NULL,
	    .person = &dispatch_person,
	    .person_arg = l,
	    .explain = l->explain};
	int r = gate_new(&gate, &l->gate);

	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, r, "unable to set up the exec gate: %s",
		    strerror(-r));
	r = leash_watch_output(l);
	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, r,
		    "unable to set up the server's output: %s", strerror(-r));
	/* Nothing is opened from here on.  No Landlock: a process that has it cannot
	 * seize the tasks it traces (tested). */
	r = confine_syscalls(
	    leash_syscalls, sizeof(leash_syscalls) / sizeof(leash_syscalls[0]));
	return r < 0 ? refuse(a, LOG_EXIT_FAILED, r, "unable to confine the leash: %s",
			   strerror(-r))
		     : 0;
}

static int
shut_doors(struct launch *a, const struct cell_order *order)
{
	struct leash *l = a->l;
	uint32_t number = 0;
	int notify = -1, r;

	/* requested before the cell was made: usually on disk by now */
	if (report_wait(l->report, a->secrets, RECORD_WAIT_MS) < 0)
		return refuse(a, LOG_EXIT_FAILED, -EIO,
		    "unable to record the secrets' names in the audit log; no secret was "
		    "used");
	r = send_plan(a, order);
	if (r == 0)
		r = make_ready(a);
	if (r == 0)
		r = shim_answer(a, &number);
	if (r < 0)
		return r;
	r = cell_notify_fd(&l->cell, number, &notify);
	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, r, "unable to set up the exec gate: %s",
		    strerror(-r));
	gate_hear(l->gate, notify);
	return 0;
}

/*
 * Meanwhile the cell is made.  Sends the record of its view to the log (waiting for
 * the disk later would take half of the start), and tests the filter that the shim
 * will install.
 */
static int
cell_begun(const struct cell_order *order, const struct cell *cell)
{
	struct launch *a = order->begun_arg;
	const struct sealed_filter *filter = cell_filter(order);
	char why[256] = "no system call filter for this machine";
	int r = -ENOEXEC;

	if (record_view(a->l, cell, &a->view) < 0)
		return refuse(a, LOG_EXIT_FAILED, -EIO, "%s", NO_START_RECORD);
	if (filter != NULL)
		r = policy_replay(order->policy, filter, why, sizeof(why));
	return r < 0 ? refuse(a, STATUS_INPUT, -EINVAL, "invalid sealed policy: %s", why)
		     : 0;
}

static int
make_cell(struct launch *a)
{
	struct leash *l = a->l;
	struct cell_order order = {.policy = &l->policy,
	    .server = l->server,
	    .shim_fd = -1,
	    .begun = cell_begun,
	    .begun_arg = a};
	char why[CELL_WHY_MAX] = "", lacks[NETWORK_WHY_MAX] = "";
	int r;

	r = network_start(l, lacks);
	if (r < 0)
		return refuse(a, r == -EOPNOTSUPP ? STATUS_CONFIG : LOG_EXIT_FAILED, r,
		    "%s", lacks);
	r = shim_image(&order.shim_fd);
	if (r == 0)
		r = make_pipes(l);
	if (r < 0) {
		fd_close(&order.shim_fd);
		return refuse(a, LOG_EXIT_FAILED, r, "unable to prepare the cell: %s",
		    strerror(-r));
	}
	order.stdin_fd = l->server_in[0];
	order.stdout_fd = l->server_out[1];
	order.stderr_fd = l->server_err[1];
	order.has_relay = true;
	order.relay_fd = l->network->relay;
	r = cell_start(&order, &l->cell, why);
	/* only the server may have its ends, or a pipe never closes */
	fd_close(&order.shim_fd);
	fd_close(&l->server_in[0]);
	fd_close(&l->server_out[1]);
	fd_close(&l->server_err[1]);
	if (r == 0) {
		l->cell_up = true;
		r = network_serve(l);
		if (r < 0)
			return refuse(a, LOG_EXIT_FAILED, r,
			    "unable to start serving in kennel-egress: %s", strerror(-r));
		r = shut_doors(a, &order);
	} else if (why[0] != '\0') /* else cell_begun has set it */
		r = refuse(a, LOG_EXIT_FAILED, r, "%s", why);
	return r;
}

static void
warn_absent(const struct leash *l)
{
	char at[300];

	for (size_t i = 0; i < l->cell.absent_n; i++) {
		const struct sealed_mount *m =
		    &l->policy.mount[l->server->mounts.first + l->cell.absent[i]];

		log_warn("%s is not there: nothing covers it if another program creates "
			 "it while the server runs (%s)",
		    policy_str(&l->policy, m->target),
		    policy_at(&l->policy, m->at, at, sizeof(at)));
	}
}

/* The host may have replaced a name since the mount. */
static int
covers_hold(struct launch *a)
{
	const struct leash *l = a->l;
	int r = cover_check(a->l);
	char at[300];

	warn_absent(l);
	return r == 0 ? 0
		      : refuse(a, LOG_EXIT_FAILED, r,
			    "unable to cover %s: it changed while the server was "
			    "started; start again (%s)",
			    policy_str(&l->policy, l->lost->target),
			    policy_at(&l->policy, l->lost->at, at, sizeof(at)));
}

/* ---- the sequence -------------------------------------------------------------- */

int
launch(struct leash *l, int *ret_status, char why[LEASH_TEXT_MAX])
{
	struct launch a = {.l = l, .status = LOG_EXIT_FAILED, .why = why};
	char traced[512];
	int r;

	r = l->mode == LEASH_RUN ? program_of_run(&a)
				 : program_of_exec(l, &a.row, &a.status, why);
	/* before a helper runs or a file with a secret is read */
	if (r == 0 && record_start(l, &a) < 0)
		r = refuse(&a, LOG_EXIT_FAILED, -EIO, "unable to record the start");
	if (r == 0)
		r = plain_values(&a);
	/* nothing is resolved before the user has approved its use */
	if (r == 0)
		r = uses_ask(l, &a.status, why);
	if (r == 0)
		r = secret_values(&a);
	if (r == 0 && (r = traces_make(l, traced, sizeof(traced))) < 0)
		r = refuse(&a, LOG_EXIT_FAILED, r, "%s", traced);
	if (r == 0 && traces_record(l, &a.secrets) < 0)
		r = refuse(&a, LOG_EXIT_FAILED, -EIO, "unable to record the secrets");
	if (r == 0)
		r = make_cell(&a);
	/* In parallel: reads mountinfo while the view is written to disk. */
	if (r == 0)
		r = covers_hold(&a);
	if (r == 0 && report_wait(l->report, a.view, RECORD_WAIT_MS) < 0)
		r = refuse(&a, LOG_EXIT_FAILED, -EIO, "%s", NO_START_RECORD);
	if (r < 0)
		*ret_status = a.status;
	return r;
}
