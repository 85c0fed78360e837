/* error: incompatible */
#include "shim/base/wire.h"
#include "leash/vault/vault.h"

void f(struct wire_out *w, const struct secret *s);

void
f(struct wire_out *w, const struct secret *s)
{
	wire_put_str(w, s);
	(void)secret_len(s);
}
