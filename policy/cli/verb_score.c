/*
 * "kennel policy score": the risk of each server, item by item.
 */
#include "policy/cli/verb.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/print/score.h"
#include "policy/print/statement.h"

static void
tell_text(const struct policy *p, const char *name, const struct score *s)
{
	const struct score_item *i;

	printf("server %s: %u", name, s->sum);
	if (s->unknown_n > 0)
		printf(", and %u not known", s->unknown_n);
	(void)fputc('\n', stdout);
	for (i = s->item; i < s->item + s->n; i++) {
		if (i->rule->points > 0)
			printf("  %3u %-15s", i->rule->points, i->rule->name);
		else
			printf("  %3s %-15s", "?", i->rule->name);
		if (i->line != NULL) {
			printf(" %s  # ", i->line);
			say_at(p, i->at, stdout);
			(void)fputc('\n', stdout);
			printf("%20s  %s\n", "", i->rule->why);
		} else {
			printf(" %s\n", i->rule->why);
		}
	}
}

static void
tell_json(struct out *o, const struct policy *p, const char *name, const struct score *s)
{
	out_object(o, NULL);
	out_text(o, "server", name);
	score_put(o, p, s);
	out_end(o);
}

struct scores {
	bool json;
	struct out o;
	uint64_t most; /* the highest score */
};

static int
score_all(const struct policy *p, const char *only, struct scores *x)
{
	struct score s;
	const char *name;
	uint32_t i;
	int r;

	for (i = 0; i < p->row_n[SEALED_SERVERS]; i++) {
		name = policy_str(p, p->server[i].name);
		if (only != NULL && strcmp(only, name) != 0)
			continue;
		r = score_server(p, &p->server[i], &s);
		if (r != 0)
			return r;
		if (x->json)
			tell_json(&x->o, p, name, &s);
		else
			tell_text(p, name, &s);
		x->most = s.sum > x->most ? s.sum : x->most;
		score_free(&s);
	}
	return 0;
}

static int
score(const struct args *a, const struct compiled *c, uint64_t most)
{
	const char *only = a->word_n == 2 ? a->word[1] : NULL;
	struct scores x = {.json = (a->given & OPT_JSON) != 0};
	int r;

	if (only != NULL && compiled_server(c, a->word[0], only) == NULL)
		return EXIT_MISSING;
	out_init(&x.o, stdout);
	if (x.json) {
		out_object(&x.o, NULL);
		out_list(&x.o, "servers");
	}
	r = score_all(&c->p, only, &x);
	if (r != 0)
		return verb_status(r);
	if (x.json) {
		out_end(&x.o);
		out_yes(&x.o, "above", x.most > most);
		out_text(&x.o, "note", score_caveat);
		out_end(&x.o);
	} else {
		(void)fputs(score_caveat, stdout);
	}
	if (verb_flush() != 0)
		return EXIT_CONFIG;
	return x.most > most ? EXIT_NO : EXIT_OK;
}

int
verb_score(const struct args *a)
{
	uint64_t most = UINT64_MAX;
	struct compiled c;
	int status;

	if (a->threshold != NULL && unit_count(a->threshold, &most) != 0)
		return verb_usage("--threshold takes a number", "");
	status = compiled_read(a->word[0], &c);
	if (status != 0)
		return status;
	status = score(a, &c, most);
	compiled_free(&c);
	return status;
}
