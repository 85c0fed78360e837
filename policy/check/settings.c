/*
 * Checks of values: limits, requirements, variables, secrets.  What env and secret
 * lines hold is never named in a message, and no line that may hold one is shown.
 */
#include <string.h>

#include "policy/check/check.h"
#include "policy/sources/sources.h"
#include "policy/lang/secret_path.h"
#include "policy/lang/secret_source.h"

#define NAME_LEN_MAX 256
#define LANDLOCK_MAX 99

#define show check_show

void
check_require(struct check *c, struct stmt *s)
{
	static const char *const list[] = {"landlock", "cgroup", "subuid"};
	const struct word *w = &s->word[0];
	const char *near;
	struct shown sh;
	uint64_t v;

	if (strcmp(w->text, "landlock") == 0) {
		if (s->word_n != 2 || unit_count(s->word[1].text, &v) != 0 || v < 1 ||
		    v > LANDLOCK_MAX)
			diag_error(c->diag, s->word[s->word_n - 1].at,
			    "`require landlock` takes the least ABI: 1 to %d",
			    LANDLOCK_MAX);
		return;
	}
	if (strcmp(w->text, "cgroup") == 0 || strcmp(w->text, "subuid") == 0) {
		if (s->word_n != 1)
			diag_error(c->diag, s->word[1].at, "nothing follows `require %s`",
			    w->text);
		return;
	}
	near = diag_near(w->text, list, 3);
	if (near != NULL)
		diag_error(c->diag, w->at, "unknown requirement `%s`; did you mean `%s`?",
		    show(&sh, w), near);
	else
		diag_error(c->diag, w->at,
		    "unknown requirement `%s`: landlock N, cgroup or subuid",
		    show(&sh, w));
}

/* ---- limits -------------------------------------------------------------- */

static const char *const limit_words[] = {
    "memory", "processes", "files", "cpu", "output", "input"};
static const char *const timeout_words[] = {"call", "ask", "start", "idle"};

static void
limit_unknown(struct check *c, const struct stmt *s, const struct word *w)
{
	bool timeout = s->kw == KW_TIMEOUT;
	const char *near = timeout ? diag_near(w->text, timeout_words, 4)
				   : diag_near(w->text, limit_words, 6);
	struct shown sh;

	if (near != NULL)
		diag_error(c->diag, w->at, "unknown %s `%s`; did you mean `%s`?",
		    keyword_name(s->kw), show(&sh, w), near);
	else
		diag_error(c->diag, w->at, "unknown %s `%s`: %s", keyword_name(s->kw),
		    show(&sh, w),
		    timeout ? "call, ask, start or idle"
			    : "memory, processes, files, cpu, output or input");
}

/* What a value of each kind is, for the message. */
static const char *const limit_takes[] = {
    [LIMIT_MEMORY] = "a size from 1M to 16T, as in 512M",
    [LIMIT_PROCESSES] = "a number from 1 to 4194304",
    [LIMIT_FILES] = "a number from 8 to 1048576",
    [LIMIT_CPU] = "a share of one core from 1% to 100000%",
    [LIMIT_OUTPUT] = "a size from 1K to 16M",
    [LIMIT_INPUT] = "a size from 1K to 16M",
    [TIMEOUT_CALL] = "a time from 1ms to 30d, as in 30s",
    [TIMEOUT_ASK] = "a time from 1ms to 30d, as in 30s",
    [TIMEOUT_START] = "a time from 1ms to 30d, as in 30s",
    [TIMEOUT_IDLE] = "a time from 1ms to 30d, as in 30s",
};

void
check_limit(struct check *c, struct stmt *s)
{
	enum sealed_limit_kind kind;
	const struct word *w;
	struct shown sh;
	uint64_t v;
	size_t i;

	for (i = 0; i < s->word_n; i += 2) {
		w = &s->word[i];
		kind = limit_kind(s->kw, w->text);
		if (kind == 0) {
			limit_unknown(c, s, w);
		} else if (i + 1 == s->word_n) {
			diag_error(c->diag, w->at, "`%s` has no value: %s", w->text,
			    limit_takes[kind]);
		} else if (limit_value(kind, w[1].text, &v) != 0) {
			diag_error(c->diag, w[1].at, "`%s`: `%s` takes %s",
			    show(&sh, &w[1]), w->text, limit_takes[kind]);
		}
	}
}

/* ---- variables ----------------------------------------------------------- */

