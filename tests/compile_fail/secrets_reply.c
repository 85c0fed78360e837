/* error: incompatible */
/* S1-03 S1-125 */
#include "leash/vault/vault.h"
#include "supervisor/hub/secrets_reply.h"

int f(struct buf *b, const struct secret *s);

int
f(struct buf *b, const struct secret *s)
{
	(void)secret_len(s);
	return secrets_reply_card(b, s, 0);
}
