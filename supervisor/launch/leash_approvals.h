/*
 * Handles the requests of a leash: approvals for secrets before its server starts and
 * for programs while it runs, and reports of refused execs.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_LEASH_APPROVALS_H
#define KENNEL_SUPERVISOR_LAUNCH_LEASH_APPROVALS_H

#include "leash/audit/writer.h"
#include "policy/sealed/sealed.h"
#include "supervisor/approve/approve.h"
#include "supervisor/launch/leash_client.h"

struct session;
struct control;

/* Uses of a secret from the vault that a person has allowed before this start. */
#define APPROVED_USES_MAX 16
struct approved_uses {
	size_t n;
	struct approved_use {
		char path[256];
		char request[QUESTION_REQUEST_MAX]; /* whose answer it was, for the log */
		bool session; /* not for a secret that is approved for each use */
	} use[APPROVED_USES_MAX];
};

struct control_order { /* all borrowed */
	const struct policy *policy;
	const struct sealed_server *server;
	struct report *report;
	struct queue *questions; /* NULL: no approvals possible, so refuse */
	struct child *child;
	struct session *session;              /* NULL: no MCP session */
	const struct approved_uses *approved; /* NULL: none */
	const uint32_t *factor; /* enum sealed_factor of each secret, by row */
};

int control_new(const struct control_order *, struct control **ret);
/* Withdraws pending approvals. Call it before freeing queue and session. */
void control_free(struct control *);
/* Handles LEASH_USE, LEASH_ASK, LEASH_WITHDRAWN, LEASH_DENIED, LEASH_UNREACHED;
 * ignores others. */
void control_news(struct control *, const struct child_news *);
/* The log has caught up: sends the leash the approvals that are now on disk. */
void control_recorded(struct control *);

#endif
