/*
 * Only what a policy can have is taken: a credential that the client gets elsewhere, from
 * its environment or from an issuer, would be missing after the import.
 */
#include "supervisor/import/remote.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "policy/lang/remote_url.h"
#include "shim/base/array.h"
#include "policy/tokens/secret_shaped.h"
#include "policy/tokens/value_reference.h"
#include "supervisor/import/client_syntax.h"

static const char *const url_keys[] = {"url", "serverUrl", "httpUrl", "uri"};
static const char *const header_keys[] = {"headers", "http_headers"};

bool
remote_is(const struct config_tree *t, size_t object)
{
	size_t i;

	for (size_t k = 0; k < ARRAY_LEN(url_keys); k++)
		if (config_get(t, object, url_keys[k], &i) != CONFIG_ABSENT)
			return true;
	return false;
}

static bool
one_of(const struct config_tree *t, const char *key, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (config_key_is(t, key, list[i]))
			return true;
	return false;
}

/* ${VAR}, $VAR, ${env:VAR}, ${input:id}, {env:VAR}, {file:PATH} */
static bool
is_filled_in(const char *value)
{
	return strchr(value, '$') != NULL || strstr(value, "{env:") != NULL ||
	       strstr(value, "{file:") != NULL;
}

/* ---- the URL ----------------------------------------------------------------- */

static bool
is_loopback(const struct remote_url *url)
{
	const char *h = url->target;

	return strncasecmp(h, "localhost:", 10) == 0 || strncmp(h, "127.", 4) == 0 ||
	       strncmp(h, "[::1]:", 6) == 0;
}

/* Does a part of the path or the query look like a secret? */
static bool
has_secret(const char *url)
{
	char part[REMOTE_URL_MAX + 1];
	size_t len;

	for (url = strstr(url, "//") + 2; *url != '\0'; url += len + (url[len] != '\0')) {
		char *is;

		len = strcspn(url, "/?&;");
		(void)memcpy(part, url, len);
		part[len] = '\0';
		is = strchr(part, '=');
		if (secret_shaped(is == NULL ? part : is + 1))
			return true;
		if (is == NULL)
			continue;
		*is = '\0';
		if (secret_shaped_value(part, is + 1))
			return true;
	}
	return false;
}

static const char *
take_url(const struct config_tree *t, struct entry *e)
{
	const struct config_node *n = &t->node[e->url];
	struct remote_url url;
	const char *why;

	if (n->type != NODE_STRING || n->text == NULL)
		return "its URL is not a plain text";
	if (is_filled_in(n->text))
		return "its client fills in a part of the URL: write the URL there";
	why = remote_url_read(n->text, strlen(n->text), &url);
	if (why != NULL)
		return why;
	e->loopback = is_loopback(&url);
	if (!url.tls && !e->loopback)
		return "its URL is http://, which kennel uses to loopback only: use "
		       "https://";
	if (has_secret(n->text))
		return "its URL has what looks like a secret: get a URL without one from "
		       "its operator";
	e->word[e->word_n++] = n->text;
	return NULL;
}

void
remote_origin(const struct entry *e, char out[REMOTE_ORIGIN_CAP])
{
	struct remote_url url = {.tls = true};

	(void)remote_url_read(e->word[0], strlen(e->word[0]), &url); /* it was valid */
	(void)snprintf(out, REMOTE_ORIGIN_CAP, "%s://%s", url.tls ? "https" : "http",
	    url.target); /* fits */
}

void
remote_shown(const char *text, char out[REMOTE_SHOWN_CAP])
{
	struct remote_url url = {.tls = true};
	bool valid = remote_url_read(text, strlen(text), &url) == NULL;

	if (!valid || is_filled_in(text))
		(void)snprintf(out, REMOTE_SHOWN_CAP, "URL"); /* fits */
	else if (has_secret(text) || strlen(text) >= REMOTE_SHOWN_CAP)
		(void)snprintf(out, REMOTE_SHOWN_CAP, "%s://%s/...",
		    url.tls ? "https" : "http", url.target); /* fits */
	else
		(void)snprintf(out, REMOTE_SHOWN_CAP, "%s", text); /* fits */
}

/* ---- the transport ----------------------------------------------------------- */

static bool
is_http(const char *type)
{
	static const char *const http[] = {
	    "http", "streamableHttp", "streamable_http", "streamable-http", "remote"};

	for (size_t i = 0; i < ARRAY_LEN(http); i++)
		if (strcmp(type, http[i]) == 0)
			return true;
	return false;
}

