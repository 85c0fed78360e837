/*
 * Between never.c (claims, names, arguments) and never_reach.c (paths, hosts).
 */
#ifndef KENNEL_POLICY_NEVER_H
#define KENNEL_POLICY_NEVER_H

#include "policy/check/check.h"

#define WITNESS_MAX 200 /* bytes of an example; longer ones are cut */

struct witness {
	char text[WITNESS_MAX];
	struct at at; /* of the grant */
	bool unknown; /* the question was too large: taken for a breach */
};

/* Does the server have a grant that this claim says is never there? */
struct ask {
	struct check *c;
	const struct server *server;
	enum keyword what;
	bool allow_only;
	const struct word *word;
	size_t word_n;
	const struct word *to;
	struct witness *ret;
};

void never_example(struct witness *, struct at, const char *);
/* Does this grant give what is claimed never to be? */
bool never_gives(const struct ask *, const struct stmt *);
bool path_breached(struct ask *);
bool net_breached(struct ask *);
/* Is the program one that the first word of the claim means? */
bool never_program_meets(struct ask *, const char *path);
/* The name that the kernel knows a path by, as far as it is there; in the arena. */
const char *never_canonical(struct check *, const char *path);

#endif
