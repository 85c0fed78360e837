/*
 * What kennel says of itself: initialize, server/discover, ping, logging/setLevel. No
 * server is started for these, because clients try a server with a process that they end
 * after milliseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/serve/private.h"

#ifndef KENNEL_VERSION
#define KENNEL_VERSION "0.1"
#endif

#define INSTRUCTIONS_MAX (8u << 10)
#define SERVER_TEXT_MAX  (2u << 10) /* of one server's instructions */

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

static const char introduction_single[] =
    "kennel runs this MCP server in a sandbox with a policy.\n"
    "A refusal says which rule refused and what to use instead; do not try the same call "
    "again.\n"
    "A call may wait for a person's approval; if it is refused with `no answer yet`, "
    "repeat it later.\n"
    "If a call lacks a secret, ask a person for it with secrets_request_provision.\n";

static struct json
pinned_instructions(const struct server *s)
{
	struct json text = {0};

	for (uint32_t i = 0; text.len == 0 && i < s->sealed->pins.n;) {
		const struct sealed_pin *pin;

		if (variant_next(&s->policy, s->sealed, s->hub->can, &i, &pin)->kind ==
			PIN_INSTRUCTIONS &&
		    pin != NULL && pin->body.len > 0)
			text = (struct json){
			    (const uint8_t *)policy_str(&s->policy, pin->body),
			    pin->body.len, JSON_IS_STRING};
	}
	return text;
}

void
downstream_instructions(struct downstream *d, struct json text)
{
	char *out = text.type == JSON_IS_STRING ? malloc(text.len) : NULL;

	free(d->instructions);
	d->instructions = NULL;
	if (out != NULL && text_of(text, out, text.len) != NULL)
		d->instructions = out;
	else
		free(out);
}

char *
server_instructions(const struct server *s)
{
	const struct downstream *d = s->down;
	bool greeted = d != NULL && d->state >= DOWN_LISTING && d->state < DOWN_ENDING;
	struct json pinned;
	char *text;

	if (greeted) /* the session leaves out what differs from its pin */
		return d->instructions != NULL ? strdup(d->instructions) : NULL;
	if (!s->pinned)
		return NULL;
	pinned = pinned_instructions(s);
	text = malloc(pinned.len + 1);
	if (text != NULL && text_of(pinned, text, pinned.len + 1) == NULL) {
		free(text);
		text = NULL;
	}
	return text;
}

static bool
is_exposed(const struct hub *h, const struct server *s)
{
	for (size_t i = 0; i < h->items.n; i++) {
		const struct item *it = h->items.item[i];

		if (it->server == s && it->kind == PIN_TOOL && item_offered(it) &&
		    item_exposed(h, it))
			return true;
	}
	return false;
}

/* What a person has reviewed of a server whose tools are in the agent's list. The others
 * are read with tool_describe, when they are needed. */
static void
put_reviewed(struct hub *h, const struct server *s, struct buf *out)
{
	char *text = s->pinned && is_exposed(h, s) ? server_instructions(s) : NULL;
	size_t whole = out->len, n = text == NULL ? 0 : strlen(text);

	if (n > SERVER_TEXT_MAX)
		for (n = SERVER_TEXT_MAX; n > 0 && (text[n] & 0xc0) == 0x80;)
			n--; /* not inside a character */
	if (n > 0 &&
	    buf_printf(out, "\nInstructions of %s:\n%.*s\n", s->name, (int)n, text) < 0)
		out->len = whole; /* the next may be shorter */
	free(text);
}

/* The introduction, "NAME: about" for each server, and reviewed instructions. */
static void
put_instructions(struct hub *h, struct buf *out)
{
	struct buf text;

	buf_init(&text, INSTRUCTIONS_MAX);
	(void)buf_puts(
	    &text, h->order->single ? introduction_single : introduction); /* fits */
	for (size_t i = 0; i < h->server_n; i++) {
		const struct server *s = h->server[i];
		size_t whole = text.len;

		if (!s->enabled || server_lacks_grant(s))
			continue;
		if (buf_printf(&text, "%s%s%s\n", s->name,
			s->about != NULL && s->about[0] != '\0' ? ": " : "",
			s->about != NULL ? s->about : "") < 0) {
			text.len = whole; /* the next may be shorter */
			continue;
		}
	}
	for (size_t i = 0; i < h->server_n; i++)
		put_reviewed(h, h->server[i], &text);
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
	uint32_t could = h->can;

	keep(h, &h->client_capabilities, capabilities);
	h->can = agent_can(capabilities);
	keep(h, &h->client_info, info);
	if (h->can != could)
		offers_vary(h);
}

/* True: what is said of the servers is known. False: the line waits, or was refused. */
static bool
is_known(struct hub *h, const struct incoming *in)
{
	return lists_servers(h) ? call_ready(h, in, false) : call_named(h, in);
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
	if (!is_known(h, in))
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
	reply_greeting(h, in, out, -1);
}

void
on_discover(struct hub *h, struct incoming *in)
{
	struct buf *out = &h->body;

	if (!is_known(h, in))
		return;
	buf_clear(out);
	(void)buf_puts(out, "\"supportedVersions\":" VERSIONS ","); /* at the end */
	put_self(h, out, "");
	reply_greeting(h, in, out, 300000);
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
