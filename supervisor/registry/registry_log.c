/*
 * The record of a change of the registry (registry_log.h).
 */
#include "supervisor/registry/registry_log.h"

#include <unistd.h>

void
registry_event(struct event *e, const struct registry_act *act,
    enum registry_outcome outcome, const char *reason)
{
	static const struct {
		const char *outcome, *verdict;
	} row[] = {
	    [REGISTRY_ASKED] = {"asked", NULL},
	    [REGISTRY_DONE] = {"done", "allow"},
	    [REGISTRY_REFUSED] = {"refused", "deny"},
	    [REGISTRY_FAILED] = {"failed", "deny"},
	};

	event_begin(e, EVENT_REGISTRY);
	event_text(e, KEY_ACTION, act->action);
	if (act->name != NULL)
		event_text(e, KEY_NAME, act->name);
	event_text(e, KEY_OUTCOME, row[outcome].outcome);
	if (row[outcome].verdict != NULL)
		event_text(e, KEY_VERDICT, row[outcome].verdict);
	if (reason != NULL)
		event_text(e, KEY_REASON, reason);
	if (act->sha256 != NULL)
		event_digest(e, KEY_SHA256, act->sha256);
	event_text(e, KEY_SOURCE, row_source_name(act->by));
	event_number(e, KEY_UID, getuid());
	if (act->channel != NULL)
		event_text(e, KEY_CHANNEL, act->channel);
}
