/*
 * Prints a row of a compiled policy as a line of the policy language, for
 * explain, diff, query and doc.  Text is made printable.
 */
#include "policy/print/statement.h"
#include "policy/address/address.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"

#define WHERE_CAP 4096

void
say_at(const struct policy *p, struct sealed_at at, FILE *f)
{
	char where[WHERE_CAP];

	(void)policy_at(p, at, where, sizeof(where));
	out_plain(f, where, strlen(where));
}

char *
say_day_text(uint32_t days, char out[SAY_DAY_CAP])
{
	/*
	 * Years begin in March here, so that the leap day is the last day of a
	 * year.
	 */
	uint32_t z = days + 719468, era = z / 146097, doe = z % 146097;
	uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	uint32_t month = mp < 10 ? mp + 3 : mp - 9;

	(void)snprintf(out, SAY_DAY_CAP, "%04u-%02u-%02u",
	    yoe + era * 400 + (month <= 2 ? 1 : 0), month, doy - (153 * mp + 2) / 5 + 1);
	return out;
}

void
say_day(uint32_t days, FILE *f)
{
	char text[SAY_DAY_CAP];

	(void)fputs(say_day_text(days, text), f);
}

/* ---- words ---------------------------------------------------------------------- */

void
say_word(const char *text, size_t len, FILE *f)
{
	if (len == 0 || strpbrk(text, " \t*|<\"#${}[]\\'@") != NULL ||
	    strcmp(text, "->") == 0)
		out_string(f, text, len);
	else
		out_plain(f, text, len);
}

static void
say_ref(const struct policy *p, struct sealed_ref ref, FILE *f)
{
	say_word(policy_str(p, ref), ref.len, f);
}

/* A pattern: its special characters are not quoted. */
static void
say_bare(const struct policy *p, struct sealed_ref ref, FILE *f)
{
	out_plain(f, policy_str(p, ref), ref.len);
}

void
say_args(const struct policy *p, struct sealed_range range, FILE *f)
{
	const struct sealed_arg *a;
	uint32_t i;

	for (i = 0; i < range.n; i++) {
		a = &p->arg[range.first + i];
		(void)fputc(' ', f);
		if (a->kind == ARG_REST)
			(void)fputs("**", f);
		else if (a->kind == ARG_ANY)
			(void)fputc('*', f);
		else if (a->kind == ARG_LITERAL)
			say_ref(p, a->text, f);
		else
			say_bare(p, a->text, f);
	}
}

static void
say_quoted(const struct policy *p, const char *word, struct sealed_ref ref, FILE *f)
{
	if (ref.len == 0)
		return;
	(void)fprintf(f, " %s ", word);
	out_string(f, policy_str(p, ref), ref.len);
}

void
say_exception_of(const struct policy *p, uint32_t row, FILE *f)
{
	const struct sealed_exception *x;

	if (row == SEALED_NONE || row >= p->row_n[SEALED_EXCEPTIONS])
		return;
	x = &p->exception[row];
	(void)fputs(" owner ", f);
	say_ref(p, x->owner, f);
	(void)fputs(" ticket ", f);
	say_ref(p, x->ticket, f);
	(void)fputs(" until ", f);
	say_day(x->until, f);
}

static void
say_list(const struct policy *p, const char *word, struct sealed_range refs, FILE *f)
{
	uint32_t i;

	if (refs.n > 0)
		(void)fprintf(f, " %s", word);
	for (i = 0; i < refs.n; i++) {
		(void)fputc(' ', f);
		say_bare(p, p->ref[refs.first + i], f);
	}
}

/* ---- rows -------------------------------------------------------------------------- */

void
say_exec(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_exec *e = row;
	if ((e->flags & EXEC_FROM_RUN) != 0)
		(void)fputs("run ", f);
	else
		(void)fprintf(
		    f, "exec %s ", policy_verdict_name((enum sealed_verdict)e->verdict));
	say_ref(p, p->image[e->asked].path, f);
	say_args(p, e->args, f);
	say_exec_tail(p, e, f);
}

