/*
 * A removed member takes its comma with it, and its line if nothing else is on it. If
 * the last member goes, so does the comma of the member that is last then.
 */
#include "supervisor/import/edit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/import/redact.h"

#define LINE_SHOWN_MAX 400 /* bytes: a whole file may be one line */

static int
add(struct edits *e, size_t at, size_t len, char *text)
{
	struct edit *more;

	if (text == NULL)
		return -ENOMEM;
	more = reallocarray(e->edit, e->n + 1, sizeof(*more));
	if (more == NULL) {
		free(text);
		return -ENOMEM;
	}
	e->edit = more;
	more[e->n++] = (struct edit){.at = at, .len = len, .text = text};
	return 0;
}

__attribute__((format(printf, 4, 5))) static int
put(struct edits *e, size_t at, size_t len, const char *format, ...)
{
	char *text = NULL;
	va_list words;

	va_start(words, format);
	if (vasprintf(&text, format, words) < 0)
		text = NULL;
	va_end(words);
	return add(e, at, len, text);
}

/* ---- places ------------------------------------------------------------------ */

static size_t
line_start(const struct config_tree *t, size_t at)
{
	while (at > 0 && t->bytes[at - 1] != '\n')
		at--;
	return at;
}

/* The offset after the line end. */
static size_t
line_after(const struct config_tree *t, size_t at)
{
	const char *nl = memchr(t->bytes + at, '\n', t->len - at);

	return nl == NULL ? t->len : (size_t)(nl + 1 - t->bytes);
}

static bool
is_blank(const struct config_tree *t, size_t from, size_t to)
{
	for (; from < to; from++)
		if (strchr(" \t\r\n", t->bytes[from]) == NULL)
			return false;
	return true;
}

/* The line end of this file. */
static const char *
newline(const struct config_tree *t)
{
	const char *nl = memchr(t->bytes, '\n', t->len);

	return nl != NULL && nl > t->bytes && nl[-1] == '\r' ? "\r\n" : "\n";
}

/* A value of YAML that begins right after its colon. */
static const char *
space_before(const struct config_tree *t, const struct config_node *n)
{
	bool bare = t->dialect == DIALECT_YAML && n->at > 0 && t->bytes[n->at - 1] == ':';

	return bare ? " " : "";
}

/* ---- the command ------------------------------------------------------------- */

/* `args` after a command that has none. */
static int
insert_args(struct edits *e, const struct config_tree *t,
    const struct config_node *command, const char *name)
{
	size_t from = line_start(t, command->from);
	const char *is = t->dialect == DIALECT_TOML ? " =" : ":";

	if (t->dialect == DIALECT_JSON)
		return put(e, command->end, 0, ", \"args\": [\"run\", \"%s\"]", name);
	if (!command->lines)
		return put(e, command->end, 0, ", args%s [\"run\", \"%s\"]", is, name);
	/* a.command = "x": the new line would need the same prefix */
	if (memchr(t->bytes + command->from, '.',
		strcspn(t->bytes + command->from, "=:\n")) != NULL)
		return -ENOTSUP;
	return put(e, command->end, 0, "%s%.*sargs%s [\"run\", \"%s\"]", newline(t),
	    (int)(command->from - from), t->bytes + from, is, name);
}

static int
replace_command(struct edits *e, const struct config_tree *t, const struct entry *entry,
    const char *name)
{
	const struct config_node *command = &t->node[entry->command];
	const struct config_node *args =
	    entry->args == TREE_NONE ? NULL : &t->node[entry->args];
	bool list = command->type == NODE_ARRAY;
	int r;

	if (list)
		r = put(e, command->at, command->end - command->at,
		    "%s[\"kennel\", \"run\", \"%s\"]", space_before(t, command), name);
	else
		r = put(e, command->at, command->end - command->at, "%s\"kennel\"",
		    space_before(t, command));
	if (r == 0 && args != NULL && list)
		r = put(e, args->at, args->end - args->at, "%s[]", space_before(t, args));
	else if (r == 0 && args != NULL)
		r = put(e, args->at, args->end - args->at, "%s[\"run\", \"%s\"]",
		    space_before(t, args), name);
	else if (r == 0 && !list)
		r = insert_args(e, t, command, name);
	return r;
}

/* ---- members that go --------------------------------------------------------- */

/* The `type` of a server that a command starts, where the client needs one; or NULL. */
static const char *
kept_type(const struct config_tree *t, const struct entry *entry)
{
	const char *type = entry->type == TREE_NONE ? NULL : t->node[entry->type].text;

	if (type != NULL && strcmp(type, "remote") == 0)
		return "local"; /* OpenCode, Kilo */
	return type != NULL && t->dialect == DIALECT_YAML ? "stdio" : NULL; /* Goose */
}

