/*
 * The cell: the list of steps, and the exchange between the leash and the cell's
 * first process meanwhile.
 *
 * Process: the leash, before it holds a secret; then its child.  Trusts the sealed
 * policy; no decision depends on the child's messages.  Must never leave a partial
 * cell, or go on after a failed step.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "leash/egress/egress.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"

#define CELL_START_MS_MAX 20000 /* e.g. a source on a dead network file system */
#define CELL_END_MS_MAX   2000

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

#define CELL_NAMESPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | \
	    CLONE_NEWCGROUP)

/* The leash's state while it creates the cell. */
struct start {
	const struct cell_order *order;
	struct cell *cell;
	struct cell_ids ids;
	struct cell_bounds bounds;
	char *why;
	int relay_fd; /* borrowed; -1: not started yet */
	int maps_error;
	const char *maps_why; /* NULL: the errno's text */
	bool done;
};

static cell_step_fn step_wait, step_shim;

/*
 * The order.  If a step fails, the user reads "unable to NAME OBJECT: ...".
 */
static const struct {
	const char *name;
	cell_step_fn *take;
	const char *reason;
} steps[] = {
    {"leave the leash's session", ns_open_up,
	"the cell must not inherit the leash's descriptors, terminal or working "
	"directory; dumpable, because the id maps of a process that is not dumpable are "
	"read-only"},
    {"make a network for the cell", net_begin,
	"it takes as long as all the mounts, so it runs in parallel with them; like them "
	"before the ids are set, while the process surely has the capability; so the "
	"sockets count for no limit of the server"},
    {"make the mounts private", mount_private,
	"before any mount is made or cloned, because none may propagate to the host or "
	"back"},
    {"open", mount_open,
	"in the new mount namespace, because a tree can be cloned only there, and with "
	"the caller's own rights, so before the ids change"},
    {"open the device", synthetic_open_devices,
	"from the host's /dev, for the same reason"},
    {"wait for the id maps", step_wait, "ids have no meaning before"},
    {"take the ids", ns_take_ids,
	"before any file is made: the leash's own id may not exist in here"},
    {"open", mount_open_as_user, "directories that only that user may enter"},
    {"reach", mount_reach,
	"report an unreachable path now and by name, not when the server uses it"},
    {"lower", ns_no_more, "while a writable /proc is visible"},
    {"mount the root", mount_root, "not executable, so nothing in it ever is"},
    {"mount", mount_build, "parents before children, in the order of the policy's rows"},
    {"enter the view", mount_enter, "after this no path leads to the host"},
    {"seal the view", mount_seal,
	"after the last mount: no name can be created from here on"},
    {"name", ns_name, "needs the capability over the uts namespace"},
    {"enter the cell's network", net_join,
	"needs the capability over it; nothing of ours has used a network before"},
    {"listen at", net_listening, "only reports: the sockets are on their way"},
    {"open the program", images_open,
	"in the view itself: the gate compares images with these descriptors"},
    {"limit", limits_set, "after the last descriptor has been opened"},
    {"stay with the leash", ns_tie,
	"after the ids are set: setting them clears the parent-death signal"},
    {"drop the capabilities", caps_none, "nothing after this needs one"},
    {"start the shim", step_shim, "the shim applies the last restrictions itself"},
};

/* ---- helpers ------------------------------------------------------------- */

int
cell_blame(struct cell_child *c, int error, const char *object, struct sealed_at at)
{
	snprintf(c->object, sizeof(c->object), "%s", object);
	c->at = at;
	if (error == -ELOOP && c->hint == NULL)
		c->hint = "it now contains a symbolic link that was not there when the "
			  "policy was compiled";
	return error;
}

int
cell_fault(struct cell_child *c, int error, const char *object)
{
	return cell_blame(c, error, object, (struct sealed_at){0, 0});
}

