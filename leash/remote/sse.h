/*
 * Server-sent events: bytes of a stream to events.
 */
#ifndef KENNEL_LEASH_REMOTE_SSE_H
#define KENNEL_LEASH_REMOTE_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"

#define SSE_ID_MAX    1024 /* bytes of an event's id */
#define SSE_NO_RETRY  UINT32_MAX
#define SSE_RETRY_MAX 3600000 /* ms; more is cut */

/* An event with data, of the type "message".  The data may be changed in place. */
typedef void sse_event_fn(void *arg, char *data, size_t len);

struct sse {
	struct buf line, data;
	sse_event_fn *fn;
	void *arg;
	uint32_t retry_ms;         /* as the server last set it, or SSE_NO_RETRY */
	char id[SSE_ID_MAX + 1];   /* of the last event, with or without data; "": none */
	char next[SSE_ID_MAX + 1]; /* of the event being read */
	bool other;                /* the event being read has another type */
	bool begun, after_cr;
};

/* line_max: bytes of a line, and of the data of an event. */
void sse_init(struct sse *, size_t line_max, sse_event_fn *, void *arg);
void sse_free(struct sse *);
/* A new stream that goes on where the last one ended: keeps id and retry_ms. */
void sse_restart(struct sse *);
/* The next stream goes on with nothing: an id means something in its session only. */
void sse_forget(struct sse *);
/* Calls fn for each event that is complete.  0, -EMSGSIZE or -ENOMEM. */
int sse_feed(struct sse *, const char *, size_t);

#endif
