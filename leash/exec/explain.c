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

const char *
explain_clean(struct gate *g, const char *text)
{
	if (g->order.scrub == NULL)
		return text;
	return scrub_text(g->order.scrub, text, &g->shown) == 0
		   ? (const char *)g->shown.data
		   : SCRUB_MASK;
}

static void
put_words(
    struct gate *g, const struct call *c, char words[WORDS_MAX], struct gate_judged *ret)
{
	size_t len = 0, n;

	for (size_t i = 0; i < c->argc && !ret->cut; i++) {
		const char *word = explain_clean(g, c->argv[i]);

		n = strlen(word) + 1;
		ret->cut = n > WORDS_MAX - len;
		if (ret->cut)
			break;
		memcpy(words + len, word, n);
		len += n;
		ret->argc++;
	}
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
	static char words[WORDS_MAX], chain[CHAIN_MAX];
	const struct policy *p = g->order.policy;
	struct gate_judged j = {.verdict = name,
	    .caller = "",
	    .rule = "",
	    .reason = v->reason == NULL ? "" : v->reason};
	char program[PATH_MAX], rule[512];

	if (!g->order.explain || !g->order.person || !g->order.person->judged)
		return;
	(void)snprintf(program, sizeof(program), "%s", explain_clean(g, v->program));
	j.program = program;
	if (v->row)
		j.rule = policy_at(p, v->row->at, rule, sizeof(rule));
	if (c->caller == POLICY_NO_IMAGE)
		j.caller = "kennel-shim";
	else if (c->caller < p->row_n[SEALED_IMAGES])
		j.caller = policy_str(p, p->image[c->caller].real);
	put_chain(g, c, chain, &j);
	put_words(g, c, words, &j);
	g->order.person->judged(g->order.person_arg, &j);
}
