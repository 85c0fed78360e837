/*
 * Removes parts of messages: list items that the policy does not allow, capabilities that
 * it does not permit, and what only kennel may write. Nothing is rewritten; all remaining
 * bytes are the original ones.
 */
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/pages.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/hub/hub.h"

#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

static int
cut_put(struct cuts *c, struct cut new)
{
	size_t at;

	if (c->n == c->cap) {
		size_t cap = c->cap == 0 ? 64 : c->cap * 2;
		struct cut *cut = realloc(c->cut, cap * sizeof(*cut));

		if (cut == NULL)
			return -ENOMEM;
		c->cut = cut;
		c->cap = cap;
	}
	/* Keep the cuts sorted: a cut before an item may be found after one inside
	 * it. */
	for (at = c->n; at > 0 && c->cut[at - 1].from > new.from; at--)
		c->cut[at] = c->cut[at - 1];
	c->cut[at] = new;
	c->n++;
	return 0;
}

static int
cut_add(struct cuts *c, const uint8_t *from, const uint8_t *to)
{
	return cut_put(c, (struct cut){.from = from, .to = to});
}

int
filter_insert(struct session *s, const uint8_t *at, size_t len)
{
	struct cut cut = {
	    .from = at, .to = at, .said = s->insert.len - len, .said_len = len};

	return cut_put(&s->cuts, cut);
}

int
filter_replace(struct session *s, struct json value, size_t len)
{
	struct cut cut = {.from = value.at,
	    .to = value.at + value.len,
	    .said = s->insert.len - len,
	    .said_len = len};

	return cut_put(&s->cuts, cut);
}

/*
 * A member is removed with one comma: the one before it if an earlier member stays,
 * else the one after it.
 *
 *	[a, b, c]   without b: [a, c]   without a: [b, c]   without all: []
 */
int
filter_item(struct filter_gap *g, struct json key, struct json value, bool keep)
{
	const uint8_t *start = key.type == JSON_IS_NONE ? value.at : key.at;
	const uint8_t *end = value.at + value.len;
	int r = 0;

	if (keep) {
		if (g->first_drop != NULL)
			r = cut_add(g->cuts, g->first_drop, start);
		g->first_drop = NULL;
		g->kept = true;
	} else if (g->kept)
		r = cut_add(g->cuts, g->last_end, end);
	else if (g->first_drop == NULL)
		g->first_drop = start;
	g->last_end = end;
	return r;
}

int
filter_close(struct filter_gap *g)
{
	if (g->first_drop == NULL)
		return 0;
	return cut_add(g->cuts, g->first_drop, g->last_end);
}

/* ---- lists -------------------------------------------------------------- */

static const char *const item_key[] = {
    [RESULT_TOOLS] = "name",
    [RESULT_RESOURCES] = "uri",
    [RESULT_TEMPLATES] = "uriTemplate",
    [RESULT_PROMPTS] = "name",
};

static const enum sealed_pin_kind item_pin[] = {
    [RESULT_TOOLS] = PIN_TOOL,
    [RESULT_RESOURCES] = PIN_RESOURCE,
    [RESULT_TEMPLATES] = PIN_TEMPLATE,
    [RESULT_PROMPTS] = PIN_PROMPT,
};

/* True if the definition matches its pin, or has no pin. -ENOMEM. */
static int
as_pinned(struct session *s, enum sealed_pin_kind kind, size_t name_len,
    struct json definition, struct pin_seen *ret)
{
	int r;

	*ret = (struct pin_seen){.state = PIN_OFF};
	if (s->pins == NULL)
		return 1;
	r = pins_see(s->pins, kind, s->name, name_len, definition, ret);
	if (r < 0)
		return r;
	record_definition(s, kind, ret);
	return ret->state == PIN_OFF || ret->state == PIN_FITS;
}

/* Hides an item whose name is ambiguous. -ENOMEM. */
static int
item_granted(struct session *s, const struct method *method, struct json item)
{
	struct gate_ask ask = session_ask(s, method->gate);
	struct gate_answer answer;
	struct pin_seen seen;
	struct json name;
	size_t len;
	int r;

	if (json_get(item, item_key[method->list], &name) < 0 ||
	    json_text(name, s->name, sizeof(s->name), &len) < 0)
		return 0;
	r = as_pinned(s, item_pin[method->list], len, item, &seen);
	if (r <= 0)
		return r;
	ask.name_len = len;
	gate_judge(&ask, &answer);
	return answer.allowed || (answer.asks && s->o.questions != NULL);
}

/* True if no page of the list follows for this agent. Older clients end it at an empty
 * cursor, and none follows the cursor that it has just sent. */
static bool
is_last_page(const struct session *s, const struct call *call, struct json result)
{
	struct json cursor;
	uint64_t next;

	if (json_get(result, "nextCursor", &cursor) < 0)
		cursor = (struct json){0};
	next = pages_cursor(cursor);
	return next == 0 || next == call->cursor || (cursor.len == 2 && s->version != 0);
}

int
filter_list(struct session *s, const struct call *call, const struct json_message *m)
{
	const struct method *method = call->known;
	struct json list = m->result[method->list], key, item;
	struct filter_gap gap = {.cuts = &s->cuts};
	struct json_walk w;
	int r;

	if (list.type == JSON_IS_NONE || list.type == JSON_IS_NULL)
		return 0;
	if (list.type != JSON_IS_ARRAY)
		return -EINVAL;
	json_walk(&w, list);
	while (json_next(&w, &key, &item)) {
		r = item_granted(s, method, item);
		if (r >= 0)
			r = filter_item(&gap, key, item, r > 0);
		if (r < 0)
			return r;
	}
	if (method->list == RESULT_TOOLS && s->pins != NULL &&
	    is_last_page(s, call, m->top[TOP_RESULT]))
		pins_listed(s->pins, true);
	return filter_close(&gap);
}

