/*
 * Names of methods.  A session compares the exact name.  A peer that ignores
 * case, trims blanks or routes by words would take `Tools/Call` for
 * `tools/call`, and so bypass the gate.  A name that folds to a known one is
 * therefore recognized as its twin.
 */
#include "policy/sealed/values/method_name.h"
#include "shim/base/array.h"

#include <stdint.h>
#include <string.h>

#define FOLDED_MAX 128 /* bytes; a longer name is not a known one */

static const char *const names[] = {"completion/complete", "elicitation/create",
    "initialize", "logging/setLevel", "notifications/cancelled",
    "notifications/elicitation/complete", "notifications/initialized",
    "notifications/message", "notifications/progress",
    "notifications/prompts/list_changed", "notifications/resources/list_changed",
    "notifications/resources/updated", "notifications/roots/list_changed",
    "notifications/subscriptions/acknowledged", "notifications/tasks",
    "notifications/tasks/status", "notifications/tools/list_changed", "ping",
    "prompts/get", "prompts/list", "resources/directory/read", "resources/list",
    "resources/read", "resources/subscribe", "resources/templates/list",
    "resources/unsubscribe", "roots/list", "sampling/createMessage", "server/discover",
    "subscriptions/listen", "tasks/cancel", "tasks/get", "tasks/list", "tasks/result",
    "tasks/update", "tools/call", "tools/list"};
#define NAMES (ARRAY_LEN(names))

const char *
method_name(size_t i)
{
	return i < NAMES ? names[i] : NULL;
}

/*
 * The next character in lower case.  Letters outside ASCII that some programs
 * fold to ASCII are folded: U+017F to s, U+212A to k, U+FF01 to U+FF5E. -1:
 * dropped (a blank, a control character, any other character outside ASCII).
 */
static int
next(const char *s, size_t len, size_t *i)
{
	const unsigned char *p = (const unsigned char *)s + *i;
	size_t left = len - *i;
	int c = p[0];

	*i += 1;
	if (left >= 2 && c == 0xc5 && p[1] == 0xbf)
		c = 's';
	else if (left >= 3 && c == 0xe2 && p[1] == 0x84 && p[2] == 0xaa)
		c = 'k';
	else if (left >= 3 && c == 0xef && (p[1] == 0xbc || p[1] == 0xbd))
		c = (p[1] - 0xbc) * 0x40 + p[2] - 0x80 + 0x20;
	if (c >= 'A' && c <= 'Z')
		return c | 0x20;
	return c > ' ' && c < 0x7f ? c : -1;
}

/*
 * Keeps only letters and digits; returns how many, FOLDED_MAX + 1 for too many.
 */
static size_t
fold(const char *s, size_t len, char out[FOLDED_MAX])
{
	size_t i = 0, n = 0;
	int c;

	while (i < len) {
		c = next(s, len, &i);
		if ((c < '0' || c > '9') && (c < 'a' || c > 'z'))
			continue;
		if (n == FOLDED_MAX)
			return FOLDED_MAX + 1;
		out[n++] = (char)c;
	}
	return n;
}

enum method_form
method_form(const char *s, size_t len)
{
	char folded[FOLDED_MAX], known[FOLDED_MAX];
	size_t n = fold(s, len, folded), i;
	bool twin = false;

	for (i = 0; i < NAMES; i++) {
		if (strlen(names[i]) == len && memcmp(names[i], s, len) == 0)
			return METHOD_KNOWN;
		twin = twin ||
		       (n <= FOLDED_MAX && fold(names[i], strlen(names[i]), known) == n &&
			   memcmp(known, folded, n) == 0);
	}
	return twin ? METHOD_TWIN : METHOD_OTHER;
}

/* The next character that is not dropped; false at the end. */
static bool
shown(const char *s, size_t len, size_t *i, int *ret)
{
	*ret = -1;
	while (*i < len && *ret < 0)
		*ret = next(s, len, i);
	return *ret >= 0;
}

bool
method_glob(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
	size_t p = 0, t = 0, star = SIZE_MAX, from = 0, p_after, t_after;
	int c, want = -1;

	for (;;) {
		t_after = t;
		p_after = p;
		if (!shown(text, text_len, &t_after, &c))
			break;
		if (shown(pattern, pattern_len, &p_after, &want) && want == '*') {
			star = p = p_after;
			from = t;
		} else if (want == c) {
			p = p_after;
			t = t_after;
		} else if (star != SIZE_MAX) {
			(void)shown(text, text_len, &from, &c); /* there is one */
			p = star;
			t = from;
		} else
			return false;
	}
	while (shown(pattern, pattern_len, &p, &want))
		if (want != '*')
			return false;
	return true;
}
