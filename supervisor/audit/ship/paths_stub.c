/*
 * kennel-ship is told where everything is: it looks for nothing, and starts
 * nothing.
 */
#include <stddef.h>

#include "supervisor/cli/paths.h"

const char *
paths_audit_dir(void)
{
	return NULL;
}

const char *
paths_libexec(const char *name)
{
	(void)name;
	return NULL;
}
