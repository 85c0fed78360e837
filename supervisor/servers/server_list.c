/*
 * kennel list, kennel server list: the configured servers, and the policy that each
 * starts with. kennel server show NAME: all of one.
 *
 * Process: kennel, as the calling user. Starts nothing. A file with errors gets a row of
 * its own, and the others are listed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/base/output.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/terminal.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/json/json.h"
#include "supervisor/serve/tools/tool_name.h"
#include "supervisor/servers/servers.h"

#define ROW             "%-20s %-7s %-7s %-7s %-16s %s\n"
#define ROW_BEFORE_PATH ((size_t)20 + (size_t)3 * 7 + 16 + 5)

struct listing {
	struct server_view *view;
	struct out o;
	bool json, tools;
};

/* ---- JSON --------------------------------------------------------------------------- */

static void
put_id(struct out *o, const char *key, const struct server_row *row)
{
	char id[TOOL_SERVER_MAX + 32];

	if (strcmp(row->scope, "global") == 0)
		(void)snprintf(id, sizeof(id), "global:%s", row->name);
	else
		(void)snprintf(id, sizeof(id), "%u:%s", getuid(), row->name);
	out_text(o, key, id);
}

static void
put_policy(struct out *o, const struct known_policy *known)
{
	char hex[2 * POLICY_ID_LEN + 1];

	if (known == NULL || !known->file->loaded)
		out_null(o, "policy");
	else
		out_text(
		    o, "policy", hex_put(hex, known->file->policy.id, POLICY_ID_LEN));
}

static void
put_generation(struct out *o, const char *key, uint64_t gen)
{
	if (gen == 0)
		out_null(o, key); /* the registry has no row of it */
	else
		out_number(o, key, gen);
}

/* The members of the list; the object stays open. */
static void
put_members(struct listing *l, const char *key, const struct server_row *row)
{
	const struct known_policy *known =
	    known_policy_find(&l->view->policies, row->policy_server);
	bool pinned = known != NULL && known->server != NULL && known->server->pins.n > 0;
	struct server_state state;
	struct out *o = &l->o;

	server_state(l->view, row, &state);
	out_object(o, key);
	put_id(o, "id", row);
	out_text(o, "name", row->name);
	out_text(o, "transport", row->transport);
	out_text_or_null(o, "command", row->command);
	out_json_or_null(o, "args", row->args_json);
	out_json_or_null(o, "env", row->env_json);
	out_text_or_null(o, "url", row->url);
	out_json_or_null(o, "headers", row->headers_json);
	out_yes(o, "enabled", row->enabled);
	out_text(o, "scope", row->scope);
	out_text(o, "source", row_source_name(row->source));
	out_text(o, "status", state.status);
	out_text(o, "discovery_status", row->discovery_status);
	out_text_or_null(o, "reason", state.reason);
	out_text_or_null(o, "detail", state.detail[0] != '\0' ? state.detail : NULL);
	out_number(o, "tools", pinned ? known_policy_tools(known) : row->tools_n);
	out_yes(o, "pinned", pinned);
	put_policy(o, known);
	out_text_or_null(o, "protocol", row->protocol);
	out_number(o, "restarts", state.restarts);
	put_generation(o, "created_gen", row->created_gen);
	put_generation(o, "updated_gen", row->updated_gen);
}

/* ---- for people ------------------------------------------------------------------------ */

/* "2 (env, vault)". */
static const char *
secrets_text(const struct known_policy *known, char out[64])
{
	const struct policy *p = &known->file->policy;
	struct sealed_range rows = known->server->secrets;
	uint32_t seen = 0;
	size_t n = 0;

	n += (size_t)snprintf(out, 64, "%u", rows.n);
	for (uint32_t i = 0; i < rows.n; i++) {
		uint32_t source = p->secret[rows.first + i].source;

		if (source > 31 || (seen & 1u << source) != 0 || n > 40)
			continue;
		n += (size_t)snprintf(out + n, 64 - n, "%s%s", seen == 0 ? " (" : ", ",
		    policy_source_name(source));
		seen |= 1u << source;
	}
	if (seen != 0)
		(void)snprintf(out + n, 64 - n, ")");
	return out;
}

