/*
 * Parses sources.kennel and the sidecars of plugins.  Both use the syntax of
 * the policy language, with one statement or field a line:
 *
 *	source NAME {			plugin NAME {
 *		from ...			version TEXT
 *		credential NAME from ...	run PATH
 *		env NAME [VALUE]		sha256 HEX
 *		may network			env NAME...
 *	}				}
 *	route PREFIX SOURCE
 *	secret PATH SOURCE [REFERENCE]
 *	default SOURCE
 *
 * Any word may be a misplaced secret value, so no line is shown.
 */
#define DIAG_CODE "sources"

#include "policy/base/arena.h"
#include "policy/lang/lex.h"
#include "policy/lang/scalar.h"
#include "policy/sources/private.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/lang/check_word.h"
#include "policy/lang/secret_path.h"
#include "policy/lang/secret_source.h"
#include "shim/host/path_open.h"

void
reading_advance(struct source_reading *r)
{
	if (lex_next(&r->lex, &r->tok) < 0) {
		r->error = -ENOMEM;
		r->tok.kind = TOKEN_END;
	}
}

/*
 * Reads the words up to a newline or a mark.  false: reported, and the line is
 * skipped.
 */
bool
reading_line(struct source_reading *r, struct source_line *ret)
{
	ret->n = 0;
	while (r->tok.kind == TOKEN_WORD && ret->n < WORDS_MAX) {
		ret->word[ret->n++] = r->tok.word;
		reading_advance(r);
	}
	if (r->tok.kind == TOKEN_NEWLINE || r->tok.kind == TOKEN_END ||
	    r->tok.kind == TOKEN_OPEN || r->tok.kind == TOKEN_CLOSE)
		return true;
	diag_error(r->diag, r->tok.at, "unexpected text");
	while (r->tok.kind != TOKEN_NEWLINE && r->tok.kind != TOKEN_END)
		reading_advance(r);
	return false;
}

static const struct field_row *
row_of(const struct field_row *rows, size_t n, const struct word *w, size_t *ret_index)
{
	size_t i;

	for (i = 0; i < n && !w->quoted; i++)
		if (strcmp(rows[i].name, w->text) == 0) {
			*ret_index = i;
			return &rows[i];
		}
	return NULL;
}

/* Does the line have the right number of words? */
static bool
words_fit(
    struct source_reading *r, const struct source_line *l, const struct field_row *row)
{
	if (l->n - 1 >= row->min && l->n - 1 <= row->max)
		return true;
	diag_error(r->diag, l->word[0].at, "`%s` takes %s", row->name, row->takes);
	return false;
}

static void
field_read(struct source_reading *r, const struct source_line *l,
    const struct field_row *rows, size_t n)
{
	const struct field_row *row;
	size_t i = 0;

	row = row_of(rows, n, &l->word[0], &i);
	if (row == NULL) {
		diag_error(r->diag, l->word[0].at, "unknown field in %s",
		    r->sources != NULL ? "a source" : "a plugin");
		return;
	}
	if (row->once && (r->seen & (1u << i)) != 0)
		diag_error(r->diag, l->word[0].at, "duplicate `%s`", row->name);
	r->seen |= 1u << i;
	if (words_fit(r, l, row))
		row->read(r, l);
}

/* Reads the lines between { and }; the current token is `{`. */
void
reading_block(
    struct source_reading *r, const struct field_row *rows, size_t n, struct at name)
{
	struct at open = r->tok.at;
	struct source_line l;
	size_t i;

	r->seen = 0;
	reading_advance(r);
	for (;;) {
		if (r->tok.kind == TOKEN_END) {
			diag_error(r->diag, open, "unclosed `{`: expected `}`");
			return;
		}
		if (r->tok.kind == TOKEN_CLOSE)
			break;
		if (r->tok.kind != TOKEN_WORD) {
			if (r->tok.kind != TOKEN_NEWLINE)
				diag_error(r->diag, r->tok.at, "expected a field");
			reading_advance(r);
			continue;
		}
		if (reading_line(r, &l))
			field_read(r, &l, rows, n);
		if (r->tok.kind == TOKEN_OPEN) {
			diag_error(
			    r->diag, r->tok.at, "`{` is not allowed after a field");
			reading_advance(r);
		}
	}
	reading_advance(r);
	for (i = 0; i < n; i++)
		if (rows[i].needed && (r->seen & (1u << i)) == 0)
			diag_error(r->diag, name, "`%s` is missing", rows[i].name);
}

