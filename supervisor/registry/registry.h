/*
 * The registry room: which servers are configured, and what was discovered of them.
 *
 *	database.c	the file and its schema; the only file that uses SQLite
 *	registry.c	its rows
 *	server_rows.c	lists of rows
 *	reference.c	variables and headers of a row: references to values
 *	row_check.c	what a row may contain
 *	dump.c		export and import
 *	global_file.c	mcp-servers.json; the only file that uses jansson
 *	file_detail.c	that file as a person is shown it
 *	global_places.c	where that file is searched
 *	register_tool.c	mcp_register, the tool by which an agent proposes a server
 *	server_list.c	rows of policies, files and the registry as one list
 *	registry_log.c	the log's record of a change
 *
 * A row gives no authority: a server starts only as its policy allows
 * (supervisor/hub/argv_authority.c). Rows hold references to secrets, never a value.
 */
#ifndef KENNEL_SUPERVISOR_REGISTRY_REGISTRY_H
#define KENNEL_SUPERVISOR_REGISTRY_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/cause.h"

/* Who defines a server. */
enum row_source {
	FROM_POLICY, /* its policy: no argv of its own */
	FROM_FILE,   /* mcp-servers.json */
	FROM_PERSON, /* kennel server add, the console */
	FROM_AGENT,  /* mcp_register */
	FROM_N
};
const char *row_source_name(enum row_source);

/* A server as plain texts; NULL: not given. The *_json texts are canonical JSON. */
struct server_row {
	const char *name;
	const char *scope; /* user global */
	enum row_source source;
	const char *transport; /* stdio http */
	const char *command;   /* argv[0] */
	const char *args_json; /* the arguments after it, an array of strings */
	const char *url;
	const char *headers_json, *env_json; /* reference.h */
	const char *auth_type;               /* none api_key bearer oauth2 */
	const char *auth_ref;                /* a reference */
	const char *note;
	bool enabled;
	const char *discovery_status; /* pending connected unreachable error */
	const char *protocol;         /* version of MCP, as discovered */
	const char *policy_server;    /* the server of a policy that it runs under */
	uint64_t created_gen, updated_gen;
	uint64_t created_at, updated_at; /* seconds of Unix time; for display only */
	uint64_t tools_n;                /* discovered */
	/* Of a row that a file defines, and not stored: why it cannot start, a word of
	 * server_state.h, or NULL; and the file, which outlives the row. */
	const char *reason, *file;
	char *own; /* memory of the texts; NULL: the caller's */
};
/* Sorted by scope, user first, then name. */
struct server_rows {
	struct server_row *row;
	size_t n;
};
/* Adds a row and takes its memory: 0, or -ENOMEM (the row is freed). */
int server_rows_add(struct server_rows *, struct server_row);
/* Copies the texts of a row: 0 or -ENOMEM. */
int server_row_copy(const struct server_row *, struct server_row *ret);
void server_rows_sort(struct server_rows *);
void server_rows_free(struct server_rows *);

/* ---- server_list.c ---------------------------------------------------------- */

/* Where servers are defined; each list has a name at most once. */
struct server_sources {
	const struct server_rows *stored; /* registry_list */
	const struct server_rows *file;   /* global_file_read */
	bool file_first;                  /* global_file.first */
	const struct server_rows *policy; /* one row for each server that has a policy */
};
/*
 * One row for each server, sorted: of a name that several define, the row of
 *	the file of /etc, a person, a policy, another file, an agent
 * in this order. A row is disabled if its source or the registry says so; what was
 * discovered is the registry's. Returns 0 or -ENOMEM.
 */
int servers_merge(const struct server_sources *, struct server_rows *ret);

/* ---- registry.c ------------------------------------------------------------ */

struct registry;

/*
 * Opens the registry in this directory. create: creates it if it does not exist, else
 * -ENOENT. moved: one line if the file was damaged and replaced by an empty one, else
 * "". 0, or a negative errno with why.
 *
 * After -EBADMSG from a function below the file was damaged meanwhile: close and open it
 * again. Each function that changes rows is one transaction and raises the generation.
 */
