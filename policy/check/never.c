/*
 * never: claims about every server, checked after includes and blocks.
 *
 * Each kind of claim is a set, and so is each grant.  A breach is reported with
 * an example: a member of both that no `deny`, `except` or `hide` removes.
 * What is unknown at compile time (conditions, classes, the caller) counts as
 * granted and removes nothing.  policy/algebra decides names and argument
 * lists; hosts and paths are prefixes of labels and of components.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DIAG_CODE "never"

#include "policy/algebra/algebra.h"
#include "policy/base/arena.h"
#include "policy/check/never.h"
#include "policy/lang/expand.h"
#include "policy/lang/host.h"
#include "policy/sealed/policy.h"

static bool breached(struct never_request *);

void
never_example(struct witness *w, struct at at, const char *text)
{
	size_t n = strlen(text);

	if (n >= sizeof(w->text))
		n = sizeof(w->text) - 1;
	memcpy(w->text, text, n);
	w->text[n] = '\0';
	w->at = at;
}

/* Does this grant allow something that the claim forbids? */
bool
never_gives(const struct never_request *a, const struct stmt *s)
{
	if (s->kw == KW_TOOL && s->by_annotations)
		return true;
	return !s->has_verdict || s->verdict == VERDICT_ALLOW ||
	       (s->verdict == VERDICT_ASK && !a->allow_only);
}

/* ---- names and argument lists ---------------------------------------------- */

/* The role of a pattern in the family of sets, which gives its number there. */
enum role { ROLE_CLAIM, ROLE_GIVE, ROLE_TAKE, ROLE_EXCEPT };
struct pattern {
	enum role role;
	uint32_t number;
	const struct stmt *s; /* GIVE, TAKE: the grant; EXCEPT: the grant it belongs to */
};

struct family {
	struct never_request *a;
	struct sets *sets;
	struct pattern *row;
	size_t n;
	const struct sets_cell *cell; /* the current one */
	int r;
};

static void
pattern_add(struct family *f, enum role role, const struct stmt *s,
    const struct sets_word *w, size_t n)
{
	struct pattern *row =
	    arena_push(f->a->c->tree->arena, f->row, f->n, sizeof(*row));

	if (row == NULL || f->r != 0) {
		f->r = f->r != 0 ? f->r : -ENOMEM;
		return;
	}
	f->row = row;
	row[f->n] = (struct pattern){.role = role, .s = s};
	f->r = sets_add(f->sets, w, n, &row[f->n].number);
	f->n++;
}

/* Adds a name, in which * matches any run. */
static void
name_add(struct family *f, enum role role, const struct stmt *s, const char *text)
{
	struct sets_word w = {.text = text,
	    .len = strlen(text),
	    .kind = strchr(text, '*') != NULL ? SETS_GLOB : SETS_LITERAL};

	pattern_add(f, role, s, &w, 1);
}

/* Adds argument patterns. */
static void
args_add(struct family *f, enum role role, const struct stmt *s, const struct word *w,
    size_t n)
{
	struct sets_word *all = calloc(n + 1, sizeof(*all));
	enum sealed_arg_kind kind;
	size_t i;

	for (i = 0; i < n; i++) {
		if (all == NULL)
			break;
		if (word_pattern(f->a->c->tree->arena, &w[i], &kind, &all[i].text) != 0)
			kind = ARG_ANY; /* reported elsewhere */
		all[i].len = all[i].text == NULL ? 0 : strlen(all[i].text);
		all[i].kind = (enum sets_kind)kind;
	}
	if (all == NULL)
		f->r = -ENOMEM;
	else
		pattern_add(f, role, s, all, n);
	free(all);
}

static bool
excepted(const struct family *f, const struct stmt *s)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->row[i].role == ROLE_EXCEPT && f->row[i].s == s &&
		    sets_in(f->cell, f->row[i].number))
			return true;
	return false;
}

/* The grant with this role whose pattern contains the cell; NULL: none. */
static const struct stmt *
in_role(const struct family *f, enum role role)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->row[i].role == role && sets_in(f->cell, f->row[i].number) &&
		    !excepted(f, f->row[i].s))
			return f->row[i].s;
	return NULL;
}

static bool
in_claim(const struct family *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->row[i].role == ROLE_CLAIM && sets_in(f->cell, f->row[i].number))
			return true;
	return false;
}

