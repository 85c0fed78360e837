/* error: incompatible */
#include "shim/base/buf.h"
#include "leash/vault/vault.h"

int f(struct buf *b, const struct secret *s);

int
f(struct buf *b, const struct secret *s)
{
	(void)secret_len(s);
	return buf_puts(b, s);
}
