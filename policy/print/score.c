/*
 * The risk of a compiled policy.  Each rule is one row: a stable name, stable
 * points, and the reason.  Only sealed grants count; nothing is assumed about
 * the server.
 */
#include "policy/print/score.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"
#include "policy/print/statement.h"

enum rule {
	R_WRITE,
	R_WRITE_HOME,
	R_READ,
	R_READ_HOME,
	R_EXEC,
	R_EXEC_ANY,
	R_EXEC_CODE,
	R_RUN_ANY,
	R_NET,
	R_NET_WIDE,
	R_NET_INSIDE,
	R_NET_PLAIN,
	R_SECRET,
	R_SECRET_ENV,
	R_SECRET_ANYWHERE,
	R_TOOL_ALL,
	R_TOOL_UNPINNED,
	R_SAMPLING,
	R_ELICITATION,
	R_ROOTS,
	R_ENV_PASSED,
	R_NO_MEMORY,
	R_NO_CPU,
	R_SYSCALL,
	R_EXCEPTION,
	R_HOSTS_UNKNOWN,
	R_SECRET_UNKNOWN,
	R_N
};

static const struct score_rule rules[R_N] = {
    [R_WRITE] = {"write", 3, "it can change files there"},
    [R_WRITE_HOME] = {"write-home", 8,
	"it can change a whole home directory, with startup files and programs that "
	"others run"},
    [R_READ] = {"read", 1, "it can disclose what is there"},
    [R_READ_HOME] = {"read-home", 6,
	"a home directory contains keys and tokens of other programs"},
    [R_EXEC] = {"exec", 1, "one more program to trust"},
    [R_EXEC_ANY] = {"exec-any", 2, "its arguments are not restricted"},
    [R_EXEC_CODE] = {"exec-code", 8,
	"a program that runs code from its arguments, which are not restricted"},
    [R_RUN_ANY] = {"run-any", 2, "the arguments of `run` are not restricted"},
    [R_NET] = {"net", 2, "a connection out of the cell"},
    [R_NET_WIDE] = {"net-wide", 5, "the server chooses the name or the address"},
    [R_NET_INSIDE] = {"net-inside", 5, "it may reach addresses that are not public"},
    [R_NET_PLAIN] = {"net-plain", 2, "no certificate identifies the other side"},
    [R_SECRET] = {"secret", 3, "it holds this secret"},
    [R_SECRET_ENV] = {"secret-env", 1,
	"the process that starts kennel has the value too"},
    [R_SECRET_ANYWHERE] = {"secret-anywhere", 5,
	"it holds this secret and can connect out, and no list of hosts restricts "
	"where"},
    [R_TOOL_ALL] = {"tool-all", 4, "every tool, including tools added later"},
    [R_TOOL_UNPINNED] = {"tool-unpinned", 2,
	"tool definitions may change unnoticed: there are no pins"},
    [R_SAMPLING] = {"sampling", 3, "it may use the agent's model"},
    [R_ELICITATION] = {"elicitation", 2, "it may ask the user for input"},
    [R_ROOTS] = {"roots", 1, "it learns the agent's directories"},
    [R_ENV_PASSED] = {"env-passed", 1, "its value comes from the agent"},
    [R_NO_MEMORY] = {"no-memory-limit", 2, "it can use all memory"},
    [R_NO_CPU] = {"no-cpu-limit", 1, "it can use all processors"},
    [R_SYSCALL] = {"syscall", 4, "a system call that is denied by default"},
    [R_EXCEPTION] = {"exception", 1, "an exception to the policy, until its date"},
    /* not known yet: no points, and never a reason to feel safe */
    [R_HOSTS_UNKNOWN] = {"hosts-unknown", 0,
	"no `net` line: if it needs hosts, they are not in this score"},
    [R_SECRET_UNKNOWN] = {"secret-unknown", 0,
	"no list of hosts restricts this secret once a `net` line is added"},
};

struct work {
	const struct policy *p;
	const struct sealed_server *s;
	struct score *score;
};

void
score_free(struct score *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		free(s->item[i].line);
	free(s->item);
	memset(s, 0, sizeof(*s));
}

/* say NULL: the item is about the server itself. */
static void
add(struct work *w, enum rule rule, struct sealed_at at, say_fn *say, const void *row)
{
	struct score *s = w->score;
	struct score_item *grown;

	if (s->item == NULL || s->n == s->cap) {
		s->cap = s->cap == 0 ? 32 : 2 * s->cap;
		grown = realloc(s->item, s->cap * sizeof(*grown));
		if (grown == NULL) {
			s->failed = true;
			return;
		}
		s->item = grown;
	}
	s->item[s->n] = (struct score_item){&rules[rule], at, NULL};
	if (say != NULL && (s->item[s->n].line = say_text(say, w->p, row)) == NULL)
		s->failed = true;
	s->sum += rules[rule].points;
	s->unknown_n += rules[rule].points == 0;
	s->n++;
}