static void
say_factor(uint32_t factor, FILE *f)
{
	if (factor != FACTOR_NONE)
		(void)fprintf(
		    f, " with %s", policy_factor_name((enum sealed_factor)factor));
}

void
say_exec_tail(const struct policy *p, const struct sealed_exec *e, FILE *f)
{
	uint32_t i;

	for (i = 0; i < e->excepts.n; i++) {
		(void)fputs(" except", f);
		say_args(p, p->except[e->excepts.first + i].args, f);
	}
	say_list(p, "from", e->from, f);
	if (e->in.len > 0) {
		(void)fputs(" in ", f);
		say_ref(p, e->in, f);
	}
	for (i = 0; i < e->env.n; i++) { /* "NAME_*" is not quoted */
		(void)fputs(i == 0 ? " with env " : " ", f);
		say_bare(p, p->ref[e->env.first + i], f);
	}
	say_factor(e->factor, f);
	say_quoted(p, "because", e->because, f);
	say_quoted(p, "instead", e->instead, f);
	say_exception_of(p, e->exception, f);
}

void
say_classes(uint32_t classes, FILE *f)
{
	static const char *const names[] = {
	    "@readonly", "@destructive", "@idempotent", "@openworld", "@unannotated"};
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		if ((classes & 1u << i) != 0)
			(void)fprintf(f, " %s", names[i]);
}

void
say_gate(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_gate *g = row;

	(void)fputs(policy_gate_name((enum sealed_gate_kind)g->kind), f);
	if ((g->flags & GATE_BY_ANNOTATIONS) != 0)
		(void)fputs(" by-annotations", f);
	else
		(void)fprintf(
		    f, " %s", policy_verdict_name((enum sealed_verdict)g->verdict));
	say_classes(g->classes, f);
	if (g->name.len > 0 && (g->flags & GATE_BY_ANNOTATIONS) == 0 && g->classes == 0) {
		(void)fputc(' ', f);
		say_bare(p, g->name, f);
	}
	say_gate_tail(p, g, f);
}

void
say_gate_tail(const struct policy *p, const struct sealed_gate *g, FILE *f)
{
	char duration[POLICY_DURATION_CAP];

	say_list(p, "except", g->excepts, f);
	if (g->conds.n > 0) {
		(void)fputs(" when ", f);
		say_conds(p, g->conds, f);
	}
	if (g->rate != 0)
		(void)fprintf(
		    f, " rate %u/%s", g->rate, policy_duration(g->rate_ms, duration));
	if (g->quota != 0)
		(void)fprintf(f, " quota %u", g->quota);
	say_factor(policy_gate_factor(g), f);
	say_quoted(p, "because", g->because, f);
	say_quoted(p, "instead", g->instead, f);
	say_exception_of(p, g->exception, f);
}

void
say_net_how(const struct sealed_net *n, FILE *f)
{
	static const char *const scopes[] = {
	    [NET_LOOPBACK] = " to loopback", [NET_PRIVATE] = " to private"};
	static const char *const protos[] = {
	    [NET_PLAIN] = " plain",
	    [NET_NO_SNI] = " no-sni",
	    [NET_STARTTLS_POSTGRES] = " starttls postgres",
	    [NET_STARTTLS_SMTP] = " starttls smtp",
	    [NET_STARTTLS_IMAP] = " starttls imap",
	    [NET_STARTTLS_MYSQL] = " starttls mysql",
	};
	char addr[ADDRESS_TEXT_MAX];

	if (n->scope == NET_CIDR)
		(void)fprintf(f, " to %s/%u", address_text(n->scope_addr, addr),
		    n->scope_prefix - (address_is_v4(n->scope_addr) ? 96 : 0));
	else if (n->scope < ARRAY_LEN(scopes) && scopes[n->scope] != NULL)
		(void)fputs(scopes[n->scope], f);
	if (n->proto < ARRAY_LEN(protos) && protos[n->proto] != NULL)
		(void)fputs(protos[n->proto], f);
}

