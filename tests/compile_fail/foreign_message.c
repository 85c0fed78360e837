/* error: incompatible */
#include "leash/private.h"

void f(struct leash *l, const char *name);

void
f(struct leash *l, const char *name)
{
	struct dispatch_ask_net q = {.name = name};

	(void)dispatch_ask_net(l, &q);
}
