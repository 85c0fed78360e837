/*
 * Takes secrets out of what a server says: one streaming pass that knows the
 * exact values and finds them raw, in JSON strings however they are escaped,
 * and in the encodings of forms.c and decode.c, also across reads.  A found
 * value becomes "***"; what is no value of ours but has the shape of a known
 * kind of credential becomes "[REDACTED:kind]".
 *
 * Bytes that cannot be part of a match are passed on at once; at most the
 * longest possible beginning of a match is held back until the next bytes or
 * scrub_flush().
 */
#ifndef KENNEL_LEASH_SCRUB_SCRUB_H
#define KENNEL_LEASH_SCRUB_SCRUB_H

#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"

#define SCRUB_MASK       "***" /* constant: tells neither length nor name */
#define SCRUB_LEN_MIN    4     /* a shorter value would mask ordinary text */
#define SCRUB_SURE_MIN   8     /* from here on it does not, unless it is a word */
#define SCRUB_SHAPES_MAX 40

struct secret;
struct scrub;        /* the patterns; shared by streams */
struct scrub_stream; /* one direction of one pipe */

int scrub_new(struct scrub **ret);
void scrub_free(struct scrub *);
/* Learn a value; number is what scrub_count() is asked for.  All are learned
 * before the first stream is made. */
int scrub_learn(struct scrub *, const struct secret *, uint32_t number);
/* Times the value with this number was taken out, over all streams. */
uint64_t scrub_count(const struct scrub *, uint32_t number);

/*
 * Why this value could not be told from ordinary text, as the end of a
 * sentence that names the secret; NULL when it can.  Says nothing else of it.
 */
const char *scrub_weakness(const struct secret *);

/* The kinds of credentials that are known by their shape, 0 and up: the name
 * of one, NULL after the last; and how often it was taken out. */
const char *scrub_shape(uint32_t number);
uint64_t scrub_shape_count(const struct scrub *, uint32_t number);
/* How often a mask stood for text of any kind: a key in lines has its end where the
 * text says so.  What is behind such a mask nobody has seen. */
uint64_t scrub_free_count(const struct scrub *);

int scrub_stream_new(struct scrub *, struct scrub_stream **ret);
void scrub_stream_free(struct scrub_stream *);
/* in[len] goes through; what is certain is appended to out.  0, -ENOMEM,
 * -EMSGSIZE when out is full: nothing is passed on then, the stream is dead. */
int scrub_feed(struct scrub_stream *, const void *in, size_t len, struct buf *out);
/* The end of a message or of the stream: what is held back is no match. */
int scrub_flush(struct scrub_stream *, struct buf *out);

/* The rest of a message, whole: as scrub_feed() and scrub_flush(), and cheaper. */
int scrub_message(struct scrub_stream *, const void *in, size_t len, struct buf *out);

/*
 * One text on its way into a record: out gets it scrubbed, with a NUL behind
 * it.  No value is learned any more after the first.  0, -ENOMEM, -EMSGSIZE.
 */
int scrub_text(struct scrub *, const char *text, struct buf *out);

#endif
