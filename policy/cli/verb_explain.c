/*
 * "kennel policy explain": the matcher's answer to a request, the deciding
 * line, near misses, and changes that would give another answer.
 */
#include "policy/cli/verb.h"
#include "policy/sealed/policy.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "policy/cli/near_miss.h"
#include "policy/print/statement.h"

struct answer {
	const struct policy *p;
	const struct sealed_server *s;
	const struct request *q;
	struct policy_answer a;
	struct nears n;
	char *line; /* the deciding line, or NULL */
	const char *because, *instead;
	const struct answer *real; /* of the file that a link leads to; NULL: no link */
};

/* The file that the links of a path lead to. */
struct target {
	char path[PATH_MAX];
	const char *word[1];
	struct request q;
	struct answer x;
};

static void
answer_line(struct answer *x)
{
	const struct policy_answer *a = &x->a;

	if (a->exec != NULL) {
		x->line = say_text(say_exec, x->p, a->exec);
		x->because = policy_str(x->p, a->exec->because);
		x->instead = policy_str(x->p, a->exec->instead);
	} else if (a->gate != NULL) {
		x->line = say_text(say_gate, x->p, a->gate);
		x->because = policy_str(x->p, a->gate->because);
		x->instead = policy_str(x->p, a->gate->instead);
	} else if (a->net != NULL) {
		x->line = say_text(say_net, x->p, a->net);
		x->because = policy_str(x->p, a->net->because);
		x->instead = policy_str(x->p, a->net->instead);
	} else if (a->mount != NULL &&
		   (a->mount->why != WHY_BASE || a->verdict == VERDICT_ALLOW)) {
		/* of a denial, what every cell has is no line that someone wrote */
		x->line = say_text(say_mount, x->p, a->mount);
	}
}

/* Is what decides mounted from the host? A cell's own /tmp or /proc has none of its links. */
static bool
is_of_host(const struct answer *x)
{
	return x->a.mount != NULL &&
	       (x->a.mount->kind == MOUNT_FILE || x->a.mount->kind == MOUNT_TREE);
}

/* Of a granted path, answers for the file that its links lead to, as this user sees them: a
 * cell follows links by the same names. syscalls: readlink newfstatat */
static void
follow(struct answer *x, struct target *t)
{
	const char *path = x->q->word[0];

	if ((x->q->kind != REQUEST_READ && x->q->kind != REQUEST_WRITE) ||
	    x->a.verdict != VERDICT_ALLOW || !is_of_host(x) ||
	    realpath(path, t->path) == NULL || strcmp(path, t->path) == 0)
		return;
	t->word[0] = t->path;
	t->q = *x->q;
	t->q.word = t->word;
	t->x = (struct answer){.p = x->p, .s = x->s, .q = &t->q};
	t->x.a = request_policy(x->p, x->s, &t->q);
	answer_line(&t->x);
	x->real = &t->x;
}

/* The verdict that an open gets. */
static enum sealed_verdict
verdict_of(const struct answer *x)
{
	return x->real != NULL ? x->real->a.verdict : x->a.verdict;
}

static void
text_changes(const struct answer *x)
{
	const struct change *c;
	size_t i;

	if (x->n.change_n == 0)
		return;
	printf("to make it %s:\n", policy_verdict_name(x->n.then));
	for (i = 0; i < x->n.change_n; i++) {
		c = &x->n.change[i];
		printf("  %s: %s", c->verb, c->text);
		if (c->at.line != 0) {
			(void)fputs("  # ", stdout);
			say_at(x->p, c->at, stdout);
		}
		(void)fputc('\n', stdout);
	}
	if (x->n.open_end)
		puts("  and more: too many rules prevent it");
}

/* Calls fn with every line that limits the calls of this tool. */
static void
limits(const struct answer *x, policy_limit_fn *fn, void *arg)
{
	struct policy_gate_ask ask;

	if (x->q->kind != REQUEST_TOOL || x->a.verdict == VERDICT_DENY)
		return;
	ask = request_gate(x->p, x->s, x->q);
	policy_gate_limits(x->p, x->s, &ask, fn, arg);
}

static void
text_limit(const struct policy *p, uint32_t row, void *arg)
{
	(void)fputs("limited by: ", arg);
	say_gate(p, &p->gate[row], arg);
	(void)fputs("  # ", arg);
	say_at(p, p->gate[row].at, arg);
	(void)fputc('\n', arg);
}

static void
text_answer(const struct answer *x)
{
	printf("%s: ", policy_verdict_name(x->a.verdict));
	request_say(x->q, stdout);
	(void)fputs("\nby: ", stdout);
	if (x->line != NULL) {
		printf("%s  # ", x->line);
		say_at(x->p, request_decides(&x->a), stdout);
		(void)fputc('\n', stdout);
	} else {
		puts("no rule matches: denied by default");
	}
	limits(x, text_limit, stdout);
	printf("enforced: %s\n", request_mechanism(x->q, &x->a));
}

