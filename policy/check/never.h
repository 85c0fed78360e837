/*
 * Shared by never.c (claims, names, arguments) and never_paths.c (paths,
 * hosts).
 */
#ifndef KENNEL_POLICY_CHECK_NEVER_H
#define KENNEL_POLICY_CHECK_NEVER_H

#include "policy/check/check.h"

#define WITNESS_MAX 200 /* bytes of an example; longer ones are cut */

struct witness {
	char text[WITNESS_MAX];
	struct at at; /* of the grant */
	bool unknown; /* too large to decide: counts as a breach */
};

/* Does the server have a grant that this claim forbids? */
struct never_request {
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
/* Does this grant allow something that the claim forbids? */
bool never_gives(const struct never_request *, const struct stmt *);
bool path_breached(struct never_request *);
bool net_breached(struct never_request *);
/* Does the program pattern of the claim match this program? */
bool never_program_meets(struct never_request *, const char *path);
/*
 * Refuses a claim about files that starts with a link that a user other than
 * root can change.
 */
void never_link_check(struct check *, const struct word *);
/* The canonical name of a path, as far as the path exists; in the arena. */
const char *never_canonical(struct check *, const char *path);

#endif
