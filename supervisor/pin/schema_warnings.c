/*
 * Compiles a tool's `inputSchema`, as the check of its arguments will, so that the
 * person who reviews it sees which patterns and references that check leaves out.
 */
#include <errno.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/pin/schema_warnings.h"
#include "supervisor/schema/schema.h"

static void
warn(void *arg, const char *at, const char *why)
{
	log_warn("inputSchema of tool %s: %s%s%s", (const char *)arg, at,
	    at[0] == '\0' ? "" : ": ", why);
}

static const char *
reason(int error)
{
	return error == -EINVAL   ? "expected an object or a boolean"
	       : error == -EILSEQ ? "a member's name has a NUL or an unpaired surrogate"
	       : error == -EEXIST ? "duplicate member"
	       : error == -E2BIG  ? "it has too many values or patterns"
				  : strerror(-error);
}

void
schema_warnings(const struct buf *name, const struct buf *definition)
{
	struct json body = {definition->data, definition->len, JSON_IS_OBJECT};
	struct schema *schema = NULL;
	struct json input;
	char shown[200];
	int r;

	(void)log_quote(shown, sizeof(shown), name->data, name->len);
	if (json_get(body, "inputSchema", &input) < 0) {
		log_warn(
		    "tool %s has no inputSchema: its arguments are not checked", shown);
		return;
	}
	r = schema_new(input, &schema, warn, shown);
	if (r < 0)
		log_warn(
		    "unable to compile the inputSchema of tool %s: %s", shown, reason(r));
	schema_free(schema);
}
