/* error: incompatible */
#include "leash/audit/writer.h"
#include "leash/vault/vault.h"

void f(struct event *e, const struct secret *s);

void
f(struct event *e, const struct secret *s)
{
	event_text(e, KEY_NAME, s);
	(void)secret_len(s);
}
