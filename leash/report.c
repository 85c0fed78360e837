/*
 * Events from a writer to the recorder: built field by field, numbered, kept until
 * they are on disk, sent again when the recorder was replaced.  Runs in kennel and
 * in every leash.  Holds no secret (an event has no field for one) and trusts the
 * recorder with nothing but the number in DURABLE.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "leash/report.h"
#include "shim/base/fd.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* u32 message, u64 number, u32 kind, u32 class, u64 realtime, u64 boottime */
#define EVENT_HEAD_LEN 36
#define ANSWER_MAX     64

struct item {
	uint8_t *packet; /* owned */
	uint32_t len;
	uint64_t since; /* monotonic ns: a sleeping machine writes nothing */
};

/* Numbers acked+1 .. last are in the queue; acked+1 .. sent are on their way. */
struct report {
	int fd; /* -1 while the recorder is gone */
	enum report_role role;
	char session[REPORT_NAME_MAX + 1];
	char instance[17];
	uint64_t acked, sent, last;
	struct item queue[REPORT_QUEUE_MAX]; /* by number modulo the size */
};

/* ---- names ---------------------------------------------------------------- */

static const char *const kind_name[EVENT_KIND_END] = {
    [EVENT_START] = "start",
    [EVENT_MOUNTS] = "mounts",
    [EVENT_SECRETS] = "secrets",
    [EVENT_EXEC] = "exec",
    [EVENT_CALL] = "call",
    [EVENT_REFUSED] = "refused",
    [EVENT_DROPPED] = "dropped",
    [EVENT_SCRUB] = "scrub",
    [EVENT_STOP] = "stop",
    [EVENT_GAP] = "gap",
    [EVENT_POLICY] = "policy.load",
    [EVENT_EXPORT] = "export",
    [EVENT_COSIG] = "cosig",
    [EVENT_PRUNE] = "prune",
    [EVENT_EGRESS] = "egress",
    [EVENT_APPROVE] = "approve",
    [EVENT_VAULT] = "vault",
    [EVENT_EXCEPTION] = "exception",
    [EVENT_MANIFEST] = "manifest",
    [EVENT_ROTATE] = "rotate",
    [EVENT_GENESIS] = "genesis",
    [EVENT_OPEN] = "open",
    [EVENT_EPOCH] = "epoch",
    [EVENT_HEARTBEAT] = "heartbeat",
    [EVENT_CLOCK] = "clock",
    [EVENT_BREAK] = "break",
    [EVENT_END] = "end",
};

const char *
event_kind_name(enum event_kind kind)
{
	if ((size_t)kind >= ARRAY_LEN(kind_name) || kind_name[kind] == NULL)
		return "unknown";
	return kind_name[kind];
}

enum { NUMBER = 1, REPEATS = 2 };

static const struct {
	const char *name;
	unsigned int is;
} key_row[KEY_END] = {
    [KEY_SERVER] = {"server", 0},
    [KEY_POLICY] = {"policy", 0},
    [KEY_MODE] = {"mode", 0},
    [KEY_VERDICT] = {"verdict", 0},
    [KEY_RULE] = {"rule", 0},
    [KEY_PROGRAM] = {"program", 0},
    [KEY_IMAGE] = {"image", 0},
    [KEY_ARGV] = {"argv", REPEATS},
    [KEY_ARGV_SHA256] = {"argv_sha256", 0},
    [KEY_PID] = {"pid", NUMBER},
    [KEY_METHOD] = {"method", 0},
    [KEY_NAME] = {"name", REPEATS},
    [KEY_DIRECTION] = {"direction", 0},
    [KEY_REQUEST] = {"request", 0},
    [KEY_PARAMS_SHA256] = {"params_sha256", 0},
    [KEY_RESULT_SHA256] = {"result_sha256", 0},
    [KEY_PARAMS_BYTES] = {"params_bytes", NUMBER},
    [KEY_RESULT_BYTES] = {"result_bytes", NUMBER},
    [KEY_DURATION_US] = {"duration_us", NUMBER},
    [KEY_OUTCOME] = {"outcome", 0},
    [KEY_REASON] = {"reason", 0},
    [KEY_COUNT] = {"count", NUMBER},
    [KEY_STATUS] = {"status", NUMBER},
    [KEY_SIGNAL] = {"signal", NUMBER},
    [KEY_LACKS] = {"lacks", REPEATS},
    [KEY_MOUNT] = {"mount", REPEATS},
    [KEY_BYTES] = {"bytes", NUMBER},
    [KEY_UID] = {"uid", NUMBER},
    [KEY_SOURCE] = {"source", 0},
    [KEY_ACTION] = {"action", 0},
    [KEY_ORIGIN] = {"origin", 0},
    [KEY_VKEY] = {"vkey", REPEATS},
    [KEY_EPOCH] = {"epoch", NUMBER},
    [KEY_PERIOD] = {"period", NUMBER},
    [KEY_HOST] = {"host", 0},
    [KEY_BOOT_ID] = {"boot_id", 0},
    [KEY_SIZE] = {"size", NUMBER},
    [KEY_ROOT] = {"root", 0},
    [KEY_NOTE] = {"note", 0},
    [KEY_FIRST] = {"first", NUMBER},
    [KEY_BEFORE] = {"before", NUMBER},
    [KEY_AFTER] = {"after", NUMBER},
    [KEY_SIGNER] = {"signer", 0},
    [KEY_VERSION] = {"version", NUMBER},
    [KEY_FORMAT] = {"format", 0},
    [KEY_RECORDS] = {"records", NUMBER},
    [KEY_WRITERS] = {"writers", NUMBER},
    [KEY_ADDRESS] = {"address", 0},
    [KEY_PORT] = {"port", NUMBER},
    [KEY_BYTES_OUT] = {"bytes_out", NUMBER},
    [KEY_BYTES_IN] = {"bytes_in", NUMBER},
    [KEY_APPROVER] = {"approver", 0},
    [KEY_OWNER] = {"owner", 0},
    [KEY_TICKET] = {"ticket", 0},
    [KEY_UNTIL] = {"until", NUMBER},
    [KEY_SHA256] = {"sha256", 0},
    [KEY_PINNED] = {"pinned", 0},
    [KEY_CALLER] = {"caller", 0},
    [KEY_TRACE] = {"trace", REPEATS},
    [KEY_CHAIN] = {"chain", REPEATS},
    [KEY_CUT] = {"cut", NUMBER},
};

