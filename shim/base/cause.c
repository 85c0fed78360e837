#include "shim/base/cause.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

int
reason_set(struct reason *why, int r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(why->text, sizeof(why->text), format, ap); /* may be cut */
	va_end(ap);
	return r;
}

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
