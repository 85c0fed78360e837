#include "leash/vault/vault.h"

const char *f(const struct secret *s);

const char *
f(const struct secret *s)
{
	return secret_len(s) > 0 ? "set" : "none";
}
