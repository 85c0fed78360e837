/*
 * The user's npm, and the registry that it uses.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_NPM_H
#define KENNEL_SUPERVISOR_INSTALL_NPM_H

#include <limits.h>

#include "policy/lang/remote_url.h"

struct npm {
	char node[PATH_MAX];    /* the interpreter */
	char script[PATH_MAX];  /* npm's own program */
	char modules[PATH_MAX]; /* the directory of npm's code */
	char registry[REMOTE_URL_MAX + 1];
	struct remote_url url;
	char cafile[PATH_MAX]; /* canonical; "": none */
};

/* Finds npm in PATH and asks it for its settings, outside of any cell and without a
 * package. 0, or an exit status after reporting why not. */
int npm_find(struct npm *ret);
/* Takes what `npm config get registry cafile` printed: 0; -EINVAL, with why. Changes the
 * text. */
int npm_settings(char *output, struct npm *ret, const char **ret_why);

#endif
