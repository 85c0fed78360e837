/*
 * Any bytes as a client's configuration. The first byte chooses the dialect. Places are
 * inside the file; what is edited keeps all other bytes; a diff is printable.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/import/edit.h"
#include "tests/fuzz/fuzz.h"

static const char *const keys[] = {"mcpServers", "mcp_servers", "extensions"};
static const char *const clients[] = {"claude-code", "codex", "goose"};

static void
places(const struct config_tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct config_node *n = &t->node[i];

		if (n->from > t->len || n->at > t->len || n->end > t->len ||
		    (n->end != 0 && n->end < n->at))
			abort();
		if (n->comma != TREE_NONE && t->bytes[n->comma] != ',')
			abort();
	}
	for (size_t i = 0; i < t->comment_n; i++)
		if (t->comment[i].from >= t->comment[i].to || t->comment[i].to > t->len ||
		    (i > 0 && t->comment[i].from < t->comment[i - 1].to))
			abort();
}

/* The bytes outside of the edits are those of the file. */
static void
kept(const struct edits *e, const struct config_tree *t, const struct buf *after)
{
	size_t at = 0, to = 0;

	for (size_t i = 0; i <= e->n; i++) {
		size_t end = i < e->n ? e->edit[i].at : t->len;

		if (memcmp(t->bytes + at, after->data + to, end - at) != 0)
			abort();
		to += end - at;
		if (i == e->n)
			break;
		at = end + e->edit[i].len;
		to += strlen(e->edit[i].text);
	}
	if (to != after->len)
		abort();
}

static void
edited(const struct config_tree *t, const struct entries *found)
{
	struct edits e = {.n = 0};
	struct buf after;
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	buf_init(&after, 1u << 22);
	for (size_t i = 0; i < found->n; i++)
		if (entry_is_server(&found->entry[i]))
			(void)edits_entry(&e, t, &found->entry[i], "x");
	if (edits_apply(&e, t, &after) == 0 && after.len > 0) {
		kept(&e, t, &after);
		out = open_memstream(&text, &len);
		if (out == NULL)
			abort();
		edits_diff(&e, t, out);
		(void)fclose(out);
		printable(text, len);
		free(text);
	}
	edits_free(&e);
	buf_free(&after);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct client_file file = {.scope = SCOPE_USER, .projects = true};
	struct config_tree t;
	struct entries found;

	if (len == 0)
		return 0;
	file.dialect = data[0] % 3;
	file.key = keys[file.dialect];
	file.client = clients[file.dialect];
	if (config_parse(file.dialect, (const char *)data + 1, len - 1, &t) == 0) {
		places(&t);
		if (entries_find(&t, &file, &found) == 0) {
			for (size_t i = 0; i < found.n; i++)
				if (t.twice != TREE_NONE &&
				    found.entry[i].kind != ENTRY_OTHER)
					abort(); /* clients may read another text */
			edited(&t, &found);
		}
		entries_free(&found);
	} else {
		printable(t.why, strlen(t.why));
	}
	config_free(&t);
	return 0;
}
