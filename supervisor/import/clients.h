/*
 * The MCP clients whose configuration is known: where each keeps it, and its dialect.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_CLIENTS_H
#define KENNEL_SUPERVISOR_IMPORT_CLIENTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "supervisor/import/config_tree.h"

enum client_scope { SCOPE_USER, SCOPE_PROJECT, SCOPE_MANAGED };
const char *client_scope_name(enum client_scope);

struct client_file {
	const char *client; /* for --client and for people */
	enum client_scope scope;
	enum dialect dialect;
	const char *key;      /* the object of its servers */
	const char *variable; /* the variable that moves its directory, or NULL */
	const char *path;     /* below the home, the project, or absolute */
	bool projects;        /* also in the same object of each of "projects" */
};

/* The table, and its length. */
const struct client_file *client_files(size_t *ret_n);
bool client_known(const char *name);
/* The path of a file, with this home and project. 0; -ENOENT: the variable is set to
 * a relative path; -ENAMETOOLONG. */
int client_path(const struct client_file *, const char *home, const char *project,
    char ret[PATH_MAX]);

#endif
