/*
 * Prints what a sealed policy grants as one JSON document.  It uses no library,
 * because policy/ only writes JSON here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/print/show.h"
#include "policy/print/statement.h"
#include "policy/sealed/load.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

/* The loader checked UTF-8, so only these bytes need an escape. */
static void
put_string(FILE *f, const char *s)
{
	(void)fputc('"', f);
	for (; *s != 0; s++)
		if (*s == '"' || *s == '\\')
			(void)fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < 0x20 || *s == 0x7f)
			(void)fprintf(f, "\\u%04x", (unsigned char)*s);
		else
			(void)fputc(*s, f);
	(void)fputc('"', f);
}

/* Prints `, "key":`; without the comma for the first member of an object. */
static void
key(FILE *f, bool *first, const char *name)
{
	(void)fputs(*first ? "" : ",", f);
	*first = false;
	put_string(f, name);
	(void)fputc(':', f);
}

static void
text(FILE *f, bool *first, const char *name, const char *value)
{
	key(f, first, name);
	put_string(f, value);
}

static void
number(FILE *f, bool *first, const char *name, uint64_t value)
{
	key(f, first, name);
	(void)fprintf(f, "%" PRIu64, value);
}

static void
yes(FILE *f, bool *first, const char *name, bool value)
{
	key(f, first, name);
	(void)fputs(value ? "true" : "false", f);
}

static void
at(FILE *f, bool *first, const struct policy *p, struct sealed_at where)
{
	text(f, first, "file", policy_str(p, p->file[where.file]));
	number(f, first, "line", where.line);
}

/* The policy line that this row represents. */
static void
said(FILE *f, bool *first, const struct policy *p, say_fn *say, const void *row)
{
	char *line = say_text(say, p, row);

	if (line != NULL)
		text(f, first, "text", line);
	free(line);
}

static void
refs(FILE *f, bool *first, const char *name, const struct policy *p,
    struct sealed_range range)
{
	uint32_t i;

	key(f, first, name);
	(void)fputc('[', f);
	for (i = 0; i < range.n; i++) {
		(void)fputs(i > 0 ? "," : "", f);
		put_string(f, policy_str(p, p->ref[range.first + i]));
	}
	(void)fputc(']', f);
}

/* Owner, ticket and last day of an exception. */
static void
exception(FILE *f, bool *first, const struct policy *p, uint32_t row)
{
	const struct sealed_exception *x;

	if (row == SEALED_NONE || row >= p->row_n[SEALED_EXCEPTIONS])
		return;
	x = &p->exception[row];
	text(f, first, "owner", policy_str(p, x->owner));
	text(f, first, "ticket", policy_str(p, x->ticket));
	key(f, first, "until");
	(void)fputc('"', f);
	say_day(x->until, f);
	(void)fputc('"', f);
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
json_mount(const struct policy *p, uint32_t i, FILE *f)
{
	const struct sealed_mount *m = &p->mount[i];
	bool first = true;

	text(f, &first, "kind", mount_kinds[m->kind]);
	text(f, &first, "target", policy_str(p, m->target));
	if (m->source.len != 0)
		text(f, &first, "source", policy_str(p, m->source));
	yes(f, &first, "read", (m->right & RIGHT_READ) != 0);
	yes(f, &first, "start", (m->right & RIGHT_START) != 0);
	yes(f, &first, "write", (m->right & RIGHT_WRITE) != 0);
	text(f, &first, "why", policy_why_name((enum sealed_mount_why)m->why));
	text(f, &first, "enforced",
	    m->kind == MOUNT_HIDE           ? "covered by an empty, unreadable mount"
	    : (m->right & RIGHT_WRITE) != 0 ? "noexec mount, Landlock"
	    : (m->right & RIGHT_START) != 0
		? "bound by its own file, read-only mount, Landlock, exec gate"
		: "read-only mount, Landlock");
	yes(f, &first, "optional", m->optional != 0);
	if (m->size != 0)
		number(f, &first, "bytes", m->size);
	at(f, &first, p, m->at);
}

static void
json_digest(const struct sealed_image *m, bool *first, FILE *f)
{
	static const uint8_t none[32];
	size_t k;

	if (memcmp(m->sha256, none, sizeof(none)) == 0)
		return;
	key(f, first, "sha256");
	(void)fputc('"', f);
	for (k = 0; k < sizeof(m->sha256); k++)
		(void)fprintf(f, "%02x", m->sha256[k]);
	(void)fputc('"', f);
}

static void
json_args(const struct policy *p, struct sealed_range range, FILE *f)
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

	(void)fputc('[', f);
	for (i = 0; i < range.n; i++) {
		(void)fprintf(f, "%s{\"kind\":\"%s\",\"text\":", i > 0 ? "," : "",
		    kinds[p->arg[range.first + i].kind]);
		put_string(f, policy_str(p, p->arg[range.first + i].text));
		(void)fputc('}', f);
	}
	(void)fputc(']', f);
}