static const char *
take_type(const struct config_tree *t, struct entry *e)
{
	static const char sse[] = "its transport is HTTP+SSE of 2024-11-05, which kennel "
				  "does not have: get the URL for Streamable HTTP from "
				  "its operator";
	const char *url = e->word[0], *type;
	size_t len = strcspn(url, "?");

	if (e->type == TREE_NONE) {
		/* most clients try both */
		return len > 4 && strncmp(url + len - 4, "/sse", 4) == 0 ? sse : NULL;
	}
	type = t->node[e->type].type == NODE_STRING ? t->node[e->type].text : NULL;
	if (type != NULL && strcmp(type, "sse") == 0)
		return sse;
	if (type == NULL || !is_http(type))
		return "its `type` is unknown: expected \"http\"";
	return NULL;
}

/* ---- the headers ------------------------------------------------------------- */

/* Not the value, but a text in its place. NULL: its client fills it in, or why it is left. */
static const char *
judge_reference(const struct client_file *f, const char *value)
{
	static const char left[] = "its client fills in a header: write a policy with "
				   "`remote` and `auth`, kennel-policy(5)";
	const char *given = NULL;
	size_t len = 0;
	enum value_reference is = value_reference(value, &given, &len);

	if (is == VALUE_PLACEHOLDER)
		return "a header has a placeholder: write its value";
	if (is == VALUE_MANAGER)
		return "a header has a reference to a secret manager, which its client "
		       "does not ask: write a policy with `remote`, `auth` and `secret "
		       "... from cmd`, kennel-policy(5)";
	/* a part of it, with a default, or one that an edit would have to escape */
	if (is == VALUE_PLAIN || given != NULL || strpbrk(value, "\"\\") != NULL ||
	    !remote_value_is_plain(value, strlen(value)))
		return left;
	if (!client_fills_in(f->client, value))
		return "a header has a reference that its client does not fill in";
	/* a configuration must not become a grant: the project names the host, too */
	if (f->scope == SCOPE_PROJECT)
		return "a project's file sends a value of yours to its URL: review it, "
		       "and write a policy with `remote`, `auth` and `secret ... from "
		       "env`, kennel-policy(5)";
	return NULL;
}

/* The one credential: TOKEN, or the value of a header that the entry names. */
static const char *
take_credential(const struct client_file *f, struct entry *e, const char *name,
    const char *value, bool reference)
{
	bool bearer = strcasecmp(name, "authorization") == 0 &&
		      strncasecmp(value, "bearer ", 7) == 0;
	const char *why;

	if (e->variable_n > 0)
		return "it has two headers with credentials: a policy has one `auth`";
	if (bearer)
		value += 7 + strspn(value + 7, " ");
	why = reference ? judge_reference(f, value) : NULL;
	if (why != NULL)
		return why;
	for (const char *p = value; *p != '\0' && !reference; p++)
		if (*p <= ' ' || *p >= 0x7f)
			return "its credential has a space, or a character that is not "
			       "ASCII: a policy cannot send it";
	if (strlen(value) < 4 && !reference)
		return "its credential is shorter than 4 characters: a policy cannot "
		       "redact it";
	e->key_header = bearer ? NULL : name;
	e->variable[e->variable_n++] =
	    (struct entry_variable){.name = bearer ? "TOKEN" : "API_KEY",
		.value = reference ? NULL : value,
		.moved = reference ? value : NULL,
		.note = reference ? "is filled in by its client" : NULL,
		.node = TREE_NONE,
		.secret = true,
		.clear = !reference};
	e->clear_n += !reference;
	return NULL;
}

static const char *
take_header(
    const struct client_file *f, struct entry *e, const char *name, const char *value)
{
	bool reference = is_filled_in(value) || client_has_reference(f->client, value);
	bool secret =
	    reference ? secret_shaped_name(name) : secret_shaped_value(name, value);
	const char *why;

	if (reference && !secret)
		return "its client fills in a header: write a policy with `remote` and "
		       "`auth`, kennel-policy(5)";
	why = remote_header_refused(name, strlen(name), secret);
	if (why != NULL)
		return why;
	if (secret)
		return take_credential(f, e, name, value, reference);
	if (!remote_value_is_plain(value, strlen(value)) ||
	    strlen(value) > REMOTE_VALUE_MAX)
		return "a header is empty, longer than 1024 bytes, or has a character "
		       "that is not ASCII: a policy cannot have it";
	for (size_t i = 1; i < e->word_n; i += 2)
		if (strcasecmp(e->word[i], name) == 0)
			return "a header is defined twice: remove one of them";
	if (e->word_n + 2 > ENTRY_WORDS_MAX)
		return "it has too many headers";
	e->word[e->word_n++] = name;
	e->word[e->word_n++] = value;
	return NULL;
}

