/*
 * Stubs for path lookup. kennel-ship gets all paths as arguments and starts no
 * program.
 */
#include <stddef.h>

#include "supervisor/base/paths.h"

const char *
paths_audit_dir(void)
{
	return NULL;
}

const char *
paths_libexec(const char *name)
{
	return NULL;
}
