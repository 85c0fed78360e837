/*
 * Which source answers for a secret: sources.kennel, a file of people's own in the
 * policy language (kennel-policy(5), SOURCES), and the sidecars of plugins.
 *
 * `secret NAME from source PATH` asks it when a policy is compiled.  What it says is
 * sealed, so that what was compiled is what runs.
 */
#ifndef KENNEL_POLICY_ROUTER_H
#define KENNEL_POLICY_ROUTER_H

#include "policy/lang/lex.h"

#define ROUTER_FILE          "sources.kennel"
#define ROUTER_LEN_MAX       (1u << 20) /* bytes of it, and of a sidecar */
#define ROUTER_SOURCES_MAX   64
#define ROUTER_ROUTES_MAX    1024    /* and as many lines `secret` */
#define ROUTER_CREDENTIALS   4       /* of one source */
#define ROUTER_ENV_MAX       16      /* of one plugin */
#define ROUTER_REFERENCE_MAX 1024    /* bytes */
#define ROUTER_NAME_MAX      64      /* bytes of a source's name */
#define ROUTER_VAULT         "vault" /* the source that nobody needs to write */

/* What stands in a sidecar. */
struct sidecar {
	const char *path; /* of the sidecar itself */
	const char *name, *version, *program;
	uint8_t sha256[32];
	const char *env[ROUTER_ENV_MAX]; /* variables that it may have */
	size_t env_n;
};

struct routed_credential {
	struct word variable;
	struct word *word; /* behind `from`: at least two */
	size_t word_n;
};

struct routed_source {
	struct word name;
	struct word *from; /* behind `from`; of a plugin: `plugin` and its sidecar */
	size_t from_n;
	const struct sidecar *sidecar; /* NULL: no plugin */
	struct routed_credential credential[ROUTER_CREDENTIALS];
	size_t credential_n;
	const char *env[ROUTER_ENV_MAX]; /* NAME=VALUE, or NAME */
	size_t env_n;
	uint32_t may; /* SECRET_MAY_*, or'ed */
};

enum routed_by { BY_NOTHING, BY_DEFAULT, BY_ROUTE, BY_SECRET };

/* One line `route`, `secret` or `default`. */
struct route {
	enum routed_by by;
	const char *path;      /* a prefix; of `default` "" */
	size_t source;         /* row of source */
	const char *reference; /* NULL: the path itself */
	struct word named;     /* the source, as it is written */
	struct at at;
};

struct router {
	struct arena *arena;
	const char *file; /* what was read; NULL: there is none */
	struct routed_source *source;
	size_t source_n; /* the first is kennel's own vault */
	struct route *route;
	size_t route_n;
};

/* Where the file is: /etc/kennel where there is one, else below KENNEL_HOME,
 * XDG_CONFIG_HOME or HOME.  NULL: nowhere.  A static string. */
const char *router_place(void);

/*
 * Everything in memory of arena.  Errors, and none of its lines, go to diag; a file
 * that is not there is an empty one.  0; -EINVAL with an error; -ENOMEM.
 */
int router_read(struct arena *, const struct policy_reader *, const char *file,
    FILE *diag, struct router *ret);

/* The longest of what begins like this path, part by part; `secret` before any
 * `route`; NULL: no line, so the vault answers. */
const struct route *router_find(const struct router *, const char *path);

/* What a secret's line becomes. */
struct answer {
	const struct routed_source *source;
	const struct route *route; /* NULL: no line */
	const char *reference;
	/* word[0] the variable, word[1] the source's word, then what it takes: a
	 * statement as if the policy said so.  Of a plugin: `plugin`, its program. */
	struct stmt stmt;
	struct answer *credential; /* [source->credential_n] */
};
/*
 * For this path, with the variable of a line of the policy.  0; -EINVAL with why,
 * which holds no value; -ENOMEM.
 */
int router_answer(const struct router *, const struct word *variable, const char *path,
    struct answer *ret, char *why, size_t why_cap);

/* ---- routed.c: for the compiler ------------------------------------------------- */

struct check;
/* The answer for `secret NAME from source PATH`; NULL: reported. */
const struct answer *routed_answer(struct tree *, const struct stmt *, struct diag *);
/* What such a line takes is there, and is in order. */
void routed_check(struct check *, struct stmt *);

/* ---- router_parse.c, sidecar.c: for router.c ---------------------------------------------- */

int router_parse(struct router *, const struct policy_reader *,
    const struct policy_source *, struct diag *);
/* A sidecar.  0; -EINVAL: reported; -ENOMEM. */
int sidecar_parse(
    struct arena *, const struct policy_source *, struct diag *, struct sidecar *ret);

#endif
