/*
 * Process: kennel, a child of `kennel learn` without rights of its own.  Trusts neither
 * the names of the tools nor their schemas: each is bounded, and an argument is a value of
 * ours or a literal of the schema.
 */
#include "supervisor/learn/exercise.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/cli/init_tools.h"
#include "supervisor/cli/mcp_client.h"

#define ROUNDS 2 /* calls of a tool, with a directory and with a file */

/* ---- calls ---------------------------------------------------------------------- */

/* The calls that will be made, each with its NUL, and the name of its tool before it. */
struct planned {
	struct buf text;
	size_t n, skipped;
	const struct exercise_values *given;
};

static int
plan_tool(void *arg, struct json item)
{
	struct planned *p = arg;
	struct exercise_values v = *p->given;
	char name[INIT_TOOL_MAX];
	struct buf params;
	bool reads;
	int r = 0;

	if (!init_tool(item, name, &reads) || !reads ||
	    p->n >= (size_t)EXERCISE_TOOLS_MAX * ROUNDS) {
		p->skipped++;
		return 0;
	}
	for (v.round = 0; r == 0 && v.round < ROUNDS; v.round++) {
		buf_init(&params, EXERCISE_PARAMS_MAX);
		r = exercise_params(item, name, &v, &params);
		if (r == 0) /* both, or none */
			r = buf_reserve(&p->text, strlen(name) + params.len + 2);
		if (r == 0)
			r = buf_put(&p->text, name, strlen(name) + 1);
		if (r == 0)
			r = buf_put(&p->text, buf_str(&params), params.len + 1);
		p->n += r == 0;
		buf_free(&params);
	}
	if (r == -ENOMEM)
		return r;
	p->skipped += r < 0; /* it needs a value that we do not have */
	return 0;
}

static int
call_all(struct client *c, const struct planned *p)
{
	const char *at = (const char *)p->text.data;

	for (size_t i = 0; i < p->n; i++) {
		const char *name = at, *params = name + strlen(name) + 1;
		int r = client_ask(c, "tools/call", params);

		at = params + strlen(params) + 1;
		if (i % ROUNDS == 0 && r != -EPIPE) {
			printf("    %s\n", name);
			(void)fflush(stdout); /* progress only */
		}
		if (r < 0 && r != -EREMOTEIO)
			return r; /* it is gone, or does not answer */
	}
	return 0;
}

int
exercise(int to, int from, const struct exercise_values *v, char *why, size_t why_cap)
{
	struct planned p = {.given = v};
	static struct client c; /* large */
	int r = client_open(&c, to, from, "{}", CLIENT_START_OF_RUN);

	buf_init(&p.text, 2u << 20);
	if (r == 0)
		r = client_tools(&c, plan_tool, &p);
	if (r == 0)
		r = call_all(&c, &p);
	if (p.skipped > 0)
		printf(
		    "    (%zu tools are not called: they may write, or need a value that "
		    "is not known)\n",
		    p.skipped);
	if (r < 0)
		(void)snprintf(why, why_cap, "%s", c.why);
	buf_free(&p.text);
	client_free(&c);
	return r;
}