static void
text(const struct answer *x)
{
	size_t i;

	text_answer(x);
	if (x->real != NULL) {
		puts("a link on this path leads to another file now, which decides:");
		text_answer(x->real);
	}
	if (x->n.near_n > 0)
		puts("near:");
	for (i = 0; i < x->n.near_n; i++) {
		printf("  %s  # ", x->n.near[i].text);
		say_at(x->p, x->n.near[i].at, stdout);
		printf("\n    %s\n", x->n.near[i].detail);
	}
	text_changes(x);
}

/* ---- JSON ----------------------------------------------------------------------- */

static void
json_line(struct out *o, const struct policy *p, struct sealed_at at, const char *line)
{
	if (at.line != 0) {
		out_text(o, "file", policy_str(p, p->file[at.file]));
		out_number(o, "line", at.line);
	}
	out_text(o, "text", line);
}

static void
json_limit(const struct policy *p, uint32_t row, void *arg)
{
	char *line = say_text(say_gate, p, &p->gate[row]);

	out_object(arg, NULL);
	if (line != NULL)
		json_line(arg, p, p->gate[row].at, line);
	out_end(arg);
	free(line);
}

static void
json_changes(struct out *o, const struct answer *x)
{
	size_t i;

	out_object(o, "change");
	out_text(o, "then", policy_verdict_name(x->n.then));
	out_yes(o, "complete", !x->n.open_end);
	out_list(o, "edits");
	for (i = 0; i < x->n.change_n; i++) {
		out_object(o, NULL);
		out_text(o, "verb", x->n.change[i].verb);
		json_line(o, x->p, x->n.change[i].at, x->n.change[i].text);
		out_end(o);
	}
	out_end(o);
	out_end(o);
}

static void
json_by(struct out *o, const struct answer *x)
{
	if (x->line == NULL)
		return;
	out_object(o, "by");
	json_line(o, x->p, request_decides(&x->a), x->line);
	if (x->because != NULL && x->because[0] != 0)
		out_text(o, "because", x->because);
	if (x->instead != NULL && x->instead[0] != 0)
		out_text(o, "instead", x->instead);
	out_end(o);
}

static void
json_real(struct out *o, const struct answer *real)
{
	if (real == NULL)
		return;
	out_object(o, "leads_to");
	out_text(o, "path", real->q->word[0]);
	out_text(o, "verdict", policy_verdict_name(real->a.verdict));
	json_by(o, real);
	out_text(o, "enforced", request_mechanism(real->q, &real->a));
	out_end(o);
}

static void
json(const struct answer *x, const char *server)
{
	struct out o;
	size_t i;

	out_init(&o, stdout);
	out_object(&o, NULL);
	out_text(&o, "server", server);
	out_text(&o, "verdict", policy_verdict_name(x->a.verdict));
	out_text(&o, "kind", request_kind_name(x->q->kind));
	out_list(&o, "words");
	for (i = 0; i < x->q->word_n; i++)
		out_text(&o, NULL, x->q->word[i]);
	out_end(&o);
	json_by(&o, x);
	out_list(&o, "limits");
	limits(x, json_limit, &o);
	out_end(&o);
	out_text(&o, "enforced", request_mechanism(x->q, &x->a));
	json_real(&o, x->real);
	out_list(&o, "near");
	for (i = 0; i < x->n.near_n; i++) {
		out_object(&o, NULL);
		json_line(&o, x->p, x->n.near[i].at, x->n.near[i].text);
		out_text(&o, "missing", policy_miss_name(x->n.near[i].miss));
		out_text(&o, "detail", x->n.near[i].detail);
		out_end(&o);
	}
	out_end(&o);
	json_changes(&o, x);
	out_end(&o);
}

/* ---- the verb ---------------------------------------------------------------------- */

static int
explain(const struct args *a, const struct compiled *c, const struct sealed_server *s)
{
	struct answer x = {.p = &c->p, .s = s};
	struct target target = {.x.line = NULL};
	const char *why;
	struct request q;

	if (request_read(a->word + 2, a->word_n - 2, &q, &why) != 0)
		return verb_usage(why, "");
	q.from = a->from;
	q.in = a->in;
	q.env = a->env;
	q.env_n = a->env_n;
	x.q = &q;
	x.a = request_policy(&c->p, s, &q);
	answer_line(&x);
	follow(&x, &target);
	/* where another file decides, the lines near this path do not matter */
	if (verdict_of(&x) == x.a.verdict && nears_find(&c->p, s, &q, &x.n) != 0) {
		free(x.line);
		free(target.x.line);
		return verb_status(-ENOMEM);
	}
	if ((a->given & OPT_JSON) != 0)
		json(&x, policy_str(&c->p, s->name));
	else
		text(&x);
	free(x.line);
	free(target.x.line);
	nears_free(&x.n);
	return verdict_of(&x) == VERDICT_ALLOW ? EXIT_OK : EXIT_NO;
}

int
verb_explain(const struct args *a)
{
	const struct sealed_server *s;
	struct compiled c;
	int status;

	status = compiled_read(a->word[0], &c);
	if (status != 0)
		return status;
	s = compiled_server(&c, a->word[0], a->word[1]);
	status = s == NULL ? EXIT_MISSING : explain(a, &c, s);
	compiled_free(&c);
	if (verb_flush() != 0)
		return EXIT_CONFIG;
	return status;
}
