/*
 * The socket on which users answer: one per session, in the user's run directory.
 *
 * Runs in kennel. Only the same user or root may connect. A client gets packets as
 * fast as it reads, and is dropped if it does not read. Trusts no packet: an invalid
 * one closes its connection.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/wire.h"
#include "supervisor/approve/approve.h"

#define BACKLOG    8
#define OF_ONE     4                   /* clients of one process */
#define FIRST_NS   (2000ull * LOOP_MS) /* for the first packet, if all slots are used */
#define SEND_BYTES (1 << 20)           /* requested send buffer: room for all requests */

struct client {
	struct approve_socket *socket;
	int fd; /* -1: free */
	int slot;
	bool watching;
	bool spoke;
	uint64_t since_ns;
	struct answerer who;
};

struct approve_socket {
	struct loop *loop;
	struct queue *queue;
	int fd, slot;
	struct sockaddr_un address;
	struct client client[APPROVE_CLIENTS_MAX];
};

static void
client_drop(struct client *c)
{
	loop_remove(c->socket->loop, c->slot);
	c->slot = -1;
	c->watching = false;
	fd_close(&c->fd);
}

/* ---- sending ---------------------------------------------------------------- */

static void
tell(struct client *c, struct wire_out *out)
{
	/* a client that does not read is dropped */
	if (wire_send(c->fd, out, NULL, 0) < 0) /* syscalls: sendmsg */
		client_drop(c);
}

static void
tell_question(struct client *c, const struct question *q)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	struct wire_out out;
	uint64_t now = loop_now();

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_QUESTION);
	wire_put_u32(&out, q->number);
	wire_put_u32(&out, q->text.kind);
	wire_put_u32(&out, q->text.cut);
	wire_put_u64(&out, (now - q->asked_at) / LOOP_MS);
	wire_put_u64(&out, q->until > now ? (q->until - now) / LOOP_MS : 0);
	wire_put_str(&out, q->text.server);
	wire_put_str(&out, q->text.subject);
	wire_put_str(&out, q->text.detail);
	wire_put_str(&out, q->text.rule);
	wire_put_str(&out, q->text.because);
	wire_put_bytes(&out, q->text.digest, QUESTION_DIGEST_LEN);
	tell(c, &out);
}

static void
tell_numbers(
    struct client *c, enum approve_message type, const uint32_t *number, size_t n)
{
	uint8_t memory[32];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	for (size_t i = 0; i < n; i++)
		wire_put_u32(&out, number[i]);
	tell(c, &out);
}

/* Callback of the queue: a request was added (answer 0) or ended. */
static void
on_seen(void *arg, const struct question *q, enum question_answer gone_with)
{
	const uint32_t gone[] = {q->number, gone_with};
	struct approve_socket *d = arg;

	for (size_t i = 0; i < APPROVE_CLIENTS_MAX; i++) {
		struct client *c = &d->client[i];

		if (c->fd < 0 || !c->watching)
			continue;
		if (gone_with == 0)
			tell_question(c, q);
		else
			tell_numbers(c, APPROVE_GONE, gone, 2);
	}
}

/* ---- receiving ---------------------------------------------------------------- */

static int
on_list(struct client *c, struct wire_in *in)
{
	uint32_t version = wire_get_u32(in), watching = wire_get_u32(in), number = 0;
	const struct question *q;

	if (wire_end(in) < 0 || version != APPROVE_VERSION || watching > 1)
		return -EBADMSG;
	while (c->fd >= 0 && (q = queue_next(c->socket->queue, number)) != NULL) {
		number = q->number;
		tell_question(c, q);
	}
	if (c->fd >= 0)
		tell_numbers(c, APPROVE_END, NULL, 0);
	c->watching = c->fd >= 0 && watching == 1;
	return 0;
}

static int
on_answer(struct client *c, struct wire_in *in)
{
	uint32_t number = wire_get_u32(in), answer = wire_get_u32(in);
	uint32_t unseen = wire_get_u32(in), error;
	struct question_reply reply = {.by = c->who};
	struct span digest = wire_get_bytes(in, QUESTION_DIGEST_LEN);
	int r;

	if (wire_end(in) < 0 || digest.len != QUESTION_DIGEST_LEN ||
	    answer < ANSWER_ONCE || answer > ANSWER_DENY || unseen > 1)
		return -EBADMSG;
	reply.answer = (enum question_answer)answer;
	reply.unseen = unseen == 1;
	r = question_answer(c->socket->queue, number, digest.data, &reply);
	error = (uint32_t)-r;
	if (c->fd >= 0)
		tell_numbers(c, APPROVE_TAKEN, &error, 1);
	return 0;
}

