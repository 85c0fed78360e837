/*
 * The matcher.  `explain` and the leash both use this file, so that what is
 * explained is what is enforced.  match_mcp.c handles tools and the like,
 * match_net_paths.c hosts and paths.
 *
 * deny beats ask, ask beats allow, of two asks the one with the stricter factor wins,
 * and no match means deny.  The order of the
 * rows never matters.  Bytes are compared without case folding or decoding.
 */
#include <string.h>

#include "policy/sealed/arg_slot.h"
#include "policy/sealed/match.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/row_index.h"
#include "shim/base/array.h"

#define ENV_BEGINNING_MIN 4 /* three characters and "_" */
#define ENV_BEGINNING_MAX 255

static bool args_match(const struct policy *, struct sealed_range, struct policy_argv);
static bool arg_match(const struct policy *, const struct sealed_arg *, const char *);
static bool same_file(const struct policy *, uint32_t image, uint32_t granted);
static bool called_by_name(
    const struct policy *, const struct sealed_exec *, const char *argv0);

bool
match_wins(
    struct match *m, uint32_t verdict, enum sealed_factor factor, struct sealed_at at)
{
	static const uint8_t rank[] = {
	    [VERDICT_ALLOW] = 1,
	    [VERDICT_ASK] = 2,
	    [VERDICT_DENY] = 3 + FACTOR_KEY,
	};
	uint8_t r = verdict < sizeof(rank) ? rank[verdict] : rank[VERDICT_DENY];

	if (verdict == VERDICT_ASK)
		r = (uint8_t)(r + factor);
	if (r < m->rank ||
	    (r == m->rank && (at.file > m->at.file ||
				 (at.file == m->at.file && at.line >= m->at.line))))
		return false;
	m->rank = r;
	m->at = at;
	m->answer.verdict =
	    verdict < sizeof(rank) ? (enum sealed_verdict)verdict : VERDICT_DENY;
	return true;
}

bool
match_expired(const struct policy *p, uint32_t exception, uint32_t verdict)
{
	uint32_t today;

	if (exception == SEALED_NONE || verdict == VERDICT_DENY)
		return false;
	if (exception >= p->row_n[SEALED_EXCEPTIONS])
		return true;
	today = p->today != 0 ? p->today : policy_days_now();
	return p->exception[exception].until < today;
}

/* ---- programs -------------------------------------------------------------- */

struct exec_match {
	struct match m;
	const struct policy_exec_ask *ask;
	const struct sealed_exec *spared; /* an ask but for a changed variable */
};

static bool
stands_before(struct sealed_at a, struct sealed_at b)
{
	return a.file < b.file || (a.file == b.file && a.line < b.line);
}

static void
exec_consider(const struct policy *p, uint32_t row, void *arg)
{
	const struct sealed_exec *e = &p->exec[row];
	struct exec_match *m = arg;
	enum policy_miss miss = policy_exec_miss(p, e, m->ask);

	if (miss == MISS_NONE &&
	    match_wins(&m->m, e->verdict, (enum sealed_factor)e->factor, e->at))
		m->m.answer.exec = e;
	if (miss == MISS_ENV && e->verdict == VERDICT_ASK &&
	    (m->spared == NULL || stands_before(e->at, m->spared->at)))
		m->spared = e;
}

struct policy_answer
policy_match_exec_call(const struct policy *p, const struct sealed_server *s,
    const struct policy_exec_ask *ask)
{
	struct exec_match m = {.m.answer.verdict = VERDICT_DENY, .ask = ask};

	index_execs(p, s, ask, exec_consider, &m);
	/*
	 * The caller controls its variables: a changed one must not avoid an
	 * ask.
	 */
	if (m.spared != NULL && m.m.answer.verdict == VERDICT_ALLOW)
		m.m.answer =
		    (struct policy_answer){.verdict = VERDICT_DENY, .exec = m.spared};
	return m.m.answer;
}

