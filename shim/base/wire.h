/*
 * Messages between kennel's own processes: one SOCK_SEQPACKET packet each,
 * little-endian, fields one by one, lengths first and bounded, and wire_end()
 * after the last.  Nothing here allocates, so the shim can read its plan with
 * it.
 *
 * Errors are sticky: after the first failure every further call does nothing,
 * and the closing wire_end() or wire_send() reports it.
 */
#ifndef KENNEL_SHIM_BASE_WIRE_H
#define KENNEL_SHIM_BASE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_FDS_MAX 64 /* descriptors in one packet; SCM_MAX_FD is 253 */

struct wire_out {
	uint8_t *data; /* the caller's memory */
	size_t len;
	size_t cap;
	int error; /* 0 or the first negative errno */
};

struct wire_in {
	const uint8_t *data;
	size_t len;
	size_t off;
	int error;
};

/* A run of bytes inside a message or a file; not necessarily NUL-terminated. */
struct span {
	const uint8_t *data;
	size_t len;
};

void wire_out_init(struct wire_out *, void *memory, size_t cap);
void wire_put_u8(struct wire_out *, uint8_t);
void wire_put_u32(struct wire_out *, uint32_t);
void wire_put_u64(struct wire_out *, uint64_t);
/*
 * u32 length, the bytes, and a NUL that is not counted, so that a reader can
 * use a string in place.
 */
void wire_put_bytes(struct wire_out *, const void *, size_t);
void wire_put_str(struct wire_out *, const char *);

void wire_in_init(struct wire_in *, const void *, size_t len);
uint8_t wire_get_u8(struct wire_in *);
uint32_t wire_get_u32(struct wire_in *);
uint64_t wire_get_u64(struct wire_in *);
/* A span of at most max bytes; an empty one after an error. */
struct span wire_get_bytes(struct wire_in *, size_t max);
/* The same, with no NUL inside: usable in place as a C string. */
const char *wire_get_str(struct wire_in *, size_t max);
/* 0 if every byte was read without an error, else -EBADMSG. */
int wire_end(const struct wire_in *);

/*
 * Sends one packet with up to WIRE_FDS_MAX descriptors (not closed here). 0,
 * -EAGAIN on a full non-blocking socket, -EPIPE, the sticky error.
 */
int wire_send(int sock, const struct wire_out *, const int *fds, size_t fds_n);

/*
 * Receives one packet.  Received descriptors are close-on-exec; *ret_fds_n is
 * how many of fds[fds_max] were filled.  A truncated packet or more descriptors
 * than fds_max is -EBADMSG, and everything received is closed.
 * 0 and *ret_len; -EPIPE if the peer closed; -EAGAIN.
 */
int wire_recv(int sock, void *memory, size_t cap, size_t *ret_len, int *fds,
    size_t fds_max, size_t *ret_fds_n);

#endif
