/*
 * The trial of a server that import has a policy for: one start under that policy, with
 * placeholders in place of its secrets, and no host that it can reach.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_TRIAL_H
#define KENNEL_SUPERVISOR_IMPORT_TRIAL_H

#include <stdbool.h>

enum trial {
	TRIAL_STARTED,      /* it has answered, and listed its tools */
	TRIAL_PLACEHOLDERS, /* the same, and its policy has secrets */
	TRIAL_NONE,         /* its policy compiles, and it was not started: why */
	TRIAL_FAILED,       /* it did not start: why */
	TRIAL_REFUSED,      /* its policy does not compile: why */
};

/*
 * Tries the server of this policy file. start: false: only compiles the policy. A draft
 * with one line for all tools gets the tools by name. why: printable lines, the caller
 * frees; NULL if it has started.
 */
enum trial trial_run(const char *name, const char *policy, bool start, char **ret_why);

#endif