static void
json_exec(const struct policy *p, uint32_t i, FILE *f)
{
	const struct sealed_exec *e = &p->exec[i];
	bool first = true;

	text(f, &first, "verdict", policy_verdict_name((enum sealed_verdict)e->verdict));
	yes(f, &first, "run", (e->flags & EXEC_FROM_RUN) != 0);
	text(f, &first, "program", policy_str(p, p->image[e->asked].path));
	text(f, &first, "image", policy_str(p, p->image[e->mapped].real));
	json_digest(&p->image[e->asked], &first, f);
	key(f, &first, "args");
	json_args(p, e->args, f);
	key(f, &first, "prefix");
	json_args(p, e->prefix, f);
	if (e->because.len != 0)
		text(f, &first, "because", policy_str(p, e->because));
	if (e->instead.len != 0)
		text(f, &first, "instead", policy_str(p, e->instead));
	refs(f, &first, "from", p, e->from);
	refs(f, &first, "with_env", p, e->env);
	if (e->in.len != 0)
		text(f, &first, "in", policy_str(p, e->in));
	exception(f, &first, p, e->exception);
	said(f, &first, p, say_exec_row, e);
	text(f, &first, "enforced", "exec gate");
	at(f, &first, p, e->at);
}

static void
json_env(const struct policy *p, uint32_t i, FILE *f)
{
	const struct sealed_env *e = &p->env[i];
	bool first = true;

	text(f, &first, "name", policy_str(p, e->name));
	if (!e->passed)
		text(f, &first, "value", policy_str(p, e->value));
	yes(f, &first, "passed", e->passed != 0);
	yes(f, &first, "fixed", e->fixed != 0);
	at(f, &first, p, e->at);
}

static void
json_secret(const struct policy *p, uint32_t i, FILE *f)
{
	static const char *const sources[] = {
	    [SOURCE_ENV] = "env",
	    [SOURCE_FILE] = "file",
	    [SOURCE_CMD] = "cmd",
	    [SOURCE_VAULT] = "vault",
	    [SOURCE_PLUGIN] = "plugin",
	};
	const struct sealed_secret *c = &p->secret[i];
	bool first = true;

	text(f, &first, "name", policy_str(p, c->name));
	text(f, &first, "source", sources[c->source]);
	if (c->source == SOURCE_CMD) {
		key(f, &first, "args");
		json_args(p, c->args, f);
	} else
		text(f, &first, "reference", policy_str(p, c->ref));
	refs(f, &first, "hosts", p, c->hosts);
	yes(f, &first, "hosts_any", (c->flags & SECRET_HOSTS_ANY) != 0);
	yes(f, &first, "may_network", (c->flags & SECRET_MAY_NETWORK) != 0);
	yes(f, &first, "may_files", (c->flags & SECRET_MAY_FILES) != 0);
	yes(f, &first, "first_line", (c->flags & SECRET_FIRST_LINE) != 0);
	yes(f, &first, "as_file", (c->flags & SECRET_AS_FILE) != 0);
	yes(f, &first, "weak_allowed", (c->flags & SECRET_WEAK) != 0);
	if (c->approve != APPROVE_NONE)
		text(f, &first, "approve",
		    c->approve == APPROVE_SESSION ? "session" : "per-call");
	at(f, &first, p, c->at);
}

static void
json_gate(const struct policy *p, uint32_t i, FILE *f)
{
	const struct sealed_gate *g = &p->gate[i];
	bool first = true;

	text(f, &first, "kind", policy_gate_name((enum sealed_gate_kind)g->kind));
	text(f, &first, "verdict", policy_verdict_name((enum sealed_verdict)g->verdict));
	text(f, &first, "name", policy_str(p, g->name));
	if (g->because.len != 0)
		text(f, &first, "because", policy_str(p, g->because));
	if (g->instead.len != 0)
		text(f, &first, "instead", policy_str(p, g->instead));
	refs(f, &first, "except", p, g->excepts);
	number(f, &first, "classes", g->classes);
	yes(f, &first, "by_annotations", (g->flags & GATE_BY_ANNOTATIONS) != 0);
	yes(f, &first, "conditional", g->conds.n > 0);
	exception(f, &first, p, g->exception);
	said(f, &first, p, say_gate_row, g);
	text(f, &first, "enforced", "tool gate");
	at(f, &first, p, g->at);
}

static void
json_require(const struct policy *p, uint32_t i, FILE *f)
{
	static const char *const names[] = {
	    [REQUIRE_LANDLOCK] = "landlock",
	    [REQUIRE_CGROUP] = "cgroup",
	    [REQUIRE_SUBUID] = "subuid",
	};
	const struct sealed_require *q = &p->require[i];
	bool first = true;

	text(f, &first, "name", names[q->kind]);
	if (q->value != 0)
		number(f, &first, "value", q->value);
	at(f, &first, p, q->at);
}

