/*
 * Arguments of the secrets tools, and the errors that name what is wrong with them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/lang/secret_path.h"
#include "supervisor/secrets/private.h"

#define ANSWER_MAX  (4u << 20)
#define NUMBER_CAP  64 /* bytes of a number */
#define VERSION_CAP 17 /* bytes of a version that an error repeats */

/* ---- answers ------------------------------------------------------------------ */

void
secrets_answer_init(struct secrets_answer *a)
{
	*a = (struct secrets_answer){.failed = false};
	buf_init(&a->structured, ANSWER_MAX);
	buf_init(&a->text, ANSWER_MAX);
}

void
secrets_answer_free(struct secrets_answer *a)
{
	buf_free(&a->structured);
	buf_free(&a->text);
}

void
secrets_fail(struct secrets_answer *a, const struct secrets_error *e)
{
	buf_clear(&a->structured);
	buf_clear(&a->text);
	a->failed = true;
	a->fault = e->fault;
	if (buf_puts(&a->text, e->text) < 0 || secrets_reply_error(&a->structured, e) < 0)
		a->no_memory = true;
}

void
fail(struct secrets_answer *a, enum secrets_fault fault, const char *format, ...)
{
	struct secrets_error e = {.fault = fault};
	va_list args;

	va_start(args, format);
	(void)vsnprintf(e.text, sizeof(e.text), format, args); /* may be cut */
	va_end(args);
	secrets_fail(a, &e);
}

void
fail_path(struct secrets_answer *a, enum secrets_fault fault, const char *path)
{
	bool free = fault == SECRETS_APPROVAL_NOT_REQUIRED;
	const char *about = free ? " is used without asking" : "";
	struct secrets_error e = {.fault = fault};

	(void)snprintf(e.path, sizeof(e.path), "%s", path); /* a path: fits */
	(void)snprintf(e.text, sizeof(e.text), "%s: %s%s", secrets_fault_name(fault),
	    path, about); /* fits */
	if (fault == SECRETS_DENIED)
		(void)snprintf(e.text, sizeof(e.text),
		    "denied: a person refused %s in this session; only a person can "
		    "reopen it: kennel approve reopen %s",
		    path, path); /* fits */
	secrets_fail(a, &e);
}

/* ---- members -------------------------------------------------------------------- */

bool
arguments_object(struct json *arguments, struct secrets_answer *a)
{
	static const uint8_t nothing[] = "{}";

	if (arguments->type == JSON_IS_NONE || arguments->type == JSON_IS_NULL)
		*arguments = (struct json){nothing, 2, JSON_IS_OBJECT};
	if (arguments->type == JSON_IS_OBJECT)
		return true;
	fail(a, SECRETS_INVALID_ARGUMENTS,
	    "invalid arguments: expected an object, found %s",
	    json_type_name(arguments->type));
	return false;
}

/* The member; JSON_IS_NONE: it is absent or null. False: an error was written. */
static bool
member(
    struct json arguments, const char *name, struct json *ret, struct secrets_answer *a)
{
	int r = json_get(arguments, name, ret);

	if (r == -EEXIST) {
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: duplicate field `%s`", name);
		return false;
	}
	if (r < 0 || ret->type == JSON_IS_NULL)
		ret->type = JSON_IS_NONE;
	return true;
}

bool
argument_text(struct json arguments, const char *name, char *out, size_t cap,
    const char **ret, struct secrets_answer *a)
{
	struct json value;
	size_t len;
	int r;

	*ret = NULL;
	if (!member(arguments, name, &value, a))
		return false;
	if (value.type == JSON_IS_NONE)
		return true;
	if (value.type != JSON_IS_STRING) {
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: `%s`: expected a string, found %s", name,
		    json_type_name(value.type));
		return false;
	}
	r = json_text(value, out, cap, &len);
	if (r < 0) {
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    r == -EMSGSIZE
			? "invalid arguments: `%s` is longer than %zu bytes"
			: "invalid arguments: `%s` has a character that is not text",
		    name, cap - 1);
		return false;
	}
	*ret = out;
	return true;
}

