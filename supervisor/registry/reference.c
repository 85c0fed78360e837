/*
 * References to values, and lists of arguments, as JSON texts of a row (reference.h).
 */
#include "supervisor/registry/reference.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/lang/secret_path.h"
#include "shim/base/array.h"
#include "shim/base/log.h"
#include "policy/tokens/secret_shaped.h"

#define TEXT_MAX   4096 /* bytes of a value */
#define MEMBER_MAX 256  /* of a name in a message */
#define ARGS_MAX   1024

static const char name_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

/* ---- JSON ------------------------------------------------------------------------- */

int
json_of(const char *text, struct json *ret)
{
	struct json_message m;
	int r = json_scan((const uint8_t *)text, strlen(text), &m);

	if (r == 0)
		*ret = m.root;
	return r;
}

int
json_put_text(struct buf *out, const char *text)
{
	int r = buf_putc(out, '"');

	for (; r == 0 && *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			r = buf_printf(out, "\\%c", c);
		else if (c < 0x20)
			r = buf_printf(out, "\\u%04x", c);
		else
			r = buf_putc(out, c);
	}
	return r < 0 ? r : buf_putc(out, '"');
}

/* ---- references ----------------------------------------------------------------------- */

static const char *
wrong_env(struct json value, char text[TEXT_MAX])
{
	size_t len;

	if (json_text(value, text, TEXT_MAX, &len) < 0 || len == 0 ||
	    text[strspn(text, name_bytes)] != '\0')
		return "`env` needs the name of a variable";
	return NULL;
}

static const char *
wrong_file(struct json value, char text[TEXT_MAX])
{
	size_t len;

	if (json_text(value, text, TEXT_MAX, &len) < 0 || text[0] != '/')
		return "`file` needs an absolute path";
	return NULL;
}

static const char *
wrong_vault(struct json value, char text[TEXT_MAX])
{
	size_t len;

	if (json_text(value, text, TEXT_MAX, &len) < 0 ||
	    secret_path_wrong(text, len) != NULL)
		return "`vault` needs the path of a secret, such as team/github/token";
	return NULL;
}

static const char *
wrong_cmd(struct json value, char text[TEXT_MAX])
{
	struct json key, item;
	struct json_walk w;
	size_t n = 0, len;

	if (value.type != JSON_IS_ARRAY)
		return "`cmd` needs an array of arguments";
	json_walk(&w, value);
	while (json_next(&w, &key, &item)) {
		if (json_text(item, text, TEXT_MAX, &len) < 0)
			return "`cmd` needs an array of texts";
		if (n++ == 0 && text[0] != '/')
			return "`cmd` needs the absolute path of a program";
		if (secret_shaped(text))
			return "an argument of `cmd` looks like a secret";
	}
	return n == 0 ? "`cmd` needs the absolute path of a program" : NULL;
}

static const struct {
	const char *name, *typed; /* typed: the prefix on a command line, or NULL */
	const char *(*wrong)(struct json, char[TEXT_MAX]);
} kinds[] = {
    {"env", "env:", wrong_env},
    {"file", "file:", wrong_file},
    {"cmd", NULL, wrong_cmd},
    {"vault", "vault:", wrong_vault},
};

int
reference_check(const char *member, struct json reference, struct reason *why)
{
	static const char expected[] =
	    "expected a reference: an object with one of `env`, `file`, `cmd`, `vault`";
	const char *wrong = expected;
	struct json key, value, more;
	struct json_walk w;
	char text[TEXT_MAX];

	json_walk(&w, reference);
	if (reference.type == JSON_IS_OBJECT && json_next(&w, &key, &value))
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			if (json_key_is(key, kinds[i].name) == 1)
				wrong = kinds[i].wrong(value, text);
	if (wrong == NULL && json_next(&w, &key, &more))
		wrong = expected;
	if (wrong == NULL)
		return 0;
	return reason_set(why, -EINVAL, "%s: %s", member, wrong);
}

static int
value_check(const char *member, const char *name, struct json value, struct reason *why)
{
	char full[2 * MEMBER_MAX], shown[MEMBER_MAX], text[TEXT_MAX];
	size_t len;

	(void)log_quote(shown, sizeof(shown), name, strlen(name)); /* may be cut */
	(void)snprintf(full, sizeof(full), "%s.%s", member, shown);
	if (value.type != JSON_IS_STRING)
		return reference_check(full, value, why);
	if (json_text(value, text, sizeof(text), &len) < 0)
		return reason_set(why, -EINVAL, "%s: invalid or too long text", full);
	if (secret_shaped_value(name, text))
		return reason_set(why, -EPERM,
		    "%s looks like a secret: store it with `kennel secret set` and refer "
		    "to it",
		    full);
	return 0;
}

int
references_check(const char *member, struct json object, struct reason *why)
{
	struct json key, value;
	struct json_walk w;
	char name[MEMBER_MAX];
	size_t len;
	int r = 0;

	if (object.type != JSON_IS_OBJECT)
		return reason_set(why, -EINVAL, "%s: expected an object", member);
	json_walk(&w, object);
	while (r == 0 && json_next(&w, &key, &value)) {
		if (json_text(key, name, sizeof(name), &len) < 0 || len == 0 ||
		    name[strspn(name, name_bytes)] != '\0')
			r = reason_set(why, -EINVAL,
			    "%s: a name may have letters, digits, `_` and `-`", member);
		else
			r = value_check(member, name, value, why);
	}
	return r;
}

int
reference_typed(const char *typed, struct buf *out, struct reason *why)
{
	struct json value = {0};
	size_t before = out->len;
	int r;

	if (typed[0] == '{') {
		if (json_of(typed, &value) < 0)
			return reason_set(why, -EINVAL, "invalid JSON in a reference");
		return json_canon(value, out);
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *prefix = kinds[i].typed;

		/* file://... is a URL */
		if (prefix == NULL || strncmp(typed, prefix, strlen(prefix)) != 0 ||
		    strncmp(typed + strlen(prefix), "//", 2) == 0)
			continue;
		r = buf_printf(out, "{\"%s\":", kinds[i].name);
		if (r == 0)
			r = json_put_text(out, typed + strlen(prefix));
		if (r == 0)
			r = buf_putc(out, '}');
		if (r < 0)
			out->len = before;
		return r;
	}
	return json_put_text(out, typed);
}

/* ---- arguments ------------------------------------------------------------------------ */

int
args_read(const char *json, struct args *ret)
{
	struct json array = {0}, key, item;
	struct args a = {NULL, 0};
	struct json_walk w;
	size_t cap = 0, len;
	int r = 0;

	if (json != NULL && (json_of(json, &array) < 0 || array.type != JSON_IS_ARRAY))
		return -EINVAL;
	if (json != NULL) {
		json_walk(&w, array);
		while (json_next(&w, &key, &item))
			cap++;
	}
	if (cap > ARGS_MAX)
		return -EINVAL;
	a.v = calloc(cap + 1, sizeof(*a.v));
	if (a.v == NULL)
		return -ENOMEM;
	if (json != NULL)
		json_walk(&w, array);
	while (r == 0 && a.n < cap && json_next(&w, &key, &item)) {
		if ((a.v[a.n] = malloc(item.len + 1)) == NULL)
			r = -ENOMEM;
		else if (json_text(item, a.v[a.n++], item.len + 1, &len) < 0)
			r = -EINVAL;
	}
	if (r < 0)
		args_free(&a);
	else
		*ret = a;
	return r;
}

void
args_free(struct args *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	*a = (struct args){NULL, 0};
}
