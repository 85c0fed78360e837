/*
 * What is known about secrets: manifests read and merged, and never a value.
 *
 *	.kennel/secrets.kennel            of a project: which paths it needs, what
 *	                                  it says otherwise, secrets of its own
 *	~/.config/kennel/secrets.kennel   the personal index: what is known
 *
 * A project sees the paths that it declares; the index is not shown to it whole.
 * What a secret's state is follows from dates alone: no source is asked, for its
 * answer would tell whether a value is there.
 */
#ifndef KENNEL_POLICY_SECRETMETA_H
#define KENNEL_POLICY_SECRETMETA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/lang/secret_path.h"

#define META_FILE          "secrets.kennel"
#define META_PROJECT_DIR   ".kennel"
#define META_LEN_MAX       (1u << 20) /* bytes of one manifest */
#define META_N_MAX         4096       /* secrets of both */
#define META_EXPIRING_DAYS 14         /* so many days before, and it says so */

enum meta_status { META_REGISTERED, META_EXPIRING, META_EXPIRED };
enum meta_rotation { META_MANUAL, META_PROVIDER_UI, META_PROVIDER_API };
enum meta_approve { META_NEVER, META_SESSION, META_PER_CALL }; /* by strictness */

/* Why a question about a path has no answer. */
enum meta_error { META_NOT_FOUND, META_INVALID_PATH, META_MERGE_FAILED };

struct word;

struct meta {
	const char *path;
	const char *description, *retrieval_url, *pattern; /* NULL: not said */
	uint32_t expires, last_rotated; /* days since 1970-01-01; 0: not said */
	uint32_t rotate_every;          /* days; 0: not said */
	enum meta_rotation rotation;
	enum meta_approve approve;
	const struct word *scope, *host; /* in the words of the file */
	size_t scope_n, host_n;
	bool declared; /* the project names it */
	bool required; /* and cannot do without */
	bool local;    /* the project's own */
	bool internal; /* kennel's own: hidden, and never given out */
};

struct metas {
	struct meta *meta; /* sorted by path */
	size_t n;
	size_t warning_n;
	struct metas_own *own; /* what the texts live in */
};

enum {
	META_WARN = 1,   /* say what is odd, too */
	META_STRICT = 2, /* a path both required and optional is an error */
	META_JSON = 4,   /* diagnostics are one JSON document */
};

/* A text that was read; NULL: there is none, which is no error. */
struct meta_text {
	const char *shown; /* what errors call it: never a path of this machine */
	const char *text;
	size_t len;
};

/*
 * Merge.  0; -EINVAL with every reason in diag, as "file:line:col: error: ..." and
 * never a line of the file; -ENOMEM.  The caller frees; the texts may go.
 */
int metas_merge(const struct meta_text *project, const struct meta_text *index,
    unsigned int how, FILE *diag, struct metas *ret);
/*
 * The same from files: below the project's folder, and in the configuration
 * folder (either may be NULL).  A file that is not there says nothing; one that
 * others may write, or that belongs to somebody else, is -EPERM and told.
 */
int metas_read(const char *project, const char *config, unsigned int how, FILE *diag,
    struct metas *ret);
void metas_free(struct metas *);

/* ---- questions ------------------------------------------------------------ */

/* The secret of this path that the project may see.  NULL with *ret_why. */
const struct meta *metas_find(
    const struct metas *, const char *path, enum meta_error *ret_why);

struct meta_filter {
	const char *contains; /* of the path; NULL: any */
	const char *scope;    /* its first part; NULL: any */
	const char *status;   /* the word; NULL: any */
	bool internal;        /* kennel's own, too */
	bool all;             /* what the project does not name, too: for people */
};

/* Does it pass all of them? */
bool meta_passes(const struct meta *, const struct meta_filter *, uint32_t today);

/* Today, in local time, as days since 1970-01-01. */
uint32_t meta_today(void);
enum meta_status meta_status(const struct meta *, uint32_t today);
/* The day by which it should be rotated; 0: nobody said. */
uint32_t meta_rotate_by(const struct meta *);

const char *meta_status_name(enum meta_status);
/* The word, or -1. */
int meta_status_find(const char *);
const char *meta_rotation_name(enum meta_rotation);
const char *meta_approve_name(enum meta_approve);
const char *meta_error_name(enum meta_error);

/* ---- secretmeta_say.c: as JSON, and for people --------------------------- */

struct out;
/* One record, the same for the agent's tools and for people: card is all that is
 * known, else what a list shows. */
void meta_json(const struct meta *, bool card, uint32_t today, struct out *);
/* All that pass, as one array. */
void metas_json(const struct metas *, const struct meta_filter *, uint32_t today, FILE *);
void meta_show(const struct meta *, uint32_t today, FILE *);
/* How many were printed. */
size_t metas_show(
    const struct metas *, const struct meta_filter *, uint32_t today, FILE *);

#endif
