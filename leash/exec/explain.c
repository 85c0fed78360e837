/*
 * Reports each exec with its verdict, for an author who tries a policy (kennel exec
 * --explain).
 *
 * Process: the leash.  Text of the server is redacted as in the log.  Must not
 * wait: if the reader is too slow, reports are dropped.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "leash/exec/private.h"
#include "leash/scrub/scrub.h"
#include "policy/sealed/policy.h"

#define WORDS_MAX 8192
#define CHAIN_MAX 4096

static void
put_words(struct gate *g, const struct call *c, struct foreign_list *words,
    struct gate_judged *ret)
{
	for (size_t i = 0; i < c->argc && !ret->cut; i++)
		ret->cut = !foreign_list_add(
		    words, foreign_text(g->order.scrub, c->argv[i], &g->shown));
	ret->words = words;
}

static void
put_chain(
    struct gate *g, const struct call *c, char chain[CHAIN_MAX], struct gate_judged *ret)
{
	char text[PATH_MAX + 32];
	size_t len = 0, n;

	for (size_t i = 0; i < c->chain.n; i++) {
		n = strlen(kin_text(g, c, i, text, sizeof(text))) + 1;
		if (n > CHAIN_MAX - len)
			break;
		memcpy(chain + len, text, n);
		len += n;
		ret->chain_n++;
	}
	ret->chain = chain;
}

void
explain_judged(
    struct gate *g, const struct call *c, const struct verdict *v, const char *name)
{
	static char chain[CHAIN_MAX];
	const struct policy *p = g->order.policy;
	struct gate_judged j = {.verdict = name,
	    .caller = "",
	    .rule = "",
	    .reason = v->reason == NULL ? "" : v->reason};
	struct foreign_list words;
	char rule[512];

	if (!g->order.explain || !g->order.person || !g->order.person->judged)
		return;
	foreign_list_init(&words, WORDS_MAX);
	j.program = foreign_text(g->order.scrub, v->program, &g->shown_too);
	if (v->row)
		j.rule = policy_at(p, v->row->at, rule, sizeof(rule));
	if (c->caller == POLICY_NO_IMAGE)
		j.caller = "kennel-shim";
	else if (c->caller < p->row_n[SEALED_IMAGES])
		j.caller = policy_str(p, p->image[c->caller].real);
	put_chain(g, c, chain, &j);
	put_words(g, c, &words, &j);
	g->order.person->judged(g->order.person_arg, &j);
	foreign_list_free(&words);
}