/* Copies a line's words from the nth on to the arena. */
static struct word *
words_keep(struct source_reading *r, const struct source_line *l, size_t from)
{
	struct word *w = arena_alloc(r->arena, (l->n - from + 1) * sizeof(struct word));

	if (w == NULL) {
		r->error = -ENOMEM;
		return NULL;
	}
	memcpy(w, l->word + from, (l->n - from) * sizeof(*w));
	return w;
}

/* ---- names --------------------------------------------------------------------- */

bool
reading_name_good(const struct word *w)
{
	return !w->quoted && w->len <= SOURCES_NAME_MAX &&
	       secret_path_part(w->text, w->len);
}

/* One or more components of a secret's path. */
static bool
prefix_good(const struct word *w)
{
	const char *at = w->text, *slash;

	if (w->quoted || w->len > SECRET_PATH_MAX)
		return false;
	while ((slash = strchr(at, '/')) != NULL) {
		if (!secret_path_part(at, (size_t)(slash - at)))
			return false;
		at = slash + 1;
	}
	return secret_path_part(at, strlen(at));
}

bool
reading_variable_good(struct source_reading *r, const struct word *w)
{
	static const char *const fixed[] = {
	    "PATH", "HOME", "USER", "LANG", "XDG_RUNTIME_DIR"};
	struct tree none = {.arena = r->arena};
	struct check c = {.tree = &none, .diag = r->diag};
	size_t i;

	for (i = 0; i < ARRAY_LEN(fixed); i++)
		if (strcmp(w->text, fixed[i]) == 0) {
			diag_error(
			    r->diag, w->at, "%s is set by kennel: remove it", fixed[i]);
			return false;
		}
	return check_variable(&c, w);
}

/* Variables that kennel itself sets for a program. */
bool
reading_is_own(const struct word *w)
{
	static const char *const own[] = {"HOME", "USER", "LANG", "XDG_RUNTIME_DIR"};
	size_t i;

	for (i = 0; i < ARRAY_LEN(own); i++)
		if (strcmp(w->text, own[i]) == 0)
			return true;
	return false;
}

const char *
reading_text(struct source_reading *r, const struct word *w)
{
	char *text = arena_copy(r->arena, w->text, w->len);

	if (text == NULL)
		r->error = -ENOMEM;
	return text == NULL ? "" : text;
}

/* ---- a source ---------------------------------------------------------------------- */

/* Reads the sidecar that `from plugin` names. */
static void
source_sidecar(struct source_reading *r, const struct word *w)
{
	struct policy_source s = {.path = w->text};
	struct sidecar *car = arena_alloc(r->arena, sizeof(*car));
	struct diag own = {.out = r->diag->out,
	    .source = &s,
	    .source_n = 1,
	    .hide_all = true,
	    .quiet = true};
	char *text = NULL, why[PATH_WHY_MAX];
	int err;

	if (!path_is_normal(w->text)) {
		diag_error(r->diag, w->at, "expected an absolute path");
		return;
	}
	if (car == NULL) {
		r->error = -ENOMEM;
		return;
	}
	err = r->reader == NULL ? -EACCES
				: r->reader->read(r->reader->arg, w->text,
				      SOURCES_LEN_MAX, &text, &s.len);
	if (err == -ENOMEM)
		r->error = err;
	if (err < 0) {
		diag_error(r->diag, w->at, "unable to read this sidecar: %s",
		    path_why(w->text, err, why, sizeof(why)));
		return;
	}
	s.text = arena_copy(r->arena, text, s.len);
	free(text);
	s.path = reading_text(r, w);
	err = s.text == NULL ? -ENOMEM : sidecar_parse(r->arena, &s, &own, car);
	if (err == 0)
		r->source->sidecar = car;
	else if (err == -ENOMEM)
		r->error = err;
	else
		diag_error(r->diag, w->at,
		    "invalid sidecar: expected `plugin NAME { ... }` with version, run "
		    "and sha256");
}

static void
source_from(struct source_reading *r, const struct source_line *l)
{
	const struct source_row *row = source_find(l->word[1].text);
	bool plugin = strcmp(l->word[1].text, "plugin") == 0;

	if (l->word[1].quoted || (!plugin && (row == NULL || row->source == 0))) {
		diag_error(r->diag, l->word[1].at,
		    "expected a source: plugin SIDECAR, %s", source_list());
		return;
	}
	if (plugin && l->n != 3) {
		diag_error(r->diag, l->word[1].at, "`from plugin` takes one sidecar");
		return;
	}
	r->source->from = words_keep(r, l, 1);
	r->source->from_n = r->source->from == NULL ? 0 : l->n - 1;
	if (plugin)
		source_sidecar(r, &l->word[2]);
}

