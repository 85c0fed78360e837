/*
 * Text in, sealed bytes out: the order of the steps.  With one error nothing
 * is produced.
 */
#include "policy/lang/ast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Parse and check: 0 with *ret filled; -EINVAL (and nothing to free); -ENOMEM. */
static int
read_tree(const struct policy_source *source, size_t n, struct diag *d, struct tree *ret)
{
	struct tree t;
	int r;

	r = tree_parse(source, n, d, &t);
	if (r != 0)
		return r;
	tree_check(&t, d);
	if (d->error_n > 0) {
		tree_free(&t);
		return -EINVAL;
	}
	*ret = t;
	return 0;
}

static int
check(const struct policy_source *source, size_t source_n, struct diag *d)
{
	struct tree t;
	int r;

	r = read_tree(source, source_n, d, &t);
	if (r == 0)
		tree_free(&t);
	diag_end(d);
	return r;
}

int
policy_check(const struct policy_source *source, size_t source_n, FILE *out)
{
	struct diag d = {
	    .sorted = true, .out = out, .source = source, .source_n = source_n};

	return check(source, source_n, &d);
}

int
policy_check_json(const struct policy_source *source, size_t source_n, FILE *out)
{
	struct diag d = {.sorted = true,
	    .json = true,
	    .out = out,
	    .source = source,
	    .source_n = source_n};

	return check(source, source_n, &d);
}

/* The server that was asked for is not there: which one may be meant? */
static void
no_server(const struct tree *t, const char *only, struct diag *d)
{
	const char *list[64], *near;
	char shown[DIAG_TEXT_CAP];
	struct at whole = {.file = 0};
	size_t i;

	for (i = 0; i < t->server_n && i < sizeof(list) / sizeof(list[0]); i++)
		list[i] = t->server[i].name.text;
	near = diag_near(only, list, i);
	diag_text(shown, only, strlen(only));
	if (near != NULL)
		diag_error(d, whole, "no server `%s`; did you mean `%s`?", shown, near);
	else
		diag_error(d, whole, "no server `%s`", shown);
}

/* With memory of its own: what lowering one server takes is not there for the
 * thousandth. */
static int
lower(const struct tree *t, const struct server *server, struct sealer *sealer,
    struct diag *d)
{
	struct tree own = *t;
	int r;

	own.arena = arena_new();
	if (own.arena == NULL)
		return -ENOMEM;
	r = tree_lower(&own, server, sealer, d);
	arena_free(own.arena);
	return r;
}

static int
memo_begin(struct tree *t)
{
	t->memo = memo_new();
	return t->memo == NULL ? -ENOMEM : 0;
}

static bool
is_expected_of(const struct tree *t, const char *only)
{
	size_t i;

	for (i = 0; i < t->expect_n; i++)
		if (only == NULL || strcmp(t->expect[i].name.text, only) == 0)
			return true;
	return false;
}

/* The sealed bytes say what the text expects of them. */
static int
expectations(const struct tree *t, const char *only, const struct buf *b, struct diag *d)
{
	struct policy p;
	char why[128];
	int r;

	if (!is_expected_of(t, only))
		return 0;
	r = policy_load_bytes(b->data, b->len, &p, why, sizeof(why));
	if (r != 0)
		return r;
	r = expect_run(t, &p, d);
	policy_unload(&p);
	return r == 0 && d->error_n > 0 ? -EINVAL : r;
}

/* One server, or every one, into a sealed file of its own.  Nothing when it has
 * an error; d says which. */
static int
seal(const struct tree *t, const char *only, struct buf *out, struct diag *d)
{
	struct sealer *sealer = sealer_new();
	struct at whole = {.file = 0};
	struct buf bytes;
	size_t i;
	int r = sealer == NULL ? -ENOMEM : 0;

	buf_init(&bytes, SEALED_LEN_MAX);

	for (i = 0; i < t->server_n && r == 0; i++) {
		if (only != NULL && strcmp(only, t->server[i].name.text) != 0)
			continue;
		r = lower(t, &t->server[i], sealer, d);
		/* every error of every server is told */
		if (r == -EINVAL && d->error_n > 0)
			r = 0;
	}
	if (r == 0 && d->error_n > 0)
		r = -EINVAL;
	if (r == 0)
		r = sealer_finish(sealer, &bytes);
	if (r == 0)
		r = expectations(t, only, &bytes, d);
	if (r == 0)
		r = buf_put(out, bytes.data, bytes.len);
	if (r == -EBADMSG) {
		diag_error(
		    d, whole, "the sealed file would not load: %s", sealer_why(sealer));
		r = -EINVAL;
	}
	buf_free(&bytes);
	sealer_free(sealer);
	return r;
}

static bool
has_server(const struct tree *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->server_n; i++)
		if (strcmp(t->server[i].name.text, name) == 0)
			return true;
	return false;
}

/* What everything needs: a tree with at least one server, and the one that was
 * asked for. */
static int
read_servers(const struct policy_source *source, size_t n, const char *only,
    struct diag *d, struct tree *ret)
{
	struct at whole = {.file = 0};
	struct tree t;
	int r;

	r = read_tree(source, n, d, &t);
	if (r != 0)
		return r;
	if (t.server_n == 0)
		diag_error(d, whole, "there is no server here");
	else if (only != NULL && !has_server(&t, only))
		no_server(&t, only, d);
	if (d->error_n > 0) {
		tree_free(&t);
		return -EINVAL;
	}
	*ret = t;
	return 0;
}

int
policy_compile(const struct policy_source *source, size_t source_n, const char *only,
    struct buf *out, FILE *diag)
{
	struct diag d = {
	    .sorted = true, .out = diag, .source = source, .source_n = source_n};
	struct tree t;
	int r;

	r = read_servers(source, source_n, only, &d, &t);
	if (r == 0) {
		r = memo_begin(&t);
		if (r == 0)
			r = seal(&t, only, out, &d);
		memo_free(t.memo);
		tree_free(&t);
	}
	diag_end(&d);
	return r;
}

/* Each server into its own bytes of all. */
static int
seal_each(const struct tree *t, struct buf *all, struct diag *d)
{
	size_t i;
	int r;

	for (i = 0; i < t->server_n; i++) {
		buf_init(&all[i], SEALED_LEN_MAX);
		r = seal(t, t->server[i].name.text, &all[i], d);
		if (r != 0 && r != -EINVAL)
			return r;
	}
	return d->error_n > 0 ? -EINVAL : 0;
}

int
compile_each(
    const struct policy_source *source, size_t n, compile_fn *fn, void *arg, FILE *diag)
{
	struct diag d = {.sorted = true, .out = diag, .source = source, .source_n = n};
	struct buf *all = NULL;
	struct tree t = {.server_n = 0};
	size_t i;
	int r;

	r = read_servers(source, n, NULL, &d, &t);
	if (r == 0) {
		all = calloc(t.server_n, sizeof(*all));
		r = all == NULL ? -ENOMEM : memo_begin(&t);
		if (r == 0)
			r = seal_each(&t, all, &d);
		memo_free(t.memo);
	}
	diag_end(&d);
	for (i = 0; all != NULL && i < t.server_n; i++) {
		if (r == 0)
			r = fn(t.server[i].name.text, &all[i], arg);
		buf_free(&all[i]);
	}
	free(all);
	tree_free(&t);
	return r;
}
