/*
 * The end of an input whose output still has a reader: how long kennel goes on.
 */
#include "supervisor/mcp/line/after_input.h"

#include <errno.h>
#include <poll.h>

#include "shim/base/loop.h"

#define LAST_NS   (30000 * LOOP_MS)
#define UNREAD_NS (300 * LOOP_MS) /* by an agent whose requests are all answered */

/* True if the agent can still read: its end of a pipe or socket is open. */
static bool
has_reader(const struct frame_out *to)
{
	struct pollfd p = {.fd = to->fd};

	/* syscalls: poll ppoll */
	return !to->closed && poll(&p, 1, 0) >= 0 &&
	       (p.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

bool
after_input_begin(struct after_input *a, const struct frame_out *to)
{
	if (!has_reader(to))
		return false;
	a->until = loop_now() + LAST_NS;
	return true;
}

int
after_input_drain(struct frame_in *in)
{
	int r;

	do
		r = frame_fill(in);
	while (r > 0 && frame_rest(in) < FRAME_MAX);
	if (r > 0 || r == -EAGAIN)
		return 1;
	return r == -ENOMEM ? r : 0;
}

bool
after_input_over(
    struct after_input *a, const struct frame_out *to, bool under_way, bool is_read)
{
	size_t left = frame_queued(to);
	uint64_t now = loop_now();

	if (a->left == 0 || left < a->left)
		a->at = now;
	a->left = under_way ? 0 : left;
	return !under_way && is_read && (left == 0 || now >= a->at + UNREAD_NS);
}

uint64_t
after_input_due(const struct after_input *a, bool is_read)
{
	uint64_t unread = a->at + UNREAD_NS;

	if (a->until == 0)
		return UINT64_MAX;
	return a->left > 0 && is_read && unread < a->until ? unread : a->until;
}
