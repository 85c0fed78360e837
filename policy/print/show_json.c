/*
 * Prints what a sealed policy grants as one JSON document.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"
#include "policy/print/show.h"
#include "policy/print/statement.h"
#include "policy/sealed/load.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"

static void
at(struct out *o, const struct policy *p, struct sealed_at where)
{
	out_text(o, "file", policy_str(p, p->file[where.file]));
	out_number(o, "line", where.line);
}

/* The policy line that this row represents. */
static void
said(struct out *o, const struct policy *p, say_fn *say, const void *row)
{
	char *line = say_text(say, p, row);

	if (line != NULL)
		out_text(o, "text", line);
	free(line);
}

static void
refs(struct out *o, const char *name, const struct policy *p, struct sealed_range range)
{
	uint32_t i;

	out_list(o, name);
	for (i = 0; i < range.n; i++)
		out_text(o, NULL, policy_str(p, p->ref[range.first + i]));
	out_end(o);
}

static void
sha256(struct out *o, const uint8_t digest[32])
{
	char hex[65];

	out_text(o, "sha256", hex_put(hex, digest, 32));
}

/* Owner, ticket and last day of an exception. */
static void
exception(struct out *o, const struct policy *p, uint32_t row)
{
	const struct sealed_exception *x;
	char day[SAY_DAY_CAP];

	if (row == SEALED_NONE || row >= p->row_n[SEALED_EXCEPTIONS])
		return;
	x = &p->exception[row];
	out_text(o, "owner", policy_str(p, x->owner));
	out_text(o, "ticket", policy_str(p, x->ticket));
	out_text(o, "until", say_day_text(x->until, day));
}

static const char *const mount_kinds[] = {
    [MOUNT_DIR] = "dir",
    [MOUNT_SYMLINK] = "symlink",
    [MOUNT_FILE] = "file",
    [MOUNT_TREE] = "tree",
    [MOUNT_TMPFS] = "tmpfs",
    [MOUNT_PROC] = "proc",
    [MOUNT_DEV] = "dev",
    [MOUNT_SHM] = "shm",
    [MOUNT_ETC] = "etc",
    [MOUNT_HIDE] = "hide",
};

static void
json_mount(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_mount *m = &p->mount[i];

	out_text(o, "kind", mount_kinds[m->kind]);
	out_text(o, "target", policy_str(p, m->target));
	if (m->source.len != 0)
		out_text(o, "source", policy_str(p, m->source));
	out_yes(o, "read", (m->right & RIGHT_READ) != 0);
	out_yes(o, "start", (m->right & RIGHT_START) != 0);
	out_yes(o, "write", (m->right & RIGHT_WRITE) != 0);
	out_text(o, "why", policy_why_name((enum sealed_mount_why)m->why));
	out_text(o, "enforced",
	    m->kind == MOUNT_HIDE           ? "covered by an empty, unreadable mount"
	    : (m->right & RIGHT_WRITE) != 0 ? "noexec mount, Landlock"
	    : (m->right & RIGHT_START) != 0
		? "bound by its own file, read-only mount, Landlock, exec gate"
		: "read-only mount, Landlock");
	out_yes(o, "optional", m->optional != 0);
	if (m->size != 0)
		out_number(o, "bytes", m->size);
	at(o, p, m->at);
}

static void
json_args(
    struct out *o, const char *name, const struct policy *p, struct sealed_range range)
{
	static const char *const kinds[] = {
	    [ARG_LITERAL] = "literal",
	    [ARG_ANY] = "any",
	    [ARG_REST] = "rest",
	    [ARG_GLOB] = "glob",
	    [ARG_CHOICE] = "choice",
	    [ARG_SLOT] = "slot",
	    [ARG_OPTIONS] = "options",
	};
	uint32_t i;

	out_list(o, name);
	for (i = range.first; i < range.first + range.n; i++) {
		out_object(o, NULL);
		out_text(o, "kind", kinds[p->arg[i].kind]);
		out_text(o, "text", policy_str(p, p->arg[i].text));
		out_end(o);
	}
	out_end(o);
}

/* What a yes needs in addition; absent if nothing. */
static void
factor(struct out *o, uint32_t f)
{
	if (f != FACTOR_NONE)
		out_text(o, "with", policy_factor_name((enum sealed_factor)f));
}

