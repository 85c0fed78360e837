/*
 * A page for reviewers of a server: what it may do, in sections with stable
 * names and anchors.  All text from the policy is made printable, and escaped
 * in HTML.
 */
#include "policy/print/review.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"
#include "policy/print/score.h"
#include "policy/print/statement.h"
#include "shim/base/hex.h"

struct page {
	const struct policy *p;
	const struct sealed_server *s;
	bool html, failed, open; /* open: a list in the section is open */
	FILE *f;
};

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;"
    "padding:0 1rem;color:#222;background:#fff}"
    "h1{border-bottom:2px solid #444;font-size:1.5rem}h2{font-size:1.05rem;"
    "margin:1.4rem 0 .3rem}ul{margin:.2rem 0;padding-left:1.2rem}"
    "code{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}"
    ".at{color:#777;font-size:12px;margin-left:.6em}p{margin:.2rem 0}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}"
    ".at{color:#999}}";

static void
put(const struct page *x, const char *text)
{
	if (x->html)
		out_html(x->f, text, strlen(text));
	else
		out_plain(x->f, text, strlen(text));
}

void
doc_begin(const struct policy *p, const char *title, bool html, FILE *f)
{
	struct page x = {.p = p, .html = html, .f = f};

	if (html) {
		(void)fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n"
			    "<meta charset=\"utf-8\">\n"
			    "<meta http-equiv=\"Content-Security-Policy\" content=\""
			    "default-src 'none'; style-src 'unsafe-inline'\">\n<title>",
		    f);
		put(&x, title);
		(void)fprintf(
		    f, "</title>\n<style>%s</style>\n</head>\n<body>\n<p>Policy ", style);
	} else {
		(void)fputs("Policy ", f);
	}
	hex_print(f, p->id, POLICY_ID_LEN);
	(void)fputs(html ? "</p>\n" : "\n", f);
}

void
doc_end(bool html, FILE *f)
{
	if (html)
		(void)fputs("</body>\n</html>\n", f);
}

/* ---- sections ---------------------------------------------------------------------- */

static void
list_end(struct page *x)
{
	if (x->open && x->html)
		(void)fputs("</ul>\n", x->f);
	x->open = false;
}

/* Anchor: #server-NAME-ANCHOR; it never changes. */
static void
section(struct page *x, const char *title, const char *anchor)
{
	list_end(x);
	if (x->html)
		(void)fprintf(x->f, "<h2 id=\"server-%s-%s\">%s</h2>\n",
		    policy_str(x->p, x->s->name), anchor, title);
	else
		(void)fprintf(x->f, "\n%s\n", title);
}

static void
row_begin(struct page *x)
{
	if (x->html && !x->open)
		(void)fputs("<ul>\n", x->f);
	x->open = true;
	(void)fputs(x->html ? "<li><code>" : "  ", x->f);
}

static void
row_end(struct page *x, struct sealed_at at)
{
	char where[4096];

	(void)fputs(x->html ? "</code>" : "", x->f);
	if (at.line != 0) {
		(void)policy_at(x->p, at, where, sizeof(where));
		(void)fputs(x->html ? "<span class=\"at\">" : "  # ", x->f);
		put(x, where);
		(void)fputs(x->html ? "</span>" : "", x->f);
	}
	(void)fputs(x->html ? "</li>\n" : "\n", x->f);
}

static void
text_row(struct page *x, const char *text, struct sealed_at at)
{
	row_begin(x);
	put(x, text);
	row_end(x, at);
}

static void
said_row(struct page *x, say_fn *say, const void *row, struct sealed_at at)
{
	char *text = say_text(say, x->p, row);

	if (text == NULL)
		x->failed = true;
	else
		text_row(x, text, at);
	free(text);
}

/* A sentence of our own. */
static void
remark(struct page *x, const char *text)
{
	list_end(x);
	(void)fprintf(x->f, x->html ? "<p>%s</p>\n" : "  %s\n", text);
}

/* ---- sections about grants ----------------------------------------------- */

static void
head(struct page *x)
{
	const char *name = policy_str(x->p, x->s->name);

	if (x->html)
		(void)fprintf(x->f, "<h1 id=\"server-%s\">%s</h1>\n<p>", name, name);
	else
		(void)fprintf(x->f, "\n%s\n==============================\n", name);
	put(x, policy_str(x->p, x->s->about));
	(void)fputs(x->html ? "</p>\n" : "\n", x->f);
}

static void
programs(struct page *x)
{
	const struct sealed_exec *e;
	uint32_t i;

	section(x, "Starts (exec gate)", "exec");
	for (i = 0; i < x->s->execs.n; i++) {
		e = &x->p->exec[x->s->execs.first + i];
		said_row(x, say_exec, e, e->at);
	}
	remark(x, "Nothing else can be started.");
}

static void
mounts_of(struct page *x, enum sealed_mount_why why)
{
	const struct sealed_mount *m;
	uint32_t i;

	for (i = 0; i < x->s->mounts.n; i++) {
		m = &x->p->mount[x->s->mounts.first + i];
		if (m->why == (uint32_t)why && m->kind != MOUNT_DIR &&
		    m->kind != MOUNT_SYMLINK)
			said_row(x, say_mount, m, m->at);
	}
}

static void
files(struct page *x)
{
	section(x, "Writes (noexec mount, Landlock)", "write");
	mounts_of(x, WHY_WRITE);
	remark(x, "And a private /tmp, empty at the start and deleted at the end.");
	section(x, "Reads (read-only mount, Landlock)", "read");
	mounts_of(x, WHY_READ);
	remark(x, "And the libraries of the programs above. Everything else is absent.");
	section(x, "Hidden from it", "hide");
	mounts_of(x, WHY_HIDE);
}

