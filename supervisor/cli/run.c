/*
 * kennel run NAME: one server on the agent's stdio.
 */
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/run_session.h"

void
tell_terminal(void)
{
	if (isatty(STDIN_FILENO) == 1)
		log_warn(
		    "this speaks MCP (JSON-RPC) with an agent, and standard input is "
		    "a terminal: Ctrl-D ends it");
}

int
run_main(int argc, char **argv)
{
	struct run_order order = {.file = NULL};

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc)
			order.file = argv[++i];
		else if (argv[i][0] != '-' && order.name == NULL)
			order.name = argv[i];
		else
			return help_refuse(&kennel_help, argv[0], argv[i]);
	}
	if (order.name == NULL)
		return help_usage(
		    &kennel_help, argv[0], "expected the name of one server");
	tell_terminal();
	return run_session(&order);
}
