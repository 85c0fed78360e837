#include <string.h>
#include "leash/vault/vault.h"

int f(const struct secret *s, const char *text);

int
f(const struct secret *s, const char *text)
{
	return secret_equals(s, text, strlen(text));
}