static void
json_exec(const struct policy *p, uint32_t i, struct out *o)
{
	static const uint8_t none[32];
	const struct sealed_exec *e = &p->exec[i];

	out_text(o, "verdict", policy_verdict_name((enum sealed_verdict)e->verdict));
	out_yes(o, "run", (e->flags & EXEC_FROM_RUN) != 0);
	out_text(o, "program", policy_str(p, p->image[e->asked].path));
	out_text(o, "image", policy_str(p, p->image[e->mapped].real));
	if (memcmp(p->image[e->asked].sha256, none, sizeof(none)) != 0)
		sha256(o, p->image[e->asked].sha256);
	json_args(o, "args", p, e->args);
	json_args(o, "prefix", p, e->prefix);
	factor(o, e->factor);
	if (e->because.len != 0)
		out_text(o, "because", policy_str(p, e->because));
	if (e->instead.len != 0)
		out_text(o, "instead", policy_str(p, e->instead));
	refs(o, "from", p, e->from);
	refs(o, "with_env", p, e->env);
	if (e->in.len != 0)
		out_text(o, "in", policy_str(p, e->in));
	exception(o, p, e->exception);
	said(o, p, say_exec, e);
	out_text(o, "enforced", "exec gate");
	at(o, p, e->at);
}

static void
json_env(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_env *e = &p->env[i];

	out_text(o, "name", policy_str(p, e->name));
	if (!e->passed)
		out_text(o, "value", policy_str(p, e->value));
	out_yes(o, "passed", e->passed != 0);
	out_yes(o, "fixed", e->fixed != 0);
	at(o, p, e->at);
}

static void
json_secret(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_secret *c = &p->secret[i];

	out_text(o, "name", policy_str(p, c->name));
	out_text(o, "source", policy_source_name(c->source));
	if (c->source == SOURCE_CMD)
		json_args(o, "args", p, c->args);
	else
		out_text(o, "reference", policy_str(p, c->ref));
	refs(o, "hosts", p, c->hosts);
	out_yes(o, "hosts_any", (c->flags & SECRET_HOSTS_ANY) != 0);
	out_yes(o, "may_network", (c->flags & SECRET_MAY_NETWORK) != 0);
	out_yes(o, "may_files", (c->flags & SECRET_MAY_FILES) != 0);
	out_yes(o, "first_line", (c->flags & SECRET_FIRST_LINE) != 0);
	out_yes(o, "as_file", (c->flags & SECRET_AS_FILE) != 0);
	out_yes(o, "weak_allowed", (c->flags & SECRET_WEAK) != 0);
	if (c->approve != APPROVE_NONE)
		out_text(
		    o, "approve", c->approve == APPROVE_SESSION ? "session" : "per-call");
	factor(o, c->factor);
	at(o, p, c->at);
}

static void
json_gate(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_gate *g = &p->gate[i];

	out_text(o, "kind", policy_gate_name((enum sealed_gate_kind)g->kind));
	out_text(o, "verdict", policy_verdict_name((enum sealed_verdict)g->verdict));
	out_text(o, "name", policy_str(p, g->name));
	factor(o, policy_gate_factor(g));
	if (g->because.len != 0)
		out_text(o, "because", policy_str(p, g->because));
	if (g->instead.len != 0)
		out_text(o, "instead", policy_str(p, g->instead));
	refs(o, "except", p, g->excepts);
	out_number(o, "classes", g->classes);
	out_yes(o, "by_annotations", (g->flags & GATE_BY_ANNOTATIONS) != 0);
	out_yes(o, "conditional", g->conds.n > 0);
	if (g->rate != 0) {
		out_number(o, "rate", g->rate);
		out_number(o, "rate_ms", g->rate_ms);
	}
	if (g->quota != 0)
		out_number(o, "quota", g->quota);
	exception(o, p, g->exception);
	said(o, p, say_gate, g);
	out_text(o, "enforced", "tool gate");
	at(o, p, g->at);
}

static void
json_require(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_require *q = &p->require[i];

	out_text(o, "name", say_require_name(q->kind));
	if (q->value != 0)
		out_number(o, "value", q->value);
	at(o, p, q->at);
}

static void
json_net(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_net *n = &p->net[i];

	out_text(o, "verdict", policy_verdict_name((enum sealed_verdict)n->verdict));
	out_text(o, "host", policy_str(p, n->host));
	out_text(o, "kind",
	    n->kind == HOST_EXACT    ? "name"
	    : n->kind == HOST_SUFFIX ? "below"
				     : "addresses");
	out_number(o, "port_first", n->port_first);
	out_number(o, "port_last", n->port_last);
	exception(o, p, n->exception);
	factor(o, n->factor);
	said(o, p, say_net, n);
	out_text(o, "enforced", "kennel-egress and kennel-dial (network namespace)");
	at(o, p, n->at);
}

static void
json_call(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_call *c = &p->call[i];

	out_text(o, "verdict", policy_verdict_name((enum sealed_verdict)c->verdict));
	out_text(o, "name", policy_str(p, c->name));
	exception(o, p, c->exception);
	out_text(o, "enforced", "seccomp BPF");
	at(o, p, c->at);
}

