/*
 * kennel-recorder: the only writer of a log.
 *
 * Process: one per log, started by its first client (connect.c). Holds audit.lock for
 * its life; ends when no client is connected.
 * Holds: the database, the listening socket, the log directory, the run directory, the
 * directory of kept checkpoints.
 * Trusts: no bytes from any peer. A peer with another uid is refused. On a protocol
 * error the recorder closes the connection and records a gap.
 * Must never: parse MCP, change or remove a record, acknowledge what is not on disk,
 * continue after a failed write.
 *
 *	writer				recorder
 *	HELLO --------------------->	replaces an older connection
 *	   <---------------- WELCOME	of the same instance
 *	EVENT 1 (flow) ------------>	into the open transaction
 *	EVENT 2 (gate) ------------>	and commit as soon as the sockets are read
 *	   <--------------- DURABLE 2
 *	EVENTS 3, 4 ... ----------->	those that waited for room in the socket
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/audit/recorder/epochs.h"
#include "supervisor/audit/recorder/own_log.h"
#include "supervisor/audit/recorder/private.h"
#include "supervisor/audit/recorder/rotate.h"
#include "supervisor/audit/recorder/store.h"

struct recorder recorder;

/* ---- peers ------------------------------------------------------------------ */

void
peer_watch(struct peer *peer, int operation)
{
	struct epoll_event e = {.data.ptr = peer};

	e.events = (peer->rests ? 0u : EPOLLIN) | (peer->waits_write ? EPOLLOUT : 0u);
	/* syscalls: epoll_ctl */
	if (epoll_ctl(recorder.epoll, operation, peer->fd, &e) < 0)
		complain_and_end("watch a connection", -errno);
}

static void
wait_write(struct peer *peer, bool waits)
{
	if (peer->waits_write == waits)
		return;
	peer->waits_write = waits;
	peer_watch(peer, EPOLL_CTL_MOD);
}

static void
on_rested(struct loop *loop, void *arg)
{
	recorder.rest_timer = -1;
	for (size_t i = 0; i < recorder.peer_top; i++) {
		struct peer *peer = &recorder.peer[i];

		if (peer->fd < 0 || !peer->rests)
			continue;
		peer->rests = false;
		peer_watch(peer, EPOLL_CTL_MOD);
	}
}

/*
 * Stops reading, for a moment, a writer whose events need no acknowledgement. Its
 * packets collect in its socket. Waking up for each one would take processor time
 * from the call that it records.
 */
static void
rest(struct peer *peer, bool busy)
{
	if (peer->rests)
		return;
	if (recorder.rest_timer < 0)
		recorder.rest_timer = loop_timer_at(&recorder.loop,
		    loop_now() + (busy ? REST_BUSY_NS : REST_NS), on_rested, NULL);
	if (recorder.rest_timer < 0)
		return; /* no timer: read at once, as usual */
	peer->rests = true;
	peer_watch(peer, EPOLL_CTL_MOD);
}

static void quiet_soon(void);
static void tick_soon(void);

void
peer_end(struct peer *peer)
{
	if (peer->fd < 0)
		return;
	fd_close(&peer->fd);
	recorder.peer_n--;
	idle_soon();
}

/* Sends DURABLE for everything received on this connection before the last commit.
 * Later events are not on disk yet, and the socket may have room again at any
 * time. */
static void
peer_tell(struct peer *peer)
{
	uint8_t memory[16];
	struct wire_out out;
	int r;

	if (peer->fd < 0 || !peer->welcome || peer->kept == peer->told)
		return;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, REPORT_DURABLE);
	wire_put_u64(&out, peer->kept);
	r = wire_send(peer->fd, &out, NULL, 0);
	if (r == -EAGAIN) {
		wait_write(peer, true);
		return;
	}
	if (r < 0) {
		peer_end(peer);
		return;
	}
	peer->told = peer->kept;
	wait_write(peer, false);
}

/* ---- the transaction -------------------------------------------------------- */

/* Writes nothing more after a failure, except the report of a full disk. */
static void __attribute__((noreturn)) give_up(int error)
{
	if (error == -ENOSPC)
		ledger_last_words(recorder.ledger, ledger_lost(recorder.ledger));
	complain_and_end("write the log", error);
}

/* The record of the removal is on disk, so remove now. */
static void
prune(void)
{
	int r;

	if (recorder.prune_first == 0)
		return;
	r = ledger_prune(recorder.ledger, recorder.prune_first);
	if (r < 0)
		complain("unable to remove old files: %s", strerror(-r));
	recorder.prune_first = 0;
}

static void next_segment(void);

