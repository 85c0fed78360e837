/*
 * A schema and a value, as two lines: neither crashes, nothing takes longer than its
 * limits, what is told is printable, and a second check says the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/schema/schema.h"
#include "tests/fuzz/fuzz.h"

static void
warn(void *arg, const char *at, const char *why)
{
	(void)arg;
	printable(at, strlen(at));
	printable(why, strlen(why));
}

static void
judge(struct json schema, struct json value)
{
	char why[SCHEMA_WHY_MAX], again[SCHEMA_WHY_MAX];
	struct schema *s;
	int r;

	if (schema_new(schema, &s, warn, NULL) < 0)
		return;
	r = schema_check(s, value, why);
	if (r > 0 || (r == 0) != (why[0] == '\0'))
		abort();
	printable(why, strlen(why));
	if (schema_check(s, value, again) != r || strcmp(why, again) != 0)
		abort();
	schema_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + !len); /* exactly: ASan sees one byte too far */
	struct json_message schema, value;
	uint8_t *line;
	size_t at;

	if (len > 0)
		memcpy(copy, data, len);
	line = memchr(copy, '\n', len);
	at = line == NULL ? len : (size_t)(line - copy);
	if (at < len && json_scan(copy, at, &schema) == 0 &&
	    json_scan(copy + at + 1, len - at - 1, &value) == 0)
		judge(schema.root, value.root);
	free(copy);
	return 0;
}
