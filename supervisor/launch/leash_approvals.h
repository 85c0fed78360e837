/*
 * What a leash asks of the supervisor: a person's word about a secret before its
 * server starts, about a program while it runs; and to pass on that an exec was
 * refused.
 */
#ifndef KENNEL_SUPERVISOR_CONTROL_H
#define KENNEL_SUPERVISOR_CONTROL_H

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "supervisor/approve/approve.h"
#include "supervisor/launch/leash_client.h"

struct session;
struct control;

struct control_order { /* all borrowed */
	const struct policy *policy;
	const struct sealed_server *server;
	struct report *report;
	struct queue *questions; /* NULL: nobody can be asked, which is a no */
	struct child *child;
	struct session *session; /* NULL: no MCP is spoken */
};

int control_new(const struct control_order *, struct control **ret);
/* Questions that wait are withdrawn; before queue and session are freed. */
void control_free(struct control *);
/* LEASH_USE, LEASH_ASK, LEASH_WITHDRAWN, LEASH_DENIED; else it is not looked at. */
void control_news(struct control *, const struct child_news *);
/* The log has caught up: a yes that is on disk now goes to the leash. */
void control_recorded(struct control *);

#endif