/* ---- the initialize response ---------------------------------------------- */

/* Cuts this member of result, with its key. */
static int
cut_member(struct session *s, struct json result, struct json member)
{
	struct filter_gap gap = {.cuts = &s->cuts};
	struct json key, value;
	struct json_walk w;
	int r;

	json_walk(&w, result);
	while (json_next(&w, &key, &value))
		if ((r = filter_item(&gap, key, value, value.at != member.at)) < 0)
			return r;
	return filter_close(&gap);
}

/* Hides the server's present name, but clients expect one: shows the reviewed name,
 * or the policy's name for the server. */
static int
show_reviewed(struct session *s, const struct pin_seen *seen, struct json info)
{
	size_t before = s->insert.len;
	int r;

	if (seen->pin != NULL)
		r = buf_put(&s->insert, policy_str(s->o.policy, seen->pin->body),
		    seen->pin->body.len);
	else
		r = buf_printf(&s->insert, "{\"name\":\"%s\",\"version\":\"unknown\"}",
		    policy_str(
			s->o.policy, s->o.server->name)); /* letters, digits, - _ */
	return r < 0 ? -ENOMEM : filter_replace(s, info, s->insert.len - before);
}

/*
 * Instructions and names reach the model and the user, so they are removed if they
 * differ from the reviewed ones. Capabilities are recorded and pass, because each
 * later request is judged by itself.
 */
int
filter_greeting(struct session *s, const struct json_message *m)
{
	static const struct {
		enum json_result member;
		enum sealed_pin_kind kind;
	} greeting[] = {
	    {RESULT_INSTRUCTIONS, PIN_INSTRUCTIONS},
	    {RESULT_SERVER_INFO, PIN_SERVER_INFO},
	    {RESULT_CAPABILITIES, PIN_CAPABILITIES},
	};
	struct pin_seen seen;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(greeting); i++) {
		struct json member = m->result[greeting[i].member];

		if (member.type == JSON_IS_NONE)
			continue;
		s->name[0] = '\0';
		r = as_pinned(s, greeting[i].kind, 0, member, &seen);
		if (r == 0 && greeting[i].kind == PIN_INSTRUCTIONS)
			r = cut_member(s, m->top[TOP_RESULT], member);
		else if (r == 0 && greeting[i].kind == PIN_SERVER_INFO)
			r = show_reviewed(s, &seen, member);
	}
	return r < 0 ? r : 0;
}

/*
 * 2026-07-28: every result contains the server's name. *ret_hidden: it, if it differs from
 * the reviewed one; else JSON_IS_NONE.
 * Fast path: the same bytes as last time are not judged again.
 */
int
filter_server_info(struct session *s, struct json meta, struct json *ret_hidden)
{
	struct named *last = &s->named;
	struct pin_seen seen;
	struct json info;
	bool known;
	int r = json_get(meta, META_SERVER_INFO, &info);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	known = info.len == last->len && memcmp(info.at, last->text, info.len) == 0;
	if (!known) {
		s->name[0] = '\0';
		r = as_pinned(s, PIN_SERVER_INFO, 0, info, &seen);
		if (r < 0)
			return r;
		last->shown = r > 0;
		last->len = 0;
		if (info.len <= sizeof(last->text)) {
			memcpy(last->text, info.at, info.len);
			last->len = info.len;
		}
	}
	if (!last->shown)
		*ret_hidden = info;
	return 0;
}

/* ---- capabilities ------------------------------------------------------- */

/* Stores the flag of the capability with this key; 0: none; -EEXIST. */
static int
capability_find(struct json key, uint32_t *ret_needs)
{
	const size_t n = ARRAY_LEN(mcp_capabilities);

	*ret_needs = 0;
	for (size_t i = 0; i < n; i++) {
		int is = json_key_is(key, mcp_capabilities[i].name);

		if (is < 0)
			return is;
		if (is > 0)
			*ret_needs = mcp_capabilities[i].needs;
	}
	return 0;
}

static int
filter_members(struct session *s, struct json object)
{
	struct filter_gap gap = {.cuts = &s->cuts};
	uint32_t offers = policy_offers(s->o.policy, s->o.server), seen = 0, needs;
	struct json key, value;
	struct json_walk w;
	int r;

	if (object.type != JSON_IS_OBJECT)
		return 0;
	json_walk(&w, object);
	while (json_next(&w, &key, &value)) {
		if ((r = capability_find(key, &needs)) < 0)
			return r;
		if ((seen & needs) != 0)
			return -EEXIST;
		seen |= needs;
		r = filter_item(&gap, key, value, (needs & ~offers) == 0);
		if (r < 0)
			return r;
	}
	return filter_close(&gap);
}

int
filter_capabilities(struct session *s, struct json capabilities)
{
	struct json tasks = {0}, requests = {0};
	int r;

	if ((r = filter_members(s, capabilities)) < 0)
		return r;
	/* 2025-11-25: the same names again, for requests as tasks. */
	r = json_get(capabilities, "tasks", &tasks);
	if (r == 0)
		r = json_get(tasks, "requests", &requests);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return filter_members(s, requests);
}

int
filter_meta(struct session *s, struct json meta)
{
	const uint32_t all =
	    SERVER_MCP_SAMPLING | SERVER_MCP_ELICITATION | SERVER_MCP_ROOTS;
	struct json capabilities;
	int r;

	if (meta.type != JSON_IS_OBJECT || policy_offers(s->o.policy, s->o.server) == all)
		return 0;
	r = json_get(meta, META_CAPABILITIES, &capabilities);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return filter_capabilities(s, capabilities);
}
