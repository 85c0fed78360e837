#include "leash/exec/private.h"

void f(struct gate *g, struct gate_question *q, const struct call *c);

void
f(struct gate *g, struct gate_question *q, const struct call *c)
{
	q->program = foreign_text(g->order.scrub, c->path, &g->shown);
}
