/* error: smaller than the text of a record */
#include <stdio.h>

#include "leash/audit/writer.h"

void f(struct event *e, const char *name);

void
f(struct event *e, const char *name)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "%s", name);
	event_text(e, KEY_NAME, text);
}
