/*
 * The command of a server that has a policy already, to learn it again.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_LEARNED_COMMAND_H
#define KENNEL_SUPERVISOR_LEARN_LEARNED_COMMAND_H

#include "supervisor/draft/draft.h"
#include "supervisor/launch/launch.h"

struct learned_command {
	struct policy_found found; /* argv points into it */
	char *argv[DRAFT_ARGS_MAX];
	int argc;
	char *variable[DRAFT_VARIABLES_MAX]; /* the draft points into these */
	size_t variable_n;
};

/* Reads the command of this server's policy, and adds its variables to the draft. Secrets
 * are left out, with a message that names the file with their lines. 0, or an exit status
 * after reporting the reason. Free it after the last use of the draft. */
int learned_command_read(struct learned_command *, const char *name, struct draft *);
void learned_command_free(struct learned_command *);

#endif
