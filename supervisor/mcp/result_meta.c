/*
 * `_meta` of a server's results, and `data` of its errors. What kennel says there begins
 * with "kennel/", or is "kennel", and only kennel says it: a server's member of such a name
 * is left out. The result of a call that a person was asked about gets a marker:
 *
 *	"_meta":{"kennel/approval":{"requirement":"confirm","answer":"once"}}
 *
 * Process: kennel. Trusts no answer.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/json/json.h"
#include "supervisor/mcp/private.h"

#define OURS    "kennel/"
#define CUT_MAX 8 /* each moves the cuts after it */

static const char *const of_meta[] = {"kennel/approval", "kennel/refusal", NULL};
static const char *const of_data[] = {"kennel", NULL};

/* Readers may compare keys without case. */
static bool
is_ours(struct json key, const char *const *names)
{
	char decoded[JSON_KEY_MAX];
	const char *text;
	size_t len;

	text = json_key_text(&key, decoded, &len);
	if (text == NULL)
		return false;
	if (len >= strlen(OURS) && memcmp(text, OURS, strlen(OURS)) == 0)
		return true;
	for (size_t i = 0; names[i] != NULL; i++)
		if (json_folds(text, len, names[i]))
			return true;
	return false;
}

static bool
stays(struct json key, struct json value, struct json hidden, const char *const *names)
{
	return value.at != hidden.at && !is_ours(key, names);
}

/* Cuts kennel's names and the hidden member: 0, -E2BIG, -ENOMEM. */
static int
cut_members(
    struct session *s, struct json object, struct json hidden, const char *const *names)
{
	struct filter_gap gap = {.cuts = &s->cuts};
	struct json key, value;
	struct json_walk w;
	int r = 0, n = 0;

	if (object.type != JSON_IS_OBJECT)
		return 0;
	json_walk(&w, object);
	while (r == 0 && json_next(&w, &key, &value)) {
		bool stay = stays(key, value, hidden, names);

		n += !stay;
		r = n > CUT_MAX ? -E2BIG : filter_item(&gap, key, value, stay);
	}
	return r < 0 ? r : filter_close(&gap);
}

static bool
any_stays(struct json object, struct json hidden)
{
	struct json key, value;
	struct json_walk w;

	json_walk(&w, object);
	while (json_next(&w, &key, &value))
		if (stays(key, value, hidden, of_meta))
			return true;
	return false;
}

/* Inserts the marker as the first member of this object; meta: it is `_meta` itself. */
static int
mark(
    struct session *s, const struct call *call, struct json object, bool meta, bool comma)
{
	static const char *const answer[] = {
	    [CALL_AGREED_ONCE] = "once", [CALL_AGREED_SESSION] = "session"};
	size_t was = s->insert.len;
	int r = buf_printf(&s->insert,
	    "%s\"kennel/approval\":{\"requirement\":\"confirm\",\"answer\":\"%s\"}%s%s",
	    meta ? "" : "\"_meta\":{", answer[call->agreed], meta ? "" : "}",
	    comma ? "," : "");

	return r < 0 ? r : filter_insert(s, object.at + 1, s->insert.len - was);
}

/* This member of a member, if both are there: 0, -EEXIST. */
static int
member_of(struct json object, const char *outer, const char *inner, struct json *ret)
{
	struct json at = {0};
	int r = json_get(object, outer, &at);

	*ret = (struct json){0};
	if (r == 0)
		r = json_get(at, inner, ret); /* -ENOENT: no object */
	return r == -ENOENT ? 0 : r;
}

/* A task carries the result of its call, or the error, inside. */
static int
cut_outcome(struct session *s, struct json task)
{
	static const struct json none = {.at = NULL};
	struct json meta = {0}, data = {0};
	int r = member_of(task, "result", "_meta", &meta);

	if (r == 0)
		r = cut_members(s, meta, none, of_meta);
	if (r == 0)
		r = member_of(task, "error", "data", &data);
	return r < 0 ? r : cut_members(s, data, none, of_data);
}

static bool
of_task(const struct method *method)
{
	return method != NULL && (method->flags & METHOD_TASK) != 0;
}

static int
cut_error(struct session *s, const struct json_message *m)
{
	static const struct json none = {.at = NULL};
	struct json data = {0};
	int r = json_get(m->top[TOP_ERROR], "data", &data);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return cut_members(s, data, none, of_data);
}

int
notification_meta(
    struct session *s, const struct method *method, const struct json_message *m)
{
	return of_task(method) ? cut_outcome(s, m->top[TOP_PARAMS]) : 0;
}

int
result_meta(struct session *s, const struct call *call, const struct json_message *m)
{
	struct json result = m->top[TOP_RESULT], meta = m->result[RESULT_META];
	struct json hidden = {.at = NULL}, key, value;
	struct json_walk w;
	int r = 0;

	if (result.type != JSON_IS_OBJECT)
		return cut_error(s, m);
	if (meta.type == JSON_IS_OBJECT)
		r = filter_server_info(s, meta, &hidden);
	if (r == 0 && of_task(call->known))
		r = cut_outcome(s, result);
	if (r < 0)
		return r;
	if (meta.type == JSON_IS_OBJECT) {
		/* before the cuts, which may begin at the same byte */
		if (call->agreed != CALL_NOT_ASKED)
			r = mark(s, call, meta, true, any_stays(meta, hidden));
		return r < 0 ? r : cut_members(s, meta, hidden, of_meta);
	}
	/* `_meta` is an object, or it is not there */
	if (call->agreed == CALL_NOT_ASKED || meta.type != JSON_IS_NONE)
		return 0;
	json_walk(&w, result);
	return mark(s, call, result, false, json_next(&w, &key, &value));
}