int registry_open(const char *dir, bool create, struct registry **ret,
    struct reason *moved, struct reason *why);
/* The same, created if it does not exist, for a process that must not wait: while another
 * process changes the registry, this and each change below answer -EBUSY. */
int registry_open_now(
    const char *dir, struct registry **ret, struct reason *moved, struct reason *why);
void registry_close(struct registry *);
/* The generation of the last change; 0: there was none. */
int registry_generation(struct registry *, uint64_t *ret);

/* What happened to a row. */
struct row_change {
	bool existed;
	enum row_source owner; /* before, if it existed */
	bool was_enabled;      /* the same */
	bool same;             /* a session would start the same, or nothing, as before */
	uint64_t created_gen;
};
/*
 * Stores a row under its name; an existing one keeps its created_gen. A row of an agent
 * is disabled, unless it is stored unchanged. Returns 0; -EPERM: an agent, and the row
 * is of another source; -ENOSPC: there is no room for another; -EINVAL: a word that its
 * column does not allow. *ret is also set on -EPERM.
 */
#define REGISTRY_ROWS_MAX       4096
#define REGISTRY_AGENT_ROWS_MAX 256 /* of them: agents cannot fill the list */
int registry_put(struct registry *, const struct server_row *, struct row_change *ret);
/* Stores rows of a dump, with the created_gen that each has; all or none. Raises the
 * generation to at least this one. ret: for each row. */
int registry_import(struct registry *, const struct server_rows *, uint64_t generation,
    struct row_change *ret);
/* All rows, also those that only keep what is known of a server of a policy or a file. */
int registry_list(struct registry *, struct server_rows *ret);
/* Like registry_list; n is 1, or 0: no such row. */
int registry_find(struct registry *, const char *name, struct server_rows *ret);
/* Removes a row of a person or an agent, with all that was discovered. -ENOENT; -EPERM:
 * it is of another source, or an agent removes a person's: *ret_owner. */
int registry_remove(
    struct registry *, const char *name, enum row_source by, enum row_source *ret_owner);
/* Enables or disables a server as it is listed: source is that row's. shown: the updated_gen
 * that it must still have (0: the registry has no row of it), or NULL. -ESTALE: another. */
int registry_enable(struct registry *, const char *name, enum row_source source,
    bool enabled, const uint64_t *shown);

/* ---- what was discovered ---------------------------------------------------- */

struct tool_row {
	const char *name, *tool_key, *description, *parameters, *annotations;
	const char *sha256, *pinned_sha256;
	uint64_t seen_gen;
	char *own;
};
struct tool_rows {
	struct tool_row *row;
	size_t n;
};
struct resource_row {
	const char *uri, *name, *description, *sha256, *pinned_sha256;
};
struct prompt_row {
	const char *name, *description, *arguments, *sha256, *pinned_sha256;
};
/* The lists of a server, as it answered. */
struct discovered {
	const struct tool_row *tool; /* tool_key and seen_gen are ignored */
	size_t tool_n;
	const struct resource_row *resource;
	size_t resource_n;
	const struct prompt_row *prompt;
	size_t prompt_n;
};
/*
 * Stores the result of a discovery: its status and, unless lists is NULL, all lists in
 * place of the earlier ones. protocol NULL: unchanged. source is that of the listed row.
 */
int registry_discovery(struct registry *, const char *name, enum row_source source,
    const char *status, const char *protocol, const struct discovered *lists);
/* The discovered tools of a server, by name. */
int registry_tools(struct registry *, const char *server, struct tool_rows *ret);
void tool_rows_free(struct tool_rows *);

/* ---- files that a person has approved ---------------------------------------- */

#define FILE_DIGEST_LEN 64 /* SHA-256 in hex */

int registry_trust(
    struct registry *, const char digest[FILE_DIGEST_LEN + 1], const char *path);
/* 1, 0, or a negative errno. */
int registry_trusts(struct registry *, const char digest[FILE_DIGEST_LEN + 1]);
/* The same: any contents of this file. */
int registry_trusts_path(struct registry *, const char *path);

#endif
