/*
 * Lines of a byte stream, bounded; writes, bounded (frame.c).
 */
#ifndef KENNEL_SUPERVISOR_MCP_LINE_FRAME_H
#define KENNEL_SUPERVISOR_MCP_LINE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "shim/base/buf.h"
#include "supervisor/json/json.h"

enum frame_what { FRAME_NONE, FRAME_LINE, FRAME_OVERSIZE };

struct frame_in {
	int fd;
	uint8_t *data; /* owned */
	size_t cap;
	size_t head;      /* first byte not yet returned */
	size_t seen;      /* searched for a newline up to here */
	size_t len;       /* bytes in data */
	size_t limit;     /* longest line in bytes */
	bool skipping;    /* inside a line that is too long */
	uint64_t skipped; /* its bytes so far */
	struct skim skim;
};

int frame_in_init(struct frame_in *, int fd, size_t limit);
void frame_in_free(struct frame_in *);
/* The same for another stream; what was read is discarded. */
void frame_in_again(struct frame_in *, int fd);
/* One read: 1 bytes arrived, 0 end of file, -EAGAIN, other errors. Invalidates lines
 * returned before. */
int frame_fill(struct frame_in *);
#define FRAME_MARK "\xef\xbb\xbf" /* U+FEFF */
/*
 * Returns the next line, without a byte order mark at its beginning: *ret_len bytes and then
 * a newline, valid until frame_fill.
 * FRAME_OVERSIZE: a line was discarded; *ret_len is its length and in->skim what was
 * found of its id.
 */
enum frame_what frame_next(struct frame_in *, const uint8_t **ret, uint64_t *ret_len);
/* Bytes of an incomplete line. */
uint64_t frame_rest(const struct frame_in *);

#define FRAME_PARTS  64
#define FRAME_SOON   (256u << 10) /* queued bytes: stop reading the other side */
#define FRAME_MAX    ((size_t)3 * MCP_MESSAGE_MAX)
#define FRAME_ANSWER (4u << 20) /* queued bytes: no more answers from kennel */

struct frame_out {
	int fd;
	struct iovec part[FRAME_PARTS]; /* borrowed until frame_flush */
	int part_n;
	struct buf queue;
	size_t queue_off;
	bool closed; /* the peer is gone: discard everything */
};

void frame_out_init(struct frame_out *, int fd);
void frame_out_free(struct frame_out *);
/* Queues these bytes, which must stay valid until the next flush. 0, -ENOMEM,
 * -EMSGSIZE. */
int frame_put(struct frame_out *, const void *, size_t);
/* The same, but copies the bytes now. */
int frame_say(struct frame_out *, const void *, size_t);
/* Writes: 0, -EAGAIN some is left, -EPIPE (and closed from now on), -ENOMEM. */
int frame_flush(struct frame_out *);
size_t frame_queued(const struct frame_out *);

#endif
