/*
 * What kennel says of itself: initialize, server/discover, ping, logging/setLevel. No
 * server is started for these, because clients try a server with a process that they end
 * after milliseconds.
 */
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/serve/private.h"

#ifndef KENNEL_VERSION
#define KENNEL_VERSION "0.1"
#endif

#define INSTRUCTIONS_MAX (8u << 10)

static const char introduction[] =
    "kennel runs several MCP servers over one connection, each in a sandbox with a "
    "policy of its own.\n"
    "Most tools are not in tools/list. tool_search finds tools of all servers by words.\n"
    "tool_describe returns a tool's parameters; tool_invoke calls it by its name, "
    "`server.tool`.\n"
    "A refusal says which rule refused and what to use instead; do not try the same call "
    "again.\n"
    "A call may wait for a person's approval; if it is refused with `no answer yet`, "
    "repeat it later.\n"
    "A server that is not running is started by the first call, which then takes "
    "longer.\n";

/* The introduction, then "NAME: about" for each server. */
static void
put_instructions(struct hub *h, struct buf *out)
{
	struct buf text;

	buf_init(&text, INSTRUCTIONS_MAX);
	(void)buf_puts(&text, introduction); /* fits */
	for (size_t i = 0; i < h->server_n; i++) {
		const struct server *s = h->server[i];
		size_t whole = text.len;

		if (!s->enabled)
			continue;
		if (buf_printf(&text, "%s%s%s\n", s->name,
			s->about != NULL && s->about[0] != '\0' ? ": " : "",
			s->about != NULL ? s->about : "") < 0) {
			text.len = whole; /* the next may be shorter */
			continue;
		}
	}
	quote(out, text.data, text.len);
	buf_free(&text);
}

static void
put_self(struct hub *h, struct buf *out, const char *tasks)
{
	(void)buf_printf(out, /* errors surface at the end of the line */
	    "\"capabilities\":{\"completions\":{},\"logging\":{},\"prompts\":{"
	    "\"listChanged\":"
	    "true},\"resources\":{\"listChanged\":true,\"subscribe\":true}%s,\"tools\":{"
	    "\"listChanged\":true}},\"instructions\":",
	    tasks);
	put_instructions(h, out);
}

static void
keep(struct hub *h, struct buf *at, struct json value)
{
	buf_clear(at);
	if (value.type == JSON_IS_OBJECT && buf_put(at, value.at, value.len) < 0)
		h->error = -1;
}

void
keep_client(struct hub *h, struct json capabilities, struct json info)
{
	keep(h, &h->client_capabilities, capabilities);
	h->can = agent_can(capabilities);
	keep(h, &h->client_info, info);
}

void
on_initialize(struct hub *h, struct incoming *in)
{
	struct json params = in->m.top[TOP_PARAMS], info = {0};
	char version[16] = "";
	struct buf *out = &h->body;

	if (h->greeted) {
		reply_error(h, in, RPC_REQUEST_BAD,
		    "kennel: this connection is already initialized");
		return;
	}
	if (!call_named(h, in))
		return;
	if (text_of(in->m.param[PARAM_VERSION], version, sizeof(version)) == NULL)
		version[0] = '\0';
	h->version = mcp_version_find(version, strlen(version));
	if (h->version == 0 || h->version == MCP_2026_07_28) {
		(void)snprintf(version, sizeof(version), LATEST_LEGACY); /* fits */
		h->version = MCP_2025_11_25;
	}
	if (params.type == JSON_IS_OBJECT)
		(void)json_get(params, "clientInfo", &info); /* missing: none */
	keep_client(h, in->m.param[PARAM_CAPABILITIES], info);
	h->greeted = true;
	buf_clear(out);
	(void)buf_printf(out, "\"protocolVersion\":\"%s\",", version); /* at the end */
	put_self(h, out, tasks_capability(h));
	(void)buf_puts(out, ",\"serverInfo\":{\"name\":\"kennel\",\"title\":\"kennel\","
			    "\"version\":\"" KENNEL_VERSION "\"}"); /* likewise */
	reply_result(h, in, out, -1);
}

void
on_discover(struct hub *h, struct incoming *in)
{
	struct buf *out = &h->body;

	if (!call_named(h, in))
		return;
	buf_clear(out);
	(void)buf_puts(out, "\"supportedVersions\":" VERSIONS ","); /* at the end */
	put_self(h, out, "");
	reply_result(h, in, out, 300000);
}

void
on_ping(struct hub *h, struct incoming *in)
{
	static const struct buf nothing = {.len = 0};

	reply_result(h, in, &nothing, -1);
}

void
on_set_level(struct hub *h, struct incoming *in)
{
	static const char *const levels[] = {"debug", "info", "notice", "warning",
	    "error", "critical", "alert", "emergency"};
	static const struct buf nothing = {.len = 0};
	struct json level = {0};
	char text[16];
	bool known = false;

	if (json_get(in->m.top[TOP_PARAMS], "level", &level) == 0 &&
	    text_of(level, text, sizeof(text)) != NULL)
		for (size_t i = 0; i < ARRAY_LEN(levels); i++)
			known |= strcmp(text, levels[i]) == 0;
	if (!known) {
		reply_error(h, in, RPC_PARAMS_BAD,
		    "kennel: params.level is not one of debug, info, notice, warning, "
		    "error, "
		    "critical, alert, emergency");
		return;
	}
	(void)snprintf(h->log_level, sizeof(h->log_level), "%s", text); /* fits */
	for (struct downstream *d = h->down; d != NULL; d = d->next)
		if (d->state == DOWN_SERVING)
			downstream_level(d);
	reply_result(h, in, &nothing, -1);
}