int
cell_say(char why[CELL_WHY_MAX], const struct policy *p, int error,
    const struct cell_reason *w)
{
	char place[256] = "", object[CELL_OBJECT_MAX * 4];

	/* A path comes from the policy, but may be shown on a terminal. */
	log_quote(object, sizeof(object), w->object, strlen(w->object));
	if (w->at.line != 0)
		policy_at(p, w->at, place, sizeof(place));
	snprintf(why, CELL_WHY_MAX, "unable to %s%s%.200s: %s%s%.120s%s", w->step,
	    object[0] != '\0' ? " " : "", object,
	    w->reason != NULL ? w->reason : strerror(-error),
	    place[0] != '\0' ? " (" : "", place, place[0] != '\0' ? ")" : "");
	return error;
}

void
cell_lacks(struct cell *cell, const char *what)
{
	if (cell->lack_n < CELL_LACKS_MAX)
		cell->lack[cell->lack_n++].what = what;
}

const struct sealed_mount *
cell_mounts(const struct cell_order *o, size_t *ret_n)
{
	*ret_n = o->server->mounts.n;
	return o->policy->mount + o->server->mounts.first;
}

/* ---- the child ----------------------------------------------------------- */

static int
say(int channel, uint32_t what)
{
	uint8_t memory[8];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, what);
	return wire_send(channel, &out, NULL, 0);
}

static int
step_wait(struct cell_child *c)
{
	uint8_t memory[16];
	struct wire_in in;
	size_t len;
	int r;

	r = wire_recv(c->channel, memory, sizeof(memory), &len, NULL, 0, NULL);
	if (r != 0)
		return cell_fault(c, r, "");
	wire_in_init(&in, memory, len);
	r = wire_get_u32(&in) == CELL_GO ? 0 : -EBADMSG;
	c->bounds.instances = wire_get_u32(&in);
	c->bounds.watches = wire_get_u32(&in);
	if (r != 0 || wire_end(&in) != 0)
		return cell_fault(c, -EBADMSG, "");
	return 0;
}

static int
step_shim(struct cell_child *c)
{
	static const char *const argv[] = {"kennel-shim", NULL};
	static const char *const envp[] = {NULL};
	int r;

	r = say(c->channel, CELL_DONE);
	if (r == 0) {
		syscall(SYS_execveat, c->shim_fd, "", argv, envp, AT_EMPTY_PATH);
		r = -errno;
	}
	return cell_fault(c, r, "");
}

/* After CELL_DONE the socket uses the shim's protocol, before it ours. */
static void
child_report(struct cell_child *c, size_t step, int error)
{
	uint8_t memory[CELL_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	if (steps[step].take == step_shim) {
		wire_put_u32(&out, SHIM_FAILED);
		wire_put_u32(&out, SHIM_STEP_START);
		wire_put_u32(&out, (uint32_t)-error);
		wire_put_str(&out, "kennel-shim");
	} else {
		wire_put_u32(&out, CELL_FAILED);
		wire_put_u32(&out, (uint32_t)step);
		wire_put_u32(&out, (uint32_t)-error);
		wire_put_u32(&out, c->at.file);
		wire_put_u32(&out, c->at.line);
		wire_put_str(&out, c->object);
		wire_put_str(&out, c->hint != NULL ? c->hint : "");
	}
	(void)wire_send(c->channel, &out, NULL, 0); /* or the end of file */
}

static _Noreturn void
child_run(const struct start *s, int channel)
{
	struct cell_child c = {.order = s->order,
	    .ids = s->ids,
	    .channel = channel,
	    .cgroup = s->cell->cgroup[0] != '\0',
	    .shim_fd = s->order->shim_fd,
	    .host_fd = -1,
	    .root_fd = -1,
	    .hidden = {-1, -1},
	    .parent_fd = -1};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_LEN(steps); i++) {
		c.object[0] = '\0';
		c.at = (struct sealed_at){0, 0};
		r = steps[i].take(&c);
		if (r == 0 && steps[i].take == ns_open_up)
			r = say(c.channel, CELL_READY);
		if (r != 0)
			break;
	}
	/* The last step does not return 0: this process is then the shim. */
	if (i < ARRAY_LEN(steps))
		child_report(&c, i, r);
	_exit(LOG_EXIT_FAILED);
}

