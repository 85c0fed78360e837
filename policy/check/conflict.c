/*
 * Conflicts between statements: duplicates, and secrets as files.  For
 * conflicts between what a server may write and what runs or decides, see
 * trusted.h.
 */
#define DIAG_CODE "conflict"

#include "policy/base/arena.h"
#include "policy/check/check.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/policy.h"

#include <stdlib.h>
#include <string.h>

/* ---- duplicates ---------------------------------------------------------- */

/* A name that may be defined once, and its position. */
struct claim {
	const char *name;
	unsigned int space; /* names in different spaces do not conflict */
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

/* "line 7", or "other.kennel:7" for another file. */
static const char *
place(const struct check *c, struct at at, struct at from, char *out, size_t cap)
{
	const char *path = c->tree->source[at.file].path;
	char shown[DIAG_TEXT_CAP];

	if (at.file == from.file || path == NULL)
		(void)snprintf(out, cap, "on line %u", at.line); /* may be truncated */
	else
		(void)snprintf(
		    out, cap, "at %s:%u", diag_text(shown, path, strlen(path)), at.line);
	return out;
}

/* Reports every claim except the first of its name. */
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
		diag_error(c->diag, row->at, "duplicate `%s`%s: first defined %s",
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

/* ---- secrets as files ---------------------------------------------------- */

/* `limit files`, if the server sets it; else NULL. */
static const struct word *
files_limit(const struct stmt *s)
{
	for (size_t i = 0; s->kw == KW_LIMIT && i + 1 < s->word_n; i += 2)
		if (limit_kind(s->kw, s->word[i].text) == LIMIT_FILES)
			return &s->word[i + 1];
	return NULL;
}

/* A secret as a file is a descriptor, and its name is a path in /proc. */
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
		    "`as file` needs /proc, but `no-proc` on line %u removes it",
		    no_proc->at.line);
	if (n > SECRET_FILES_MAX)
		diag_error(c->diag, stmt_qual(last, KW_AS)->at,
		    "too many secrets `as file`: a server can have at most %d",
		    SECRET_FILES_MAX);
	if (files != NULL && limit_value(LIMIT_FILES, files->text, &most) == 0 &&
	    most < SECRET_FILE_FD + n)
		diag_error(c->diag, files->at,
		    "too low: secrets `as file` use the descriptors from %d on; set "
		    "`files` to %llu or more",
		    SECRET_FILE_FD, (unsigned long long)(SECRET_FILE_FD + n));
}

/* ---- timeouts ------------------------------------------------------------- */

/* Progress prolongs a call, so the bound of that is no less than the call's own time. */
static void
call_most(struct check *c)
{
	static const struct policy none = {0};
	static const struct sealed_server defaults = {0};
	uint64_t call = policy_limit(&none, &defaults, TIMEOUT_CALL), most = 0;
	const struct word *at = NULL;
	const struct stmt *s;

	for (size_t i = 0; i < c->server->stmt_n; i++) {
		s = &c->server->stmt[i];
		for (size_t k = 0; s->kw == KW_TIMEOUT && k + 1 < s->word_n; k += 2) {
			enum sealed_limit_kind kind = limit_kind(s->kw, s->word[k].text);

			if (kind != TIMEOUT_CALL && kind != TIMEOUT_MOST)
				continue;
			if (kind == TIMEOUT_MOST)
				at = &s->word[k + 1];
			/* a value that is not valid is reported elsewhere */
			if (limit_value(kind, s->word[k + 1].text,
				kind == TIMEOUT_CALL ? &call : &most) != 0)
				return;
		}
	}
	if (at != NULL && most < call)
		diag_error(c->diag, at->at,
		    "too short: `most` bounds a call that sends progress, and a call "
		    "without progress may take %llu ms; set `most` to that or more",
		    (unsigned long long)call);
}

/* ---- limits of calls ------------------------------------------------------ */

/* A session keeps the time of each call that a rate counts. */
static void
rates(struct check *c)
{
	uint64_t sum = 0;
	uint32_t calls, ms;

	for (size_t i = 0; i < c->server->stmt_n; i++) {
		const struct stmt *s = &c->server->stmt[i];
		const struct qual *q = stmt_qual(s, KW_RATE);

		if (q == NULL || rate_read(q->word[0].text, &calls, &ms) != 0)
			continue;
		sum += (uint64_t)calls * s->word_n;
		if (sum <= CALL_RATE_SUM_MAX)
			continue;
		diag_error(c->diag, q->at,
		    "too high: the rates of all names of a server add up to at most %u "
		    "calls; lower them, or use `quota`",
		    CALL_RATE_SUM_MAX);
		return;
	}
}

/* ---- all checks ---------------------------------------------------------- */

void
conflict_server(struct tree *tree, const struct server *server, struct diag *diag)
{
	struct check c = {.tree = tree, .diag = diag, .server = server};
	struct claims list = {NULL, 0};
	size_t i;

	for (i = 0; i < server->stmt_n; i++)
		claim_stmt(&c, &list, &server->stmt[i]);
	claims_report(&c, &list, " in this server");
	secret_files(&c);
	call_most(&c);
	rates(&c);
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
	claims_report(&c, &list, " as a server name");
}
