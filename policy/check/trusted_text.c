/*
 * Collects trusted files and write grants of all servers of a checked text, and
 * reports errors where they overlap.
 */
#define DIAG_CODE "conflict"

#include "policy/check/trusted.h"
#include "policy/lang/parse.h"
#include "policy/lang/scalar.h"
#include "shim/base/array.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/check/check.h"
#include "policy/lang/secret_source.h"
#include "policy/sources/sources.h"

/* The work in progress: one text, statement after statement. */
struct gather {
	struct tree *tree;
	struct trusted *to;
	const struct server *server; /* NULL: none */
	unsigned int group;
	int error; /* 0 or -ENOMEM */
};

static struct trusted_line
line_of(const struct gather *g, struct at at)
{
	return (struct trusted_line){
	    .server = g->server != NULL ? g->server->name.text : NULL,
	    .file = g->tree->source[at.file].path,
	    .line = at.line,
	    .at = at,
	    .group = g->group};
}

static void
file_put(struct gather *g, enum trusted_use use, struct at at, const char *path)
{
	struct trusted_file f = {.by = line_of(g, at), .use = use, .right = RIGHT_WRITE};

	if (g->error == 0)
		g->error = trusted_add_file(g->to, &f, path, false);
}

/* A word of a command that runs outside the cell. */
static void
word_put(struct gather *g, enum trusted_use use, struct at at, const char *word)
{
	struct trusted_file f = {.by = line_of(g, at), .use = use, .right = RIGHT_WRITE};

	if (g->error == 0)
		g->error = trusted_add_word(g->to, &f, word);
}

/* ---- statements ------------------------------------------------------------ */

static void
gather_grant(struct gather *g, const struct stmt *s)
{
	uint32_t right = RIGHT_READ | (s->kw == KW_WRITE ? RIGHT_WRITE : 0u);
	struct trusted_line by;

	for (size_t i = 0; i < s->word_n && g->error == 0; i++) {
		if (!path_is_normal(s->word[i].text))
			continue; /* reported */
		by = line_of(g, s->word[i].at);
		g->error = trusted_add_grant(g->to, &by, s->word[i].text, right, false);
	}
}

static void
gather_program(struct gather *g, const struct stmt *s)
{
	const struct word *w = s->word;

	if (s->has_verdict && s->verdict == VERDICT_DENY)
		return;
	if (path_is_normal(w[0].text) && w[0].text[1] != '\0')
		file_put(g, s->kw == KW_RUN ? USE_RUN : USE_EXEC, w[0].at, w[0].text);
	for (size_t i = 1; i < s->word_n; i++)
		if (w[i].text[0] == '/' && path_is_normal(w[i].text))
			file_put(g, USE_ARGUMENT, w[i].at, w[i].text);
}

/* The source after `from`.  A command runs outside the cell, as the user. */
static void
gather_source(struct gather *g, const struct stmt *s)
{
	const struct source_row *row = source_find(s->word[1].text);
	bool plugin = strcmp(s->word[1].text, "plugin") == 0;
	enum trusted_use use = plugin ? USE_PLUGIN : USE_SECRET_CMD;

	if (row != NULL && row->program != NULL) {
		word_put(g, USE_SECRET_CMD, s->word[1].at, source_program(row));
		return;
	}
	if (row != NULL && row->source == SOURCE_FILE)
		use = USE_SECRET_FILE;
	else if (!plugin && (row == NULL || row->source != SOURCE_CMD))
		return;
	for (size_t i = 2; i < s->word_n; i++) {
		if (use != USE_SECRET_FILE)
			word_put(g, use, s->word[i].at, s->word[i].text);
		else if (path_is_normal(s->word[i].text))
			file_put(g, use, s->word[i].at, s->word[i].text);
	}
}

/*
 * Also the program that serves `from source`, and the secrets that it needs to
 * log in.
 */
static void
gather_secret(struct gather *g, const struct stmt *s)
{
	struct diag mute = {.out = NULL}; /* errors were already reported */
	const struct source_answer *a;
	struct stmt own;

	if (s->word_n < 3)
		return;
	gather_source(g, s);
	if (s->word_n != 3 || strcmp(s->word[1].text, "source") != 0)
		return;
	a = route_answer(g->tree, s, &mute);
	for (size_t i = 0; a != NULL && i < a->source->credential_n; i++)
		gather_source(g, &a->credential[i].stmt);
	if (a == NULL)
		return;
	own = a->stmt;
	gather_source(g, &own);
	if (a->source->sidecar != NULL)
		file_put(g, USE_SIDECAR, s->word[2].at, a->source->sidecar->path);
	if (g->tree->sources != NULL && g->tree->sources->file != NULL)
		file_put(g, USE_ROUTES, s->word[2].at, g->tree->sources->file);
}

static void
gather_pins(struct gather *g, const struct stmt *s)
{
	const char *why = NULL, *path;

	path = include_path(
	    g->tree, g->tree->source[s->at.file].path, s->word[0].text, &why);
	if (path != NULL)
		file_put(g, USE_PINS, s->word[0].at, path);
}

typedef void gather_fn(struct gather *, const struct stmt *);

/*
 * Statements that name files which decide; all other statements decide by their
 * text.
 */
static const struct {
	enum keyword kw;
	gather_fn *fn;
} statements[] = {
    {KW_EXEC, gather_program},
    {KW_PINS, gather_pins},
    {KW_READ, gather_grant},
    {KW_RUN, gather_program},
    {KW_SECRET, gather_secret},
    {KW_WRITE, gather_grant},
};

