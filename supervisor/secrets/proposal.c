/*
 * secrets_propose_metadata and secrets_propose_new_path: an agent proposes what a manifest
 * should contain. Nothing is changed here: the person's process edits the file.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/lang/scalar.h"
#include "shim/base/array.h"
#include "supervisor/secrets/dialogs.h"

#define DATE_CAP 32

static const char *const members[] = {
    "description", "retrieval_url", "rotate_every_days", "expires_at", "pattern_id"};

static bool
members_known(struct json object, const char *name, struct secrets_answer *a)
{
	struct json key, value;
	struct json_walk w;
	bool is;

	json_walk(&w, object);
	while (json_next(&w, &key, &value)) {
		is = false;
		for (size_t i = 0; i < ARRAY_LEN(members); i++)
			is |= json_key_is(key, members[i]) == 1;
		if (!is) {
			fail(a, SECRETS_INVALID_ARGUMENTS,
			    "invalid arguments: `%s`: unknown field, expected one of "
			    "description, retrieval_url, rotate_every_days, expires_at, "
			    "pattern_id",
			    name);
			return false;
		}
	}
	return true;
}

/* A date, or null for none. */
static bool
expires_read(struct json object, struct meta_change *c, struct secrets_answer *a)
{
	char text[DATE_CAP];
	const char *date;
	struct json value;

	if (!argument_text(object, "expires_at", text, sizeof(text), &date, a))
		return false;
	c->has_expires = json_get(object, "expires_at", &value) == 0;
	c->expires = 0;
	if (date == NULL || (unit_date(date, &c->expires) == 0 && c->expires > 0))
		return true;
	fail(a, SECRETS_INVALID_ARGUMENTS,
	    "invalid arguments: `expires_at`: expected a date, YYYY-MM-DD, or null");
	return false;
}

static bool
text_read(struct json object, const char *name, char *out, size_t cap, bool *ret_has,
    struct secrets_answer *a)
{
	const char *text;
	struct json value;

	if (!argument_text(object, name, out, cap, &text, a))
		return false;
	*ret_has = text != NULL;
	if (text != NULL || json_get(object, name, &value) < 0)
		return true;
	fail(a, SECRETS_INVALID_ARGUMENTS,
	    "invalid arguments: `%s`: expected a string, found null", name);
	return false;
}

static bool
days_read(struct json object, struct meta_change *c, struct secrets_answer *a)
{
	struct json value;

	c->has_rotate_every = json_get(object, "rotate_every_days", &value) == 0;
	if (c->has_rotate_every && value.type == JSON_IS_NULL) {
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: `rotate_every_days`: expected an integer, found "
		    "null");
		return false;
	}
	/* one more than may be: what is too much is an error, and not cut */
	return argument_number(
	    object, "rotate_every_days", META_CHANGE_DAYS_MAX + 1, &c->rotate_every, a);
}

bool
secrets_change_read(struct json arguments, const char *name, struct meta_change *c,
    struct secrets_answer *a)
{
	struct json object;
	const char *why;
	int r = json_get(arguments, name, &object);

	if (r < 0) {
		fail(a, SECRETS_INVALID_ARGUMENTS, "invalid arguments: %s field `%s`",
		    r == -EEXIST ? "duplicate" : "missing", name);
		return false;
	}
	if (object.type != JSON_IS_OBJECT) {
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: `%s`: expected an object, found %s", name,
		    json_type_name(object.type));
		return false;
	}
	if (!members_known(object, name, a) ||
	    !text_read(object, "description", c->description, sizeof(c->description),
		&c->has_description, a) ||
	    !text_read(object, "retrieval_url", c->retrieval_url,
		sizeof(c->retrieval_url), &c->has_retrieval_url, a) ||
	    !text_read(object, "pattern_id", c->pattern, sizeof(c->pattern),
		&c->has_pattern, a) ||
	    !days_read(object, c, a) || !expires_read(object, c, a))
		return false;
	c->has_pattern =
	    c->has_pattern && c->pattern[0] != '\0'; /* "": none is proposed */
	why = meta_change_wrong(c);
	if (why != NULL)
		fail(a, SECRETS_INVALID_ARGUMENTS, "invalid arguments: %s", why);
	return why == NULL;
}

void
secrets_propose_metadata(struct secrets_approvals *all, const struct secrets_context *c,
    struct json arguments, struct secrets_answer *a)
{
	char path[SECRET_PATH_MAX + 1];
	struct asked u = {.kind = SECRETS_METADATA,
	    .path = path,
	    .ttl_s = REQUEST_TTL_S,
	    .manifests = c->manifests};
	struct metas m;

	if (!arguments_object(&arguments, a) ||
	    !argument_path(arguments, "path", path, a) ||
	    !secrets_change_read(arguments, "fields", &u.change, a) ||
	    !inventory_read(c, &m, a))
		return;
	u.meta = inventory_find(&m, path, a);
	if (u.meta != NULL && !meta_change_matters(&u.change, u.meta))
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: `fields` changes nothing: the manifest already "
		    "contains it");
	else if (u.meta != NULL) {
		dialogs_holders(all, &u);
		dialogs_ask(all, &u, a);
	}
	metas_free(&m);
}

void
secrets_propose_new_path(struct secrets_approvals *all, const struct secrets_context *c,
    struct json arguments, struct secrets_answer *a)
{
	char path[SECRET_PATH_MAX + 1];
	struct asked u = {.kind = SECRETS_NEW_PATH,
	    .path = path,
	    .ttl_s = REQUEST_TTL_S,
	    .manifests = c->manifests};
	enum meta_error why;
	struct metas m;

	if (!arguments_object(&arguments, a) ||
	    !argument_path(arguments, "suggested_path", path, a) ||
	    !secrets_change_read(arguments, "metadata", &u.change, a) ||
	    !inventory_read(c, &m, a))
		return;
	u.meta = metas_find(&m, path, &why); /* NULL: it is new */
	dialogs_holders(all, &u);
	dialogs_ask(all, &u, a);
	metas_free(&m);
}
