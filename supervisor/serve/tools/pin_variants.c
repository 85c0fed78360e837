/*
 * Definitions that were reviewed in several variants: a server may list a tool in another
 * way, or not at all, if its client has other capabilities. The agent gets the variant
 * whose capabilities are the largest subset of what the server sees of its own.
 */
#include "supervisor/serve/tools/pin_variants.h"

#include <string.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "supervisor/mcp/methods.h"

/* The capabilities of a variant, "roots,sampling": enum sealed_server_flag. False: it names
 * one that kennel does not know, so no agent has it. */
static bool
needs_of(const char *variant, uint32_t *ret)
{
	*ret = 0;
	while (*variant != '\0') {
		size_t len = strcspn(variant, ","), i = 0;

		while (i < ARRAY_LEN(mcp_capabilities) &&
		       (strlen(mcp_capabilities[i].name) != len ||
			   memcmp(mcp_capabilities[i].name, variant, len) != 0))
			i++;
		if (i == ARRAY_LEN(mcp_capabilities))
			return false;
		*ret |= mcp_capabilities[i].needs;
		variant += len + (variant[len] == ',');
	}
	return true;
}

static bool
is_same(const struct policy *p, const struct sealed_pin *a, const struct sealed_pin *b)
{
	return a->kind == b->kind && a->name.len == b->name.len &&
	       memcmp(policy_str(p, a->name), policy_str(p, b->name), a->name.len) == 0;
}

const struct sealed_pin *
variant_next(const struct policy *p, const struct sealed_server *s, uint32_t can,
    uint32_t *at, const struct sealed_pin **ret_fits)
{
	const struct sealed_pin *pin = &p->pin[s->pins.first];
	uint32_t first = *at, needs;
	int most = -1;

	can &= policy_offers(p, s);
	*ret_fits = NULL;
	/* variants of one definition are adjacent */
	for (; *at < s->pins.n && is_same(p, &pin[first], &pin[*at]); ++*at) {
		if (!needs_of(policy_str(p, pin[*at].variant), &needs) ||
		    (needs & ~can) != 0 || __builtin_popcount(needs) <= most)
			continue;
		most = __builtin_popcount(needs);
		*ret_fits = &pin[*at];
	}
	return &pin[first];
}

bool
variants_any(const struct policy *p, const struct sealed_server *s)
{
	for (uint32_t i = 0; i < s->pins.n; i++)
		if (p->pin[s->pins.first + i].variant.len > 0)
			return true;
	return false;
}
