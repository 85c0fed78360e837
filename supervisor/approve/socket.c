/*
 * The socket on which users answer: one per session.
 *
 * Runs in kennel. A client gets packets as fast as it reads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/person_socket.h"

#define SEND_BYTES (1 << 20) /* requested send buffer: room for all requests */

struct approve_socket {
	struct queue *queue;
	struct person_socket *socket;
	struct approve_reopen reopen;
};

/* ---- sending ---------------------------------------------------------------- */

static void
tell_question(struct person_client *c, const struct question *q)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	struct wire_out out;
	uint64_t now = loop_now();

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_QUESTION);
	wire_put_u32(&out, q->number);
	wire_put_u32(&out, q->text.kind);
	wire_put_u32(&out, (q->text.cut ? QUESTION_CUT : 0) |
			       (q->text.destructive ? QUESTION_DESTRUCTIVE : 0) |
			       (q->text.ambiguous ? QUESTION_AMBIGUOUS : 0) |
			       (q->text.once_only ? QUESTION_ONCE_ONLY : 0));
	wire_put_u32(&out, q->text.factor);
	wire_put_u64(&out, (now - q->asked_at) / LOOP_MS);
	wire_put_u64(&out, q->until > now ? (q->until - now) / LOOP_MS : 0);
	wire_put_u32(&out, q->refused);
	wire_put_str(&out, q->text.server);
	wire_put_str(&out, q->text.method);
	wire_put_str(&out, q->text.subject);
	wire_put_str(&out, q->text.detail);
	wire_put_str(&out, q->text.rule);
	wire_put_str(&out, q->text.because);
	wire_put_str(&out, q->text.request);
	wire_put_bytes(&out, q->text.digest, QUESTION_DIGEST_LEN);
	person_send(c, &out);
}

static void
tell_numbers(
    struct person_client *c, enum approve_message type, const uint32_t *number, size_t n)
{
	uint8_t memory[32];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	for (size_t i = 0; i < n; i++)
		wire_put_u32(&out, number[i]);
	person_send(c, &out);
}

/* Callback of the queue: a request was added (answer 0) or ended. */
static void
on_seen(void *arg, const struct question *q, enum question_answer gone_with)
{
	const uint32_t gone[] = {q->number, gone_with};
	struct approve_socket *d = arg;
	struct person_client *c = NULL;

	while ((c = person_next(d->socket, c)) != NULL) {
		if (!c->watching)
			continue;
		if (gone_with == 0)
			tell_question(c, q);
		else
			tell_numbers(c, APPROVE_GONE, gone, 2);
	}
}

/* ---- receiving ---------------------------------------------------------------- */

static int
on_list(struct approve_socket *d, struct person_client *c, struct wire_in *in)
{
	uint32_t version = wire_get_u32(in), watching = wire_get_u32(in), number = 0;
	const struct question *q;

	if (wire_end(in) < 0 || version != APPROVE_VERSION || watching > 1)
		return -EBADMSG;
	while (c->fd >= 0 && (q = queue_next(d->queue, number)) != NULL) {
		number = q->number;
		tell_question(c, q);
	}
	if (c->fd >= 0)
		tell_numbers(c, APPROVE_END, NULL, 0);
	c->watching = c->fd >= 0 && watching == 1;
	return 0;
}

static struct answerer
answerer_of(const struct person_client *c)
{
	return (struct answerer){c->uid, c->pid, c->channel};
}

/* A connection that another process has made for this client, which may be taken over. */
static bool
is_final(const struct person_client *c)
{
	return c->channel == VIA_CONSOLE_FINAL;
}

static int
on_channel(struct approve_socket *d, struct person_client *c, struct wire_in *in)
{
	uint32_t channel = wire_get_u32(in);

	if (wire_end(in) < 0)
		return -EBADMSG;
	if (!is_final(c))
		c->channel = channel; /* one that is not known is not named in the log */
	return 0;
}

/* Those that a page gives itself: a command reports what is saved or accepted. */
static bool
is_of_page(uint32_t answer)
{
	return answer == ANSWER_ONCE || answer == ANSWER_SESSION ||
	       answer == ANSWER_DENY || answer == ANSWER_CANCELLED;
}

