/*
 * Where a list of a server ends. Hashes are enough: a server that makes two of them equal
 * ends its own list.
 */
#include "supervisor/mcp/line/pages.h"
#include "shim/base/hash.h"

#define EMPTY 2 /* bytes of [], and of "" */

uint64_t
pages_cursor(struct json cursor)
{
	uint64_t h;

	if (cursor.type != JSON_IS_STRING)
		return 0;
	h = hash64(HASH64_START, cursor.at, cursor.len);
	return h == 0 ? 1 : h;
}

static bool
came_before(const uint64_t *of, uint32_t n, uint64_t hash)
{
	for (uint32_t i = 0; i < n; i++)
		if (of[i] == hash)
			return true;
	return false;
}

enum pages_is
pages_take(struct pages *p, struct json result, struct json list, struct json *ret_cursor,
    bool *ret_again)
{
	bool after_empty = p->empty;
	struct json cursor = {0};
	uint64_t h, page = 0;

	/* a page without items says nothing: filters make such pages */
	if (list.type == JSON_IS_ARRAY && list.len > EMPTY)
		page = hash64(HASH64_START, list.at, list.len);
	*ret_again = page != 0 && came_before(p->page, p->n, page);
	if (result.type != JSON_IS_OBJECT ||
	    json_get(result, "nextCursor", &cursor) < 0 ||
	    (h = pages_cursor(cursor)) == 0)
		return PAGES_END;
	if (*ret_again)
		return after_empty ? PAGES_END : PAGES_STILL;
	if (came_before(p->cursor, p->n, h))
		return PAGES_STILL;
	if (p->n == PAGES_MAX)
		return PAGES_MANY;
	p->page[p->n] = page;
	p->cursor[p->n++] = h;
	p->empty = cursor.len == EMPTY;
	*ret_cursor = cursor;
	return PAGES_MORE;
}

bool
pages_end_refused(const struct pages *p)
{
	return p->n > 0 && p->empty;
}

const char *
pages_why(enum pages_is is)
{
	static const char *const why[PAGES_IS_N] = {
	    [PAGES_STILL] = "its cursor does not advance",
	    [PAGES_MANY] = "it has more than 1000 pages",
	};

	return why[is] == NULL ? "" : why[is];
}
