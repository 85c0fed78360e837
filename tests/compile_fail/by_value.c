/* error: undefined type|incomplete */
#include "leash/vault/vault.h"

struct reply {
	const char *name;
	struct secret value;
};
size_t f(void);

size_t
f(void)
{
	return sizeof(struct reply);
}