/* ---- the leash ----------------------------------------------------------- */

typedef int heard_fn(struct start *, struct wire_in *, int *fds, size_t fds_n);

static int
start_failed(struct start *s, int error, const char *step, const char *reason)
{
	struct cell_reason w = {.step = step, .object = "", .reason = reason};

	return cell_say(s->why, s->order->policy, error, &w);
}

static int
say_go(const struct start *s)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, CELL_GO);
	wire_put_u32(&out, s->bounds.instances);
	wire_put_u32(&out, s->bounds.watches);
	return wire_send(s->cell->channel, &out, NULL, 0);
}

static int
heard_ready(struct start *s, struct wire_in *in, int *fds, size_t fds_n)
{
	int r = wire_end(in);

	if (r == 0)
		r = ns_write_maps(s->cell, &s->ids, &s->maps_why);
	if (r == 0)
		r = say_go(s);
	/* A child that has failed meanwhile has no maps to write; its own reason is on
	 * its way.  A child that waits for them gets the end of file and reports that. */
	s->maps_error = r;
	if (r != 0)
		(void)shutdown(s->cell->channel, SHUT_WR); /* else the deadline applies */
	/* The child has what it needs from us, and takes a while. */
	return r == 0 && s->order->begun != NULL ? s->order->begun(s->order, s->cell) : 0;
}

static int
heard_images(struct start *s, struct wire_in *in, int *fds, size_t fds_n)
{
	struct cell *cell = s->cell;
	size_t n = 0;

	while (n < cell->image_n && cell->image_fd[n] != -1)
		n++;
	if (wire_end(in) != 0 || fds_n == 0 || fds_n > cell->image_n - n)
		return start_failed(s, -EBADMSG, "receive the cell's programs", NULL);
	for (size_t i = 0; i < fds_n; i++) {
		cell->image_fd[n + i] = fds[i];
		fds[i] = -1;
	}
	return 0;
}

/* In order: kennel-egress derives from its own plan what each socket is. */
static int
heard_sockets(struct start *s, struct wire_in *in, int *fds, size_t fds_n)
{
	struct span there = wire_get_bytes(in, WIRE_FDS_MAX);
	uint8_t memory[CELL_PACKET_MAX];
	struct wire_out out;
	int r;

	if (wire_end(in) != 0 || !s->order->has_relay)
		return start_failed(s, -EBADMSG, "receive the cell's sockets", NULL);
	if (s->relay_fd < 0) {
		r = s->order->relay(s->order, &s->relay_fd);
		if (r < 0)
			return r;
	}
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, EGRESS_SOCKETS);
	wire_put_bytes(&out, there.data, there.len);
	r = wire_send(s->relay_fd, &out, fds, fds_n);
	return r < 0 ? start_failed(s, r, "pass the cell's sockets to kennel-egress",
			   r == -EPIPE ? "it has ended" : NULL)
		     : 0;
}

static int
heard_placed(struct start *s, struct wire_in *in, int *fds, size_t fds_n)
{
	return watch_placed(s->cell, s->order, in, fds, fds_n, s->why);
}

static int
heard_absent(struct start *s, struct wire_in *in, int *fds, size_t fds_n)
{
	uint32_t row = wire_get_u32(in);

	if (wire_end(in) != 0 || row >= s->order->server->mounts.n)
		return -EBADMSG;
	if (s->cell->absent_n < CELL_ABSENT_MAX)
		s->cell->absent[s->cell->absent_n++] = row;
	return 0;
}