void
say_net(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_net *n = row;

	(void)fprintf(f, "net %s ", policy_verdict_name((enum sealed_verdict)n->verdict));
	if (n->kind == HOST_SUFFIX)
		(void)fputs("*.", f);
	say_bare(p, n->host, f);
	(void)fprintf(f, ":%u", n->port_first);
	if (n->port_last != n->port_first)
		(void)fprintf(f, "-%u", n->port_last);
	say_net_how(n, f);
	say_factor(n->factor, f);
	say_quoted(p, "because", n->because, f);
	say_quoted(p, "instead", n->instead, f);
	say_exception_of(p, n->exception, f);
}

void
say_mount(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_mount *m = row;
	static const char *const words[] = {
	    [WHY_READ] = "read ", [WHY_WRITE] = "write ", [WHY_HIDE] = "hide "};

	if (m->why < ARRAY_LEN(words) && words[m->why] != NULL)
		(void)fputs(words[m->why], f);
	else
		(void)fprintf(f, "(%s) %s ",
		    policy_why_name((enum sealed_mount_why)m->why),
		    (m->right & RIGHT_WRITE) != 0 ? "write" : "read");
	say_ref(p, m->target, f);
}

const char *
say_require_name(uint32_t kind)
{
	static const char *const names[] = {
	    [REQUIRE_LANDLOCK] = "landlock",
	    [REQUIRE_CGROUP] = "cgroup",
	    [REQUIRE_SUBUID] = "subuid",
	};

	return names[kind];
}

void
say_secret(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_secret *s = row;

	(void)fputs("secret ", f);
	say_ref(p, s->name, f);
	(void)fprintf(f, " from %s", policy_source_name(s->source));
	if (s->source == SOURCE_CMD) {
		say_args(p, s->args, f);
	} else {
		(void)fputc(' ', f);
		say_ref(p, s->ref, f);
	}
	say_secret_tail(p, s, f);
}

void
say_secret_tail(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_secret *s = row;
	static const char *const approves[] = {[APPROVE_NONE] = "",
	    [APPROVE_SESSION] = " approve session",
	    [APPROVE_PER_CALL] = " approve per-call"};

	if (s->hosts.n == 0 && s->flags == 0 && s->approve == APPROVE_NONE)
		return;
	(void)fputs(" {", f);
	(void)fputs(approves[s->approve], f);
	say_factor(s->factor, f);
	say_list(p, "hosts", s->hosts, f);
	if ((s->flags & SECRET_HOSTS_ANY) != 0)
		(void)fputs(" hosts any", f);
	if ((s->flags & (SECRET_MAY_NETWORK | SECRET_MAY_FILES)) != 0)
		(void)fputs(" may", f);
	if ((s->flags & SECRET_MAY_NETWORK) != 0)
		(void)fputs(" network", f);
	if ((s->flags & SECRET_MAY_FILES) != 0)
		(void)fputs(" files", f);
	if ((s->flags & SECRET_FIRST_LINE) != 0)
		(void)fputs(" first line", f);
	if ((s->flags & SECRET_AS_FILE) != 0)
		(void)fputs(" as file", f);
	if ((s->flags & SECRET_WEAK) != 0)
		(void)fputs(" weak allowed", f);
	(void)fputs(" }", f);
}

/* ---- conditions ---------------------------------------------------------- */

static void
say_path(const struct policy *p, struct sealed_range steps, FILE *f)
{
	const struct sealed_step *s;
	const char *key;
	uint32_t i;

	(void)fputs("args", f);
	for (i = 0; i < steps.n; i++) {
		s = &p->step[steps.first + i];
		key = policy_str(p, s->key);
		if (s->is_index)
			(void)fprintf(f, "[%u]", s->index);
		else if (s->key.len > 0 &&
			 strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
				     "WXYZ0123456789_") == s->key.len) {
			(void)fputc('.', f);
			out_plain(f, key, s->key.len);
		} else {
			(void)fputc('[', f);
			out_string(f, key, s->key.len);
			(void)fputc(']', f);
		}
	}
}