/* Was this image granted under this path, or does it resolve to it? */
static bool
image_called(const struct policy *p, uint32_t image, const char *path)
{
	return strcmp(path, policy_str(p, p->image[image].path)) == 0 ||
	       strcmp(path, policy_str(p, p->image[image].real)) == 0;
}

/*
 * Is the caller one of those that the row names?  One file may be granted under
 * several paths: those rows are adjacent, because they are sorted by canonical
 * path.
 */
static bool
from_holds(const struct policy *p, const struct sealed_exec *e,
    const struct policy_exec_ask *ask)
{
	uint32_t first = ask->caller, end = first, i, k;

	if (e->from.n == 0)
		return true;
	if (ask->caller == POLICY_NO_IMAGE)
		return false;
	if (ask->caller >= p->row_n[SEALED_IMAGES])
		return e->verdict != VERDICT_ALLOW; /* unknown */
	while (first > 0 && same_file(p, first - 1, ask->caller))
		first--;
	while (end < p->row_n[SEALED_IMAGES] && same_file(p, end, ask->caller))
		end++;
	for (i = 0; i < e->from.n; i++)
		for (k = first; k < end; k++)
			if (image_called(p, k, policy_str(p, p->ref[e->from.first + i])))
				return true;
	return false;
}

static bool
in_holds(const struct policy *p, const struct sealed_exec *e,
    const struct policy_exec_ask *ask)
{
	if (e->in.len == 0)
		return true;
	if (ask->cwd == NULL)
		return e->verdict != VERDICT_ALLOW; /* unknown */
	return policy_under(ask->cwd, strlen(ask->cwd), policy_str(p, e->in), e->in.len);
}

static bool
is_name(const char *s, size_t len)
{
	return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			 "0123456789_") >= len;
}

bool
policy_env_beginning(const char *text, size_t len)
{
	return len >= ENV_BEGINNING_MIN + 1 && len <= ENV_BEGINNING_MAX &&
	       text[len - 1] == '*' && text[len - 2] == '_' && is_name(text, len - 1) &&
	       (text[0] < '0' || text[0] > '9');
}

/* The prefix must be followed by at least one character of a name. */
static bool
env_named(const char *row, size_t row_len, const char *name, size_t len)
{
	size_t n = row_len - 1;

	if (row[n] != '*')
		return row_len == len && memcmp(row, name, len) == 0;
	return len > n && memcmp(row, name, n) == 0 && is_name(name + n, len - n);
}

bool
policy_exec_env(
    const struct policy *p, const struct sealed_exec *e, const char *name, size_t len)
{
	struct sealed_ref ref;
	const char *row;
	uint32_t i;

	for (i = 0; i < e->env.n; i++) {
		ref = p->ref[e->env.first + i];
		row = policy_str(p, ref);
		if (row[0] != '\0' && env_named(row, ref.len, name, len))
			return true;
	}
	return false;
}

/* A deny holds whatever variables have changed. */
static bool
env_holds(const struct policy *p, const struct sealed_exec *e,
    const struct policy_exec_ask *ask)
{
	size_t i;

	for (i = 0; i < ask->env_n && e->verdict != VERDICT_DENY; i++)
		if (!policy_exec_env(p, e, ask->env[i], strcspn(ask->env[i], "=")))
			return false;
	return true;
}

