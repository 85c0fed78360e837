#include <stdio.h>

#include "leash/audit/writer.h"

void f(struct event *e, const char *name);

void
f(struct event *e, const char *name)
{
	static char text[REPORT_TEXT_MAX + 64];

	(void)snprintf(text, sizeof(text), "%s", name);
	event_text(e, KEY_NAME, text);
	event_text(e, KEY_NAME, name);
}
