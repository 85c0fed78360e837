#include "supervisor/import/entries.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/import/client_syntax.h"
#include "supervisor/import/entry_parts.h"
#include "supervisor/import/remote.h"
#include "policy/tokens/secret_shaped.h"

#define RISK_MAX 1024
#define KEY_MAX  32 /* of the first part of a.b */

static const char duplicate[] = "it has a duplicate key";

void
entry_other(struct entry *e, const char *why, const char *about)
{
	if (e->kind == ENTRY_OTHER)
		return;
	e->kind = ENTRY_OTHER;
	e->why = why;
	e->about = about;
}

static void
other(struct entry *e, const char *why)
{
	entry_other(e, why, NULL);
}

size_t
entry_member(const struct config_tree *t, size_t object, struct entry *e, const char *key)
{
	size_t i = TREE_NONE;

	if (config_get(t, object, key, &i) == CONFIG_TWICE)
		other(e, duplicate);
	return i;
}

/* ---- the command ------------------------------------------------------------- */

static void
add_word(const struct config_tree *t, struct entry *e, size_t i)
{
	if (t->node[i].type != NODE_STRING || t->node[i].text == NULL)
		other(e, "a part of its command is not a plain text");
	else if (e->word_n == ENTRY_WORDS_MAX)
		other(e, "its command has too many arguments");
	else
		e->word[e->word_n++] = t->node[i].text;
}

static void
add_words(const struct config_tree *t, struct entry *e, size_t list)
{
	if (t->node[list].type != NODE_ARRAY) {
		other(e, "its arguments are not a list");
		return;
	}
	for (size_t i = t->node[list].first; i != TREE_NONE; i = t->node[i].next)
		add_word(t, e, i);
}

static void
take_command(const struct config_tree *t, const struct client_file *f, size_t object,
    struct entry *e)
{
	size_t from = object;

	/* the names that its client reads: Goose ignores `command` */
	e->command =
	    entry_member(t, object, e, f->dialect == DIALECT_YAML ? "cmd" : "command");
	if (e->command == TREE_NONE) {
		other(e, "it has no command");
		return;
	}
	if (t->node[e->command].type == NODE_OBJECT) { /* an older form of Zed */
		from = e->command;
		e->command = entry_member(t, from, e, "path");
		entry_take_variables(t, f, from, e);
		if (e->command == TREE_NONE) {
			other(e, "it has no command");
			return;
		}
	}
	e->args = entry_member(t, from, e, "args");
	if (t->node[e->command].type == NODE_ARRAY)
		add_words(t, e, e->command);
	else
		add_word(t, e, e->command);
	if (e->args != TREE_NONE)
		add_words(t, e, e->args);
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* The URL that mcp-remote connects to, in `npx [-y] mcp-remote[@VERSION] URL ...`; or NULL. */
static const char *
bridged_url(const struct entry *e)
{
	static const char name[] = "mcp-remote";

	for (size_t i = 0; i + 1 < e->word_n; i++) {
		const char *word = base_name(e->word[i]), *url = e->word[i + 1];
		char end =
		    word[strncmp(word, name, strlen(name)) == 0 ? strlen(name) : 0];

		if ((end == '\0' || end == '@') && word[0] != '\0' &&
		    strncmp(word, name, strlen(name)) == 0 &&
		    (strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0))
			return url;
	}
	return NULL;
}

/* What makes a command unfit for a policy. */
static void
judge(const struct config_tree *t, const struct client_file *f, size_t object,
    struct entry *e)
{
	/* what is wrong with a variable does not matter to one that kennel starts */
	if (e->kind != ENTRY_COMMAND && e->about == NULL)
		return;
	if (e->word_n == 0 || e->word[0][0] == '\0') {
		other(e, "it has no command");
		return;
	}
	if (strcmp(base_name(e->word[0]), "kennel") == 0) {
		e->kind = ENTRY_KENNEL;
		return;
	}
	if (e->kind != ENTRY_COMMAND)
		return;
	entry_take_manager(f, e);
	e->bridged = bridged_url(e);
	if (e->bridged != NULL)
		other(e, "mcp-remote connects to a URL, which kennel does itself");
	for (size_t k = 0; k < e->word_n; k++)
		if (client_has_reference(f->client, e->word[k]))
			other(e, "its client fills in a part of the command");
	if (entry_member(t, object, e, "envFile") != TREE_NONE)
		other(e, "its variables are in another file (envFile)");
	else if (secret_shaped_args(e->word, e->word_n) >= 0)
		other(e, "an argument looks like a secret: give it in a variable");
}

static void
take_remote(const struct config_tree *t, const struct client_file *f, size_t object,
    struct entry *e)
{
	const char *why = remote_take(t, f, object, e);