/* Looks for a cell that is granted, forbidden by the claim, and not removed. */
static int
cell_look(void *arg, const struct sets_cell *cell)
{
	struct family *f = arg;
	const struct stmt *s;
	char text[WITNESS_MAX] = "";
	size_t i, n = 0, k;

	f->cell = cell;
	if (!in_claim(f) || in_role(f, ROLE_TAKE) != NULL)
		return 0;
	s = in_role(f, ROLE_GIVE);
	if (s == NULL)
		return 0;
	if (s->kw == KW_EXEC || s->kw == KW_RUN)
		n = (size_t)snprintf(text, sizeof(text), "%s", s->word[0].text);
	for (i = 0; i < cell->text_n && n < sizeof(text); i++) {
		k = (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s",
		    n > 0 ? " " : "", (int)cell->text_len[i], cell->text[i]);
		n += k;
	}
	never_example(f->a->ret, s->at, text);
	return 1;
}

static bool
family_walk(struct family *f)
{
	if (f->r == 0)
		f->r = sets_cells(f->sets, cell_look, f);
	if (f->r < 0) {
		never_example(f->a->ret, f->a->server->at, "");
		f->a->ret->unknown = true;
	}
	sets_free(f->sets);
	return f->r != 0;
}

static void
gate_add(struct family *f, const struct stmt *s)
{
	const struct qual *except = stmt_qual(s, KW_EXCEPT);
	enum role role = never_gives(f->a, s) ? ROLE_GIVE : ROLE_TAKE;
	bool sure = s->when == NULL;
	size_t i;

	if (s->by_annotations)
		name_add(f, ROLE_GIVE, s, "*");
	if (role == ROLE_TAKE && (s->verdict != VERDICT_DENY || !sure))
		return;
	for (i = 0; i < s->word_n; i++) {
		if (gate_class(&s->word[i]) == 0)
			name_add(f, role, s, s->word[i].text);
		else if (role == ROLE_GIVE)
			name_add(f, role, s, "*");
	}
	for (i = 0; except != NULL && i < except->word_n; i++)
		name_add(f, ROLE_EXCEPT, s, except->word[i].text);
}

static bool
gate_breached(struct never_request *a)
{
	struct family f = {.a = a, .sets = sets_new(SETS_NAME)};
	size_t i;

	if (f.sets == NULL)
		f.r = -ENOMEM;
	for (i = 0; i < a->word_n && f.r == 0; i++)
		name_add(&f, ROLE_CLAIM, NULL, a->word[i].text);
	if (a->word_n == 0 && f.r == 0)
		name_add(&f, ROLE_CLAIM, NULL, "*");
	for (i = 0; i < a->server->stmt_n && f.r == 0; i++)
		if (a->server->stmt[i].kw == a->what)
			gate_add(&f, &a->server->stmt[i]);
	return family_walk(&f);
}

/* ---- programs ------------------------------------------------------------------ */

static void
exec_add(struct family *f, const struct stmt *s)
{
	enum role role = never_gives(f->a, s) ? ROLE_GIVE : ROLE_TAKE;
	size_t i;

	if (role == ROLE_TAKE &&
	    (s->verdict != VERDICT_DENY || stmt_qual(s, KW_FROM) != NULL ||
		stmt_qual(s, KW_IN) != NULL || stmt_qual(s, KW_WITH) != NULL))
		return;
	args_add(f, role, s, s->word + 1, s->word_n - 1);
	for (i = 0; i < s->qual_n; i++)
		if (s->qual[i].kw == KW_EXCEPT)
			args_add(f, ROLE_EXCEPT, s, s->qual[i].word, s->qual[i].word_n);
}

static bool
is_program(const struct stmt *s)
{
	return s->kw == KW_EXEC || s->kw == KW_RUN;
}

/* The arguments of one program: those in all grants of the same file. */
static bool
program_breached(struct never_request *a, const char *real)
{
	static const struct sets_word rest = {.kind = SETS_REST, .text = ""};
	struct family f = {.a = a, .sets = sets_new(SETS_ARGV)};
	const struct stmt *s;
	size_t i;

	if (f.sets == NULL)
		f.r = -ENOMEM;
	else if (a->word_n > 1)
		args_add(&f, ROLE_CLAIM, NULL, a->word + 1, a->word_n - 1);
	else
		pattern_add(&f, ROLE_CLAIM, NULL, &rest, 1);
	for (i = 0; i < a->server->stmt_n && f.r == 0; i++) {
		s = &a->server->stmt[i];
		if (is_program(s) &&
		    strcmp(never_canonical(a->c, s->word[0].text), real) == 0)
			exec_add(&f, s);
	}
	return family_walk(&f);
}