/* What the user should know of a policy: empty, or one line. */
static void
policy_note(const struct known_policy *known, char out[STATE_DETAIL_MAX])
{
	const struct policy_counts *n = &known->file->counts;

	out[0] = '\0';
	if (known->refused)
		(void)snprintf(out, 128,
		    "error: a policy above defines the server too: remove one of them");
	else if (!known->used)
		(void)snprintf(out, 128, "not used: the policy above is");
	else if (known->file->stale)
		(void)snprintf(
		    out, STATE_DETAIL_MAX, "stale: `kennel policy check --all` says why");
	else if (n->errors > 0 || n->warnings > 0)
		(void)snprintf(out, STATE_DETAIL_MAX,
		    "%zu %s%s: `kennel policy check %s`",
		    n->errors > 0 ? n->errors : n->warnings,
		    n->errors > 0 ? "error" : "warning",
		    (n->errors > 0 ? n->errors : n->warnings) == 1 ? "" : "s",
		    known->file->path);
}

static void
put_note(const char *note)
{
	char shown[(size_t)4 * STATE_DETAIL_MAX];

	if (note[0] != '\0')
		printf(
		    "%20s %s\n", "", log_quote(shown, sizeof(shown), note, strlen(note)));
}

/* The last part of a path that would not fit the terminal: `kennel server show` prints it
 * whole. */
static const char *
path_that_fits(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct terminal t = terminal_of(STDOUT_FILENO);

	if (!t.is || slash == NULL || ROW_BEFORE_PATH + strlen(path) <= (size_t)t.columns)
		return path;
	return slash + 1;
}

static void
put_row(const char *name, const char *source, const struct known_policy *known)
{
	char secrets[64], shown[PATH_MAX];
	bool loaded = known != NULL && known->server != NULL;
	const char *path = known != NULL ? path_that_fits(known->file->path) : "-";

	printf(ROW, name != NULL ? name : "?", source,
	    known == NULL         ? "-"
	    : known->file->sealed ? "sealed"
				  : "text",
	    !loaded                     ? "?"
	    : known->server->pins.n > 0 ? "yes"
					: "no",
	    loaded ? secrets_text(known, secrets) : "?",
	    log_quote(shown, sizeof(shown), path, strlen(path)));
}

/* A server, and the policies of its name that are not used. */
static void
put_server(struct listing *l, const struct server_row *row)
{
	const struct known_policy *known =
	    known_policy_find(&l->view->policies, row->policy_server);
	char note[STATE_DETAIL_MAX] = "";
	struct server_state state;

	server_state(l->view, row, &state);
	put_row(row->name, row_source_name(row->source), known);
	if (known != NULL)
		policy_note(known, note);
	put_note(note);
	if (state.reason != NULL &&
	    (strcmp(state.reason, "policy-error") != 0 || note[0] == '\0'))
		put_note(state.detail);
}

static void
put_unused(struct listing *l)
{
	char note[STATE_DETAIL_MAX];

	for (size_t i = 0; i < l->view->policies.policy_n; i++) {
		const struct known_policy *known = &l->view->policies.policy[i];

		if (known->name != NULL && known->used)
			continue;
		put_row(known->name, "policy", known);
		policy_note(known, note);
		put_note(note);
	}
}

/* Does a server of the list have a secret in the vault? */
static bool
vault_needed(const struct listing *l)
{
	for (size_t i = 0; i < l->view->policies.policy_n; i++) {
		const struct known_policy *known = &l->view->policies.policy[i];
		const struct policy *p = &known->file->policy;

		for (uint32_t k = 0;
		     known->server != NULL && k < known->server->secrets.n; k++)
			if (p->secret[known->server->secrets.first + k].source ==
			    SOURCE_VAULT)
				return true;
	}
	return false;
}

static void
put_all(struct listing *l)
{
	if (l->view->rows.n + l->view->policies.policy_n == 0) {
		printf(
		    "no policy found in %s: `kennel init NAME -- COMMAND` drafts one\n",
		    paths_config_dir() != NULL ? paths_config_dir() : "/etc/kennel");
		return;
	}
	printf(ROW, "server", "source", "form", "pinned", "secrets", "policy");
	for (size_t i = 0; i < l->view->rows.n; i++)
		put_server(l, &l->view->rows.row[i]);
	put_unused(l);
	if (vault_needed(l) && vault_state_now() == VAULT_LOCKED)
		printf("the vault is locked: servers with secrets in it do not start "
		       "before `kennel secret unlock`\n");
}

/* ---- show ---------------------------------------------------------------------------------- */

/* A tool that the policy pins, or that the registry has from the last discovery. */
struct shown_tool {
	const char *name;
	char *description, *schema, *annotations; /* owned; NULL: none */
	bool pinned, drift;
};

static char *
member_of(struct json definition, const char *name, bool text)
{
	struct json value;
	struct buf out;
	size_t len;
	int r = json_get(definition, name, &value);

	if (r < 0)
		return NULL;
	buf_init(&out, MCP_MESSAGE_MAX);
	if (text && (r = buf_reserve(&out, value.len + 1)) == 0) {
		r = json_text(value, (char *)out.data, out.cap, &len);
		out.len = r == 0 ? len : 0;
	} else if (r == 0) {
		r = json_canon(value, &out);
	}
	if (r < 0 || buf_putc(&out, '\0') < 0) {
		buf_free(&out);
		return NULL;
	}
	return (char *)out.data;
}

