/*
 * What the policy says about (image, arguments, environment), and the record
 * of it.
 *
 * Process: the leash.  Works on our own copy of the call only.  An argument
 * may hold a secret: the log gets argv[0] and the path that was asked for, both
 * scrubbed, a digest and the count, never the rest.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "leash/exec/flight.h"
#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"

#define VARIABLE_SHOWN_MAX 64
#define CHANGED_MAX        64 /* variables that a grant may let change */

static const char because_ask[] = "ask: no question can be put in this version";

/* Words for what could not even be judged. */
static const struct {
	int error;
	const char *reason;
} unjudged[] = {
    {-EACCES, "the path cannot be followed, or leads through a magic link"},
    {-EFAULT, "path, arguments or environment cannot be read"},
    {-E2BIG, "too many or too long arguments"},
    {-EINVAL, "unknown flags"},
    {-EBADF, "no such descriptor"},
};

/*
 * What execve itself would say of a path that leads to nothing.  In a cell that
 * is how most programs that nothing grants look: they are not in the view.  So
 * it is recorded like any refusal, though a search along PATH asks for many.
 */
static bool
leads_nowhere(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG ||
	       error == -ELOOP;
}

static void
refuse(struct verdict *v, int error, const char *reason)
{
	v->error = error;
	v->reason = reason;
	if (v->verdict == VERDICT_ALLOW)
		v->verdict = VERDICT_DENY;
}

static void
refuse_unjudged(struct verdict *v, int error)
{
	v->absent = leads_nowhere(error);
	refuse(v, error, v->absent ? "no such file in the cell" : "cannot be judged");
	for (size_t i = 0; i < sizeof(unjudged) / sizeof(unjudged[0]); i++) {
		if (unjudged[i].error == error)
			v->reason = unjudged[i].reason;
	}
}

/* deny beats ask beats allow beats "nothing grants it", over all names that
 * one file was granted under. */
static unsigned int
weight(struct policy_answer a)
{
	static const unsigned int of[] = {
	    [VERDICT_ALLOW] = 1, [VERDICT_ASK] = 2, [VERDICT_DENY] = 3};

	return a.exec ? of[a.verdict] : 0;
}

static struct policy_answer
match_images(struct gate *g, const struct image_key *key, struct policy_exec_ask *ask,
    struct verdict *v, bool *known)
{
	const struct policy *p = g->order.policy;
	struct policy_answer best = {.verdict = VERDICT_DENY};

	for (size_t i = 0; i < g->order.image_n; i++) {
		struct policy_answer a;

		if (!image_same(&g->image[i], key))
			continue;
		ask->asked = g->order.server->images.first + (uint32_t)i;
		if (!*known)
			v->program = policy_str(p, p->image[ask->asked].path);
		*known = true;
		a = policy_match_exec_call(p, g->order.server, ask);
		if (weight(a) > weight(best)) {
			best = a;
			v->program = policy_str(p, p->image[ask->asked].path);
		}
	}
	return best;
}

static void
match(
    struct gate *g, const struct call *c, const struct image_key *key, struct verdict *v)
{
	const char *changed[CHANGED_MAX];
	struct policy_exec_ask ask = {
	    .argv = {.v = c->argv, .n = c->argc}, .caller = SEALED_NONE, .env = changed};
	struct policy_answer best;
	bool known = false;

