/*
 * mcp-servers.json: servers that a file defines, in the form that other clients use.
 *
 *	/etc/kennel/mcp-servers.json		first; it also wins over the registry
 *	PROJECT/mcp-servers.json		only if a person has approved its SHA-256
 *	~/.config/kennel/mcp-servers.json
 *
 * The first that exists is used. An invalid file ends the search: what is wrong with it
 * must not make another one count.
 */
#ifndef KENNEL_SUPERVISOR_REGISTRY_GLOBAL_FILE_H
#define KENNEL_SUPERVISOR_REGISTRY_GLOBAL_FILE_H

#include <limits.h>

#include "shim/base/buf.h"
#include "supervisor/registry/registry.h"

#define GLOBAL_FILE "mcp-servers.json"

struct global_places {
	const char *etc, *project, *config; /* directories; NULL: not searched */
};

/* Those of this user and of the working directory; project has PATH_MAX bytes for its
 * path. The user's own directories are no project. */
void global_places_here(
    const char *config, char project[PATH_MAX], struct global_places *ret);

/* A project's file that was skipped, because no person has approved its contents. */
struct skipped_file {
	char path[PATH_MAX]; /* "": none */
	char *text;
	size_t len;
	bool changed; /* others of this path were approved */
};
void skipped_file_free(struct skipped_file *);
/* Logs the command that approves it, if there is one; for a process that asks no person. */
void skipped_file_log(const struct skipped_file *);

struct global_file {
	char path[PATH_MAX];     /* "": none was found */
	bool first;              /* it wins over the registry */
	struct server_rows rows; /* source file; sorted */
	struct buf notes;        /* warnings, and errors of single servers: lines */
	size_t errors;           /* of single servers */
	struct skipped_file skipped;
};

/*
 * Finds and reads it. registry: the approvals; NULL: there are none. A project's file
 * without approval is skipped. Returns 0, also if there is none; otherwise
 * why begins with the file's name. Free it in any case.
 */
int global_file_read(const struct global_places *, struct registry *,
    struct global_file *ret, struct reason *why);
void global_file_free(struct global_file *);
/* Logs the notes, each line as a warning. */
void global_file_log_notes(struct global_file *);

/*
 * Reads one file, for its approval: its SHA-256 in hex, and its rows, as
 * global_file_read does. Free it in any case.
 */
int global_file_digest(const char *path, char ret_digest[FILE_DIGEST_LEN + 1],
    struct global_file *ret, struct reason *why);
/* The same of a text that was read. */
int global_file_text(const char *path, const char *text, size_t len,
    char ret_digest[FILE_DIGEST_LEN + 1], struct global_file *ret, struct reason *why);
/* Prepares a process that is confined before it calls this: the parser then needs no file. */
void global_file_prepare(void);

/* ---- file_detail.c ---- */

/* What a person is shown of a file, as JSON: its digest and its servers. changed: other
 * contents of it were approved before. 0 or -ENOMEM. */
int global_file_detail(const struct global_file *, const char digest[FILE_DIGEST_LEN + 1],
    bool changed, struct buf *ret);

/* One of its servers there. */
int global_file_server(const struct server_row *, struct buf *ret);

/* The text of such a file, shown in messages as path: 0; -EINVAL with why. */
int global_file_parse(const char *path, const char *text, size_t len,
    struct global_file *ret, struct reason *why);

#endif
