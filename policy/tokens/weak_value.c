/*
 * Values that ordinary text also has (weak_value.h).
 */
#include "policy/tokens/weak_value.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "shim/base/array.h"

#define ENTROPY_KINDS 5  /* a value needs at least this many different bytes */
#define TWO_RUNS_MIN  12 /* of this length on, two runs are no part of ordinary text */

/* Words common in ordinary text, and passwords that are guessed first. */
static bool
is_common(const char *v, size_t n)
{
	static const char *const words[] = {"password", "password1", "passw0rd",
	    "changeme", "change-me", "secret", "mysecret", "topsecret", "letmein",
	    "administrator", "undefined", "username", "localhost", "example",
	    "test-token", "placeholder", "qwertyui", "qwertyuiop", "your-token-here",
	    "production", "development", "disabled", "anonymous", "postgres"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == n && strncasecmp(words[i], v, n) == 0)
			return true;
	return false;
}

/* 12345678, abcdefgh, abcd1234, 00000000, and few different bytes in any order. */
static bool
is_monotonous(const uint8_t *v, size_t n)
{
	bool seen[256] = {0};
	size_t i, kinds = 0, steps = 0;

	for (i = 0; i < n; i++) {
		kinds += !seen[v[i]];
		seen[v[i]] = true;
		if (i > 0 && (v[i] == v[i - 1] + 1 || v[i] + 1 == v[i - 1]))
			steps++;
	}
	return kinds < ENTROPY_KINDS || steps + 1 >= n ||
	       (steps + 2 >= n && n < TWO_RUNS_MIN);
}

const char *
weak_value(const uint8_t *data, size_t n)
{
	if (n < WEAK_BELOW)
		return "it has fewer than 8 bytes";
	if (is_common((const char *)data, n))
		return "it is a common word";
	if (is_monotonous(data, n))
		return "it has too few different characters";
	return NULL;
}
