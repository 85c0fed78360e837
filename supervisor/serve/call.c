/*
 * Requests that are passed on to a server: which one, under which name there, and what
 * refuses them before a process is started.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/approve/approve.h"
#include "supervisor/hub/hub.h"
#include "supervisor/secrets/use_approval.h"
#include "supervisor/serve/approvals/refused_calls.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

#define POLICIES_MS CALL_WAIT_MS /* for the launcher; clients give up after 60 s */

/* Starts that may be waiting for a person, because their secrets are approved per call. */
static int
count_asking(const struct hub *h)
{
	int n = 0;

	for (const struct downstream *d = h->down; d != NULL; d = d->next)
		n += d->server->per_call && d->state < DOWN_LISTING;
	return n;
}

bool
server_may_ask(const struct server *s, char why[HUB_TEXT_MAX], struct leash_refused *ret)
{
	const struct sealed_secret *closed;

	*ret = (struct leash_refused){0};
	closed = secrets_closed(s);
	if (closed != NULL) {
		ret->cause = LEASH_CAUSE_DENIED;
		(void)snprintf(ret->variable, sizeof(ret->variable), "%s",
		    policy_str(&s->policy, closed->name)); /* may be cut */
		(void)snprintf(ret->path, sizeof(ret->path), "%s",
		    policy_str(&s->policy, closed->ref)); /* likewise */
		(void)snprintf(why, HUB_TEXT_MAX, SECRETS_DENIED_TEXT, ret->path,
		    ret->path); /* fits */
	} else if (s->per_call && count_asking(s->hub) >= APPROVALS_MAX)
		(void)snprintf(why, HUB_TEXT_MAX,
		    "%s: %d calls wait for a person already; call again when they are "
		    "answered",
		    s->name, APPROVALS_MAX); /* fits */
	else
		return true;
	return false;
}

static void
busy(struct hub *h, const struct incoming *in)
{
	reply_error(h, in, RPC_NO_RECORD,
	    "kennel: too many requests are in progress; wait for responses");
}

bool
call_named(struct hub *h, const struct incoming *in)
{
	if (servers_named(h))
		return true;
	if (!park(h, in, PARK_NAMES, NULL, POLICIES_MS))
		busy(h, in);
	return false;
}

bool
call_ready(struct hub *h, const struct incoming *in, bool lists)
{
	bool waits;

	if (!servers_known(h))
		waits = park(h, in, PARK_POLICIES, NULL, POLICIES_MS);
	else if (lists && !in->waited && !servers_listed(h))
		waits = park(h, in, PARK_LISTS, NULL, SEARCH_WAIT_MS);
	else
		return true;
	if (!waits)
		busy(h, in);
	return false;
}

bool
call_outlives(struct hub *h, const struct incoming *in, const struct server *s,
    bool in_shared, const char *what)
{
	char text[HUB_TEXT_MAX];

	if (!(in_shared ? s->per_call : s->once))
		return false;
	(void)snprintf(text, sizeof(text),
	    "kennel: %s has a process for each call, which ends with its answer: %s",
	    s->name, what); /* fits */
	reply_error(h, in, RPC_NO_METHOD, text);
	return true;
}

/* ---- the line ---------------------------------------------------------------------- */

/* Writes the request as the server gets it into hub->body. */
static int
put_line(struct hub *h, struct incoming *in, const struct route *route,
    const struct forward *f)
{
	struct edits e = {.n = 0};
	struct buf name, inner;
	char id[24];
	int r;

	buf_init(&name, MCP_MESSAGE_MAX);
	buf_init(&inner, MCP_MESSAGE_MAX);
	(void)snprintf(id, sizeof(id), "%llu", (unsigned long long)route->id); /* fits */
	edit_put(&e, in->m.top[TOP_ID].at, in->m.top[TOP_ID].len, id, strlen(id));
	if (f->name != NULL) {
		quote(&name, f->name, f->name_len);
		edit_put(&e, f->named.at, f->named.len, name.data, name.len);
	}
	if (f->arguments.type != JSON_IS_NONE)
		edit_put(&e, in->m.param[PARAM_ARGUMENTS].at,
		    in->m.param[PARAM_ARGUMENTS].len, f->arguments.at, f->arguments.len);
	bridge_meta(h, &e, &in->m, id, in->modern, route->down->modern, &inner);
	buf_clear(&h->body);
	r = edit_apply(&e, in->line, in->len, &h->body);
	buf_free(&name);
	buf_free(&inner);
	return r;
}