static int
heard_failed(struct start *s, struct wire_in *in, int *fds, size_t fds_n)
{
	struct cell_reason w = {0};
	uint32_t step, error;
	const char *hint;

	step = wire_get_u32(in);
	error = wire_get_u32(in);
	w.at.file = wire_get_u32(in);
	w.at.line = wire_get_u32(in);
	w.object = wire_get_str(in, CELL_OBJECT_MAX);
	hint = wire_get_str(in, CELL_OBJECT_MAX);
	if (wire_end(in) != 0 || step >= ARRAY_LEN(steps) || error == 0 || error > 4095 ||
	    w.at.file >= s->order->policy->row_n[SEALED_FILES])
		return start_failed(s, -EBADMSG, "make the cell", NULL);
	if (s->maps_error != 0 && steps[step].take == step_wait)
		return start_failed(
		    s, s->maps_error, "map the ids of the cell", s->maps_why);
	w.step = steps[step].name;
	w.reason = hint[0] != '\0' ? hint : NULL;
	return cell_say(s->why, s->order->policy, -(int)error, &w);
}

static int
heard_done(struct start *s, struct wire_in *in, int *fds, size_t fds_n)
{
	size_t n = s->cell->image_n;
	int r;

	if (wire_end(in) != 0 || (n > 0 && s->cell->image_fd[n - 1] == -1))
		return start_failed(s, -EBADMSG, "receive the cell's programs", NULL);
	if (s->cell->cover_n > 0 && (r = watch_begin(s->cell)) < 0)
		return start_failed(s, r, "watch the mounts of the cell", NULL);
	s->done = true;
	return 0;
}

static const struct {
	uint32_t what;
	heard_fn *heard;
} answers[] = {
    {CELL_READY, heard_ready},
    {CELL_PLACED, heard_placed},
    {CELL_ABSENT, heard_absent},
    {CELL_IMAGES, heard_images},
    {CELL_SOCKETS, heard_sockets},
    {CELL_FAILED, heard_failed},
    {CELL_DONE, heard_done},
};

static int
hear(struct start *s, uint64_t until_ns)
{
	struct pollfd p = {.fd = s->cell->channel, .events = POLLIN};
	uint8_t memory[CELL_PACKET_MAX];
	int fds[WIRE_FDS_MAX];
	size_t len, fds_n = 0;
	struct wire_in in;
	uint64_t now = loop_now();
	uint32_t what;
	int r;

	r = now >= until_ns ? 0 : poll(&p, 1, (int)((until_ns - now) / 1000000 + 1));
	if (r < 0 && errno == EINTR)
		return 0;
	if (r <= 0)
		return start_failed(
		    s, r == 0 ? -ETIMEDOUT : -errno, "make the cell", NULL);
	r = wire_recv(
	    s->cell->channel, memory, sizeof(memory), &len, fds, WIRE_FDS_MAX, &fds_n);
	if (r != 0)
		return start_failed(s, r, "make the cell", "its first process died");
	wire_in_init(&in, memory, len);
	what = wire_get_u32(&in);
	r = -EBADMSG;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++)
		if (answers[i].what == what)
			r = answers[i].heard(s, &in, fds, fds_n);
	if (r == -EBADMSG)
		start_failed(s, r, "make the cell", NULL);
	for (size_t i = 0; i < fds_n; i++)
		fd_close(&fds[i]);
	return r;
}

/* All signals are blocked: the leash's handlers must not run in the child. */
static int
cell_clone(struct start *s, int cgroup_fd, int theirs)
{
	struct clone_args args = {.flags = CELL_NAMESPACES | CLONE_PIDFD,
	    .pidfd = (uint64_t)(uintptr_t)&s->cell->pidfd,
	    .exit_signal = SIGCHLD};
	struct rlimit limits[PLACE_LIMITS];
	sigset_t all, before;
	long pid;
	int r = 0;

	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd;
	}
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	place_limits_lower(limits);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		r = -errno;
	place_limits_back(limits);
	if (pid == 0)
		child_run(s, theirs);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		return start_failed(s, r, "make namespaces",
		    r == -EPERM ? "the kernel does not let this user create them; run "
				  "kennel doctor to see what to change"
				: NULL);
	s->cell->pid = (pid_t)pid;
	return 0;
}