static int
on_answer(struct approve_socket *d, struct person_client *c, struct wire_in *in)
{
	uint32_t number = wire_get_u32(in), answer = wire_get_u32(in);
	uint32_t unseen = wire_get_u32(in), error;
	struct question_reply reply = {.by = answerer_of(c)};
	struct span digest = wire_get_bytes(in, QUESTION_DIGEST_LEN);
	int r;

	if (wire_end(in) < 0 || digest.len != QUESTION_DIGEST_LEN ||
	    answer < ANSWER_ONCE || answer > ANSWER_CHANGED || unseen > 1 ||
	    (is_final(c) && !is_of_page(answer)))
		return -EBADMSG;
	reply.answer = (enum question_answer)answer;
	reply.unseen = unseen == 1;
	r = question_answer(d->queue, number, digest.data, &reply);
	error = (uint32_t)-r;
	if (c->fd >= 0)
		tell_numbers(c, APPROVE_TAKEN, &error, 1);
	return 0;
}

/* 0; ENOENT: it was not refused; EIO: there is no record of it, so it stays refused. An
 * approval that follows is on disk after that record, because a log keeps the order. */
static uint32_t
reopen(struct approve_socket *d, const char *name, const struct answerer *by)
{
	const struct approve_reopen *r = &d->reopen;
	bool path = r->is_closed != NULL && r->is_closed(r->arg, name);
	bool subject = question_is_refused(d->queue, name);
	char shown[256];

	if (!path && !subject)
		return ENOENT;
	if (r->record == NULL || r->record(r->arg, name, by) < 0)
		return EIO;
	if (path)
		r->open(r->arg, name);
	if (subject)
		question_reopen(d->queue, name);
	log_info("an agent may ask for %s again (uid %u, pid %u)",
	    log_quote(shown, sizeof(shown), name, strlen(name)), by->uid, by->pid);
	return 0;
}

static int
on_reopen(struct approve_socket *d, struct person_client *c, struct wire_in *in)
{
	const struct answerer by = answerer_of(c);
	const char *name = wire_get_str(in, QUESTION_TEXT_MAX - 1);
	uint32_t error;

	if (wire_end(in) < 0)
		return -EBADMSG;
	error = reopen(d, name, &by);
	if (c->fd >= 0)
		tell_numbers(c, APPROVE_TAKEN, &error, 1);
	return 0;
}

static int
on_saved(struct approve_socket *d, struct person_client *c, struct wire_in *in)
{
	const struct answerer by = answerer_of(c);
	const char *what = wire_get_str(in, QUESTION_TEXT_MAX - 1);
	uint32_t error;

	if (wire_end(in) < 0)
		return -EBADMSG;
	error = question_saved(d->queue, what, &by) ? 0 : ENOENT;
	if (c->fd >= 0)
		tell_numbers(c, APPROVE_TAKEN, &error, 1);
	return 0;
}

static int
on_packet(void *arg, struct person_client *c, struct wire_in *in)
{
	static int (*const on[])(
	    struct approve_socket *, struct person_client *, struct wire_in *) = {
	    [APPROVE_LIST] = on_list,
	    [APPROVE_ANSWER] = on_answer,
	    [APPROVE_REOPEN] = on_reopen,
	    [APPROVE_SAVED] = on_saved,
	    [APPROVE_CHANNEL] = on_channel,
	};
	uint32_t type = wire_get_u32(in);

	if (type >= ARRAY_LEN(on) || on[type] == NULL ||
	    (is_final(c) && (type == APPROVE_REOPEN || type == APPROVE_SAVED)))
		return -EBADMSG;
	return on[type](arg, c, in);
}

int
approve_open(struct loop *loop, const char *run_dir, struct queue *queue,
    struct approve_socket **ret)
{
	struct approve_socket *d = calloc(1, sizeof(*d));
	int r;

	if (d == NULL)
		return -ENOMEM;
	d->queue = queue;
	r = person_socket_open(&(struct person_socket_order){.loop = loop,
				   .run_dir = run_dir,
				   .prefix = APPROVE_SOCKET,
				   .send_bytes = SEND_BYTES,
				   .fn = on_packet,
				   .arg = d},
	    &d->socket);
	if (r < 0) {
		free(d);
		return r;
	}
	queue_watch(queue, on_seen, d);
	*ret = d;
	return 0;
}

void
approve_on_reopen(struct approve_socket *d, const struct approve_reopen *reopen)
{
	d->reopen = *reopen;
}

void
approve_free(struct approve_socket *d)
{
	if (d == NULL)
		return;
	queue_watch(d->queue, NULL, NULL);
	person_socket_free(d->socket);
	free(d);
}
