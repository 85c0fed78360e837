/*
 * The sidecar of a plugin: metadata by its author, and the digest of the
 * program.  It uses the syntax of the policy language; no line of it is shown.
 */
#define DIAG_CODE "sources"

#include "policy/lang/lex.h"
#include "policy/lang/scalar.h"
#include "policy/sources/private.h"
#include "shim/base/array.h"

#include <errno.h>
#include <string.h>

#include "policy/lang/check_word.h"
#include "shim/base/hex.h"

static void
plugin_version(struct source_reading *r, const struct source_line *l)
{
	r->sidecar->version = reading_text(r, &l->word[1]);
}

static void
plugin_run(struct source_reading *r, const struct source_line *l)
{
	const struct word *w = &l->word[1];

	if (!path_is_normal(w->text) || check_is_loader(w->text))
		diag_error(r->diag, w->at,
		    "expected the absolute path of a program, without `.` and `..`");
	r->sidecar->program = reading_text(r, w);
}

static void
plugin_sha256(struct source_reading *r, const struct source_line *l)
{
	const struct word *w = &l->word[1];

	if (!hex_get(w->text, w->len, r->sidecar->sha256, 32))
		diag_error(r->diag, w->at, "expected 64 lower-case hex digits");
}

static void
plugin_env(struct source_reading *r, const struct source_line *l)
{
	size_t i;

	for (i = 1; i < l->n; i++) {
		if (!reading_is_own(&l->word[i]) &&
		    !reading_variable_good(r, &l->word[i]))
			continue;
		if (r->sidecar->env_n == SOURCES_ENV_MAX) {
			diag_error(r->diag, l->word[i].at, "more than %d variables",
			    SOURCES_ENV_MAX);
			return;
		}
		r->sidecar->env[r->sidecar->env_n++] = reading_text(r, &l->word[i]);
	}
}

static const struct field_row plugin_rows[] = {
    {"version", plugin_version, 1, 1, true, true, "one word"},
    {"run", plugin_run, 1, 1, true, true, "one path"},
    {"sha256", plugin_sha256, 1, 1, true, true, "the program's SHA-256"},
    {"env", plugin_env, 1, SOURCES_ENV_MAX, false, false, "names of variables"},
};

int
sidecar_parse(struct arena *arena, const struct policy_source *s, struct diag *diag,
    struct sidecar *ret)
{
	struct sidecar car = {.path = s->path};
	struct source_reading r = {.arena = arena, .diag = diag, .sidecar = &car};
	size_t before = diag->error_n;
	struct at at = {.line = 1, .col = 1};
	struct source_line l;

	lex_scan(s, 0, diag);
	lex_init(&r.lex, s, 0, arena, diag);
	reading_advance(&r);
	while (r.tok.kind == TOKEN_NEWLINE)
		reading_advance(&r);
	l.n = 0;
	if (r.tok.kind == TOKEN_WORD)
		at = r.tok.at;
	if (!reading_line(&r, &l) || l.n != 2 || r.tok.kind != TOKEN_OPEN ||
	    strcmp(l.word[0].text, "plugin") != 0 || !reading_name_good(&l.word[1])) {
		diag_error(diag, at, "expected `plugin NAME {`");
		goto out;
	}
	car.name = reading_text(&r, &l.word[1]);
	reading_block(&r, plugin_rows, ARRAY_LEN(plugin_rows), at);
	while (r.tok.kind == TOKEN_NEWLINE)
		reading_advance(&r);
	if (r.tok.kind != TOKEN_END)
		diag_error(diag, r.tok.at, "a sidecar describes exactly one plugin");
out:
	if (r.error != 0)
		return r.error;
	if (diag->error_n > before)
		return -EINVAL;
	*ret = car;
	return 0;
}
