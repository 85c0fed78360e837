/*
 * Who speaks next. Lines are handled only while the agent's queue has room; those that
 * were read before it was full wait in their buffers, and are handled when the agent has
 * read.
 */
#include <errno.h>

#include "supervisor/serve/private.h"

bool
hub_room(struct hub *h)
{
	if (frame_queued(&h->to_agent) < FRAME_SOON)
		return true;
	if (frame_flush(&h->to_agent) == -ENOMEM)
		h->error = -ENOMEM;
	return frame_queued(&h->to_agent) < FRAME_SOON;
}

struct downstream *
downstream_behind(const struct hub *h)
{
	struct downstream *d = h->down;

	while (d != NULL && !d->behind)
		d = d->next;
	return d;
}

void
hub_catch_up(struct hub *h)
{
	struct downstream *d;

	if (h->turns++ % 2 == 0 && h->behind)
		agent_pump(h);
	while ((d = downstream_behind(h)) != NULL && h->error == 0 && hub_room(h))
		(void)downstream_pump(d); /* it may be gone */
	if (h->parked_behind)
		parked_wake(h);
	if (h->behind)
		agent_pump(h);
}
