/* error: incompatible */
#include "leash/exec/private.h"

void f(struct gate_question *q, const struct call *c);

void
f(struct gate_question *q, const struct call *c)
{
	q->program = c->path;
}
