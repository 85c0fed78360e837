/*
 * How long one decision takes, by the number of rules, beside a plain look-up in
 * a hash table of as many names; and one load.
 */
#include <search.h>
#include <stdlib.h>
#include <time.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "tests/unit/policy_many.h"

#define ROUNDS 300u
#define NAMES  4096u

static volatile size_t sink;

static double
now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Of rounds the best: others use the machine too. */
static double
least(double best, double from)
{
	double took = (now_ns() - from) / NAMES;

	return took < best ? took : best;
}

static char names[NAMES][24];

static void
names_make(uint32_t n, const char *stem)
{
	uint32_t i;

	for (i = 0; i < NAMES; i++)
		(void)snprintf(
		    names[i], sizeof(names[i]), "%s%u", stem, (uint32_t)rand() % n);
}

static double
gates(const struct policy *p, const struct sealed_server *s)
{
	struct policy_gate_ask ask = {.kind = GATE_TOOL};
	double best = 1e9, from;
	uint32_t i, k;

	for (k = 0; k < ROUNDS; k++) {
		from = now_ns();
		for (i = 0; i < NAMES; i++) {
			ask.name = names[i];
			ask.name_len = strlen(ask.name);
			sink += policy_match_gate(p, s, &ask).verdict;
		}
		best = least(best, from);
	}
	return best;
}

static double
execs(const struct policy *p, const struct sealed_server *s)
{
	const char *argv[] = {"git", "push", NULL, "x"};
	struct policy_exec_ask ask = {
	    .asked = s->images.first, .argv = {argv, 4}, .caller = SEALED_NONE};
	double best = 1e9, from;
	uint32_t i, k;

	for (k = 0; k < ROUNDS; k++) {
		from = now_ns();
		for (i = 0; i < NAMES; i++) {
			argv[2] = names[i];
			sink += policy_match_exec_call(p, s, &ask).verdict;
		}
		best = least(best, from);
	}
	return best;
}

/* hsearch(3): the C library's own table. */
static double
plain(uint32_t n)
{
	static char own[10000][24];
	struct hsearch_data table = {0};
	ENTRY e = {0}, *found;
	double best = 1e9, from;
	uint32_t i, k;

	if (hcreate_r(2 * (size_t)n, &table) == 0)
		abort();
	for (i = 0; i < n; i++) {
		(void)snprintf(own[i], sizeof(own[i]), "tool_%u", i);
		e.key = own[i];
		(void)hsearch_r(e, ENTER, &found, &table); /* there is room */
	}
	for (k = 0; k < ROUNDS; k++) {
		from = now_ns();
		for (i = 0; i < NAMES; i++) {
			e.key = names[i];
			sink += hsearch_r(e, FIND, &found, &table) != 0;
		}
		best = least(best, from);
	}
	hdestroy_r(&table);
	return best;
}

int
main(void)
{
	static const uint32_t sizes[] = {10, 100, 1000, 10000};
	struct policy p;
	struct buf b;
	char why[200];
	double gate, exec, load;
	size_t i;

	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		buf_init(&b, SEALED_LEN_MAX);
		if (many_policy(sizes[i], &b) < 0)
			return 1;
		load = now_ns();
		if (policy_load_bytes(b.data, b.len, &p, why, sizeof(why)) < 0)
			return 1;
		load = now_ns() - load;
		names_make(sizes[i], "tool_");
		gate = gates(&p, policy_server(&p, "m"));
		printf("rules %u plain %.0f gate %.0f ", sizes[i], plain(sizes[i]), gate);
		names_make(sizes[i], "branch-");
		exec = execs(&p, policy_server(&p, "m"));
		printf("exec %.0f load_us %.0f\n", exec, load / 1000);
		buf_free(&b);
	}
	return 0;
}
