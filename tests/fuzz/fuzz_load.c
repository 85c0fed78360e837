/*
 * The loader on any bytes at all.  What loads is then walked as a leash walks
 * it: every row of every server, every string, every verdict.
 *
 * A byte-wise mutator hardly ever makes a file that passes the layout, so one
 * of ours changes single fields of rows and leaves the layout alone half of
 * the time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/ask.h"

#define INPUT_MAX (1u << 20)

/* libFuzzer's; not there where a corpus is only replayed. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned int seed);

static volatile size_t sink;

static void
see(const struct policy *p, struct sealed_ref ref)
{
	const char *s = policy_str(p, ref);

	if (strlen(s) != ref.len)
		abort(); /* the loader promised */
	sink += ref.len;
}

static void
see_args(const struct policy *p, struct sealed_range range)
{
	uint32_t i;

	for (i = 0; i < range.n; i++)
		see(p, p->arg[range.first + i].text);
}

static void
see_execs(const struct policy *p, const struct sealed_server *s)
{
	static const char *const argv[] = {"sh", "-c", "true"};
	struct policy_argv a = {argv, 3};
	const struct sealed_exec *e;
	uint32_t i;

	for (i = 0; i < s->execs.n; i++) {
		e = &p->exec[s->execs.first + i];
		see(p, p->image[e->asked].path);
		see(p, p->image[e->mapped].real);
		see_args(p, e->args);
		see_args(p, e->prefix);
		sink += ask_exec(p, s, e->asked, a).verdict;
		sink += policy_match_exec_stop(p, e, e->mapped, a);
	}
}

static void
see_server(const struct policy *p, const struct sealed_server *s)
{
	char where[64];
	uint32_t i;

	see(p, s->name);
	see(p, s->cwd);
	sink += strlen(policy_at(p, s->at, where, sizeof(where)));
	if (policy_server(p, policy_str(p, s->name)) != s)
		abort();
	see_execs(p, s);
	for (i = 0; i < s->mounts.n; i++) {
		see(p, p->mount[s->mounts.first + i].source);
		see(p, p->mount[s->mounts.first + i].target);
	}
	for (i = 0; i < s->envs.n; i++)
		see(p, p->env[s->envs.first + i].value);
	for (i = 0; i < s->secrets.n; i++)
		see_args(p, p->secret[s->secrets.first + i].args);
	for (i = 0; i < s->filters.n; i++)
		sink += p->insn[p->filter[s->filters.first + i].insns.first].k;
	sink += ask_gate(p, s, GATE_TOOL, "read_x", 6).verdict;
	sink += policy_limit(p, s, LIMIT_MEMORY);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct policy p;
	uint8_t *copy;
	char why[200];
	uint32_t i;

	if (len > INPUT_MAX || (copy = malloc(len + 1)) == NULL)
		return 0;
	memcpy(copy, data, len);
	if (policy_load_bytes(copy, len, &p, why, sizeof(why)) == 0)
		for (i = 0; i < p.row_n[SEALED_SERVERS]; i++)
			see_server(&p, &p.server[i]);
	free(copy);
	return 0;
}

/* One 16- or 32-bit field anywhere behind the section table. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned int seed)
{
	static const uint32_t nice[] = {
	    0, 1, 2, 3, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff};
	const size_t rows = sizeof(struct sealed_header) +
			    (SEALED_KIND_END - 1) * sizeof(struct sealed_section);
	uint32_t v;
	size_t at;

	srand(seed);
	if (len < rows + 8 || rand() % 2 == 0)
		return LLVMFuzzerMutate(data, len, max);
	at = rows + (size_t)rand() % ((len - rows) / 4) * 4;
	memcpy(&v, data + at, 4);
	if (rand() % 2 == 0)
		v += (uint32_t)(rand() % 33) - 16;
	else
		v = nice[(size_t)rand() % (sizeof(nice) / sizeof(nice[0]))];
	memcpy(data + at, &v, 4);
	return len;
}