/* ---- files ---------------------------------------------------------------------- */

/* Is it a home directory, or their parent? */
static bool
is_home(const char *path)
{
	const char *rest;

	if (strcmp(path, "/root") == 0 || strcmp(path, "/home") == 0)
		return true;
	if (strncmp(path, "/home/", 6) != 0)
		return false;
	rest = strchr(path + 6, '/');
	return rest == NULL;
}

static void
files(struct work *w)
{
	const struct sealed_mount *m;
	bool home;
	uint32_t i;

	for (i = 0; i < w->s->mounts.n; i++) {
		m = &w->p->mount[w->s->mounts.first + i];
		home = is_home(policy_str(w->p, m->target));
		if (m->kind == MOUNT_DIR)
			continue;
		if (m->why == WHY_WRITE)
			add(w, home ? R_WRITE_HOME : R_WRITE, m->at, say_mount, m);
		if (home && (m->why == WHY_WRITE || m->why == WHY_READ))
			add(w, R_READ_HOME, m->at, say_mount, m);
		else if (m->why == WHY_READ)
			add(w, R_READ, m->at, say_mount, m);
	}
}

/* ---- programs --------------------------------------------------------------------- */

/* Programs that run code from their arguments. */
static bool
runs_code(const char *path)
{
	static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh", "fish",
	    "busybox", "python", "perl", "ruby", "node", "deno", "bun", "php", "lua",
	    "tclsh", "awk", "gawk", "mawk", "env", "xargs", "find", "make", "ssh", "sudo",
	    "su", "setpriv", "nice", "nohup", "timeout", "time", "strace", "gdb", "vim",
	    "vi", "emacs", "tar", "rsync", "npx", "npm", "uvx", "pip", "docker",
	    "podman"};
	const char *base = strrchr(path, '/');
	size_t i, n;

	base = base == NULL ? path : base + 1;
	for (i = 0; i < ARRAY_LEN(names); i++) {
		n = strlen(names[i]);
		/* also with a version after the name */
		if (strncmp(base, names[i], n) == 0 &&
		    strspn(base + n, "0123456789.") == strlen(base + n))
			return true;
	}
	return false;
}

static bool
is_open(const struct work *w, const struct sealed_exec *e)
{
	return e->args.n > 0 && w->p->arg[e->args.first + e->args.n - 1].kind == ARG_REST;
}

static void
programs(struct work *w)
{
	const struct sealed_exec *e;
	bool code;
	uint32_t i;

	for (i = 0; i < w->s->execs.n; i++) {
		e = &w->p->exec[w->s->execs.first + i];
		if (e->verdict == VERDICT_DENY)
			continue;
		code = runs_code(policy_str(w->p, w->p->image[e->asked].path));
		if ((e->flags & EXEC_FROM_RUN) != 0) {
			if (is_open(w, e))
				add(w, code ? R_EXEC_CODE : R_RUN_ANY, e->at, say_exec,
				    e);
			continue;
		}
		add(w, R_EXEC, e->at, say_exec, e);
		/* with ask, a person sees the arguments */
		if (is_open(w, e) && e->verdict == VERDICT_ALLOW)
			add(w, code ? R_EXEC_CODE : R_EXEC_ANY, e->at, say_exec, e);
	}
}

/* ---- hosts, secrets ------------------------------------------------------ */

static bool
hosts(struct work *w)
{
	const struct sealed_net *n;
	bool out = false;
	uint32_t i;

	if (w->s->nets.n == 0)
		add(w, R_HOSTS_UNKNOWN, w->s->at, NULL, NULL);
	for (i = 0; i < w->s->nets.n; i++) {
		n = &w->p->net[w->s->nets.first + i];
		if (n->verdict == VERDICT_DENY)
			continue;
		out = true;
		add(w, R_NET, n->at, say_net, n);
		if (n->kind == HOST_SUFFIX || (n->kind == HOST_CIDR && n->prefix != 128))
			add(w, R_NET_WIDE, n->at, say_net, n);
		if (n->scope != NET_PUBLIC)
			add(w, R_NET_INSIDE, n->at, say_net, n);
		if (n->proto == NET_PLAIN || n->proto == NET_NO_SNI)
			add(w, R_NET_PLAIN, n->at, say_net, n);
	}
	return out;
}

static void
secrets(struct work *w, bool out)
{
	const struct sealed_secret *c;
	uint32_t i;

	for (i = 0; i < w->s->secrets.n; i++) {
		c = &w->p->secret[w->s->secrets.first + i];
		add(w, R_SECRET, c->at, say_secret, c);
		if (c->source == SOURCE_ENV)
			add(w, R_SECRET_ENV, c->at, say_secret, c);
		if (c->hosts.n == 0 || (c->flags & SECRET_HOSTS_ANY) != 0)
			add(w, out ? R_SECRET_ANYWHERE : R_SECRET_UNKNOWN, c->at,
			    say_secret, c);
	}
}

