/*
 * expect: tests that a policy contains.  expects_check checks their form;
 * expect_ask and expect_run run them on the sealed bytes with the matcher.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DIAG_CODE "expect"

#include "policy/check/check.h"
#include "policy/check/expect.h"
#include "policy/lang/host.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/help/near_word.h"
#include "shim/host/path_resolve.h"

/* ---- form ---------------------------------------------------------------- */

static void
check_host(struct check *c, const struct word *w)
{
	struct host h;
	const char *why = host_read(w, true, &h);

	if (why == NULL && (h.kind == HOST_SUFFIX || h.port_first != h.port_last ||
			       (h.kind == HOST_CIDR && h.prefix != 128)))
		why = "expected exactly one host and one port";
	if (why != NULL)
		diag_error(c->diag, w->at, "%s", why);
}

static void
check_row(struct check *c, const struct expectation *e)
{
	size_t i;

	if (e->kw == KW_NET) {
		check_host(c, &e->word[0]);
		return;
	}
	if (e->kw == KW_EXEC || e->kw == KW_READ || e->kw == KW_WRITE)
		(void)check_path_word(c, &e->word[0]); /* reports errors itself */
	else if (e->word_n > 0)
		(void)check_literal(c, &e->word[0]);
	for (i = 1; i < e->word_n; i++)
		(void)check_literal(c, &e->word[i]);
	if (e->from != NULL)
		(void)check_path_word(c, e->from);
	if (e->in != NULL)
		(void)check_path_word(c, e->in);
	if (e->json != NULL && !policy_is_json(e->json, e->json_len))
		diag_error(c->diag, e->at, "invalid JSON in the arguments");
	if ((e->kw == KW_READ || e->kw == KW_WRITE) && e->verdict == VERDICT_ASK)
		diag_error(c->diag, e->at,
		    "`ask` is not allowed for a path: expect allow or deny");
}

static bool
has_server(const struct tree *t, const struct word *name)
{
	size_t i;

	for (i = 0; i < t->server_n; i++)
		if (strcmp(t->server[i].name.text, name->text) == 0)
			return true;
	return false;
}

void
expects_check(struct check *c)
{
	const char *list[64], *near;
	const struct expect *x;
	size_t i, k;

	for (i = 0; i < c->tree->server_n && i < 64; i++)
		list[i] = c->tree->server[i].name.text;
	for (k = 0; k < c->tree->expect_n; k++) {
		x = &c->tree->expect[k];
		if (!has_server(c->tree, &x->name)) {
			near = near_word(x->name.text, list, i);
			if (near != NULL)
				diag_error(c->diag, x->name.at,
				    "unknown server: did you mean `%s`?", near);
			else
				diag_error(c->diag, x->name.at,
				    "unknown server: no `server` block has this name");
		}
	}
	for (k = 0; k < c->tree->expect_n; k++)
		for (i = 0; i < c->tree->expect[k].row_n; i++)
			check_row(c, &c->tree->expect[k].row[i]);
}

/* ---- result -------------------------------------------------------------- */

/* The server's image for a path: as granted, or the same file. */
static uint32_t
image_of(const struct policy *p, const struct sealed_server *s, const char *path)
{
	struct path_resolved real;
	bool found = path_resolve(path, 0, NULL, NULL, &real) == 0;
	uint32_t i, row = SEALED_NONE;

	fd_close(&real.fd);

	for (i = s->images.first; i < s->images.first + s->images.n; i++) {
		if (strcmp(policy_str(p, p->image[i].path), path) == 0) {
			row = i;
			break;
		}
		if (found && row == SEALED_NONE &&
		    strcmp(policy_str(p, p->image[i].real), real.real) == 0)
			row = i;
	}
	return row;
}

static int
ask_exec(const struct policy *p, const struct sealed_server *s,
    const struct expectation *e, struct policy_answer *ret)
{
	struct policy_exec_ask ask = {
	    .caller = SEALED_NONE, .asked = image_of(p, s, e->word[0].text)};
	const char **v = calloc(e->word_n + e->env_n + 1, sizeof(*v));
	size_t i;

	if (v == NULL)
		return -ENOMEM;
	for (i = 0; i < e->word_n; i++)
		v[i] = e->word[i].text;
	for (i = 0; i < e->env_n; i++)
		v[e->word_n + i] = e->env[i].text;
	ask.argv = (struct policy_argv){v, e->word_n};
	ask.env = v + e->word_n;
	ask.env_n = e->env_n;
	if (e->from != NULL)
		ask.caller = image_of(p, s, e->from->text);
	if (e->in != NULL)
		ask.cwd = e->in->text;
	if (ask.asked != SEALED_NONE)
		*ret = policy_match_exec_call(p, s, &ask);
	free(v);
	return 0;
}

