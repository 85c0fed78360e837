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
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/launch.h"
#include "leash/launch_program.h"
#include "leash/network.h"
#include "leash/private.h"
#include "leash/refresh.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
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
#define NO_START_RECORD "unable to record the start in the audit log; nothing was started"

/* Progress of the launch. */
struct launch {
	struct leash *l;
	int status;
	char *why; /* LEASH_TEXT_MAX */
	const struct sealed_exec *row;
	uint64_t secrets; /* number of the record of their names, 0: none */
	uint64_t view;    /* number of the record of the view */
	struct cell_order order;
	uint32_t notify; /* the shim's number of the gate's descriptor */
};

typedef int launch_step_fn(struct launch *);

static launch_step_fn find_program, record_start, plain_values, ask_uses, secret_values,
    record_secrets, check_network, prepare_cell, make_cell, serve_network, await_secrets,
    send_plan, make_gate, shim_answer, hear_gate, check_covers, await_view;

/* The order.  Each step refuses the launch by itself, with its own message. */
static const struct {
	const char *name;
	launch_step_fn *take;
	const char *reason; /* why here */
} steps[] = {
    {"find the program", find_program, "the record of the start names it"},
    {"record the start", record_start, "before a helper runs or a secret file is read"},
    {"set plain variables", plain_values, "secrets are added to them"},
    {"ask for approval", ask_uses, "nothing is resolved before its use is approved"},
    {"resolve the secrets", secret_values, "the scrubber knows them before any output"},
    {"record the secrets", record_secrets, "the disk writes while the cell is made"},
    {"check the network", check_network, "no cell is made for what cannot be served"},
    {"prepare the cell", prepare_cell, "the cell gets the shim and the pipes"},
    {"make the cell", make_cell, "the shim receives the plan in it"},
    {"serve the network", serve_network, "the cell's cgroup counts its processes"},
    {"await the secrets' record", await_secrets, "no secret leaves before its record"},
    {"send the plan", send_plan, "the shim finishes the sandbox meanwhile"},
    {"confine the leash", make_gate, "nothing is opened after it"},
    {"await the shim", shim_answer, "the shim reports the complete sandbox"},
    {"take the notifications", hear_gate, "the shim made the descriptor"},
    {"check the covers", check_covers, "the view is written to disk meanwhile"},
    {"await the view's record", await_view, "the server runs only with a record"},
};

static int __attribute__((format(printf, 4, 5)))
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

static int
find_program(struct launch *a)
{
	return a->l->given ? program_of_exec(a->l, &a->row, &a->status, a->why)
			   : program_of_run(a);
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

		if (e->passed != 0) /* if it is set in the agent's environment */
			value = placeholder_passed(l, name, getenv(name));
		if (value != NULL)
			r = env_plain(l->env, name, value);
	}
	return r < 0 ? refuse(a, LOG_EXIT_FAILED, r,
			   "unable to build the environment: %s", strerror(-r))
		     : 0;
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
	const char *name = policy_str(p, row->name), *at;
	char memory[300];

	launch_refused_by(a->l, LEASH_CAUSE_UNFIT, row);
	at = policy_at(p, row->at, memory, sizeof(memory));
	if (weak == NULL)
		return refuse(a, LOG_EXIT_FAILED, -E2BIG,
		    "%s: secret `%s` has more than 64 lines and secret fields to redact; "
		    "store its secret parts as separate secrets",
		    at, name);
	return refuse(a, LOG_EXIT_FAILED, -EINVAL,
	    "%s: the value of %s is too weak: %s; choose a stronger value, or write "
	    "`{ weak allowed }`",
	    at, name, weak);
}

static int
secret_values(struct launch *a)
{
	struct leash *l = a->l;
	const struct policy *p = &l->policy;
	struct sealed_range rows = l->server->secrets;
	const char *weak = NULL;
	struct reason why = {0};
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

		r = secret_for_server(l, i, &value, &why);
		if (r == 0)
			r = secret_give(l, row, value, i, &weak);
		if (r == 0)
			r = launch_vault_replaced(l, row, i, &why);
		if (weak != NULL || r == -E2BIG)
			return refuse_value(a, row, weak);
		if (r < 0)
			return refuse_missing(a, row, r, why.text);
		l->secret[l->secret_n++] = value;
	}
	launch_vault_end();
	route_end();
	placeholder_wipe(l);
	r = refresh_begin(l, &why);
	return r < 0 ? refuse(a, LOG_EXIT_FAILED, r, "%s", why.text) : 0;
}

static int
ask_uses(struct launch *a)
{
	return launch_approval_ask(a->l, &a->status, a->why);
}

/* ---- records ------------------------------------------------------------------ */

static void
begin(struct leash *l, struct event *e, enum event_kind kind)
{
	event_begin(e, kind);
	event_identity(e, policy_str(&l->policy, l->server->name), l->policy.id);
}

static int
record_start(struct launch *a)
{
	static struct event e;
	struct leash *l = a->l;
	char at[300];

	begin(l, &e, EVENT_START);
	event_text(&e, KEY_VERDICT, "allow");
	event_text(&e, KEY_MODE, l->mode == LEASH_RUN ? "run" : "exec");
	event_text(&e, KEY_PROGRAM, l->path);
	event_text(&e, KEY_RULE, policy_at(&l->policy, a->row->at, at, sizeof(at)));
	/* early: getuid */
	event_number(&e, KEY_UID, getuid());
	return report_send(l->report, &e, EVENT_GATE, NULL) < 0
		   ? refuse(a, LOG_EXIT_FAILED, -EIO, "unable to record the start")
		   : 0;
}