static void
say_value(const struct policy *p, const struct sealed_value *v, FILE *f)
{
	static const char *const words[] = {
	    [VALUE_NULL] = "null", [VALUE_FALSE] = "false", [VALUE_TRUE] = "true"};

	if (v->type == VALUE_STRING)
		out_string(f, policy_str(p, v->text), v->text.len);
	else if (v->type == VALUE_NUMBER)
		say_bare(p, v->text, f);
	else if (v->type < ARRAY_LEN(words) && words[v->type] != NULL)
		(void)fputs(words[v->type], f);
}

static const char *const ops[] = {
    [COND_EQ] = "==",
    [COND_NE] = "!=",
    [COND_IN] = "in",
    [COND_MATCHES] = "matches",
    [COND_UNDER] = "under",
    [COND_LT] = "<",
    [COND_LE] = "<=",
    [COND_GT] = ">",
    [COND_GE] = ">=",
    [COND_EXISTS] = "exists",
    [COND_AND] = "and",
    [COND_OR] = "or",
    [COND_NOT] = "not",
};

static void
say_compare(const struct policy *p, const struct sealed_cond *c, FILE *f)
{
	uint32_t i;

	say_path(p, c->steps, f);
	(void)fprintf(f, " %s", ops[c->op]);
	if (c->op == COND_EXISTS)
		return;
	(void)fputs(c->op == COND_IN ? " [" : " ", f);
	for (i = 0; i < (c->op == COND_IN ? c->values.n : 1); i++) {
		(void)fputs(i > 0 ? ", " : "", f);
		say_value(p, &p->value[c->values.first + i], f);
	}
	if (c->op == COND_UNDER && c->values.n > 1)
		(void)fputs(" relative", f);
	if (c->op == COND_IN)
		(void)fputc(']', f);
}

/* Text of one operand on the stack, and its outermost operator. */
struct operand {
	char *text;
	uint32_t op;
};

static char *
joined(const struct operand *a, const struct operand *b, uint32_t op)
{
	bool pa = (a->op == COND_AND || a->op == COND_OR) && a->op != op;
	bool pb = b != NULL && (b->op == COND_AND || b->op == COND_OR) && b->op != op;
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	if (b == NULL)
		(void)fprintf(f, "not %s%s%s", pa ? "(" : "", a->text, pa ? ")" : "");
	else
		(void)fprintf(f, "%s%s%s %s %s%s%s", pa ? "(" : "", a->text,
		    pa ? ")" : "", ops[op], pb ? "(" : "", b->text, pb ? ")" : "");
	return fclose(f) == 0 ? out : NULL;
}

static char *
compare_text(const struct policy *p, const struct sealed_cond *c)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	say_compare(p, c, f);
	return fclose(f) == 0 ? out : NULL;
}

void
say_conds(const struct policy *p, struct sealed_range conds, FILE *f)
{
	static const uint8_t operands[] = {[COND_AND] = 2, [COND_OR] = 2, [COND_NOT] = 1};
	struct operand stack[SEALED_COND_DEPTH_MAX + 1] = {{0}}, *top;
	const struct sealed_cond *c;
	size_t n = 0, takes;
	uint32_t i;
	char *text;

	for (i = 0; i < conds.n; i++) {
		c = &p->cond[conds.first + i];
		takes = c->op < sizeof(operands) ? operands[c->op] : 0;
		if (n < takes || n - takes >= SEALED_COND_DEPTH_MAX)
			break; /* the loader checked it */
		top = &stack[n - takes];
		if (takes == 0)
			text = compare_text(p, c);
		else
			text = joined(top, takes == 2 ? top + 1 : NULL, c->op);
		for (; takes > 0; takes--)
			free(stack[--n].text);
		if (text == NULL)
			break;
		stack[n++] = (struct operand){text, c->op};
	}
	if (n == 1)
		(void)fputs(stack[0].text, f);
	while (n > 0)
		free(stack[--n].text);
}

/* ---- as a string --------------------------------------------------------- */

char *
say_text(say_fn *fn, const struct policy *p, const void *row)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	fn(p, row, f);
	return fclose(f) == 0 ? out : NULL;
}
