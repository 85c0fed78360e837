/*
 * Exposed tools take room in the agent's context; an administrator may bound them
 * (exposed.h).
 */
#include "supervisor/serve/tools/exposed.h"

#include <stdio.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "supervisor/hub/hub.h"
#include "supervisor/serve/tools/pin_variants.h"
#include "supervisor/serve/tools/settings.h"

static bool
is_denied(const struct exposing *e, const char *tool, size_t len)
{
	struct gate_answer answer;

	gate_judge(&(struct gate_ask){.policy = e->policy,
		       .server = e->server,
		       .pins = e->pins,
		       .kind = GATE_TOOL,
		       .name = tool,
		       .name_len = len},
	    &answer);
	return answer.verdict == VERDICT_DENY;
}

static size_t
count_pins(const struct exposing *e)
{
	const struct sealed_pin *any, *fits;
	size_t n = 0;
	const char *tool;

	for (uint32_t i = 0; i < e->server->pins.n;) {
		any = variant_next(e->policy, e->server, e->can, &i, &fits);
		tool = policy_str(e->policy, any->name);
		n += any->kind == PIN_TOOL && fits != NULL &&
		     settings_exposes(e->settings, e->name, tool, any->name.len) &&
		     !is_denied(e, tool, any->name.len);
	}
	return n;
}

bool
exposed_count(const struct exposing *e, size_t *ret)
{
	const char *tool;
	size_t at = 0;

	*ret = 0;
	if (e->server->pins.n > 0) {
		*ret = count_pins(e);
		return true;
	}
	while ((tool = settings_tool(e->settings, e->name, &at)) != NULL) {
		if (strchr(tool, '*') != NULL)
			return false;
		*ret += !is_denied(e, tool, strlen(tool));
	}
	return true;
}

bool
exposed_over(
    const struct settings *s, size_t n, const char *unknown, char *why, size_t why_cap)
{
	if (!s->has_budget)
		return false;
	if (unknown != NULL) /* both are shown only */
		(void)snprintf(why, why_cap,
		    "server `%s` has no pins, and a pattern with `*` exposes tools of "
		    "it, so `budget %u` in %s has nothing to count: pin it with `kennel "
		    "server pin %s`, or expose its tools by name",
		    unknown, s->budget, s->file, unknown);
	else if (n > s->budget)
		(void)snprintf(why, why_cap,
		    "%zu tools are exposed, and `budget %u` in %s allows fewer: expose "
		    "fewer, or raise it",
		    n, s->budget, s->file);
	else
		return false;
	return true;
}
