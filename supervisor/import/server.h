/*
 * The policies and the secrets of the servers that are put under kennel.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_SERVER_H
#define KENNEL_SUPERVISOR_IMPORT_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/lang/secret_path.h"
#include "supervisor/import/private.h"
#include "supervisor/import/results.h"

#define NAME_LEN_MAX    48 /* of what a configuration calls the server */
#define POLICY_NAME_CAP 65 /* with the end: the language takes 64 bytes */
#define MADE_MAX        256

struct made { /* a server that has been put under kennel */
	char name[POLICY_NAME_CAP];
	const struct entry *entry; /* NULL: taken back */
	const struct import_found *file;
	size_t secret_n; /* stored so far */
	bool reused;     /* its policy was there before: it stays */
	bool kept;       /* its policy is a draft that does not start yet: the same */
	enum trial how;
};

struct planned { /* the directory that a server works in */
	const struct entry *entry;
	char *dir;    /* NULL: the draft finds it */
	bool own;     /* kennel's */
	bool refused; /* the configuration names one that does not exist */
};

struct writing {
	struct import *m;
	struct made made[MADE_MAX];
	size_t made_n;
	struct planned planned[MADE_MAX];
	size_t planned_n;
	size_t replaced_n; /* configuration files */
	struct results results;
	char why[256]; /* the first error of the last draft */
	bool vault_open;
};

/* names.c: a name that the policy language accepts, whatever the configuration has. */
void server_policy_name(const char *from, char ret[POLICY_NAME_CAP]);
/* The next name for it: from *number 0 on that one, then with the client, then with a
 * number. False: all are used. */
bool server_policy_name_next(
    const char *from, const char *client, int *number, char ret[POLICY_NAME_CAP]);
/* mcp/SERVER/VARIABLE in the characters of secret paths. False: it has none. */
bool server_secret_path(
    const char *server, const char *variable, char ret[SECRET_PATH_MAX + 1]);
/* Would one policy do for both? */
bool server_same(const struct entry *, const struct entry *);
/* Is there a policy of its name, which will be used? */
bool server_has_policy(const struct entry *);
/* The directory that its client starts it in, or NULL. */
const char *server_dir(
    const struct writing *, const struct import_found *, const struct entry *);

/* Has it been opened, by this import or before it? */
bool server_vault_is_open(struct writing *);
/* Opens the vault, once: creates or unlocks it. An exit status, after reporting why. */
int server_open_vault(struct writing *);
/* Makes the policy and the secrets of one entry: NULL after reporting why not. An equal
 * entry has the same. */
struct made *server_make(
    struct writing *, const struct import_found *, const struct entry *);
/* Removes what was made for the entries of a file that is not changed. */
void server_take_back(struct writing *, const struct import_found *);

#endif
