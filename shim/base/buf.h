/*
 * A growable byte buffer with a size limit.  The limit is set once, and every
 * size from outside is checked against it before use.
 */
#ifndef KENNEL_SHIM_BASE_BUF_H
#define KENNEL_SHIM_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data; /* owned; NULL until the first byte */
	size_t len;    /* bytes in use */
	size_t cap;    /* bytes allocated */
	size_t max;    /* bytes it may ever hold */
};

/* A buffer that will never hold more than max bytes.  Allocates nothing. */
void buf_init(struct buf *, size_t max);
void buf_free(struct buf *);
void buf_free_wiped(struct buf *); /* of what may be a secret */

/* Makes room for more bytes: 0, -EMSGSIZE above the limit, -ENOMEM. */
int buf_reserve(struct buf *, size_t more);
int buf_put(struct buf *, const void *, size_t);
int buf_puts(struct buf *, const char *);
int buf_putc(struct buf *, int);
int buf_printf(struct buf *, const char *, ...) __attribute__((format(printf, 2, 3)));

/* Removes the first n bytes (n <= len); the rest moves to the front. */
void buf_drop(struct buf *, size_t n);
void buf_clear(struct buf *);

/* The bytes as a NUL-terminated string (the NUL is not counted in len). */
const char *buf_str(struct buf *);

#endif
