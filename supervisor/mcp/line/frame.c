/*
 * Reads lines from a byte stream and writes bytes to one, with limits and without
 * blocking. Lines are passed on in place and written from there; they are copied
 * once, and only if the receiving peer is slow.
 */
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK     (64u << 10) /* free space for each read, at least */
#define KEEP_IDLE (2u << 20)  /* above this, memory is released when empty */

/* ---- in ----------------------------------------------------------------- */

int
frame_in_init(struct frame_in *in, int fd, size_t limit)
{
	memset(in, 0, sizeof(*in));
	in->data = malloc(CHUNK);
	if (in->data == NULL)
		return -ENOMEM;
	in->fd = fd;
	in->cap = CHUNK;
	in->limit = limit;
	return 0;
}

void
frame_in_free(struct frame_in *in)
{
	free(in->data);
	in->data = NULL;
}

void
frame_in_again(struct frame_in *in, int fd)
{
	struct frame_in next = {
	    .fd = fd, .data = in->data, .cap = in->cap, .limit = in->limit};

	*in = next;
}

static int
resize(struct frame_in *in, size_t cap)
{
	uint8_t *data = realloc(in->data, cap);

	if (data == NULL)
		return -ENOMEM;
	in->data = data;
	in->cap = cap;
	return 0;
}

/*
 * Makes room for a read. Lines already returned are discarded. A partial line moves
 * to the front only when the space after it is short, and the buffer doubles, so each
 * byte moves a bounded number of times.
 */
static int
make_room(struct frame_in *in)
{
	if (in->head == in->len) {
		in->head = in->seen = in->len = 0;
		if (in->cap > KEEP_IDLE)
			(void)resize(in, CHUNK); /* on failure the size stays: no harm */
	}
	if (in->cap - in->len >= CHUNK / 2)
		return 0;
	if (in->head > 0) {
		memmove(in->data, in->data + in->head, in->len - in->head);
		in->len -= in->head;
		in->seen -= in->head;
		in->head = 0;
	}
	if (in->cap - in->len >= in->cap / 2)
		return 0;
	return resize(in, in->cap * 2);
}