/* kennel's own refusal of a call is a result, so that the model reads it. */
static void
not_ready(
    struct hub *h, const struct incoming *in, const struct server *s, const char *why)
{
	if (in->method != NULL && (in->method->flags & METHOD_RESULT) != 0 &&
	    secrets_refused(h, in, &s->refusal))
		return;
	if (in->method != NULL && (in->method->flags & METHOD_RESULT) != 0)
		reply_refusal(h, in, why, "not ready", NULL);
	else
		reply_error(h, in, RPC_SERVER_GONE, why);
}

/* The process that serves this request. NULL: it is answered, or the line waits. */
static struct downstream *
process_for(struct hub *h, struct incoming *in, const struct forward *f)
{
	char why[HUB_TEXT_MAX] = "";
	struct downstream *d;

	if (f->server->per_call || (f->server->once && f->counts != NULL))
		d = server_once(f->server, why);
	else
		d = server_need(f->server, why);
	if (d == NULL)
		not_ready(h, in, f->server, why);
	else if (d->use == USE_SHARED && d->state < DOWN_SERVING) {
		if (!park_for_server(h, in, f->server))
			busy(h, in);
		d = NULL;
	}
	return d;
}

void
forward(struct hub *h, struct incoming *in, const struct forward *f)
{
	struct downstream *d;
	struct route *route;

	if (bridge_continue(h, in, f->server))
		return;
	if (f->counts != NULL && f->server->once &&
	    refused_call_is(secrets_queue(h), f->counts)) {
		reply_refusal(h, in, REFUSED_CALL_TEXT, REFUSED_CALL_OUTCOME, NULL);
		records_refused(h, in, f->server, f->name, NULL, REFUSED_CALL_OUTCOME);
		return;
	}
	d = process_for(h, in, f);
	route = d == NULL ? NULL : route_new(h, in, d);
	if (route == NULL) {
		if (d != NULL && d->use == USE_ONCE)
			d->deadline = 0; /* closed by the timer */
		return;
	}
	route->invoked = f->invoked;
	if (put_line(h, in, route, f) < 0 || downstream_send(d, &h->body) < 0) {
		route_error(h, route, RPC_NO_RECORD, "kennel: the message is too long");
		route_free(h, route);
		return;
	}
	if (f->counts != NULL && d->use == USE_ONCE)
		route->refused = refused_call_new(f->counts);
	if (f->counts != NULL)
		gate_count(f->counts);
	if (d->modern && !in->modern)
		bridge_keep(h, route, &h->body);
}

/* ---- tools -------------------------------------------------------------------------- */

void
call_withheld(struct hub *h, const struct incoming *in, const char *spelled,
    struct server *s, const char *tool, const char *reason)
{
	char text[HUB_TEXT_MAX];

	(void)snprintf(text, sizeof(text), "unknown tool: %.256s", spelled); /* fits */
	reply_refusal(h, in, text, "unknown", NULL);
	records_refused(h, in, s, tool, NULL, reason);
}

/* What the name has after that of its server. */
static const char *
tool_part(const struct hub *h, const struct server *s, const char *spelled)
{
	size_t n = h->order->single ? 0 : strlen(s->name);

	if (n == 0 || strncmp(spelled, s->name, n) != 0 || spelled[n] == '\0')
		return spelled;
	if (spelled[n] == '.')
		return spelled + n + 1;
	return spelled + n + (strncmp(spelled + n, "__", 2) == 0 ? 2 : 0);
}

/* The name of no tool that the agent may call. s: its server, if it has one. */
static void
no_such_tool(struct hub *h, const struct incoming *in, const char *spelled,
    struct server *s, const struct item *i)
{
	char text[HUB_TEXT_MAX];

	if (registered_only(h, spelled, text)) {
		reply_refusal(h, in, text, "not enabled", NULL);
		records_refused(h, in, s, spelled, NULL, "the server is not enabled");
	} else if (s == NULL)
		call_withheld(h, in, spelled, NULL, spelled, "unknown tool");
	else
		call_withheld(h, in, spelled, s,
		    i != NULL ? i->name : tool_part(h, s, spelled),
		    !s->enabled             ? "the server is disabled"
		    : server_lacks_grant(s) ? "no policy grants its command"
		    : i == NULL             ? "the server does not list it"
		    : i->gone               ? "the server lists it no more"
					    : "its name is another tool's too");
}

