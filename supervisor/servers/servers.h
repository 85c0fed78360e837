/*
 * The servers room: `kennel list` and the verbs of `kennel server` that read and change
 * which servers are configured.
 *
 *	known_policies.c	the policies that a start would find
 *	server_view.c		these, mcp-servers.json and the registry as one list
 *	server_state.c		why a server of the list cannot start
 *	server_list.c		kennel list; kennel server list, show
 *	server_add.c		kennel server add
 *	server_connect.c	its --connect: starts a server once, and lists its tools
 *	server_change.c		kennel server enable, disable, remove, trust

 *	server_change.c		kennel server add, enable, disable, remove
 *	server_trust.c		kennel server trust
 *	server_dump.c		kennel server export, import
 *	server_check.c		kennel server check
 *	policy_scores.c		kennel policy score --all
 *	policy_request.c	kennel policy explain --request
 *	server_log.c		the audit log's records of these changes
 */
#ifndef KENNEL_SUPERVISOR_SERVERS_SERVERS_H
#define KENNEL_SUPERVISOR_SERVERS_SERVERS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/registry/global_file.h"
#include "supervisor/registry/registry.h"
#include "supervisor/servers/known_policies.h"

/* ---- server_view.c ------------------------------------------------------------- */

/* All that is known of the configured servers. */
struct server_view {
	struct known_policies policies;
	struct registry *registry; /* NULL: not created yet */
	struct server_rows stored; /* its rows */
	struct global_file file;
	bool file_broken; /* it is invalid, or a server of it is */
	char project[PATH_MAX];
	struct server_rows rows; /* merged */
};

/* Reads all of it and reports on standard error what is wrong. create: the registry, if
 * it does not exist. Returns 0 or an exit status; close it in any case. */
int server_view_open(bool create, struct server_view *ret);
void server_view_close(struct server_view *);
/* The row of this name, or NULL. */
const struct server_row *server_view_find(const struct server_view *, const char *name);
/* What to report of a name that has no row. */
#define SERVER_UNKNOWN_MAX 256
const char *server_view_unknown(
    const struct server_view *, const char *name, char out[SERVER_UNKNOWN_MAX]);
/* Opens the registry alone: 0 or an exit status. */
int server_registry_open(bool create, struct registry **ret);

/* The one argument of a verb without options: 0, with *ret NULL if there is none; or
 * EXIT_USAGE after reporting the first one that is unexpected. */
int server_argument(int argc, char **argv, const char **ret);

/* ---- server_state.c ------------------------------------------------------------ */

#define STATE_DETAIL_MAX (PATH_MAX + 512)

struct server_state {
	const char *status;            /* disconnected connecting connected error */
	const char *reason;            /* NULL, or a word; see docs/man/kennel.1 */
	char detail[STATE_DETAIL_MAX]; /* a sentence, or "" */
	uint64_t restarts;
};
/* The state of a server: what its processes say, and what its configuration shows. */
void server_state(
    const struct server_view *, const struct server_row *, struct server_state *ret);

/* ---- server_add.c -------------------------------------------------------------- */

/* Prints a refusal for a program: {"error":{"field":"url","message":"..."}}; field may be
 * NULL. False: it could not be printed. */
bool server_put_refusal(const char *field, const char *message);

/* ---- server_list.c ------------------------------------------------------------- */

struct out;
/* Writes all of a server, the object of `kennel server show --json`, as this member; key
 * NULL: of a list, or alone. */
void server_put(
    struct server_view *, const struct server_row *, struct out *, const char *key);

/* ---- server_connect.c ---------------------------------------------------------- */

#define CONNECT_S 20 /* until all of it must have been answered */

/* How an attempt to connect has ended. */
struct connection {
	const char *outcome; /* a discovery_status: connected unreachable error */
	char why[1024];      /* printable lines; "": connected */
};
/*
 * Starts a server of the registry, whose state has no reason against it, in its cell and
 * with its own argv, lists its tools, and ends it. Stores what it learned in the view's
 * registry; the view's rows stay as they are. 0 or -errno: it could not be stored.
 */
int server_connect(
    struct server_view *, const struct server_row *, struct connection *ret);

/* ---- server_trust.c ------------------------------------------------------------- */

/* What a person has reviewed of a project's mcp-servers.json: what a session has shown, or
 * contents with this digest. With neither its servers are shown on the terminal, and the
 * person is asked there. */
struct file_review {
	const char *path;   /* whole */
	const char *shown;  /* global_file_detail; or NULL */
	const char *sha256; /* in hex; or NULL */
};
/*
 * Approves the file's contents if they are those. 0, with their digest in ret_sha256, or an
 * exit status after reporting why not. *ret_changed: they are not what a session has shown.
 */
int server_trust_file(
    const struct file_review *, char ret_sha256[FILE_DIGEST_LEN + 1], bool *ret_changed);

/* ---- server_log.c ---------------------------------------------------------------- */

/* Records a change before it is made: 0, or EXIT_FAILED after reporting why; then the
 * change must not be made. name NULL: missing or invalid. */
int server_log_begin(const char *action, const char *name);
/* The same of a row, whose digest the records have if it is one of the registry's own. */
int server_log_begin_row(const char *action, const struct server_row *);
/* How it ended, and why, if it did not end well: done (0), refused (an exit status other
 * than EXIT_FAILED), or failed. Returns the status. */
int server_log_end(int status, const char *reason);
/* A change that is refused before it began. Returns the status. */
int server_log_refused(
    const char *action, const char *name, int status, const char *reason);

#endif