	for (size_t i = 0; i < c->envc && ask.env_n < CHANGED_MAX; i++)
		if (!env_permits(g->order.env, c->envp[i], strlen(c->envp[i])))
			changed[ask.env_n++] =
			    strchr(c->envp[i], '=') ? c->envp[i] : "="; /* no name */
	best = match_images(g, key, &ask, v, &known);
	if (ask.env_n == CHANGED_MAX && best.verdict != VERDICT_DENY)
		best = (struct policy_answer){.verdict = VERDICT_DENY};
	v->verdict = best.verdict;
	v->row = best.exec;
	if (best.exec && best.verdict == VERDICT_ASK)
		refuse(v, -EACCES, because_ask);
	else if (!best.exec || best.verdict != VERDICT_ALLOW)
		refuse(v, -EACCES, known ? NULL : "no grant names this file");
	if (!known || best.exec)
		return;
	v->reason = "no grant has these arguments";
	if (ask.env_n == 0)
		return;
	/* Would it have been granted with the launch's own environment? */
	ask.env_n = 0;
	best = match_images(g, key, &ask, v, &known);
	if (best.exec) {
		v->row = best.exec;
		v->reason = "environment differs from the launch";
		v->differs = changed[0];
	}
}

void
grant_judge(struct gate *g, struct call *c, struct verdict *ret)
{
	struct image_key key = {.known = false};
	struct verdict v = {.verdict = VERDICT_DENY, .program = c->path};
	int r, words;

	r = call_copy_path(c);
	if (r == 0)
		r = image_asked(g, c, &key);
	if (leads_nowhere(r)) {
		refuse_unjudged(&v, r);
		goto out;
	}
	words = call_copy_words(c);
	if (r < 0 || words < 0) {
		refuse_unjudged(&v, r < 0 ? r : words);
		goto out;
	}
	if (c->argc == 0) {
		refuse(&v, -EACCES, "no argv[0]");
		goto out;
	}
	match(g, c, &key, &v);
out:
	*ret = v;
}

/* The arguments as one number: each with its NUL, as /proc/PID/cmdline has them. */
static void
put_argv_digest(struct event *e, const struct call *c)
{
	uint8_t digest[REPORT_DIGEST_LEN];

	policy_digest(c->text, c->argv_len, digest);
	event_digest(e, KEY_ARGV_SHA256, digest);
}

/* What the server chose to call something may be a secret of its own. */
static void
put_foreign(struct gate *g, enum event_key key, const char *text)
{
	if (g->order.scrub != NULL)
		text = scrub_text(g->order.scrub, text, &g->shown) == 0
			   ? (const char *)g->shown.data
			   : SCRUB_MASK;
	event_text(&g->event, key, text);
}

/* Which variable refused it, for who writes the policy: its name, never its
 * value.  A long one is no name, and half of it would pass the scrub. */
static void
put_reason(struct gate *g, const struct verdict *v)
{
	size_t len = v->differs == NULL ? 0 : strcspn(v->differs, "=");
	char text[128];

	if (len == 0 || len > VARIABLE_SHOWN_MAX || v->differs[len] == 0) {
		event_text(&g->event, KEY_REASON, v->reason);
		return;
	}
	(void)snprintf(text, sizeof(text), "%s: %.*s", v->reason, (int)len, v->differs);
	put_foreign(g, KEY_REASON, text);
}

int
grant_record(struct gate *g, pid_t pid, const struct call *c, const struct verdict *v,
    const char *name)
{
	const struct policy *p = g->order.policy;
	struct event *e = &g->event;
	char rule[512] = "";

	if (!g->order.report)
		return 0;
	event_begin(e, EVENT_EXEC);
	event_identity(e, policy_str(p, g->order.server->name), p->id);
	event_text(e, KEY_VERDICT, name);
	put_foreign(g, KEY_PROGRAM, v->program);
	if (v->row) {
		event_text(e, KEY_IMAGE, policy_str(p, p->image[v->row->mapped].real));
		event_text(e, KEY_RULE, policy_at(p, v->row->at, rule, sizeof(rule)));
	}
	if (c->argc > 0) {
		put_foreign(g, KEY_ARGV, c->argv[0]);
		put_argv_digest(e, c);
	}
	event_number(e, KEY_COUNT, c->argc);
	event_number(e, KEY_PID, (uint64_t)pid);
	if (v->reason)
		put_reason(g, v);
	/* Durable within 50 ms: an exec is too frequent to wait. */
	return report_send(g->order.report, e, EVENT_FLOW, NULL);
}
