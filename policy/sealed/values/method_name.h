/*
 * Names of JSON-RPC methods as a peer may read them (method_name.c).
 */
#ifndef KENNEL_POLICY_SEALED_VALUES_METHOD_NAME_H
#define KENNEL_POLICY_SEALED_VALUES_METHOD_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum method_form {
	METHOD_OTHER, /* kennel has no rules for it */
	METHOD_KNOWN, /* kennel has rules for it */
	METHOD_TWIN,  /* unknown, but a peer may take it for a known one */
};
enum method_form method_form(const char *, size_t len);

/* Like policy_glob, but ignores case, blanks and unprintable characters. */
bool method_glob(
    const char *pattern, size_t pattern_len, const char *text, size_t text_len);
/* The method names that kennel knows, sorted; NULL after the last. */
const char *method_name(size_t i);

#endif
