/*
 * What npm prints of its settings. A cafile that does not exist is left out, as npm does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/install/npm.h"

static const char *
setting(const char *line, const char *name)
{
	size_t n = strlen(name);

	return strncmp(line, name, n) == 0 && line[n] == '=' ? line + n + 1 : NULL;
}

int
npm_settings(char *output, struct npm *ret, const char **ret_why)
{
	char *line, *save = NULL;
	const char *value;

	ret->registry[0] = ret->cafile[0] = '\0';
	for (line = strtok_r(output, "\r\n", &save); line != NULL;
	     line = strtok_r(NULL, "\r\n", &save)) {
		if ((value = setting(line, "registry")) != NULL &&
		    strlen(value) < sizeof(ret->registry))
			(void)snprintf(
			    ret->registry, sizeof(ret->registry), "%s", value); /* fits */
		else if ((value = setting(line, "cafile")) != NULL && value[0] == '/' &&
			 realpath(value, ret->cafile) == NULL)
			ret->cafile[0] = '\0'; /* npm ignores a missing one, too */
	}
	*ret_why = ret->registry[0] == '\0'
		       ? "npm printed none"
		       : remote_url_read(ret->registry, strlen(ret->registry), &ret->url);
	return *ret_why == NULL ? 0 : -EINVAL;
}