static void
put_verdict(struct out *o, const struct known_policy *known, const char *tool)
{
	static const struct {
		const char *verdict, *approval;
	} row[] = {
	    [VERDICT_DENY] = {"deny", NULL},
	    [VERDICT_ALLOW] = {"allow", "auto"},
	    [VERDICT_ASK] = {"ask", "confirm"},
	};
	struct policy_answer answer = {.verdict = VERDICT_DENY};
	struct policy_gate_ask ask = {
	    .kind = GATE_TOOL, .name = tool, .name_len = strlen(tool)};

	if (known != NULL && known->server != NULL) {
		ask.pin = policy_pin(&known->file->policy, known->server, PIN_TOOL, tool,
		    strlen(tool), "");
		answer = policy_match_gate(&known->file->policy, known->server, &ask);
	}
	out_text(o, "verdict", row[answer.verdict].verdict);
	if (row[answer.verdict].approval != NULL)
		out_text(o, "approval", row[answer.verdict].approval);
}

static void
put_tool(struct listing *l, const struct server_row *row,
    const struct known_policy *known, const struct shown_tool *tool)
{
	char key[TOOL_SERVER_MAX + 1 + MCP_NAME_MAX + 1], wire[TOOL_WIRE_MAX + 1];
	struct out *o = &l->o;

	if (!l->json) {
		char shown[256];

		printf("  %s\n",
		    log_quote(shown, sizeof(shown), tool->name, strnlen(tool->name, 60)));
		return;
	}
	(void)snprintf(key, sizeof(key), "%s.%s", row->name, tool->name); /* both fit */
	tool_wire_name(row->name, tool->name, strlen(tool->name), wire);
	out_object(o, NULL);
	put_id(o, "serverId", row);
	out_text(o, "serverName", row->name);
	out_text(o, "name", tool->name);
	out_text_or_null(o, "description", tool->description);
	out_json_or_null(o, "inputSchema", tool->schema);
	out_json_or_null(o, "annotations", tool->annotations);
	out_text(o, "tool_key", key);
	out_text(o, "wire", wire);
	put_verdict(o, known, tool->name);
	out_yes(o, "pinned", tool->pinned);
	out_yes(o, "drift", tool->drift);
	out_end(o);
}

/* Does the registry's last list have another definition? */
static bool
is_drifted(const struct tool_rows *seen, const char *name)
{
	for (size_t i = 0; i < seen->n; i++)
		if (strcmp(seen->row[i].name, name) == 0)
			return seen->row[i].pinned_sha256 != NULL &&
			       strcmp(seen->row[i].pinned_sha256, seen->row[i].sha256) !=
				   0;
	return false;
}

static void
put_pinned(struct listing *l, const struct server_row *row,
    const struct known_policy *known, const struct tool_rows *seen)
{
	const struct policy *p = &known->file->policy;
	struct sealed_range pins = known->server->pins;
	const char *before = "";

	for (uint32_t i = pins.first; i < pins.first + pins.n; i++) {
		const struct sealed_pin *pin = &p->pin[i];
		struct shown_tool tool = {
		    .name = policy_str(p, pin->name), .pinned = true};
		const char *body = policy_str(p, pin->body);
		struct json_message m;

		if (pin->kind != PIN_TOOL || strcmp(tool.name, before) == 0 ||
		    json_scan((const uint8_t *)body, strlen(body), &m) < 0)
			continue;
		before = tool.name;
		tool.description = member_of(m.root, "description", true);
		tool.schema = member_of(m.root, "inputSchema", false);
		tool.annotations = member_of(m.root, "annotations", false);
		tool.drift = is_drifted(seen, tool.name);
		put_tool(l, row, known, &tool);
		free(tool.description);
		free(tool.schema);
		free(tool.annotations);
	}
}

static void
put_seen(struct listing *l, const struct server_row *row,
    const struct known_policy *known, const struct tool_rows *seen)
{
	for (size_t i = 0; i < seen->n; i++) {
		const struct tool_row *t = &seen->row[i];
		/* borrowed: nothing of it is changed or freed */
		const struct shown_tool tool = {.name = t->name,
		    .description = (char *)(uintptr_t)t->description,
		    .schema = (char *)(uintptr_t)t->parameters,
		    .annotations = (char *)(uintptr_t)t->annotations};

		put_tool(l, row, known, &tool);
	}
}

