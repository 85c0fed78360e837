/*
 * Events from a writer to the recorder: numbered, kept until they are on disk, and
 * sent again to a new recorder.  Runs in kennel and in every leash.  Holds no
 * secret (an event has no field for one).  Trusts only the recorder's number in
 * DURABLE.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/fd.h"

#define ANSWER_MAX 64

struct item {
	uint8_t *packet; /* owned */
	uint32_t len;
	uint64_t since; /* monotonic ns: a suspended machine writes nothing */
};

/* Numbers acked+1 .. last are in the queue; acked+1 .. sent have been sent. */
struct report {
	int fd;       /* -1 while the recorder is gone */
	bool greeted; /* its welcome has come; nothing is sent before */
	enum report_role role;
	char session[REPORT_NAME_MAX + 1];
	char instance[17];
	uint64_t acked, sent, last;
	struct item queue[REPORT_QUEUE_MAX]; /* indexed by number modulo the size */
};

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	/* syscalls: clock_gettime */
	(void)clock_gettime(clock, &t); /* cannot fail: both clocks exist */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits until the descriptor is ready; deadline in boottime ns. */
static int
wait_for(int fd, short events, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = events};
	uint64_t now = clock_ns(CLOCK_BOOTTIME);
	int n, ms;

	ms = now >= deadline ? 0 : (int)((deadline - now + 999999) / 1000000);
	n = poll(&p, 1, ms); /* syscalls: poll ppoll */
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n == 0 && clock_ns(CLOCK_BOOTTIME) >= deadline ? -ETIMEDOUT : 0;
}

static uint64_t
deadline_in(int wait_ms)
{
	return clock_ns(CLOCK_BOOTTIME) +
	       (uint64_t)(wait_ms > 0 ? wait_ms : 0) * 1000000u;
}

/* Receives one packet, which must be of this type; the caller parses the rest. */
static int
take_answer(int fd, uint8_t memory[ANSWER_MAX], uint32_t want, uint64_t *ret_number)
{
	struct wire_in in;
	size_t len;
	uint64_t number;
	int r;

	r = wire_recv(fd, memory, ANSWER_MAX, &len, NULL, 0, NULL);
	if (r < 0)
		return r;
	wire_in_init(&in, memory, len);
	if (wire_get_u32(&in) != want)
		return -EPROTO;
	number = wire_get_u64(&in);
	if (wire_end(&in) < 0)
		return -EPROTO;
	*ret_number = number;
	return 0;
}

static int
hello(const struct report *report, int fd)
{
	uint8_t memory[512];
	struct wire_out out;
	int r;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, REPORT_HELLO);
	wire_put_u32(&out, REPORT_VERSION);
	wire_put_u32(&out, report->role);
	wire_put_str(&out, report->session);
	wire_put_str(&out, report->instance);
	wire_put_u32(&out, (uint32_t)getpid());
	r = fd_nonblock(fd, true);
	return r == 0 ? wire_send(fd, &out, NULL, 0) : r;
}

static int
welcome(int fd, int wait_ms)
{
	uint64_t deadline = deadline_in(wait_ms), next;
	uint8_t answer[ANSWER_MAX];
	int r;

	while ((r = wait_for(fd, POLLIN, deadline)) == 0)
		if ((r = take_answer(fd, answer, REPORT_WELCOME, &next)) != -EAGAIN)
			break;
	return r;
}

static int
greet(const struct report *report, int fd, int wait_ms)
{
	int r = hello(report, fd);

	return r == 0 && wait_ms != REPORT_LATER ? welcome(fd, wait_ms) : r;
}

static void
hang_up(struct report *report)
{
	fd_close(&report->fd);
	report->sent = report->acked; /* all of it is sent again */
}

static struct item *
item_at(struct report *report, uint64_t number)
{
	return &report->queue[number % REPORT_QUEUE_MAX];
}

/* Builds the next packet: one event, or as many waiting events as fit.  Returns how
 * many. */
static uint64_t
next_packet(struct report *report, uint8_t memory[REPORT_EVENT_MAX], struct wire_out *ret)
{
	const struct item *item;
	uint64_t n = 0;

	wire_out_init(ret, memory, REPORT_EVENT_MAX);
	wire_put_u32(ret, REPORT_EVENTS);
	while (report->sent + n < report->last) {
		item = item_at(report, report->sent + n + 1);
		if (item->len + REPORT_JOIN_ROOM > REPORT_EVENT_MAX - ret->len)
			break;
		wire_put_bytes(ret, item->packet, item->len);
		n++;
	}
	if (n > 1)
		return n;
	item = item_at(report, report->sent + 1);
	*ret = (struct wire_out){.data = item->packet, .len = item->len};
	return 1;
}

/* Sends what the socket accepts.  A full socket is not a failure. */
static int
flush(struct report *report)
{
	uint8_t memory[REPORT_EVENT_MAX];

	while (report_wants_write(report)) {
		struct wire_out out;
		uint64_t n = next_packet(report, memory, &out);
		int r = wire_send(report->fd, &out, NULL, 0);

		if (r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM)
			return 0;
		if (r < 0) {
			hang_up(report);
			return -EPIPE;
		}
		report->sent += n;
	}
	return report->fd < 0 ? -EPIPE : 0;
}

int
report_open(int sock, enum report_role role, const char *session, int wait_ms,
    struct report **ret)
{
	struct report *report = NULL;
	uint64_t drawn;
	int r;

