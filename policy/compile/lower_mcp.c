/*
 * Lowers tools, resources, prompts and their conditions; sampling and the like;
 * hosts; log settings; system calls.  All become rows of tables.
 */
#include <errno.h>
#include <string.h>

#define DIAG_CODE "lowering"
#include "policy/compile/lower.h"
#include "policy/lang/host.h"
#include "policy/lang/scalar.h"

static const char *
qual_text(const struct stmt *s, enum keyword kw)
{
	const struct qual *q = stmt_qual(s, kw);

	return q != NULL && q->word_n > 0 ? q->word[0].text : "";
}

struct sealed_ref
lower_qual(struct lower *l, const struct stmt *s, enum keyword kw)
{
	return lower_str(l, qual_text(s, kw));
}

uint32_t
lower_exception(struct lower *l, const struct stmt *s)
{
	struct sealed_exception e = {.owner = lower_qual(l, s, KW_OWNER),
	    .ticket = lower_qual(l, s, KW_TICKET),
	    .at = lower_at(l, s->at)};

	if (stmt_qual(s, KW_UNTIL) == NULL ||
	    unit_date(qual_text(s, KW_UNTIL), &e.until) != 0)
		return SEALED_NONE;
	if (l->row.exceptions.n++ == 0)
		l->row.exceptions.first = sealer_rows(l->sealer, SEALED_EXCEPTIONS);
	return sealer_row(l->sealer, SEALED_EXCEPTIONS, &e, sizeof(e));
}

struct sealed_range
lower_refs(struct lower *l, const struct word *w, size_t n)
{
	struct sealed_range range = {.first = sealer_rows(l->sealer, SEALED_REFS)};
	struct sealed_ref ref;

	for (; range.n < n; range.n++) {
		ref = lower_str(l, w[range.n].text);
		(void)sealer_row(l->sealer, SEALED_REFS, &ref, sizeof(ref));
	}
	return range.n == 0 ? (struct sealed_range){0, 0} : range;
}

/* ---- conditions ---------------------------------------------------------- */

static const uint32_t cond_op[] = {
    [COND_KIND_OR] = COND_OR,
    [COND_KIND_AND] = COND_AND,
    [COND_KIND_NOT] = COND_NOT,
    [COND_KIND_EQ] = COND_EQ,
    [COND_KIND_NE] = COND_NE,
    [COND_KIND_LT] = COND_LT,
    [COND_KIND_LE] = COND_LE,
    [COND_KIND_GT] = COND_GT,
    [COND_KIND_GE] = COND_GE,
    [COND_KIND_IN] = COND_IN,
    [COND_KIND_MATCHES] = COND_MATCHES,
    [COND_KIND_UNDER] = COND_UNDER,
    [COND_KIND_EXISTS] = COND_EXISTS,
};

static void
cond_steps(struct lower *l, const struct cond *c, struct sealed_cond *row)
{
	struct sealed_step step;
	size_t i;

	row->steps.first = sealer_rows(l->sealer, SEALED_STEPS);
	for (i = 0; i < c->step_n; i++) {
		step = (struct sealed_step){
		    .index = c->step[i].index, .is_index = c->step[i].key == NULL};
		if (c->step[i].key != NULL) {
			step.key =
			    sealer_str(l->sealer, c->step[i].key, c->step[i].key_len);
			step.index = 0;
		}
		(void)sealer_row(l->sealer, SEALED_STEPS, &step, sizeof(step));
	}
	row->steps.n = (uint32_t)c->step_n;
	if (c->step_n == 0)
		row->steps.first = 0;
}

static void
cond_values(struct lower *l, const struct cond *c, struct sealed_cond *row)
{
	bool text = c->kind == COND_KIND_MATCHES || c->kind == COND_KIND_UNDER;
	struct sealed_value v;
	size_t i;

	row->values.first = sealer_rows(l->sealer, SEALED_VALUES);
	for (i = 0; i < c->value_n; i++) {
		v = (struct sealed_value){
		    .type = text ? VALUE_STRING : word_value_type(&c->value[i])};
		if (v.type == VALUE_STRING || v.type == VALUE_NUMBER)
			v.text = lower_str(l, c->value[i].text);
		(void)sealer_row(l->sealer, SEALED_VALUES, &v, sizeof(v));
	}
	row->values.n = (uint32_t)c->value_n;
	if (c->value_n == 0)
		row->values.first = 0;
	if (!c->relative)
		return;
	if (l->cwd == NULL) {
		diag_error(l->diag, c->at,
		    "`relative` needs a `cwd` line in server `%s`: relative paths are "
		    "looked up there",
		    l->server->name.text);
		return;
	}
	v = (struct sealed_value){.type = VALUE_STRING, .text = lower_str(l, l->cwd)};
	(void)sealer_row(l->sealer, SEALED_VALUES, &v, sizeof(v));
	row->values.n++;
}

