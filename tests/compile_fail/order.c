/* error: undefined type|incomplete */
#include "leash/vault/vault.h"

int f(const struct secret *s);

int
f(const struct secret *s)
{
	return s[0] == 0;
}