enum policy_miss
policy_exec_miss(const struct policy *p, const struct sealed_exec *e,
    const struct policy_exec_ask *ask)
{
	struct policy_argv rest;
	uint32_t i;

	/* Without argv[0], programs read the environment as arguments. */
	if (ask->argv.n == 0 || ask->argv.v[0] == NULL)
		return MISS_NAME;
	rest = (struct policy_argv){.v = ask->argv.v + 1, .n = ask->argv.n - 1};
	if (!same_file(p, ask->asked, e->asked))
		return MISS_IMAGE;
	if (!args_match(p, e->args, rest))
		return MISS_ARGS;
	/* A deny holds whatever argv[0] is. */
	if (e->verdict != VERDICT_DENY && !called_by_name(p, e, ask->argv.v[0]))
		return MISS_NAME;
	for (i = 0; i < e->excepts.n; i++)
		if (args_match(p, p->except[e->excepts.first + i].args, rest))
			return MISS_EXCEPT;
	if (match_expired(p, e->exception, e->verdict))
		return MISS_EXPIRED;
	if (!from_holds(p, e, ask))
		return MISS_FROM;
	if (!in_holds(p, e, ask))
		return MISS_IN;
	return env_holds(p, e, ask) ? MISS_NONE : MISS_ENV;
}

bool
policy_match_exec_stop(const struct policy *p, const struct sealed_exec *granted,
    uint32_t mapped, struct policy_argv argv)
{
	const struct sealed_arg *a;
	uint32_t i, skip = granted->prefix.n;
	size_t len;

	if (argv.n == 0 || granted->verdict == VERDICT_DENY ||
	    !same_file(p, mapped, granted->mapped))
		return false;
	if (skip == 0) {
		if (!called_by_name(p, granted, argv.v[0]))
			return false;
		skip = 1;
	} else if (argv.n < skip)
		return false;
	for (i = 0; i < granted->prefix.n; i++) {
		a = &p->arg[granted->prefix.first + i];
		len = strlen(argv.v[i]);
		if (len != a->text.len ||
		    memcmp(argv.v[i], policy_str(p, a->text), len) != 0)
			return false;
	}
	argv.v += skip;
	argv.n -= skip;
	for (i = 0; i < granted->excepts.n; i++)
		if (args_match(p, p->except[granted->excepts.first + i].args, argv))
			return false;
	return args_match(p, granted->args, argv);
}

/* ---- argument patterns --------------------------------------------------- */