/* Postfix: left, right, operator; the depth never exceeds the matcher's stack. */
/* NOLINTBEGIN(misc-no-recursion): as deep as COND_NODES_MAX at most */
static void
cond_put(struct lower *l, const struct cond *c, uint32_t *n)
{
	struct sealed_cond row = {.at = lower_at(l, c->at), .op = cond_op[c->kind]};

	if (c->left != NULL)
		cond_put(l, c->left, n);
	if (c->right != NULL)
		cond_put(l, c->right, n);
	if (c->left == NULL) {
		cond_steps(l, c, &row);
		cond_values(l, c, &row);
	}
	(void)sealer_row(l->sealer, SEALED_CONDS, &row, sizeof(row));
	++*n;
}
/* NOLINTEND(misc-no-recursion) */

/* ---- factors ------------------------------------------------------------- */

enum sealed_factor
lower_factor_name(const char *name)
{
	if (name == NULL)
		return FACTOR_NONE;
	return strcmp(name, "passphrase") == 0 ? FACTOR_PASSPHRASE : FACTOR_KEY;
}

enum sealed_factor
lower_factor(const struct stmt *s)
{
	const struct qual *q = stmt_qual(s, KW_WITH_FACTOR);

	return lower_factor_name(q == NULL ? NULL : q->word[0].text);
}

/* ---- gates --------------------------------------------------------------- */

static void
gate_put(struct lower *l, const struct stmt *s, struct sealed_gate *g)
{
	const struct qual *except = stmt_qual(s, KW_EXCEPT);

	g->conds = (struct sealed_range){0, 0};
	if (s->when != NULL) {
		g->conds.first = sealer_rows(l->sealer, SEALED_CONDS);
		cond_put(l, s->when, &g->conds.n);
	}
	g->excepts = (struct sealed_range){0, 0};
	if (except != NULL)
		g->excepts = lower_refs(l, except->word, except->word_n);
	(void)sealer_row(l->sealer, SEALED_GATES, g, sizeof(*g));
	l->row.gates.n++;
}

int
lower_gate(struct lower *l, const struct stmt *s)
{
	static const uint32_t gate_factor[] = {[FACTOR_NONE] = 0,
	    [FACTOR_PASSPHRASE] = GATE_PASSPHRASE,
	    [FACTOR_KEY] = GATE_KEY};
	struct sealed_gate g = {.at = lower_at(l, s->at),
	    .exception = lower_exception(l, s),
	    .because = lower_qual(l, s, KW_BECAUSE),
	    .instead = lower_qual(l, s, KW_INSTEAD),
	    .verdict = s->verdict,
	    .flags = gate_factor[lower_factor(s)],
	    .kind = s->kw == KW_TOOL       ? GATE_TOOL
		    : s->kw == KW_RESOURCE ? GATE_RESOURCE
		    : s->kw == KW_METHOD   ? GATE_METHOD
					   : GATE_PROMPT};
	const struct qual *rate = stmt_qual(s, KW_RATE), *quota = stmt_qual(s, KW_QUOTA);
	size_t i;

	if ((rate != NULL && rate_read(rate->word[0].text, &g.rate, &g.rate_ms) != 0) ||
	    (quota != NULL && quota_read(quota->word[0].text, &g.quota) != 0))
		return -EINVAL; /* the checker reported it */
	if (s->by_annotations) {
		g.verdict = VERDICT_ASK;
		g.flags = GATE_BY_ANNOTATIONS;
		g.name = lower_str(l, "*");
		gate_put(l, s, &g);
	}
	for (i = 0; i < s->word_n; i++) {
		g.classes = s->kw == KW_TOOL ? gate_class(&s->word[i]) : 0;
		g.name = lower_str(l, g.classes != 0 ? "*" : s->word[i].text);
		g.at = lower_at(l, s->word[i].at);
		gate_put(l, s, &g);
	}
	return 0;
}

/*
 * sampling, elicitation, roots: the verdict, and a flag that offers the
 * capability.
 */
