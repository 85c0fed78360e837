/*
 * The server's side of the commands that its launcher runs. A command is over when its
 * output has ended and the launcher has reported its exit status, in either order.
 */
#include "supervisor/console/command_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/wire.h"

#define STATUS_LOST 125 /* its output was too large */
#define READ_BYTES  65536

static void
close_output(struct command_run *r)
{
	loop_remove(r->runs->loop, r->slot);
	r->slot = -1;
	fd_close(&r->fd);
}

static void
finish(struct command_run *r)
{
	command_fn *fn = r->fn;

	if (!r->ended || r->fd >= 0)
		return;
	r->fn = NULL;
	fn(r->arg, r->status, &r->output);
	buf_free(&r->output);
}

/* ---- what it prints ------------------------------------------------------------- */

static void
on_output(struct loop *loop, int fd, short revents, void *arg)
{
	struct command_run *r = arg;
	static uint8_t bytes[READ_BYTES];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0 && buf_put(&r->output, bytes, (size_t)n) == 0) {
		if (r->more != NULL)
			r->more(r->arg, &r->output);
		return;
	}
	if (n > 0) { /* it is ended by SIGPIPE */
		buf_clear(&r->output);
		r->status = STATUS_LOST;
	}
	close_output(r);
	finish(r);
}

/* ---- the launcher ---------------------------------------------------------------- */

static struct command_run *
find(struct command_runs *c, uint32_t id)
{
	for (size_t i = 0; i < COMMANDS_MAX; i++)
		if (c->run[i].fn != NULL && c->run[i].id == id)
			return &c->run[i];
	return NULL;
}

static int
on_started(struct command_runs *c, struct wire_in *in, int *fd)
{
	struct command_run *r = find(c, wire_get_u32(in));

	if (wire_end(in) < 0 || r == NULL || r->fd >= 0 || *fd < 0)
		return -EBADMSG;
	r->slot = loop_add(c->loop, *fd, POLLIN, on_output, r);
	if (r->slot < 0)
		return r->slot;
	r->fd = *fd;
	*fd = -1;
	return 0;
}

static int
on_ended(struct command_runs *c, struct wire_in *in)
{
	struct command_run *r = find(c, wire_get_u32(in));
	uint32_t status = wire_get_u32(in);

	if (wire_end(in) < 0 || r == NULL || r->ended)
		return -EBADMSG;
	r->ended = true;
	if (r->status == 0)
		r->status = (int)status;
	finish(r);
	return 0;
}

static void
on_launcher(struct loop *loop, int socket, short revents, void *arg)
{
	uint8_t memory[COMMAND_PACKET_MAX];
	struct command_runs *c = arg;
	struct wire_in in;
	size_t len, fds_n;
	uint32_t type;
	int fd = -1;
	/* syscalls: recvmsg */
	int r = wire_recv(socket, memory, sizeof(memory), &len, &fd, 1, &fds_n);

	if (r == -EAGAIN)
		return;
	if (r == 0) {
		wire_in_init(&in, memory, len);
		type = wire_get_u32(&in);
		r = type == COMMAND_STARTED ? on_started(c, &in, &fd)
		    : type == COMMAND_ENDED ? on_ended(c, &in)
					    : -EBADMSG;
		fd_close(&fd);
	}
	if (r < 0)
		loop_stop(loop); /* the launcher has ended */
}

/* ---- what others call -------------------------------------------------------------- */

int
command_runs_open(struct command_runs *c, struct loop *loop, int launcher)
{
	int r = loop_add(loop, launcher, POLLIN, on_launcher, c);

	*c = (struct command_runs){.loop = loop, .launcher = launcher};
	return r < 0 ? r : 0;
}

int
command_runs_ready(struct command_runs *c)
{
	uint8_t memory[COMMAND_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, COMMAND_READY);
	return wire_send(c->launcher, &out, NULL, 0);
}

void
command_report(struct command_runs *c, enum command_report what, uint32_t number)
{
	uint8_t memory[COMMAND_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, COMMAND_REPORT);
	wire_put_u32(&out, what);
	wire_put_u32(&out, number);
	(void)wire_send(c->launcher, &out, NULL, 0); /* its end stops the loop */
}

/* A pipe with the input and its end: *ret_fd, to be closed. 0 or -errno. */
static int
input_pipe(const struct command_call *call, int *ret_fd)
{
	int fd[2]; /* syscalls: pipe2 write close */
	ssize_t n;

	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	n = write(fd[1], call->input, call->input_len);
	fd_close(&fd[1]);
	if (n == (ssize_t)call->input_len) {
		*ret_fd = fd[0];
		return 0;
	}
	fd_close(&fd[0]);
	return -EAGAIN; /* the user's pipes are as small as they can be (pipe(7)) */
}

static int
send_call(struct command_runs *c, const struct command_call *call)
{
	uint8_t memory[COMMAND_PACKET_MAX];
	struct wire_out out;
	int fd = -1, r = call->input != NULL ? input_pipe(call, &fd) : 0;

	if (r < 0)
		return r;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, COMMAND_RUN);
	wire_put_u32(&out, ++c->last_id);
	wire_put_u32(&out, call->command);
	wire_put_u32(&out, (uint32_t)call->word_n);
	for (size_t i = 0; i < call->word_n; i++)
		wire_put_str(&out, call->word[i]);
	r = wire_send(c->launcher, &out, &fd, fd >= 0); /* syscalls: sendmsg */
	fd_close(&fd);
	return r;
}

int
command_run(struct command_runs *c, const struct command_call *call)
{
	struct command_run *run = NULL;
	int r;

	if (!command_words_fit(call->command, call->word, call->word_n) ||
	    call->input_len > COMMAND_INPUT_MAX)
		return -EINVAL;
	for (size_t i = 0; i < COMMANDS_MAX && run == NULL; i++)
		if (c->run[i].fn == NULL)
			run = &c->run[i];
	if (run == NULL)
		return -EBUSY;
	r = send_call(c, call);
	if (r < 0)
		return r;
	*run = (struct command_run){.fn = call->fn,
	    .more = call->more,
	    .arg = call->arg,
	    .id = c->last_id,
	    .fd = -1,
	    .slot = -1,
	    .runs = c};
	buf_init(&run->output, COMMAND_OUTPUT_MAX);
	return 0;
}
