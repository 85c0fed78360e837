#include "supervisor/install/npm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/draft/draft.h"

#define OUTPUT_MAX 65536

/* ---- the program ----------------------------------------------------------------- */

/* npm is a script of node; its first line may give arguments to node, which an installer
 * does not need. */
static int
find_program(struct npm *npm)
{
	static struct draft d; /* large */
	char program[PATH_MAX], real[PATH_MAX], *word = real;

	if (draft_program("npm", program) < 0 || realpath(program, real) == NULL) {
		log_error("npm was not found in PATH: install Node.js with npm");
		return EXIT_MISSING;
	}
	if (draft_take(&d, 1, &word) != 0)
		return EXIT_MISSING;
	if (d.script[0] == '\0') {
		log_error("unable to use %s: expected a script of node; put npm's own "
			  "program first in PATH",
		    real);
		return EXIT_MISSING;
	}
	memcpy(npm->node, d.program, sizeof(npm->node));
	memcpy(npm->script, d.script, sizeof(npm->script));
	memcpy(npm->modules, d.modules[0] != '\0' ? d.modules : d.script,
	    sizeof(npm->modules));
	return 0;
}

/* ---- its settings ------------------------------------------------------------------ */

/* Becomes npm, in the child: a verb for other_verb_captured. */
static int
become(int argc, char **argv)
{
	if (chdir("/") == 0) /* no settings of a project */
		(void)execv(argv[0], argv);
	log_error("unable to start %s: %s", argv[0], strerror(errno));
	return EXIT_FAILED;
}

int
npm_find(struct npm *ret)
{
	char *word[] = {NULL, NULL, (char *)"config", (char *)"get", (char *)"registry",
	    (char *)"cafile", NULL};
	char *output = NULL;
	const char *why;
	int status;

	*ret = (struct npm){.node = ""};
	status = find_program(ret);
	if (status != 0)
		return status;
	word[0] = ret->node;
	word[1] = ret->script;
	status = other_verb_captured(become, 6, word, OUTPUT_MAX, &output);
	if (status != 0 || output == NULL) {
		other_verb_show("npm: ", output);
		log_error("unable to ask npm for its registry: `npm config get registry` "
			  "must work");
		status = EXIT_MISSING;
	} else if (npm_settings(output, ret, &why) < 0) {
		log_error("unable to use the registry that `npm config get registry` "
			  "prints: %s",
		    why);
		status = EXIT_INPUT;
	}
	free(output);
	return status;
}
