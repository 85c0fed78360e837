/*
 * The pending approvals of all sessions, kept up to date: each session reports its new
 * and its ended ones on a connection of its own.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/base/fd.h"
#include "supervisor/answer/answer.h"
#include "supervisor/base/person_socket.h"

#define MS_PER_S  1000u
#define NS_PER_MS 1000000u

static uint64_t
now_ms(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* a valid clock */
	return (uint64_t)t.tv_sec * MS_PER_S + (uint64_t)t.tv_nsec / NS_PER_MS;
}

uint64_t
open_approval_left(const struct open_approval *o)
{
	uint64_t passed = now_ms() - o->came_at;

	return passed < o->a.left_ms ? o->a.left_ms - passed : 0;
}

/* ---- sessions ---------------------------------------------------------------------- */

static bool
has_session(const struct open_list *l, long pid)
{
	for (size_t i = 0; i < l->session_n; i++)
		if (l->session[i].fd >= 0 && l->session[i].pid == pid)
			return true;
	return false;
}

/* SESSIONS_MAX: none is free. */
static size_t
free_place(struct open_list *l)
{
	size_t k = 0;

	while (k < l->session_n && l->session[k].fd >= 0)
		k++;
	return k;
}

static size_t
list_sessions(const struct open_list *l, long pid[SESSIONS_MAX])
{
	return l->access != NULL ? l->access->list(l->access->arg, pid, SESSIONS_MAX)
				 : person_sockets(APPROVE_SOCKET, pid, SESSIONS_MAX);
}

static int
connect_to(const struct open_list *l, long pid)
{
	return l->access != NULL ? l->access->connect(l->access->arg, pid)
				 : person_connect(APPROVE_SOCKET, pid);
}

void
open_list_look(struct open_list *l)
{
	long pid[SESSIONS_MAX];
	size_t n = list_sessions(l, pid), k;
	int fd;

	for (size_t i = 0; i < n; i++) {
		if (has_session(l, pid[i]))
			continue;
		k = free_place(l);
		if (k == SESSIONS_MAX)
			return;
		fd = connect_to(l, pid[i]);
		if (fd >= 0 && session_subscribe(fd, true) < 0)
			fd_close(&fd);
		if (fd < 0)
			continue; /* it has ended, or the next look finds it again */
		l->session[k].pid = pid[i];
		l->session[k].fd = fd;
		if (k == l->session_n)
			l->session_n++;
	}
}

size_t
open_list_poll(const struct open_list *l, struct pollfd *wait)
{
	for (size_t i = 0; i < l->session_n; i++)
		wait[i] = (struct pollfd){l->session[i].fd, POLLIN, 0};
	return l->session_n;
}

/* ---- approvals --------------------------------------------------------------------- */

static void
report(struct open_list *l, const struct approval *a, enum question_answer how)
{
	if (l->fn != NULL)
		l->fn(l->arg, a, how);
}

/* Keeps a copy of the packet: its type, and the approval. 0 or -errno. */
static int
add(struct open_list *l, long pid, const struct wire_in *packet)
{
	struct open_approval o = {.came_at = now_ms()}, *more;
	size_t cap = l->cap == 0 ? QUESTIONS_MAX : 2 * l->cap;
	struct wire_in in;
	int r;

	if (l->n == l->cap) {
		more = reallocarray(l->item, cap, sizeof(l->item[0]));
		if (more == NULL)
			return -ENOMEM;
		l->item = more;
		l->cap = cap;
	}
	o.packet = malloc(packet->len);
	if (o.packet == NULL)
		return -ENOMEM;
	memcpy(o.packet, packet->data, packet->len);
	wire_in_init(&in, o.packet, packet->len);
	(void)wire_get_u32(&in); /* the type, which is known */
	r = approval_read(&in, pid, &o.a);
	if (r < 0) {
		free(o.packet);
		return r;
	}
	l->item[l->n++] = o;
	report(l, &o.a, 0);
	return 0;
}

static void
remove_at(struct open_list *l, size_t i, enum question_answer how)
{
	struct open_approval gone = l->item[i];

	memmove(&l->item[i], &l->item[i + 1], (l->n - i - 1) * sizeof(gone));
	l->n--;
	report(l, &gone.a, how);
	free(gone.packet);
}

static void
remove_one(struct open_list *l, long pid, uint32_t number, enum question_answer how)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->item[i].a.pid == pid && l->item[i].a.number == number) {
			remove_at(l, i, how);
			return;
		}
}

static void
end_session(struct open_list *l, size_t at)
{
	long pid = l->session[at].pid;

	fd_close(&l->session[at].fd);
	for (size_t i = l->n; i > 0; i--)
		if (l->item[i - 1].a.pid == pid)
			remove_at(l, i - 1, ANSWER_WITHDRAWN);
}

static int
receive_one(struct open_list *l, size_t at)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	long pid = l->session[at].pid;
	uint32_t number, how;
	struct wire_in in;
	int r = person_receive(l->session[at].fd, memory, sizeof(memory), &in);

	if (r < 0)
		return r;
	switch (wire_get_u32(&in)) {
	case APPROVE_QUESTION:
		return add(l, pid, &in);
	case APPROVE_GONE:
		number = wire_get_u32(&in);
		how = wire_get_u32(&in);
		if (wire_end(&in) < 0)
			return -EBADMSG;
		remove_one(l, pid, number, (enum question_answer)how);
		return 0;
	default:
		return 0; /* the end of what was pending */
	}
}

void
open_list_receive(struct open_list *l, const struct pollfd *wait)
{
	for (size_t i = 0; i < l->session_n; i++)
		if (l->session[i].fd >= 0 && wait[i].revents != 0 &&
		    receive_one(l, i) < 0)
			end_session(l, i);
}

void
open_list_free(struct open_list *l)
{
	for (size_t i = 0; i < l->session_n; i++)
		fd_close(&l->session[i].fd);
	for (size_t i = 0; i < l->n; i++)
		free(l->item[i].packet);
	free(l->item);
}
