/*
 * Finds the lines that nearly decided a request, and the smallest change that
 * gives another answer.  The matcher itself reports what a line lacks, and what
 * the answer is without a line.
 */
#include "policy/cli/advice.h"
#include "policy/cli/near_miss.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/values/method_name.h"
#include "policy/print/statement.h"
#include "policy/sealed/values/uri.h"

/* A row of any table. */
struct candidate {
	const void *row;
	struct sealed_at at;
	enum policy_miss miss;
	bool grants; /* it is an allow or an ask */
	uint32_t close;
	uint32_t arg; /* for MISS_ARGS: the first argument that does not match, from 1 */
};

void
nears_free(struct nears *n)
{
	size_t i;

	for (i = 0; i < n->near_n; i++) {
		free(n->near[i].text);
		free(n->near[i].detail);
	}
	for (i = 0; i < n->change_n; i++)
		free(n->change[i].text);
	memset(n, 0, sizeof(*n));
}

/* ---- distance ------------------------------------------------------------ */

/*
 * How many arguments match a row's patterns.  Asks the matcher with the first n
 * patterns and the first n arguments.
 */
static uint32_t
args_taken(const struct policy *p, const struct sealed_exec *e,
    const struct policy_exec_ask *ask)
{
	struct policy_exec_ask part = *ask;
	struct sealed_exec row = *e;
	uint32_t n = 0;

	while (n < e->args.n && n + 1 < ask->argv.n &&
	       p->arg[e->args.first + n].kind != ARG_REST) {
		row.args.n = n + 1;
		part.argv.n = n + 2;
		if (policy_exec_miss(p, &row, &part) == MISS_ARGS)
			break;
		n++;
	}
	return n;
}

/* How many bytes two names have in common at their beginnings, or at their ends. */
static uint32_t
common(const char *a, size_t a_n, const char *b, size_t b_n, bool ends)
{
	uint32_t i = 0;

	while (
	    i < a_n && i < b_n && a[ends ? a_n - 1 - i : i] == b[ends ? b_n - 1 - i : i])
		i++;
	return i;
}

static struct candidate
judge_exec(const struct policy *p, const void *row, const struct request *q,
    const struct sealed_server *s)
{
	const struct policy_exec_ask ask = request_exec(p, s, q);
	const struct sealed_exec *e = row;
	struct candidate c = {
	    .row = row, .at = e->at, .grants = e->verdict != VERDICT_DENY};
	const char *path = policy_str(p, p->image[e->asked].path);

	c.miss = policy_exec_miss(p, e, &ask);
	if (c.miss == MISS_IMAGE) {
		c.close = strcmp(basename(path), basename(q->word[0])) == 0 ? 5 : 0;
	} else if (c.miss == MISS_ARGS) {
		c.arg = args_taken(p, e, &ask) + 1;
		c.close = 10 + c.arg;
	} else {
		c.close = 1000 + (uint32_t)c.miss;
	}
	return c;
}

static struct candidate
judge_gate(const struct policy *p, const void *row, const struct request *q,
    const struct sealed_server *s)
{
	const struct policy_gate_ask ask = request_gate(p, s, q);
	const struct sealed_gate *g = row;
	struct candidate c = {
	    .row = row, .at = g->at, .grants = g->verdict != VERDICT_DENY};

	c.miss = policy_gate_miss(p, g, &ask);
	if (c.miss == MISS_KIND)
		c.close = 0;
	else if (c.miss == MISS_NAME)
		c.close = common(policy_str(p, g->name), g->name.len, ask.name,
			      ask.name_len, false) +
			  common(policy_str(p, g->name), g->name.len, ask.name,
			      ask.name_len, true);
	else
		c.close = 1000 + (uint32_t)c.miss;
	if (c.miss == MISS_NAME && c.close < 3)
		c.close = 0;
	return c;
}

static struct candidate
judge_net(const struct policy *p, const void *row, const struct request *q,
    const struct sealed_server *s)
{
	const struct policy_net_ask ask = request_net(q);
	const struct sealed_net *n = row;
	struct candidate c = {.row = row, .at = n->at};

	c.miss = policy_net_miss(p, n, &ask);
	if (c.miss == MISS_HOST)
		c.close = common(
		    policy_str(p, n->host), n->host.len, ask.host, ask.host_len, true);
	else
		c.close = 1000 + (uint32_t)c.miss;
	if (c.miss == MISS_HOST && c.close < 5)
		c.close = 0;
	return c;
}

