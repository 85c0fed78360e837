/*
 * Statements against each other: what stands twice, and grants that would undo
 * what another one promises.
 */
#include "policy/check/check.h"
#include "policy/sources/sources.h"
#include "policy/lang/secret_source.h"

#include <stdlib.h>
#include <string.h>

/* ---- what stands twice --------------------------------------------------- */

/* A name that may be given once, and where. */
struct claim {
	const char *name;
	unsigned int space; /* names of different spaces do not meet */
	size_t order;
	struct at at;
	bool hidden;
};

enum claim_space {
	SPACE_VARIABLE,
	SPACE_WORD,
	SPACE_LIMIT,
	SPACE_TIMEOUT,
	SPACE_REQUIRE
};

struct claims {
	struct claim *row;
	size_t n;
};

static void
claim(struct check *c, struct claims *list, unsigned int space, const char *name,
    const struct at *at, bool hidden)
{
	struct claim *row = arena_push(c->tree->arena, list->row, list->n, sizeof(*row));

	if (row == NULL)
		return; /* the next allocation that matters reports it */
	row[list->n] = (struct claim){name, space, list->n, *at, hidden};
	list->row = row;
	list->n++;
}

static int
claim_order(const void *va, const void *vb)
{
	const struct claim *a = va, *b = vb;
	int d;

	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	d = strcmp(a->name, b->name);
	if (d != 0)
		return d;
	return a->order < b->order ? -1 : 1;
}

/* "line 7", or "other.kennel:7" when that is another file. */
static const char *
place(const struct check *c, struct at at, struct at from, char *out, size_t cap)
{
	const char *path = c->tree->source[at.file].path;
	char shown[DIAG_TEXT_CAP];

	if (at.file == from.file || path == NULL)
		(void)snprintf(out, cap, "line %u", at.line); /* cut is good enough */
	else
		(void)snprintf(
		    out, cap, "%s:%u", diag_text(shown, path, strlen(path)), at.line);
	return out;
}

/* Report every claim that is not the first of its name. */
static void
claims_report(struct check *c, struct claims *list, const char *where)
{
	const struct claim *first = NULL, *row;
	char text[DIAG_TEXT_CAP + 16];
	struct shown s;
	size_t i;

	if (list->n > 1)
		qsort(list->row, list->n, sizeof(*list->row), claim_order);
	for (i = 0; i < list->n; i++) {
		row = &list->row[i];
		if (first == NULL || first->space != row->space ||
		    strcmp(first->name, row->name) != 0) {
			first = row;
			continue;
		}
		c->diag->hide_line = row->hidden;
		diag_error(c->diag, row->at, "`%s` stands twice%s; the first is on %s",
		    diag_text(s.text, row->name, strlen(row->name)), where,
		    place(c, first->at, row->at, text, sizeof(text)));
	}
	c->diag->hide_line = false;
}

/* `as file` sets NAME_FILE. */
static void
claim_file(struct check *c, struct claims *list, const struct word *name)
{
	char *text = arena_alloc(c->tree->arena, name->len + sizeof("_FILE"));

	if (text == NULL)
		return; /* as in claim() */
	memcpy(text, name->text, name->len);
	memcpy(text + name->len, "_FILE", sizeof("_FILE"));
	claim(c, list, SPACE_VARIABLE, text, &name->at, true);
}

static void
claim_stmt(struct check *c, struct claims *list, const struct stmt *s)
{
	size_t i;

	if (keyword_row(s->kw)->once)
		claim(c, list, SPACE_WORD, keyword_name(s->kw), &s->at, false);
	if (s->kw == KW_ENV || s->kw == KW_SECRET)
		claim(c, list, SPACE_VARIABLE, s->word[0].text, &s->word[0].at, true);
	if (s->kw == KW_SECRET && stmt_qual(s, KW_AS) != NULL)
		claim_file(c, list, &s->word[0]);
	if (s->kw == KW_REQUIRE)
		claim(c, list, SPACE_REQUIRE, s->word[0].text, &s->word[0].at, false);
	for (i = 0; (s->kw == KW_LIMIT || s->kw == KW_TIMEOUT) && i < s->word_n; i += 2)
		if (limit_kind(s->kw, s->word[i].text) != 0)
			claim(c, list, s->kw == KW_LIMIT ? SPACE_LIMIT : SPACE_TIMEOUT,
			    s->word[i].text, &s->word[i].at, false);
}

