/*
 * Any bytes as the list of tools of a server, and, after the first line end, as a call of
 * kennel's.  No more headers than there may be marks, each once, with a name that cannot
 * begin another header.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "leash/remote/private.h"
#include "tests/fuzz/fuzz.h"

#define MARKS_MAX 64
#define PREFIX    "Mcp-Param-"

struct seen {
	char name[MARKS_MAX][80];
	size_t n;
	const struct message *m;
};

static void
header(void *arg, const char *name, struct slice value)
{
	struct seen *s = arg;
	size_t len = strlen(name);

	if (s->n == MARKS_MAX || len >= sizeof(s->name[0]) || len == strlen(PREFIX) ||
	    strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		abort();
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && strchr("-_", name[i]) == NULL)
			abort();
	for (size_t i = 0; i < s->n; i++)
		if (strcasecmp(s->name[i], name) == 0)
			abort();
	memcpy(s->name[s->n++], name, len + 1);
	if (value.len == 0 || value.at < s->m->arguments.at ||
	    value.at + value.len > s->m->arguments.at + s->m->arguments.len)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char list_text[] = "{\"id\":1,\"method\":\"tools/list\"}";
	const uint8_t *lf = memchr(data, '\n', len);
	size_t n = lf == NULL ? len : (size_t)(lf - data);
	struct remote r = {.status = -1};
	struct exchange x = {.remote = &r};
	struct message list;
	struct seen seen = {.m = &x.message};
	char *text = malloc(len + !len);

	if (text == NULL)
		return 0;
	if (len > 0)
		memcpy(text, data, len);
	if (message_read(list_text, sizeof(list_text) - 1, &list) != 0)
		abort();
	tool_headers_keep(&r, &list, text, n);
	if (lf != NULL && message_read(text + n + 1, len - n - 1, &x.message) == 0)
		tool_headers(&x, header, &seen);
	buf_free(&r.lists);
	free(text);
	return 0;
}