static int
record_secrets(struct launch *a)
{
	struct reason why;
	int r = launch_fingerprints_make(a->l, &why);

	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, r, "%s", why.text);
	return launch_fingerprints_record(a->l, &a->secrets) < 0
		   ? refuse(a, LOG_EXIT_FAILED, -EIO, "unable to record the secrets")
		   : 0;
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
		static char line[PATH_MAX + 64];

		if (m->kind == MOUNT_DIR || m->kind == MOUNT_SYMLINK)
			continue;
		if (m->kind == MOUNT_HIDE)
			how = "hide";
		(void)snprintf(line, sizeof(line), "%s %s (%s)", how,
		    policy_str(&l->policy, m->target), policy_why_name(m->why));
		event_text(&e, KEY_MOUNT, line);
	}
	return report_send(l->report, &e, EVENT_GATE, ret_number);
}

/* ---- the cell ------------------------------------------------------------------- */

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
shim_answer(struct launch *a)
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
		a->notify = wire_get_u32(&in);
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
send_plan(struct launch *a)
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
	r = cell_plan(&a->order, l->path, l->argv, l->argc, &plan);
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
make_gate(struct launch *a)
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
	    .explain = l->explain,
	    .learn = l->learn};
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
	r = confine_syscalls(leash_syscalls, ARRAY_LEN(leash_syscalls));
	return r < 0 ? refuse(a, LOG_EXIT_FAILED, r, "unable to confine the leash: %s",
			   strerror(-r))
		     : 0;
}

static int
hear_gate(struct launch *a)
{
	int notify = -1, r = cell_notify_fd(&a->l->cell, a->notify, &notify);

	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, r, "unable to set up the exec gate: %s",
		    strerror(-r));
	gate_hear(a->l->gate, notify);
	return 0;
}

/* Requested before the cell was made: usually on disk by now. */
static int
await_secrets(struct launch *a)
{
	return report_wait(a->l->report, a->secrets, RECORD_WAIT_MS) < 0
		   ? refuse(a, LOG_EXIT_FAILED, -EIO,
			 "unable to record the secrets' names in the audit log; no "
			 "secret was used")
		   : 0;
}

static int
await_view(struct launch *a)
{
	return report_wait(a->l->report, a->view, RECORD_WAIT_MS) < 0
		   ? refuse(a, LOG_EXIT_FAILED, -EIO, "%s", NO_START_RECORD)
		   : 0;
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
check_network(struct launch *a)
{
	char lacks[NETWORK_WHY_MAX] = "";
	int r = network_check(a->l, lacks);

	return r < 0 ? refuse(a, STATUS_CONFIG, r, "%s", lacks) : 0;
}

/* The cell has sockets, and this process has nothing to do before it is complete. */
static int
start_relay(const struct cell_order *order, int *ret_fd)
{
	struct launch *a = order->begun_arg;
	char lacks[NETWORK_WHY_MAX] = "";
	int r = network_start(a->l, lacks);

	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, -EIO, "%s", lacks);
	*ret_fd = a->l->network->relay;
	return 0;
}

static int
prepare_cell(struct launch *a)
{
	struct leash *l = a->l;
	int r;

	a->order = (struct cell_order){.policy = &l->policy,
	    .server = l->server,
	    .shim_fd = l->shim_image,
	    .begun = cell_begun,
	    .begun_arg = a,
	    .has_relay = true,
	    .relay = start_relay};
	if (l->learn)
		a->order.watched = gate_file_calls(&a->order.watched_n);
	r = l->shim_image < 0 ? l->shim_image : make_pipes(l);
	if (r < 0)
		return refuse(a, LOG_EXIT_FAILED, r, "unable to prepare the cell: %s",
		    strerror(-r));
	a->order.log_dir = l->log_dir;
	a->order.stdin_fd = l->server_in[0];
	a->order.stdout_fd = l->server_out[1];
	a->order.stderr_fd = l->server_err[1];
	return 0;
}

static int
make_cell(struct launch *a)
{
	struct leash *l = a->l;
	char why[CELL_WHY_MAX] = "";
	int r = cell_start(&a->order, &l->cell, why);

	/* only the server may have its ends, or a pipe never closes */
	fd_close(&l->shim_image);
	fd_close(&l->server_in[0]);
	fd_close(&l->server_out[1]);
	fd_close(&l->server_err[1]);
	l->cell_up = r == 0;
	if (r < 0 && why[0] != '\0') /* else ours: it is set */
		r = refuse(a, LOG_EXIT_FAILED, r, "%s", why);
	return r;
}

static int
serve_network(struct launch *a)
{
	int r = network_serve(a->l);

	return r < 0 ? refuse(a, LOG_EXIT_FAILED, r,
			   "unable to start serving in kennel-egress: %s", strerror(-r))
		     : 0;
}

/* The host may have replaced a name since the mount. */
static int
check_covers(struct launch *a)
{
	const struct leash *l = a->l;
	int r = cover_check(a->l);
	char at[300];

	cover_warn_absent(l);
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
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(steps); i++) {
		r = steps[i].take(&a);
		if (r < 0)
			log_debug("unable to %s (%s)", steps[i].name, steps[i].reason);
	}
	if (r < 0)
		*ret_status = a.status;
	return r;
}