static void
gather_servers(struct gather *g)
{
	const struct stmt *s;

	for (size_t i = 0; i < g->tree->server_n; i++) {
		g->server = &g->tree->server[i];
		for (size_t k = 0; k < g->server->stmt_n; k++) {
			s = &g->server->stmt[k];
			for (size_t n = 0; n < ARRAY_LEN(statements); n++)
				if (statements[n].kw == s->kw)
					statements[n].fn(g, s);
		}
	}
	g->server = NULL;
}

/* The files of the policy itself. */
static void
gather_texts(struct gather *g)
{
	const struct tree *t = g->tree;
	const struct include *in;

	for (size_t i = 0; i < t->source_own; i++)
		if (t->source[i].path != NULL)
			file_put(g, USE_POLICY, (struct at){.file = (uint32_t)i},
			    t->source[i].path);
	for (size_t i = 0; i < t->include_n; i++) {
		in = &t->include[i];
		if (in->file < t->source_n && t->source[in->file].path != NULL)
			file_put(g, USE_INCLUDE, in->path.at, t->source[in->file].path);
	}
}

static void
gather_all(struct gather *g)
{
	gather_texts(g);
	gather_servers(g);
}

/* ---- kennel's own ----------------------------------------------------------- */

/*
 * The caller's directories, by the first variable that is set.  A start knows
 * its own exactly (supervisor/launch/self_protect.c); this informs the author
 * of a policy.
 */
static const struct own {
	const char *what;
	uint32_t right;
	const char *place[3][2]; /* variable, and a suffix for its value */
} own[] = {
    {"kennel's configuration", RIGHT_WRITE,
	{{"KENNEL_HOME", "/policies"}, {"XDG_CONFIG_HOME", "/kennel"},
	    {"HOME", "/.config/kennel"}}},
    {"kennel's sealed policies", RIGHT_WRITE, {{"KENNEL_HOME", "/sealed"}}},
    {"kennel's trust keys", RIGHT_WRITE, {{"KENNEL_HOME", "/trust"}}},
    {"the audit log", RIGHT_WRITE,
	{{"KENNEL_HOME", "/audit"}, {"XDG_STATE_HOME", "/kennel"},
	    {"HOME", "/.local/state/kennel"}}},
    {"the kept checkpoints of the audit log", RIGHT_WRITE,
	{{"KENNEL_HOME", "/audit.kept"}}},
    {"kennel's vault", RIGHT_READ | RIGHT_WRITE,
	{{"KENNEL_HOME", "/vault"}, {"XDG_DATA_HOME", "/kennel/vault"},
	    {"HOME", "/.local/share/kennel/vault"}}},
};

static int
trusted_own(struct trusted *t)
{
	struct trusted_file f = {.use = USE_OWN, .below = true};
	const char *base = NULL;
	char path[PATH_MAX];
	size_t i, k;
	int n, r = 0;

	for (i = 0; r == 0 && i < ARRAY_LEN(own); i++) {
		for (k = 0; k < 3 && own[i].place[k][0] != NULL; k++)
			if ((base = getenv(own[i].place[k][0])) != NULL && base[0] == '/')
				break;
		if (k == 3 || own[i].place[k][0] == NULL)
			continue;
		n = snprintf(path, sizeof(path), "%s%s", base, own[i].place[k][1]);
		if (n < 0 || (size_t)n >= sizeof(path))
			continue;
		f.what = own[i].what;
		f.right = own[i].right;
		r = trusted_add_file(t, &f, path, false);
	}
	return r;
}

/* ---- errors ---------------------------------------------------------------- */

static bool
report(void *arg, const struct trusted_file *f, const char *real,
    const struct trusted_grant *g)
{
	struct diag *d = arg;
	char text[TRUSTED_TEXT_MAX];
	struct at at = f->by.line > 0 ? f->by.at : g->by.at;

	trusted_text(text, f, real, g);
	d->hide_line = f->use >= USE_SECRET_FILE && f->use <= USE_ROUTES;
	if (f->use == USE_ARGUMENT)
		diag_warning(d, at, "%s", text);
	else
		diag_error(d, at, "%s", text);
	d->hide_line = false;
	return true;
}

void
trusted_check(struct tree *tree, struct diag *diag)
{
	struct gather g = {.tree = tree, .to = trusted_new(tree->arena)};

	tree->trusted = g.to;
	if (g.to == NULL)
		g.error = -ENOMEM;
	if (g.error == 0)
		gather_all(&g);
	if (g.error == 0)
		g.error = trusted_own(g.to);
	if (g.error < 0)
		diag_error(diag, (struct at){.file = 0}, "out of memory");
	else
		trusted_pairs(g.to, report, diag);
}

int
trusted_collect(struct tree *tree)
{
	struct gather g = {.tree = tree, .to = tree->known, .group = tree->known_group};

	if (tree->known != NULL)
		gather_all(&g);
	return g.error;
}

int
trusted_need(const struct tree *t, const struct server *server, enum trusted_use use,
    bool below, struct at at, const char *real, struct diag *d)
{
	struct trusted_file f = {.by = {.server = server->name.text,
				     .file = t->source[at.file].path,
				     .line = at.line,
				     .at = at,
				     .group = t->known_group},
	    .use = use,
	    .right = RIGHT_WRITE,
	    .below = below,
	    .path = &real,
	    .path_n = 1};

	if (t->trusted != NULL)
		trusted_reach(t->trusted, &f, report, d);
	return t->known != NULL ? trusted_add_file(t->known, &f, real, true) : 0;
}