static void
put_tools(struct listing *l, const struct server_row *row)
{
	const struct known_policy *known =
	    known_policy_find(&l->view->policies, row->policy_server);
	struct tool_rows seen = {NULL, 0};
	int r = l->view->registry == NULL
		    ? 0
		    : registry_tools(l->view->registry, row->name, &seen);

	if (r < 0)
		log_error("unable to read the registry: %s", strerror(-r));
	if (known != NULL && known->server != NULL && known->server->pins.n > 0)
		put_pinned(l, row, known, &seen);
	else
		put_seen(l, row, known, &seen);
	tool_rows_free(&seen);
}

static void
put_line(const char *what, const char *text)
{
	char shown[4096];

	if (text != NULL && text[0] != '\0')
		printf("%-12s %s\n", what,
		    log_quote(shown, sizeof(shown), text, strlen(text)));
}

static void
show_text(struct listing *l, const struct server_row *row)
{
	const struct known_policy *known =
	    known_policy_find(&l->view->policies, row->policy_server);
	struct server_state state;

	server_state(l->view, row, &state);
	put_line("server", row->name);
	put_line("source", row_source_name(row->source));
	put_line("file", row->file);
	put_line("transport", row->transport);
	put_line("command", row->command);
	put_line("args", row->args_json);
	put_line("url", row->url);
	put_line("headers", row->headers_json);
	put_line("env", row->env_json);
	put_line("auth", row->auth_ref);
	put_line("note", row->note);
	put_line("policy", known != NULL ? known->file->path : NULL);
	put_line("enabled", row->enabled ? "yes" : "no");
	put_line("status", state.status);
	put_line("discovery", row->discovery_status);
	put_line("reason", state.detail);
	printf("tools\n");
	put_tools(l, row);
}

void
server_put(struct server_view *view, const struct server_row *row, struct out *o,
    const char *key)
{
	struct listing l = {.view = view, .o = *o, .json = true};

	put_members(&l, key, row);
	out_list(&l.o, "tool_list");
	put_tools(&l, row);
	out_end(&l.o);
	out_end(&l.o);
	*o = l.o;
}

int
server_show_main(int argc, char **argv)
{
	static struct server_view view; /* large */
	struct listing l = {.view = &view};
	const struct server_row *row;
	const char *name = NULL;
	char unknown[SERVER_UNKNOWN_MAX];
	int status;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			l.json = true;
		else if (argv[i][0] == '-' || name != NULL)
			return help_refuse(&server_help, argv[0], argv[i]);
		else
			name = argv[i];
	}
	if (name == NULL)
		return help_usage(
		    &server_help, argv[0], "expected the name of one server");
	status = server_view_open(false, &view);
	row = status == 0 ? server_view_find(&view, name) : NULL;
	if (status == 0 && row == NULL) {
		log_error("%s", server_view_unknown(&view, name, unknown));
		status = EXIT_INPUT;
	} else if (status == 0 && l.json) {
		out_init(&l.o, stdout);
		server_put(&view, row, &l.o, NULL);
	} else if (status == 0) {
		show_text(&l, row);
	}
	server_view_close(&view);
	return fflush(stdout) != 0 ? EXIT_FAILED : status;
}

/* ---- list -------------------------------------------------------------------------------- */

static void
put_listed(struct listing *l, const struct server_row *row)
{
	put_members(l, NULL, row);
	if (l->tools) {
		out_list(&l->o, "tool_list");
		put_tools(l, row);
		out_end(&l->o);
	}
	out_end(&l->o);
}

static int
list(const struct help_family *help, int argc, char **argv)
{
	static struct server_view view; /* large */
	struct listing l = {.view = &view};
	int status;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			l.json = true;
		else if (strcmp(argv[i], "--tools") == 0)
			l.json = l.tools = true;
		else
			return help_refuse(help, argv[0], argv[i]);
	}
	status = server_view_open(false, &view);
	if (status == 0 && l.json) {
		out_init(&l.o, stdout);
		out_list(&l.o, NULL);
		for (size_t i = 0; i < view.rows.n; i++)
			put_listed(&l, &view.rows.row[i]);
		out_end(&l.o);
	} else if (status == 0) {
		put_all(&l);
	}
	if (status == 0 && (view.policies.broken > 0 || view.file_broken))
		status = EXIT_INPUT;
	server_view_close(&view);
	return fflush(stdout) != 0 ? EXIT_FAILED : status;
}

int
servers_list_main(int argc, char **argv)
{
	return list(&kennel_help, argc, argv);
}

int
server_list_main(int argc, char **argv)
{
	return list(&server_help, argc, argv);
}