/* Commits, then acknowledges. */
static void
settle(void)
{
	bool waited = recorder.gate;
	int r = ledger_commit(recorder.ledger);

	if (r < 0)
		give_up(r);
	loop_timer_stop(&recorder.loop, recorder.flow_timer);
	recorder.flow_timer = -1;
	recorder.gate = false;
	recorder.batch_n = 0;
	for (size_t i = 0; i < recorder.peer_top; i++) {
		recorder.peer[i].kept = recorder.peer[i].heard;
		peer_tell(&recorder.peer[i]);
	}
	store_fold_some(recorder.store);
	r = waited ? store_room(recorder.store) : 0;
	if (r < 0)
		give_up(r);
	prune();
	next_segment();
	tick_soon();
	quiet_soon();
}

/* Closes a file that is full, or that an auditor wants closed, and begins the next.
 * Active readers delay this. */
static void
next_segment(void)
{
	int r = ledger_rotate(recorder.ledger, recorder.rotate);

	if (r == -EAGAIN)
		return;
	recorder.rotate = false;
	recorder.store = ledger_store(recorder.ledger);
	complain_for(recorder.store);
	if (r < 0)
		complain_and_end("start another file", r);
}

/* Writes heartbeats and ends epochs. */
static void
on_tick(struct loop *loop, void *arg)
{
	int r;

	recorder.tick_timer = -1;
	r = ledger_tick(recorder.ledger, recorder.peer_n);
	if (r < 0)
		give_up(r);
	settle();
}

/* Nothing was written for a moment: gives back SQLite's page cache, and the first time what
 * the start used. */
static void
on_quiet(struct loop *loop, void *arg)
{
	recorder.quiet_timer = -1;
	if (store_pending(recorder.store))
		return; /* its commit comes here again */
	store_rest(recorder.store);
	if (!recorder.started)
		confine_drop_start();
	recorder.started = true;
}

static void
quiet_soon(void)
{
	loop_timer_stop(&recorder.loop, recorder.quiet_timer);
	recorder.quiet_timer = loop_timer_at(
	    &recorder.loop, loop_now() + QUIET_NS, on_quiet, NULL); /* -1: not now */
}

static void
tick_soon(void)
{
	loop_timer_stop(&recorder.loop, recorder.tick_timer);
	recorder.tick_timer =
	    loop_timer_at(&recorder.loop, ledger_next_ns(recorder.ledger), on_tick, NULL);
	if (recorder.tick_timer < 0)
		complain_and_end("wait for the end of an epoch", recorder.tick_timer);
}

static void
on_flow_timer(struct loop *loop, void *arg)
{
	recorder.flow_timer = -1;
	settle();
}

static void
appended(int r)
{
	if (r < 0)
		give_up(r);
	recorder.batch_n++;
	if (recorder.flow_timer < 0)
		recorder.flow_timer = loop_timer_at(
		    &recorder.loop, loop_now() + FLOW_WAIT_NS, on_flow_timer, NULL);
}

/* Records in the log itself what the log lacks. */
static void
record_gap(const struct peer *peer, const char *reason, uint64_t count)
{
	appended(ledger_gap(recorder.ledger, peer->writer.instance, reason, count));
}

/* ---- messages of a peer ----------------------------------------------------- */

/* A writer that lost its connection may reconnect before we have read the old one to
 * its end. It resends what it sent there. */
static void
take_over(const struct peer *peer)
{
	for (size_t i = 0; i < recorder.peer_top; i++) {
		struct peer *old = &recorder.peer[i];

		if (old != peer && old->fd >= 0 && old->welcome &&
		    strcmp(old->writer.instance, peer->writer.instance) == 0)
			peer_end(old);
	}
}

static int
on_hello(struct peer *peer, struct wire_in *in)
{
	uint32_t version = wire_get_u32(in);
	enum report_role role = wire_get_u32(in);
	struct span session = wire_get_bytes(in, REPORT_NAME_MAX);
	const char *instance = wire_get_str(in, INSTANCE_LEN);
	uint32_t pid = wire_get_u32(in);
	uint8_t memory[16];
	struct wire_out out;
	int r;

	if (wire_end(in) < 0 || peer->welcome || version != REPORT_VERSION ||
	    (role < REPORT_SUPERVISOR || role > REPORT_AUDITOR) ||
	    !hex_is(instance, strlen(instance), INSTANCE_LEN))
		return -EBADMSG;
	peer->auditor = role == REPORT_AUDITOR;
	peer->writer.pid = pid;
	(void)snprintf(
	    peer->writer.role, sizeof(peer->writer.role), "%s", report_role_name(role));
	(void)snprintf(
	    peer->writer.instance, sizeof(peer->writer.instance), "%s", instance);
	body_utf8(peer->writer.session, sizeof(peer->writer.session), session.data,
	    session.len);
	take_over(peer);
	r = store_last_seq(recorder.store, &peer->writer, &peer->last);
	if (r == -ENOSPC)
		give_up(r); /* records of other writers come first */
	if (r == 0 && peer->last == 0)
		r = segment_last_seq(RECORDER_FD_LOG_DIR, &peer->writer, &peer->last);
	if (r < 0)
		complain_and_end("read the log", r);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, REPORT_WELCOME);
	wire_put_u64(&out, store_next(recorder.store));
	peer->welcome = true;
	return wire_send(peer->fd, &out, NULL, 0);
}

