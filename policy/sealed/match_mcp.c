/*
 * The matcher for the names that an agent may use: tools, resources, prompts,
 * methods.
 *
 * Bytes are compared without folding.  Two exceptions: a deny of resources also
 * compares the decoded URI (uri.c), and a deny of methods the folded name
 * (method_name.c).
 */
#include <string.h>

#include "policy/sealed/match.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/row_index.h"
#include "policy/sealed/values/method_name.h"
#include "policy/sealed/values/uri.h"
#include "shim/base/array.h"

struct gate_match {
	struct match m;
	const struct policy_gate_ask *ask;
};

/* The classes in the tool's reviewed definition. */
static uint32_t
classes_of(const struct policy_gate_ask *ask)
{
	if (ask->pin == NULL || ask->pin->classes == 0)
		return CLASS_UNANNOTATED;
	return ask->pin->classes;
}

/* The verdict of a matching row: its own, or the one from annotations. */
static enum sealed_verdict
gate_verdict(const struct sealed_gate *g, const struct policy_gate_ask *ask)
{
	uint32_t classes = classes_of(ask);

	if ((g->flags & GATE_BY_ANNOTATIONS) == 0)
		return (enum sealed_verdict)g->verdict;
	if (((classes | ask->said) & CLASS_DESTRUCTIVE) != 0)
		return VERDICT_ASK;
	return (classes & CLASS_READONLY) != 0 ? VERDICT_ALLOW : VERDICT_ASK;
}

static void
gate_consider(const struct policy *p, uint32_t row, void *arg)
{
	const struct sealed_gate *g = &p->gate[row];
	struct gate_match *m = arg;

	if (policy_gate_miss(p, g, m->ask) == MISS_NONE &&
	    match_wins(&m->m, gate_verdict(g, m->ask), policy_gate_factor(g), g->at))
		m->m.answer.gate = g;
}

/*
 * A known method passes unless it is denied, because other gates judge it.  An
 * unknown one also passes, unless it could be taken for a known one, or `method
 * allow` lines exist and none names it.
 */
static struct policy_answer
method_answer(const struct policy *p, const struct sealed_server *s,
    const struct policy_gate_ask *ask, struct policy_answer by_row)
{
	enum method_form form = method_form(ask->name, ask->name_len);
	const struct sealed_gate *g;
	bool listed = false;
	uint32_t i;

	if (by_row.gate != NULL && by_row.verdict == VERDICT_DENY)
		return by_row;
	if (form == METHOD_TWIN)
		return (struct policy_answer){.verdict = VERDICT_DENY};
	for (i = 0; i < s->gates.n; i++) {
		g = &p->gate[s->gates.first + i];
		listed =
		    listed || (g->kind == GATE_METHOD && g->verdict == VERDICT_ALLOW);
	}
	if (by_row.gate == NULL && (form == METHOD_KNOWN || !listed))
		by_row.verdict = VERDICT_ALLOW;
	return by_row;
}

struct policy_answer
policy_match_gate(const struct policy *p, const struct sealed_server *s,
    const struct policy_gate_ask *ask)
{
	struct gate_match m = {.m.answer.verdict = VERDICT_DENY, .ask = ask};

	index_gates(p, s, ask, gate_consider, &m);
	return ask->kind == GATE_METHOD ? method_answer(p, s, ask, m.m.answer)
					: m.m.answer;
}

uint32_t
policy_offers(const struct policy *p, const struct sealed_server *s)
{
	static const struct {
		enum sealed_gate_kind kind;
		uint32_t flag;
	} offer[] = {{GATE_SAMPLING, SERVER_MCP_SAMPLING},
	    {GATE_ELICITATION, SERVER_MCP_ELICITATION}, {GATE_ROOTS, SERVER_MCP_ROOTS}};
	uint32_t offers = 0;
	size_t i;

	for (i = 0; i < ARRAY_LEN(offer); i++) {
		struct policy_gate_ask ask = {.kind = offer[i].kind, .name = ""};

		if ((s->flags & offer[i].flag) != 0 &&
		    policy_match_gate(p, s, &ask).verdict == VERDICT_ALLOW)
			offers |= offer[i].flag;
	}
	return offers;
}

struct limit_match {
	const struct policy_gate_ask *ask;
	policy_limit_fn *fn;
	void *arg;
};

bool
policy_gate_limited(const struct policy *p, const struct sealed_gate *g,
    const struct policy_gate_ask *ask)
{
	struct sealed_gate strict = *g;

	/* a limit restricts: what is unknown matches, as for an `ask` */
	strict.verdict = VERDICT_ASK;
	return (g->rate != 0 || g->quota != 0) &&
	       policy_gate_miss(p, &strict, ask) == MISS_NONE;
}

