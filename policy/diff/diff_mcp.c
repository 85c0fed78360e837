/*
 * Tools, resources, prompts: every class of name, with its pins and the classes
 * that the server announces, and every class of arguments.
 */
#include "policy/diff/diff.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"
#include "policy/sealed/values/uri.h"

struct gate_row {
	int side;
	const struct sealed_gate *g;
};

struct kind_diff {
	struct diff *d;
	enum sealed_gate_kind kind;
	struct gate_row *row;
	size_t row_n;
	struct sets *sets;
	struct regions g;
	bool *held;
	struct conds_of *conds;
	struct limits_diff *limits; /* NULL: this kind has none */
	enum sealed_verdict was;    /* of the member, on the old side */
	bool classes; /* a line uses a class, so the server's own classes matter */
};

/* ---- lines --------------------------------------------------------------- */

static int
add_glob(struct kind_diff *x, const struct policy *p, struct sealed_ref ref, bool literal)
{
	struct sets_word w = {
	    policy_str(p, ref), ref.len, literal ? SETS_LITERAL : SETS_GLOB};
	char *decoded;
	uint32_t at;
	int r;

	r = ref.len == 0 ? 0 : sets_add(x->sets, &w, 1, &at);
	if (r != 0 || x->kind != GATE_RESOURCE || memchr(w.text, '%', w.len) == NULL)
		return r;
	decoded = malloc(w.len); /* a deny also matches the decoded form */
	if (decoded == NULL)
		return -ENOMEM;
	w.len = uri_decode(w.text, w.len, decoded);
	w.text = decoded;
	r = memchr(decoded, 0, w.len) != NULL ? 0 : sets_add(x->sets, &w, 1, &at);
	free(decoded);
	return r;
}

static int
add_row(struct kind_diff *x, int side, const struct sealed_gate *g)
{
	const struct policy *p = x->d->p[side];
	uint32_t i;
	int r;

	if (regions_line(&x->g, side, g, say_gate, g->at) == SIZE_MAX)
		return -ENOMEM;
	x->row[x->row_n++] = (struct gate_row){side, g};
	x->classes =
	    x->classes || g->classes != 0 || (g->flags & GATE_BY_ANNOTATIONS) != 0;
	r = add_glob(x, p, g->name, false);
	for (i = 0; i < g->excepts.n && r == 0; i++)
		r = add_glob(x, p, p->ref[g->excepts.first + i], false);
	return r;
}

static int
add_rows(struct kind_diff *x)
{
	const struct sealed_server *s;
	const struct policy *p;
	int side, r = 0;
	uint32_t i;

	for (side = 0; side < 2; side++) {
		s = x->d->s[side];
		p = x->d->p[side];
		for (i = 0; s != NULL && i < s->gates.n && r == 0; i++)
			if (p->gate[s->gates.first + i].kind == (uint32_t)x->kind)
				r = add_row(x, side, &p->gate[s->gates.first + i]);
	}
	for (side = 0; side < 2 && x->classes && x->kind == GATE_TOOL; side++) {
		s = x->d->s[side];
		p = x->d->p[side];
		for (i = 0; s != NULL && i < s->pins.n && r == 0; i++)
			if (p->pin[s->pins.first + i].kind == PIN_TOOL)
				r = add_glob(x, p, p->pin[s->pins.first + i].name, true);
	}
	return r;
}

/* ---- requests ------------------------------------------------------------ */

/* The old side is asked first. */
static void
ask_limits(struct kind_diff *x, int side, const struct policy_gate_ask *ask,
    enum sealed_verdict verdict)
{
	if (x->limits == NULL)
		return;
	limits_held(x->limits, x->d->p[side], side, ask);
	if (side == 0)
		x->was = verdict;
	else if (x->was != VERDICT_DENY && verdict != VERDICT_DENY)
		limits_member(x->limits);
}

