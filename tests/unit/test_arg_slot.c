/*
 * Typed slots: how they are read, what fits, and that the matcher and the automaton
 * of the algebra mean the same by each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/algebra/algebra.h"
#include "policy/sealed/arg_slot.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#define ARGS_MAX 8

/* ---- reading ------------------------------------------------------------------ */

static const struct {
	const char *text;
	bool good;
} slots[] = {
    {"<number>", true},
    {"--depth=<number>", true},
    {"-n<number:1..50>", true},
    {"<number:0..0>", true},
    {"<number:5..4>", false},
    {"<number:01..4>", false},
    {"<number:>", false},
    {"<number:1>", false},
    {"<number:1..>", false},
    {"<number:-1..5>", false},
    {"<number:1..9999999999999999999>", false},
    {"<path:/srv>", true},
    {"<path:/>", true},
    {"<path>", false},
    {"<path:srv>", false},
    {"<path:/srv/../x>", false},
    {"<path:/srv/>", false},
    {"<host>", true},
    {"<host:a.example>", true},
    {"<host:*.a.example>", true},
    {"<host:*>", false},
    {"<host:127.0.0.1>", false},
    {"<host:-a.b>", false},
    {"<host:A.b>", false},
    {"<host:a..b>", false},
    {"<host:a.b.>", false},
    {"<text>", true},
    {"<text:x>", false},
    {"-m<text>", false},
    {"<nothing>", false},
    {"<>", false},
    {"<number", false},
    {"<number>x", false},
    {"<number><number>", false},
    {"a*<number>", false},
    {"a|b<number>", false},
    {"<number*>", false},
};
static const struct {
	const char *text;
	bool good;
} options[] = {
    {"<-v>", true},
    {"<--verbose>", true},
    {"<-v,-q,--x>", true},
    {"<-n=<number:1..5>,--depth=<number>>", true},
    {"<--c=a|b>", true},
    {"<-name=<path:/srv>>", true},
    {"<->", false},
    {"<-->", false},
    {"<-v,>", false},
    {"<-v,,-q>", false},
    {"<-v,x>", false},
    {"<--c=>", false},
    {"<--c=a||b>", false},
    {"<--c=|a>", false},
    {"<--c=*>", false},
    {"<--c=<text>>", false},
    {"<--c=<nope>>", false},
    {"<--c=<number>", false},
    {"<-v", false},
    {"-v>", false},
    {"<--a*>", false},
};

static void
what_can_be_read(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(slots); i++)
		if ((slot_check(slots[i].text, strlen(slots[i].text)) == NULL) !=
		    slots[i].good)
			fail_msg("%s", slots[i].text);
	for (i = 0; i < ARRAY_LEN(options); i++)
		if ((slot_check_options(options[i].text, strlen(options[i].text)) ==
			NULL) != options[i].good)
			fail_msg("%s", options[i].text);
}

/* ---- fitting: a policy of one row ------------------------------------------------ */

struct list {
	const char *pattern[ARGS_MAX];
	struct {
		const char *argv[ARGS_MAX];
		bool fits;
	} tries[24];
};

