/* error: incompatible */
#include "leash/vault/vault.h"

const char *f(const struct secret *s);

const char *
f(const struct secret *s)
{
	return s;
}
