/*
 * kennel server check [NAME]: what keeps the enabled servers from starting, and what
 * their policies lack.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/json/json.h"
#include "supervisor/registry/reference.h"
#include "supervisor/serve/tools/tool_name.h"
#include "supervisor/servers/servers.h"

#define TOOLS_MAX 65536

struct checking {
	struct server_view view;
	const char *only; /* NULL: all */
	size_t problems;
	struct wire *wire; /* of every tool that is known */
	size_t wire_n;
};

/* A tool and its name in tools/list. */
struct wire {
	char name[TOOL_WIRE_MAX + 1];
	char *key;  /* server.tool */
	bool shown; /* of a server that is checked */
};

static bool
is_checked(const struct checking *c, const char *name)
{
	return c->only == NULL || strcmp(c->only, name) == 0;
}

/* ---- variables -------------------------------------------------------------------- */

/* Each variable that the row names and the policy does not set. */
static void
check_env(
    struct checking *c, const struct server_row *row, const struct known_policy *known)
{
	struct json object, key, value;
	char name[256], shown[4 * sizeof(name)];
	struct json_walk w;
	size_t len;

	if (row->env_json == NULL || json_of(row->env_json, &object) < 0)
		return;
	json_walk(&w, object);
	while (json_next(&w, &key, &value)) {
		if (json_text(key, name, sizeof(name), &len) < 0 ||
		    known_policy_sets(known, name))
			continue;
		printf("%s: its policy does not set the variable %s: add `env %s` or "
		       "`secret %s from ...` to %s\n",
		    row->name, log_quote(shown, sizeof(shown), name, len), name, name,
		    known->file->path);
		c->problems++;
	}
}

/* ---- names ------------------------------------------------------------------------- */

static int
add_wire(struct checking *c, const struct server_row *row, const char *tool)
{
	struct wire *more, *w;

	if (c->wire_n == TOOLS_MAX)
		return -E2BIG;
	more = reallocarray(c->wire, c->wire_n + 1, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	c->wire = more;
	w = &c->wire[c->wire_n];
	tool_wire_name(row->name, tool, strlen(tool), w->name);
	w->shown = is_checked(c, row->name);
	if (asprintf(&w->key, "%s.%s", row->name, tool) < 0)
		return -ENOMEM;
	c->wire_n++;
	return 0;
}

static int
add_pinned(
    struct checking *c, const struct server_row *row, const struct known_policy *known)
{
	const struct policy *p = &known->file->policy;
	struct sealed_range pins = known->server->pins;
	const char *before = "", *name;
	int r = 0;

	for (uint32_t i = pins.first; r == 0 && i < pins.first + pins.n; i++) {
		name = policy_str(p, p->pin[i].name);
		if (p->pin[i].kind != PIN_TOOL || strcmp(name, before) == 0)
			continue;
		before = name;
		r = add_wire(c, row, name);
	}
	return r;
}

static int
add_seen(struct checking *c, const struct server_row *row)
{
	struct tool_rows seen = {NULL, 0};
	int r = c->view.registry == NULL
		    ? 0
		    : registry_tools(c->view.registry, row->name, &seen);

	for (size_t i = 0; r == 0 && i < seen.n; i++)
		r = add_wire(c, row, seen.row[i].name);
	tool_rows_free(&seen);
	return r;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct wire *)a)->name, ((const struct wire *)b)->name);
}

/* Two tools with one name: neither is listed. */
static void
check_wires(struct checking *c)
{
	char one[512], two[512];

	if (c->wire_n > 0)
		qsort(c->wire, c->wire_n, sizeof(c->wire[0]), by_name);
	for (size_t i = 1; i < c->wire_n; i++) {
		const struct wire *a = &c->wire[i - 1], *b = &c->wire[i];

		if (strcmp(a->name, b->name) != 0 || (!a->shown && !b->shown))
			continue;
		printf(
		    "%s and %s have the same name for clients, %s: neither is listed\n",
		    log_quote(one, sizeof(one), a->key, strlen(a->key)),
		    log_quote(two, sizeof(two), b->key, strlen(b->key)), a->name);
		c->problems++;
	}
}

/* ---- servers ------------------------------------------------------------------------- */

static int
check_row(struct checking *c, const struct server_row *row)
{
	const struct known_policy *known =
	    known_policy_find(&c->view.policies, row->policy_server);
	bool usable = known != NULL && known->server != NULL;
	struct server_state state;

	server_state(&c->view, row, &state);
	if (is_checked(c, row->name)) {
		if (state.reason != NULL && strcmp(state.reason, "disabled") != 0) {
			printf("%s: %s: %s\n", row->name, state.reason, state.detail);
			c->problems++;
		}
		if (usable)
			check_env(c, row, known);
	}
	if (usable && known->server->pins.n > 0)
		return add_pinned(c, row, known);
	return add_seen(c, row);
}

static int
check(struct checking *c)
{
	char unknown[SERVER_UNKNOWN_MAX];
	int r = 0;

	if (c->only != NULL && server_view_find(&c->view, c->only) == NULL) {
		log_error("%s", server_view_unknown(&c->view, c->only, unknown));
		return EXIT_INPUT;
	}
	for (size_t i = 0; r == 0 && i < c->view.rows.n; i++)
		r = check_row(c, &c->view.rows.row[i]);
	if (r < 0) {
		log_error("unable to check the servers: %s", strerror(-r));
		return EXIT_FAILED;
	}
	check_wires(c);
	if (c->problems == 0)
		printf("no problem found\n");
	return c->problems > 0 || c->view.file_broken ? EXIT_INPUT : 0;
}

int
server_check_main(int argc, char **argv)
{
	static struct checking c; /* large */
	int status = server_argument(argc, argv, &c.only);

	if (status != 0)
		return status;
	status = server_view_open(false, &c.view);
	if (status == 0)
		status = check(&c);
	for (size_t i = 0; i < c.wire_n; i++)
		free(c.wire[i].key);
	free(c.wire);
	server_view_close(&c.view);
	return fflush(stdout) != 0 ? EXIT_FAILED : status;
}
