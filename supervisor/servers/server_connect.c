/*
 * One attempt to connect to a server of the registry.
 *
 * Process: kennel, as the calling user. The server runs under `kennel exec`, so in its
 * cell, and only with an argv that its policy grants: the leash asks the policy again.
 * Trusts no answer of it: definitions are data, and are stored as such.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "leash/leash.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/loop.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/hub/argv_authority.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/registry/reference.h"
#include "supervisor/servers/servers.h"

#define TOOLS_MAX  8192        /* of one server */
#define BYTES_MAX  (32u << 20) /* of their definitions */
#define DIGEST_HEX 65

struct connecting {
	const struct known_policy *known;
	const char *name;
	struct client client;
	struct tool_rows tools;
	size_t bytes, drifted;
	char protocol[16]; /* "": unknown */
};

/* ---- what it lists --------------------------------------------------------------- */

static int
wrong(struct connecting *c, int r, const char *why)
{
	(void)snprintf(c->client.why, sizeof(c->client.why), "%s", why); /* fits */
	return r;
}

/* Copies a member of a definition to *at, and moves it; NULL: it has none. */
static const char *
take(char **at, struct json definition, const char *name, bool as_text)
{
	struct json value;
	char *to = *at;
	size_t len;

	if (json_get(definition, name, &value) < 0)
		return NULL;
	if (!as_text) {
		memcpy(to, value.at, value.len);
		to[value.len] = '\0';
	} else if (json_text(value, to, value.len + 1, &len) < 0) {
		return NULL;
	}
	*at += strlen(to) + 1;
	return to;
}

/* The digest that the policy pins; NULL: none. */
static const char *
take_pin(char **at, struct connecting *c, const struct tool_row *tool)
{
	const struct sealed_pin *pin = policy_pin(&c->known->file->policy,
	    c->known->server, PIN_TOOL, tool->name, strlen(tool->name), "");

	if (pin == NULL)
		return NULL;
	(void)hex_put(*at, pin->sha256, sizeof(pin->sha256));
	c->drifted += strcmp(*at, tool->sha256) != 0;
	return *at;
}

static bool
is_listed(const struct tool_rows *tools, const char *name)
{
	for (size_t i = 0; i < tools->n; i++)
		if (strcmp(tools->row[i].name, name) == 0)
			return true;
	return false;
}

static int
keep(struct connecting *c, const struct tool_row *tool)
{
	struct tool_row *more;

	if (is_listed(&c->tools, tool->name))
		return wrong(c, -EPROTO, "two tools of the server have the same name");
	more = reallocarray(c->tools.row, c->tools.n + 1, sizeof(*more));
	if (more == NULL)
		return wrong(c, -ENOMEM, "out of memory");
	c->tools.row = more;
	c->tools.row[c->tools.n++] = *tool;
	return 0;
}

/* A definition in canonical form. Its members are disjoint, so its length is room for the
 * texts of all of them. */
static int
add_canonical(struct connecting *c, const struct buf *text)
{
	size_t room = text->len + 4 + (size_t)2 * DIGEST_HEX;
	struct json_message m;
	struct tool_row tool = {.own = malloc(room)};
	uint8_t digest[32];
	char *at = tool.own;
	int r;

	if (at == NULL)
		return wrong(c, -ENOMEM, "out of memory");
	r = json_scan(text->data, text->len, &m);
	if (r == 0) {
		mcp_digest(text->data, text->len, digest);
		tool.sha256 = hex_put(at, digest, sizeof(digest));
		at += DIGEST_HEX;
		tool.name = take(&at, m.root, "name", true);
		tool.description = take(&at, m.root, "description", true);
		tool.parameters = take(&at, m.root, "inputSchema", false);
		tool.annotations = take(&at, m.root, "annotations", false);
	}
	if (tool.name == NULL) {
		r = wrong(c, -EPROTO, "a tool of the server has no name");
	} else {
		tool.pinned_sha256 = take_pin(&at, c, &tool);
		r = keep(c, &tool);
	}
	if (r < 0)
		free(tool.own);
	return r;
}

/* Callback of client_tools. */
static int
add_tool(void *arg, struct json definition)
{
	struct connecting *c = arg;
	struct buf text;
	int r;

	c->bytes += definition.len;
	if (c->tools.n == TOOLS_MAX || c->bytes > BYTES_MAX)
		return wrong(c, -E2BIG, "the server lists more than is kept");
	buf_init(&text, MCP_MESSAGE_MAX);
	r = json_canon(definition, &text);
	r = r < 0 ? wrong(c, -EPROTO, "a definition has no unambiguous reading")
		  : add_canonical(c, &text);
	buf_free(&text);
	return r;
}