static void
source_credential(struct source_reading *r, const struct source_line *l)
{
	struct route_credential c = {.variable = l->word[1], .word_n = l->n - 3};
	size_t i;

	if (strcmp(l->word[2].text, "from") != 0 || l->word[3].quoted ||
	    source_find(l->word[3].text) == NULL) {
		diag_error(
		    r->diag, l->word[2].at, "expected a source: from %s", source_list());
		return;
	}
	if (strcmp(l->word[3].text, "source") == 0 &&
	    (l->n != 5 || secret_path_wrong(l->word[4].text, l->word[4].len) != NULL)) {
		diag_error(
		    r->diag, l->word[3].at, "`from source` takes the path of a secret");
		return;
	}
	if (!reading_variable_good(r, &l->word[1]))
		return;
	for (i = 0; i < r->source->credential_n; i++)
		if (strcmp(r->source->credential[i].variable.text, c.variable.text) ==
		    0) {
			diag_error(r->diag, l->word[1].at, "duplicate credential");
			return;
		}
	if (r->source->credential_n == SOURCES_CREDENTIALS) {
		diag_error(r->diag, l->word[0].at, "more than %d credentials",
		    SOURCES_CREDENTIALS);
		return;
	}
	c.word = words_keep(r, l, 3);
	if (c.word != NULL)
		r->source->credential[r->source->credential_n++] = c;
}

static void
source_env(struct source_reading *r, const struct source_line *l)
{
	struct route_source *s = r->source;
	char *text;
	size_t len;

	if (l->n == 2 ? !reading_is_own(&l->word[1])
		      : !reading_variable_good(r, &l->word[1])) {
		diag_error(r->diag, l->word[1].at,
		    "`env` takes a variable and its value, or HOME, USER, LANG or "
		    "XDG_RUNTIME_DIR");
		return;
	}
	if (s->env_n == SOURCES_ENV_MAX) {
		diag_error(
		    r->diag, l->word[0].at, "more than %d variables", SOURCES_ENV_MAX);
		return;
	}
	if (l->n == 2) {
		s->env[s->env_n++] = reading_text(r, &l->word[1]);
		return;
	}
	len = l->word[1].len + 1 + l->word[2].len;
	text = arena_alloc(r->arena, len + 1);
	if (text == NULL) {
		r->error = -ENOMEM;
		return;
	}
	memcpy(text, l->word[1].text, l->word[1].len);
	text[l->word[1].len] = '=';
	memcpy(text + l->word[1].len + 1, l->word[2].text, l->word[2].len + 1);
	s->env[s->env_n++] = text;
}

static void
source_may(struct source_reading *r, const struct source_line *l)
{
	size_t i;

	for (i = 1; i < l->n; i++) {
		if (strcmp(l->word[i].text, "network") == 0)
			r->source->may |= SECRET_MAY_NETWORK;
		else if (strcmp(l->word[i].text, "files") == 0)
			r->source->may |= SECRET_MAY_FILES;
		else
			diag_error(
			    r->diag, l->word[i].at, "`may` takes network, files or both");
	}
}

static const struct field_row source_rows[] = {
    {"from", source_from, 1, WORDS_MAX, true, true, "a source and its arguments"},
    {"credential", source_credential, 4, WORDS_MAX, false, false,
	"NAME from a source and its arguments"},
    {"env", source_env, 1, 2, false, false, "a variable and its value"},
    {"may", source_may, 1, 2, true, false, "network, files or both"},
};

/* ---- statements of the file ---------------------------------------------- */

static size_t
source_named(const struct sources *sources, const struct word *w)
{
	size_t i;

	for (i = 0; i < sources->source_n; i++)
		if (strcmp(sources->source[i].name.text, w->text) == 0)
			break;
	return i;
}

static void
statement_source(struct source_reading *r, const struct source_line *l)
{
	struct sources *sources = r->sources;
	size_t old = source_named(sources, &l->word[1]);
	/* read a surplus source too, to report its other errors */
	struct route_source *source = &sources->source[SOURCES_MAX];

	if (!reading_name_good(&l->word[1]))
		diag_error(r->diag, l->word[1].at,
		    "invalid source name: use lower-case letters, digits and `-`, "
		    "starting with a letter");
	else if (old == 0)
		diag_error(
		    r->diag, l->word[1].at, "`vault` is reserved: choose another name");
	else if (old < sources->source_n)
		diag_error(r->diag, l->word[1].at,
		    "duplicate source: first defined on line %u",
		    sources->source[old].name.at.line);
	else if (sources->source_n == SOURCES_MAX)
		diag_error(r->diag, l->word[1].at, "more than %d sources", SOURCES_MAX);
	else
		source = &sources->source[sources->source_n++];
	*source = (struct route_source){.name = l->word[1]};
	r->source = source;
	reading_block(r, source_rows, ARRAY_LEN(source_rows), l->word[1].at);
	r->source = NULL;
}

