/*
 * kennel console: becomes kennel-console. kennel itself opens no port.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"

int
console_main(int argc, char **argv)
{
	const char *path = paths_libexec("kennel-console");

	for (int i = 1; i < argc; i++)
		if (i > 1 || strcmp(argv[i], "--no-open") != 0)
			return help_refuse(&kennel_help, argv[0], argv[i]);
	if (path != NULL)
		(void)execv(path, argv); /* early: execve */
	log_error("unable to run kennel-console: %s; install kennel again",
	    path == NULL ? "its path is unknown" : strerror(errno));
	return EXIT_FAILED;
}