/* A file grant: the longer the common prefix with the path, the nearer. */
static struct candidate
judge_mount(const struct policy *p, const void *row, const struct request *q,
    const struct sealed_server *s)
{
	const struct sealed_mount *m = row;
	struct candidate c = {.row = row, .at = m->at, .miss = MISS_NAME};
	const char *target = policy_str(p, m->target);

	if (m->why != WHY_READ && m->why != WHY_WRITE && m->why != WHY_HIDE)
		return c;
	c.close = common(target, m->target.len, q->word[0], strlen(q->word[0]), false);
	c.close = c.close < 3 ? 0 : c.close;
	return c;
}

/* ---- what a line lacks --------------------------------------------------- */

static void
detail_args(
    const struct policy *p, const struct candidate *c, const struct request *q, FILE *f)
{
	const struct sealed_exec *e = c->row;
	struct sealed_range one = {e->args.first + c->arg - 1, 1};

	if (c->arg > e->args.n) {
		(void)fprintf(f, "it ends before argument %u, `", c->arg);
		say_word(q->word[c->arg], strlen(q->word[c->arg]), f);
		(void)fputc('`', f);
		return;
	}
	if (c->arg >= q->word_n)
		(void)fprintf(f, "argument %u is missing; expected `", c->arg);
	else {
		(void)fprintf(f, "argument %u is `", c->arg);
		say_word(q->word[c->arg], strlen(q->word[c->arg]), f);
		(void)fputs("`; expected `", f);
	}
	/* without the leading space */
	{
		char *text = NULL;
		size_t len;
		FILE *m = open_memstream(&text, &len);

		if (m != NULL) {
			say_args(p, one, m);
			if (fclose(m) == 0 && len > 0)
				(void)fputs(text + 1, f);
			free(text);
		}
	}
	(void)fputc('`', f);
}

/* The first comparison that is not true. */
static void
detail_cond(
    const struct policy *p, const struct candidate *c, const struct request *q, FILE *f)
{
	const struct sealed_gate *g = c->row;
	const char *args = q->args != NULL ? q->args : "{}";
	enum policy_truth t;
	struct sealed_range one = {0, 1};

	for (uint32_t i = 0; i < g->conds.n; i++) {
		one.first = g->conds.first + i;
		if (p->cond[one.first].op >= COND_AND)
			continue;
		t = policy_conds(p, one, args, strlen(args));
		if (t == TRUTH_YES)
			continue;
		(void)fputc('`', f);
		say_conds(p, one, f);
		(void)fputs(t == TRUTH_UNKNOWN
				? "` is unknown: it is missing or has another type"
				: "` does not hold",
		    f);
		return;
	}
	(void)fputs("its condition does not hold", f);
}

static void
detail_other(const struct candidate *c, FILE *f)
{
	static const char *const details[] = {
	    [MISS_IMAGE] = "the name refers to another file",
	    [MISS_NAME] = "it names something else",
	    [MISS_EXCEPT] = "it excludes this (`except`)",
	    [MISS_EXPIRED] = "its exception has expired",
	    [MISS_FROM] =
		"it names another caller, or the caller is unknown (use --from)",
	    [MISS_IN] =
		("it names another working directory, or the directory is unknown "
		 "(use --in)"),
	    [MISS_ENV] = "a variable changed that its `with env` does not name",
	    [MISS_CLASS] = "the pinned definition has another class",
	    [MISS_HOST] = "it names another host",
	    [MISS_PORT] = "it names another port",
	    [MISS_URI] = ("a server may interpret this URI as another one: only `deny` "
			  "rules match it"),
	};

	(void)fputs((size_t)c->miss < ARRAY_LEN(details) && details[c->miss] != NULL
			? details[c->miss]
			: "it does not match",
	    f);
}

/* A grant of a file covers the path, and does not decide. */
static bool
detail_path(
    const struct policy *p, const struct candidate *c, const struct request *q, FILE *f)
{
	const struct sealed_mount *m = c->row;

	if ((q->kind != REQUEST_READ && q->kind != REQUEST_WRITE) ||
	    !policy_under(
		q->word[0], strlen(q->word[0]), policy_str(p, m->target), m->target.len))
		return false;
	(void)fputs("the line that decides is closer to the path", f);
	return true;
}

static char *
detail(const struct policy *p, const struct candidate *c, const struct request *q)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	if (c->miss == MISS_ARGS)
		detail_args(p, c, q, f);
	else if (c->miss == MISS_COND)
		detail_cond(p, c, q, f);
	else if (!detail_path(p, c, q, f))
		detail_other(c, f);
	return fclose(f) == 0 ? out : NULL;
}

/* ---- tables -------------------------------------------------------------- */

typedef struct candidate judge_fn(const struct policy *, const void *,
    const struct request *, const struct sealed_server *);

