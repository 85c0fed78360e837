/*
 * Finds the source of a secret: sources.kennel, the user's file in the policy
 * language (kennel-policy(5), SOURCES), and the sidecars of plugins.
 *
 * `secret NAME from source PATH` uses it when a policy is compiled.  The result
 * is sealed, so that the server runs with what was compiled.
 */
#ifndef KENNEL_POLICY_SOURCES_SOURCES_H
#define KENNEL_POLICY_SOURCES_SOURCES_H

#include "policy/base/diag.h"
#include "policy/base/source.h"
#include "policy/lang/check_word.h"
#include "shim/base/cause.h"

#define SOURCES_FILE          "sources.kennel"
#define SOURCES_LEN_MAX       (1u << 20) /* bytes of it, and of a sidecar */
#define SOURCES_MAX           64
#define SOURCES_ROUTES_MAX    1024    /* and as many `secret` lines */
#define SOURCES_CREDENTIALS   4       /* of one source */
#define SOURCES_ENV_MAX       16      /* of one plugin */
#define SOURCES_REFERENCE_MAX 1024    /* bytes */
#define SOURCES_NAME_MAX      64      /* bytes of a source's name */
#define SOURCES_VAULT         "vault" /* the source that always exists */

/* The contents of a sidecar. */
struct sidecar {
	const char *path; /* of the sidecar itself */
	const char *name, *version, *program;
	uint8_t sha256[32];
	const char *env[SOURCES_ENV_MAX]; /* variables that the plugin may receive */
	size_t env_n;
};

struct route_credential {
	struct word variable;
	struct word *word; /* after `from`: at least two */
	size_t word_n;
};

struct route_source {
	struct word name;
	struct word *from; /* after `from`; for a plugin: `plugin` and its sidecar */
	size_t from_n;
	const struct sidecar *sidecar; /* NULL: not a plugin */
	struct route_credential credential[SOURCES_CREDENTIALS];
	size_t credential_n;
	const char *env[SOURCES_ENV_MAX]; /* NAME=VALUE, or NAME */
	size_t env_n;
	uint32_t may; /* SECRET_MAY_*, or'ed */
};

enum route_by { BY_NOTHING, BY_DEFAULT, BY_ROUTE, BY_SECRET };

/* One `route`, `secret` or `default` line. */
struct route {
	enum route_by by;
	const char *path;      /* a prefix; "" for `default` */
	size_t source;         /* row of source */
	const char *reference; /* NULL: the path itself */
	struct word named;     /* the source, as written */
	struct at at;
};

struct sources {
	struct arena *arena;
	const char *file; /* path of the file; NULL: no such file */
	struct route_source *source;
	size_t source_n; /* the first is kennel's own vault */
	struct route *route;
	size_t route_n;
};

/*
 * The path of the file: in /etc/kennel if it exists there, else below
 * KENNEL_HOME, XDG_CONFIG_HOME or HOME. NULL: none of these.  A static string.
 */
const char *sources_place(void);

/*
 * Reads the file into the arena.  Errors go to diag, without any of its lines.
 * A missing file counts as empty.  0; -EINVAL after an error; -ENOMEM.
 */
int sources_read(struct arena *, const struct policy_reader *, const char *file,
    FILE *diag, struct sources *ret);

/*
 * The longest route that is a prefix of this path, by components; a `secret`
 * line precedes any `route`. NULL: no line, so the vault is used.
 */
const struct route *sources_find(const struct sources *, const char *path);

/* The expansion of a secret's line. */
struct source_answer {
	const struct route_source *source;
	const struct route *route; /* NULL: no line */
	const char *reference;
	/*
	 * word[0] is the variable, word[1] the source's word, then its
	 * arguments: a statement as in a policy.  For a plugin: `plugin`, its
	 * program.
	 */
	struct stmt stmt;
	struct source_answer *credential; /* [source->credential_n] */
};
/*
 * Expands this path, with the variable of a policy line.  0; -EINVAL with why,
 * which contains no secret; -ENOMEM.
 */
int sources_answer(const struct sources *, const struct word *variable, const char *path,
    struct source_answer *ret, struct reason *why);

/* ---- route.c: for the compiler ------------------------------------------- */

struct check;
/* The answer for `secret NAME from source PATH`; NULL: reported. */
const struct source_answer *route_answer(
    struct tree *, const struct stmt *, struct diag *);
/* Checks that the line's source exists and is valid. */
void route_check(struct check *, struct stmt *);

/* ---- parse_sources.c, sidecar.c: for sources.c --------------------------- */

int sources_parse(struct sources *, const struct policy_reader *,
    const struct policy_source *, struct diag *);
/* A sidecar.  0; -EINVAL: reported; -ENOMEM. */
int sidecar_parse(
    struct arena *, const struct policy_source *, struct diag *, struct sidecar *ret);

/* ---- check_source.c ------------------------------------------------------ */

/* Checks the source after `from` of a secret, in any statement. */
check_fn check_secret_source;

#endif
