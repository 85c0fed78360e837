/*
 * Messages, field by field, in memory of the caller.  Reads only what it has
 * bounded, allocates nothing, keeps no state.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/base/wire.h"

void
wire_out_init(struct wire_out *out, void *memory, size_t cap)
{
	*out = (struct wire_out){.data = memory, .cap = cap};
}

static void
put_raw(struct wire_out *out, const void *bytes, size_t len)
{
	if (out->error != 0)
		return;
	if (len > out->cap - out->len) {
		out->error = -EMSGSIZE;
		return;
	}
	if (len > 0)
		memcpy(out->data + out->len, bytes, len);
	out->len += len;
}

/* Little-endian on every machine. */
static void
put_number(struct wire_out *out, uint64_t value, size_t bytes)
{
	uint8_t le[8];

	for (size_t i = 0; i < bytes; i++)
		le[i] = (uint8_t)(value >> (8 * i));
	put_raw(out, le, bytes);
}

void
wire_put_u8(struct wire_out *out, uint8_t value)
{
	put_number(out, value, 1);
}

void
wire_put_u32(struct wire_out *out, uint32_t value)
{
	put_number(out, value, 4);
}

void
wire_put_u64(struct wire_out *out, uint64_t value)
{
	put_number(out, value, 8);
}

void
wire_put_bytes(struct wire_out *out, const void *bytes, size_t len)
{
	if (len > UINT32_MAX) {
		out->error = out->error != 0 ? out->error : -EMSGSIZE;
		return;
	}
	wire_put_u32(out, (uint32_t)len);
	put_raw(out, bytes, len);
	wire_put_u8(out, 0);
}

void
wire_put_str(struct wire_out *out, const char *text)
{
	wire_put_bytes(out, text, strlen(text));
}

void
wire_in_init(struct wire_in *in, const void *bytes, size_t len)
{
	*in = (struct wire_in){.data = bytes, .len = len};
}

static const uint8_t *
get_raw(struct wire_in *in, size_t len)
{
	const uint8_t *at;

	if (in->error != 0)
		return NULL;
	if (len > in->len - in->off) {
		in->error = -EBADMSG;
		return NULL;
	}
	at = in->data + in->off;
	in->off += len;
	return at;
}

static uint64_t
get_number(struct wire_in *in, size_t bytes)
{
	const uint8_t *le = get_raw(in, bytes);
	uint64_t value = 0;

	if (le == NULL)
		return 0;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)le[i] << (8 * i);
	return value;
}

uint8_t
wire_get_u8(struct wire_in *in)
{
	return (uint8_t)get_number(in, 1);
}

uint32_t
wire_get_u32(struct wire_in *in)
{
	return (uint32_t)get_number(in, 4);
}

uint64_t
wire_get_u64(struct wire_in *in)
{
	return get_number(in, 8);
}

struct span
wire_get_bytes(struct wire_in *in, size_t max)
{
	struct span none = {(const uint8_t *)"", 0};
	uint32_t len = wire_get_u32(in);
	const uint8_t *at, *nul;

	if (in->error == 0 && len > max)
		in->error = -EBADMSG;
	at = get_raw(in, len);
	nul = get_raw(in, 1);
	if (at == NULL || nul == NULL)
		return none;
	if (*nul != 0) {
		in->error = -EBADMSG;
		return none;
	}
	return (struct span){at, len};
}

const char *
wire_get_str(struct wire_in *in, size_t max)
{
	struct span bytes = wire_get_bytes(in, max);

	/*
	 * The NUL after the bytes was checked; one inside would hide the rest
	 * from every C function.
	 */
	if (bytes.len > 0 && memchr(bytes.data, 0, bytes.len) != NULL) {
		in->error = in->error != 0 ? in->error : -EBADMSG;
		return "";
	}
	return (const char *)bytes.data;
}

int
wire_end(const struct wire_in *in)
{
	if (in->error != 0)
		return in->error;
	return in->off == in->len ? 0 : -EBADMSG;
}

int
wire_send(int sock, const struct wire_out *out, const int *fds, size_t fds_n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
	} control;
	struct iovec data = {out->data, out->len};
	struct msghdr msg = {.msg_iov = &data, .msg_iovlen = 1};
	struct cmsghdr *c = &control.head;
	ssize_t n;

	if (out->error != 0)
		return out->error;
	if (fds_n > WIRE_FDS_MAX)
		return -EINVAL;
	if (fds_n > 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(fds_n * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds_n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fds_n * sizeof(int));
	}
	do
		/* syscalls: sendmsg */
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	/* A packet is sent completely or not at all. */
	return (size_t)n == out->len ? 0 : -EMSGSIZE;
}

/* Closes the descriptors of a refused packet. */
static void
close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]); /* syscalls: close */
}

/*
 * Moves descriptors received by SCM_RIGHTS to fds[]; closes those that do not
 * fit.
 */
static int
take_fds(struct msghdr *msg, int *fds, size_t fds_max, size_t *ret_n)
{
	struct cmsghdr *c;
	size_t n = 0;
	int r = 0;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		size_t got;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < got; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (n < fds_max) {
				fds[n++] = fd;
				continue;
			}
			close(fd);
			r = -EBADMSG;
		}
	}
	*ret_n = n;
	return r;
}

int
wire_recv(int sock, void *memory, size_t cap, size_t *ret_len, int *fds, size_t fds_max,
    size_t *ret_fds_n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
	} control;
	struct iovec data = {memory, cap};
	struct msghdr msg = {.msg_iov = &data, .msg_iovlen = 1};
	size_t fds_n = 0;
	bool reset = false;
	ssize_t n = 0;
	int r;

	if (fds_max > WIRE_FDS_MAX)
		return -EINVAL;
	/*
	 * If a peer closes with unread data from us, the socket returns
	 * ECONNRESET once, before the peer's last message: that message still
	 * counts.
	 */
	do {
		reset = n < 0 && errno == ECONNRESET;
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		/* syscalls: recvmsg */
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !reset)));
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	r = take_fds(&msg, fds, fds_max, &fds_n);
	/* No message is an empty packet: 0 always means the end. */
	if (r == 0 && n == 0)
		r = -EPIPE;
	if (r == 0 && (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		r = -EBADMSG;
	if (r != 0) {
		close_all(fds, fds_n);
		return r;
	}
	*ret_len = (size_t)n;
	if (ret_fds_n != NULL)
		*ret_fds_n = fds_n;
	return 0;
}
