/*
 * Defines what an approval of a call covers: the method, and every member of params as
 * the server gets it, except those that do not affect what the server does. The same
 * form is shown and hashed, so the two cannot differ.
 *
 * kennel issues no requestState: one in params comes from the agent or the server,
 * and counts like any other member, as does its inputResponses.
 */
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"

static bool
key_is(struct json key, const char *name)
{
	return json_key_is(key, name) == 1;
}

/* ---- what an approval leaves out ------------------------------------------------- */

#define STATE_MAX   512  /* bytes that W3C Trace Context asks to propagate */
#define BAGGAGE_MAX 8192 /* the same of W3C Baggage */

/* Text of a member, as written: one with an escape has none of these shapes. */
struct plain {
	const char *at;
	size_t len;
};

static size_t
span_of(const struct plain *t, size_t from, const char *set)
{
	size_t n = 0;

	while (from + n < t->len && t->at[from + n] != '\0' &&
	       strchr(set, t->at[from + n]) != NULL)
		n++;
	return n;
}

/* VERSION-TRACE-PARENT-FLAGS in lower-case hex. */
static bool
is_traceparent(const struct plain *t)
{
	static const size_t digits[] = {2, 32, 16, 2};
	size_t at = 0;

	if (t->len != 55)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(digits); i++) {
		if (span_of(t, at, "0123456789abcdef") != digits[i])
			return false;
		at += digits[i];
		if (at < t->len && t->at[at++] != '-')
			return false;
	}
	return true;
}

/* KEY=VALUE, divided by commas; no value has a blank inside, a comma or a quotation mark.
 * So a sentence or a command does not fit. */
static bool
is_list(const struct plain *t, size_t len_max)
{
	static const char key[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_-*/@.!#$%&'+^`|~";
	size_t at = 0, n;

	if (t->len > len_max)
		return false;
	while (at < t->len) {
		at += span_of(t, at, " ");
		n = span_of(t, at, key);
		if (n == 0 || at + n == t->len || t->at[at + n] != '=')
			return false;
		at += n + 1;
		while (at < t->len && t->at[at] > ' ' && t->at[at] <= '~' &&
		       strchr(",\"\\", t->at[at]) == NULL)
			at++;
		at += span_of(t, at, " ");
		if (at < t->len && t->at[at++] != ',')
			return false;
	}
	return t->len > 0;
}

static bool
is_tracestate(const struct plain *t)
{
	return is_list(t, STATE_MAX);
}

static bool
is_baggage(const struct plain *t)
{
	return is_list(t, BAGGAGE_MAX);
}

/* A name that a program made, without a blank or a sign of a command. */
static bool
is_token(const struct plain *t)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_-.:/+=@#~";

	return t->len + 2 <= MCP_TOKEN_MAX && span_of(t, 0, set) == t->len;
}

/* Members of _meta that differ from call to call and do not affect the server's actions,
 * if they have the shape that their specification gives them. */
static const struct {
	const char *name;
	bool number; /* or a number */
	bool (*is_shaped)(const struct plain *);
} exempt[] = {
    {"progressToken", true, is_token},
    {"traceparent", false, is_traceparent},
    {"tracestate", false, is_tracestate},
    {"baggage", false, is_baggage},
};

/* meta: it contains this member; where another one has its name, both count. */
static bool
is_exempt(struct json meta, struct json key, struct json value)
{
	struct plain text = {(const char *)value.at + 1, value.len - 2};
	struct json only;
	size_t i = 0;

	while (i < ARRAY_LEN(exempt) && !key_is(key, exempt[i].name))
		i++;
	if (i == ARRAY_LEN(exempt) || json_get(meta, exempt[i].name, &only) < 0)
		return false;
	if (value.type == JSON_IS_NUMBER)
		return exempt[i].number && value.len <= MCP_TOKEN_MAX;
	return value.type == JSON_IS_STRING && memchr(text.at, '\\', text.len) == NULL &&
	       exempt[i].is_shaped(&text);
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
		bool keep = !is_exempt(meta, key, value);

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

/* Appends params without exempt members and without this member (NULL: with all
 * others). */
static int
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

/* The same in canonical form: 1; 0: it has none, and is as it came. */
static int
covered_canon(struct json params, const char *without, struct buf *part, struct buf *out)
{
	struct json_message m;
	int r = covered_params(params, without, part);

	if (r < 0)
		return r;
	if (json_scan(part->data, part->len, &m) < 0)
		bug("cuts that leave no JSON");
	r = json_canon(m.root, out);
	return r == 0 ? 1 : r == -EEXIST || r == -EILSEQ ? 0 : r;
}

int
covered_shown(
    struct json params, const char *without, struct buf *out, bool *ret_ambiguous)
{
	struct buf part;
	int r;

	buf_init(&part, MCP_MESSAGE_MAX);
	r = covered_canon(params, without, &part, out);
	*ret_ambiguous = r == 0;
	if (r == 0)
		r = json_plain((struct json){part.data, part.len, params.type}, out);
	buf_free(&part);
	return r < 0 ? r : 0;
}

int
covered_digest(const struct covered *c, uint8_t ret[32])
{
	struct buf what, part;
	int r;

	buf_init(&part, MCP_MESSAGE_MAX);
	buf_init(&what, (size_t)2 * MCP_MESSAGE_MAX);
	r = buf_printf(&what, "%d %s %zu %s %zu %s ", c->kind, c->method,
	    strlen(c->server), c->server, strlen(c->name), c->name);
	if (r == 0)
		r = covered_canon(c->params, NULL, &part, &what);
	if (r == 0) /* its meaning is ambiguous: include each byte */
		r = buf_put(&what, part.data, part.len);
	if (r >= 0)
		mcp_digest(what.data, what.len, ret);
	buf_free(&part);
	buf_free(&what);
	return r < 0 ? r : 0;
}
