/*
 * The pages of a list, against a plain model: a cursor is followed once, a page that came
 * before is known again, the list ends, and only an empty cursor may be refused.
 *
 * Input: results, a newline after each; the list is the member "tools".
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/mcp/line/pages.h"
#include "tests/fuzz/fuzz.h"

#define MODEL_MAX 64

struct model {
	struct json cursor[MODEL_MAX], list[MODEL_MAX];
	size_t n;
};

static bool
has(const struct json *of, size_t n, struct json one)
{
	for (size_t i = 0; i < n; i++)
		if (of[i].len == one.len && memcmp(of[i].at, one.at, one.len) == 0)
			return true;
	return false;
}

/* False: the list has ended. */
static bool
take(struct pages *p, struct model *m, struct json result)
{
	struct json list = {0}, cursor = {0}, named = {0};
	enum pages_is is;
	bool again, full;

	if (result.type != JSON_IS_OBJECT || json_get(result, "tools", &list) < 0)
		list = (struct json){0};
	full = list.type == JSON_IS_ARRAY && list.len > 2;
	is = pages_take(p, result, list, &cursor, &again);
	if (again != (full && has(m->list, m->n, list)))
		abort();
	if ((pages_why(is)[0] != '\0') != (is == PAGES_STILL || is == PAGES_MANY))
		abort();
	if (is != PAGES_MORE)
		return false;
	if (again || cursor.type != JSON_IS_STRING || has(m->cursor, m->n, cursor) ||
	    json_get(result, "nextCursor", &named) < 0 || named.at != cursor.at)
		abort();
	if (pages_end_refused(p) != (cursor.len == 2))
		abort();
	m->cursor[m->n] = cursor;
	m->list[m->n++] = full ? list : (struct json){0};
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct json_message message[MODEL_MAX];
	static struct pages pages;
	struct model model = {.n = 0};
	const uint8_t *end;
	size_t line;

	memset(&pages, 0, sizeof(pages));
	if (pages_end_refused(&pages))
		abort();
	while (model.n < MODEL_MAX && (end = memchr(data, '\n', len)) != NULL) {
		line = (size_t)(end - data);
		if (json_scan(data, line, &message[model.n]) < 0 ||
		    !take(&pages, &model, message[model.n].root))
			return 0;
		data = end + 1;
		len -= line + 1;
	}
	return 0;
}
