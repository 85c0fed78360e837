/*
 * The server's standard output and error on their way out.
 *
 * Process: the leash.  All output of a server passes through here and is redacted
 * here, before any process that talks to an agent or writes a file for people can
 * see it.  Must never: pass on a byte that the scrubber has not released.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "leash/network.h"
#include "leash/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"

#define PUMP_READ_MAX (64u << 10)  /* bytes per read; the default size of a pipe */
#define PUMP_HELD_MAX (512u << 10) /* bytes of one read, redacted and made printable */
#define LOG_FILE_MAX  (1u << 20)   /* bytes; then NAME.log becomes NAME.log.1 */

/* How long a line that may begin a multi-line secret waits for the next line. */
#define PUMP_QUIET_MS 100

static void pump_readable(struct loop *, int, short, void *);
static void pump_writable(struct loop *, int, short, void *);
static void pump_quiet(struct loop *, void *);

/* The name of this server's log file, or of its predecessor. */
static void
log_name(const struct leash *l, const char *suffix, char *out, size_t out_cap)
{
	(void)snprintf(
	    out, out_cap, "%s.log%s", policy_str(&l->policy, l->server->name), suffix);
}

int
pump_open_log(struct leash *l, int *ret_fd, uint64_t *ret_len)
{
	char name[300];
	off_t len;
	int fd;

	log_name(l, "", name, sizeof(name));
	/* The directory is ours with mode 0700, and still: no symbolic link, no fifo
	 * of another user. */
	/* syscalls: openat */
	fd = openat(l->log_dir, name,
	    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	len = lseek(fd, 0, SEEK_END);
	if (len < 0) {
		fd_close(&fd);
		return -ESPIPE;
	}
	*ret_fd = fd;
	*ret_len = (uint64_t)len;
	return 0;
}

/* Starts a new file; removes the one before the last. */
static void
log_rotate(struct pump *p)
{
	char now[300], old[300];
	int fd = -1;
	uint64_t len = 0;

	log_name(p->leash, "", now, sizeof(now));
	log_name(p->leash, ".1", old, sizeof(old));
	/* syscalls: renameat renameat2 */
	if (renameat(p->leash->log_dir, now, p->leash->log_dir, old) < 0 ||
	    pump_open_log(p->leash, &fd, &len) < 0) {
		log_warn("unable to rotate %s: %s; continuing with the old file", now,
		    strerror(errno));
		p->log_len = 0;
		return;
	}
	fd_close(&p->out);
	p->out = fd;
	p->log_len = len;
}

/* Does this byte complete a character that controls a terminal, or that reorders or
 * hides text?  U+0080-9F, U+200B-200F, U+2028-202E, U+2060-206F, U+FEFF. */
static bool
is_hidden(const uint8_t before[2], uint8_t c)
{
	static const struct {
		uint8_t first, second, from, to;
	} marks[] = {
	    {0xe2, 0x80, 0x8b, 0x8f},
	    {0xe2, 0x80, 0xa8, 0xae},
	    {0xe2, 0x81, 0xa0, 0xaf},
	    {0xef, 0xbb, 0xbf, 0xbf},
	};

	if (before[1] == 0xc2 && c < 0xa0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (before[0] == marks[i].first && before[1] == marks[i].second &&
		    c >= marks[i].from && c <= marks[i].to)
			return true;
	return false;
}

/* Processes the next byte: is the text safe in a file that people read?  A character
 * that is not has its last byte written as a number. */
static bool
is_plain(struct printable *s, uint8_t c)
{
	bool plain;

	if (s->need > 0 && (c & 0xc0) == 0x80) {
		s->need--;
		plain = !is_hidden(s->before, c);
	} else {
		s->need = c < 0xc2 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 0;
		plain = s->need > 0 || (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
	}
	s->before[0] = s->before[1];
	s->before[1] = c;
	return plain;
}

/*
 * Control bytes in a log file are data, not commands to the reader's terminal:
 * writes them, and invalid UTF-8, as \xNN, except newline and tab.
 */
static int
make_printable(struct printable *s, const struct buf *in, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < in->len && r == 0; i++) {
		uint8_t c = in->data[i];

		r = is_plain(s, c) ? buf_putc(out, c) : buf_printf(out, "\\x%02x", c);
	}
	return r;
}

int
pump_start(struct pump *p, struct leash *l, int in, int out, bool to_log)
{
	int r;

	p->leash = l;
	p->in = in;
	p->out = out;
	p->to_log = to_log;
	p->messages = l->mode == LEASH_RUN && !to_log;
	p->in_slot = p->out_slot = p->quiet_timer = -1;
	buf_init(&p->held, PUMP_HELD_MAX);
	r = scrub_stream_new(l->scrub, &p->scrub);
	if (r == 0 && p->messages)
		scrub_stream_messages(p->scrub);
	if (r == 0)
		r = fd_nonblock(in, true);
	if (r == 0 && !to_log)
		r = fd_nonblock(out, true);
	if (r == 0)
		r = p->in_slot = loop_add(&l->loop, in, POLLIN, pump_readable, p);
	if (r >= 0)
		r = p->out_slot = loop_add(&l->loop, out, 0, pump_writable, p);
	return r < 0 ? r : 0;
}

bool
pump_done(const struct pump *p)
{
	return p->in < 0 && p->held.len == p->held_off;
}

void
pump_free(struct pump *p)
{
	if (p->leash != NULL) {
		loop_remove(&p->leash->loop, p->in_slot);
		loop_remove(&p->leash->loop, p->out_slot);
		loop_timer_stop(&p->leash->loop, p->quiet_timer);
	}
	p->in_slot = p->out_slot = p->quiet_timer = -1;
	fd_close(&p->in);
	fd_close(&p->out);
	scrub_stream_free(p->scrub);
	p->scrub = NULL;
	buf_free(&p->held);
	p->held_off = 0;
}

/* The reader is gone: from here on the server's output is discarded, so that it meets
 * no full pipe and nothing leaves unredacted. */
static void
pump_deaf(struct pump *p)
{
	loop_remove(&p->leash->loop, p->out_slot);
	p->out_slot = -1;
	fd_close(&p->out);
	buf_clear(&p->held);
	p->held_off = 0;
}

/* Writes what is held; polls for the rest. */
static void
pump_drain(struct pump *p)
{
	while (p->held_off < p->held.len && p->out >= 0) {
		/* syscalls: write */
		ssize_t n =
		    write(p->out, p->held.data + p->held_off, p->held.len - p->held_off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			if (p->to_log)
				log_warn("unable to write the server's log: %s; its "
					 "standard error is no longer kept",
				    strerror(errno));
			pump_deaf(p);
			break;
		}
		p->held_off += (size_t)n;
		p->log_len += (uint64_t)n;
		p->written += (uint64_t)n;
	}
	if (p->held_off >= p->held.len) {
		buf_clear(&p->held);
		p->held_off = 0;
	}
	if (p->to_log && p->out >= 0 && p->log_len > LOG_FILE_MAX)
		log_rotate(p);
	loop_events(&p->leash->loop, p->out_slot, p->held.len > 0 ? POLLOUT : 0);
	if (p->in >= 0)
		loop_events(&p->leash->loop, p->in_slot, p->held.len > 0 ? 0 : POLLIN);
	else if (p->held.len == 0 && !p->to_log) {
		/* everything is written: closing it shows the reader the end */
		loop_remove(&p->leash->loop, p->out_slot);
		p->out_slot = -1;
		fd_close(&p->out);
	}
}

/* Keeps the newest bytes of the log, for the message about the server's end. */
static void
pump_remember(struct pump *p, const uint8_t *bytes, size_t len)
{
	size_t keep;

	if (len > LEASH_LAST_MAX) {
		bytes += len - LEASH_LAST_MAX;
		len = LEASH_LAST_MAX;
	}
	keep = p->last_n < LEASH_LAST_MAX - len ? p->last_n : LEASH_LAST_MAX - len;
	memmove(p->last, p->last + p->last_n - keep, keep);
	if (len > 0)
		memcpy(p->last + keep, bytes, len);
	p->last_n = keep + len;
	p->last[p->last_n] = '\0';
}

enum pump_step { PUMP_BYTES, PUMP_QUIET, PUMP_END };

/* Redacts into held, depending on the step: new bytes; after a delay, the lines held
 * back; at the end of the stream, everything held back. */
static int
pump_scrub(struct pump *p, enum pump_step step, const uint8_t *bytes, size_t len)
{
	struct buf clean, *to;
	int r;

	buf_init(&clean, PUMP_HELD_MAX);
	to = p->to_log ? &clean : &p->held;
	if (step == PUMP_BYTES)
		r = scrub_feed(p->scrub, bytes, len, to);
	else if (step == PUMP_QUIET)
		r = scrub_flush_lines(p->scrub, to);
	else
		r = scrub_flush(p->scrub, to);
	if (r == 0 && p->to_log) {
		size_t before = p->held.len;

		r = make_printable(&p->printable, &clean, &p->held);
		if (r == 0)
			pump_remember(p, p->held.data + before, p->held.len - before);
	}
	buf_free(&clean);
	return r;
}

static void
pump_failed(struct pump *p, int error)
{
	log_error(
	    "unable to redact secrets from the server's output: %s; stopping the server",
	    strerror(-error));
	leash_end(p->leash, "scrub failed");
}

/* Starts the delay for the next line, if a multi-line secret may have begun. */
static void
pump_wait(struct pump *p)
{
	struct loop *loop = &p->leash->loop;

	loop_timer_stop(loop, p->quiet_timer);
	p->quiet_timer = -1;
	if (!p->messages && p->in >= 0 && scrub_holds_lines(p->scrub))
		p->quiet_timer = loop_timer_at(
		    loop, loop_now() + PUMP_QUIET_MS * LOOP_MS, pump_quiet, p);
}

static void
pump_quiet(struct loop *loop, void *arg)
{
	struct pump *p = arg;
	int r = 0;

	p->quiet_timer = -1;
	if (p->held.len > 0)
		pump_wait(p); /* the reader is slow: wait again */
	else
		r = p->out >= 0 ? pump_scrub(p, PUMP_QUIET, NULL, 0) : 0;
	if (r < 0)
		pump_failed(p, r);
	pump_drain(p);
}

static void
pump_readable(struct loop *loop, int fd, short revents, void *arg)
{
	static uint8_t chunk[PUMP_READ_MAX];
	struct pump *p = arg;
	ssize_t n;
	int r;

	if (p->messages)
		network_hear(p->leash);     /* why a call fails, before its answer */
	n = read(fd, chunk, sizeof(chunk)); /* syscalls: read */
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0)
		n = 0;
	if (n == 0)
		r = pump_scrub(p, PUMP_END, NULL, 0);
	else
		r = p->out >= 0 ? pump_scrub(p, PUMP_BYTES, chunk, (size_t)n) : 0;
	explicit_bzero(chunk, (size_t)n);
	if (r < 0) {
		pump_failed(p, r);
		n = 0; /* stop reading: it would fail again, and be reported again */
	}
	if (n == 0) {
		loop_remove(loop, p->in_slot);
		p->in_slot = -1;
		fd_close(&p->in);
	}
	pump_wait(p);
	pump_drain(p);
}

static void
pump_writable(struct loop *loop, int fd, short revents, void *arg)
{
	struct pump *p = arg;

	if ((revents & POLLOUT) == 0)
		pump_deaf(p);
	pump_drain(p);
}