/* Parses the first record that an auditor wants to keep; 0: the first of the log. */
static uint64_t
prune_first(const struct record *rec)
{
	static struct scan scan;
	const struct scan_field *first = NULL;
	uint64_t number = 0;

	if (scan_body(rec->body, rec->body_len, &scan) == 0)
		first = scan_find(&scan, event_key_name(KEY_FIRST));
	return first != NULL && scan_number(first->value, &number) ? number : 0;
}

/* Only the recorder may send the log's own events, and only an auditor those of an
 * auditor. */
static bool
may_say(const struct peer *peer, enum event_kind kind)
{
	bool audits = kind == EVENT_EXPORT || kind == EVENT_COSIG ||
		      kind == EVENT_PRUNE || kind == EVENT_ROTATE;

	return kind > 0 && kind < EVENT_GENESIS && audits == peer->auditor;
}

static int
on_event(struct peer *peer, struct wire_in *in)
{
	static struct record rec; /* one at a time; 22 KiB */
	uint32_t class;

	rec.wseq = wire_get_u64(in);
	rec.kind = wire_get_u32(in);
	class = wire_get_u32(in);
	rec.ts = wire_get_u64(in);
	rec.boot = wire_get_u64(in);
	if (in->error != 0 || !peer->welcome || rec.wseq == 0 || rec.wseq > INT64_MAX ||
	    rec.ts > INT64_MAX || rec.boot > loop_now() || !may_say(peer, rec.kind) ||
	    class > EVENT_GATE)
		return -EBADMSG;
	if (rec.wseq > peer->last) {
		/* parse it first: its index is known only after a gap record, and a
		 * malformed packet must not leave one */
		struct wire_in again = *in;

		rec.idx = store_next(recorder.store);
		if (body_make(&peer->writer, in, &rec) < 0)
			return -EBADMSG;
		if (rec.wseq > peer->last + 1) {
			record_gap(peer, "numbers of this writer are missing",
			    rec.wseq - peer->last - 1);
			rec.idx = store_next(recorder.store);
			if (body_make(&peer->writer, &again, &rec) < 0)
				bug("the same event twice, once malformed");
		}
		appended(ledger_append(recorder.ledger, &peer->writer, &rec));
		peer->last = rec.wseq;
		if (rec.kind == EVENT_PRUNE)
			recorder.prune_first = prune_first(&rec);
		recorder.rotate |= rec.kind == EVENT_ROTATE;
	}
	/* else it was resent after a crash and is already in the log */
	if (rec.wseq > peer->heard)
		peer->heard = rec.wseq;
	if (class == EVENT_GATE)
		recorder.gate = true;
	return 0;
}

/* Accepts the events before a malformed one, as for separate packets. */
static int
on_events(struct peer *peer, struct wire_in *in)
{
	int r = 0;

	while (r == 0 && in->error == 0 && in->off < in->len) {
		struct span bytes = wire_get_bytes(in, REPORT_EVENT_MAX);
		struct wire_in one;

		wire_in_init(&one, bytes.data, bytes.len);
		r = wire_get_u32(&one) == REPORT_EVENT ? on_event(peer, &one) : -EBADMSG;
	}
	return r == 0 ? wire_end(in) : r;
}

static const struct {
	uint32_t type;
	int (*on)(struct peer *, struct wire_in *);
} message_row[] = {
    {REPORT_HELLO, on_hello},
    {REPORT_EVENT, on_event},
    {REPORT_EVENTS, on_events},
};

static int
dispatch(struct peer *peer, const uint8_t *packet, size_t len)
{
	struct wire_in in;
	uint32_t type;

	wire_in_init(&in, packet, len);
	type = wire_get_u32(&in);
	for (size_t i = 0; i < ARRAY_LEN(message_row); i++) {
		if (message_row[i].type == type)
			return message_row[i].on(peer, &in);
	}
	return -EBADMSG;
}

