/*
 * The servers of a configuration file: the command, the variables and the secrets of
 * each entry.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_ENTRIES_H
#define KENNEL_SUPERVISOR_IMPORT_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/clients/clients.h"
#include "supervisor/import/config/config_tree.h"

#define ENTRY_WORDS_MAX     256
#define ENTRY_VARIABLES_MAX 128
#define ENTRIES_MAX         1024 /* of one file */

enum entry_kind {
	ENTRY_COMMAND, /* a server that a command starts */
	ENTRY_KENNEL,  /* kennel starts it already */
	ENTRY_REMOTE,  /* a server at a URL, remote.h */
	ENTRY_OTHER,   /* not understood, or nothing that kennel can start: why */
};

struct entry_variable {
	const char *name, *value; /* of the tree; NULL: the client has it elsewhere */
	size_t node;              /* of its member, or TREE_NONE */
	bool secret;              /* by its name or its value */
	bool clear;               /* and its value is in the file */
	const char *moved;   /* of a header: the reference that its client fills in */
	const char *manager; /* the reference to a secret manager, or NULL */
	const char *note;    /* what a person should know: a static text, or NULL */
};

struct entry {
	enum entry_kind kind;
	const char *name;    /* of the tree */
	const char *project; /* of the tree: the project that it is for, or NULL */
	const char *why;     /* ENTRY_OTHER: a static text */
	const char *about;   /* the variable that it is about, or NULL */
	const char *word[ENTRY_WORDS_MAX + 1];
	size_t word_n;
	const char *cwd;      /* or NULL */
	const char *manager;  /* the program that reads the references, or NULL */
	const char *bridged;  /* the URL that its command connects to, or NULL */
	const char *proposed; /* the reference for a line of its policy, or NULL */
	unsigned long long start_ms, call_ms; /* deadlines of the client; 0: its own */
	bool disabled;                        /* its client does not start it */
	struct entry_variable variable[ENTRY_VARIABLES_MAX];
	size_t variable_n, clear_n;        /* variables; secrets in clear text */
	size_t command, args, env;         /* nodes, or TREE_NONE */
	size_t object, url, type, headers; /* of ENTRY_REMOTE: likewise */
	const char *key_header; /* its header with the credential; NULL: a token */
	bool loopback;          /* its host is this machine */
};

struct entries {
	struct entry *entry;
	size_t n;
};

/* Finds the servers of a parsed file. 0; -EBADMSG with the tree's line and why: they are no
 * object; -ENOMEM; -E2BIG. entries_free in every case. The texts are those of the tree. */
int entries_find(struct config_tree *, const struct client_file *, struct entries *ret);
void entries_free(struct entries *);

/* Can kennel start or reach it, in place of the client? */
bool entry_is_server(const struct entry *);
/* What a person should know about the entry, until the next call; or "". */
const char *entry_risk(const struct entry *);

#endif