/* A tool of a server, which the agent spelled so. */
struct named_tool {
	struct server *server;
	const char *name,
	    *spelled; /* NULL: maybe another tool's, so only a line refuses */
	size_t name_len;
};

struct gate_ask
call_ask(struct server *s, const char *tool, size_t tool_len, struct json arguments)
{
	bool none = arguments.type == JSON_IS_NONE;

	return (struct gate_ask){.policy = &s->policy,
	    .server = s->sealed,
	    .pins = s->pins,
	    .kind = GATE_TOOL,
	    .name = tool,
	    .name_len = tool_len,
	    .args = none ? "{}" : (const char *)arguments.at,
	    .args_len = none ? 2 : arguments.len,
	    .limits = s->limits,
	    .now_ns = loop_now()};
}

/* True: the policy refuses this call, and it is answered. A refusal without a line is
 * no different from that of a tool that does not exist. */
static bool
is_refused(struct hub *h, const struct incoming *in, const struct named_tool *t,
    bool exists, const struct gate_ask *ask)
{
	struct gate_answer answer;
	struct rpc_why why = {0};
	char text[GATE_TEXT_MAX];
	bool by_line;

	gate_judge(ask, &answer);
	if (answer.allowed || answer.asks)
		return false;
	gate_explain(ask, &answer);
	by_line = answer.at[0] != '\0' && answer.pin != PIN_DIFFERS &&
		  answer.pin != PIN_MISSING;
	if (!exists && !by_line) {
		if (t->spelled != NULL)
			call_withheld(
			    h, in, t->spelled, t->server, t->name, gate_reason(&answer));
		return t->spelled != NULL;
	}
	why = (struct rpc_why){
	    .rule = answer.at, .because = answer.because, .instead = answer.instead};
	reply_refusal(h, in, gate_text(&answer, GATE_TOOL, t->name, text),
	    gate_outcome(&answer), &why);
	records_refused(
	    h, in, t->server, t->name, gate_rule(&answer), gate_reason(&answer));
	return true;
}

const char *
call_unfit(struct item *i, struct json arguments, char why[HUB_TEXT_MAX])
{
	if (i->drifted) {
		(void)snprintf(why, HUB_TEXT_MAX,
		    "%s.%.200s is quarantined: its definition differs from the reviewed "
		    "one; a person compares them with kennel server pin %s --diff",
		    i->server->name, i->name, i->server->name); /* fits */
		return "differs from its pin";
	}
	return arguments_fit(i, arguments, why) ? NULL : "invalid arguments";
}

/* True: what is known of the tool refuses this call, and it is answered. */
static bool
is_unfit(struct hub *h, const struct incoming *in, struct item *i, struct json arguments)
{
	char text[HUB_TEXT_MAX];
	const char *outcome = call_unfit(i, arguments, text);

	if (outcome == NULL)
		return false;
	reply_refusal(h, in, text, outcome, NULL);
	records_refused(h, in, i->server, i->name, NULL, outcome);
	return true;
}

static void
call_tool(struct hub *h, struct incoming *in, struct item *i, const char *spelled,
    struct json arguments, bool invoked)
{
	struct named_tool tool = {i->server, i->name, spelled, i->name_len};
	static const uint8_t nothing[] = "{}";
	struct json task;
	struct gate_ask ask = call_ask(tool.server, tool.name, tool.name_len, arguments);
	struct forward f = {.server = i->server,
	    .name = i->name,
	    .name_len = i->name_len,
	    .named = in->m.param[PARAM_NAME],
	    .counts = &ask,
	    .invoked = invoked};

	if (in->m.top[TOP_PARAMS].type == JSON_IS_OBJECT &&
	    json_get(in->m.top[TOP_PARAMS], "task", &task) == 0 &&
	    call_outlives(h, in, i->server, false, NO_TASKS))
		return;
	if (bridge_continue(h, in, i->server) ||
	    is_refused(h, in, &tool, i->verdict != VERDICT_DENY, &ask) ||
	    is_unfit(h, in, i, arguments))
		return;
	if (invoked)
		f.arguments = arguments.type != JSON_IS_NONE
				  ? arguments
				  : (struct json){nothing, 2, JSON_IS_OBJECT};
	forward(h, in, &f);
}

