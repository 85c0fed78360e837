#include "leash/vault/vault.h"
#include "supervisor/hub/secrets_reply.h"

int f(struct buf *b, const struct meta *m, const struct secret *s);

int
f(struct buf *b, const struct meta *m, const struct secret *s)
{
	(void)secret_len(s);
	return secrets_reply_card(b, m, 0);
}