static void
json_audit(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_audit *a = &p->audit[i];

	out_text(o, "name", policy_str(p, a->name));
	out_yes(o, "args_full", (a->flags & AUDIT_ARGS_FULL) != 0);
	out_yes(o, "result_full", (a->flags & AUDIT_RESULT_FULL) != 0);
	out_yes(o, "sync_strict", (a->flags & AUDIT_SYNC_STRICT) != 0);
	at(o, p, a->at);
}

static void
json_pin(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_pin *n = &p->pin[i];

	out_number(o, "kind", n->kind);
	out_text(o, "name", policy_str(p, n->name));
	out_text(o, "variant", policy_str(p, n->variant));
	out_number(o, "classes", n->classes);
	sha256(o, n->sha256);
}

static void
json_filter(const struct policy *p, uint32_t i, struct out *o)
{
	const struct sealed_filter *f = &p->filter[i];

	(void)policy_filter_tables(p, &f); /* the row is enough here */
	out_text(o, "arch", policy_arch_name(f->arch));
	out_number(o, "instructions", f->insns.n);
}

static void
json_limits(const struct policy *p, const struct sealed_server *s, struct out *o)
{
	uint64_t value;
	int kind;

	out_object(o, "limits");
	for (kind = LIMIT_MEMORY; kind <= LIMIT_KIND_LAST; kind++)
		if ((value = policy_limit(p, s, (enum sealed_limit_kind)kind)) != 0)
			out_number(
			    o, policy_limit_name((enum sealed_limit_kind)kind), value);
	out_end(o);
}

static const struct {
	const char *name;
	size_t at; /* offset of the range in struct sealed_server */
	void (*row)(const struct policy *, uint32_t, struct out *);
} lists[] = {
    {"programs", offsetof(struct sealed_server, execs), json_exec},
    {"files", offsetof(struct sealed_server, mounts), json_mount},
    {"env", offsetof(struct sealed_server, envs), json_env},
    {"secrets", offsetof(struct sealed_server, secrets), json_secret},
    {"gates", offsetof(struct sealed_server, gates), json_gate},
    {"requires", offsetof(struct sealed_server, requires), json_require},
    {"nets", offsetof(struct sealed_server, nets), json_net},
    {"syscalls", offsetof(struct sealed_server, calls), json_call},
    {"audits", offsetof(struct sealed_server, audits), json_audit},
    {"pins", offsetof(struct sealed_server, pins), json_pin},
    {"filters", offsetof(struct sealed_server, filters), json_filter},
};

static void
json_server(const struct policy *p, const struct sealed_server *s, struct out *o)
{
	struct sealed_range range;
	uint32_t i;
	size_t k;

	out_object(o, NULL);
	out_text(o, "name", policy_str(p, s->name));
	out_text(o, "about", policy_str(p, s->about));
	out_text(o, "cwd", policy_str(p, s->cwd));
	out_text(o, "user", policy_str(p, s->user));
	out_yes(o, "proc", (s->flags & SERVER_NO_PROC) == 0);
	out_yes(o, "tty", (s->flags & SERVER_TTY) != 0);
	if (policy_remote_url(p, s) != NULL)
		out_text(o, "remote", policy_remote_url(p, s));
	if ((s->flags & SERVER_LOGIN) != 0)
		out_yes(o, "login", true);
	out_yes(o, "oneshot", policy_oneshot(p, s) != ONESHOT_NO);
	out_yes(o, "sampling", (s->flags & SERVER_MCP_SAMPLING) != 0);
	out_yes(o, "elicitation", (s->flags & SERVER_MCP_ELICITATION) != 0);
	out_yes(o, "roots", (s->flags & SERVER_MCP_ROOTS) != 0);
	at(o, p, s->at);
	json_limits(p, s, o);
	for (k = 0; k < ARRAY_LEN(lists); k++) {
		memcpy(&range, (const char *)s + lists[k].at, sizeof(range));
		out_list(o, lists[k].name);
		for (i = range.first; i < range.first + range.n; i++) {
			out_object(o, NULL);
			lists[k].row(p, i, o);
			out_end(o);
		}
		out_end(o);
	}
	out_end(o);
}

int
policy_show_json(const struct policy *p, const char *only, FILE *f)
{
	char id[2 * POLICY_ID_LEN + 1];
	uint32_t i, shown = 0;
	struct out o;

	out_init(&o, f);
	out_object(&o, NULL);
	out_text(&o, "policy", hex_put(id, p->id, POLICY_ID_LEN));
	out_list(&o, "servers");
	for (i = 0; i < p->row_n[SEALED_SERVERS]; i++) {
		if (only != NULL && strcmp(only, policy_str(p, p->server[i].name)) != 0)
			continue;
		json_server(p, &p->server[i], &o);
		shown++;
	}
	out_end(&o);
	out_end(&o);
	if (ferror(f))
		return -EIO;
	return only != NULL && shown == 0 ? -ENOENT : 0;
}
