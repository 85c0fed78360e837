#include "leash/vault/vault.h"

void f(struct secret *a, const struct secret *b);

void
f(struct secret *a, const struct secret *b)
{
	(void)a;
	(void)b;
}
