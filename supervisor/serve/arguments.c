/*
 * A tool's arguments, against the schema that a person has reviewed. A server that was
 * not reviewed judges its arguments itself.
 */
#include <stdio.h>

#include "shim/base/log.h"
#include "supervisor/schema/schema.h"
#include "supervisor/serve/private.h"

/* Compiled at the first call. One that cannot be compiled was reported when it was
 * pinned. */
static void
make_schema(struct item *i)
{
	struct json schema;

	i->schema_made = true;
	if (json_get(i->def, "inputSchema", &schema) < 0)
		return;
	if (schema_new(schema, &i->schema, NULL, NULL) < 0)
		log_debug(
		    "%s.%s: its schema cannot be compiled", i->server->name, i->name);
}

bool
arguments_fit(struct item *i, struct json arguments, char why[HUB_TEXT_MAX])
{
	static const uint8_t nothing[] = "{}";
	char what[SCHEMA_WHY_MAX];

	if (!i->pinned)
		return true;
	if (!i->schema_made)
		make_schema(i);
	if (i->schema == NULL)
		return true;
	if (arguments.type == JSON_IS_NONE)
		arguments = (struct json){nothing, sizeof(nothing) - 1, JSON_IS_OBJECT};
	if (schema_check(i->schema, arguments, what) == 0)
		return true;
	(void)snprintf(why, HUB_TEXT_MAX, "invalid arguments for %s.%.200s: %s",
	    i->server->name, i->name, what); /* fits */
	return false;
}
