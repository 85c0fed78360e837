/*
 * What a plugin answers, any bytes: what is taken is JSON by another's measure too,
 * and means there what it means here.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "leash/vault/plugin_reply.h"
#include "tests/fuzz/fuzz.h"

#define ID 2

/* A text of an object, or NULL; no other kind of value. */
static const char *
text_of(const json_t *object, const char *name, size_t *ret_len)
{
	const json_t *v = json_object_get(object, name);

	if (!json_is_string(v))
		return NULL;
	*ret_len = json_string_length(v);
	return json_string_value(v);
}

static void
as_jansson(const json_t *all, const struct reply *r)
{
	const json_t *result = json_object_get(all, "result");
	const char *text;
	size_t len = 0;

	if (json_integer_value(json_object_get(all, "id")) != ID ||
	    (result != NULL) != (r->kind == REPLY_RESULT))
		abort();
	if (result == NULL) {
		if (r->value != NULL || !json_is_object(json_object_get(all, "error")))
			abort();
		return;
	}
	text = text_of(result, "value", &len);
	if ((text == NULL) != (r->value == NULL))
		abort();
	if (text != NULL && (len != r->value_len || memcmp(text, r->value, len) != 0))
		abort();
	if (r->available != json_is_true(json_object_get(result, "available")))
		abort();
	if ((json_int_t)r->protocol !=
	    json_integer_value(json_object_get(result, "protocol_version")))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *line = malloc(len + 1);
	const char *what = NULL;
	struct reply r = {.kind = REPLY_RESULT};
	json_t *all;

	if (line == NULL)
		abort();
	if (len > 0)
		memcpy(line, data, len);
	if (reply_read(line, len, ID, &r, &what) == 0) {
		if (what != NULL || reply_kind_name(r.kind) == NULL)
			abort();
		if (r.value != NULL &&
		    (r.value < line || r.value + r.value_len > line + len))
			abort();
		all = json_loadb((const char *)data, len, JSON_ALLOW_NUL, NULL);
		/* numbers that it cannot hold, and great depth, are nothing to it */
		if (all != NULL)
			as_jansson(all, &r);
		json_decref(all);
	} else if (what == NULL) {
		abort();
	}
	free(line);
	return 0;
}
