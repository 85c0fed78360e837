/*
 * Which of kennel's own tools a session lists, and which it offers (facets.h).
 *
 *	--facet		KENNEL_FACETS	facet allow	default		listed
 *	mcp,query	-		-		-		query, mcp
 *	-		search		mcp		-		search
 *	-		-		mcp		-		mcp
 *	-		-		-		-		secrets, search, query
 *
 * `facet deny` is applied last, so that no option and no variable can undo it.
 */
#include "shim/base/array.h"
#include "shim/base/cause.h"
#include "supervisor/serve/tools/facets.h"
#include "supervisor/serve/tools/own_tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/help/near_word.h"

#define NAME_SHOWN 64 /* bytes of an unknown name in a message */

static const char *const names[FACET_N] = {
    [FACET_SECRETS] = "secrets",
    [FACET_SEARCH] = "search",
    [FACET_QUERY] = "query",
    [FACET_MCP] = "mcp",
};

const char *
facet_name(enum facet facet)
{
	return names[facet];
}

const char *
facet_names(void)
{
	return "secrets, search, query, mcp";
}

int
facet_find(const char *name, size_t len, enum facet *ret)
{
	for (size_t i = 0; i < FACET_N; i++)
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0) {
			*ret = (enum facet)i;
			return 0;
		}
	return -ENOENT;
}

static int
unknown(const char *name, size_t len, const char *from, struct reason *why)
{
	char text[NAME_SHOWN + 1], shown[4 * NAME_SHOWN + 1];
	const char *near;

	if (len == 0)
		return reason_set(why, -EINVAL,
		    "expected a list of facets in %s, separated by commas: %s", from,
		    facet_names());
	(void)snprintf(text, sizeof(text), "%.*s",
	    (int)(len < NAME_SHOWN ? len : NAME_SHOWN), name); /* cut */
	near = near_word(text, names, FACET_N);
	(void)log_quote(shown, sizeof(shown), text, strlen(text)); /* shown */
	if (near != NULL)
		return reason_set(why, -EINVAL,
		    "unknown facet `%s` in %s: did you mean `%s`?", shown, from, near);
	return reason_set(why, -EINVAL, "unknown facet `%s` in %s: expected one of %s",
	    shown, from, facet_names());
}

/* Reads NAME,NAME... */
static int
read_list(const char *list, const char *from, uint32_t *ret, struct reason *why)
{
	uint32_t set = 0;
	enum facet facet;
	size_t len;

	for (;;) {
		len = strcspn(list, ",");
		if (facet_find(list, len, &facet) < 0)
			return unknown(list, len, from, why);
		set |= 1u << facet;
		if (list[len] == '\0')
			break;
		list += len + 1;
	}
	*ret = set;
	return 0;
}

int
facets_from(const struct facet_lists *lists, struct facets *ret, struct reason *why)
{
	struct facets f = {.listed = FACETS_DEFAULT, .denied = lists->denied};
	int r = 0;

	if (lists->allowed != 0)
		f.listed = lists->allowed;
	if (lists->environment != NULL && lists->environment[0] != '\0')
		r = read_list(lists->environment, "KENNEL_FACETS", &f.listed, why);
	if (r == 0 && lists->option != NULL)
		r = read_list(lists->option, "--facet", &f.listed, why);
	if (r < 0)
		return r;
	f.listed &= ~f.denied;
	*ret = f;
	return 0;
}

bool
facets_list(const struct facets *facets, const struct own_tool *tool)
{
	return facets_offer(facets, tool) && (facets->listed & 1u << tool->facet) != 0;
}

bool
facets_offer(const struct facets *facets, const struct own_tool *tool)
{
	return tool->definition != NULL && (facets->denied & 1u << tool->facet) == 0;
}