int
lower_offer(struct lower *l, const struct stmt *s)
{
	static const struct {
		enum sealed_gate_kind kind;
		uint32_t flag;
	} offer[KW_END] = {
	    [KW_SAMPLING] = {GATE_SAMPLING, SERVER_MCP_SAMPLING},
	    [KW_ELICITATION] = {GATE_ELICITATION, SERVER_MCP_ELICITATION},
	    [KW_ROOTS] = {GATE_ROOTS, SERVER_MCP_ROOTS},
	};
	struct sealed_gate g = {.at = lower_at(l, s->at),
	    .exception = lower_exception(l, s),
	    .because = lower_qual(l, s, KW_BECAUSE),
	    .instead = lower_qual(l, s, KW_INSTEAD),
	    .verdict = s->verdict,
	    .kind = offer[s->kw].kind};

	if (s->verdict == VERDICT_ALLOW)
		l->row.flags |= offer[s->kw].flag;
	gate_put(l, s, &g);
	return 0;
}

/* ---- hosts --------------------------------------------------------------- */

static uint32_t
net_proto(const struct stmt *s)
{
	const struct qual *q = stmt_qual(s, KW_STARTTLS);
	int proto = q == NULL ? -1 : net_starttls(q->word[0].text);

	if (proto >= 0)
		return (uint32_t)proto;
	if (stmt_qual(s, KW_PLAIN) != NULL)
		return NET_PLAIN;
	return stmt_qual(s, KW_NO_SNI) != NULL ? NET_NO_SNI : NET_TLS;
}

int
lower_net(struct lower *l, const struct stmt *s)
{
	const struct qual *to = stmt_qual(s, KW_TO);
	struct sealed_net n = {.because = lower_qual(l, s, KW_BECAUSE),
	    .instead = lower_qual(l, s, KW_INSTEAD),
	    .verdict = s->verdict,
	    .factor = lower_factor(s),
	    .proto = net_proto(s),
	    .exception = lower_exception(l, s)};
	struct host h;
	size_t i;

	if (to != NULL &&
	    !net_scope_read(&to->word[0], &n.scope, n.scope_addr, &n.scope_prefix))
		return -EINVAL; /* the checker reported it */
	for (i = 0; i < s->word_n; i++) {
		if (host_read(&s->word[i], true, &h) != NULL)
			return -EINVAL;
		n.host = sealer_str(l->sealer, h.name, h.len);
		n.at = lower_at(l, s->word[i].at);
		n.kind = h.kind;
		memset(n.addr, 0, sizeof(n.addr));
		n.prefix = 0;
		if (h.kind == HOST_CIDR) {
			memcpy(n.addr, h.addr, sizeof(n.addr));
			n.prefix = h.prefix;
		}
		n.port_first = h.port_first;
		n.port_last = h.port_last;
		(void)sealer_row(l->sealer, SEALED_NETS, &n, sizeof(n));
		l->row.nets.n++;
	}
	return 0;
}

/* ---- the log, system calls ----------------------------------------------- */

int
lower_audit(struct lower *l, const struct stmt *s)
{
	struct sealed_audit a = {.at = lower_at(l, s->at)};
	size_t i;

	a.flags = AUDIT_RESULT_FULL;
	if (strcmp(s->word[0].text, "sync") == 0)
		a.flags = AUDIT_SYNC_STRICT;
	else if (strcmp(s->word[0].text, "args") == 0)
		a.flags = AUDIT_ARGS_FULL;
	for (i = 2; i < s->word_n; i++) {
		a.kind = GATE_TOOL;
		a.name = lower_str(l, s->word[i].text);
		(void)sealer_row(l->sealer, SEALED_AUDITS, &a, sizeof(a));
		l->row.audits.n++;
	}
	if (s->word_n == 2) {
		(void)sealer_row(l->sealer, SEALED_AUDITS, &a, sizeof(a));
		l->row.audits.n++;
	}
	return 0;
}

/* One row for each name; deny wins if two lines disagree. */
int
lower_syscalls(struct lower *l, const struct stmt *s)
{
	struct sealed_call c = {.verdict = s->verdict,
	    .because = lower_qual(l, s, KW_BECAUSE),
	    .exception = SEALED_NONE};
	struct sealed_call *old = NULL;
	uint32_t k;
	size_t i;

	for (i = 0; i < s->word_n; i++) {
		c.name = lower_str(l, s->word[i].text);
		c.at = lower_at(l, s->word[i].at);
		for (k = 0; k < l->row.calls.n; k++) {
			old = sealer_at(l->sealer, SEALED_CALLS, l->row.calls.first + k);
			if (old != NULL && old->name.off == c.name.off)
				break;
		}
		if (k < l->row.calls.n) {
			if (c.verdict == VERDICT_DENY && old != NULL)
				*old = c;
			continue;
		}
		(void)sealer_row(l->sealer, SEALED_CALLS, &c, sizeof(c));
		l->row.calls.n++;
	}
	return 0;
}