/* ---- MCP ----------------------------------------------------------------- */

static void
gates(struct work *w)
{
	static const enum rule offers[] = {[GATE_SAMPLING] = R_SAMPLING,
	    [GATE_ELICITATION] = R_ELICITATION,
	    [GATE_ROOTS] = R_ROOTS};
	const struct sealed_gate *g;
	bool tools = false;
	uint32_t i;

	for (i = 0; i < w->s->gates.n; i++) {
		g = &w->p->gate[w->s->gates.first + i];
		if (g->verdict == VERDICT_DENY && (g->flags & GATE_BY_ANNOTATIONS) == 0)
			continue;
		if (g->kind == GATE_METHOD) /* it restricts what passes without it */
			continue;
		tools = tools || g->kind == GATE_TOOL;
		if (g->kind >= GATE_SAMPLING)
			add(w, offers[g->kind], g->at, say_gate, g);
		else if (g->verdict == VERDICT_ALLOW && g->conds.n == 0 &&
			 g->classes == 0 && strcmp(policy_str(w->p, g->name), "*") == 0)
			add(w, R_TOOL_ALL, g->at, say_gate, g);
	}
	if (tools && w->s->pins.n == 0)
		add(w, R_TOOL_UNPINNED, w->s->at, NULL, NULL);
}

/* ---- other rules --------------------------------------------------------- */

static void
say_env_row(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_env *e = row;

	(void)fputs("env ", f);
	say_word(policy_str(p, e->name), e->name.len, f);
}

static void
say_call_row(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_call *c = row;

	(void)fputs("syscalls allow ", f);
	say_word(policy_str(p, c->name), c->name.len, f);
}

static void
say_exception_row(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_exception *x = row;

	(void)fputs("owner ", f);
	say_word(policy_str(p, x->owner), x->owner.len, f);
	(void)fputs(" ticket ", f);
	say_word(policy_str(p, x->ticket), x->ticket.len, f);
	(void)fputs(" until ", f);
	say_day(x->until, f);
}

static void
rest(struct work *w)
{
	const struct sealed_call *c;
	const struct sealed_env *e;
	uint32_t i;

	for (i = 0; i < w->s->envs.n; i++) {
		e = &w->p->env[w->s->envs.first + i];
		if (e->passed)
			add(w, R_ENV_PASSED, e->at, say_env_row, e);
	}
	for (i = 0; i < w->s->calls.n; i++) {
		c = &w->p->call[w->s->calls.first + i];
		if (c->verdict == VERDICT_ALLOW)
			add(w, R_SYSCALL, c->at, say_call_row, c);
	}
	for (i = 0; i < w->s->exceptions.n; i++)
		add(w, R_EXCEPTION, w->p->exception[w->s->exceptions.first + i].at,
		    say_exception_row, &w->p->exception[w->s->exceptions.first + i]);
	if (policy_limit(w->p, w->s, LIMIT_MEMORY) == 0)
		add(w, R_NO_MEMORY, w->s->at, NULL, NULL);
	if (policy_limit(w->p, w->s, LIMIT_CPU) == 0)
		add(w, R_NO_CPU, w->s->at, NULL, NULL);
}

static int
item_order(const void *va, const void *vb)
{
	const struct score_item *a = va, *b = vb;

	if (a->rule->points != b->rule->points)
		return a->rule->points > b->rule->points ? -1 : 1;
	if (a->rule != b->rule)
		return a->rule < b->rule ? -1 : 1;
	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	return a->line == NULL || b->line == NULL ? 0 : strcmp(a->line, b->line);
}

int
score_server(const struct policy *p, const struct sealed_server *s, struct score *ret)
{
	struct score score = {.n = 0};
	struct work w = {p, s, &score};

	files(&w);
	programs(&w);
	secrets(&w, hosts(&w));
	gates(&w);
	rest(&w);
	if (score.failed) {
		score_free(&score);
		return -ENOMEM;
	}
	if (score.n > 1)
		qsort(score.item, score.n, sizeof(*score.item), item_order);
	*ret = score;
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------- */

const char score_caveat[] =
    "The points count what the policy grants, not what a server does with it: 0 is "
    "not\nsafe, and two servers with the same score are not equally safe.  Compare a "
    "server\nonly with itself.\n";

void
score_put(struct out *o, const struct policy *p, const struct score *s)
{
	const struct score_item *i;

	out_number(o, "score", s->sum);
	out_number(o, "unknown", s->unknown_n);
	out_list(o, "items");
	for (i = s->item; i < s->item + s->n; i++) {
		out_object(o, NULL);
		out_text(o, "rule", i->rule->name);
		out_number(o, "points", i->rule->points);
		out_text(o, "why", i->rule->why);
		if (i->line != NULL)
			out_text(o, "text", i->line);
		out_text(o, "file", policy_str(p, p->file[i->at.file]));
		out_number(o, "line", i->at.line);
		out_end(o);
	}
	out_end(o);
}
