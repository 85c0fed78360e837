/*
 * kennel import: what it found, and what its files share.
 *
 *	verb_import.c	the verb: options, search, table
 *	write.c		the changes of the files
 *	server.c	policies and secrets of their servers
 *	work.c		the directories that they work in
 *	trial.c		one start of each under its policy
 *	results.c	the table at the end
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_PRIVATE_H
#define KENNEL_SUPERVISOR_IMPORT_PRIVATE_H

#include <limits.h>
#include <stdbool.h>

#include "policy/clients/clients.h"
#include "supervisor/import/config/config_file.h"
#include "supervisor/import/entries.h"
#include "supervisor/import/config/config_tree.h"

#define IMPORT_NAMES_MAX 64

struct import_found { /* one configuration file */
	const struct client_file *client;
	struct config_file file;
	struct config_tree tree;
	struct entries entries;
	int broken; /* of config_parse: nothing of it is used */
};

struct import {
	const char *only;                   /* --client, or NULL */
	const char *name[IMPORT_NAMES_MAX]; /* the servers to import; none: all */
	size_t name_n;
	char project[PATH_MAX];
	const char *cwd;      /* of servers whose configuration names none, or NULL */
	const char *key_file; /* of the vault, or NULL */
	const char *scope; /* of the registry's address, for `kennel install`, or NULL */
	bool write, start, by_stdin, undo, forget;
	bool unread; /* a file is invalid, or could not be read */
	struct import_found found[CLIENT_FILES_MAX];
	size_t found_n;
};

bool import_wanted(const struct import *, const struct entry *);
/* Is it to be changed: wanted, and by its name if its client does not start it? */
bool import_takes(const struct import *, const struct entry *);
/* claude_settings.c: completes the entries of Claude Code by what its settings say. */
void claude_settings_take(struct import *, const char *home);
/* The scope of an entry, as its client calls it: user, project, workspace, local, managed. */
const char *import_scope(const struct import_found *, const struct entry *);
/* Where the backups are. NULL: no directory of data. Static. */
const char *import_backup_dir(void);
/* Keeps other imports from changing files, until ret is closed. An exit status, after
 * reporting why. */
int import_lock(int *ret);
/* Changes every file that was found. An exit status. */
int import_write(struct import *);

#endif
