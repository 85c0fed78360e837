/*
 * Finds the source of a secret, and expands its line.
 *
 * Routes are compared by path components, so team/git is not a prefix of
 * team/github/token.  The longest match wins.  A duplicate is an error, so that
 * the order of lines never matters.
 *
 * The credential that a source's program needs to log in may come from another
 * source, but only from one that needs no credential itself.  So there are no
 * chains to follow at the start of a server, and no cycles.
 */
#define DIAG_CODE "sources"

#include "policy/base/arena.h"
#include "policy/sources/sources.h"
#include "shim/base/array.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/lang/check_word.h"
#include "policy/lang/secret_source.h"
#include "shim/host/path_open.h"

#define ETC_DIR   "/etc/kennel"
#define REFERENCE "$reference"

static const char *
absolute(const char *variable)
{
	const char *dir = getenv(variable);

	return dir != NULL && dir[0] == '/' ? dir : NULL;
}

const char *
sources_place(void)
{
	static const char *const below[][2] = {
	    {"KENNEL_HOME", ""},
	    {"XDG_CONFIG_HOME", "/kennel"},
	    {"HOME", "/.config/kennel"},
	};
	static char out[PATH_MAX];
	size_t i;
	int n;

	/* early: access faccessat faccessat2 */
	if (access(ETC_DIR "/" SOURCES_FILE, F_OK) == 0)
		return ETC_DIR "/" SOURCES_FILE;
	for (i = 0; i < ARRAY_LEN(below); i++) {
		if (absolute(below[i][0]) == NULL)
			continue;
		n = snprintf(out, sizeof(out), "%s%s/%s", absolute(below[i][0]),
		    below[i][1], SOURCES_FILE);
		return n > 0 && (size_t)n < sizeof(out) ? out : NULL;
	}
	return NULL;
}

/* ---- applying a route ---------------------------------------------------- */

static bool
begins_with(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(path, prefix, len) == 0 &&
	       (len == 0 || path[len] == '\0' || path[len] == '/');
}

const struct route *
sources_find(const struct sources *sources, const char *path)
{
	const struct route *best = NULL, *x;
	size_t i;

	for (i = 0; i < sources->route_n; i++) {
		x = &sources->route[i];
		if (x->by == BY_SECRET ? strcmp(x->path, path) != 0
				       : !begins_with(path, x->path))
			continue;
		if (best == NULL || x->by > best->by ||
		    (x->by == best->by && strlen(x->path) > strlen(best->path)))
			best = x;
	}
	return best;
}

/* Replaces every $reference in the word. */
static bool
word_fill(struct arena *arena, struct word *w, const char *reference)
{
	size_t mark = sizeof(REFERENCE) - 1, len = strlen(reference), n = 0;
	const char *at, *next;
	char *out;

	for (at = w->text; (at = strstr(at, REFERENCE)) != NULL; at += mark)
		n++;
	out = arena_alloc(arena, w->len + n * len + 1);
	if (out == NULL)
		return false;
	w->quoted = true; /* never a pattern, whatever the reference contains */
	w->kw = KW_NONE;
	n = 0;
	for (at = w->text; (next = strstr(at, REFERENCE)) != NULL; at = next + mark) {
		memcpy(out + n, at, (size_t)(next - at));
		n += (size_t)(next - at);
		/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): more follows */
		memcpy(out + n, reference, len);
		n += len;
	}
	memcpy(out + n, at, strlen(at) + 1);
	w->text = out;
	w->len = strlen(out);
	w->raw = out;
	w->raw_len = w->len;
	return true;
}

