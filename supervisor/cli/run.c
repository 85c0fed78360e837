/*
 * kennel run NAME: one server on the agent's stdio. With --secrets-tools, kennel's own
 * tools for secrets are beside those of the server, and kennel serve has the connection.
 */
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/leash_client.h"
#include "supervisor/launch/run_session.h"
#include "supervisor/serve/serve.h"

static int
run_with_secrets_tools(const struct run_order *order, const char *project)
{
	char *file = (char *)order->file, *name = (char *)order->name;
	struct serve_order serve = {.ahead = -1, .single = true};

	serve.launcher.file = &file;
	serve.launcher.file_n = file != NULL;
	serve.launcher.name = &name;
	serve.launcher.name_n = 1;
	serve.launcher.project = project;
	return serve_run(&serve);
}

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
	static struct child_placeholders placeholders;
	struct run_order order = {.file = NULL};
	const char *project = NULL;
	bool secrets = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc)
			order.file = argv[++i];
		else if (strcmp(argv[i], "--project") == 0 && i + 1 < argc)
			project = argv[++i];
		else if (strcmp(argv[i], "--secrets-tools") == 0)
			secrets = true;
		else if (strcmp(argv[i], "--for") == 0 && i + 1 < argc &&
			 (order.purpose = launcher_purpose(argv[i + 1])) != NULL)
			i++;
		else if (strcmp(argv[i], "--placeholders") == 0)
			order.placeholders = &placeholders;
		else if (argv[i][0] != '-' && order.name == NULL)
			order.name = argv[i];
		else
			return help_refuse(&kennel_help, argv[0], argv[i]);
	}
	if (order.name == NULL)
		return help_usage(
		    &kennel_help, argv[0], "expected the name of one server");
	if (project != NULL && !secrets)
		return help_usage(
		    &kennel_help, argv[0], "--project needs --secrets-tools");
	if (order.placeholders != NULL && secrets)
		return help_usage(&kennel_help, argv[0],
		    "--placeholders is not used with --secrets-tools");
	if (order.placeholders != NULL && child_placeholders_draw(&placeholders) < 0) {
		log_error("unable to draw random numbers");
		return EXIT_FAILED;
	}
	tell_terminal();
	return secrets ? run_with_secrets_tools(&order, project) : run_session(&order);
}
