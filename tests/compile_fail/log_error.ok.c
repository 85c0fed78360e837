#include "shim/base/log.h"
#include "leash/vault/vault.h"

void f(const struct secret *s);

void
f(const struct secret *s)
{
	log_error("unable to use %s", secret_len(s) > 0 ? "it" : "nothing");
}