/* A statement VARIABLE from WORDS, as in a policy. */
static bool
stmt_make(struct arena *arena, const struct word *variable, const struct word *word,
    size_t n, const char *reference, struct stmt *ret)
{
	struct stmt s = {.kw = KW_SECRET, .at = variable->at, .word_n = n + 1};
	size_t i;

	s.word = arena_alloc(arena, (n + 1) * sizeof(struct word));
	if (s.word == NULL)
		return false;
	s.word[0] = *variable;
	memcpy(s.word + 1, word, n * sizeof(*word));
	for (i = 1; i <= n; i++) {
		s.word[i].at = variable->at; /* in the policy, not in this file */
		if (i > 1 && !word_fill(arena, &s.word[i], reference))
			return false;
	}
	*ret = s;
	return true;
}

/* The first error of the statement, without the lines of any file. */
static int
stmt_judge(struct arena *arena, struct stmt *s, struct reason *why)
{
	struct policy_source none = {.path = "", .text = ""};
	struct tree tree = {.arena = arena};
	char *said = NULL, *text;
	size_t len = 0;
	FILE *f = open_memstream(&said, &len);
	struct diag d = {.out = f, .source = &none, .source_n = 1, .hide_all = true};
	struct check c = {.tree = &tree, .diag = &d};
	int r = 0;

	if (f == NULL)
		return -ENOMEM;
	check_secret_source(&c, s);
	if (fclose(f) != 0)
		r = -ENOMEM;
	if (r == 0 && d.error_n > 0) {
		text = strstr(said, "error: ");
		text = text == NULL ? said : text + strlen("error: ");
		r = reason_set(why, -EINVAL, "%.*s", (int)strcspn(text, "\n"), text);
	}
	free(said);
	return r;
}

static int
answer_one(const struct sources *sources, const struct word *variable, const char *path,
    struct source_answer *ret, struct reason *why)
{
	struct source_answer a = {.route = sources_find(sources, path)};
	struct word program = {.quoted = true};

	a.source = &sources->source[a.route == NULL ? 0 : a.route->source];
	a.reference =
	    a.route != NULL && a.route->reference != NULL ? a.route->reference : path;
	if (!stmt_make(sources->arena, variable, a.source->from, a.source->from_n,
		a.reference, &a.stmt))
		return -ENOMEM;
	*ret = a;
	if (a.source->sidecar == NULL)
		return stmt_judge(sources->arena, &ret->stmt, why);
	program.text = program.raw = a.source->sidecar->program;
	program.len = program.raw_len = strlen(program.text);
	program.at = variable->at;
	ret->stmt.word[2] = program;
	return 0;
}

static int
answer_credential(const struct sources *sources, const struct route_credential *c,
    struct source_answer *ret, struct reason *why)
{
	struct source_answer a = {.source = &sources->source[0]};

	if (strcmp(c->word[0].text, "source") == 0)
		return answer_one(sources, &c->variable, c->word[1].text, ret, why);
	if (!stmt_make(sources->arena, &c->variable, c->word, c->word_n, "", &a.stmt))
		return -ENOMEM;
	*ret = a;
	return stmt_judge(sources->arena, &ret->stmt, why);
}

int
sources_answer(const struct sources *sources, const struct word *variable,
    const char *path, struct source_answer *ret, struct reason *why)
{
	struct source_answer a;
	size_t i, n;
	int r;

	r = answer_one(sources, variable, path, &a, why);
	if (r < 0)
		return r;
	n = a.source->credential_n;
	if (n > 0) {
		a.credential = arena_alloc(sources->arena, n * sizeof(*a.credential));
		if (a.credential == NULL)
			return -ENOMEM;
	}
	for (i = 0; i < n && r == 0; i++) {
		r = answer_credential(
		    sources, &a.source->credential[i], &a.credential[i], why);
		/*
		 * sources_read refused deeper credentials: this check ends the
		 * recursion
		 */
		if (r == 0 && a.credential[i].route != NULL &&
		    a.credential[i].source->credential_n > 0)
			r = reason_set(why, -EINVAL,
			    "a credential cannot need a credential of its own");
	}
	if (r == 0)
		*ret = a;
	return r;
}

/* ---- validation ---------------------------------------------------------- */

