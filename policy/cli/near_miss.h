/*
 * For explain: the lines that nearly decided a request, and the changes that
 * would give another answer (near_miss.c).
 */
#ifndef KENNEL_POLICY_CLI_NEAR_MISS_H
#define KENNEL_POLICY_CLI_NEAR_MISS_H

#include "policy/check/request.h"
#include "policy/sealed/policy.h"

#define NEAR_MAX    5  /* near misses that are reported */
#define CHANGES_MAX 16 /* lines that prevent the answer */

struct near {
	struct sealed_at at;
	char *text;   /* the line */
	char *detail; /* what the line lacks */
	enum policy_miss miss;
	bool grants;    /* it is an allow or an ask */
	uint32_t close; /* higher is nearer */
};

/* One edit of the policy. line 0: a new line in the server. */
struct change {
	const char *verb; /* "add", "narrow or remove", "widen" */
	struct sealed_at at;
	char *text;
};

struct nears {
	struct near near[NEAR_MAX];
	size_t near_n;
	struct change change[CHANGES_MAX];
	size_t change_n;
	enum sealed_verdict then; /* the answer after the changes */
	bool open_end;            /* more lines prevent it than are reported */
};

/* 0 or -ENOMEM; free the result with nears_free. */
int nears_find(const struct policy *, const struct sealed_server *,
    const struct request *, struct nears *ret);
void nears_free(struct nears *);

#endif