static bool
variable(struct check *c, const struct word *w)
{
	struct shown s;
	size_t i;
	bool good = w->len > 0 && w->len <= NAME_LEN_MAX &&
		    !(w->text[0] >= '0' && w->text[0] <= '9');

	for (i = 0; i < w->len; i++)
		good = good && name_byte((unsigned char)w->text[i]);
	if (good)
		return true;
	/* what stands there may hold the value: NAME=value */
	if (memchr(w->text, '=', w->len) != NULL)
		diag_error(c->diag, w->at,
		    "`=` with a space on both sides was expected behind the name");
	else if (w->len <= NAME_LEN_MAX && c->diag->hide_line)
		diag_error(c->diag, w->at,
		    "a variable's name is letters, digits and `_`, not a digit first");
	else
		diag_error(c->diag, w->at, "`%s` is not a variable's name", show(&s, w));
	return false;
}

bool
check_variable(struct check *c, const struct word *w)
{
	if (!variable(c, w))
		return false;
	if (!env_is_refused(w->text))
		return true;
	diag_error(c->diag, w->at,
	    "%s is refused: it makes a loader, an interpreter or a tool "
	    "run what no grant names",
	    w->text);
	return false;
}

bool
check_beginning(struct check *c, const struct word *w)
{
	size_t len = w->len > 0 ? w->len - 1 : 0;
	struct shown s;

	if (w->len == 0 || w->text[len] != '*' || word_is_literal(w))
		return false;
	if (!policy_env_beginning(w->text, w->len))
		diag_error(c->diag, w->at,
		    "`%s`: of several variables the beginning is named, three letters, "
		    "digits or `_` and one more `_` at least, then `*`",
		    show(&s, w));
	else if (env_beginning_is_refused(w->text, len))
		diag_error(c->diag, w->at,
		    "%s is refused: there are variables so called that make a loader, an "
		    "interpreter or a tool run what no grant names",
		    w->text);
	return true;
}

void
check_env(struct check *c, struct stmt *s)
{
	(void)check_variable(c, &s->word[0]); /* it reports */
	if (s->word_n == 2)
		(void)check_literal(c, &s->word[1]); /* it reports */
}

static bool
is_fixed(const char *name)
{
	static const char *const fixed[] = {"PATH", "HOME", "USER", "LANG", "TMPDIR"};
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (strcmp(fixed[i], name) == 0)
			return true;
	return false;
}

/* The words of a preset are told to a program: as they are, and as no option. */
static void
check_preset(struct check *c, const struct stmt *s)
{
	const struct word *w;
	size_t i;

	for (i = 2; i < s->word_n; i++) {
		w = &s->word[i];
		if (check_literal(c, w) && (w->text[0] == '-' || w->len == 0))
			diag_error(c->diag, w->at,
			    "%s would take this for an option; `from cmd` says what it "
			    "means",
			    s->word[1].text);
	}
	if (strcmp(s->word[1].text, "hashicorp-vault") == 0 &&
	    strncmp(s->word[2].text, "https://", 8) != 0)
		diag_error(c->diag, s->word[2].at, "an https:// address was expected");
}

/* What stands behind the source. */
static void
check_reference(struct check *c, struct stmt *s, const struct source_row *row)
{
	const char *why;
	size_t i;

	if (row->program != NULL) {
		check_preset(c, s);
	} else if (row->source == SOURCE_ROUTED) {
		routed_check(c, s);
	} else if (row->source == SOURCE_VAULT) {
		why = secret_path_wrong(s->word[2].text, s->word[2].len);
		if (why != NULL)
			diag_error(c->diag, s->word[2].at, "%s", why);
	} else if (row->source == SOURCE_ENV) {
		(void)variable(c, &s->word[2]); /* it reports */
	} else {
		if (check_path_word(c, &s->word[2]) && row->source == SOURCE_CMD &&
		    check_is_loader(s->word[2].text))
			diag_error(c->diag, s->word[2].at,
			    "the loader cannot be a secret's command");
		for (i = 3; i < s->word_n; i++)
			(void)check_literal(c, &s->word[i]); /* it reports */
	}
}

void
check_secret_source(struct check *c, struct stmt *s)
{
	const struct source_row *row = source_find(s->word[1].text);
	size_t n = s->word_n - 2;

	if (row == NULL)
		return; /* the parser has said so */
	if (n < row->word_min || n > row->word_max)
		diag_error(c->diag,
		    s->word[n > row->word_max ? row->word_max + 2 : n + 1].at,
		    "`from %s` takes %s", row->word, row->takes);
	else
		check_reference(c, s, row);
}

void
check_secret(struct check *c, struct stmt *s)
{
	(void)check_variable(c, &s->word[0]); /* it reports */
	if (is_fixed(s->word[0].text))
		diag_error(c->diag, s->word[0].at,
		    "%s is one of the fixed variables; it cannot be a secret",
		    s->word[0].text);
	check_secret_options(c, s);
	check_secret_source(c, s);
}
