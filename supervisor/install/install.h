/*
 * kennel install: packages of servers, in a store.
 *
 *	verb_install.c	the verb: options, and the draft
 *	verb_try.c	kennel try: all of it, and a prompt
 *	package.c	one installation
 *	npm.c		the user's npm
 *	npm_settings.c	and its registry
 *	installer.c	npm in its cell
 *	signatures.c	its verification of packages
 *	signature_report.c	and what it says of them
 *	python.c	packages of Python, which the user installs
 *	store.c		the store
 *	gc.c		what no policy uses of it
 *	update.c	a newer version
 *	changes.c	how its files and packages differ
 *	definitions.c	how its tools differ
 *	ask.c		a question to a person
 *	file_tree.c		a directory that an installer has filled
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_INSTALL_H
#define KENNEL_SUPERVISOR_INSTALL_INSTALL_H

#include <limits.h>

#include "supervisor/draft/draft.h"
#include "supervisor/install/package.h"

#define INSTALL_OPTIONS_MAX (2 * DRAFT_VARIABLES_MAX + 16)
#define INSTALL_WORDS_MAX   (INSTALL_OPTIONS_MAX + DRAFT_ARGS_MAX)

struct install {
	const char *name; /* of the server */
	const char *out;  /* -o, or NULL */
	const char *cwd;  /* --cwd, or NULL */
	struct package_options how;
	char *option[INSTALL_OPTIONS_MAX]; /* for `kennel init` */
	int option_n;
	bool update, gc, yes;
	char **command; /* of the server, in an agent's configuration */
	int command_n;
};

/* The file of the policy. */
void install_policy_path(const struct install *, char ret[PATH_MAX]);

#endif
