/*
 * The lines that came near to deciding a question, and what would change its
 * answer (near.c): for explain.
 */
#ifndef KENNEL_POLICY_NEAR_H
#define KENNEL_POLICY_NEAR_H

#include "policy/check/request.h"

#define NEAR_MAX    5  /* misses that are told */
#define CHANGES_MAX 16 /* lines that stand in the way */

struct near {
	struct sealed_at at;
	char *text;   /* the line */
	char *detail; /* what it lacks */
	enum policy_miss miss;
	uint32_t close; /* the more the nearer */
};

/* One edit of the text.  line 0: a new line of the server. */
struct change {
	const char *verb; /* "add", "narrow or remove" */
	struct sealed_at at;
	char *text;
};

struct nears {
	struct near near[NEAR_MAX];
	size_t near_n;
	struct change change[CHANGES_MAX];
	size_t change_n;
	enum sealed_verdict then; /* the answer after the changes */
	bool open_end;            /* more stands in the way than is told */
};

/* 0 or -ENOMEM; freed by nears_free. */
int nears_find(const struct policy *, const struct sealed_server *, const struct ask *,
    struct nears *ret);
void nears_free(struct nears *);

#endif