	if (strlen(session) > REPORT_NAME_MAX) {
		r = -EINVAL;
		goto out;
	}
	report = malloc(sizeof(*report));
	if (report == NULL) {
		r = -ENOMEM;
		goto out;
	}
	/* Not the queue: untouched pages are never allocated. */
	report->acked = report->sent = report->last = 0;
	report->fd = -1;
	report->role = role;
	(void)snprintf(report->session, sizeof(report->session), "%s", session);
	/* syscalls: getrandom */
	if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn)) {
		r = -EIO;
		goto out;
	}
	(void)snprintf(report->instance, sizeof(report->instance), "%016llx",
	    (unsigned long long)drawn);
	r = greet(report, sock, wait_ms);
	if (r < 0)
		goto out;
	report->greeted = wait_ms != REPORT_LATER;
	report->fd = sock;
	sock = -1;
	*ret = report;
	report = NULL;
out:
	report_free(report);
	fd_close(&sock);
	return r;
}

int
report_welcome(struct report *report, int wait_ms)
{
	int r = welcome(report->fd, wait_ms);

	if (r < 0)
		hang_up(report);
	report->greeted = r == 0;
	return r;
}

void
report_free(struct report *report)
{
	if (report == NULL)
		return;
	while (report->acked < report->last)
		free(item_at(report, ++report->acked)->packet);
	fd_close(&report->fd);
	free(report);
}

int
report_send(struct report *report, const struct event *event, enum event_class class,
    uint64_t *ret_number)
{
	struct wire_out out;
	struct item *item;
	uint8_t *packet;
	size_t len = event->out.len;

	if (event->out.error != 0)
		return event->out.error;
	if (report->last - report->acked >= REPORT_QUEUE_MAX)
		return -ENOBUFS;
	packet = malloc(EVENT_HEAD_LEN + len + REPORT_CUT_ROOM);
	if (packet == NULL)
		return -ENOBUFS;
	wire_out_init(&out, packet, EVENT_HEAD_LEN);
	wire_put_u32(&out, REPORT_EVENT);
	wire_put_u64(&out, report->last + 1);
	wire_put_u32(&out, event->kind);
	wire_put_u32(&out, class);
	wire_put_u64(&out, clock_ns(CLOCK_REALTIME));
	wire_put_u64(&out, clock_ns(CLOCK_BOOTTIME));
	memcpy(packet + EVENT_HEAD_LEN, event->memory + EVENT_HEAD_LEN, len);
	len += EVENT_HEAD_LEN;
	if (event->cut_n > 0) {
		wire_out_init(&out, packet + len, REPORT_CUT_ROOM);
		wire_put_u8(&out, KEY_CUT);
		wire_put_u64(&out, event->cut_n);
		len += out.len;
	}
	report->last++;
	item = item_at(report, report->last);
	*item = (struct item){packet, (uint32_t)len, clock_ns(CLOCK_MONOTONIC)};
	/* kept in either case: report_ready reports that the recorder is gone */
	(void)flush(report);
	if (ret_number != NULL)
		*ret_number = report->last;
	return 0;
}

bool
report_durable(const struct report *report, uint64_t number)
{
	return number <= report->acked;
}

int
report_wait(struct report *report, uint64_t number, int wait_ms)
{
	uint64_t deadline = deadline_in(wait_ms);
	int r = 0;

	while (r == 0 && !report_durable(report, number)) {
		short events = POLLIN;

		if (report->fd < 0)
			return -EPIPE;
		if (report_wants_write(report))
			events |= POLLOUT;
		r = wait_for(report->fd, events, deadline);
		if (r == 0)
			r = report_ready(report);
	}
	return r;
}

int
report_fd(const struct report *report)
{
	return report->fd;
}

bool
report_greeted(const struct report *report)
{
	return report->fd >= 0 && report->greeted;
}

bool
report_wants_write(const struct report *report)
{
	return report->fd >= 0 && report->greeted && report->sent < report->last;
}

/* All events up to this number are on disk: drop them.  A number that was never sent
 * means that the recorder is broken, and proves nothing. */
static int
take_durable(struct report *report, uint64_t number)
{
	if (number > report->sent)
		return -EPROTO;
	while (report->acked < number) {
		struct item *item = item_at(report, ++report->acked);

		free(item->packet);
		*item = (struct item){0};
	}
	return 0;
}

int
report_ready(struct report *report)
{
	uint8_t memory[ANSWER_MAX];
	int r = 0;

	while (r == 0 && report->fd >= 0) {
		uint64_t number;

		r = take_answer(report->fd, memory,
		    report->greeted ? REPORT_DURABLE : REPORT_WELCOME, &number);
		if (r == 0 && report->greeted)
			r = take_durable(report, number);
		else if (r == 0)
			report->greeted = true;
	}
	if (r == -EAGAIN)
		return flush(report);
	hang_up(report);
	return -EPIPE;
}

int
report_replace(struct report *report, int sock, int wait_ms)
{
	int r;

	hang_up(report);
	r = greet(report, sock, wait_ms);
	if (r < 0) {
		fd_close(&sock);
		return r;
	}
	report->greeted = wait_ms != REPORT_LATER;
	report->fd = sock;
	return flush(report);
}

bool
report_late(const struct report *report)
{
	const struct item *oldest =
	    &report->queue[(report->acked + 1) % REPORT_QUEUE_MAX];
	struct pollfd p = {.fd = report->fd, .events = POLLIN};

	if (report->last == report->acked ||
	    clock_ns(CLOCK_MONOTONIC) - oldest->since <= REPORT_LATE_MS * 1000000ull)
		return false;
	/* Its reply has arrived, and we are the ones who are late. */
	return poll(&p, 1, 0) <= 0 || p.revents != POLLIN;
}

size_t
report_pending(const struct report *report)
{
	return (size_t)(report->last - report->acked);
}
