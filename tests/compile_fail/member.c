/* error: undefined type|incomplete */
#include "leash/vault/vault.h"

size_t f(const struct secret *s);

size_t
f(const struct secret *s)
{
	return s->len;
}
