/*
 * Moves bytes from one socket to the other through a pipe from a small pool.  A
 * pipe per connection would count against the user's limit, above which the kernel
 * makes the user's pipes small.  A flow keeps its pipe only while the other side is
 * slow; if none is free, bytes are copied.
 *
 * Process: kennel-egress.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leash/egress/private.h"

#define ROUNDS_MAX 16 /* per flow and turn of the loop */
#define COPY_BYTES (64u << 10)

int
flow_pipes(struct relay *r)
{
	for (size_t i = 0; i < PIPES_MAX; i++) {
		r->pipe[i][0] = r->pipe[i][1] = -1;
		/* Without a granted host there is no connection: none is free. */
		r->pipe_used[i] = r->dial < 0;
		/* early: pipe2 */
		if (r->dial >= 0 && pipe2(r->pipe[i], O_CLOEXEC | O_NONBLOCK) < 0)
			return -errno;
	}
	return 0;
}

static bool
pipe_take(struct relay *r, struct flow *f)
{
	for (int i = 0; f->pipe < 0 && i < PIPES_MAX; i++)
		if (!r->pipe_used[i]) {
			r->pipe_used[i] = true;
			f->pipe = i;
		}
	return f->pipe >= 0;
}

static void
pipe_give(struct relay *r, struct flow *f)
{
	if (f->pipe >= 0)
		r->pipe_used[f->pipe] = false;
	f->pipe = -1;
}

/* Bytes left in a pipe would be sent on the next connection. */
static void
pipe_drain(struct relay *r, struct flow *f)
{
	static char rest[PIPE_BYTES];
	ssize_t n;

	while (f->held > 0) {
		/* syscalls: read */
		n = read(r->pipe[f->pipe][0], rest, sizeof(rest));
		if (n <= 0)
			relay_end("a pipe does not hold what was put into it");
		f->held -= (size_t)n;
	}
}

void
flow_free(struct relay *r, struct conn *c)
{
	for (int i = CLIENT; i <= SERVER; i++) {
		if (c->flow[i].pipe >= 0)
			pipe_drain(r, &c->flow[i]);
		pipe_give(r, &c->flow[i]);
	}
}

/* 1: some bytes moved; 0: none can; else -errno.  The end: *ret_end. */
static int
fill(struct relay *r, struct side *from, struct flow *f, bool *ret_end)
{
	ssize_t n;

	if (!from->readable || f->held >= PIPE_BYTES)
		return 0;
	/* syscalls: splice */
	n = splice(from->fd, NULL, r->pipe[f->pipe][1], NULL, PIPE_BYTES - f->held,
	    SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (n > 0)
		f->held += (size_t)n;
	else if (n == 0)
		*ret_end = true;
	else if (errno != EAGAIN)
		return -errno;
	else if (f->held == 0) /* else the pipe may be the one that is full */
		from->readable = false;
	return n > 0;
}

static int
pour(struct relay *r, struct side *to, struct flow *f)
{
	ssize_t n;

	if (f->held == 0 || !to->writable)
		return 0;
	n = splice(r->pipe[f->pipe][0], NULL, to->fd, NULL, f->held,
	    SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (n < 0 && errno == EAGAIN) {
		to->writable = false;
		return 0;
	}
	if (n <= 0)
		return n < 0 ? -errno : -EIO;
	f->held -= (size_t)n;
	f->bytes += (uint64_t)n;
	return 1;
}

/* Without a pipe: peeks at the bytes, then discards from the source what the other
 * side accepted. */
static int
copy(struct side *from, struct side *to, struct flow *f, bool *ret_end)
{
	static char bytes[COPY_BYTES];
	ssize_t n, sent;

	n = recv(from->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN) {
		from->readable = false;
		return 0;
	}
	if (n <= 0) {
		*ret_end = n == 0;
		return n < 0 ? -errno : 0;
	}
	sent = send(to->fd, bytes, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0 && errno == EAGAIN) {
		to->writable = false;
		return 0;
	}
	if (sent < 0)
		return -errno;
	if (recv(from->fd, bytes, (size_t)sent, MSG_TRUNC | MSG_DONTWAIT) != sent)
		return -EIO;
	f->bytes += (uint64_t)sent;
	return 1;
}

static int
round_of(struct relay *r, struct side *from, struct side *to, struct flow *f, bool *end)
{
	int in, out;

	if (f->held == 0 && (!from->readable || !to->writable))
		return 0;
	if (f->held == 0 && !pipe_take(r, f))
		return copy(from, to, f, end);
	in = fill(r, from, f, end);
	if (in < 0)
		return in;
	out = pour(r, to, f);
	return out < 0 ? out : in + out;
}

int
flow_move(struct relay *r, struct conn *c, int from)
{
	struct flow *f = &c->flow[from];
	struct side *in = &c->side[from], *to = &c->side[!from];
	bool end = false;
	int e = 1;

	for (int i = 0; e > 0 && !end && i < ROUNDS_MAX && !f->ended; i++)
		e = round_of(r, in, to, f, &end);
	/* send its last bytes first: the end is reported again, as it was not consumed */
	if (end && f->held == 0) {
		/* syscalls: shutdown */
		if (shutdown(to->fd, SHUT_WR) < 0)
			return -errno;
		f->ended = true;
		in->readable = false;
	}
	if (f->held == 0)
		pipe_give(r, f);
	if (e < 0)
		return e;
	return e > 0 && !f->ended ? -EAGAIN : 0;
}
