/*
 * The one matcher: what explain says and what the leash enforces is this file.
 *
 * deny beats ask beats allow; nothing matches is deny.  The order of the rows
 * never matters.  Bytes are compared, nothing is folded or decoded.
 */
#include <string.h>

#include "policy/policy.h"

static bool args_match(const struct policy *, struct sealed_range, struct policy_argv);
static bool arg_match(const struct policy *, const struct sealed_arg *, const char *);
static bool same_file(const struct policy *, uint32_t image, uint32_t granted);
static bool called_by_name(
    const struct policy *, const struct sealed_exec *, const char *argv0);

/* Which of two verdicts holds. */
static const uint8_t rank[] = {
    [VERDICT_ALLOW] = 1,
    [VERDICT_ASK] = 2,
    [VERDICT_DENY] = 3,
};

/* Does verdict v win over what was found so far (nothing: rank 0)? */
static bool
wins(uint32_t v, uint8_t *best)
{
	uint8_t r = v < sizeof(rank) ? rank[v] : rank[VERDICT_DENY];

	if (r <= *best)
		return false;
	*best = r;
	return true;
}

struct policy_answer
policy_match_exec_call(const struct policy *p, const struct sealed_server *s,
    uint32_t asked, struct policy_argv argv)
{
	struct policy_answer answer = {.verdict = VERDICT_DENY};
	struct policy_argv rest;
	const struct sealed_exec *e;
	uint8_t best = 0;
	uint32_t i;

	/* No argv[0]: programs then read the environment as arguments. */
	if (argv.n == 0 || argv.v[0] == NULL)
		return answer;
	rest = (struct policy_argv){.v = argv.v + 1, .n = argv.n - 1};
	for (i = 0; i < s->execs.n; i++) {
		e = &p->exec[s->execs.first + i];
		if (!same_file(p, asked, e->asked) || !args_match(p, e->args, rest))
			continue;
		/* A deny holds whatever the program is called. */
		if (e->verdict != VERDICT_DENY && !called_by_name(p, e, argv.v[0]))
			continue;
		if (wins(e->verdict, &best)) {
			answer.verdict = (enum sealed_verdict)e->verdict;
			answer.exec = e;
		}
	}
	return answer;
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
	return args_match(p, granted->args, argv);
}

struct policy_answer
policy_match_gate(const struct policy *p, const struct sealed_server *s,
    enum sealed_gate_kind kind, const char *name, size_t name_len)
{
	struct policy_answer answer = {.verdict = VERDICT_DENY};
	const struct sealed_gate *g;
	uint8_t best = 0;
	uint32_t i;

	for (i = 0; i < s->gates.n; i++) {
		g = &p->gate[s->gates.first + i];
		if (g->kind != kind ||
		    !policy_glob(policy_str(p, g->name), g->name.len, name, name_len))
			continue;
		if (wins(g->verdict, &best)) {
			answer.verdict = (enum sealed_verdict)g->verdict;
			answer.gate = g;
		}
	}
	return answer;
}

bool
policy_glob(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
	size_t p = 0, t = 0, star = SIZE_MAX, from = 0;

	/* Only the last star is ever tried again: never exponential. */
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

/* argv here is without argv[0]. */
static bool
args_match(const struct policy *p, struct sealed_range range, struct policy_argv argv)
{
	const struct sealed_arg *a;
	uint32_t i;

	for (i = 0; i < range.n; i++) {
		a = &p->arg[range.first + i];
		if (a->kind == ARG_REST)
			return true; /* the loader made sure that it is the last */
		if (i >= argv.n || !arg_match(p, a, argv.v[i]))
			return false;
	}
	return argv.n == range.n;
}

/* One argument against the text of a pattern, by kind; ARG_REST is not one. */
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
arg_match(const struct policy *p, const struct sealed_arg *a, const char *text)
{
	static arg_fn *const match[] = {
	    [ARG_LITERAL] = literal_match,
	    [ARG_ANY] = any_match,
	    [ARG_GLOB] = policy_glob,
	    [ARG_CHOICE] = choice_match,
	};

	if (a->kind >= sizeof(match) / sizeof(match[0]) || match[a->kind] == NULL)
		return false;
	return match[a->kind](policy_str(p, a->text), a->text.len, text, strlen(text));
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

/* A multi-call image does what its name says, so the name is part of the grant. */
static bool
called_by_name(const struct policy *p, const struct sealed_exec *e, const char *argv0)
{
	const char *granted = policy_str(p, p->image[e->asked].path);

	return strcmp(base_name(argv0), base_name(granted)) == 0;
}