static const char *
take_headers(const struct config_tree *t, const struct client_file *f, struct entry *e)
{
	const struct config_node *n;
	const char *why = NULL;

	if (e->headers == TREE_NONE)
		return NULL;
	if (t->node[e->headers].type != NODE_OBJECT)
		return "its headers are not an object";
	for (size_t i = t->node[e->headers].first; why == NULL && i != TREE_NONE;
	     i = n->next) {
		n = &t->node[i];
		if (n->key == NULL || n->type != NODE_STRING || n->text == NULL)
			return "a header is not a plain text";
		why = take_header(f, e, n->key, n->text);
	}
	return why;
}

/* ---- the entry --------------------------------------------------------------- */

/* "oauth": false, null: the client logs in nowhere. */
static bool
is_off(const struct config_tree *t, size_t node)
{
	const char *text = t->node[node].text;

	return t->node[node].type == NODE_OTHER && text != NULL &&
	       (strcasecmp(text, "false") == 0 || strcasecmp(text, "null") == 0);
}

/* Sets where a member of the entry is. NULL, or why it cannot be had. */
static const char *
take_member(const struct config_tree *t, struct entry *e, const char *key, size_t node)
{
	static const char twice[] = "it has a duplicate key, or two of one meaning";
	size_t *at = NULL;

	if (one_of(t, key, url_keys, ARRAY_LEN(url_keys)))
		at = &e->url;
	else if (one_of(t, key, header_keys, ARRAY_LEN(header_keys)))
		at = &e->headers;
	else if (config_key_is(t, key, "type"))
		at = &e->type;
	if (at != NULL && *at != TREE_NONE)
		return twice;
	if (at != NULL)
		*at = node;
	else if (config_key_is(t, key, "command") || config_key_is(t, key, "cmd") ||
		 config_key_is(t, key, "args"))
		return "it has a command and a URL: remove one of them";
	else if (strcasestr(key, "auth") != NULL && !is_off(t, node))
		return "its client logs in (OAuth): write a policy with `auth oauth2`, "
		       "kennel-policy(5), then run `kennel server login`";
	else if (strcasestr(key, "header") != NULL || strcasestr(key, "token") != NULL)
		return "its credential is not in this file: write a policy with `remote` "
		       "and `auth`, kennel-policy(5)";
	return NULL;
}

/* a.url = "x" of TOML: a line of the command would need the same prefix. */
static bool
is_dotted(const struct config_tree *t, size_t i)
{
	const struct config_node *n = &t->node[i];

	return t->dialect == DIALECT_TOML && n->end != 0 &&
	       memchr(t->bytes + n->from, '.', strcspn(t->bytes + n->from, "=\n")) !=
		   NULL;
}

static bool
has_variables(const struct config_tree *t, size_t object)
{
	static const char *const key[] = {"env", "envs", "environment"};
	size_t i;

	for (size_t k = 0; k < ARRAY_LEN(key); k++)
		if (config_get(t, object, key[k], &i) != CONFIG_ABSENT)
			return true;
	return false;
}

const char *
remote_take(const struct config_tree *t, const struct client_file *f, size_t object,
    struct entry *e)
{
	const char *why = NULL;

	for (size_t i = t->node[object].first; why == NULL && i != TREE_NONE;
	     i = t->node[i].next)
		if (t->node[i].key != NULL)
			why = take_member(t, e, t->node[i].key, i);
	if (why == NULL && is_dotted(t, e->url))
		why = "its URL has a dotted key: write it in a table of its own";
	if (why == NULL)
		why = take_url(t, e);
	if (why == NULL)
		why = take_type(t, e);
	if (why == NULL)
		why = take_headers(t, f, e);
	/* the reference moves to a variable of the entry */
	if (why == NULL && e->variable_n > 0 && e->variable[0].moved != NULL &&
	    has_variables(t, object))
		why = "it has a URL and variables: remove one of them";
	return why;
}
