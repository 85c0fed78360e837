/*
 * The audit log's record of a change of the registry (docs/FORMAT.audit, `registry`).
 *
 * Fail closed: the record with the outcome REGISTRY_ASKED is on disk before the change.
 */
#ifndef KENNEL_SUPERVISOR_REGISTRY_REGISTRY_LOG_H
#define KENNEL_SUPERVISOR_REGISTRY_REGISTRY_LOG_H

#include "leash/audit/writer.h"
#include "supervisor/registry/registry.h"

enum registry_outcome {
	REGISTRY_ASKED,   /* it is about to be made */
	REGISTRY_DONE,    /* it was made */
	REGISTRY_REFUSED, /* nothing was changed: the request is not allowed */
	REGISTRY_FAILED,  /* nothing was changed: an error */
};

struct registry_act {
	const char *action;    /* add remove enable disable import trust */
	const char *name;      /* of the server or file; NULL: missing or invalid */
	enum row_source by;    /* FROM_PERSON or FROM_AGENT */
	const uint8_t *sha256; /* of the row (dump_digest); NULL: none */
	const char *channel;   /* of a person (approve_channel_name); NULL: none */
};
/* reason: one line without values, for the last two; NULL: none. */
void registry_event(struct event *, const struct registry_act *, enum registry_outcome,
    const char *reason);

#endif
