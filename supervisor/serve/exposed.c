/*
 * Tools of servers that are listed beside kennel's own: --expose, and `expose` of the
 * settings. Only what the policy allows or asks about can be exposed.
 */
#include <string.h>

#include "policy/sealed/policy.h"
#include "supervisor/serve/private.h"

/* "SERVER.PATTERN": the pattern is one of a `tool` line. */
static bool
is_match(const char *pattern, const struct item *i)
{
	const char *dot = strchr(pattern, '.');
	size_t n = strlen(i->server->name);

	return dot != NULL && (size_t)(dot - pattern) == n &&
	       memcmp(pattern, i->server->name, n) == 0 &&
	       policy_glob(dot + 1, strlen(dot + 1), i->name, i->name_len);
}

bool
hub_exposes(const struct hub *h)
{
	return h->order->expose_n > 0;
}

bool
item_exposed(const struct hub *h, const struct item *i)
{
	for (size_t n = 0; n < h->order->expose_n; n++)
		if (is_match(h->order->expose[n], i))
			return true;
	return false;
}
