#include "leash/vault/vault.h"

int f(const struct secret *s);

int
f(const struct secret *s)
{
	return secret_equals(s, "", 0);
}
