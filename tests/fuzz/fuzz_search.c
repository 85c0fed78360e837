/*
 * Any bytes as a query and, after a NUL, as an inputSchema: no query is an error, its
 * pages fit together, and no tool is found twice.
 *
 *	make build/fuzz/search && build/fuzz/search tests/fuzz/corpus/search
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/serve/tools/search.h"
#include "tests/fuzz/fuzz.h"

#define TOOLS 4
#define PAGE  3

struct found {
	uint32_t id[TOOLS + 1];
	size_t n;
};

static int
keep(void *arg, uint32_t id)
{
	struct found *found = arg;

	if (id > TOOLS || found->n > TOOLS)
		abort();
	for (size_t i = 0; i < found->n; i++)
		if (found->id[i] == id)
			abort();
	found->id[found->n++] = id;
	return 0;
}

static void
add(struct search *s, const char *server, const char *tool, struct json schema,
    uint32_t id)
{
	struct search_tool t = {.server = server,
	    .tool = tool,
	    .tool_len = strlen(tool),
	    .description = "Create an issue or a file in a repository of the user",
	    .description_len = 53,
	    .schema = schema,
	    .id = id};

	if (search_add(s, &t) < 0)
		abort();
}

static void
run(struct search *s, struct search_query query)
{
	struct found whole = {.n = 0}, paged = {.n = 0};
	bool more = true;

	query.limit = TOOLS + 1;
	if (search_run(s, &query, keep, &whole, &more) < 0 || more)
		abort();
	query.limit = PAGE;
	for (more = true; more; query.offset += PAGE)
		if (search_run(s, &query, keep, &paged, &more) < 0)
			abort();
	if (paged.n != whole.n ||
	    memcmp(paged.id, whole.id, whole.n * sizeof(whole.id[0])) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *nul = len > 0 ? memchr(data, 0, len) : NULL;
	struct json none = {.type = JSON_IS_NONE};
	struct search_query query = {.text = (const char *)data, .len = len};
	struct json_message m;
	struct search *s;

	if (search_new(&s) < 0)
		abort();
	add(s, "github", "create_issue", none, 0);
	add(s, "github", "listPullRequests", none, 1);
	add(s, "files", "write.file", none, 2);
	add(s, "fi-les", "r\xc3\xa9sum\xc3\xa9", none, 3);
	if (nul != NULL && json_scan(nul + 1, (size_t)(data + len - nul - 1), &m) == 0)
		add(s, "given", "tool", m.root, TOOLS);
	run(s, query);
	query.server = "github";
	run(s, query);
	if (nul != NULL) {
		query.server = NULL;
		query.len = (size_t)(nul - data);
		run(s, query);
	}
	search_free(s);
	return 0;
}