int
frame_fill(struct frame_in *in)
{
	ssize_t n;
	int r;

	if ((r = make_room(in)) < 0)
		return r;
	do
		/* syscalls: read */
		n = read(in->fd, in->data + in->len, in->cap - in->len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	in->len += (size_t)n;
	return n > 0;
}

/* The line at head is too long: scans what is here and discards it. */
static void
skip(struct frame_in *in, size_t upto)
{
	skim_feed(&in->skim, in->data + in->head, upto - in->head);
	in->skipped += upto - in->head;
	in->head = in->seen = upto;
}

/* .NET and PowerShell write a byte order mark first. RFC 8259 lets a reader leave it out, and
 * no reader gets it from here. */
static void
skip_mark(const uint8_t **line, uint64_t *len)
{
	if (*len < sizeof(FRAME_MARK) - 1 ||
	    memcmp(*line, FRAME_MARK, sizeof(FRAME_MARK) - 1) != 0)
		return;
	*line += sizeof(FRAME_MARK) - 1;
	*len -= sizeof(FRAME_MARK) - 1;
}

enum frame_what
frame_next(struct frame_in *in, const uint8_t **ret, uint64_t *ret_len)
{
	uint8_t *newline = in->seen == in->len
			       ? NULL
			       : memchr(in->data + in->seen, '\n', in->len - in->seen);
	size_t end = newline == NULL ? in->len : (size_t)(newline - in->data);

	in->seen = end;
	if (!in->skipping && end - in->head > in->limit) {
		in->skipping = true;
		in->skipped = 0;
		skim_begin(&in->skim);
	}
	if (in->skipping)
		skip(in, end);
	if (newline == NULL)
		return FRAME_NONE;
	*ret = in->data + in->head;
	*ret_len = in->skipping ? in->skipped : end - in->head;
	in->head = in->seen = end + 1;
	if (!in->skipping) {
		skip_mark(ret, ret_len);
		return FRAME_LINE;
	}
	in->skipping = false;
	return FRAME_OVERSIZE;
}

uint64_t
frame_rest(const struct frame_in *in)
{
	return (in->skipping ? in->skipped : 0) + (in->len - in->head);
}

/* ---- out ---------------------------------------------------------------- */

void
frame_out_init(struct frame_out *out, int fd)
{
	memset(out, 0, sizeof(*out));
	out->fd = fd;
	buf_init(&out->queue, FRAME_MAX);
}

void
frame_out_free(struct frame_out *out)
{
	buf_free(&out->queue);
}

size_t
frame_queued(const struct frame_out *out)
{
	size_t n = out->queue.len - out->queue_off;

	for (int i = 0; i < out->part_n; i++)
		n += out->part[i].iov_len;
	return n;
}

/* What is written already takes no room. */
static int
queue_put(struct frame_out *out, const void *bytes, size_t len)
{
	if (out->queue_off > 0 && len > FRAME_MAX - out->queue.len) {
		buf_drop(&out->queue, out->queue_off);
		out->queue_off = 0;
	}
	return buf_put(&out->queue, bytes, len);
}

/* Copies the borrowed parts, after their first `skip_n` bytes, into the queue. */
static int
keep_parts(struct frame_out *out, size_t skip_n)
{
	int r = 0;

	for (int i = 0; r == 0 && i < out->part_n; i++) {
		const uint8_t *p = out->part[i].iov_base;
		size_t len = out->part[i].iov_len, gone = skip_n < len ? skip_n : len;

		skip_n -= gone;
		if (len > gone)
			r = queue_put(out, p + gone, len - gone);
	}
	out->part_n = 0;
	return r;
}

int
frame_put(struct frame_out *out, const void *bytes, size_t len)
{
	struct iovec *last = &out->part[out->part_n - (out->part_n > 0)];
	int r;

	if (out->closed || len == 0)
		return 0;
	if (out->part_n > 0 && (uint8_t *)last->iov_base + last->iov_len == bytes) {
		last->iov_len += len;
		return 0;
	}
	if (out->part_n == FRAME_PARTS && (r = frame_flush(out)) < 0 && r != -EAGAIN)
		return r == -EPIPE ? 0 : r;
	if (out->closed)
		return 0;
	out->part[out->part_n].iov_base = (void *)(uintptr_t)bytes;
	out->part[out->part_n++].iov_len = len;
	return 0;
}

int
frame_say(struct frame_out *out, const void *bytes, size_t len)
{
	int r;

	if (out->closed)
		return 0;
	if ((r = keep_parts(out, 0)) < 0)
		return r;
	return queue_put(out, bytes, len);
}

/* Interprets a failed write: temporary, or the connection is closed. */
static int
write_failed(struct frame_out *out)
{
	if (errno == EAGAIN)
		return -EAGAIN;
	out->closed = true;
	out->part_n = 0;
	buf_clear(&out->queue);
	out->queue_off = 0;
	return -EPIPE;
}

static int
flush_queue(struct frame_out *out)
{
	while (out->queue_off < out->queue.len) {
		/* syscalls: write */
		ssize_t n = write(out->fd, out->queue.data + out->queue_off,
		    out->queue.len - out->queue_off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return write_failed(out);
		out->queue_off += (size_t)n;
	}
	out->queue_off = 0;
	if (out->queue.cap > KEEP_IDLE)
		buf_free(&out->queue);
	buf_clear(&out->queue);
	return 0;
}

int
frame_flush(struct frame_out *out)
{
	ssize_t n;
	int r;

	if (out->closed)
		return 0;
	if (out->queue_off > out->queue.len / 2) {
		buf_drop(&out->queue, out->queue_off);
		out->queue_off = 0;
	}
	if (out->queue.len > 0) {
		if ((r = keep_parts(out, 0)) < 0)
			return r;
		return flush_queue(out);
	}
	if (out->part_n == 0)
		return 0;
	do
		/* syscalls: writev */
		n = writev(out->fd, out->part, out->part_n);
	while (n < 0 && errno == EINTR);
	if (n < 0 && write_failed(out) == -EPIPE)
		return -EPIPE;
	if ((r = keep_parts(out, n < 0 ? 0 : (size_t)n)) < 0)
		return r;
	return out->queue.len > 0 ? -EAGAIN : 0;
}