/* ---- grants against each other ------------------------------------------- */

/* The write grant of the server that holds this path, or NULL. */
static const struct word *
written(const struct server *s, const char *p)
{
	size_t i, k;

	for (i = 0; i < s->stmt_n; i++)
		for (k = 0; s->stmt[i].kw == KW_WRITE && k < s->stmt[i].word_n; k++)
			if (path_below(s->stmt[i].word[k].text, p) &&
			    path_is_normal(s->stmt[i].word[k].text))
				return &s->stmt[i].word[k];
	return NULL;
}

static void
against_write(struct check *c, const struct stmt *s)
{
	const struct word *w;
	size_t i;

	if (!path_is_normal(s->word[0].text) || s->word[0].text[1] == '\0')
		return;
	w = written(c->server, s->word[0].text);
	if (w != NULL)
		diag_error(c->diag, s->word[0].at,
		    "the same file cannot be both writable and startable: "
		    "`write` on line %u holds it",
		    w->at.line);
	for (i = 1; i < s->word_n; i++) {
		if (s->word[i].text[0] != '/' || !path_is_normal(s->word[i].text))
			continue;
		w = written(c->server, s->word[i].text);
		if (w != NULL && w->len < s->word[i].len)
			diag_warning(c->diag, s->word[i].at,
			    "the server may write here (`write` on line %u): "
			    "this path says nothing about what is run",
			    w->at.line);
	}
}

/* A secret's command runs outside of the cell, as the person: what the server
 * could change must not reach it. */
static void
secret_against_write(struct check *c, const struct stmt *s)
{
	const struct source_row *row = source_find(s->word[1].text);
	const struct word *w;
	size_t i, words = 0;

	c->diag->hide_line = true;
	w = NULL;
	if (row != NULL && row->program != NULL)
		w = written(c->server, source_program(row));
	if (w != NULL)
		diag_error(c->diag, s->word[1].at,
		    "the server could change the program of this preset: `write` on "
		    "line %u holds it",
		    w->at.line);
	if (strcmp(s->word[1].text, "cmd") == 0 || strcmp(s->word[1].text, "plugin") == 0)
		words = s->word_n;
	for (i = 2; i < words; i++) {
		if (!path_is_normal(s->word[i].text))
			continue;
		w = written(c->server, s->word[i].text);
		if (w != NULL)
			diag_error(c->diag, s->word[i].at,
			    "the server could change what this command runs: "
			    "`write` on line %u holds it",
			    w->at.line);
	}
	c->diag->hide_line = false;
}

/* The same of what answers for it, and of what that needs to log in. */
static void
routed_against_write(struct check *c, const struct stmt *s)
{
	struct diag mute = {.out = NULL}; /* what is wrong was said */
	const struct answer *a;
	size_t i;

	if (s->word_n != 3 || strcmp(s->word[1].text, "source") != 0)
		return;
	a = routed_answer(c->tree, s, &mute);
	for (i = 0; a != NULL && i < a->source->credential_n; i++)
		secret_against_write(c, &a->credential[i].stmt);
	if (a != NULL)
		secret_against_write(c, &a->stmt);
}

/* `limit files`, where a server says it; else NULL. */
static const struct word *
files_limit(const struct stmt *s)
{
	for (size_t i = 0; s->kw == KW_LIMIT && i + 1 < s->word_n; i += 2)
		if (limit_kind(s->kw, s->word[i].text) == LIMIT_FILES)
			return &s->word[i + 1];
	return NULL;
}

