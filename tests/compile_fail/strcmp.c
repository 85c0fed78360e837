/* error: incompatible */
#include <string.h>
#include "leash/vault/vault.h"

int f(const struct secret *s, const char *text);

int
f(const struct secret *s, const char *text)
{
	return strcmp(s, text);
}
