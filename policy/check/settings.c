/*
 * Checks of values: limits, requirements, variables, secrets.  No message
 * contains a value of an env or secret line, and no line that may hold one is
 * shown.
 */
#include <string.h>

#define DIAG_CODE "value"

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
			    "`require landlock` takes the minimum ABI version: 1 to %d",
			    LANDLOCK_MAX);
		return;
	}
	if (strcmp(w->text, "cgroup") == 0 || strcmp(w->text, "subuid") == 0) {
		if (s->word_n != 1)
			diag_error(c->diag, s->word[1].at,
			    "nothing is allowed after `require %s`", w->text);
		return;
	}
	near = diag_near(w->text, list, 3);
	if (near != NULL)
		diag_error(c->diag, w->at, "unknown requirement `%s`: did you mean `%s`?",
		    show(&sh, w), near);
	else
		diag_error(c->diag, w->at,
		    "unknown requirement `%s`: expected landlock N, cgroup or subuid",
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
		diag_error(c->diag, w->at, "unknown %s `%s`: did you mean `%s`?",
		    keyword_name(s->kw), show(&sh, w), near);
	else
		diag_error(c->diag, w->at, "unknown %s `%s`: expected %s",
		    keyword_name(s->kw), show(&sh, w),
		    timeout ? "call, ask, start or idle"
			    : "memory, processes, files, cpu, output or input");
}

/* The form of a value of each kind, for the message. */
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
			diag_error(c->diag, w->at, "`%s` has no value: expected %s",
			    w->text, limit_takes[kind]);
		} else if (limit_value(kind, w[1].text, &v) != 0) {
			diag_error(c->diag, w[1].at, "invalid value `%s`: `%s` takes %s",
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
	/* the word may contain a value: NAME=value */
	if (memchr(w->text, '=', w->len) != NULL)
		diag_error(c->diag, w->at,
		    "expected `=` with a space on both sides after the name");
	else if (w->len <= NAME_LEN_MAX && c->diag->hide_line)
		diag_error(c->diag, w->at,
		    "invalid variable name: use letters, digits and `_`, not starting "
		    "with a digit");
	else
		diag_error(c->diag, w->at,
		    "invalid variable name `%s`: use letters, digits and `_`, not "
		    "starting with a digit",
		    show(&s, w));
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
	    "%s is not allowed: it can make a loader, an interpreter or a tool run code "
	    "that no grant names",
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
		    "invalid variable pattern `%s`: expected three or more letters, "
		    "digits or `_`, then `_*`",
		    show(&s, w));
	else if (env_beginning_is_refused(w->text, len))
		diag_error(c->diag, w->at,
		    "%s is not allowed: it matches variables that can make a loader, an "
		    "interpreter or a tool run code that no grant names",
		    w->text);
	return true;
}

void
check_env(struct check *c, struct stmt *s)
{
	(void)check_variable(c, &s->word[0]); /* reports errors itself */
	if (s->word_n == 2)
		(void)check_literal(c, &s->word[1]); /* reports errors itself */
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

/*
 * A preset's words become arguments of a program: unchanged, and never an
 * option.
 */
static void
check_preset(struct check *c, const struct stmt *s)
{
	const struct word *w;
	size_t i;

	for (i = 2; i < s->word_n; i++) {
		w = &s->word[i];
		if (check_literal(c, w) && (w->text[0] == '-' || w->len == 0))
			diag_error(c->diag, w->at,
			    "%s would read this as an option: use `from cmd` to write "
			    "its exact arguments",
			    s->word[1].text);
	}
	if (strcmp(s->word[1].text, "hashicorp-vault") == 0 &&
	    strncmp(s->word[2].text, "https://", 8) != 0)
		diag_error(c->diag, s->word[2].at, "expected an https:// address");
}

/* Checks the reference after the source. */
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
		(void)variable(c, &s->word[2]); /* reports errors itself */
	} else {
		if (check_path_word(c, &s->word[2]) && row->source == SOURCE_CMD &&
		    check_is_loader(s->word[2].text))
			diag_error(c->diag, s->word[2].at,
			    "the dynamic loader cannot be the command of a secret");
		for (i = 3; i < s->word_n; i++)
			(void)check_literal(c, &s->word[i]); /* reports errors itself */
	}
}

void
check_secret_source(struct check *c, struct stmt *s)
{
	const struct source_row *row = source_find(s->word[1].text);
	size_t n = s->word_n - 2;

	if (row == NULL)
		return; /* the parser reported it */
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
	(void)check_variable(c, &s->word[0]); /* reports errors itself */
	if (is_fixed(s->word[0].text))
		diag_error(c->diag, s->word[0].at,
		    "%s is a fixed variable: it cannot be a secret", s->word[0].text);
	check_secret_options(c, s);
	check_secret_source(c, s);
}
