/*
 * "kennel policy test": runs every `expect` of the files on the compiled
 * policy, and lists the grants that decide none of them; with --mutation also the
 * grants that can be removed without failing any of them.  Prints TAP.
 */
#include "policy/base/arena.h"
#include "policy/check/expect.h"
#include "policy/cli/verb.h"
#include "policy/compile/lower.h"
#include "policy/sealed/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/check/request.h"

struct test {
	const struct tree *tree;
	bool json, whole; /* whole: also mutation */
	size_t n, failed;
	struct out o;
};

/* A policy of one server, in memory. */
struct sealed {
	struct buf bytes;
	struct policy p;
};

static void
sealed_free(struct sealed *s)
{
	policy_unload(&s->p);
	buf_free(&s->bytes);
}

/* 0; -EINVAL: it does not compile (d has the reason); -ENOMEM. */
static int
seal_one(
    const struct tree *t, const struct server *server, struct diag *d, struct sealed *ret)
{
	struct sealer *sealer = sealer_new();
	struct tree own = *t;
	struct lacks lacks; /* nothing: d reports what is missing as an error */
	struct sealed s;
	char why[128];
	int r = -ENOMEM;

	buf_init(&s.bytes, SEALED_LEN_MAX);
	own.arena = arena_new();
	if (sealer != NULL && own.arena != NULL)
		r = tree_lower(&own, server, sealer, d, &lacks);
	if (r == 0 && d->error_n > 0)
		r = -EINVAL;
	if (r == 0)
		r = sealer_finish(sealer, &s.bytes);
	if (r == 0)
		r = policy_load_bytes(s.bytes.data, s.bytes.len, &s.p, why, sizeof(why));
	arena_free(own.arena);
	sealer_free(sealer);
	if (r == 0)
		*ret = s;
	else
		buf_free(&s.bytes);
	return r == -EBADMSG ? -EINVAL : r;
}

/* ---- lines --------------------------------------------------------------- */

/* The source line of a statement, without its indentation. */
static void
line_say(const struct tree *t, struct at at, FILE *f)
{
	const struct policy_source *s = &t->source[at.file];
	const char *p = s->text, *end = s->text + s->len, *nl;
	uint32_t i;

	for (i = 1; i < at.line && p != NULL; i++) {
		nl = memchr(p, '\n', (size_t)(end - p));
		p = nl == NULL ? NULL : nl + 1;
	}
	if (p == NULL)
		return;
	nl = memchr(p, '\n', (size_t)(end - p));
	nl = nl == NULL ? end : nl;
	while (p < nl && (*p == ' ' || *p == '\t'))
		p++;
	out_plain(f, p, (size_t)(nl - p));
}

static void
place_say(const struct tree *t, struct at at, FILE *f)
{
	const char *path = t->source[at.file].path;

	path = path == NULL ? "(standard input)" : path;
	out_plain(f, path, strlen(path));
	(void)fprintf(f, ":%u", at.line);
}

static char *
described(const struct tree *t, struct at at, const char *lead)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	(void)fputs(lead, f);
	line_say(t, at, f);
	(void)fputs("  [", f);
	place_say(t, at, f);
	(void)fputc(']', f);
	return fclose(f) == 0 ? out : NULL;
}

/* Prints one line of TAP, or one JSON object. */
static int
told(struct test *t, bool good, const char *kind, const char *lead, struct at at,
    const char *got)
{
	char *text = described(t->tree, at, lead);

	if (text == NULL)
		return -ENOMEM;
	t->n++;
	t->failed += good ? 0 : 1;
	if (t->json) {
		out_object(&t->o, NULL);
		out_yes(&t->o, "ok", good);
		out_text(&t->o, "kind", kind);
		out_text(&t->o, "what", text);
		if (t->tree->source[at.file].path != NULL)
			out_text(&t->o, "file", t->tree->source[at.file].path);
		out_number(&t->o, "line", at.line);
		if (got != NULL)
			out_text(&t->o, "got", got);
		out_end(&t->o);
	} else {
		/* `#` would begin a TAP directive */
		printf("%sok %zu - ", good ? "" : "not ", t->n);
		for (got = good ? NULL : got, kind = text; *kind != 0; kind++)
			(void)fputs(*kind == '#' ? "\\#" : (char[]){*kind, 0}, stdout);
		(void)fputc('\n', stdout);
		if (got != NULL)
			printf("# got %s\n", got);
	}
	free(text);
	return 0;
}

/* ---- expectations -------------------------------------------------------- */

