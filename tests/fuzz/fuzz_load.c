/*
 * The loader on any bytes at all.  What loads is then walked as a leash walks
 * it: every row of every server, every string, every verdict.
 *
 * A byte-wise mutator hardly ever makes a file that passes the layout, so one
 * of ours changes single fields of rows, by the loader's own table of fields, and
 * leaves the layout alone most of the time; what was signed it signs again, with
 * a key that the look at signatures trusts.  Every input is loaded twice: as it is,
 * and with the digest that it should have, or hardly one would come further.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "policy/compile/source_list.h"
#include "policy/sealed/load.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/array.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/ask.h"
#include "tests/unit/resealed.h"

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
	for (i = 0; i < s->filters.n; i++) {
		const struct sealed_filter *f = &p->filter[s->filters.first + i];
		const struct policy *t = policy_filter_tables(p, &f);

		sink += t->insn[f->insns.first + f->insns.n - 1].k;
		sink += t->syscall[f->syscalls.first + f->syscalls.n - 1].nr;
	}
	sink += ask_gate(p, s, GATE_TOOL, "read_x", 6).verdict;
	sink += policy_limit(p, s, LIMIT_MEMORY);
}

/* The key of 32 zero bytes: everybody has it. */
static void
key_make(uint8_t key[SIGN_KEY_LEN], uint8_t secret[crypto_sign_SECRETKEYBYTES])
{
	static const uint8_t seed[crypto_sign_SEEDBYTES];

	(void)crypto_sign_seed_keypair(key, secret, seed); /* always 0 */
}

/* Whatever signatures are there: no crash, and what is good is good twice. */
static void
see_signatures(const uint8_t *bytes, size_t len)
{
	static struct trust t = {.wanted = true, .threshold = 1, .key_n = 1};
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	struct signed_by by;
	char why[200];
	int r;

	key_make(t.key[0], secret);
	r = sign_verify(bytes, len, &t, 20000, &by, why, sizeof(why));
	if (r == 0 && (by.counter == 0 || by.trusted_n != 1))
		abort();
	sink += (size_t)-r;
}

/* The body as it is now, signed by that key. */
static void
sign_again(uint8_t *bytes, size_t len)
{
	struct sign_message m;
	const struct sign_head *head;
	const struct sign_row *row;
	uint8_t secret[crypto_sign_SECRETKEYBYTES], key[SIGN_KEY_LEN];
	struct sign_row mine;
	size_t body;

	if (sign_layout(bytes, len, &body, &head, &row) < 0 || head == NULL)
		return;
	key_make(key, secret);
	sign_message(bytes, body, head, &m);
	memcpy(mine.key, key, sizeof(key));
	(void)crypto_sign_detached(
	    mine.sig, NULL, (const uint8_t *)&m, sizeof(m), secret); /* always 0 */
	memcpy(bytes + body + sizeof(*head), &mine, sizeof(mine));
}

static void
load_and_see(const uint8_t *bytes, size_t len)
{
	struct policy p;
	char why[200];
	uint32_t i;

	if (policy_load_bytes(bytes, len, &p, why, sizeof(why)) == 0)
		for (i = 0; i < p.row_n[SEALED_SERVERS]; i++)
			see_server(&p, &p.server[i]);
}

/* What is read of the list of sources is in the file, in this order. */
static void
see_sources(const uint8_t *data, size_t len)
{
	struct source_list list = source_list_of(data, len);
	struct listed_source source;

	while (source_list_next(&list, &source)) {
		if (memmem(data, len, source.path, strlen(source.path)) == NULL)
			abort();
		if (!source_list_has(source_list_of(data, len), source.sha256))
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy;

	if (len > INPUT_MAX || (copy = malloc(len + 1)) == NULL)
		return 0;
	memcpy(copy, data, len);
	see_signatures(copy, len);
	see_sources(copy, len);
	load_and_see(copy, len);
	digest_again(copy, len);
	load_and_see(copy, len);
	free(copy);
	return 0;
}

/* One field of one row, to a value that is nearly right. */
static void
field_change(uint8_t *data, size_t len)
{
	static const uint32_t nice[] = {
	    0, 1, 2, 3, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff};
	const struct sealed_section *sec =
	    (const void *)(data + sizeof(struct sealed_header));
	uint32_t kind = 2 + (uint32_t)rand() % (SEALED_KIND_END - 2), v;
	const struct sealed_field *f = fields_of(kind);
	size_t at, n = 0;

	sec += kind - 1;
	while (f[n].kind == kind)
		n++;
	if (sec->row_n == 0 || n == 0)
		return;
	at = (size_t)sec->off + (size_t)rand() % sec->row_n * field_kind[kind].size +
	     f[(size_t)rand() % n].at + (rand() % 4 == 0 ? 4 : 0);
	if (at > len - 4)
		return;
	memcpy(&v, data + at, 4);
	if (rand() % 2 == 0)
		v += (uint32_t)(rand() % 33) - 16;
	else
		v = nice[(size_t)rand() % (ARRAY_LEN(nice))];
	memcpy(data + at, &v, 4);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned int seed)
{
	const size_t rows = sizeof(struct sealed_header) +
			    (SEALED_KIND_END - 1) * sizeof(struct sealed_section);

	srand(seed);
	if (len < rows + 8 || rand() % 4 == 0)
		return LLVMFuzzerMutate(data, len, max);
	field_change(data, len);
	digest_again(data, len);
	sign_again(data, len);
	return len;
}
