/*
 * Facets: groups of kennel's own tools that are listed together.
 *
 * A facet that is not listed saves context: its tools are found by tool_search and may
 * be called. A denied facet does not exist for the agent. Facets grant nothing.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_TOOLS_FACETS_H
#define KENNEL_SUPERVISOR_SERVE_TOOLS_FACETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/cause.h"

enum facet { FACET_SECRETS, FACET_SEARCH, FACET_QUERY, FACET_MCP, FACET_N };

/* Sets of facets: 1u << enum facet, or'ed. */
#define FACETS_DEFAULT (1u << FACET_SECRETS | 1u << FACET_SEARCH | 1u << FACET_QUERY)

struct facets {
	uint32_t listed, denied;
};

/* The lists that a session may get; the first one that is set replaces the default. */
struct facet_lists {
	const char *option;      /* of `--facet`; NULL: not given */
	const char *environment; /* KENNEL_FACETS; NULL or "": not set */
	uint32_t allowed;        /* by `facet allow` of the settings; 0: no such line */
	uint32_t denied;         /* by `facet deny` */
};

const char *facet_name(enum facet);
/* "secrets, search, query, mcp" */
const char *facet_names(void);
/* 0, or -ENOENT. */
int facet_find(const char *name, size_t len, enum facet *ret);

/*
 * Returns 0; -EINVAL with why: a name that is no facet, in the list that counts or in
 * one that another list replaces.
 */
int facets_from(const struct facet_lists *, struct facets *ret, struct reason *why);

struct own_tool;
/* Is the tool in tools/list? */
bool facets_list(const struct facets *, const struct own_tool *);
/* May it be found, described and called? */
bool facets_offer(const struct facets *, const struct own_tool *);

#endif