/* Marks the statement that a row was compiled from. */
static void
touch(struct test *t, const struct server *server, uint8_t *touched,
    const struct sealed *s, const struct policy_answer *a)
{
	const struct sealed_at at = request_decides(a);
	const char *file = at.line == 0 ? "" : policy_str(&s->p, s->p.file[at.file]);
	const char *path;
	size_t i;

	for (i = 0; i < server->stmt_n && at.line != 0; i++) {
		path = t->tree->source[server->stmt[i].at.file].path;
		if (server->stmt[i].at.line == at.line &&
		    strcmp(path == NULL ? "(standard input)" : path, file) == 0)
			touched[i] = 1;
	}
}

static char *
got_text(const struct sealed *s, const struct policy_answer *a)
{
	struct sealed_at at = request_decides(a);
	char where[4096], *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	(void)fputs(policy_verdict_name(a->verdict), f);
	if (at.line != 0) {
		(void)policy_at(&s->p, at, where, sizeof(where));
		(void)fputs(", by ", f);
		out_plain(f, where, strlen(where));
	} else {
		(void)fputs(": no rule matches", f);
	}
	return fclose(f) == 0 ? out : NULL;
}

static int
expect_one(struct test *t, const struct server *server, uint8_t *touched,
    const struct sealed *s, const struct expectation *e)
{
	struct policy_answer a;
	char *got;
	int r;

	r = expect_ask(&s->p, s->p.server, e, &a);
	if (r != 0)
		return r;
	touch(t, server, touched, s, &a);
	got = got_text(s, &a);
	if (got == NULL)
		return -ENOMEM;
	r = told(t, a.verdict == e->verdict, "expect", "", e->at, got);
	free(got);
	return r;
}

typedef int each_fn(void *arg, const struct expectation *);

/* Runs every expectation of this server. */
static int
each_expectation(
    const struct tree *t, const struct server *server, each_fn *fn, void *arg)
{
	size_t i, k;
	int r = 0;

	for (i = 0; i < t->expect_n && r == 0; i++) {
		if (strcmp(t->expect[i].name.text, server->name.text) != 0)
			continue;
		for (k = 0; k < t->expect[i].row_n && r == 0; k++)
			r = fn(arg, &t->expect[i].row[k]);
	}
	return r;
}

struct each {
	struct test *t;
	const struct server *server;
	uint8_t *touched;
	const struct sealed *s, *less; /* less: without one statement */
	size_t n;
	bool noticed;
};

static int
each_expect(void *arg, const struct expectation *e)
{
	struct each *x = arg;

	x->n++;
	return expect_one(x->t, x->server, x->touched, x->s, e);
}

/* ---- mutation ------------------------------------------------------------ */

static bool
is_rule(const struct stmt *s)
{
	static const bool rules[KW_END] = {
	    [KW_ELICITATION] = true,
	    [KW_EXEC] = true,
	    [KW_HIDE] = true,
	    [KW_METHOD] = true,
	    [KW_NET] = true,
	    [KW_PROMPT] = true,
	    [KW_READ] = true,
	    [KW_RESOURCE] = true,
	    [KW_ROOTS] = true,
	    [KW_SAMPLING] = true,
	    [KW_TOOL] = true,
	    [KW_WRITE] = true,
	};

	return rules[s->kw];
}

static int
each_notice(void *arg, const struct expectation *e)
{
	struct each *x = arg;
	struct policy_answer a = {0}, b = {0};
	int r = expect_ask(&x->s->p, x->s->p.server, e, &a);

	if (r == 0)
		r = expect_ask(&x->less->p, x->less->p.server, e, &b);
	x->noticed = x->noticed || (r == 0 && a.verdict != b.verdict);
	return r;
}

/* Without one statement: what becomes of the expectations? */
enum without { SAME_RESULTS, OTHER_RESULTS, NO_POLICY };

/* Removes one statement. */
static int
mutate(struct test *t, const struct server *server, const struct sealed *whole,
    size_t drop, enum without *ret)
{
	struct server less = *server;
	struct each x = {.t = t, .server = server, .s = whole};
	struct diag mute = {.source = t->tree->source, .source_n = t->tree->source_n};
	struct sealed s;
	int r;

	less.stmt = calloc(server->stmt_n, sizeof(*less.stmt));
	if (less.stmt == NULL)
		return -ENOMEM;
	memcpy(less.stmt, server->stmt, drop * sizeof(*less.stmt));
	memcpy(less.stmt + drop, server->stmt + drop + 1,
	    (server->stmt_n - drop - 1) * sizeof(*less.stmt));
	less.stmt_n--;
	r = seal_one(t->tree, &less, &mute, &s);
	free(less.stmt);
	if (r == -EINVAL) { /* it no longer compiles */
		*ret = NO_POLICY;
		return 0;
	}
	if (r != 0)
		return r;
	x.less = &s;
	r = each_expectation(t->tree, server, each_notice, &x);
	sealed_free(&s);
	*ret = x.noticed ? OTHER_RESULTS : SAME_RESULTS;
	return r;
}