static void
peer_read(struct peer *peer)
{
	static uint8_t packet[REPORT_EVENT_MAX];
	uint64_t before = peer->heard;
	int r = 0;

	for (int i = 0; r == 0 && i < READ_MAX && peer->heard - before < READ_MAX &&
			recorder.batch_n < BATCH_MAX;
	     i++) {
		size_t len;

		r = wire_recv(peer->fd, packet, sizeof(packet), &len, NULL, 0, NULL);
		if (r == 0)
			r = dispatch(peer, packet, len);
	}
	if (r == -EAGAIN && peer->heard != before && !recorder.gate)
		rest(peer, peer->heard - before >= REST_BUSY);
	if (r == 0 || r == -EAGAIN)
		return;
	if (r == -EBADMSG) {
		complain("protocol error from a %s: connection closed",
		    peer->welcome ? peer->writer.role : "stranger");
		if (peer->welcome)
			record_gap(peer,
			    "malformed message: connection of this writer closed", 0);
	}
	peer_end(peer);
}

static void
on_epoll(struct loop *loop, int fd, short revents, void *arg)
{
	struct epoll_event ready[READY_MAX];
	int n;

	n = epoll_wait(recorder.epoll, ready, READY_MAX, 0); /* syscalls: epoll_wait */
	for (int i = 0; i < n; i++) {
		struct peer *peer = ready[i].data.ptr;

		/* an earlier peer of this round replaced or ended it */
		if (peer->fd < 0)
			continue;
		if ((ready[i].events & EPOLLOUT) != 0)
			peer_tell(peer);
		if (peer->fd >= 0 && (ready[i].events & ~(uint32_t)EPOLLOUT) != 0)
			peer_read(peer);
	}
	if (recorder.gate || recorder.batch_n >= BATCH_MAX ||
	    !store_pending(recorder.store))
		settle();
}

/* ---- start and end ---- */

static void
on_signal(struct loop *loop, int fd, short revents, void *arg)
{
	loop_stop(loop);
}

static void
watch(int fd, loop_fd_fn *fn)
{
	if (fd < 0 || loop_add(&recorder.loop, fd, POLLIN, fn, NULL) < 0)
		complain_and_end("watch a descriptor", -errno);
}

static void
start_loop(void)
{
	sigset_t ends;

	loop_init(&recorder.loop);
	recorder.idle_timer = recorder.flow_timer = recorder.rest_timer =
	    recorder.tick_timer = recorder.quiet_timer = -1;
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGHUP);
	/* syscalls: rt_sigprocmask signalfd4 epoll_create1 */
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	watch(signalfd(-1, &ends, SFD_CLOEXEC), on_signal);
	recorder.epoll = epoll_create1(EPOLL_CLOEXEC);
	watch(recorder.epoll, on_epoll);
	if (fd_nonblock(RECORDER_FD_LISTENER, true) < 0)
		complain_and_end("listen", -EBADF);
	watch(RECORDER_FD_LISTENER, on_listener);
	idle_soon();
	tick_soon();
}

/* Accepts no new connection, commits what was received, removes the socket. The lock
 * is released when the process ends. */
static void
finish(void)
{
	int fd, r;

	settle();
	r = ledger_end(recorder.ledger, recorder.idle ? "idle" : "stopped");
	if (r < 0)
		give_up(r);
	/* syscalls: shutdown */
	(void)shutdown(RECORDER_FD_LISTENER, SHUT_RDWR); /* our own socket: cannot fail */
	while ((fd = accept4(RECORDER_FD_LISTENER, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		fd_close(&fd);
	(void)unlinkat(RECORDER_FD_RUN_DIR, recorder.socket_name, 0);
	for (size_t i = 0; i < recorder.peer_top; i++)
		peer_end(&recorder.peer[i]);
}

int
main(void)
{
	const char *why = "";
	int kept, r;

	given_check(&kept);
	(void)umask(077);               /* syscalls: umask */
	(void)signal(SIGPIPE, SIG_IGN); /* syscalls: rt_sigaction */
	complain_open();
	r = confine_no_dumps();
	if (r < 0)
		complain_and_end("forbid dumps of itself", r);
	r = recorder_socket_name(RECORDER_FD_LOG_DIR, recorder.socket_name);
	if (r < 0)
		complain_and_end("name its socket", r);
	given_name(&recorder.self);
	r = ledger_open(
	    RECORDER_FD_LOG_DIR, kept, &recorder.self, &recorder.ledger, &why);
	if (r < 0) {
		complain("unable to run: %s", why);
		complain_and_end("open the log", r);
	}
	recorder.store = ledger_store(recorder.ledger);
	complain_for(recorder.store);
	start_loop();
	given_confine(kept);
	quiet_soon();
	r = loop_run(&recorder.loop);
	if (r < 0)
		complain_and_end("wait", r);
	finish();
	return 0;
}
