/*
 * Metadata of secrets: reads and merges manifests, which never contain a value.
 *
 *	.kennel/secrets.kennel            of a project: the paths it needs, its
 *	                                  overrides, secrets of its own
 *	~/.config/kennel/secrets.kennel   the personal index: metadata
 *
 * A project sees only the paths that it declares, not the whole index.  The
 * state of a secret is computed from dates alone: asking a source would reveal
 * whether it has a value.
 */
#ifndef KENNEL_POLICY_MANIFESTS_MANIFESTS_H
#define KENNEL_POLICY_MANIFESTS_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/lang/secret_path.h"

#define META_FILE          "secrets.kennel"
#define META_PROJECT_DIR   ".kennel"
#define META_LEN_MAX       (1u << 20) /* bytes of one manifest */
#define META_N_MAX         4096       /* secrets of both */
#define META_EXPIRING_DAYS 14         /* status `expiring` begins N days before */

enum meta_status { META_REGISTERED, META_EXPIRING, META_EXPIRED };
enum meta_rotation { META_MANUAL, META_PROVIDER_UI, META_PROVIDER_API };
enum meta_approve { META_NEVER, META_SESSION, META_PER_CALL };  /* by strictness */
enum meta_factor { META_NO_FACTOR, META_PASSPHRASE, META_KEY }; /* likewise */

/* Why a lookup of a path failed. */
enum meta_error { META_NOT_FOUND, META_INVALID_PATH, META_MERGE_FAILED };

struct word;

struct meta {
	const char *path;
	const char *description, *retrieval_url, *pattern; /* NULL: not given */
	uint32_t expires, last_rotated; /* days since 1970-01-01; 0: not given */
	uint32_t rotate_every;          /* days; 0: not given */
	enum meta_rotation rotation;
	enum meta_approve approve;
	enum meta_factor factor;
	const struct word *scope, *host; /* slices of the file's text */
	size_t scope_n, host_n;
	bool declared; /* the project names it */
	bool required; /* and requires it */
	bool local;    /* defined by the project */
	bool internal; /* kennel's own: hidden, and never given to a server */
};

struct metas {
	struct meta *meta; /* sorted by path */
	size_t n;
	size_t warning_n;
	struct metas_own *own; /* memory that the texts are in */
};

enum {
	META_WARN = 1,   /* also report warnings */
	META_STRICT = 2, /* a path both required and optional is an error */
	META_JSON = 4,   /* diagnostics are one JSON document */
};

/* The text of a file; NULL: the file does not exist, which is no error. */
struct meta_text {
	const char *shown; /* its name in errors: never a path of this machine */
	const char *text;
	size_t len;
};

/*
 * Merges.  0; -EINVAL with every reason in diag, as "file:line:col: error: ..."
 * and never a line of the file; -ENOMEM. The caller frees the result; the texts
 * are no longer needed.
 */
int metas_merge(const struct meta_text *project, const struct meta_text *index,
    unsigned int how, FILE *diag, struct metas *ret);
/* The project's directory: as given, or else the nearest one upwards from here with a
 * manifest or a catalog (static); NULL: none. */
const char *metas_project(const char *given);
/* Fixes that directory for this process and its children: what metas_project(NULL)
 * returns from then on, also after a manifest was added or removed. Without a manifest it
 * is the working directory. 0 or -errno. */
int metas_project_fix(const char *given);
/* The texts of both files, for metas_merge in another process; text NULL: the file does
 * not exist. Otherwise as metas_read. The caller frees each text. */
struct metas_text {
	char *text;
	size_t len;
};
int metas_texts(const char *project, const char *config, FILE *diag,
    struct metas_text *ret_project, struct metas_text *ret_index);
/*
 * The same from files: below the project's directory, and in the configuration
 * directory (either may be NULL). A missing file is empty.  A file that other
 * users may write or own is -EPERM and reported.
 */
int metas_read(const char *project, const char *config, unsigned int how, FILE *diag,
    struct metas *ret);
void metas_free(struct metas *);

/* ---- lookups ------------------------------------------------------------- */

/* The secret with this path, if the project may see it.  NULL with *ret_why. */
const struct meta *metas_find(
    const struct metas *, const char *path, enum meta_error *ret_why);

struct meta_filter {
	const char *contains; /* part of the path; NULL: any */
	const char *scope;    /* first component of the path; NULL: any */
	const char *status;   /* name of the status; NULL: any */
	bool internal;        /* also kennel's own */
	bool all;             /* also those that the project does not name: for people */
};

/* Does it pass all filters? */
bool meta_passes(const struct meta *, const struct meta_filter *, uint32_t today);

/* Today, in local time, as days since 1970-01-01. */
uint32_t meta_today(void);
enum meta_status meta_status(const struct meta *, uint32_t today);
/* The day by which it should be rotated; 0: not given. */
uint32_t meta_rotate_by(const struct meta *);

const char *meta_status_name(enum meta_status);
/* The enum value of this name, or -1. */
int meta_status_find(const char *);
const char *meta_rotation_name(enum meta_rotation);
const char *meta_approve_name(enum meta_approve);
/* passphrase key; NULL: none */
const char *meta_factor_name(enum meta_factor);
const char *meta_error_name(enum meta_error);

/* ---- print_manifests.c: as JSON, and for people -------------------------- */

struct out;
/*
 * One record, the same for the agent's tools and for people.  card: all fields,
 * else those of a list.
 */
void meta_json(const struct meta *, bool card, uint32_t today, struct out *);
/* The same; the object stays open. */
void meta_json_begin(const struct meta *, bool card, uint32_t today, struct out *);
/* All that pass the filter, as one array. */
void metas_json(const struct metas *, const struct meta_filter *, uint32_t today, FILE *);
void meta_show(const struct meta *, uint32_t today, FILE *);
/* One line of a list. */
void meta_line(const struct meta *, uint32_t today, FILE *);

#endif