static bool
is_removed(const struct config_tree *t, const struct entry *entry, size_t node)
{
	if (entry->kind == ENTRY_REMOTE)
		return node == entry->headers ||
		       (node == entry->type && kept_type(t, entry) == NULL);
	for (size_t i = 0; i < entry->variable_n; i++)
		if (entry->variable[i].node == node)
			return entry->variable[i].clear;
	return false;
}

/* after_kept: the member before it stays. */
static int
remove_member(struct edits *e, const struct config_tree *t, const struct config_node *n,
    bool after_kept)
{
	size_t from = n->from, to = n->comma == TREE_NONE ? n->end : n->comma + 1;
	size_t line = line_start(t, from), after = line_after(t, to);

	/* in TOML and YAML, a comment goes with its line */
	if (n->lines || (is_blank(t, line, from) && is_blank(t, to, after))) {
		from = line;
		to = after;
	} else {
		while (to < t->len && t->bytes[to] == ' ')
			to++;
		while (after_kept && n->comma == TREE_NONE && t->bytes[from - 1] == ' ')
			from--; /* up to the comma that goes too */
	}
	return put(e, from, to - from, "%s", "");
}

/* The lines of [a.headers] in TOML, or of headers.NAME = VALUE. */
static int
remove_table(struct edits *e, const struct config_tree *t, const struct config_node *n)
{
	size_t from = line_start(t, n->from), to = line_after(t, n->from);
	size_t sign = from + strspn(t->bytes + from, " \t");
	int r = 0;

	if (t->bytes[sign] == '[')
		r = put(e, from, to - from, "%s", "");
	for (size_t i = n->first; r == 0 && i != TREE_NONE; i = t->node[i].next)
		r = remove_member(e, t, &t->node[i], false);
	return r;
}

/* Removes those members of an object that is_removed names. */
static int
remove_members(struct edits *e, const struct config_tree *t, const struct entry *entry,
    const struct config_node *env)
{
	size_t left = TREE_NONE; /* the last member that stays */
	bool all = true, kept = false;
	int r = 0;

	for (size_t i = env->first; i != TREE_NONE; i = t->node[i].next)
		if (!is_removed(t, entry, i)) {
			left = i;
			all = false;
		}
	if (all && *space_before(t, env) != '\0')
		return put(e, env->at, env->end - env->at, " {}");
	for (size_t i = env->first; r == 0 && i != TREE_NONE; i = t->node[i].next) {
		if (is_removed(t, entry, i) && t->node[i].end == 0)
			r = remove_table(e, t, &t->node[i]);
		else if (is_removed(t, entry, i))
			r = remove_member(e, t, &t->node[i], kept);
		kept = !is_removed(t, entry, i);
	}
	if (r == 0 && left != TREE_NONE && left != env->last &&
	    t->node[left].comma != TREE_NONE && t->node[env->last].comma == TREE_NONE)
		r = put(e, t->node[left].comma, 1, "%s", "");
	return r;
}

/* ---- the URL ----------------------------------------------------------------- */

/* A member for the variable that its client fills in, in place of a header; "": none. The
 * caller frees; NULL: no memory. */
static char *
moved(const struct config_tree *t, const struct entry *entry)
{
	const struct entry_variable *v = &entry->variable[0];
	const struct config_node *url = &t->node[entry->url];
	const char *type = kept_type(t, entry);
	size_t from = line_start(t, url->from);
	char *text = NULL;
	int n;

	if (entry->variable_n == 0 || v->moved == NULL)
		return strdup("");
	if (t->dialect == DIALECT_JSON)
		n = asprintf(&text, ", \"%s\": {\"%s\": \"%s\"}",
		    type == NULL ? "env" : "environment", v->name, v->moved);
	else if (url->lines)
		n = asprintf(&text, "%s%.*senvs: {%s: \"%s\"}", newline(t),
		    (int)(url->from - from), t->bytes + from, v->name, v->moved);
	else
		n = asprintf(&text, ", envs: {%s: \"%s\"}", v->name, v->moved);
	return n < 0 ? NULL : text;
}

/* The command in place of the URL. */
static int
put_command(struct edits *e, const struct config_tree *t, const struct entry *entry,
    const char *name)
{
	const struct config_node *url = &t->node[entry->url];
	size_t from = line_start(t, url->from), len = url->end - url->from;
	const char *quote = t->dialect == DIALECT_JSON ? "\"" : "";
	const char *is = t->dialect == DIALECT_TOML ? " =" : ":";
	const char *key = t->dialect == DIALECT_YAML ? "cmd" : "command";
	const char *type = kept_type(t, entry), *comma = url->lines ? "" : ",";
	bool own_line = is_blank(t, from, url->from);
	char *after = moved(t, entry);
	int r;

	if (after == NULL)
		return -ENOMEM;
	if (type != NULL && strcmp(type, "local") == 0)
		r = put(e, url->from, len, "%s%s%s%s [\"kennel\", \"run\", \"%s\"]%s",
		    quote, key, quote, is, name, after);
	else
		r = put(e, url->from, len,
		    "%s%s%s%s \"kennel\"%s%s%.*s%sargs%s%s [\"run\", \"%s\"]%s", quote,
		    key, quote, is, comma, own_line ? newline(t) : " ",
		    own_line ? (int)(url->from - from) : 0, t->bytes + from, quote, quote,
		    is, name, after);
	free(after);
	return r;
}

