/*
 * The methods of each protocol version and what kennel decides on, one row per
 * method. A method without a row passes.
 */
#include "policy/sealed/sealed.h"
#include "shim/base/array.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/methods.h"

#include <stdlib.h>
#include <string.h>

#define V1     MCP_2024_11_05
#define V2     MCP_2025_03_26
#define V3     MCP_2025_06_18
#define V4     MCP_2025_11_25
#define V5     MCP_2026_07_28
#define LEGACY (V1 | V2 | V3 | V4)
#define ALL    (LEGACY | V5)

#define DEADLINE  METHOD_DEADLINE
#define TASK      METHOD_TASK
#define KEEPS     METHOD_KEEPS
#define LIST(key) .list = (key), .flags = METHOD_LIST | DEADLINE | KEEPS

static const struct method methods[] = {
    /* sorted by name */
    {"completion/complete", ALL, 0, .where = WHERE_REF, .flags = DEADLINE},
    {"elicitation/create", 0, V3 | V4, .flags = METHOD_ASKS,
	.needs = SERVER_MCP_ELICITATION},
    {"initialize", LEGACY, 0, .flags = DEADLINE | METHOD_FIRST | METHOD_GREETS | KEEPS},
    {"logging/setLevel", LEGACY, 0, .flags = DEADLINE | KEEPS},
    {"notifications/cancelled", ALL, ALL},
    {"notifications/elicitation/complete", 0, V4, .needs = SERVER_MCP_ELICITATION},
    {"notifications/initialized", LEGACY, 0},
    {"notifications/message", 0, ALL},
    {"notifications/progress", LEGACY, ALL},
    {"notifications/prompts/list_changed", 0, ALL},
    {"notifications/resources/list_changed", 0, ALL},
    {"notifications/resources/updated", 0, ALL},
    {"notifications/roots/list_changed", LEGACY, 0},
    {"notifications/subscriptions/acknowledged", 0, V5},
    {"notifications/tasks", 0, V5, .flags = TASK}, /* extension */
    {"notifications/tasks/status", V4, V4, .flags = TASK},
    {"notifications/tools/list_changed", 0, ALL},
    {"ping", LEGACY, LEGACY, .flags = DEADLINE | KEEPS},
    {"prompts/get", ALL, 0, GATE_PROMPT, WHERE_NAME, .flags = DEADLINE},
    {"prompts/list", ALL, 0, GATE_PROMPT, WHERE_NONE, LIST(RESULT_PROMPTS)},
    {"resources/directory/read", V5, 0, GATE_RESOURCE, WHERE_URI, .flags = DEADLINE},
    {"resources/list", ALL, 0, GATE_RESOURCE, WHERE_NONE, LIST(RESULT_RESOURCES)},
    {"resources/read", ALL, 0, GATE_RESOURCE, WHERE_URI, .flags = DEADLINE},
    {"resources/subscribe", LEGACY, 0, GATE_RESOURCE, WHERE_URI, .flags = DEADLINE},
    {"resources/templates/list", ALL, 0, GATE_RESOURCE, WHERE_NONE,
	LIST(RESULT_TEMPLATES)},
    {"resources/unsubscribe", LEGACY, 0, .flags = DEADLINE},
    {"roots/list", 0, LEGACY, .flags = METHOD_ASKS, .needs = SERVER_MCP_ROOTS},
    {"sampling/createMessage", 0, LEGACY, .flags = METHOD_ASKS,
	.needs = SERVER_MCP_SAMPLING},
    {"server/discover", V5, 0, .flags = DEADLINE | METHOD_GREETS | KEEPS},
    {"subscriptions/listen", V5, 0, GATE_RESOURCE, WHERE_LISTEN},
    {"tasks/cancel", V4 | V5, V4, .flags = DEADLINE | TASK},
    {"tasks/get", V4 | V5, V4, .flags = DEADLINE | TASK},
    {"tasks/list", V4, V4, .flags = DEADLINE | TASK},
    {"tasks/result", V4, V4, .flags = TASK}, /* blocks until the task has ended */
    {"tasks/update", V5, 0, .flags = DEADLINE | TASK},
    {"tools/call", ALL, 0, GATE_TOOL, WHERE_NAME, .flags = DEADLINE | METHOD_RESULT},
    {"tools/list", ALL, 0, GATE_TOOL, WHERE_NONE, LIST(RESULT_TOOLS)},
};
#define METHODS (ARRAY_LEN(methods))

const struct capability mcp_capabilities[3] = {
    {"sampling", SERVER_MCP_SAMPLING},
    {"elicitation", SERVER_MCP_ELICITATION},
    {"roots", SERVER_MCP_ROOTS},
};

struct text {
	const char *at;
	size_t len;
};

static int
by_name(const void *key, const void *row)
{
	const struct text *text = key;
	const struct method *m = row;
	size_t n = strlen(m->name);
	int d = memcmp(text->at, m->name, text->len < n ? text->len : n);

	return d != 0 ? d : (text->len > n) - (text->len < n);
}

const struct method *
method_find(const char *name, size_t len)
{
	struct text key = {name, len};

	return bsearch(&key, methods, METHODS, sizeof(methods[0]), by_name);
}

const struct method *
method_row(size_t i)
{
	return i < METHODS ? &methods[i] : NULL;
}

static const struct {
	const char *text;
	enum mcp_version version;
} versions[] = {
    {"2024-11-05", V1},
    {"2025-03-26", V2},
    {"2025-06-18", V3},
    {"2025-11-25", V4},
    {"2026-07-28", V5},
};

enum mcp_version
mcp_version_find(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		if (strlen(versions[i].text) == len &&
		    !memcmp(versions[i].text, text, len))
			return versions[i].version;
	return 0;
}

const char *
mcp_version_name(enum mcp_version version)
{
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		if (versions[i].version == version)
			return versions[i].text;
	return "";
}