static void
hosts(struct page *x)
{
	const struct sealed_net *n;
	uint32_t i;

	section(x, "Reaches (by TCP, through kennel-egress)", "net");
	for (i = 0; i < x->s->nets.n; i++) {
		n = &x->p->net[x->s->nets.first + i];
		said_row(x, say_net, n, n->at);
	}
	remark(x, "No other host.");
}

static void
secrets(struct page *x)
{
	const struct sealed_secret *c;
	uint32_t i;

	section(x, "Holds", "secret");
	for (i = 0; i < x->s->secrets.n; i++) {
		c = &x->p->secret[x->s->secrets.first + i];
		said_row(x, say_secret, c, c->at);
	}
	remark(x, x->s->secrets.n == 0 ? "No secret." : "No other secret.");
}

static void
gates(struct page *x)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} offers[] = {{SERVER_MCP_SAMPLING, "sampling allow"},
	    {SERVER_MCP_ELICITATION, "elicitation allow"},
	    {SERVER_MCP_ROOTS, "roots allow"}};
	const struct sealed_gate *g;
	uint32_t i;
	size_t k;

	section(x, "Offers the agent (tool gate)", "tool");
	for (i = 0; i < x->s->gates.n; i++) {
		g = &x->p->gate[x->s->gates.first + i];
		said_row(x, say_gate, g, g->at);
	}
	for (k = 0; k < ARRAY_LEN(offers); k++)
		if ((x->s->flags & offers[k].flag) != 0)
			text_row(x, offers[k].name, (struct sealed_at){0, 0});
	remark(x, "Everything else is denied. What is asked waits for a person; no "
		  "answer means deny.");
	(void)fprintf(x->f,
	    x->html ? "<p>%u definitions are pinned.</p>\n"
		    : "  %u definitions are pinned.\n",
	    x->s->pins.n);
}

static void
environment(struct page *x)
{
	const struct sealed_env *e;
	uint32_t i;

	section(x, "Environment", "env");
	for (i = 0; i < x->s->envs.n; i++) {
		e = &x->p->env[x->s->envs.first + i];
		row_begin(x);
		put(x, policy_str(x->p, e->name));
		put(x, e->passed ? " from the agent" : "=");
		put(x, e->passed ? "" : policy_str(x->p, e->value));
		row_end(x, e->fixed ? (struct sealed_at){0, 0} : e->at);
	}
}

static void
limits(struct page *x)
{
	char text[64];
	uint64_t n;
	int kind;

	section(x, "Limits", "limit");
	for (kind = LIMIT_MEMORY; kind <= LIMIT_KIND_LAST; kind++) {
		n = policy_limit(x->p, x->s, (enum sealed_limit_kind)kind);
		(void)snprintf(text, sizeof(text), n == 0 ? "%s none" : "%s %" PRIu64,
		    policy_limit_name((enum sealed_limit_kind)kind), n);
		text_row(x, text, (struct sealed_at){0, 0});
	}
}

static void
say_call(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_call *c = row;

	(void)fprintf(
	    f, "syscalls %s ", policy_verdict_name((enum sealed_verdict)c->verdict));
	say_word(policy_str(p, c->name), c->name.len, f);
}

static void
calls(struct page *x)
{
	const struct sealed_call *c;
	uint32_t i;

	section(
	    x, "System calls that differ from the default list (seccomp)", "syscalls");
	for (i = 0; i < x->s->calls.n; i++) {
		c = &x->p->call[x->s->calls.first + i];
		said_row(x, say_call, c, c->at);
	}
}

static void
say_exception(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_exception *e = row;

	(void)fputs("owner ", f);
	say_word(policy_str(p, e->owner), e->owner.len, f);
	(void)fputs(" ticket ", f);
	say_word(policy_str(p, e->ticket), e->ticket.len, f);
	(void)fputs(" until ", f);
	say_day(e->until, f);
}

static void
exceptions(struct page *x)
{
	const struct sealed_exception *e;
	uint32_t i;

	section(x, "Exceptions", "exceptions");
	for (i = 0; i < x->s->exceptions.n; i++) {
		e = &x->p->exception[x->s->exceptions.first + i];
		said_row(x, say_exception, e, e->at);
	}
}

static void
risk(struct page *x)
{
	struct score s;
	size_t i;

	if (score_server(x->p, x->s, &s) != 0) {
		x->failed = true;
		return;
	}
	section(x, "Risk, by what is granted", "score");
	for (i = 0; i < s.n; i++) {
		row_begin(x);
		(void)fprintf(
		    x->f, "%u %s: ", s.item[i].rule->points, s.item[i].rule->name);
		put(x, s.item[i].line != NULL ? s.item[i].line : s.item[i].rule->why);
		row_end(x, s.item[i].at);
	}
	list_end(x);
	(void)fprintf(x->f, x->html ? "<p>%u points.</p>\n" : "  %u points.\n", s.sum);
	score_free(&s);
}

int
doc_server(const struct policy *p, const struct sealed_server *s, bool html, FILE *f)
{
	static void (*const parts[])(struct page *) = {head, programs, files, hosts,
	    secrets, gates, environment, limits, calls, exceptions, risk};
	struct page x = {.p = p, .s = s, .html = html, .f = f};
	size_t i;

	for (i = 0; i < ARRAY_LEN(parts); i++)
		parts[i](&x);
	list_end(&x);
	return x.failed ? -ENOMEM : 0;
}
