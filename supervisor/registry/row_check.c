/*
 * Checks the texts of a row (row_check.h).
 */
#include "supervisor/registry/row_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/registry/reference.h"
#include "policy/tokens/secret_shaped.h"

#define SERVER_NAME_MAX 64
#define TEXT_LEN_MAX    4096
#define JSON_LEN_MAX    (64u << 10)

static const char name_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

bool
row_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= SERVER_NAME_MAX &&
	       name[strspn(name, name_bytes)] == '\0';
}

static int
shaped(const char *member, struct reason *why)
{
	return reason_set(why, -EPERM,
	    "`%s` looks like a secret: store it with `kennel secret set` and name it in "
	    "the "
	    "policy",
	    member);
}

/* ---- members ----------------------------------------------------------------------- */

static int
check_names(const struct server_row *row, struct reason *why)
{
	static const char wrong[] =
	    "invalid `%s`: use up to 64 letters, digits, `_` and `-`";

	if (row->name == NULL || !row_name_is_valid(row->name))
		return reason_set(why, -EINVAL, wrong, "name");
	if (row->policy_server == NULL || !row_name_is_valid(row->policy_server))
		return reason_set(why, -EINVAL, wrong, "policy_server");
	return 0;
}

static int
check_transport(const struct server_row *row, struct reason *why)
{
	bool http = row->transport != NULL && strcmp(row->transport, "http") == 0;

	if (!http && (row->transport == NULL || strcmp(row->transport, "stdio") != 0))
		return reason_set(why, -EINVAL, "`transport` must be stdio or http");
	if (http) {
		if (row->url == NULL || (strncmp(row->url, "https://", 8) != 0 &&
					    strncmp(row->url, "http://", 7) != 0))
			return reason_set(
			    why, -EINVAL, "`url` must begin with https:// or http://");
		if (row->command != NULL || row->args_json != NULL)
			return reason_set(why, -EINVAL,
			    "`command` and `args` are only allowed for the transport "
			    "stdio");
		return 0;
	}
	if (row->url != NULL || row->headers_json != NULL)
		return reason_set(why, -EINVAL,
		    "`url` and `headers` are only allowed for the transport http");
	if (row->command == NULL || row->command[0] == '\0')
		return reason_set(why, -EINVAL, "`command` is missing or empty");
	return 0;
}

/* One line without control bytes, shown to people and agents. */
static int
check_text(const char *member, const char *text, struct reason *why)
{
	if (text == NULL)
		return 0;
	if (strlen(text) > TEXT_LEN_MAX)
		return reason_set(
		    why, -EINVAL, "`%s` has more than %d bytes", member, TEXT_LEN_MAX);
	for (const char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return reason_set(
			    why, -EINVAL, "`%s` contains a control character", member);
	return secret_shaped(text) ? shaped(member, why) : 0;
}

static int
check_args(const struct server_row *row, struct reason *why)
{
	struct args a = {NULL, 0};
	char member[32];
	int r, at;

	if (row->args_json == NULL)
		return 0;
	r = -EINVAL;
	if (strlen(row->args_json) <= JSON_LEN_MAX)
		r = args_read(row->args_json, &a);
	if (r < 0)
		return reason_set(why, r, "`args` must be an array of texts");
	at = secret_shaped_args((const char *const *)a.v, a.n);
	args_free(&a);
	if (at < 0)
		return 0;
	(void)snprintf(member, sizeof(member), "args[%d]", at);
	return shaped(member, why);
}

static int
check_references(const char *member, const char *text, struct reason *why)
{
	struct json object;

	if (text == NULL)
		return 0;
	if (strlen(text) > JSON_LEN_MAX || json_of(text, &object) < 0)
		return reason_set(why, -EINVAL, "`%s` is invalid or too long", member);
	return references_check(member, object, why);
}

static int
check_auth(const struct server_row *row, struct reason *why)
{
	static const char *const types[] = {"none", "api_key", "bearer", "oauth2"};
	struct json reference;
	size_t i;

	for (i = 0; i < ARRAY_LEN(types); i++)
		if (row->auth_type != NULL && strcmp(types[i], row->auth_type) == 0)
			break;
	if (i == ARRAY_LEN(types))
		return reason_set(why, -EINVAL,
		    "`auth_type` must be one of none, api_key, bearer, oauth2");
	if (row->auth_ref == NULL)
		return i == 0 ? 0
			      : reason_set(why, -EINVAL,
				    "`auth_type` %s needs a reference to its value",
				    types[i]);
	if (i == 0)
		return reason_set(
		    why, -EINVAL, "a reference for authentication needs its `auth_type`");
	if (json_of(row->auth_ref, &reference) < 0)
		return reason_set(why, -EINVAL, "`auth` is invalid");
	return reference_check("auth", reference, why);
}

int
row_check(const struct server_row *row, struct reason *why)
{
	int r = check_names(row, why);

	if (r == 0)
		r = check_transport(row, why);
	if (r == 0)
		r = check_text("command", row->command, why);
	if (r == 0)
		r = check_text("url", row->url, why);
	if (r == 0)
		r = check_text("note", row->note, why);
	if (r == 0)
		r = check_args(row, why);
	if (r == 0)
		r = check_references("headers", row->headers_json, why);
	if (r == 0)
		r = check_references("env", row->env_json, why);
	return r < 0 ? r : check_auth(row, why);
}

/* ---- the member of a refusal -------------------------------------------------------- */

/* A reason begins with a member, as in "env.NAME: ...", or has it as its first text in
 * backquotes, as in "`args[2]` looks like a secret". */
const char *
row_member(const struct reason *why)
{
	static const char *const members[] = {"name", "transport", "command", "args",
	    "url", "headers", "auth_type", "auth", "env", "note", "enabled",
	    "policy_server", "created_gen"};
	const char *at = why->text;
	size_t len = strcspn(at, "`.:[");

	if (at[len] == '`') {
		at += len + 1;
		len = strcspn(at, "`.:[");
	}
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (strlen(members[i]) == len && memcmp(members[i], at, len) == 0)
			return members[i];
	return NULL;
}