static const struct list lists[] = {
    {{"--depth=<number:5..120>"},
	{{{"--depth=5"}, true}, {{"--depth=120"}, true}, {{"--depth=99"}, true},
	    {{"--depth=4"}, false}, {{"--depth=121"}, false}, {{"--depth=1000"}, false},
	    {{"--depth=05"}, false}, {{"--depth=+5"}, false}, {{"--depth="}, false},
	    {{"--depth=5 "}, false}, {{"--depth", "5"}, false}, {{"--depth=50x"}, false},
	    {{"--depth=99999999999999999999999"}, false}}},
    {{"<number>"}, {{{"0"}, true}, {{"7"}, true}, {{"999999999999999999"}, true},
		       {{"1000000000000000000"}, false}, {{"-1"}, false}, {{"00"}, false},
		       {{""}, false}}},
    {{"-f", "<path:/srv/repo>"},
	{{{"-f", "/srv/repo"}, true}, {{"-f", "/srv/repo/a/b"}, true},
	    {{"-f", "/srv/repo/...x"}, true}, {{"-f", "/srv/repo/..x/y"}, true},
	    {{"-f", "/srv/repository"}, false}, {{"-f", "/srv/repo/../x"}, false},
	    {{"-f", "/srv/repo/./x"}, false}, {{"-f", "/srv/repo/.."}, false},
	    {{"-f", "/srv/repo//x"}, false}, {{"-f", "/srv/repo/"}, false},
	    {{"-f", "/srv"}, false}, {{"-f", "repo"}, false}, {{"-f", "--x"}, false},
	    {{"-f"}, false}}},
    {{"<path:/>"}, {{{"/"}, true}, {{"/a"}, true}, {{"/a/../b"}, false}, {{""}, false}}},
    {{"<host>"}, {{{"localhost"}, true}, {{"a.example"}, true}, {{"a-b.c9"}, true},
		     {{"127.0.0.1"}, false}, {{"0x7f.1"}, false}, {{"a.1"}, false},
		     {{"-a.b"}, false}, {{"a-.b"}, false}, {{"A.b"}, false},
		     {{"a..b"}, false}, {{"a.b."}, false}, {{"--help"}, false},
		     {{"user@a.b"}, false}, {{""}, false}}},
    {{"https://<host:*.example.com>"},
	{{{"https://a.example.com"}, true}, {{"https://b.a.example.com"}, true},
	    {{"https://1.example.com"}, true}, {{"https://example.com"}, false},
	    {{"https://.example.com"}, false}, {{"https://aexample.com"}, false},
	    {{"https://a.example.com/x"}, false}, {{"https://a.example.com:1"}, false},
	    {{"https://x/a.example.com"}, false}}},
    {{"<host:a.example>"}, {{{"a.example"}, true}, {{"b.a.example"}, false}}},
    {{"--", "<text>"},
	{{{"--", "-x"}, true}, {{"--", ""}, true}, {{"--"}, false}, {{"-x"}, false}}},
    {{"log", "<-v,-p,-n=<number:1..50>,--oneline,--depth=<number>,--color=always|never>",
	 "main"},
	{{{"log", "main"}, true}, {{"log", "-v", "main"}, true},
	    {{"log", "-vp", "main"}, true}, {{"log", "-n5", "main"}, true},
	    {{"log", "-n", "5", "main"}, true}, {{"log", "-vn5", "main"}, true},
	    {{"log", "-vpn", "50", "-v", "main"}, true},
	    {{"log", "--oneline", "--depth=3", "--depth", "4", "main"}, true},
	    {{"log", "--color=never", "--color", "always", "main"}, true},
	    {{"log", "-n51", "main"}, false}, {{"log", "-n", "main"}, false},
	    {{"log", "-nv5", "main"}, false}, {{"log", "-n=5", "main"}, false},
	    {{"log", "-x", "main"}, false}, {{"log", "-vx", "main"}, false},
	    {{"log", "--one", "main"}, false}, {{"log", "--oneline=x", "main"}, false},
	    {{"log", "--color", "main"}, false}, {{"log", "-", "main"}, false},
	    {{"log", "--", "main"}, false}, {{"log", "main", "-v"}, false},
	    {{"log", "--color=auto", "main"}, false}, {{"log", "", "main"}, false}}},
    /* what stands behind may be what the options could have taken */
    {{"<-v,-n=<number>>", "-v", "**"},
	{{{"-v"}, true}, {{"-v", "-v"}, true}, {{"-n", "3", "-v", "x"}, true},
	    {{"-vv"}, false}, {{"x"}, false}}},
    {{"<-name=<number>,-n,-a>", "*"},
	{{{"x"}, true}, {{"-name", "3", "x"}, true}, {{"-name=3", "x"}, true},
	    {{"-na", "x"}, true}, {{"-nam", "x"}, false}, {{"-name", "x"}, false}}},
};

#define LISTS (ARRAY_LEN(lists))