/* The source of this credential, if the file defines it. */
static const struct route_source *
credential_source(const struct sources *sources, const struct route_credential *c)
{
	const struct route *x;

	if (strcmp(c->word[0].text, "source") != 0 || c->word_n != 2)
		return NULL;
	x = sources_find(sources, c->word[1].text);
	return x == NULL ? &sources->source[0] : &sources->source[x->source];
}

struct chain {
	const struct sources *sources;
	const struct route_source *first;
	bool passed[SOURCES_MAX];
	char text[512];
	size_t len;
};

static void
chain_put(struct chain *c, const char *text)
{
	int n = snprintf(c->text + c->len, sizeof(c->text) - c->len, "%s%s",
	    c->len > 0 ? " -> " : "", text);

	if (n > 0)
		c->len += (size_t)n;
	if (c->len >= sizeof(c->text))
		c->len = sizeof(c->text) - 1;
}

/*
 * Do this source's credentials lead back to the first source?  c->text has the
 * path.
 */
/* NOLINTBEGIN(misc-no-recursion): each source is passed once */
static bool
chain_closes(struct chain *c, const struct route_source *s)
{
	const struct route_source *next;
	size_t i, len = c->len;

	c->passed[s - c->sources->source] = true;
	for (i = 0; i < s->credential_n; i++) {
		next = credential_source(c->sources, &s->credential[i]);
		if (next == NULL)
			continue;
		c->len = len;
		chain_put(c, s->name.text);
		chain_put(c, s->credential[i].word[1].text);
		if (next == c->first) {
			chain_put(c, next->name.text);
			return true;
		}
		if (!c->passed[next - c->sources->source] && chain_closes(c, next))
			return true;
	}
	c->len = len;
	c->text[len] = '\0';
	return false;
}

/* NOLINTEND(misc-no-recursion) */

/* A cycle: no source on it can be used first. */
static void
check_circle(const struct sources *sources, const struct route_source *s, struct diag *d)
{
	struct chain c = {.sources = sources, .first = s};

	if (chain_closes(&c, s))
		diag_error(
		    d, s->credential[0].variable.at, "credential cycle: %s", c.text);
}

/* A credential whose source needs a credential itself. */
static void
check_depth(const struct sources *sources, const struct route_source *s, struct diag *d)
{
	const struct route_source *from;
	size_t i;

	for (i = 0; i < s->credential_n; i++) {
		from = credential_source(sources, &s->credential[i]);
		if (from != NULL && from->credential_n > 0)
			diag_error(d, s->credential[i].variable.at,
			    "the credential is nested too deep: source %s, which "
			    "provides it, needs a credential itself",
			    from->name.text);
	}
}

static bool
sidecar_names(const struct sidecar *car, const char *env)
{
	size_t i, len = strcspn(env, "=");

	for (i = 0; i < car->env_n; i++)
		if (strlen(car->env[i]) == len && memcmp(car->env[i], env, len) == 0)
			return true;
	return false;
}

static void
check_fields(const struct route_source *s, struct diag *d)
{
	bool plugin = s->sidecar != NULL ||
		      (s->from_n > 0 && strcmp(s->from[0].text, "plugin") == 0);
	bool program = plugin || (s->from_n > 0 && source_is_program(s->from[0].text));
	size_t i;

	if (s->from_n == 0)
		return; /* already reported */
	if (!program && (s->credential_n > 0 || s->may != 0))
		diag_error(d, s->name.at,
		    "`credential` and `may` are only allowed for a program, as in `from "
		    "cmd`");
	if (!plugin && s->env_n > 0)
		diag_error(d, s->name.at, "`env` is only allowed for a plugin");
	for (i = 0; s->sidecar != NULL && i < s->env_n; i++)
		if (!sidecar_names(s->sidecar, s->env[i]))
			diag_error(d, s->name.at,
			    "the sidecar does not name %.*s in `env`",
			    (int)strcspn(s->env[i], "="), s->env[i]);
}