static bool
exec_breached(struct never_request *a)
{
	const struct stmt *s;
	size_t i;

	for (i = 0; i < a->server->stmt_n; i++) {
		s = &a->server->stmt[i];
		if (!is_program(s) || !never_gives(a, s))
			continue;
		if (a->word_n == 0 && s->kw == KW_RUN)
			continue; /* every server runs something */
		if (a->word_n == 0) {
			never_example(a->ret, s->at, s->word[0].text);
			return true;
		}
		if (never_program_meets(a, s->word[0].text) &&
		    program_breached(a, never_canonical(a->c, s->word[0].text)))
			return true;
	}
	return false;
}

/* ---- secrets, sampling and the like -------------------------------------- */

static bool
secret_breached(struct never_request *a)
{
	const struct stmt *s;
	size_t i, k;

	for (i = 0; i < a->server->stmt_n; i++) {
		s = &a->server->stmt[i];
		if (s->kw != KW_SECRET || s->word_n < 3)
			continue;
		for (k = 0; k < a->word_n; k++)
			if (policy_glob(a->word[k].text, a->word[k].len, s->word[2].text,
				s->word[2].len) ||
			    policy_glob(a->word[k].text, a->word[k].len, s->word[0].text,
				s->word[0].len))
				break;
		if (a->word_n > 0 && k == a->word_n)
			continue;
		never_example(a->ret, s->at, s->word[0].text);
		return true;
	}
	return false;
}

static bool
offer_breached(struct never_request *a)
{
	const struct stmt *s;
	size_t i;

	for (i = 0; i < a->server->stmt_n; i++) {
		s = &a->server->stmt[i];
		if (s->kw == a->what && never_gives(a, s)) {
			never_example(a->ret, s->at, "");
			return true;
		}
	}
	return false;
}

/* ---- a claim ----------------------------------------------------------------------- */

static const struct {
	bool (*breached)(struct never_request *);
	const char *does;
} claims[KW_END] = {
    [KW_READ] = {path_breached, "read"},
    [KW_WRITE] = {path_breached, "write"},
    [KW_EXEC] = {exec_breached, "start"},
    [KW_NET] = {net_breached, "reach"},
    [KW_TOOL] = {gate_breached, "offer the tool"},
    [KW_RESOURCE] = {gate_breached, "offer the resource"},
    [KW_PROMPT] = {gate_breached, "offer the prompt"},
    [KW_SECRET] = {secret_breached, "hold"},
    [KW_SAMPLING] = {offer_breached, "ask for sampling"},
    [KW_ELICITATION] = {offer_breached, "ask for elicitation"},
    [KW_ROOTS] = {offer_breached, "ask for roots"},
};

static bool
breached(struct never_request *a)
{
	return claims[a->what].breached(a);
}

static bool
named(const struct word *w, size_t n, const struct server *s)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (policy_glob(w[i].text, w[i].len, s->name.text, s->name.len))
			return true;
	return false;
}

/* Does the claim apply to this server? */
static bool
meant(struct check *c, const struct never *n, const struct server *s)
{
	struct witness w = {.unknown = false};
	struct never_request a = {.c = c,
	    .server = s,
	    .what = n->that,
	    .word = n->that_word,
	    .word_n = n->that_word_n,
	    .ret = &w};

	if ((n->server_n > 0 && !named(n->server, n->server_n, s)) ||
	    named(n->except, n->except_n, s))
		return false;
	return n->that == KW_NONE || breached(&a);
}