static enum sealed_arg_kind
kind_of(const char *t)
{
	return strcmp(t, "**") == 0                ? ARG_REST
	       : strcmp(t, "*") == 0               ? ARG_ANY
	       : strncmp(t, "<-", 2) == 0          ? ARG_OPTIONS
	       : t[strlen(t) - (t[0] != 0)] == '>' ? ARG_SLOT
						   : ARG_LITERAL;
}

static size_t
count(const char *const *v)
{
	size_t n = 0;

	while (n < ARGS_MAX && v[n] != NULL)
		n++;
	return n;
}

static bool
matcher_says(const char *const *pattern, const char *const *argv, size_t n)
{
	static char strings[4096];
	struct sealed_arg arg[ARGS_MAX];
	struct sealed_image image = {.path = {1, 2}, .real = {1, 2}};
	struct sealed_exec e = {
	    .verdict = VERDICT_ALLOW, .exception = SEALED_NONE, .args = {0, 0}};
	const char *words[64] = {"/p"};
	struct policy_exec_ask ask = {.argv = {words, n + 1}, .caller = SEALED_NONE};
	struct policy p = {
	    .strings = strings, .strings_len = 4, .image = &image, .arg = arg};
	size_t i;

	memcpy(strings, "\0/p", 4);
	p.row_n[SEALED_IMAGES] = 1;
	for (i = 0; i < count(pattern); i++) {
		enum sealed_arg_kind kind = kind_of(pattern[i]);
		bool bare = kind == ARG_ANY || kind == ARG_REST;
		size_t len = bare ? 0 : strlen(pattern[i]);

		arg[i] = (struct sealed_arg){
		    .text = {(uint32_t)p.strings_len, (uint32_t)len}, .kind = kind};
		memcpy(strings + p.strings_len, pattern[i], len);
		strings[p.strings_len + len] = 0;
		p.strings_len += len + 1;
		e.args.n++;
	}
	assert_true(n < 63);
	for (i = 0; i < n; i++)
		words[i + 1] = argv[i];
	return policy_exec_miss(&p, &e, &ask) == MISS_NONE;
}

static void
what_fits(void **state)
{
	size_t i, k;

	for (i = 0; i < LISTS; i++)
		for (k = 0; k < 24 && lists[i].tries[k].argv[0] != NULL; k++)
			if (matcher_says(lists[i].pattern, lists[i].tries[k].argv,
				count(lists[i].tries[k].argv)) != lists[i].tries[k].fits)
				fail_msg("list %zu, try %zu: %s", i, k,
				    lists[i].tries[k].argv[0]);
}

/* ---- the automaton ----------------------------------------------------------------- */

static uint32_t
add(struct sets *s, const char *const *pattern, bool literal)
{
	struct sets_word w[ARGS_MAX];
	size_t i, n = count(pattern);
	uint32_t ret = 0;

	for (i = 0; i < n; i++) {
		w[i] = (struct sets_word){pattern[i], strlen(pattern[i]),
		    literal ? SETS_LITERAL : (enum sets_kind)kind_of(pattern[i])};
		if (w[i].kind == SETS_ANY || w[i].kind == SETS_REST)
			w[i].len = 0;
	}
	assert_int_equal(sets_add(s, w, n, &ret), 0);
	return ret;
}

struct look {
	size_t list;
	uint32_t pattern, literal[24];
	size_t seen, cells;
};

static int
cell(void *arg, const struct sets_cell *c)
{
	struct look *l = arg;
	const struct list *list = &lists[l->list];
	bool in = sets_in(c, l->pattern);
	size_t k;

	l->cells++;
	if (matcher_says(list->pattern, c->text, c->text_n) != in)
		fail_msg("list %zu: a cell of %zu words, %s", l->list, c->text_n,
		    c->text_n > 0 ? c->text[0] : "");
	for (k = 0; k < 24 && list->tries[k].argv[0] != NULL; k++) {
		if (!sets_in(c, l->literal[k]))
			continue;
		l->seen++;
		if (list->tries[k].fits != in)
			fail_msg("list %zu, try %zu: the automaton differs", l->list, k);
	}
	return 0;
}