	e->kind = ENTRY_REMOTE;
	if (why == NULL)
		return;
	e->word_n = e->variable_n = e->clear_n = 0;
	other(e, why);
}

static void
take_entry(const struct config_tree *t, const struct client_file *f, size_t object,
    struct entry *e)
{
	e->name = t->node[object].key;
	e->command = e->args = e->env = TREE_NONE;
	e->object = object;
	e->url = e->type = e->headers = TREE_NONE;
	if (t->node[object].type != NODE_OBJECT) {
		other(e, "it is not an object");
		return;
	}
	entry_take_settings(t, f, object, e);
	if (remote_is(t, object)) {
		take_remote(t, f, object, e);
		return;
	}
	take_command(t, f, object, e);
	entry_take_variables(t, f, object, e);
	e->cwd = config_text(t, object, "cwd");
	judge(t, f, object, e);
}

/* ---- the file ---------------------------------------------------------------- */

/* The next member with this key after this one, or the first after TREE_NONE. Clients
 * read one of two, and no two of them the same: both are looked at. */
static size_t
next_of(const struct config_tree *t, size_t object, const char *key, size_t after)
{
	size_t i = after == TREE_NONE ? t->node[object].first : t->node[after].next;

	while (i != TREE_NONE && t->node[object].type == NODE_OBJECT &&
	       (t->node[i].key == NULL || !config_key_is(t, t->node[i].key, key)))
		i = t->node[i].next;
	return t->node[object].type == NODE_OBJECT ? i : TREE_NONE;
}

static int
take_list(const struct config_tree *t, const struct client_file *f, size_t list,
    const char *project, struct entries *ret)
{
	struct entry *more;

	for (size_t i = t->node[list].first; i != TREE_NONE; i = t->node[i].next) {
		if (t->node[i].key == NULL)
			continue;
		if (ret->n == ENTRIES_MAX)
			return -E2BIG;
		more = reallocarray(ret->entry, ret->n + 1, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		ret->entry = more;
		more[ret->n] = (struct entry){.project = project};
		take_entry(t, f, i, &more[ret->n]);
		/* neither a client nor a person knows which text is in force */
		if (t->node[i].ambiguous)
			other(&more[ret->n], duplicate);
		else if (t->twice != TREE_NONE)
			other(&more[ret->n], "its file has a duplicate key");
		ret->n++;
	}
	return 0;
}

/* A list, or a text, is no absence: a client may find servers in it. */
static int
must_be_object(struct config_tree *t, size_t at)
{
	const struct config_node *n = &t->node[at];
	bool empty = n->type == NODE_STRING && n->text != NULL && n->text[0] == '\0';

	if (n->type == NODE_OBJECT || n->type == NODE_OTHER || empty)
		return 0;
	return config_bad(
	    t, n->from, "expected the servers as an object, by their names");
}

static int
take_key(struct config_tree *t, const struct client_file *f, size_t object,
    const char *key, const char *project, struct entries *ret)
{
	size_t list = TREE_NONE;
	int r = must_be_object(t, object);

	while (r == 0 && (list = next_of(t, object, key, list)) != TREE_NONE) {
		r = must_be_object(t, list);
		if (r == 0 && t->node[list].type == NODE_OBJECT)
			r = take_list(t, f, list, project, ret);
	}
	return r;
}

static int
take_servers(struct config_tree *t, const struct client_file *f, size_t object,
    const char *project, struct entries *ret)
{
	const char *dot = strchr(f->key, '.');
	int r = take_key(t, f, object, f->key, project, ret);
	char first[KEY_MAX + 1];
	size_t in = TREE_NONE;

	if (dot == NULL || dot - f->key > KEY_MAX)
		return r;
	(void)snprintf(
	    first, sizeof(first), "%.*s", (int)(dot - f->key), f->key); /* fits */
	while (r == 0 && (in = next_of(t, object, first, in)) != TREE_NONE)
		if (t->node[in].type == NODE_OBJECT)
			r = take_key(t, f, in, dot + 1, project, ret);
	return r;
}

int
entries_find(struct config_tree *t, const struct client_file *f, struct entries *ret)
{
	size_t projects = TREE_NONE;
	int r = f->folds ? config_fold(t, f->key) : 0;

	*ret = (struct entries){.n = 0};
	if (r == 0)
		r = take_servers(t, f, 0, NULL, ret);
	while (r == 0 && f->projects &&
	       (projects = next_of(t, 0, "projects", projects)) != TREE_NONE) {
		r = must_be_object(t, projects);
		for (size_t i = t->node[projects].first; r == 0 && i != TREE_NONE;
		     i = t->node[i].next)
			r = take_servers(t, f, i, t->node[i].key, ret);
	}
	return r;
}

void
entries_free(struct entries *e)
{
	free(e->entry);
	*e = (struct entries){.n = 0};
}

bool
entry_is_server(const struct entry *e)
{
	return e->kind == ENTRY_COMMAND || e->kind == ENTRY_REMOTE;
}

static const char *
risk_of(const struct entry *e)
{
	static const char *const fetches[] = {
	    "npx", "bunx", "uvx", "pipx", "pnpm", "yarn"};

	if (e->kind == ENTRY_REMOTE)
		return "remote: its calls are not checked";
	for (size_t i = 0; i < ARRAY_LEN(fetches); i++)
		if (strcmp(base_name(e->word[0]), fetches[i]) == 0)
			return "fetches its code at each start; no sandbox";
	if (strcmp(base_name(e->word[0]), "docker") == 0 ||
	    strcmp(base_name(e->word[0]), "podman") == 0)
		return "uses a container daemon";
	return "no sandbox";
}

const char *
entry_risk(const struct entry *e)
{
	static char text[RISK_MAX];
	char url[REMOTE_SHOWN_CAP];
	size_t n;

	if (e->kind == ENTRY_KENNEL)
		return "";
	n = (size_t)snprintf(text, sizeof(text), "%s%s%s%s%s",
	    e->disabled ? "disabled; " : "", e->kind == ENTRY_OTHER ? e->why : risk_of(e),
	    e->about == NULL ? "" : " (", e->about == NULL ? "" : e->about,
	    e->about == NULL ? "" : ")"); /* or cut */
	if (e->proposed != NULL && n < sizeof(text))
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "; in a policy: `secret %s from cmd /usr/bin/op \"read\" \"%s\" { "
		    "may "
		    "network }`",
		    e->about, e->proposed); /* or cut */
	if (e->bridged != NULL && n < sizeof(text)) {
		remote_shown(e->bridged, url);
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "; in a policy: `remote \"%s\"` with `auth` for a credential",
		    url); /* or cut */
	}
	for (size_t i = 0; i < e->variable_n && n < sizeof(text); i++)
		if (e->variable[i].note != NULL)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "; %s %s",
			    e->variable[i].name, e->variable[i].note); /* or cut */
	return text;
}