static int
replace_url(struct edits *e, const struct config_tree *t, const struct entry *entry,
    const char *name)
{
	const struct config_node *n;
	const char *type = kept_type(t, entry);
	int r = put_command(e, t, entry, name);

	if (r == 0 && type != NULL) {
		n = &t->node[entry->type];
		r = put(e, n->at, n->end - n->at, "%s%s%s%s", space_before(t, n),
		    t->dialect == DIALECT_JSON ? "\"" : "", type,
		    t->dialect == DIALECT_JSON ? "\"" : "");
	}
	return r == 0 ? remove_members(e, t, entry, &t->node[entry->object]) : r;
}

int
edits_entry(struct edits *e, const struct config_tree *t, const struct entry *entry,
    const char *name)
{
	int r;

	if (entry->kind == ENTRY_REMOTE)
		return replace_url(e, t, entry, name);
	r = replace_command(e, t, entry, name);
	return r == 0 && entry->clear_n > 0
		   ? remove_members(e, t, entry, &t->node[entry->env])
		   : r;
}

/* ---- all of them ------------------------------------------------------------- */

static int
by_place(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

int
edits_apply(struct edits *e, const struct config_tree *t, struct buf *ret)
{
	size_t at = 0;
	int r = 0;

	if (e->n > 0)
		qsort(e->edit, e->n, sizeof(*e->edit), by_place);
	for (size_t i = 0; r == 0 && i < e->n; i++) {
		const struct edit *x = &e->edit[i];

		if (x->at < at || x->at + x->len > t->len)
			return -EINVAL;
		r = buf_put(ret, t->bytes + at, x->at - at);
		if (r == 0)
			r = buf_puts(ret, x->text);
		at = x->at + x->len;
	}
	return r == 0 ? buf_put(ret, t->bytes + at, t->len - at) : r;
}

void
edits_free(struct edits *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->edit[i].text);
	free(e->edit);
	*e = (struct edits){.n = 0};
}

/* ---- the diff ---------------------------------------------------------------- */

/* Lines of text, each after this sign, printable. */
static void
put_lines(char sign, const struct buf *text, FILE *out)
{
	char shown[4 * LINE_SHOWN_MAX + 1];
	const char *p = (const char *)text->data, *end;

	if (p == NULL)
		return;
	for (end = p + text->len; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl == NULL ? end : nl) - p);

		if (len > 0 && p[len - 1] == '\r')
			len--;
		if (len > LINE_SHOWN_MAX)
			fprintf(out, "%c (a line of %zu bytes)\n", sign, len);
		else
			fprintf(
			    out, "%c%s\n", sign, log_quote(shown, sizeof(shown), p, len));
		p = nl == NULL ? end : nl + 1;
	}
}

/* The number of edits, from this one, that are on the same lines; and those lines. */
static size_t
hunk(const struct edits *e, const struct config_tree *t, size_t first, size_t *ret_from,
    size_t *ret_to)
{
	size_t i = first, to = 0;

	*ret_from = line_start(t, e->edit[first].at);
	for (; i < e->n && (i == first || line_start(t, e->edit[i].at) <= to); i++) {
		size_t end = e->edit[i].at + e->edit[i].len;
		bool whole = e->edit[i].len > 0 && t->bytes[end - 1] == '\n';
		size_t after = whole ? end : line_after(t, end);

		if (after > to)
			to = after;
	}
	*ret_to = to;
	return i - first;
}

void
edits_diff(const struct edits *e, const struct config_tree *t, FILE *out)
{
	size_t from, to, n, line = 1, counted = 0;

	for (size_t i = 0; i < e->n; i += n) {
		struct buf before, after;
		size_t at;

		n = hunk(e, t, i, &from, &to);
		buf_init(&before, TREE_FILE_MAX);
		buf_init(&after, TREE_FILE_MAX);
		for (; counted < from; counted++)
			line += t->bytes[counted] == '\n';
		(void)redact(t, from, to, &before); /* or less is shown */
		at = from;
		for (size_t k = i; k < i + n; k++) {
			(void)redact(t, at, e->edit[k].at, &after);
			(void)buf_puts(&after, e->edit[k].text);
			at = e->edit[k].at + e->edit[k].len;
		}
		(void)redact(t, at, to, &after);
		fprintf(out, "@@ line %zu @@\n", line);
		put_lines('-', &before, out);
		put_lines('+', &after, out);
		buf_free(&before);
		buf_free(&after);
	}
}