static int
cell_open(struct start *s)
{
	const struct cell_order *o = s->order;
	struct cell *cell = s->cell;
	int *image_fd;
	int r;

	r = landlock_check(o, cell, s->why);
	if (r == 0)
		r = ns_choose_ids(o, &s->ids, s->why);
	if (r != 0)
		return r;
	cell->uid = s->ids.uid;
	if (o->server->images.n > CELL_IMAGES_MAX)
		return start_failed(s, -E2BIG, "keep this many programs", NULL);
	image_fd = calloc(o->server->images.n + 1, sizeof(int));
	if (image_fd == NULL)
		return start_failed(s, -ENOMEM, "make the cell", NULL);
	cell->image_fd = image_fd;
	cell->image_n = o->server->images.n;
	for (size_t i = 0; i < cell->image_n; i++)
		cell->image_fd[i] = -1;
	return 0;
}

int
cell_start(const struct cell_order *o, struct cell *ret, char why[CELL_WHY_MAX])
{
	struct cell cell = {.pid = -1,
	    .pidfd = -1,
	    .channel = -1,
	    .mounts_fd = -1,
	    .moves_fd = -1,
	    .place_fd = -1};
	struct start s = {.order = o, .cell = &cell, .why = why, .relay_fd = -1};
	int pair[2] = {-1, -1}, cgroup_fd = -1, r;
	uint64_t until_ns;

	r = cell_open(&s);
	if (r == 0)
		r = limits_prepare(o, &cell, &cgroup_fd, why);
	if (r != 0)
		goto out;
	r = fd_pair(pair);
	if (r != 0) {
		start_failed(&s, r, "make a channel", NULL);
		goto out;
	}
	cell.channel = pair[0];
	watch_prepare(o, &cell);
	r = cell_clone(&s, cgroup_fd, pair[1]);
	fd_close(&pair[1]);
	until_ns = loop_now() + CELL_START_MS_MAX * 1000000ULL;
	s.bounds = place_bounds(o->log_dir, &cell.place_fd);
	if (cell.place_fd < 0)
		cell_lacks(
		    &cell, "a place among the user's servers: inotify for the server");
	while (r == 0 && !s.done)
		r = hear(&s, until_ns);
	if (r != 0)
		goto out;
	if (cell.cover_n == 0)
		fd_close(&cell.moves_fd);
	*ret = cell;
out:
	fd_close(&cgroup_fd);
	if (r != 0)
		cell_free(&cell);
	return r;
}

void
cell_kill(struct cell *cell)
{
	/* When PID 1 ends, so does every process in its namespace. */
	if (cell->pidfd >= 0)
		/* syscalls: pidfd_send_signal */
		syscall(SYS_pidfd_send_signal, cell->pidfd, SIGKILL, NULL, 0);
}

void
cell_free(struct cell *cell)
{
	struct pollfd p = {.fd = cell->pidfd, .events = POLLIN};

	cell_kill(cell);
	if (cell->pidfd >= 0) {
		while (poll(&p, 1, CELL_END_MS_MAX) < 0 && errno == EINTR)
			;
		/* Another waiter for any child may have reaped it. */
		/* syscalls: wait4 */
		(void)waitpid(cell->pid, NULL, __WALL | WNOHANG);
	}
	limits_free(cell);
	fd_close(&cell->pidfd);
	fd_close(&cell->channel);
	fd_close(&cell->mounts_fd);
	fd_close(&cell->moves_fd);
	fd_close(&cell->place_fd);
	free(cell->cover);
	cell->cover = NULL;
	free(cell->move);
	cell->move = NULL;
	cell->cover_n = cell->move_n = 0;
	for (size_t i = 0; i < cell->image_n; i++)
		fd_close(&cell->image_fd[i]);
	free(cell->image_fd);
	cell->image_fd = NULL;
	cell->image_n = 0;
	cell->pid = -1;
}