static void
automaton_agrees(void **state)
{
	size_t i, k;

	for (i = 0; i < LISTS; i++) {
		struct sets *s = sets_new(SETS_ARGV);
		struct look l = {.list = i};

		l.pattern = add(s, lists[i].pattern, false);
		for (k = 0; k < 24 && lists[i].tries[k].argv[0] != NULL; k++)
			l.literal[k] = add(s, lists[i].tries[k].argv, true);
		assert_int_equal(sets_cells(s, cell, &l), 0);
		assert_int_equal(l.seen, k); /* each try is in one cell */
		sets_free(s);
	}
}

/* Two slots: a member of what both hold, and of what one holds alone. */
static int
both(void *arg, const struct sets_cell *c)
{
	size_t *n = arg;

	n[0] += c->in_n == 2;
	n[1] += c->in_n == 1 && c->in[0] == 0;
	n[2] += c->in_n == 1 && c->in[0] == 1;
	return 0;
}

static void
slots_meet(void **state)
{
	static const struct {
		const char *a[2], *b[2];
		bool meet, only_a, only_b;
	} pairs[] = {
	    {{"<number:1..50>"}, {"<number:50..99>"}, true, true, true},
	    {{"<number:1..50>"}, {"<number:51..99>"}, false, true, true},
	    {{"<number:10..20>"}, {"<number>"}, true, false, true},
	    {{"<path:/srv/a>"}, {"<path:/srv>"}, true, false, true},
	    {{"<path:/srv/a>"}, {"<path:/srv/b>"}, false, true, true},
	    {{"<host:*.a.b>"}, {"<host>"}, true, false, true},
	    {{"<host>"}, {"<number>"}, false, true, true},
	    {{"<path:/>"}, {"<host>"}, false, true, true},
	    {{"<number:1..5>"}, {"*"}, true, false, true},
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(pairs); i++) {
		struct sets *s = sets_new(SETS_ARGV);
		size_t n[3] = {0};

		(void)add(s, pairs[i].a, false);
		(void)add(s, pairs[i].b, false);
		assert_int_equal(sets_cells(s, both, n), 0);
		if ((n[0] > 0) != pairs[i].meet || (n[1] > 0) != pairs[i].only_a ||
		    (n[2] > 0) != pairs[i].only_b)
			fail_msg("pair %zu: %zu %zu %zu", i, n[0], n[1], n[2]);
		sets_free(s);
	}
}

/* Cells of the first pattern that some literal is in. */
static int
count_in(void *arg, const struct sets_cell *c)
{
	size_t *n = arg;

	n[0] += sets_in(c, 0) && c->in_n == 2;
	return 0;
}

/* Numbers around every bound, by the automaton and by the matcher. */
static void
number_bounds(void **state)
{
	static const uint64_t at[] = {
	    0, 1, 9, 10, 11, 99, 100, 101, 109, 110, 199, 999, 1000};
	const size_t n = ARRAY_LEN(at);
	size_t i, k, m;

	for (i = 0; i < n; i++)
		for (k = i; k < n; k++) {
			struct sets *s = sets_new(SETS_ARGV);
			char text[64], number[13][24];
			const char *pattern[2] = {text, NULL}, *word[2] = {NULL, NULL};
			struct slot_value v;
			size_t prefix, got = 0;

			(void)snprintf(text, sizeof(text), "<number:%llu..%llu>",
			    (unsigned long long)at[i], (unsigned long long)at[k]);
			(void)add(s, pattern, false);
			v = slot_value(text, strlen(text), &prefix);
			for (m = 0; m < n; m++) {
				(void)snprintf(number[m], sizeof(number[m]), "%llu",
				    (unsigned long long)at[m]);
				word[0] = number[m];
				(void)add(s, word, true);
				assert_int_equal(
				    slot_match(&v, number[m], strlen(number[m])),
				    at[m] >= at[i] && at[m] <= at[k]);
			}
			assert_int_equal(sets_cells(s, count_in, &got), 0);
			assert_int_equal(got, k - i + 1);
			sets_free(s);
		}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_can_be_read),
	    cmocka_unit_test(what_fits),
	    cmocka_unit_test(automaton_agrees),
	    cmocka_unit_test(slots_meet),
	    cmocka_unit_test(number_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
