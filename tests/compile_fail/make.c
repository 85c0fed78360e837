/* error: undefined type|incomplete|storage size|initializer */
#include "leash/vault/vault.h"

size_t f(void);
size_t
f(void)
{
	struct secret s = {0};
	(void)s;
	return 0;
}