static void
on_client(struct loop *loop, int fd, short revents, void *arg)
{
	static int (*const on[])(struct client *, struct wire_in *) = {
	    [APPROVE_LIST] = on_list,
	    [APPROVE_ANSWER] = on_answer,
	};
	struct client *c = arg;
	uint8_t memory[256];
	struct wire_in in;
	uint32_t type;
	size_t len, none;
	int r = wire_recv(fd, memory, sizeof(memory), &len, NULL, 0, &none);

	(void)loop, (void)revents;
	/* syscalls: recvmsg */
	if (r == -EAGAIN)
		return;
	if (r == 0) {
		c->spoke = true;
		wire_in_init(&in, memory, len);
		type = wire_get_u32(&in);
		r = -EBADMSG;
		if (type < ARRAY_LEN(on) && on[type] != NULL)
			r = on[type](c, &in);
	}
	if (r < 0 && c->fd >= 0)
		client_drop(c);
}

/* ---- accepting clients -------------------------------------------------------- */

static size_t
clients_of(const struct approve_socket *d, const struct answerer *who)
{
	size_t n = 0;

	for (size_t i = 0; i < APPROVE_CLIENTS_MAX; i++)
		n += d->client[i].fd >= 0 && d->client[i].who.pid == who->pid;
	return n;
}

/* Finds a free slot, or that of a client that has sent nothing for 2 s: silent
 * connections must not keep a user from answering. */
static struct client *
find_place(struct approve_socket *d)
{
	struct client *silent = NULL;

	for (size_t i = 0; i < APPROVE_CLIENTS_MAX; i++) {
		struct client *c = &d->client[i];

		if (c->fd < 0)
			return c;
		if (!c->spoke && loop_now() - c->since_ns > FIRST_NS)
			silent = c;
	}
	if (silent != NULL)
		client_drop(silent);
	return silent;
}

static int
admit(struct client *c, int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);
	int bytes = SEND_BYTES;

	/* syscalls: getsockopt setsockopt fcntl */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return -errno;
	if (who.uid != geteuid() && who.uid != 0)
		return -EACCES;
	/* the kernel may grant less; a client with a full buffer is dropped */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	c->who = (struct answerer){who.uid, (uint32_t)who.pid};
	if (clients_of(c->socket, &c->who) >= OF_ONE)
		return -EMFILE;
	c->spoke = false;
	c->since_ns = loop_now();
	c->slot = loop_add(c->socket->loop, fd, POLLIN, on_client, c);
	if (c->slot < 0)
		return -ENOSPC;
	c->fd = fd;
	return 0;
}

static void
on_connect(struct loop *loop, int listening, short revents, void *arg)
{
	struct approve_socket *d = arg;
	struct client *free_one;
	/* syscalls: accept4 geteuid */
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)loop, (void)revents;
	if (fd < 0)
		return; /* gone again */
	free_one = find_place(d);
	if (free_one == NULL || admit(free_one, fd) < 0)
		fd_close(&fd);
}

/* ---- begin and end ------------------------------------------------------------ */

static int
make_socket(struct approve_socket *d, const char *run_dir)
{
	int n = snprintf(d->address.sun_path, sizeof(d->address.sun_path),
	    "%s/" APPROVE_SOCKET, run_dir, (long)getpid());

	if (n < 0 || (size_t)n >= sizeof(d->address.sun_path))
		return -ENAMETOOLONG;
	d->address.sun_family = AF_UNIX;
	d->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return -errno;
	(void)unlink(d->address.sun_path); /* left by an earlier process with our pid */
	if (bind(d->fd, (struct sockaddr *)&d->address, sizeof(d->address)) < 0)
		return -errno;
	/* the directory is 0700 already; this is a second barrier */
	if (chmod(d->address.sun_path, 0600) < 0 || listen(d->fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

int
approve_open(struct loop *loop, const char *run_dir, struct queue *queue,
    struct approve_socket **ret)
{
	struct approve_socket *d = calloc(1, sizeof(*d));
	int r;

	if (d == NULL)
		return -ENOMEM;
	d->loop = loop;
	d->queue = queue;
	d->fd = d->slot = -1;
	for (size_t i = 0; i < APPROVE_CLIENTS_MAX; i++)
		d->client[i] = (struct client){.socket = d, .fd = -1, .slot = -1};
	r = make_socket(d, run_dir);
	if (r == 0) {
		d->slot = loop_add(loop, d->fd, POLLIN, on_connect, d);
		r = d->slot < 0 ? -ENOSPC : 0;
	}
	if (r < 0) {
		approve_free(d);
		return r;
	}
	queue_watch(queue, on_seen, d);
	*ret = d;
	return 0;
}

void
approve_free(struct approve_socket *d)
{
	if (d == NULL)
		return;
	queue_watch(d->queue, NULL, NULL);
	for (size_t i = 0; i < APPROVE_CLIENTS_MAX; i++)
		if (d->client[i].fd >= 0)
			client_drop(&d->client[i]);
	loop_remove(d->loop, d->slot);
	if (d->fd >= 0 && d->address.sun_path[0] != '\0')
		/* syscalls: unlink unlinkat */
		(void)unlink(d->address.sun_path); /* harmless if it stays */
	fd_close(&d->fd);
	free(d);
}