struct table {
	judge_fn *judge;
	say_fn *say;
	size_t size;
	enum sealed_kind kind;
};

static const struct table tables[] = {
    {judge_exec, say_exec, sizeof(struct sealed_exec), SEALED_EXECS},
    {judge_gate, say_gate, sizeof(struct sealed_gate), SEALED_GATES},
    {judge_net, say_net, sizeof(struct sealed_net), SEALED_NETS},
    {judge_mount, say_mount, sizeof(struct sealed_mount), SEALED_MOUNTS},
};

static const struct table *
table_of(const struct request *q)
{
	if (q->kind == REQUEST_READ || q->kind == REQUEST_WRITE)
		return &tables[3];
	if (q->kind == REQUEST_NET)
		return &tables[2];
	return q->kind == REQUEST_EXEC ? &tables[0] : &tables[1];
}

static const char *
rows_of(const struct policy *p, const struct sealed_server *s, const struct table *t,
    struct sealed_range *ret)
{
	if (t->kind == SEALED_EXECS) {
		*ret = s->execs;
		return (const char *)p->exec;
	}
	if (t->kind == SEALED_NETS) {
		*ret = s->nets;
		return (const char *)p->net;
	}
	*ret = t->kind == SEALED_GATES ? s->gates : s->mounts;
	return t->kind == SEALED_GATES ? (const char *)p->gate : (const char *)p->mount;
}

/* ---- near misses --------------------------------------------------------- */

static void
keep(struct candidate *best, size_t *n, const struct candidate *c)
{
	size_t i;

	if (c->close == 0 || c->miss == MISS_NONE)
		return;
	for (i = *n; i > 0 && best[i - 1].close < c->close; i--)
		if (i < NEAR_MAX)
			best[i] = best[i - 1];
	if (i >= NEAR_MAX)
		return;
	best[i] = *c;
	if (*n < NEAR_MAX)
		++*n;
}

