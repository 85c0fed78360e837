/*
 * Describes a wait status.
 */
#include "shim/base/cause.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

const char *
cause_text(char *out, size_t cap, const char *program, int status)
{
	const char *name;

	if (!WIFSIGNALED(status)) {
		(void)snprintf(out, cap, "%s exited with status %d", program,
		    WEXITSTATUS(status)); /* may be truncated */
		return out;
	}
	name = sigabbrev_np(WTERMSIG(status));
	(void)snprintf(out, cap, "%s was killed by signal %d (%s%s%s)", program,
	    WTERMSIG(status), name == NULL ? "unnamed" : "SIG", name == NULL ? "" : name,
	    WTERMSIG(status) == SIGSYS ? ": a system call that is not on its allow-list"
				       : ""); /* the same */
	return out;
}