static void
limit_consider(const struct policy *p, uint32_t row, void *arg)
{
	const struct limit_match *m = arg;

	if (policy_gate_limited(p, &p->gate[row], m->ask))
		m->fn(p, row, m->arg);
}

void
policy_gate_limits(const struct policy *p, const struct sealed_server *s,
    const struct policy_gate_ask *ask, policy_limit_fn *fn, void *arg)
{
	struct limit_match m = {ask, fn, arg};

	index_gates(p, s, ask, limit_consider, &m);
}

static bool
class_holds(const struct sealed_gate *g, const struct policy_gate_ask *ask)
{
	uint32_t classes = classes_of(ask);

	if (g->verdict != VERDICT_ALLOW)
		classes |= ask->said;
	return g->classes == 0 || (g->classes & classes) != 0;
}

static bool
cond_holds(const struct policy *p, const struct sealed_gate *g,
    const struct policy_gate_ask *ask)
{
	enum policy_truth t;

	if (g->conds.n == 0)
		return true;
	if (ask->args == NULL)
		return g->verdict != VERDICT_DENY;
	t = policy_conds(p, g->conds, ask->args, ask->args_len);
	return t == TRUTH_YES || (t == TRUTH_UNKNOWN && g->verdict != VERDICT_ALLOW);
}

/*
 * Servers resolve a URI before they read it.  One that may resolve to another
 * matches every deny and nothing else.  A deny also matches the decoded URI;
 * its exceptions match only by bytes.
 */
static bool
name_holds(const struct policy *p, const struct sealed_gate *g,
    const struct policy_gate_ask *ask, enum uri_form form)
{
	const char *name = policy_str(p, g->name);

	if (g->name.len == 0)
		return true;
	if (form == URI_ODD)
		return g->verdict == VERDICT_DENY;
	if (policy_glob(name, g->name.len, ask->name, ask->name_len))
		return true;
	if (ask->kind == GATE_METHOD)
		return g->verdict == VERDICT_DENY &&
		       method_glob(name, g->name.len, ask->name, ask->name_len);
	return ask->kind == GATE_RESOURCE && g->verdict == VERDICT_DENY &&
	       uri_glob(name, g->name.len, ask->name, ask->name_len);
}

/* Is the name an exception of the row? For an allow, also by its decoded form. */
static bool
name_excepted(const struct policy *p, const struct sealed_gate *g,
    const struct policy_gate_ask *ask)
{
	bool coded = ask->kind == GATE_RESOURCE && g->verdict != VERDICT_DENY;
	struct sealed_ref ref;
	const char *name;
	uint32_t i;

	for (i = 0; i < g->excepts.n; i++) {
		ref = p->ref[g->excepts.first + i];
		name = policy_str(p, ref);
		if (policy_glob(name, ref.len, ask->name, ask->name_len) ||
		    (coded && uri_glob(name, ref.len, ask->name, ask->name_len)))
			return true;
	}
	return false;
}

enum policy_miss
policy_gate_miss(const struct policy *p, const struct sealed_gate *g,
    const struct policy_gate_ask *ask)
{
	enum uri_form form = URI_PLAIN;

	if (g->kind != ask->kind)
		return MISS_KIND;
	if (ask->kind == GATE_RESOURCE && !ask->normal)
		form = uri_form(ask->name, ask->name_len);
	if (!name_holds(p, g, ask, form))
		return form == URI_ODD ? MISS_URI : MISS_NAME;
	if (form != URI_ODD && name_excepted(p, g, ask))
		return MISS_EXCEPT;
	if (match_expired(p, g->exception, g->verdict))
		return MISS_EXPIRED;
	if (!class_holds(g, ask))
		return MISS_CLASS;
	return cond_holds(p, g, ask) ? MISS_NONE : MISS_COND;
}

const struct sealed_pin *
policy_pin(const struct policy *p, const struct sealed_server *s,
    enum sealed_pin_kind kind, const char *name, size_t name_len, const char *variant)
{
	const struct sealed_pin *pin, *first = NULL;
	uint32_t i;

	for (i = 0; i < s->pins.n; i++) {
		pin = &p->pin[s->pins.first + i];
		if (pin->kind != kind || pin->name.len != name_len ||
		    memcmp(policy_str(p, pin->name), name, name_len) != 0)
			continue;
		if (variant != NULL && strcmp(policy_str(p, pin->variant), variant) == 0)
			return pin;
		first = first == NULL ? pin : first;
	}
	return first;
}
