/*
 * Does kennel-egress still serve?  A process that ended is noticed at once. One that is
 * stopped keeps the cell's listeners, where the kernel accepts for it: the server's
 * connections would wait for ever.
 *
 * Process: the leash.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/network.h"

#define PING_NS (UINT64_C(10000) * LOOP_MS)
/* More than that, and the leash itself was stopped: nobody was late but itself. */
#define LATE_NS (UINT64_C(2000) * LOOP_MS)

static void on_ping(struct loop *, void *arg);

static int
ping(struct network *n)
{
	uint8_t memory[16];
	struct wire_out out;
	int r;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, EGRESS_PING);
	wire_put_u32(&out, n->ping.number + 1);
	wire_put_u32(&out, 0);
	r = wire_send(n->relay, &out, NULL, 0);
	if (r == 0)
		n->ping.number++;
	/* a channel without room has what it has not read */
	n->ping.pending = r == 0 || r == -EAGAIN;
	return r == -EAGAIN ? 0 : r;
}

static int
arm(struct network *n)
{
	n->ping.due_ns = loop_now() + PING_NS;
	n->ping.timer = loop_timer_at(&n->leash->loop, n->ping.due_ns, on_ping, n);
	return n->ping.timer < 0 ? n->ping.timer : 0;
}

static void
on_ping(struct loop *loop, void *arg)
{
	struct network *n = arg;
	bool late = loop_now() > n->ping.due_ns + LATE_NS;

	n->ping.timer = -1;
	network_hear(n->leash); /* what came in this round, or while the leash was busy */
	if (n->relay < 0)
		return;
	if (n->ping.pending && !late) {
		/* syscalls: pidfd_send_signal */
		(void)syscall(SYS_pidfd_send_signal, n->relay_pidfd, SIGKILL, NULL, 0);
		network_lost(n, "kennel-egress does not answer and was killed: the "
				"server has no network until its next start");
		return;
	}
	if ((!n->ping.pending && ping(n) < 0) || arm(n) < 0)
		network_lost(n, NULL);
}

int
network_ping_start(struct network *n)
{
	return arm(n);
}

int
network_pong(const struct network *n, uint32_t number)
{
	return number == 0 || number > n->ping.number ? -EBADMSG : 0;
}

void
network_ping_stop(struct network *n)
{
	loop_timer_stop(&n->leash->loop, n->ping.timer);
	n->ping.timer = -1;
}
