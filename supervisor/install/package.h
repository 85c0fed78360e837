/*
 * One installation: from the command in an agent's configuration to a package in the
 * store.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_PACKAGE_H
#define KENNEL_SUPERVISOR_INSTALL_PACKAGE_H

#include <limits.h>
#include <stdbool.h>

#include "supervisor/draft/npm_package.h"
#include "supervisor/draft/script.h"

#define PACKAGE_WORDS_MAX (SCRIPT_WORDS_MAX + 1)

/* What a command names. */
struct package_source {
	char spec[PATH_MAX];            /* for npm: NAME@VERSION, or the directory */
	char dir[PATH_MAX];             /* canonical; "": from the registry */
	char name[PACKAGE_TEXT_MAX];    /* of the package */
	char version[PACKAGE_TEXT_MAX]; /* exact, or "" */
	char node[PATH_MAX];            /* that its command names, or "" */
	int rest; /* of the command: the first argument for the server */
};

struct package_options {
	const char *scope;       /* of the registry's address, or NULL */
	bool scripts;            /* run the install scripts */
	bool require_signatures; /* refuse packages that are not verified */
};

struct installed {
	char path[PATH_MAX];    /* of the entry of the store */
	struct package package; /* in it */
};

/* Reads `npx PACKAGE ARG...`, or a directory with a package and arguments. 0, or an exit
 * status after reporting why not. */
int package_source(int argc, char *const *argv, struct package_source *ret);
/* Installs it into the store, and prints what a person should know. 0, or an exit status
 * after reporting why not. */
int package_install(
    const struct package_source *, const struct package_options *, struct installed *ret);
/* The arguments that start its program, with the interpreter that it needs or the source
 * names; the texts are those of the two. Returns the number of arguments. */
int package_argv(
    struct installed *, struct package_source *, char *ret[PACKAGE_WORDS_MAX]);

#endif