/* It is no different from one that does not exist. */
static bool
is_hidden(const struct server *s)
{
	return !s->enabled || server_lacks_grant(s);
}

/* Finds the tool that this name spells. NULL: answered, or the line waits. */
struct item *
call_find_tool(struct hub *h, const struct incoming *in, const char *name)
{
	size_t len = strlen(name);
	char text[HUB_TEXT_MAX];
	struct server *s, *hidden = NULL;
	struct buf twins;
	struct item *i;

	if (!call_ready(h, in, false))
		return NULL;
	buf_init(&twins, HUB_TEXT_MAX / 2);
	i = offers_tool(h, name, len, &twins);
	s = i == NULL ? offers_server_of(h, name, len) : i->server;
	if (i != NULL ? is_hidden(i->server) : s != NULL && is_hidden(s)) {
		hidden = s;
		i = NULL;
		s = NULL;
	}
	if (i == NULL && twins.len > 0) {
		(void)snprintf(text, sizeof(text),
		    "%.128s is the name of several tools: %s", name,
		    buf_str(&twins)); /* may be cut */
		reply_refusal(h, in, text, "ambiguous", NULL);
	} else if (i == NULL && s != NULL && !s->pinned && !s->listed && !in->waited &&
		   server_need(s, text) != NULL) {
		if (!park_for_server(h, in, s))
			busy(h, in);
	} else if (i == NULL && s != NULL && !s->pinned && !s->listed) {
		if (server_need(s, text) == NULL)
			not_ready(h, in, s, text);
		else
			no_such_tool(h, in, name, s, NULL);
	} else if (i == NULL || i->twin || i->gone || i->taken) { /* disabled: above */
		no_such_tool(h, in, name, hidden != NULL ? hidden : s, i);
		i = NULL;
	}
	buf_free(&twins);
	return i;
}

/* A name that a server has not listed, perhaps because the policy denies it: no process
 * is needed to refuse it. */
static bool
is_refused_unlisted(
    struct hub *h, const struct incoming *in, const char *spelled, struct json arguments)
{
	size_t len = strlen(spelled), n;
	struct named_tool tool;
	struct gate_ask ask;
	struct server *s;
	struct buf twins;
	bool listed, stored;

	buf_init(&twins, HUB_TEXT_MAX / 2);
	listed = offers_tool(h, spelled, len, &twins) != NULL;
	buf_free(&twins);
	s = listed ? NULL : offers_server_of(h, spelled, len);
	if (s == NULL || !s->ready)
		return false;
	n = h->order->single ? 0 : strlen(s->name);
	if (strncmp(spelled, s->name, n) != 0)
		return false; /* mcp_ has no way back */
	if (n > 0)
		n += spelled[n] == '.' ? 1 : 2;
	/* a wire name may be cut and hashed */
	stored = n == 0 || spelled[n - 1] == '.';
	if (n > len)
		return false;
	tool = (struct named_tool){s, spelled + n, stored ? spelled : NULL, len - n};
	ask = call_ask(tool.server, tool.name, tool.name_len, arguments);
	return is_refused(h, in, &tool, false, &ask);
}

void
call_by_name(struct hub *h, struct incoming *in, const char *spelled,
    struct json arguments, bool invoked)
{
	struct item *i;

	if (!call_ready(h, in, false) || is_refused_unlisted(h, in, spelled, arguments))
		return;
	i = call_find_tool(h, in, spelled);
	if (i != NULL)
		call_tool(h, in, i, spelled, arguments, invoked);
}

void
on_tool_call(struct hub *h, struct incoming *in)
{
	static char name[MCP_NAME_MAX];
	struct json value = in->m.param[PARAM_NAME];

	if (text_of(value, name, sizeof(name)) == NULL) {
		reply_error(h, in, RPC_PARAMS_BAD, "kennel: params.name is not a text");
		return;
	}
	if (!own_tool_call(h, in, name, in->m.param[PARAM_ARGUMENTS]))
		call_by_name(h, in, name, in->m.param[PARAM_ARGUMENTS], false);
}

/* ---- prompts, resources, completions --------------------------------------------------- */