static void
json_net(const struct policy *p, uint32_t i, FILE *f)
{
	const struct sealed_net *n = &p->net[i];
	bool first = true;

	text(f, &first, "verdict", policy_verdict_name((enum sealed_verdict)n->verdict));
	text(f, &first, "host", policy_str(p, n->host));
	text(f, &first, "kind",
	    n->kind == HOST_EXACT    ? "name"
	    : n->kind == HOST_SUFFIX ? "below"
				     : "addresses");
	number(f, &first, "port_first", n->port_first);
	number(f, &first, "port_last", n->port_last);
	exception(f, &first, p, n->exception);
	said(f, &first, p, say_net_row, n);
	text(f, &first, "enforced", "kennel-egress and kennel-dial (network namespace)");
	at(f, &first, p, n->at);
}

static void
json_call(const struct policy *p, uint32_t i, FILE *f)
{
	const struct sealed_call *c = &p->call[i];
	bool first = true;

	text(f, &first, "verdict", policy_verdict_name((enum sealed_verdict)c->verdict));
	text(f, &first, "name", policy_str(p, c->name));
	exception(f, &first, p, c->exception);
	text(f, &first, "enforced", "seccomp BPF");
	at(f, &first, p, c->at);
}

static void
json_audit(const struct policy *p, uint32_t i, FILE *f)
{
	const struct sealed_audit *a = &p->audit[i];
	bool first = true;

	text(f, &first, "name", policy_str(p, a->name));
	yes(f, &first, "args_full", (a->flags & AUDIT_ARGS_FULL) != 0);
	yes(f, &first, "result_full", (a->flags & AUDIT_RESULT_FULL) != 0);
	yes(f, &first, "sync_strict", (a->flags & AUDIT_SYNC_STRICT) != 0);
	at(f, &first, p, a->at);
}

static void
json_pin(const struct policy *p, uint32_t i, FILE *f)
{
	const struct sealed_pin *n = &p->pin[i];
	bool first = true;
	size_t k;

	number(f, &first, "kind", n->kind);
	text(f, &first, "name", policy_str(p, n->name));
	text(f, &first, "variant", policy_str(p, n->variant));
	number(f, &first, "classes", n->classes);
	key(f, &first, "sha256");
	(void)fputc('"', f);
	for (k = 0; k < sizeof(n->sha256); k++)
		(void)fprintf(f, "%02x", n->sha256[k]);
	(void)fputc('"', f);
}

static void
json_filter(const struct policy *p, uint32_t i, FILE *f)
{
	bool first = true;

	text(f, &first, "arch", policy_arch_name(p->filter[i].arch));
	number(f, &first, "instructions", p->filter[i].insns.n);
}

static void
json_limits(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	bool first = true;
	uint64_t value;
	int kind;

	(void)fputc('{', f);
	for (kind = LIMIT_MEMORY; kind <= TIMEOUT_IDLE; kind++)
		if ((value = policy_limit(p, s, (enum sealed_limit_kind)kind)) != 0)
			number(f, &first, policy_limit_name((enum sealed_limit_kind)kind),
			    value);
	(void)fputc('}', f);
}

static const struct {
	const char *name;
	size_t at; /* offset of the range in struct sealed_server */
	void (*row)(const struct policy *, uint32_t, FILE *);
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
json_server(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	struct sealed_range range;
	bool first = true;
	uint32_t i;
	size_t k;

	(void)fputc('{', f);
	text(f, &first, "name", policy_str(p, s->name));
	text(f, &first, "about", policy_str(p, s->about));
	text(f, &first, "cwd", policy_str(p, s->cwd));
	text(f, &first, "user", policy_str(p, s->user));
	yes(f, &first, "proc", (s->flags & SERVER_NO_PROC) == 0);
	yes(f, &first, "sampling", (s->flags & SERVER_MCP_SAMPLING) != 0);
	yes(f, &first, "elicitation", (s->flags & SERVER_MCP_ELICITATION) != 0);
	yes(f, &first, "roots", (s->flags & SERVER_MCP_ROOTS) != 0);
	at(f, &first, p, s->at);
	key(f, &first, "limits");
	json_limits(p, s, f);
	for (k = 0; k < ARRAY_LEN(lists); k++) {
		memcpy(&range, (const char *)s + lists[k].at, sizeof(range));
		key(f, &first, lists[k].name);
		(void)fputc('[', f);
		for (i = 0; i < range.n; i++) {
			(void)fputs(i > 0 ? ",{" : "{", f);
			lists[k].row(p, range.first + i, f);
			(void)fputc('}', f);
		}
		(void)fputc(']', f);
	}
	(void)fputc('}', f);
}

int
policy_show_json(const struct policy *p, const char *only, FILE *f)
{
	uint32_t i, shown = 0;

	(void)fputs("{\"policy\":\"", f);
	for (i = 0; i < POLICY_ID_LEN; i++)
		(void)fprintf(f, "%02x", p->id[i]);
	(void)fputs("\",\"servers\":[", f);
	for (i = 0; i < p->row_n[SEALED_SERVERS]; i++) {
		if (only != NULL && strcmp(only, policy_str(p, p->server[i].name)) != 0)
			continue;
		(void)fputs(shown++ > 0 ? "," : "", f);
		json_server(p, &p->server[i], f);
	}
	(void)fputs("]}\n", f);
	if (ferror(f))
		return -EIO;
	return only != NULL && shown == 0 ? -ENOENT : 0;
}
