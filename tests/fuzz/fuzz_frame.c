/*
 * Lines out of any bytes that come in any pieces: each line as a plain search
 * for newlines finds it, and what is too long thrown away and counted.  What is
 * then written, in parts, to a reader that is slow comes out byte by byte.
 *
 * Input: one byte of limit, one of piece size, one how often the rest is said.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "supervisor/mcp/line/frame.h"
#include "tests/fuzz/fuzz.h"

#define SAID_MAX (300u << 10)

struct flow {
	struct frame_in in;
	struct frame_out out;
	int feed, drain;     /* our ends */
	const uint8_t *said; /* all of it, and how much was checked */
	size_t said_len, at;
	struct buf wrote; /* what was given to frame_out */
	struct buf got;   /* what came out of it */
};

static void
drain(struct flow *f)
{
	uint8_t piece[4096];
	ssize_t n;

	while ((n = read(f->drain, piece, sizeof(piece))) > 0)
		if (buf_put(&f->got, piece, (size_t)n) < 0)
			abort();
}

static void
flush(struct flow *f)
{
	int r;

	while ((r = frame_flush(&f->out)) == -EAGAIN)
		drain(f);
	if (r < 0 || frame_queued(&f->out) != 0)
		abort();
}

/* The line that a plain search finds next must be this one. */
static void
line(struct flow *f, enum frame_what what, const uint8_t *p, uint64_t len)
{
	const uint8_t *from = f->said + f->at;
	const uint8_t *newline = memchr(from, '\n', f->said_len - f->at);

	/* a byte order mark at the beginning of a line is left out */
	if (what == FRAME_LINE && newline != NULL && newline - from >= 3 &&
	    (uint64_t)(newline - from) <= f->in.limit &&
	    memcmp(from, FRAME_MARK, 3) == 0) {
		from += 3;
		f->at += 3;
	}
	if (newline == NULL || (uint64_t)(newline - from) != len ||
	    (what == FRAME_OVERSIZE) != (len > f->in.limit))
		abort();
	f->at += len + 1;
	if (what == FRAME_OVERSIZE)
		return;
	if (memcmp(p, from, len + 1) != 0)
		abort();
	/* lent, or copied: both must hold until the flush */
	if ((len % 3 == 0 ? frame_say(&f->out, p, len + 1)
			  : frame_put(&f->out, p, len + 1)) < 0 ||
	    buf_put(&f->wrote, p, len + 1) < 0)
		abort();
}

static void
piece(struct flow *f, const uint8_t *bytes, size_t len)
{
	enum frame_what what;
	const uint8_t *p;
	uint64_t n;

	if (write(f->feed, bytes, len) != (ssize_t)len)
		abort();
	while (frame_fill(&f->in) == 1) {
		while ((what = frame_next(&f->in, &p, &n)) != FRAME_NONE)
			line(f, what, p, n);
		flush(f); /* before what was lent is gone */
	}
}

static void
run(struct flow *f, size_t limit, size_t piece_len)
{
	int in[2], out[2];

	if (pipe2(in, O_NONBLOCK | O_CLOEXEC) < 0 ||
	    pipe2(out, O_NONBLOCK | O_CLOEXEC) < 0)
		abort();
	(void)fcntl(out[1], F_SETPIPE_SZ, 4096);
	f->feed = in[1];
	f->drain = out[0];
	if (frame_in_init(&f->in, in[0], limit) < 0)
		abort();
	frame_out_init(&f->out, out[1]);
	for (size_t at = 0; at < f->said_len; at += piece_len)
		piece(f, f->said + at,
		    f->said_len - at < piece_len ? f->said_len - at : piece_len);
	drain(f);
	if (frame_rest(&f->in) != f->said_len - f->at || f->got.len != f->wrote.len ||
	    (f->got.len > 0 && memcmp(f->got.data, f->wrote.data, f->got.len) != 0))
		abort();
	frame_in_free(&f->in);
	frame_out_free(&f->out);
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct flow f = {0};
	size_t times;
	uint8_t *said;

	if (len < 4)
		return 0;
	times = 1 + (size_t)data[2] * data[2];
	if (times > SAID_MAX / (len - 3))
		times = SAID_MAX / (len - 3);
	f.said_len = times * (len - 3);
	if (f.said_len == 0 || (said = malloc(f.said_len)) == NULL)
		return 0;
	for (size_t i = 0; i < times; i++)
		memcpy(said + i * (len - 3), data + 3, len - 3);
	f.said = said;
	buf_init(&f.wrote, SAID_MAX);
	buf_init(&f.got, SAID_MAX);
	/* not more than some hundred pieces: they cost a call each */
	run(&f, (size_t)data[0] * data[0] + 1,
	    1 + (size_t)data[1] * 160 + f.said_len / 200);
	buf_free(&f.wrote);
	buf_free(&f.got);
	free(said);
	return 0;
}