bool
argument_flag(
    struct json arguments, const char *name, bool *ret, struct secrets_answer *a)
{
	struct json value;

	*ret = false;
	if (!member(arguments, name, &value, a))
		return false;
	if (value.type != JSON_IS_NONE && value.type != JSON_IS_TRUE &&
	    value.type != JSON_IS_FALSE) {
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: `%s`: expected a boolean, found %s", name,
		    json_type_name(value.type));
		return false;
	}
	*ret = value.type == JSON_IS_TRUE;
	return true;
}

bool
argument_number(struct json arguments, const char *name, uint32_t max, uint32_t *ret,
    struct secrets_answer *a)
{
	struct json value;
	char text[NUMBER_CAP];
	double number;

	if (!member(arguments, name, &value, a))
		return false;
	if (value.type == JSON_IS_NONE)
		return true;
	number = 0.5; /* what is longer is no integer */
	if (value.type == JSON_IS_NUMBER && value.len < sizeof(text)) {
		memcpy(text, value.at, value.len);
		text[value.len] = '\0';
		number = strtod(text, NULL);
	}
	if (value.type != JSON_IS_NUMBER)
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: `%s`: expected an integer, found %s", name,
		    json_type_name(value.type));
	else if (number < 1e15 && number > -1e15 && number != (double)(int64_t)number)
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: `%s`: expected an integer, found a number", name);
	else if (number < 1)
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: `%s` must be 1 or more", name);
	else {
		*ret = number > max ? max : (uint32_t)number;
		return true;
	}
	return false;
}

bool
argument_needed(struct json arguments, const char *name, char *out, size_t cap,
    struct secrets_answer *a)
{
	const char *text;

	if (!argument_text(arguments, name, out, cap, &text, a))
		return false;
	if (text == NULL)
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: missing field `%s`", name);
	return text != NULL;
}

bool
argument_path(struct json arguments, const char *name, char out[SECRET_PATH_MAX + 1],
    struct secrets_answer *a)
{
	char text[2048]; /* a longer one is no path either */
	const char *why;
	size_t parts = 1;

	if (!argument_needed(arguments, name, text, sizeof(text), a))
		return false;
	for (const char *p = text; *p != '\0'; p++)
		parts += *p == '/';
	why = secret_path_wrong(text, strlen(text));
	/* the path is not repeated: it may be a value that was pasted */
	if (parts < 3)
		fail(a, SECRETS_INVALID_PATH,
		    "invalid-path: %zu part%s, at least 3 are needed "
		    "(<scope>/<provider>/<purpose>)",
		    parts, parts == 1 ? "" : "s");
	else if (why != NULL)
		fail(a, SECRETS_INVALID_PATH, "invalid-path: %s", why);
	else
		memcpy(out, text, strlen(text) + 1); /* fits: checked */
	return why == NULL;
}

/* ---- versions ------------------------------------------------------------------- */

bool
secrets_version(struct json version, struct secrets_answer *a)
{
	char text[VERSION_CAP];
	size_t len;

	if (version.type == JSON_IS_NONE)
		return true;
	if (json_text(version, text, sizeof(text), &len) < 0 || len == 0 ||
	    strspn(text, "0123456789.") != len) {
		fail(a, SECRETS_UNSUPPORTED_VERSION,
		    "unsupported secrets protocol: this server speaks " SECRETS_PROTOCOL);
		return false;
	}
	if (strcmp(text, "1") == 0 || strncmp(text, "1.", 2) == 0)
		return true;
	fail(a, SECRETS_UNSUPPORTED_VERSION,
	    "unsupported secrets protocol %s: this server speaks " SECRETS_PROTOCOL,
	    text);
	return false;
}