static void
ask_gate(const struct policy *p, const struct sealed_server *s,
    const struct expectation *e, struct policy_answer *ret)
{
	static const enum sealed_gate_kind kind[KW_END] = {
	    [KW_TOOL] = GATE_TOOL,
	    [KW_RESOURCE] = GATE_RESOURCE,
	    [KW_PROMPT] = GATE_PROMPT,
	    [KW_SAMPLING] = GATE_SAMPLING,
	    [KW_ELICITATION] = GATE_ELICITATION,
	    [KW_ROOTS] = GATE_ROOTS,
	    [KW_METHOD] = GATE_METHOD,
	};
	struct policy_gate_ask ask = {.kind = kind[e->kw], .args = "{}", .args_len = 2};

	if (e->json != NULL) {
		ask.args = e->json;
		ask.args_len = e->json_len;
	}
	if (e->word_n > 0) {
		ask.name = e->word[0].text;
		ask.name_len = e->word[0].len;
	}
	if (e->kw == KW_TOOL)
		ask.pin = policy_pin(p, s, PIN_TOOL, ask.name, ask.name_len, "");
	*ret = policy_match_gate(p, s, &ask);
}

static void
ask_net(const struct policy *p, const struct sealed_server *s,
    const struct expectation *e, struct policy_answer *ret)
{
	struct policy_net_ask ask;
	struct host h;

	if (host_read(&e->word[0], true, &h) != NULL)
		return; /* the checker reported it */
	ask = (struct policy_net_ask){h.name, h.len, h.port_first};
	if (h.len > 2 && h.name[0] == '[') {
		ask.host++;
		ask.host_len -= 2;
	}
	*ret = policy_match_net(p, s, &ask);
}

int
expect_ask(const struct policy *p, const struct sealed_server *s,
    const struct expectation *e, struct policy_answer *ret)
{
	struct policy_answer answer = {.verdict = VERDICT_DENY};
	int r = 0;

	if (e->kw == KW_EXEC)
		r = ask_exec(p, s, e, &answer);
	else if (e->kw == KW_NET)
		ask_net(p, s, e, &answer);
	else if (e->kw == KW_READ || e->kw == KW_WRITE)
		answer = policy_match_path(
		    p, s, e->word[0].text, e->kw == KW_READ ? RIGHT_READ : RIGHT_WRITE);
	else
		ask_gate(p, s, e, &answer);
	if (r == 0)
		*ret = answer;
	return r;
}

/* The policy line that decided, or NULL if none did. */
static const struct sealed_at *
answer_at(const struct policy_answer *a)
{
	return a->exec != NULL    ? &a->exec->at
	       : a->gate != NULL  ? &a->gate->at
	       : a->net != NULL   ? &a->net->at
	       : a->mount != NULL ? &a->mount->at
				  : NULL;
}

static void
told(const struct policy *p, const struct expectation *e, const struct policy_answer *a,
    struct diag *d)
{
	const struct sealed_at *at = answer_at(a);
	char place[PATH_MAX];

	if (at != NULL)
		diag_error(d, e->at, "expected %s, got %s: decided by %s",
		    policy_verdict_name(e->verdict), policy_verdict_name(a->verdict),
		    policy_at(p, *at, place, sizeof(place)));
	else
		diag_error(d, e->at, "expected %s, got %s: no rule matches",
		    policy_verdict_name(e->verdict), policy_verdict_name(a->verdict));
}

bool
expect_is_open(const struct lacks *lacks, const struct expectation *e)
{
	switch (e->kw) {
	case KW_NET:
	case KW_METHOD:
		return false;
	case KW_READ:
	case KW_WRITE:
		return lacks->files;
	case KW_EXEC: /* by the names of the text, except for a directory */
		return lacks->in && e->in != NULL;
	default:
		return lacks->pins;
	}
}

int
expect_run(const struct tree *t, const struct policy *p, const struct lacks *lacks,
    struct diag *d)
{
	const struct sealed_server *s;
	struct policy_answer answer;
	const struct expect *x;
	size_t i, k;
	int r = 0;

	for (i = 0; i < t->expect_n; i++) {
		x = &t->expect[i];
		s = policy_server(p, x->name.text);
		for (k = 0; s != NULL && k < x->row_n && r == 0; k++) {
			if (expect_is_open(&lacks[s - p->server], &x->row[k])) {
				diag_warning_in("unchecked", d, x->row[k].at,
				    "not checked: this machine lacks files of the server "
				    "`%s`; check it where they are installed",
				    x->name.text);
				d->unchecked_n++;
				continue;
			}
			r = expect_ask(p, s, &x->row[k], &answer);
			if (r == 0 && answer.verdict != x->row[k].verdict)
				told(p, &x->row[k], &answer, d);
		}
	}
	return r;
}
