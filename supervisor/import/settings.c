/*
 * What a client does around a server: how long it waits, and whether it starts it at all.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shim/base/array.h"
#include "supervisor/import/entry_parts.h"

#define TIME_MAX_MS (30ULL * 86400000) /* of a policy */
#define SMALL_MS    1000 /* a client that is not in the table: from here on milliseconds */

enum { FOR_START = 1, FOR_CALL = 2 };

/* The members with a deadline, from the clients' documentation. */
static const struct {
	const char *client, *key; /* client NULL: each without a row */
	unsigned what;
	double ms; /* of one unit; 0: not known */
} deadlines[] = {
    {"codex", "startup_timeout_sec", FOR_START, 1000},
    {"codex", "startup_timeout_ms", FOR_START, 1},
    {"codex", "tool_timeout_sec", FOR_CALL, 1000},
    {"gemini", "timeout", FOR_CALL, 1},
    {"qwen", "timeout", FOR_CALL, 1},
    {"claude-code", "timeout", FOR_CALL, 1},
    {"copilot", "timeout", FOR_CALL, 1},
    {"kiro", "timeout", FOR_CALL, 1},
    {"amazonq", "timeout", FOR_CALL, 1},
    {"antigravity", "timeout", FOR_CALL, 1},
    {"goose", "timeout", FOR_CALL, 1000},
    {"cline", "timeout", FOR_CALL, 1000},
    {"roo", "timeout", FOR_CALL, 1000},
    {"crush", "timeout", FOR_START | FOR_CALL, 1000},
    {"opencode", "timeout", FOR_START | FOR_CALL, 1},
    {NULL, "timeout", FOR_CALL, 0},
};

/* Variables of the client itself, in milliseconds. */
static const struct {
	const char *client, *name;
	unsigned what;
} variables[] = {
    {"claude-code", "MCP_TIMEOUT", FOR_START},
    {"claude-code", "MCP_TOOL_TIMEOUT", FOR_CALL},
};

static bool
has_row(const char *client)
{
	for (size_t i = 0; i < ARRAY_LEN(deadlines); i++)
		if (deadlines[i].client != NULL &&
		    strcmp(deadlines[i].client, client) == 0)
			return true;
	return false;
}

/* Milliseconds, rounded up to whole seconds from one second on. 0: this is no time. */
static unsigned long long
read_ms(const char *text, double unit)
{
	unsigned long long whole;
	double ms, n;
	char *end;

	n = strtod(text, &end);
	if (end == text || *end != '\0' || !(n > 0) || n > (double)TIME_MAX_MS)
		return 0;
	if (unit == 0)
		unit = n >= SMALL_MS ? 1 : 1000;
	ms = n * unit;
	if (ms > (double)TIME_MAX_MS)
		return TIME_MAX_MS;
	if (ms < SMALL_MS)
		return ms < 1 ? 1 : (unsigned long long)ms;
	whole = (unsigned long long)(ms / 1000);
	return (whole + ((double)whole * 1000 < ms)) * 1000;
}

static void
take_time(struct entry *e, const char *text, double unit, unsigned what)
{
	unsigned long long ms = read_ms(text, unit);

	if (ms == 0)
		return;
	if ((what & FOR_START) != 0)
		e->start_ms = ms;
	if ((what & FOR_CALL) != 0)
		e->call_ms = ms;
}

static const char *
text_of(const struct config_tree *t, size_t object, const char *key)
{
	size_t i;

	return config_get(t, object, key, &i) == CONFIG_FOUND ? t->node[i].text : NULL;
}

static void
take_deadlines(const struct config_tree *t, const struct client_file *f, size_t object,
    struct entry *e)
{
	const char *client = f->client == NULL ? "" : f->client, *text;

	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		if (strcmp(variables[i].client, client) == 0 &&
		    (text = getenv(variables[i].name)) != NULL)
			take_time(e, text, 1, variables[i].what);
	for (size_t i = 0; i < ARRAY_LEN(deadlines); i++) {
		const char *of = deadlines[i].client;

		if (of == NULL ? has_row(client) : strcmp(of, client) != 0)
			continue;
		text = text_of(t, object, deadlines[i].key);
		if (text != NULL)
			take_time(e, text, deadlines[i].ms, deadlines[i].what);
	}
}

void
entry_take_client_times(const struct config_tree *own, const struct config_tree *t,
    size_t object, struct entry *e)
{
	size_t at;

	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const char *text = text_of(t, object, variables[i].name);

		if (text == NULL ||
		    ((variables[i].what & FOR_CALL) != 0 &&
			config_get(own, e->object, "timeout", &at) != CONFIG_ABSENT))
			continue;
		take_time(e, text, 1, variables[i].what);
	}
}

bool
entry_is_listed(
    const struct config_tree *t, size_t object, const char *key, const char *name)
{
	size_t i;

	if (config_get(t, object, key, &i) == CONFIG_ABSENT)
		return false;
	for (i = t->node[i].first; i != TREE_NONE; i = t->node[i].next)
		if (t->node[i].text != NULL && strcmp(t->node[i].text, name) == 0)
			return true;
	return false;
}

/* A list of those that are switched off, beside the object of all; or of those that are
 * not (Gemini). */
static bool
is_excluded(const struct config_tree *t, const char *name, size_t object)
{
	size_t list = t->node[object].parent, beside, i;

	if (list == TREE_NONE || t->node[list].parent == TREE_NONE)
		return false;
	beside = t->node[list].parent;
	if (entry_is_listed(t, beside, "disabledMcpServers", name) ||
	    entry_is_listed(t, beside, "disabledMcpjsonServers", name))
		return true;
	if (config_get(t, beside, "mcp", &i) != CONFIG_FOUND ||
	    t->node[i].type != NODE_OBJECT)
		return false;
	if (entry_is_listed(t, i, "excluded", name))
		return true;
	return config_get(t, i, "allowed", &beside) == CONFIG_FOUND &&
	       t->node[beside].type == NODE_ARRAY &&
	       !entry_is_listed(t, i, "allowed", name);
}

void
entry_take_settings(const struct config_tree *t, const struct client_file *f,
    size_t object, struct entry *e)
{
	const char *on = text_of(t, object, "enabled"),
		   *off = text_of(t, object, "disabled");

	e->disabled = (on != NULL && strcasecmp(on, "false") == 0) ||
		      (off != NULL && strcasecmp(off, "true") == 0) ||
		      is_excluded(t, e->name, object);
	take_deadlines(t, f, object, e);
}
