#include "leash/vault/vault.h"

size_t f(void);
size_t
f(void)
{
	struct secret *s = NULL;
	(void)s;
	return 0;
}
