#include "leash/private.h"

void f(struct leash *l, const char *name, struct buf *room);

void
f(struct leash *l, const char *name, struct buf *room)
{
	struct dispatch_ask_net q = {.name = foreign_name(l->scrub, name, room)};

	(void)dispatch_ask_net(l, &q);
}
