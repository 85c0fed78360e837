/*
 * The question about a project's mcp-servers.json: may its servers be configured?
 *
 * The hub opens no file. The launcher sends the text of a file that no person has approved; it
 * is parsed here, in the confined process, because a repository may have written it. A person's
 * own process stores the approval in the registry (supervisor/servers/server_trust.c) and
 * answers ok, which is a report: the launcher reads the registry again, and says whether it
 * has the approval of these contents. Only then they are recorded as allowed.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_APPROVALS_FILE_QUESTION_H
#define KENNEL_SUPERVISOR_SERVE_APPROVALS_FILE_QUESTION_H

#include <stdbool.h>

#include "leash/audit/writer.h"
#include "shim/base/wire.h"
#include "supervisor/approve/approve.h"

struct file_question_order {
	const char *name; /* of this process, for the record and the person */
	struct queue *queue;
	struct report *const *report; /* NULL there: not connected yet */
	void (*connect)(void *arg);   /* it is needed */
	/* the registry and the file may have changed; sha256: of the contents that the
	 * registry should have approved, "": none */
	void (*reread)(void *arg, const char *sha256);
	void *arg;
};

struct file_question;

/* 0 or -ENOMEM. Call it before the process confines itself. */
int file_question_new(const struct file_question_order *, struct file_question **ret);
void file_question_free(struct file_question *);
/* The rest of LAUNCHER_SKIPPED: asks a person, unless one has answered about these contents.
 * False: it is invalid. */
bool file_question_take(struct file_question *, struct wire_in *, int fd);
/* The rest of LAUNCHER_CONFIGURED, the answer to reread. False: it is invalid. */
bool file_question_configured(struct file_question *, struct wire_in *);
/* The log has connected, or caught up. */
void file_question_recorded(struct file_question *);
/* A person has approved contents with this SHA-256 outside of a question. True: they are those
 * that were left out, and are read now. */
bool file_question_trusted(struct file_question *, const char *sha256);

#endif
