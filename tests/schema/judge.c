/*
 * Judges values by schemas: each line of standard input is
 * {"schema":...,"value":...}; each line of the output is its verdict.
 *
 *	ok
 *	no WHY			the value does not match
 *	limit WHY		a limit ended the check
 *	bad ERROR		the schema cannot be used
 *	warn POINTER WHY	before the verdict: a part of the schema that is not checked
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/schema/schema.h"

static void
warn(void *arg, const char *at, const char *why)
{
	(void)arg;
	printf("warn %s %s\n", at, why);
}

static void
judge(struct json schema, struct json value)
{
	char why[SCHEMA_WHY_MAX];
	struct schema *s;
	int r = schema_new(schema, &s, warn, NULL);

	if (r < 0) {
		printf("bad %s\n", strerror(-r));
		return;
	}
	r = schema_check(s, value, why);
	if (r == 0)
		printf("ok\n");
	else
		printf("%s %s\n", r == -EBADMSG ? "no" : "limit", why);
	schema_free(s);
}

int
main(void)
{
	struct json schema, value;
	struct json_message m;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		if (json_scan((uint8_t *)line, (size_t)n, &m) < 0 ||
		    json_get(m.root, "schema", &schema) < 0 ||
		    json_get(m.root, "value", &value) < 0)
			printf("bad line\n");
		else
			judge(schema, value);
	}
	free(line);
	return 0;
}
