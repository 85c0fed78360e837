/*
 * One session, as seen by the user who answers: its packets.
 */
#include <errno.h>
#include <string.h>

#include "shim/base/fd.h"
#include "supervisor/answer/answer.h"
#include "supervisor/base/person_socket.h"

/* ---- packets -------------------------------------------------------------------- */

int
session_subscribe(int fd, bool watching)
{
	uint8_t memory[32];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_LIST);
	wire_put_u32(&out, APPROVE_VERSION);
	wire_put_u32(&out, watching);
	return wire_send(fd, &out, NULL, 0);
}

int
session_channel(int fd, enum approve_channel channel)
{
	uint8_t memory[8];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_CHANNEL);
	wire_put_u32(&out, channel);
	return wire_send(fd, &out, NULL, 0);
}

static int
send_answer(int fd, uint32_t number, const struct decision *d, struct span digest)
{
	uint8_t memory[64];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_ANSWER);
	wire_put_u32(&out, number);
	wire_put_u32(&out, d->answer);
	wire_put_u32(&out, d->unseen);
	wire_put_bytes(&out, digest.data, digest.len);
	return wire_send(fd, &out, NULL, 0);
}

int
approval_read(struct wire_in *in, long pid, struct approval *ret)
{
	uint32_t flags;

	ret->pid = pid;
	ret->number = wire_get_u32(in);
	ret->kind = wire_get_u32(in);
	flags = wire_get_u32(in);
	ret->cut = (flags & QUESTION_CUT) != 0;
	ret->destructive = (flags & QUESTION_DESTRUCTIVE) != 0;
	ret->ambiguous = (flags & QUESTION_AMBIGUOUS) != 0;
	ret->once_only = (flags & QUESTION_ONCE_ONLY) != 0;
	ret->factor = wire_get_u32(in);
	ret->waits_ms = wire_get_u64(in);
	ret->left_ms = wire_get_u64(in);
	ret->refused = wire_get_u32(in);
	ret->server = wire_get_str(in, QUESTION_TEXT_MAX);
	ret->method = wire_get_str(in, QUESTION_METHOD_MAX);
	ret->subject = wire_get_str(in, QUESTION_TEXT_MAX);
	ret->detail = wire_get_str(in, QUESTION_DETAIL_MAX);
	ret->rule = wire_get_str(in, QUESTION_TEXT_MAX);
	ret->because = wire_get_str(in, QUESTION_TEXT_MAX);
	ret->request = wire_get_str(in, QUESTION_REQUEST_MAX);
	ret->digest = wire_get_bytes(in, QUESTION_DIGEST_LEN);
	if (wire_end(in) < 0 || ret->digest.len != QUESTION_DIGEST_LEN)
		return -EBADMSG;
	return 0;
}

/* Receives one packet before the deadline: its type and the rest. */
static int
receive(
    int fd, uint8_t memory[APPROVE_PACKET_MAX], uint32_t *ret_type, struct wire_in *ret)
{
	int r = person_receive(fd, memory, APPROVE_PACKET_MAX, ret);

	if (r < 0)
		return r;
	*ret_type = wire_get_u32(ret);
	return 0;
}

/* Receives the reply to an answer: what the session made of it. */
static int
receive_taken(int fd, uint8_t memory[APPROVE_PACKET_MAX])
{
	struct wire_in in;
	uint32_t type = 0, error;
	int r = receive(fd, memory, &type, &in);

	if (r < 0)
		return r;
	error = wire_get_u32(&in);
	return type != APPROVE_TAKEN || wire_end(&in) < 0 ? -EBADMSG : -(int)error;
}

/* ---- a session -------------------------------------------------------------------- */

/* A socket without a process is left by a session that was killed. */
bool
session_is_over(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED;
}

const char *
session_error(int r)
{
	return r == -ETIMEDOUT ? "it did not answer in 5 s"
	       : r == -EAGAIN  ? "it accepts no connections"
	       : r == -EIO     ? "it could not record it in the audit log"
			       : strerror(-r);
}

int
session_list(long pid, approval_fn *fn)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	int fd = person_connect(APPROVE_SOCKET, pid), r;
	struct approval a;
	struct wire_in in;
	uint32_t type = 0;

	if (fd < 0)
		return fd;
	r = session_subscribe(fd, false);
	while (r == 0 && (r = receive(fd, memory, &type, &in)) == 0 &&
	       type == APPROVE_QUESTION) {
		r = approval_read(&in, pid, &a);
		if (r == 0)
			fn(&a);
	}
	fd_close(&fd);
	return r == 0 && type != APPROVE_END ? -EBADMSG : r;
}

static int
find_at(int fd, const struct approval_id *id, struct approval_found *ret)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	struct wire_in in;
	struct approval a;
	uint32_t type = 0;
	bool found = false;
	int r = session_subscribe(fd, false);

	while (r == 0 && (r = receive(fd, memory, &type, &in)) == 0 &&
	       type == APPROVE_QUESTION) {
		r = approval_read(&in, id->pid, &a);
		if (r < 0 || !approval_id_names(id, &a))
			continue;
		*ret = (struct approval_found){.kind = a.kind,
		    .cut = a.cut,
		    .factor = a.factor,
		    .once_only = a.once_only};
		memcpy(ret->digest, a.digest.data, sizeof(ret->digest));
		(void)snprintf(
		    ret->subject, sizeof(ret->subject), "%s", a.subject); /* fits */
		(void)snprintf(
		    ret->detail, sizeof(ret->detail), "%s", a.detail); /* fits */
		found = true;
	}
	return r == 0 && !found ? -ENOENT : r;
}

int
approval_find(const struct approval_id *id, struct approval_found *ret)
{
	int fd = person_connect(APPROVE_SOCKET, id->pid), r;

	if (fd < 0)
		return fd;
	r = find_at(fd, id, ret);
	fd_close(&fd);
	return r;
}

/* The answer must refer to what was shown, so it contains the session's own digest. */
int
session_answer_at(int fd, const struct approval_id *id,
    const struct approval_found *found, const struct decision *d)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	struct decision what = *d;
	int r;

	if (found->kind >= QUESTION_PROVISION && d->answer == ANSWER_DENY)
		what.answer = ANSWER_CANCELLED;
	r = session_channel(fd, d->channel);
	if (r == 0)
		r = send_answer(fd, id->number, &what,
		    (struct span){found->digest, sizeof(found->digest)});
	return r < 0 ? r : receive_taken(fd, memory);
}

int
session_answer(const struct approval_id *id, const struct approval_found *found,
    const struct decision *d)
{
	int fd = person_connect(APPROVE_SOCKET, id->pid), r;

	if (fd < 0)
		return fd;
	r = session_answer_at(fd, id, found, d);
	fd_close(&fd);
	return r;
}

int
session_reopen(long pid, const char *path, enum approve_channel channel)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	int fd = person_connect(APPROVE_SOCKET, pid), r;
	struct wire_out out;

	if (fd < 0)
		return fd;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_REOPEN);
	wire_put_str(&out, path);
	r = session_channel(fd, channel);
	if (r == 0)
		r = wire_send(fd, &out, NULL, 0);
	if (r == 0)
		r = receive_taken(fd, memory);
	fd_close(&fd);
	return r;
}
