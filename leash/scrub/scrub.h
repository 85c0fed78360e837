/*
 * Redacts secrets from a server's output.  One streaming pass knows the exact
 * values and finds them raw, in JSON strings with any escaping, and in the
 * encodings of encodings.c and decode.c, also across reads.  Each value found
 * becomes "***".  Other text in the format of a known kind of credential becomes
 * "[REDACTED:kind]".
 *
 * Bytes that cannot be part of a match are passed on at once.  At most the longest
 * possible beginning of a match is held back until the next bytes or scrub_flush().
 */
#ifndef KENNEL_LEASH_SCRUB_SCRUB_H
#define KENNEL_LEASH_SCRUB_SCRUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"

#define SCRUB_MASK            "***" /* constant: reveals neither length nor name */
#define SCRUB_LEN_MIN         4     /* bytes; a shorter value would match ordinary text */
#define SCRUB_CREDENTIALS_MAX 40

struct secret;
struct scrub;        /* the patterns; shared by streams */
struct scrub_stream; /* one direction of one pipe */

int scrub_new(struct scrub **ret);
void scrub_free(struct scrub *);
/* Learns a value; number identifies it to scrub_count().  Learn all values before you
 * make the first stream.  -E2BIG: the value has too many lines and secret fields. */
int scrub_learn(struct scrub *, const struct secret *, uint32_t number);
/* How often the value with this number was redacted, over all streams. */
uint64_t scrub_count(const struct scrub *, uint32_t number);

/*
 * Why this value is too similar to ordinary text, as the end of a sentence
 * that names the secret; NULL if it is not.  Reveals nothing else about the value.
 */
const char *scrub_weakness(const struct secret *);

/* Does it have outer white space or a byte order mark, which servers strip? */
bool scrub_trims(const struct secret *);

/* The kinds of credentials found by their format, numbered from 0: the name of one,
 * NULL after the last; and how often it was redacted. */
const char *scrub_credential(uint32_t number);
uint64_t scrub_credential_count(const struct scrub *, uint32_t number);
/* How often a redaction covered text of unknown content.  A private key in lines ends
 * where the text says so, and nothing checks what such a redaction covers. */
uint64_t scrub_free_count(const struct scrub *);

int scrub_stream_new(struct scrub *, struct scrub_stream **ret);
void scrub_stream_free(struct scrub_stream *);
/* The stream consists of lines, each a JSON message; a line's end flushes. */
void scrub_stream_messages(struct scrub_stream *);
/* Passes in[len] through and appends what is certain to out.  0, -ENOMEM, or -EMSGSIZE
 * if out is full.  On failure nothing is passed on and the stream is unusable. */
int scrub_feed(struct scrub_stream *, const void *in, size_t len, struct buf *out);
/* The end of a message or of the stream: passes on what is held back. */
int scrub_flush(struct scrub_stream *, struct buf *out);

/*
 * Where lines are not messages, the end of a line flushes all but the possible
 * beginning of a value of several lines, of a private key or of an encoding in
 * columns.  Is such a beginning held back?  After a while without output the caller
 * flushes it, as at the end of a message, up to the end of the last line.
 */
bool scrub_holds_lines(const struct scrub_stream *);
int scrub_flush_lines(struct scrub_stream *, struct buf *out);

/* The whole rest of a message: as scrub_feed() and scrub_flush(), but cheaper. */
int scrub_message(struct scrub_stream *, const void *in, size_t len, struct buf *out);

/*
 * Scrubs one text for a record into out and appends a NUL.  After the first call no
 * value can be learned.  0, -ENOMEM, -EMSGSIZE.
 */
int scrub_text(struct scrub *, const char *text, struct buf *out);

#endif
