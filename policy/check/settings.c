/*
 * Checks of values: limits, requirements, variables, secrets.  No message
 * contains a value of an env or secret line, and no line that may hold one is
 * shown.
 */
#include <string.h>

#define DIAG_CODE "value"

#include "policy/check/check.h"
#include "policy/lang/scalar.h"
#include "policy/lang/secret_path.h"
#include "policy/lang/secret_source.h"
#include "policy/sources/sources.h"
#include "policy/tokens/secret_shaped.h"
#include "shim/base/array.h"
#include "shim/help/near_word.h"

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
	near = near_word(w->text, list, 3);
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
static const char *const timeout_words[] = {"call", "ask", "start", "idle", "most"};

static void
limit_unknown(struct check *c, const struct stmt *s, const struct word *w)
{
	bool timeout = s->kw == KW_TIMEOUT;
	const char *near =
	    timeout ? near_word(w->text, timeout_words, ARRAY_LEN(timeout_words))
		    : near_word(w->text, limit_words, ARRAY_LEN(limit_words));
	struct shown sh;

	if (near != NULL)
		diag_error(c->diag, w->at, "unknown %s `%s`: did you mean `%s`?",
		    keyword_name(s->kw), show(&sh, w), near);
	else
		diag_error(c->diag, w->at, "unknown %s `%s`: expected %s",
		    keyword_name(s->kw), show(&sh, w),
		    timeout ? "call, most, ask, start or idle"
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
    [TIMEOUT_MOST] = "a time from 1ms to 30d, as in 30m",
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

bool
check_is_secret(const char *name, const char *value)
{
	const char *arg[2] = {name, value};

	/* PASSWORD_FILE=/run/x and --key /run/x name the place of a secret */
	if (value[0] == '/')
		return secret_shaped(value);
	return name[0] == '-' ? secret_shaped_args(arg, ARRAY_LEN(arg)) == 1
			      : secret_shaped_value(name, value);
}

void
check_env(struct check *c, struct stmt *s)
{
	const struct word *w = s->word;

	(void)check_variable(c, &w[0]); /* reports errors itself */
	if (s->word_n == 2 && check_literal(c, &w[1]) &&
	    check_is_secret(w[0].text, w[1].text))
		diag_warning(c->diag, w[1].at,
		    "this value looks like a secret: policies and their copies beside "
		    "the "
		    "log are not encrypted, and it is not redacted; store it with "
		    "`kennel "
		    "secret set`, and write `secret %s from vault PATH`",
		    w[0].text);
}

static bool
is_fixed(const char *name)
{
	static const char *const fixed[] = {
	    "PATH", "HOME", "USER", "LANG", "TMPDIR", "XDG_RUNTIME_DIR"};
	size_t i;

	for (i = 0; i < ARRAY_LEN(fixed); i++)
		if (strcmp(fixed[i], name) == 0)
			return true;
	return false;
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
