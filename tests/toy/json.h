/*
 * Just enough JSON for a test server: find a member, decode a string, write
 * one.  No tree, no allocation; text that is not JSON finds nothing.
 */
#ifndef KENNEL_TESTS_TOY_JSON_H
#define KENNEL_TESTS_TOY_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct json { /* one value, as written */
	const char *at;
	size_t len;
};

/* The member at a dotted path ("params.arguments.text"); len 0: none. */
struct json json_get(struct json object, const char *path);
/* Element i of an array; len 0: none. */
struct json json_item(struct json array, size_t i);
/* Decode a string into out, always terminated; false when it is none or does
 * not fit. */
bool json_text(struct json, char *out, size_t out_cap);
long json_number(struct json, long otherwise);
bool json_is(struct json, const char *text);
/* Write len bytes as a JSON string, quotes included. */
void json_put(FILE *, const char *bytes, size_t len);

#endif