/* touched: the line decided a test. */
static int
tell_mutation(struct test *t, struct at at, enum without without, bool touched)
{
	const char *what = "a test depends on this line: ", *got = NULL;

	if (without == NO_POLICY)
		what = "the policy needs this line: ";
	else if (without == SAME_RESULTS)
		got = touched ? "no difference: the other rules give every test the same "
				"result"
			      : "no difference: no test depends on it";
	return told(t, without != SAME_RESULTS, "mutation", what, at, got);
}

static int
mutate_all(struct test *t, const struct server *server, const struct sealed *whole,
    const uint8_t *touched)
{
	enum without without;
	size_t i;
	int r = 0;

	for (i = 0; i < server->stmt_n && r == 0; i++) {
		if (!is_rule(&server->stmt[i]))
			continue;
		r = mutate(t, server, whole, i, &without);
		if (r == 0)
			r = tell_mutation(
			    t, server->stmt[i].at, without, touched[i] != 0);
	}
	return r;
}

/* ---- a server ------------------------------------------------------------ */

static void
coverage(struct test *t, const struct server *server, const uint8_t *touched)
{
	size_t i, rules = 0, hit = 0;

	for (i = 0; i < server->stmt_n; i++) {
		rules += is_rule(&server->stmt[i]) ? 1 : 0;
		hit += is_rule(&server->stmt[i]) && touched[i] ? 1 : 0;
	}
	if (t->json)
		return;
	printf("# server %s: %zu of %zu grants decide a test\n", server->name.text, hit,
	    rules);
	for (i = 0; i < server->stmt_n; i++) {
		if (!is_rule(&server->stmt[i]) || touched[i])
			continue;
		(void)fputs("# decides no test: ", stdout);
		line_say(t->tree, server->stmt[i].at, stdout);
		(void)fputs("  [", stdout);
		place_say(t->tree, server->stmt[i].at, stdout);
		puts("]");
	}
}

static int
test_server(struct test *t, const struct server *server, struct diag *d)
{
	struct each x = {.t = t, .server = server};
	struct sealed s;
	int r;

	r = seal_one(t->tree, server, d, &s);
	if (r != 0)
		return r;
	x.touched = calloc(server->stmt_n + 1, 1);
	x.s = &s;
	r = x.touched == NULL ? -ENOMEM
			      : each_expectation(t->tree, server, each_expect, &x);
	if (r == 0 && x.n > 0)
		coverage(t, server, x.touched);
	if (r == 0 && x.n > 0 && t->whole)
		r = mutate_all(t, server, &s, x.touched);
	free(x.touched);
	sealed_free(&s);
	return r;
}

static int
test_tree(struct test *t, struct diag *d)
{
	size_t i;
	int r = 0;

	for (i = 0; i < t->tree->server_n && r == 0; i++)
		r = test_server(t, &t->tree->server[i], d);
	return r;
}

/* ---- the verb ------------------------------------------------------------ */

static int
test_texts(const struct texts *x, struct test *t)
{
	struct diag d = {
	    .sorted = true, .out = stderr, .source = x->source, .source_n = x->n};
	struct tree tree;
	int r;

	r = tree_parse(x->source, x->n, &d, &tree);
	if (r == 0) {
		(void)tree_check(&tree, &d); /* a broken `never` ends a test too */
		t->tree = &tree;
		r = d.error_n > 0 ? -EINVAL : test_tree(t, &d);
		t->tree = NULL;
		tree_free(&tree);
	}
	diag_end(&d);
	return r;
}

int
verb_test(const struct args *a)
{
	struct test t = {
	    .json = (a->given & OPT_JSON) != 0, .whole = (a->given & OPT_MUTATION) != 0};
	static struct texts x;
	int r, status;

	status = texts_read(a->word, a->word_n, SOURCE_LEN_MAX, &x);
	if (status != 0)
		return status;
	out_init(&t.o, stdout);
	if (t.json) {
		out_object(&t.o, NULL);
		out_list(&t.o, "tests");
	} else {
		puts("TAP version 14");
	}
	r = test_texts(&x, &t);
	texts_free(&x);
	if (t.json) {
		out_end(&t.o);
		out_number(&t.o, "passed", t.n - t.failed);
		out_number(&t.o, "failed", t.failed);
		out_end(&t.o);
	} else {
		printf("1..%zu%s\n", t.n, t.n == 0 && r == 0 ? " # SKIP no expect" : "");
	}
	if (verb_flush() != 0)
		return EXIT_CONFIG;
	if (r != 0)
		return verb_status(r);
	/* a policy without expectations counts as not tested */
	return t.failed > 0 || t.n == 0 ? EXIT_NO : EXIT_OK;
}
