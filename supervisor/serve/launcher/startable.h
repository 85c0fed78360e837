/*
 * The servers that the launcher of `kennel serve` may start, and as what: the `run` of a
 * policy, or the argv of a row of the registry or of mcp-servers.json, as far as the
 * policy grants it. A row gives no authority.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_LAUNCHER_STARTABLE_H
#define KENNEL_SUPERVISOR_SERVE_LAUNCHER_STARTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "leash/leash.h"
#include "supervisor/launch/launch.h"
#include "supervisor/registry/global_file.h"
#include "supervisor/registry/reference.h"
#include "supervisor/registry/registry.h"
#include "supervisor/serve/launcher/session_launcher.h"
#include "supervisor/status/hub_wire.h"

#define STARTABLES_MAX 1024

struct startable {
	char name[STATUS_SERVER_MAX];
	char *about;      /* as its file says, unchecked; owned */
	const char *file; /* its --policy; NULL: found by name */
	bool has_policy;  /* a policy of its name was found */
	bool wanted;      /* among the names that were given, */
	bool named;       /* and nothing else was known of it */
	bool disabled;    /* by a person, or by mcp-servers.json */
	bool of_file; /* mcp-servers.json defines it, or did before the last reading */
	/* The row that defines it in place of a policy; owned. NULL: none. */
	struct server_row *row;
	struct args args;
	char protocol[LAUNCHER_VERSION_MAX + 1]; /* as last discovered; "": unknown */
	bool found;                              /* the policy is in `policy` */
	struct policy_found policy;
	char **argv; /* what its policy grants of the row; NULL: the policy's `run` */
	int argc;
};

struct startables {
	struct startable *all[STARTABLES_MAX];
	size_t n;
	struct skipped_file skipped; /* a project's file without approval */
};

struct startable *startable_find(const struct startables *, const char *name);
/* NULL: too long a name, or too many; logged. */
struct startable *startable_new(struct startables *, const char *name, const char *about);
/*
 * Once, before all of these: names every server that the order may start (named.c). A server
 * whose file comes later is not seen. 0; or an exit status and why, printed: nothing
 * defines one of the names that were given.
 */
int startables_name(struct startables *, const struct launcher_order *, char *why);
/* A policy of this name may have been written meanwhile: looks for it. */
void startables_look(
    struct startables *, const struct launcher_order *, const char *name);
/* Sets `wanted`. */
void startables_want(struct startables *, const struct launcher_order *);
/* Reads, again, what people and files say: rows of servers without a policy are added.
 * If that cannot be read, no server is started any more. */
void startables_configure(struct startables *);
/* The server of a policy that it runs under. */
const char *startable_policy_name(const struct startable *);
/* It is enabled, and a policy may grant it: what that policy says is not read. */
bool startable_may(const struct startables *, const struct startable *);
/*
 * Finds its policy, and asks it about the row. 0: `found` is true and it may be started;
 * or an exit status with reason and why.
 */
int startable_policy(struct startables *, struct startable *,
    enum server_reason *ret_reason, char why[LEASH_TEXT_MAX]);
/* In the process of a session, which holds its own policy and nothing of the hub or of
 * another server if it is taken over: closes all others, also descriptors. 0 or -errno. */
int startables_keep(struct startables *, const struct startable *own);

#endif
