/*
 * The policies that a start would find, and the servers that they define, read once.
 */
#ifndef KENNEL_SUPERVISOR_SERVERS_KNOWN_POLICIES_H
#define KENNEL_SUPERVISOR_SERVERS_KNOWN_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/compile/compile.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "supervisor/registry/registry.h"

/* A policy file. */
struct policy_file {
	char *path;
	bool sealed, global;   /* global: in /etc/kennel */
	bool stale, stale_own; /* a text has changed since it was compiled; both files
				* are the caller's, so it does not start */
	struct policy_counts counts;
	struct policy policy; /* valid if loaded */
	bool loaded;
	struct buf bytes; /* of a compiled text */
	int memfd;        /* of a sealed file */
};

/* A server of a file; or a file whose servers are unknown. */
struct known_policy {
	char *name; /* NULL: unknown */
	const struct policy_file *file;
	const struct sealed_server *server; /* NULL: the policy has errors */
	bool used;                          /* a start uses it: no policy before it */
	bool doubled; /* another text defines the server too: a start refuses both */
	bool refused; /* this is that other text */
};

struct known_policies {
	struct policy_file **file;
	size_t file_n;
	struct known_policy *policy; /* in the order of a start */
	size_t policy_n;
	struct server_rows rows; /* of those that are used */
	size_t broken;           /* files that cannot be used, and directories */
};

/* Reads them; what is wrong with a file is in its row. 0 or -ENOMEM; free in any case. */
int known_policies_read(struct known_policies *ret);
void known_policies_free(struct known_policies *);
/* The policy with which this server starts; NULL: it has none. */
const struct known_policy *known_policy_find(
    const struct known_policies *, const char *name);
/* The number of tools that it pins. */
size_t known_policy_tools(const struct known_policy *);
/* Has the policy a variable or secret of this name? */
bool known_policy_sets(const struct known_policy *, const char *variable);

#endif
