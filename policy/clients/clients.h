/*
 * The files from which agents and editors start programs: where each keeps them, and in
 * which dialect. `kennel import` reads those with servers (client_imported); `write`
 * grants cover all of them (policy/check/agent_files.h). kennel-policy(5) lists the
 * files, and kennel(1) the clients.
 */
#ifndef KENNEL_POLICY_CLIENTS_H
#define KENNEL_POLICY_CLIENTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define CLIENT_FILES_MAX 512 /* rows of the table */

enum dialect { DIALECT_JSON, DIALECT_TOML, DIALECT_YAML };

enum client_scope { SCOPE_USER, SCOPE_PROJECT, SCOPE_MANAGED };
const char *client_scope_name(enum client_scope);

struct client_file {
	const char *client; /* for --client and for people */
	enum client_scope scope;
	enum dialect dialect;
	/* the object of its servers; NULL: it has none to import. a.b is a key, or b in a */
	const char *key;
	const char *variable; /* the variable that moves its directory, or NULL */
	/* below the home, the project, or absolute. It ends with a slash if each file in
	 * this directory is read. A part of it may be `*`, any name, or `*.SUFFIX`. */
	const char *path;
	bool projects; /* also in the same object of each of "projects" */
	bool folds;    /* it reads keys without regard to case, as Go's JSON does */
};

/* The table, and its length. */
const struct client_file *client_files(size_t *ret_n);
/* Does `kennel import` read it? */
bool client_imported(const struct client_file *);
/* A client of which `kennel import` reads a file. */
bool client_known(const char *name);
/* The path below the home, without the mark for the variable. */
void client_home_path(const struct client_file *, char ret[PATH_MAX]);
/* The first part of a path that may have any name, or NULL. */
const char *client_any(const char *path);
/* Has a part of a path, of n bytes, this name, of len bytes? */
bool client_part_is(const char *part, size_t n, const char *name, size_t len);
/* The path of a file, with this home and project. 0; -ENOENT: the variable is set to
 * a relative path; -ENAMETOOLONG. */
int client_path(const struct client_file *, const char *home, const char *project,
    char ret[PATH_MAX]);

#endif
