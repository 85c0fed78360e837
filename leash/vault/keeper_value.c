/*
 * Gets a value from the keeper, directly into the vault's pages, or asks whether it
 * has one.
 *
 * Process: the leash, before it sandboxes itself.  The request contains the
 * policy's id and its signers; the keeper decides by the grants in the vault file.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "leash/keeper/keeper.h"
#include "leash/vault/private.h"
#include "policy/sealed/signature.h"

#define HEAD_LEN 8 /* u32 type, u32 length of the value or the reason */

/* which: 0 is the current value. */
static int
ask(int keeper, const struct secret_client *a, uint32_t which)
{
	uint8_t memory[4096];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, which == 0 ? KEEPER_RELEASE : KEEPER_RELEASE_OLD);
	wire_put_str(&out, a->path);
	wire_put_str(&out, a->server);
	wire_put_bytes(&out, a->id, KEEPER_ID_LEN);
	wire_put_bytes(&out, a->head, a->head != NULL ? sizeof(*a->head) : 0);
	wire_put_bytes(&out, a->row, a->row_n * sizeof(*a->row));
	if (which != 0)
		wire_put_u32(&out, which);
	return wire_send(keeper, &out, NULL, 0);
}

/* Receives one packet: the head into head, the rest where the value belongs. */
static int
hear(int keeper, uint8_t head[HEAD_LEN], char *rest, size_t cap, size_t *ret_len)
{
	struct iovec part[2] = {{head, HEAD_LEN}, {rest, cap}};
	struct msghdr msg = {.msg_iov = part, .msg_iovlen = 2};
	ssize_t n;

	do
		/* early: recvmsg */
		n = recvmsg(keeper, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (n == 0)
		return -EPIPE;
	if ((msg.msg_flags & MSG_TRUNC) != 0 || n < HEAD_LEN + 1)
		return -EBADMSG;
	*ret_len = (size_t)n - HEAD_LEN;
	return 0;
}

int
secret_from_keeper(struct vault *v, int keeper, const struct secret_client *a,
    uint32_t which, struct secret **ret, uint32_t *ret_reason, const char **ret_what)
{
	uint8_t head[HEAD_LEN];
	struct secret *s;
	struct wire_in in;
	uint32_t type, number;
	size_t cap = 0, len = 0;
	int r = value_open(v, &s, &cap);

	*ret_reason = 0;
	if (r < 0)
		return r;
	r = ask(keeper, a, which);
	if (r == 0)
		r = hear(keeper, head, s->bytes, cap, &len);
	if (r < 0) {
		value_drop(v, s, cap);
		return r;
	}
	wire_in_init(&in, head, sizeof(head));
	type = wire_get_u32(&in);
	number = wire_get_u32(&in);
	if (type == KEEPER_VALUE && number == len - 1 && s->bytes[number] == '\0')
		r = value_close(v, s, number, ret_what);
	else {
		value_drop(v, s, len);
		*ret_reason = type == KEEPER_REFUSED ? number : 0;
		r = type == KEEPER_REFUSED ? -EACCES : -EBADMSG;
	}
	if (r == 0)
		*ret = s;
	return r;
}

/* One page of the path's versions; *ret_from is where the next begins, 0: no more. */
static int
read_versions(struct wire_in *in, const char *path, uint32_t *ret_from, bool *ret_current)
{
	uint32_t next = wire_get_u32(in), n = wire_get_u32(in);
	bool current = false;

	for (uint32_t i = 0; i < n && i < KEEPER_ROWS && in->error == 0; i++) {
		const char *of = wire_get_str(in, KEEPER_PATH_MAX);
		uint64_t retired;

		(void)wire_get_u32(in); /* the version */
		(void)wire_get_u64(in); /* when it was made */
		retired = wire_get_u64(in);
		if (in->error == 0)
			current |= retired == 0 && strcmp(of, path) == 0;
	}
	if (wire_end(in) < 0 || (next != 0 && next <= *ret_from))
		return -EBADMSG;
	*ret_from = next;
	*ret_current |= current;
	return 0;
}

int
secret_in_keeper(int keeper, const char *path, uint32_t *ret_reason)
{
	static uint8_t memory[KEEPER_ROWS * (KEEPER_PATH_MAX + 64)];
	bool current = false;
	uint32_t from = 0, type;
	struct wire_out out;
	struct wire_in in;
	size_t len = 0;
	int r = 0;

	*ret_reason = 0;
	if (strlen(path) > KEEPER_PATH_MAX)
		return -ENOENT; /* the keeper stores no such path */
	do {
		wire_out_init(&out, memory, sizeof(memory));
		wire_put_u32(&out, KEEPER_VERSIONS);
		wire_put_str(&out, path);
		wire_put_u32(&out, from);
		r = wire_send(keeper, &out, NULL, 0);
		if (r == 0)
			r = wire_recv(
			    keeper, memory, sizeof(memory), &len, NULL, 0, NULL);
		if (r < 0)
			return r == -EAGAIN ? -ETIMEDOUT : r;
		wire_in_init(&in, memory, len);
		type = wire_get_u32(&in);
		if (type == KEEPER_REFUSED) {
			*ret_reason = wire_get_u32(&in);
			return -EACCES;
		}
		r = type == KEEPER_VERSIONS_ARE
			? read_versions(&in, path, &from, &current)
			: -EBADMSG;
	} while (r == 0 && from != 0);
	return r < 0 ? r : current ? 0 : -ENOENT;
}
