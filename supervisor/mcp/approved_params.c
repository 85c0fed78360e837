/*
 * Defines what an approval of a call covers: every member of params as the server
 * gets it, except those that do not affect what the server does. The same bytes are
 * shown and hashed, so the two cannot differ.
 *
 * kennel issues no requestState: one in params comes from the agent or the server,
 * and counts like any other member, as does its inputResponses.
 */
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"

/* Members of _meta that differ from call to call and do not affect the server's
 * actions. */
static const char *const exempt[] = {
    "progressToken", "traceparent", "tracestate", "baggage"};

static bool
key_is(struct json key, const char *name)
{
	return json_key_is(key, name) == 1;
}

static bool
is_exempt(struct json key)
{
	for (size_t i = 0; i < ARRAY_LEN(exempt); i++)
		if (key_is(key, exempt[i]))
			return true;
	return false;
}

/* Omits exempt members; *ret_left: other members remain. */
static int
cut_meta(struct cuts *cuts, struct json meta, bool *ret_left)
{
	struct filter_gap gap = {.cuts = cuts};
	struct json key, value;
	struct json_walk w;
	int r;

	*ret_left = meta.type != JSON_IS_OBJECT;
	json_walk(&w, meta);
	while (json_next(&w, &key, &value)) {
		bool keep = !is_exempt(key);

		*ret_left = *ret_left || keep;
		if ((r = filter_item(&gap, key, value, keep)) < 0)
			return r;
	}
	return filter_close(&gap);
}

static int
cut_params(struct cuts *cuts, struct json params, const char *without)
{
	struct filter_gap gap = {.cuts = cuts};
	struct json key, value;
	struct json_walk w;
	size_t before;
	bool keep;
	int r = 0;

	json_walk(&w, params);
	while (r == 0 && json_next(&w, &key, &value)) {
		before = cuts->n;
		keep = without == NULL || !key_is(key, without);
		if (key_is(key, "_meta")) {
			r = cut_meta(cuts, value, &keep);
			if (!keep) /* omit all of it */
				cuts->n = before;
		}
		if (r == 0)
			r = filter_item(&gap, key, value, keep);
	}
	return r < 0 ? r : filter_close(&gap);
}

int
covered_params(struct json params, const char *without, struct buf *out)
{
	const uint8_t *at = params.at, *end = params.at + params.len;
	struct cuts cuts = {.n = 0};
	int r = cut_params(&cuts, params, without);

	for (size_t i = 0; r == 0 && i < cuts.n; i++) {
		r = buf_put(out, at, (size_t)(cuts.cut[i].from - at));
		at = cuts.cut[i].to;
	}
	if (r == 0)
		r = buf_put(out, at, (size_t)(end - at));
	free(cuts.cut);
	return r;
}

bool
covered_whole(struct json root)
{
	static const char *const known[] = {"jsonrpc", "id", "method", "params"};
	struct json key, value;
	struct json_walk w;
	size_t i;

	json_walk(&w, root);
	while (json_next(&w, &key, &value)) {
		for (i = 0; i < ARRAY_LEN(known); i++)
			if (key_is(key, known[i]))
				break;
		if (i == ARRAY_LEN(known))
			return false;
	}
	return true;
}

int
covered_digest(const struct covered *c, uint8_t ret[32])
{
	struct buf what, part;
	struct json_message m;
	int r;

	buf_init(&part, MCP_MESSAGE_MAX);
	buf_init(&what, (size_t)2 * MCP_MESSAGE_MAX);
	r = covered_params(c->params, NULL, &part);
	if (r == 0)
		r = buf_printf(&what, "%d %zu %s %zu %s ", c->kind, strlen(c->server),
		    c->server, strlen(c->name), c->name);
	if (r == 0 && json_scan(part.data, part.len, &m) < 0)
		bug("cuts that leave no JSON");
	if (r == 0) {
		r = json_canon(m.root, &what);
		if (r == -EEXIST || r == -EILSEQ) /* its meaning is ambiguous: */
			r = buf_put(&what, part.data, part.len); /* include each byte */
	}
	if (r == 0)
		mcp_digest(what.data, what.len, ret);
	buf_free(&part);
	buf_free(&what);
	return r;
}
