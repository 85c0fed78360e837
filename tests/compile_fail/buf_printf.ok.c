#include "shim/base/buf.h"
#include "leash/vault/vault.h"

int f(struct buf *b, const struct secret *s);

int
f(struct buf *b, const struct secret *s)
{
	return buf_printf(b, "%s", secret_len(s) > 0 ? "it" : "");
}