static void
hold(struct check *c, const struct never *n, const struct server *s)
{
	struct witness w = {.unknown = false};
	struct never_request a = {.c = c,
	    .server = s,
	    .what = n->what,
	    .allow_only = n->allow_only,
	    .word = n->word,
	    .word_n = n->word_n,
	    .to = n->to,
	    .ret = &w};
	const char *path;
	char shown[DIAG_TEXT_CAP], file[DIAG_TEXT_CAP] = "";

	if (!meant(c, n, s) || !breached(&a))
		return;
	if (w.unknown) {
		diag_error(c->diag, n->at,
		    "unable to decide this for server %s: it has too many patterns",
		    s->name.text);
		return;
	}
	path = c->tree->source[w.at.file].path;
	if (w.at.file != n->at.file && path != NULL)
		(void)diag_text(file, path, strlen(path));
	diag_error(c->diag, n->at, "server %s may %s%s%s: %s%s%u grants it", s->name.text,
	    claims[n->what].does, w.text[0] == '\0' ? "" : " ",
	    diag_text(shown, w.text, strlen(w.text)), file[0] == '\0' ? "line" : file,
	    file[0] == '\0' ? " " : ":", w.at.line);
}

/* ---- form ---------------------------------------------------------------- */

/* Allows `*` in a component of a path, and `**` as the last component. */
static void
check_path_pattern(struct check *c, enum keyword what, const struct word *w)
{
	const char *p = w->text, *star = strstr(p, "**");

	if (p[0] == '/' && strstr(p, "//") == NULL && strstr(p, "/../") == NULL &&
	    strstr(p, "/./") == NULL && strlen(p) < PATH_MAX &&
	    (p[1] == '\0' || p[strlen(p) - 1] != '/') &&
	    (star == NULL || (star[2] == '\0' && star[-1] == '/'))) {
		if (what != KW_EXEC) /* a program is matched by both of its names */
			never_link_check(c, w);
		return;
	}
	diag_error(c->diag, w->at,
	    "invalid path pattern: expected an absolute path, with `*` in its parts or a "
	    "final `**`, without `//`, `.`, `..` or a trailing `/`");
}

static void
check_words(struct check *c, enum keyword what, const struct word *w, size_t n)
{
	enum sealed_arg_kind kind;
	const char *why, *text;
	struct host h;
	size_t i;

	for (i = 0; i < n; i++) {
		if (memchr(w[i].text, '*', w[i].len) != NULL &&
		    (w[i].quoted || w[i].literal != NULL)) {
			diag_error(
			    c->diag, w[i].at, "`never` rules cannot match a literal `*`");
		} else if (what == KW_READ || what == KW_WRITE ||
			   (what == KW_EXEC && i == 0)) {
			check_path_pattern(c, what, &w[i]);
		} else if (what == KW_NET) {
			why = host_pattern_read(&w[i], &h);
			if (why != NULL)
				diag_error(c->diag, w[i].at, "%s", why);
		} else if (what == KW_EXEC) {
			if (word_pattern(c->tree->arena, &w[i], &kind, &text) != 0 ||
			    (kind == ARG_REST && i + 1 < n))
				diag_error(c->diag, w[i].at,
				    "expected a pattern for one argument, or a final "
				    "`**`");
		} else if (w[i].len == 0 || strstr(w[i].text, "**") != NULL ||
			   gate_class(&w[i]) != 0) {
			diag_error(c->diag, w[i].at,
			    "expected a name, in which `*` matches any characters");
		}
	}
}

static void
check_claim(struct check *c, const struct never *n)
{
	bool offer = claims[n->what].breached == offer_breached;
	uint32_t scope, prefix;
	uint8_t addr[16];

	if (offer && n->word_n > 0)
		diag_error(c->diag, n->word[0].at, "nothing is allowed after `%s`",
		    keyword_name(n->what));
	else
		check_words(c, n->what, n->word, n->word_n);
	if (n->to != NULL && !net_scope_read(n->to, &scope, addr, &prefix))
		diag_error(
		    c->diag, n->to->at, "`to` takes %s", keyword_row(KW_TO)->takes);
	check_words(c, KW_TOOL, n->server, n->server_n);
	check_words(c, KW_TOOL, n->except, n->except_n);
	if (n->that != KW_NONE)
		check_words(c, n->that, n->that_word, n->that_word_n);
}

void
never_check(struct check *c)
{
	size_t i, k, before = c->diag->error_n;

	for (i = 0; i < c->tree->never_n; i++)
		check_claim(c, &c->tree->never[i]);
	/* do not judge claims over statements that have errors */
	if (c->diag->error_n != before || c->diag->error_n > 0)
		return;
	for (i = 0; i < c->tree->never_n; i++)
		for (k = 0; k < c->tree->server_n; k++)
			hold(c, &c->tree->never[i], &c->tree->server[k]);
}
