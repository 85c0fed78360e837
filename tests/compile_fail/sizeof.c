/* error: undefined type|incomplete|sizeof|storage size|initializer */
#include "leash/vault/vault.h"

size_t f(const struct secret *s);

size_t
f(const struct secret *s)
{
	return sizeof(*s);
}