static bool
key_known(enum event_key key)
{
	/* cppcheck-suppress arrayIndexOutOfBoundsCond ; it does not see ARRAY_LEN */
	return key > 0 && (size_t)key < ARRAY_LEN(key_row) && key_row[key].name != NULL;
}

const char *
event_key_name(enum event_key key)
{
	return key_known(key) ? key_row[key].name : "unknown";
}

bool
event_key_is_number(enum event_key key)
{
	return key_known(key) && (key_row[key].is & NUMBER) != 0;
}

bool
event_key_repeats(enum event_key key)
{
	return key_known(key) && (key_row[key].is & REPEATS) != 0;
}

const char *
report_role_name(enum report_role role)
{
	static const char *const name[] = {[REPORT_SUPERVISOR] = "supervisor",
	    [REPORT_LEASH] = "leash",
	    [REPORT_AUDITOR] = "auditor"};

	if ((size_t)role >= ARRAY_LEN(name) || name[role] == NULL)
		return "unknown";
	return name[role];
}

/* ---- events --------------------------------------------------------------- */

void
event_begin(struct event *event, enum event_kind kind)
{
	/* Room for the head in front and for the mark of a cut behind. */
	wire_out_init(&event->out, event->memory + EVENT_HEAD_LEN,
	    sizeof(event->memory) - EVENT_HEAD_LEN - REPORT_CUT_ROOM);
	event->kind = kind;
	event->cut_n = 0;
}

/* One field, whole or not at all: an event never fails for being long. */
static bool
room_for(struct event *event, size_t len)
{
	if (len <= event->out.cap - event->out.len)
		return true;
	event->cut_n++;
	return false;
}

void
event_bytes(struct event *event, enum event_key key, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	if (len > REPORT_TEXT_MAX) {
		event->cut_n++;
		len = REPORT_TEXT_MAX;
		/* not through the middle of a character */
		for (int i = 0; i < 3 && len > 0 && (at[len] & 0xc0) == 0x80; i++)
			len--;
	}
	if (!room_for(event, 1 + 4 + len + 1))
		return;
	wire_put_u8(&event->out, (uint8_t)key);
	wire_put_bytes(&event->out, bytes, len);
}

void
event_text(struct event *event, enum event_key key, const char *text)
{
	event_bytes(event, key, text, strlen(text));
}

void
event_number(struct event *event, enum event_key key, uint64_t number)
{
	if (!room_for(event, 1 + 8))
		return;
	wire_put_u8(&event->out, (uint8_t)key);
	wire_put_u64(&event->out, number);
}

void
event_digest(
    struct event *event, enum event_key key, const uint8_t digest[REPORT_DIGEST_LEN])
{
	static const char digit[] = "0123456789abcdef";
	char hex[2 * REPORT_DIGEST_LEN];

	for (size_t i = 0; i < REPORT_DIGEST_LEN; i++) {
		hex[2 * i] = digit[digest[i] >> 4];
		hex[2 * i + 1] = digit[digest[i] & 15];
	}
	event_bytes(event, key, hex, sizeof(hex));
}

void
event_identity(
    struct event *event, const char *server, const uint8_t policy[REPORT_DIGEST_LEN])
{
	event_text(event, KEY_SERVER, server);
	event_digest(event, KEY_POLICY, policy);
}

/* ---- the connection ------------------------------------------------------- */

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	/* syscalls: clock_gettime */
	(void)clock_gettime(clock, &t); /* cannot fail: both clocks are known */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Wait until the descriptor is ready; deadline in boottime ns. */
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

/* One packet that must be of this type; the rest is left to the caller. */
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
	report->sent = report->acked; /* all of it goes again */
}

static struct item *
item_at(struct report *report, uint64_t number)
{
	return &report->queue[number % REPORT_QUEUE_MAX];
}

/* Send what the socket takes.  A full socket is no failure. */
static int
flush(struct report *report)
{
	while (report->fd >= 0 && report->sent < report->last) {
		struct item *item = item_at(report, report->sent + 1);
		struct wire_out out = {.data = item->packet, .len = item->len};
		int r = wire_send(report->fd, &out, NULL, 0);

		if (r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM)
			return 0;
		if (r < 0) {
			hang_up(report);
			return -EPIPE;
		}
		report->sent++;
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
	/* Not the queue: pages that are never used are never made. */
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
	/* kept either way: report_ready tells the loop that the recorder is gone */
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
report_wants_write(const struct report *report)
{
	return report->fd >= 0 && report->sent < report->last;
}

/* All up to this number is on disk: forget it.  A recorder that claims more
 * than it was sent is broken, and what it says proves nothing. */
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

		r = take_answer(report->fd, memory, REPORT_DURABLE, &number);
		if (r == 0)
			r = take_durable(report, number);
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
	/* Its answer is here and we are the ones who are late. */
	return poll(&p, 1, 0) <= 0 || p.revents != POLLIN;
}

size_t
report_pending(const struct report *report)
{
	return (size_t)(report->last - report->acked);
}