static void
route_add(struct source_reading *r, const struct source_line *l, struct route *route,
    size_t name)
{
	struct sources *sources = r->sources;
	size_t i;

	for (i = 0; i < sources->route_n; i++)
		if (sources->route[i].by == route->by &&
		    strcmp(sources->route[i].path, route->path) == 0) {
			diag_error(r->diag, l->word[name].at,
			    "duplicate route: first defined on line %u",
			    sources->route[i].at.line);
			return;
		}
	if (sources->route_n == SOURCES_ROUTES_MAX) {
		diag_error(
		    r->diag, l->word[0].at, "more than %d routes", SOURCES_ROUTES_MAX);
		return;
	}
	route->at = l->word[0].at;
	sources->route[sources->route_n++] = *route;
}

static void
statement_route(struct source_reading *r, const struct source_line *l)
{
	struct route route = {.by = BY_ROUTE, .path = reading_text(r, &l->word[1])};

	if (!prefix_good(&l->word[1])) {
		diag_error(r->diag, l->word[1].at,
		    "expected the first parts of a secret's path, as in team/github");
		return;
	}
	route.named = l->word[2];
	route_add(r, l, &route, 1);
}

static void
statement_secret(struct source_reading *r, const struct source_line *l)
{
	struct route route = {.by = BY_SECRET, .path = reading_text(r, &l->word[1])};
	const char *why = secret_path_wrong(l->word[1].text, l->word[1].len);

	if (why != NULL) {
		diag_error(r->diag, l->word[1].at, "%s", why);
		return;
	}
	route.named = l->word[2];
	if (l->n > 3) {
		if (l->word[3].len == 0 || l->word[3].len > SOURCES_REFERENCE_MAX ||
		    l->word[3].text[0] == '-') {
			diag_error(r->diag, l->word[3].at,
			    "invalid reference: expected 1 to %d bytes, not starting "
			    "with `-`",
			    SOURCES_REFERENCE_MAX);
			return;
		}
		route.reference = reading_text(r, &l->word[3]);
	}
	route_add(r, l, &route, 1);
}

static void
statement_default(struct source_reading *r, const struct source_line *l)
{
	struct route route = {.by = BY_DEFAULT, .path = "", .named = l->word[1]};

	route_add(r, l, &route, 0);
}

static const struct field_row statements[] = {
    {"source", statement_source, 1, 1, false, false, "a name, and a block"},
    {"route", statement_route, 2, 2, false, false, "a prefix and a source"},
    {"secret", statement_secret, 2, 3, false, false,
	"a path, a source, and the name of the secret there"},
    {"default", statement_default, 1, 1, false, false, "a source"},
};
#define STATEMENTS (ARRAY_LEN(statements))

static void
statement_read(struct source_reading *r)
{
	const struct field_row *row;
	struct source_line l;
	size_t i = 0;

	if (r->tok.kind != TOKEN_WORD) {
		diag_error(r->diag, r->tok.at, "expected a statement");
		reading_advance(r);
		return;
	}
	if (!reading_line(r, &l))
		return;
	row = row_of(statements, STATEMENTS, &l.word[0], &i);
	if (row == NULL)
		diag_error(
		    r->diag, l.word[0].at, "expected source, route, secret or default");
	else if (!words_fit(r, &l, row))
		row = NULL;
	else if ((r->tok.kind == TOKEN_OPEN) != (row->read == statement_source)) {
		diag_error(r->diag, r->tok.at, "`%s` takes %s", row->name, row->takes);
		row = NULL;
	}
	if (row != NULL)
		row->read(r, &l);
	else if (r->tok.kind == TOKEN_OPEN || r->tok.kind == TOKEN_CLOSE)
		reading_advance(r);
}

int
sources_parse(struct sources *sources, const struct policy_reader *reader,
    const struct policy_source *s, struct diag *diag)
{
	struct source_reading r = {
	    .arena = sources->arena, .reader = reader, .diag = diag, .sources = sources};
	struct route *route;
	size_t i;

	lex_scan(s, 0, diag);
	lex_init(&r.lex, s, 0, sources->arena, diag);
	reading_advance(&r);
	while (r.tok.kind != TOKEN_END && r.error == 0) {
		if (r.tok.kind == TOKEN_NEWLINE)
			reading_advance(&r);
		else
			statement_read(&r);
	}
	for (i = 0; i < sources->route_n; i++) {
		route = &sources->route[i];
		route->source = source_named(sources, &route->named);
		if (route->source == sources->source_n)
			diag_error(diag, route->named.at, "unknown source");
	}
	return r.error;
}