static struct state
ask_side(void *domain, int side, const void *member)
{
	struct kind_diff *x = domain;
	struct policy_gate_ask ask = *(const struct policy_gate_ask *)member;
	const struct sealed_server *s = x->d->s[side];
	const struct policy *p = x->d->p[side];
	struct state st = {.verdict = VERDICT_DENY};
	struct policy_answer a;
	size_t i;

	if (s == NULL)
		return st;
	if (x->kind == GATE_TOOL)
		ask.pin = policy_pin(p, s, PIN_TOOL, ask.name, ask.name_len, NULL);
	for (i = 0; i < x->row_n; i++)
		if (x->row[i].side == side)
			x->held[i] = policy_gate_miss(p, x->row[i].g, &ask) == MISS_NONE;
	a = policy_match_gate(p, s, &ask);
	st.verdict = a.verdict;
	st.factor = policy_answer_factor(&a);
	ask_limits(x, side, &ask, st.verdict);
	return st;
}

static char *
member_text(const void *domain, const void *member)
{
	const struct policy_gate_ask *ask = member;
	static const char *const said[] = {
	    " readonly", " destructive", " idempotent", " openworld"};
	char *out = NULL;
	size_t len, i;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	say_word(ask->name, ask->name_len, f);
	if (strcmp(ask->args, "{}") != 0) {
		(void)fputc(' ', f);
		out_plain(f, ask->args, ask->args_len);
	}
	if (ask->said != 0)
		(void)fputs(" that calls itself", f);
	for (i = 0; i < ARRAY_LEN(said); i++)
		if ((ask->said >> i & 1) != 0)
			(void)fputs(said[i], f);
	return fclose(f) == 0 ? out : NULL;
}

static const struct regions_how members = {ask_side, member_text};

/* Where the conditions of a line look up relative paths: its text does not say it. */
static void
say_cwds(const struct policy *p, const struct sealed_gate *g, FILE *f)
{
	uint32_t i;

	for (i = 0; i < g->conds.n; i++) {
		const struct sealed_cond *c = &p->cond[g->conds.first + i];

		if (c->op == COND_UNDER && c->values.n > 1)
			(void)fprintf(
			    f, " %s", policy_str(p, p->value[c->values.first + 1].text));
	}
}

/* The text of a line that matches this name for some arguments. */
static char *
lines_of(const struct kind_diff *x, int side, const struct policy_gate_ask *name,
    size_t *ret_conds)
{
	struct policy_gate_ask ask = *name;
	char *out = NULL;
	size_t len, i;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	for (i = 0; i < x->row_n; i++) {
		const struct gate_row *w = &x->row[i];
		const struct policy *p = x->d->p[w->side];
		enum policy_miss m;

		if (w->side != side)
			continue;
		if (x->kind == GATE_TOOL)
			ask.pin = policy_pin(
			    p, x->d->s[side], PIN_TOOL, ask.name, ask.name_len, NULL);
		m = policy_gate_miss(p, w->g, &ask);
		if (m == MISS_NAME || m == MISS_EXCEPT || m == MISS_EXPIRED)
			continue;
		say_gate(p, w->g, f);
		say_cwds(p, w->g, f);
		(void)fprintf(f, " %u\n",
		    ask.pin == NULL ? 0 : ask.pin->classes); /* of its definition */
		if (w->g->conds.n > 0)
			x->conds[(*ret_conds)++] = (struct conds_of){p, w->g->conds};
	}
	return fclose(f) == 0 ? out : NULL;
}

static int
ask_documents(struct kind_diff *x, struct policy_gate_ask *ask, const struct points *docs)
{
	uint32_t said, most = x->classes && x->kind == GATE_TOOL ? 16 : 1;
	size_t i;
	int r = 0;

	for (i = 0; i < docs->n && r == 0; i++) {
		ask->args = docs->v[i];
		ask->args_len = strlen(ask->args);
		for (said = 0; said < most && r == 0; said++) {
			ask->said = said;
			r = regions_member(&x->g, x->held, &members, x, ask);
		}
	}
	return r;
}