static int
near_find(const struct policy *p, const struct sealed_server *s, const struct request *q,
    const struct policy_answer *decided, struct nears *ret)
{
	const struct table *t = table_of(q);
	struct candidate best[NEAR_MAX + 1], c;
	struct sealed_range range;
	const char *rows = rows_of(p, s, t, &range), *row;
	struct near *near;
	size_t n = 0, i;
	uint32_t k;

	for (k = 0; k < range.n; k++) {
		row = rows + t->size * (range.first + k);
		if (row == (const char *)decided->mount)
			continue;
		c = t->judge(p, row, q, s);
		keep(best, &n, &c);
	}
	for (i = 0; i < n; i++) {
		near = &ret->near[ret->near_n];
		*near = (struct near){.at = best[i].at,
		    .text = say_text(t->say, p, best[i].row),
		    .detail = detail(p, &best[i], q),
		    .miss = best[i].miss,
		    .grants = best[i].grants,
		    .close = best[i].close};
		ret->near_n++;
		if (near->text == NULL || near->detail == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* ---- the smallest change ------------------------------------------------- */

/* A policy from which rows can be removed: its tables are copies. */
struct without {
	struct policy p;
	void *table;
	size_t size;
};

/* The address of a policy's pointer to a table. */
static void *
table_in(struct policy *p, const struct table *t)
{
	void *at = &p->mount;

	if (t->kind == SEALED_EXECS)
		at = &p->exec;
	else if (t->kind == SEALED_GATES)
		at = &p->gate;
	else if (t->kind == SEALED_NETS)
		at = &p->net;
	return at;
}

static int
without_open(const struct policy *p, const struct table *t, struct without *ret)
{
	struct without w = {.p = *p};
	void *at = table_in(&w.p, t);
	const void *from;

	w.size = t->size * p->row_n[t->kind];
	w.table = malloc(w.size + 1);
	if (w.table == NULL)
		return -ENOMEM;
	memcpy(&from, at, sizeof(from));
	memcpy(w.table, from, w.size);
	memcpy(at, &w.table, sizeof(w.table));
	*ret = w;
	return 0;
}

/* Changes the deciding row so that it matches nothing. */
static void
take_out(struct without *w, const struct policy_answer *a)
{
	if (a->exec != NULL)
		((struct sealed_exec *)w->table)[a->exec - w->p.exec].asked = SEALED_NONE;
	else if (a->gate != NULL)
		((struct sealed_gate *)w->table)[a->gate - w->p.gate].kind = 0;
	else if (a->net != NULL)
		((struct sealed_net *)w->table)[a->net - w->p.net].port_first = 65536;
	else if (a->mount != NULL) {
		struct sealed_mount *m =
		    &((struct sealed_mount *)w->table)[a->mount - w->p.mount];

		m->kind = MOUNT_DIR;
		m->right = RIGHT_NONE;
		m->target = (struct sealed_ref){0, 0};
	}
}

static const void *
decider(const struct policy_answer *a)
{
	if (a->exec != NULL)
		return a->exec;
	if (a->gate != NULL)
		return a->gate;
	return a->net != NULL ? (const void *)a->net : a->mount;
}

static bool
has_change(const struct nears *n, struct sealed_at at)
{
	for (size_t i = 0; i < n->change_n; i++)
		if (n->change[i].at.file == at.file && n->change[i].at.line == at.line)
			return true;
	return false;
}

/* A line that grants the name, but not this call: a new line would remove what it requires.
 * NULL: none. */
static const struct near *
restricted(const struct nears *n)
{
	for (size_t i = 0; i < n->near_n; i++)
		if ((n->near[i].miss == MISS_COND || n->near[i].miss == MISS_EXCEPT) &&
		    n->near[i].grants)
			return &n->near[i];
	return NULL;
}

static int
add_line(const struct request *q, const char *verdict, struct nears *ret)
{
	struct change *c = &ret->change[ret->change_n];
	const struct near *near = strcmp(verdict, "allow") == 0 ? restricted(ret) : NULL;

	if (ret->change_n == CHANGES_MAX) {
		ret->open_end = true;
		return 0;
	}
	if (near != NULL)
		*c = (struct change){
		    .verb = "widen", .at = near->at, .text = strdup(near->text)};
	else
		*c = (struct change){.verb = "add", .text = advice_line(q, verdict)};
	if (c->text == NULL)
		return -ENOMEM;
	ret->change_n++;
	return 0;
}

/* A line of the policy that prevents the answer. */
static int
name_line(const struct policy *p, const struct table *t, const struct policy_answer *a,
    struct nears *ret)
{
	struct change *c = &ret->change[ret->change_n];

	if (has_change(ret, request_decides(a)))
		return 0;
	if (ret->change_n == CHANGES_MAX) {
		ret->open_end = true;
		return 0;
	}
	*c = (struct change){.verb = "narrow or remove",
	    .at = request_decides(a),
	    .text = say_text(t->say, p, decider(a))};
	if (c->text == NULL)
		return -ENOMEM;
	ret->change_n++;
	return 0;
}

/* Only a hide prevents an answer; a mount that other lines grant too does not. */
static bool
in_the_way(const struct policy_answer *a)
{
	return a->mount != NULL ? a->mount->kind == MOUNT_HIDE : decider(a) != NULL;
}

static int
changes_find(const struct policy *p, const struct sealed_server *s,
    const struct request *q, struct nears *ret)
{
	const struct table *t = table_of(q);
	struct policy_answer a = request_policy(p, s, q);
	bool named = q->kind == REQUEST_TOOL || q->kind == REQUEST_PROMPT ||
		     q->kind == REQUEST_RESOURCE;
	struct without w;
	int r;

	ret->then = VERDICT_ALLOW;
	if ((named && strchr(q->word[0], '*') != NULL) || /* a pattern is not its name */
	    (q->kind == REQUEST_RESOURCE &&
		uri_form(q->word[0], strlen(q->word[0])) == URI_ODD) ||
	    (q->kind == REQUEST_METHOD &&
		method_form(q->word[0], strlen(q->word[0])) == METHOD_TWIN))
		return 0; /* no line allows it */
	if (a.verdict == VERDICT_ALLOW) {
		ret->then = VERDICT_DENY;
		return add_line(q, "deny", ret);
	}
	r = without_open(p, t, &w);
	if (r != 0)
		return r;
	a = request_policy(&w.p, s, q);
	while (r == 0 && !ret->open_end && a.verdict != VERDICT_ALLOW && in_the_way(&a)) {
		r = name_line(&w.p, t, &a, ret);
		take_out(&w, &a);
		a = request_policy(&w.p, s, q);
	}
	if (r == 0 && a.verdict != VERDICT_ALLOW)
		r = add_line(q, "allow", ret);
	free(w.table);
	return r;
}

int
nears_find(const struct policy *p, const struct sealed_server *s, const struct request *q,
    struct nears *ret)
{
	struct policy_answer a = request_policy(p, s, q);
	struct nears n = {.near_n = 0};
	int r;

	r = near_find(p, s, q, &a, &n);
	if (r == 0)
		r = changes_find(p, s, q, &n);
	if (r != 0)
		nears_free(&n);
	else
		*ret = n;
	return r;
}
