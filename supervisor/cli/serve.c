/*
 * kennel serve [NAME...] [--policy FILE]... [--facet LIST] [--expose SERVER.TOOL]...
 * [--ahead N] [--project DIR]: many servers as one.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/serve/serve.h"

#define WORDS_MAX 1024

static bool
is_count(const char *text)
{
	return text[0] != '\0' && strlen(text) < 5 &&
	       strspn(text, "0123456789") == strlen(text);
}

int
serve_main(int argc, char **argv)
{
	static char *file[WORDS_MAX], *name[WORDS_MAX], *expose[WORDS_MAX];
	struct serve_order order = {
	    .launcher = {.file = file, .name = name}, .expose = expose, .ahead = -1};

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (i >= WORDS_MAX)
			return help_usage(&kennel_help, argv[0], "too many arguments");
		if (argv[i][0] != '-') {
			name[order.launcher.name_n++] = argv[i];
			continue;
		}
		if (value == NULL)
			return help_refuse(&kennel_help, argv[0], argv[i]);
		if (strcmp(argv[i], "--policy") == 0)
			file[order.launcher.file_n++] = argv[++i];
		else if (strcmp(argv[i], "--facet") == 0)
			order.facets = argv[++i];
		else if (strcmp(argv[i], "--expose") == 0)
			expose[order.expose_n++] = argv[++i];
		else if (strcmp(argv[i], "--project") == 0)
			order.launcher.project = argv[++i];
		else if (strcmp(argv[i], "--ahead") == 0 && is_count(value))
			order.ahead = (int)strtol(argv[++i], NULL, 10);
		else
			return help_refuse(&kennel_help, argv[0], argv[i]);
	}
	tell_terminal();
	return serve_run(&order);
}
