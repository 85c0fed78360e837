#include "supervisor/mcp/line/budget.h"

bool
budget_full(const struct budget *b, uint64_t now, uint64_t each_ns)
{
	return (now - b->at) / each_ns >= b->used;
}

bool
budget_take(struct budget *b, uint64_t now, uint32_t most, uint64_t each_ns)
{
	uint64_t back = (now - b->at) / each_ns;

	if (back >= b->used)
		*b = (struct budget){.at = now};
	else {
		b->used -= (uint32_t)back; /* fewer than used */
		b->at += back * each_ns;
	}
	if (b->used >= most)
		return false;
	b->used++;
	return true;
}