/* Are these words valid for at least one reference? */
static bool
words_do(const struct sources *sources, const struct route_source *s, struct reason *why)
{
	static const char *const sample[] = {"a/b/c", "/a/b/c", "A", "op://a/b/c"};
	struct stmt stmt;
	size_t i;

	for (i = 0; i < ARRAY_LEN(sample); i++)
		if (!stmt_make(
			sources->arena, &s->name, s->from, s->from_n, sample[i], &stmt) ||
		    stmt_judge(sources->arena, &stmt, why) == 0)
			return true;
	return false;
}

/* Validates the words as if they were in a policy. */
static void
check_words(const struct sources *sources, const struct route_source *s, struct diag *d)
{
	struct source_answer a;
	struct reason why = {0};
	size_t i;

	if (s->from_n > 0 && strcmp(s->from[0].text, "plugin") != 0 &&
	    !words_do(sources, s, &why))
		diag_error(d, s->from[0].at, "%s", why.text);
	for (i = 0; i < s->credential_n; i++)
		if (answer_credential(sources, &s->credential[i], &a, &why) == -EINVAL)
			diag_error(d, s->credential[i].word[0].at, "%s", why.text);
}

/* ---- reading the file ---------------------------------------------------- */

static int
sources_new(struct arena *arena, struct sources *ret)
{
	static struct word from[2] = {
	    {.text = "vault", .len = 5, .raw = "vault", .raw_len = 5},
	    {.text = REFERENCE, .len = sizeof(REFERENCE) - 1}};
	struct sources r = {.arena = arena, .source_n = 1};

	/* one extra row for surplus sources, read only to report their errors */
	r.source = arena_alloc(arena, (SOURCES_MAX + 1) * sizeof(*r.source));
	r.route = arena_alloc(arena, SOURCES_ROUTES_MAX * sizeof(*r.route));
	if (r.source == NULL || r.route == NULL)
		return -ENOMEM;
	r.source[0].name = (struct word){.text = SOURCES_VAULT, .len = 5};
	r.source[0].from = from;
	r.source[0].from_n = 2;
	*ret = r;
	return 0;
}

int
sources_read(struct arena *arena, const struct policy_reader *reader, const char *file,
    FILE *out, struct sources *ret)
{
	struct policy_source s = {.path = file};
	struct diag d = {.out = out, .source = &s, .source_n = 1, .hide_all = true};
	struct sources sources;
	char *text = NULL, why[PATH_WHY_MAX];
	size_t i;
	int r;

	r = sources_new(arena, &sources);
	if (r < 0 || file == NULL || reader == NULL)
		goto out;
	r = reader->read(reader->arg, file, SOURCES_LEN_MAX, &text, &s.len);
	if (r == -ENOENT || r == -ENOTDIR) {
		r = 0;
		goto out;
	}
	if (r < 0) {
		(void)fprintf(out, "%s: error: unable to read the file: %s\n", file,
		    path_why(file, r, why, sizeof(why)));
		return r == -ENOMEM ? r : -EINVAL;
	}
	s.text = arena_copy(arena, text, s.len);
	free(text);
	if (s.text == NULL)
		return -ENOMEM;
	sources.file = file;
	r = sources_parse(&sources, reader, &s, &d);
	for (i = 1; r == 0 && i < sources.source_n; i++) {
		check_fields(&sources.source[i], &d);
		if (d.error_n == 0)
			check_words(&sources, &sources.source[i], &d);
	}
	/* cycles first: a policy's error shows only the first one */
	for (i = 1; r == 0 && i < sources.source_n; i++)
		check_circle(&sources, &sources.source[i], &d);
	for (i = 1; r == 0 && d.error_n == 0 && i < sources.source_n; i++)
		check_depth(&sources, &sources.source[i], &d);
	if (r == 0 && d.error_n > 0)
		r = -EINVAL;
out:
	if (r == 0)
		*ret = sources;
	return r;
}