/* The version of the greeting, if it is one of MCP. */
static void
note_protocol(struct connecting *c)
{
	struct json version = c->client.m.result[RESULT_VERSION];
	char text[sizeof(c->protocol)];
	size_t len;

	if (c->client.modern)
		(void)snprintf(c->protocol, sizeof(c->protocol), "%s",
		    mcp_version_name(MCP_2026_07_28)); /* fits */
	else if (json_text(version, text, sizeof(text), &len) == 0 &&
		 mcp_version_find(text, len) != 0)
		memcpy(c->protocol, text, sizeof(text));
}

/* ---- its process --------------------------------------------------------------------- */

/* Its argv, after the n arguments of kennel: of the row, as granted; or the policy's, for
 * a server at a URL. 0; -EACCES: it is not granted; -E2BIG. */
static int
put_argv(const struct connecting *c, const struct server_row *row,
    const struct args *args, const char **argv, size_t n)
{
	const struct policy *p = &c->known->file->policy;
	const struct sealed_exec *run = &p->exec[c->known->server->run];
	size_t more = row->url != NULL ? run->args.n : args->n;

	if (more + 1 > LEASH_ARGS_MAX)
		return -E2BIG;
	argv[n] = row->command;
	for (size_t i = 0; i < more; i++)
		argv[n + 1 + i] = row->url == NULL
				      ? args->v[i]
				      : policy_str(p, p->arg[run->args.first + i].text);
	if (row->url != NULL)
		argv[n] = policy_str(p, p->image[run->asked].path);
	else if (argv_authority(p, c->known->server, argv + n, more + 1, &argv[n]) ==
		 ARGV_DENIED)
		return -EACCES;
	argv[n + more + 1] = NULL;
	return 0;
}

static int
start(struct connecting *c, const struct server_row *row, pid_t *ret_pid, int *ret_to,
    int *ret_from)
{
	static const char *argv[LEASH_ARGS_MAX + 8] = {"kennel", "exec", "--for-client"};
	struct args args = {NULL, 0};
	int r = args_read(row->args_json, &args);

	argv[3] = row->policy_server;
	argv[4] = "--";
	if (r == 0)
		r = put_argv(c, row, &args, argv, 5);
	if (r == 0)
		r = client_spawn(PURPOSE_CHECK, argv, ret_pid, ret_to, ret_from);
	args_free(&args);
	return r < 0 ? wrong(c, r, "unable to start kennel exec") : 0;
}

static int
ask(struct connecting *c, int to, int from)
{
	uint64_t until = loop_now() + (uint64_t)CONNECT_S * 1000 * LOOP_MS;
	int r = client_open_until(&c->client, to, from, "{}", until);

	if (r < 0)
		return r;
	note_protocol(c);
	return client_tools(&c->client, add_tool, c);
}

/* HUB's words: unreachable if nothing ever came. */
static void
judge(const struct connecting *c, int r, struct connection *ret)
{
	*ret = (struct connection){.outcome = "connected"};
	if (r < 0) {
		ret->outcome = c->client.answered || r == -EREMOTEIO || r == -EPROTO
				   ? "error"
				   : "unreachable";
		(void)snprintf(ret->why, sizeof(ret->why), "%s", c->client.why);
	} else if (c->drifted > 0) {
		ret->outcome = "error";
		(void)snprintf(ret->why, sizeof(ret->why),
		    "%zu tool%s differ%s from what was reviewed: `kennel server pin %s "
		    "--diff`",
		    c->drifted, c->drifted == 1 ? "" : "s", c->drifted == 1 ? "s" : "",
		    c->name); /* fits */
	}
}

int
server_connect(
    struct server_view *view, const struct server_row *row, struct connection *ret)
{
	struct connecting c = {
	    .known = known_policy_find(&view->policies, row->policy_server),
	    .name = row->policy_server};
	struct discovered lists = {.tool = NULL};
	int to = -1, from = -1, r;
	pid_t pid = -1;

	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail: valid signal */
	r = start(&c, row, &pid, &to, &from);
	if (r == 0) {
		r = ask(&c, to, from);
		client_free(&c.client);
		(void)client_reap(pid); /* what it answered counts */
	}
	judge(&c, r, ret);
	lists.tool = c.tools.row;
	lists.tool_n = c.tools.n;
	r = registry_discovery(view->registry, row->name, row->source, ret->outcome,
	    c.protocol[0] != '\0' ? c.protocol : NULL, r < 0 ? NULL : &lists);
	tool_rows_free(&c.tools);
	return r;
}
