/*
 * Kennel's own tools: the ones that an agent can call without any server.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_TOOLS_OWN_TOOLS_H
#define KENNEL_SUPERVISOR_SERVE_TOOLS_OWN_TOOLS_H

#include <stddef.h>

#include "supervisor/serve/tools/facets.h"

/* The number of tools that are listed by default when all are built. */
#define DEFAULT_TOOL_BUDGET 12

/* In the order of tools/list. */
enum own_tool_id {
	OWN_SECRETS_LIST,
	OWN_SECRETS_DESCRIBE,
	OWN_SECRETS_REQUEST_PROVISION,
	OWN_SECRETS_REQUEST_ROTATION,
	OWN_SECRETS_PROPOSE_METADATA,
	OWN_SECRETS_PROPOSE_NEW_PATH,
	OWN_SECRETS_REQUEST_USE_APPROVAL,
	OWN_SECRETS_POLL_STATUS,
	OWN_TOOL_SEARCH,
	OWN_TOOL_DESCRIBE,
	OWN_TOOL_INVOKE,
	OWN_MCP_QUERY,
	OWN_MCP_REGISTER,
	OWN_TOOL_N
};

struct own_tool {
	const char *name;
	enum facet facet;
	/* An item of tools/list, as canonical JSON (docs/FORMAT.pins). NULL: not built
	 * yet, so neither listed nor callable. */
	const char *definition;
};

/* [OWN_TOOL_N] */
extern const struct own_tool own_tools[];

/* The tool with this name: 0, or -ENOENT. Whether it is offered is facets_offer()'s
 * answer. */
int own_tool_find(const char *name, size_t len, enum own_tool_id *ret);

#endif