bool
policy_glob(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
	size_t p = 0, t = 0, star = SIZE_MAX, from = 0;

	/*
	 * Only the last star is ever retried, so the time is never exponential.
	 */
	while (t < text_len) {
		if (p < pattern_len && pattern[p] == '*') {
			star = p++;
			from = t;
		} else if (p < pattern_len && pattern[p] == text[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++from;
		} else
			return false;
	}
	while (p < pattern_len && pattern[p] == '*')
		p++;
	return p == pattern_len;
}

bool
policy_under(const char *path, size_t path_len, const char *folder, size_t len)
{
	if (len == 1) /* "/" */
		return path_len > 0 && path[0] == '/';
	return path_len >= len && memcmp(path, folder, len) == 0 &&
	       (path_len == len || path[len] == '/');
}

/* Matches the patterns from `first` on; there are no options among them. */
static bool
words_match(const struct policy *p, struct sealed_range range, uint32_t i,
    struct policy_argv argv)
{
	const struct sealed_arg *a;
	size_t at = 0;

	for (; i < range.n; i++, at++) {
		a = &p->arg[range.first + i];
		if (a->kind == ARG_REST)
			return true; /* the loader checked that it is the last */
		if (at >= argv.n || !arg_match(p, a, argv.v[at]))
			return false;
	}
	return argv.n == at;
}

/*
 * An option list matches any number of arguments, one or two at a time, so the
 * rest is tried at every position that the list can reach.  The gate refuses
 * more than OPTIONS_MAX arguments before it calls this (GATE_ARGS_MAX).
 */
#define OPTIONS_MAX 4096

static bool
options_match(const struct policy *p, struct sealed_range range, uint32_t i,
    struct policy_argv argv)
{
	const struct sealed_arg *a = &p->arg[range.first + i];
	bool can[OPTIONS_MAX + 2] = {true};
	unsigned int takes;
	size_t at;

	for (at = 0; at <= argv.n && at < OPTIONS_MAX; at++) {
		if (!can[at])
			continue;
		if (words_match(p, range, i + 1,
			(struct policy_argv){.v = argv.v + at, .n = argv.n - at}))
			return true;
		takes = at == argv.n ? 0
				     : slot_take(policy_str(p, a->text), a->text.len,
					   argv.v + at, argv.n - at);
		can[at + 1] |= (takes & SLOT_ONE) != 0;
		can[at + 2] |= (takes & SLOT_TWO) != 0;
	}
	return false;
}

/* argv does not include argv[0] here. */
static bool
args_match(const struct policy *p, struct sealed_range range, struct policy_argv argv)
{
	const struct sealed_arg *a;
	uint32_t i;

	for (i = 0; i < range.n; i++) {
		a = &p->arg[range.first + i];
		if (a->kind == ARG_REST)
			return true; /* the loader checked that it is the last */
		if (a->kind == ARG_OPTIONS)
			return options_match(p, range, i,
			    (struct policy_argv){.v = argv.v + i, .n = argv.n - i});
		if (i >= argv.n || !arg_match(p, a, argv.v[i]))
			return false;
	}
	return argv.n == range.n;
}

/*
 * Matches one argument against the text of a pattern, by kind; not for
 * ARG_REST.
 */
typedef bool arg_fn(const char *want, size_t want_len, const char *text, size_t text_len);

static bool
literal_match(const char *want, size_t want_len, const char *text, size_t text_len)
{
	return text_len == want_len && memcmp(text, want, text_len) == 0;
}

static bool
any_match(const char *want, size_t want_len, const char *text, size_t text_len)
{
	return true;
}

static bool
choice_match(const char *words, size_t len, const char *text, size_t text_len)
{
	size_t at = 0, end;

	for (;;) {
		for (end = at; end < len && words[end] != '|'; end++)
			;
		if (end - at == text_len && memcmp(words + at, text, text_len) == 0)
			return true;
		if (end == len)
			return false;
		at = end + 1;
	}
}

static bool
slot_matches(const char *want, size_t want_len, const char *text, size_t text_len)
{
	size_t prefix;
	struct slot_value v = slot_value(want, want_len, &prefix);

	return text_len >= prefix && memcmp(text, want, prefix) == 0 &&
	       slot_match(&v, text + prefix, text_len - prefix);
}

bool
policy_arg(enum sealed_arg_kind kind, const char *want, size_t want_len, const char *text)
{
	static arg_fn *const match[] = {
	    [ARG_LITERAL] = literal_match,
	    [ARG_ANY] = any_match,
	    [ARG_GLOB] = policy_glob,
	    [ARG_CHOICE] = choice_match,
	    [ARG_SLOT] = slot_matches,
	};

	if (kind >= ARRAY_LEN(match) || match[kind] == NULL)
		return false;
	return match[kind](want, want_len, text, strlen(text));
}

static bool
arg_match(const struct policy *p, const struct sealed_arg *a, const char *text)
{
	return policy_arg(
	    (enum sealed_arg_kind)a->kind, policy_str(p, a->text), a->text.len, text);
}

/* One file may be granted under two paths: two images, one canonical name. */
static bool
same_file(const struct policy *p, uint32_t image, uint32_t granted)
{
	struct sealed_ref a, b;

	if (image >= p->row_n[SEALED_IMAGES] || granted >= p->row_n[SEALED_IMAGES])
		return false;
	a = p->image[image].real;
	b = p->image[granted].real;
	return a.len == b.len && memcmp(policy_str(p, a), policy_str(p, b), a.len) == 0;
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* A multi-call binary acts by its name, so the name is part of the grant. */
static bool
called_by_name(const struct policy *p, const struct sealed_exec *e, const char *argv0)
{
	const char *granted = policy_str(p, p->image[e->asked].path);

	return strcmp(base_name(argv0), base_name(granted)) == 0;
}