void
on_prompt(struct hub *h, struct incoming *in)
{
	static char name[MCP_NAME_MAX];
	struct item *i;

	if (!call_ready(h, in, true))
		return;
	i = text_of(in->m.param[PARAM_NAME], name, sizeof(name)) == NULL
		? NULL
		: offers_prompt(h, name, strlen(name));
	if (i == NULL || !item_offered(i))
		reply_error(h, in, RPC_PARAMS_BAD, "kennel: no such prompt");
	else
		forward(h, in,
		    &(struct forward){.server = i->server,
			.name = i->name,
			.name_len = i->name_len,
			.named = in->m.param[PARAM_NAME]});
}

static struct server *
resource(struct hub *h, struct incoming *in, struct json value, struct forward *f)
{
	static char uri[MCP_NAME_MAX];

	if (text_of(value, uri, sizeof(uri)) == NULL)
		return NULL;
	f->server = offers_resource(h, uri, strlen(uri), &f->name, &f->name_len, f->two);
	f->named = value;
	return f->server;
}

/* The code moved in 2026-07-28; the SDKs know the error by data.uri. */
static void
no_resource(struct hub *h, struct incoming *in, const struct forward *f)
{
	static char uri[MCP_NAME_MAX];
	const struct rpc_why why = {.outcome = "refused",
	    .uri = text_of(in->m.param[PARAM_URI], uri, sizeof(uri))};
	char text[2 * LAUNCHER_NAME_MAX + 160] = "kennel: no server has this resource";

	if (f->two[0] != NULL)
		(void)snprintf(text, sizeof(text),
		    "kennel: %s and %s both offer this resource: name one of them, as "
		    "kennel://%s/ and the percent-encoded URI",
		    f->two[0]->name, f->two[1]->name, f->two[0]->name); /* fits */
	reply_error_why(h, in, in->modern ? RPC_PARAMS_BAD : RPC_NO_RESOURCE, text, &why);
}

void
on_resource(struct hub *h, struct incoming *in)
{
	struct forward f = {.server = NULL};

	if (!call_ready(h, in, true))
		return;
	if (resource(h, in, in->m.param[PARAM_URI], &f) == NULL)
		no_resource(h, in, &f);
	else
		forward(h, in, &f);
}

void
on_subscribe(struct hub *h, struct incoming *in)
{
	struct forward f = {.server = NULL};
	static char asked[MCP_NAME_MAX];

	if (!call_ready(h, in, true))
		return;
	if (resource(h, in, in->m.param[PARAM_URI], &f) == NULL) {
		no_resource(h, in, &f);
		return;
	}
	if (call_outlives(h, in, f.server, true, "no subscriptions"))
		return;
	(void)text_of(in->m.param[PARAM_URI], asked, sizeof(asked)); /* resource() did */
	subscribe_note(
	    h, &f, asked, strcmp(in->method->name, "resources/subscribe") == 0);
	if (!subscribe_bridge(h, in, f.server))
		forward(h, in, &f);
}

/* What a completion names must be offered itself, as it is listed. */
static bool
ref_offered(const struct forward *f)
{
	const struct item *i = offers_find(f->server, PIN_TEMPLATE, f->name, f->name_len);

	if (i == NULL)
		i = offers_find(f->server, PIN_RESOURCE, f->name, f->name_len);
	return i != NULL && item_offered(i);
}

void
on_complete(struct hub *h, struct incoming *in)
{
	struct json ref = in->m.param[PARAM_REF], type, value;
	struct forward f = {.server = NULL};
	static char text[MCP_NAME_MAX];
	struct item *i;

	if (!call_ready(h, in, true))
		return;
	if (json_get(ref, "type", &type) < 0 || text_of(type, text, sizeof(text)) == NULL)
		text[0] = '\0';
	if (strcmp(text, "ref/resource") == 0 && json_get(ref, "uri", &value) == 0) {
		if (resource(h, in, value, &f) != NULL && !ref_offered(&f))
			f.server = NULL;
	} else if (strcmp(text, "ref/prompt") == 0 &&
		   json_get(ref, "name", &value) == 0 &&
		   text_of(value, text, sizeof(text)) != NULL &&
		   (i = offers_prompt(h, text, strlen(text))) != NULL && item_offered(i))
		f = (struct forward){.server = i->server,
		    .name = i->name,
		    .name_len = i->name_len,
		    .named = value};
	if (f.server == NULL)
		reply_error(h, in, RPC_PARAMS_BAD,
		    "kennel: params.ref is neither a known prompt nor a known resource");
	else if (!call_outlives(h, in, f.server, true, "no completions"))
		forward(h, in, &f);
}
