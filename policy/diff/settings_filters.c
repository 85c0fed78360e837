/*
 * Lists of system calls and of filters; and of last days that no matcher applies.
 */
#include "policy/diff/private.h"
#include "policy/sealed/policy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/seccomp.h>

#include "shim/base/hex.h"

static bool
is_refusal(uint32_t action)
{
	uint32_t kind = action & SECCOMP_RET_ACTION_FULL;

	return kind == SECCOMP_RET_ERRNO || kind == SECCOMP_RET_KILL_PROCESS ||
	       kind == SECCOMP_RET_KILL_THREAD;
}

/*
 * The verdict of each filter for each call: the rows against which the loader
 * simulates the filter.  Of several rows of a call the first that holds decides, so
 * that all of them together, in their order, are the value.
 */
static void
read_filter(const struct policy *p, const struct sealed_filter *k, struct pairs *l)
{
	const struct sealed_syscall *c, *next;
	const struct sealed_compare *m;
	const char *arch = policy_arch_name(k->arch);
	const struct policy *t = policy_filter_tables(p, &k);
	char name[160], *value;
	size_t len;
	uint32_t i, n;
	bool refused = true;
	FILE *f = NULL;

	for (i = 0; i < k->syscalls.n; i++) {
		c = &t->syscall[k->syscalls.first + i];
		next = i + 1 < k->syscalls.n ? c + 1 : NULL;
		if (f == NULL && (f = open_memstream(&value, &len)) == NULL) {
			l->failed = true;
			return;
		}
		(void)fprintf(f, "%s action %x", policy_str(t, c->name), c->action);
		refused = refused && is_refusal(c->action);
		for (n = 0; n < c->compares.n; n++) {
			m = &t->compare[c->compares.first + n];
			(void)fprintf(f, " if argument %u & %" PRIx64 " op %u %" PRIx64,
			    m->arg, m->mask, m->op, m->value);
		}
		if (next != NULL && next->nr == c->nr) {
			(void)fputs(", else ", f);
			continue;
		}
		if (fclose(f) != 0)
			l->failed = true;
		f = NULL;
		(void)snprintf(
		    name, sizeof(name), "%s %s #%u", arch, policy_str(t, c->name), c->nr);
		pairs_add(l, name, strlen(name), value, refused);
		refused = true;
	}
}

void
read_calls(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	uint32_t i;

	for (i = 0; i < s->filters.n; i++)
		read_filter(p, &p->filter[s->filters.first + i], l);
}

/* The program of each filter, which the kernel runs. */
void
read_programs(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_filter *k;
	const struct policy *t;
	char value[2 * 32 + 1];
	uint8_t digest[32];
	const char *arch;
	uint32_t i;

	for (i = 0; i < s->filters.n; i++) {
		k = &p->filter[s->filters.first + i];
		arch = policy_arch_name(k->arch);
		t = policy_filter_tables(p, &k);
		policy_digest(&t->insn[k->insns.first],
		    k->insns.n * sizeof(struct sealed_insn), digest);
		pairs_add(l, arch, strlen(arch),
		    strdup(hex_put(value, digest, sizeof(digest))), 0);
	}
}

/* The last day of a deny or of a system call; UINT32_MAX: none. */
static void
add_until(struct pairs *l, const struct policy *p, char *line, uint32_t exception)
{
	uint32_t until =
	    exception != SEALED_NONE && exception < p->row_n[SEALED_EXCEPTIONS]
		? p->exception[exception].until
		: UINT32_MAX;
	char day[SAY_DAY_CAP];

	if (line == NULL) {
		l->failed = true;
		return;
	}
	pairs_add(l, line, strlen(line),
	    strdup(until == UINT32_MAX ? "no end" : say_day_text(until, day)), until);
	free(line);
}

void
read_denials(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	static const struct sealed_ref none = {0, 0};
	uint32_t i, except;

	for (i = 0; i < s->execs.n; i++) {
		struct sealed_exec e = p->exec[s->execs.first + i];

		except = e.exception;
		e.exception = SEALED_NONE;
		e.because = e.instead = none;
		if (e.verdict == VERDICT_DENY)
			add_until(l, p, say_text(say_exec, p, &e), except);
	}
	for (i = 0; i < s->gates.n; i++) {
		struct sealed_gate g = p->gate[s->gates.first + i];

		except = g.exception;
		g.exception = SEALED_NONE;
		g.because = g.instead = none;
		if (g.verdict == VERDICT_DENY)
			add_until(l, p, say_text(say_gate, p, &g), except);
	}
	for (i = 0; i < s->nets.n; i++) {
		struct sealed_net n = p->net[s->nets.first + i];

		except = n.exception;
		n.exception = SEALED_NONE;
		n.because = n.instead = none;
		if (n.verdict == VERDICT_DENY)
			add_until(l, p, say_text(say_net, p, &n), except);
	}
}

void
read_call_ends(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_call *c;
	char *line;
	uint32_t i;

	for (i = 0; i < s->calls.n; i++) {
		c = &p->call[s->calls.first + i];
		line = malloc(c->name.len + 8);
		if (line != NULL)
			(void)snprintf(line, c->name.len + 8, "%s %s",
			    policy_verdict_name((enum sealed_verdict)c->verdict),
			    policy_str(p, c->name));
		add_until(l, p, line, c->exception);
	}
}