/* A secret that is a file is a descriptor, and its name leads through /proc. */
static void
secret_files(struct check *c)
{
	const struct server *server = c->server;
	const struct word *files = NULL;
	const struct stmt *s, *no_proc = NULL, *last = NULL;
	uint64_t n = 0, most;

	for (size_t i = 0; i < server->stmt_n; i++) {
		s = &server->stmt[i];
		if (s->kw == KW_NO_PROC)
			no_proc = s;
		if (files_limit(s) != NULL)
			files = files_limit(s);
		if (s->kw != KW_SECRET || stmt_qual(s, KW_AS) == NULL)
			continue;
		last = s;
		n++;
	}
	if (last == NULL)
		return;
	if (no_proc != NULL)
		diag_error(c->diag, stmt_qual(last, KW_AS)->at,
		    "`as file` needs /proc, and `no-proc` on line %u says there is none",
		    no_proc->at.line);
	if (n > SECRET_FILES_MAX)
		diag_error(c->diag, stmt_qual(last, KW_AS)->at,
		    "a server has at most %d secrets `as file`", SECRET_FILES_MAX);
	if (files != NULL && limit_value(LIMIT_FILES, files->text, &most) == 0 &&
	    most < SECRET_FILE_FD + n)
		diag_error(c->diag, files->at,
		    "secrets `as file` are the descriptors from %d on: %llu or more",
		    SECRET_FILE_FD, (unsigned long long)(SECRET_FILE_FD + n));
}

/* Folders of whoever compiles that decide what servers may do. */
static const struct own {
	const char *variable, *below;
} own_folders[] = {
    {"KENNEL_HOME", ""},
    {"XDG_CONFIG_HOME", "/kennel"},
    {"XDG_STATE_HOME", "/kennel"},
    {"HOME", "/.config/kennel"},
    {"HOME", "/.local/state/kennel"},
};

static bool
hidden(const struct server *s, const char *p)
{
	size_t i, k;

	for (i = 0; i < s->stmt_n; i++)
		for (k = 0; s->stmt[i].kw == KW_HIDE && k < s->stmt[i].word_n; k++)
			if (path_is_normal(s->stmt[i].word[k].text) &&
			    path_below(s->stmt[i].word[k].text, p))
				return true;
	return false;
}

/* Whoever can write a policy needs none. */
static void
own_against_write(struct check *c)
{
	const struct word *w;
	const char *base;
	char p[4096];
	size_t i;
	int n;

	for (i = 0; i < sizeof(own_folders) / sizeof(own_folders[0]); i++) {
		base = getenv(own_folders[i].variable);
		if (base == NULL)
			continue;
		n = snprintf(p, sizeof(p), "%s%s", base, own_folders[i].below);
		if (n < 0 || (size_t)n >= sizeof(p) || !path_is_normal(p))
			continue;
		w = written(c->server, p);
		if (w != NULL && !hidden(c->server, p))
			diag_warning(c->diag, w->at,
			    "the server could change your policies or their log: "
			    "`hide %s`",
			    p);
	}
}

/* ---- in all -------------------------------------------------------------- */

void
conflict_server(struct tree *tree, const struct server *server, struct diag *diag)
{
	struct check c = {.tree = tree, .diag = diag, .server = server};
	struct claims list = {NULL, 0};
	const struct stmt *s;
	bool writes = false;
	size_t i;

	for (i = 0; i < server->stmt_n; i++) {
		claim_stmt(&c, &list, &server->stmt[i]);
		writes = writes || server->stmt[i].kw == KW_WRITE;
	}
	claims_report(&c, &list, " in this server");
	secret_files(&c);
	if (writes)
		own_against_write(&c);
	for (i = 0; writes && i < server->stmt_n; i++) {
		s = &server->stmt[i];
		if (s->kw == KW_RUN || (s->kw == KW_EXEC && s->verdict != VERDICT_DENY))
			against_write(&c, s);
		else if (s->kw == KW_SECRET) {
			secret_against_write(&c, s);
			routed_against_write(&c, s);
		}
	}
}

void
conflict_names(struct tree *tree, struct diag *diag)
{
	struct check c = {.tree = tree, .diag = diag};
	struct claims list = {NULL, 0};
	size_t i;

	for (i = 0; i < tree->server_n; i++)
		claim(&c, &list, SPACE_WORD, tree->server[i].name.text,
		    &tree->server[i].name.at, false);
	claims_report(&c, &list, " as a server's name");
}