static int
ask_name(void *arg, const struct sets_cell *cell)
{
	struct kind_diff *x = arg;
	struct policy_gate_ask ask = {.kind = x->kind,
	    .name = cell->text[0],
	    .name_len = cell->text_len[0],
	    .normal = true,
	    .args = "{}",
	    .args_len = 2};
	struct points docs = {.n = 0};
	size_t conds = 0;
	char *was, *is;
	int r = 0;

	was = lines_of(x, 0, &ask, &conds);
	is = lines_of(x, 1, &ask, &conds);
	if (was == NULL || is == NULL)
		r = -ENOMEM;
	else if (strcmp(was, is) == 0)
		points_add(&docs, "{}", 2); /* the same lines give the same answers */
	else
		r = diff_values(x->conds, conds, &docs);
	if (r == -E2BIG) {
		x->g.beyond = true;
		r = 0;
	}
	if (r == 0)
		r = ask_documents(x, &ask, &docs);
	points_free(&docs);
	free(was);
	free(is);
	return r;
}

static int
diff_kind(struct diff *d, enum sealed_gate_kind kind, const char *name)
{
	struct kind_diff x = {.d = d, .kind = kind};
	size_t most = (d->s[0] != NULL ? d->s[0]->gates.n : 0) +
		      (d->s[1] != NULL ? d->s[1]->gates.n : 0);
	int r;

	x.sets = sets_new(SETS_NAME);
	x.row = calloc(most + 1, sizeof(*x.row));
	x.held = calloc(most + 1, sizeof(*x.held));
	x.conds = calloc(most + 1, sizeof(*x.conds));
	r = x.sets == NULL || x.row == NULL || x.held == NULL || x.conds == NULL
		? -ENOMEM
		: add_rows(&x);
	if (r == 0 && kind == GATE_TOOL && d->s[0] != NULL && d->s[1] != NULL)
		r = limits_new(d, &x.limits);
	/* methods that no line of either side names pass on both */
	if (r == 0 && (x.row_n > 0 || kind != GATE_METHOD))
		r = sets_cells(x.sets, ask_name, &x);
	if (r == -E2BIG) {
		d->beyond = true;
		r = 0;
	}
	if (r == 0)
		r = regions_tell(&x.g, d, name);
	if (r == 0 && x.limits != NULL)
		r = limits_tell(x.limits, d);
	limits_free(x.limits);
	regions_free(&x.g);
	sets_free(x.sets);
	free(x.row);
	free(x.held);
	free(x.conds);
	return r;
}

/* ---- gates without a name ------------------------------------------------ */

static enum sealed_verdict
offer(const struct diff *d, int side, uint32_t flag)
{
	bool offers =
	    d->s[side] != NULL && (policy_offers(d->p[side], d->s[side]) & flag) != 0;

	return offers ? VERDICT_ALLOW : VERDICT_DENY;
}

static int
diff_offer(struct diff *d, const char *name, uint32_t flag)
{
	struct state from = {.verdict = offer(d, 0, flag)};
	struct state to = {.verdict = offer(d, 1, flag)};
	struct finding f = {.domain = name, .way = diff_way(from, to, NULL, NULL)};

	if (from.verdict == to.verdict)
		return 0;
	f.from = policy_verdict_name(from.verdict);
	f.to = policy_verdict_name(to.verdict);
	return diff_found(d, &f);
}

int
diff_gates(struct diff *d)
{
	static const struct {
		enum sealed_gate_kind kind;
		const char *name;
		uint32_t flag;
	} all[] = {
	    {GATE_TOOL, "tool", 0},
	    {GATE_RESOURCE, "resource", 0},
	    {GATE_PROMPT, "prompt", 0},
	    {GATE_METHOD, "method", 0},
	    {GATE_SAMPLING, "sampling", SERVER_MCP_SAMPLING},
	    {GATE_ELICITATION, "elicitation", SERVER_MCP_ELICITATION},
	    {GATE_ROOTS, "roots", SERVER_MCP_ROOTS},
	};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_LEN(all) && r == 0; i++)
		r = all[i].flag != 0 ? diff_offer(d, all[i].name, all[i].flag)
				     : diff_kind(d, all[i].kind, all[i].name);
	return r;
}
