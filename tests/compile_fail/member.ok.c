#include "leash/vault/vault.h"

size_t f(const struct secret *s);

size_t
f(const struct secret *s)
{
	return secret_len(s);
}
