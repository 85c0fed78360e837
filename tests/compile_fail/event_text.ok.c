#include "leash/audit/writer.h"
#include "leash/vault/vault.h"

void f(struct event *e, const struct secret *s);

void
f(struct event *e, const struct secret *s)
{
	event_text(e, KEY_NAME, "TOKEN");
	(void)secret_len(s);
}
