/*
 * Text in, sealed bytes out: the sequence of steps.  If there is any error,
 * nothing is produced.
 */
#define DIAG_CODE "seal"

#include "policy/check/expect.h"
#include "policy/check/trusted.h"
#include "policy/compile/compile.h"
#include "policy/compile/lower.h"
#include "policy/lang/expand.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/help/near_word.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Parses and checks: 0 with *ret filled; -EINVAL with nothing to free; -ENOMEM. A broken
 * `never` is reported and leaves a tree: seal() fails after it has looked for other errors.
 */
static int
read_tree(const struct policy_source *source, size_t n, struct diag *d, struct tree *ret)
{
	struct tree t;
	int r;

	r = tree_parse(source, n, d, &t);
	if (r != 0)
		return r;
	if (tree_fs_cache(&t) == NULL) {
		tree_free(&t);
		return -ENOMEM;
	}
	if (!tree_check(&t, d)) {
		tree_free(&t);
		return -EINVAL;
	}
	*ret = t;
	return 0;
}

/* The requested server does not exist: suggests one. */
static void
no_server(const struct tree *t, const char *only, struct diag *d)
{
	const char *list[64], *near;
	char shown[DIAG_TEXT_CAP];
	struct at whole = {.file = 0};
	size_t i;

	for (i = 0; i < t->server_n && i < ARRAY_LEN(list); i++)
		list[i] = t->server[i].name.text;
	near = near_word(only, list, i);
	diag_text(shown, only, strlen(only));
	if (near != NULL)
		diag_error(d, whole, "no server `%s`: did you mean `%s`?", shown, near);
	else
		diag_error(d, whole, "no server `%s`", shown);
}

const char *
policy_near_server(const struct policy *p, const char *name)
{
	const char *list[64];
	size_t n = 0;

	for (; n < p->row_n[SEALED_SERVERS] && n < ARRAY_LEN(list); n++)
		list[n] = policy_str(p, p->server[n].name);
	return near_word(name, list, n);
}

/*
 * Uses a temporary arena, so that the memory for lowering one server is free
 * again for the next.
 */
static int
lower(const struct tree *t, const struct server *server, struct sealer *sealer,
    struct diag *d, struct lacks *ret_lacks)
{
	struct tree own = *t;
	int r;

	own.arena = arena_new();
	if (own.arena == NULL)
		return -ENOMEM;
	r = tree_lower(&own, server, sealer, d, ret_lacks);
	arena_free(own.arena);
	return r;
}

/* How many `expect` lines the text has for these servers. */
static size_t
expected_of(const struct tree *t, const char *only)
{
	size_t n = 0, i;

	for (i = 0; i < t->expect_n; i++)
		if (only == NULL || strcmp(t->expect[i].name.text, only) == 0)
			n += t->expect[i].row_n;
	return n;
}

/* Runs the `expect` lines of the text on the sealed bytes. */
static int
expectations(
    const struct tree *t, const struct lacks *lacks, const struct buf *b, struct diag *d)
{
	struct policy p;
	char why[128];
	int r;

	r = policy_load_bytes(b->data, b->len, &p, why, sizeof(why));
	if (r != 0)
		return r;
	r = expect_run(t, &p, lacks, d);
	policy_unload(&p);
	return r;
}

/* No failure is without a text: a caller shows only what is reported. */
static int
report_failure(struct diag *d, const struct sealer *sealer, int r)
{
	struct at whole = {.file = 0};

	if (r == 0 || r == -ENOMEM || (r == -EINVAL && diag_failures(d) > 0))
		return r;
	if (r == -EBADMSG)
		diag_error(d, whole, "unable to load the sealed file again: %s",
		    sealer_why(sealer));
	else if (r == -EMSGSIZE || r == -E2BIG)
		diag_error(d, whole,
		    "unable to write the sealed file: it would have more than %u bytes",
		    SEALED_LEN_MAX);
	else
		diag_error(d, whole, "unable to compile: %s",
		    r == -EINVAL ? "a text is too long for a sealed file, or has a NUL"
				 : strerror(-r));
	return -EINVAL;
}

/* Every server that is requested; reports every error of each. */
static int
lower_all(const struct tree *t, const char *only, struct sealer *sealer, struct diag *d,
    struct lacks *lacks)
{
	size_t i, n = 0;
	int r = 0;

	for (i = 0; i < t->server_n && r == 0; i++) {
		if (only != NULL && strcmp(only, t->server[i].name.text) != 0)
			continue;
		r = lower(t, &t->server[i], sealer, d, &lacks[n]);
		if (r == 0)
			n++; /* as the servers of the sealed file */
		else if (r == -EINVAL && diag_failures(d) > 0)
			r = 0;
	}
	return r;
}

/*
 * Compiles one server, or all, into one sealed file.  Produces nothing after an
 * error, and nothing where this machine lacks something; d contains it, and the number of
 * `expect` lines that were not run.
 */
static int
seal(const struct tree *t, const char *only, struct buf *out, struct diag *d)
{
	struct sealer *sealer = sealer_new();
	struct lacks *lacks = calloc(t->server_n + 1, sizeof(*lacks));
	size_t errors = d->error_n /* of `never` */, expected = expected_of(t, only);
	const struct buf *sources;
	struct buf bytes;
	int r = sealer == NULL || lacks == NULL ? -ENOMEM : 0;

	buf_init(&bytes, SEALED_LEN_MAX);
	if (r == 0)
		r = lower_all(t, only, sealer, d, lacks);
	if (r == 0 && d->error_n > errors)
		r = -EINVAL;
	if (r == 0)
		r = sealer_finish(sealer, &bytes);
	if (r != 0)
		d->unchecked_n += expected;
	else if (expected > 0)
		r = expectations(t, lacks, &bytes, d);
	if (r == 0 && d->error_n > 0)
		r = -EINVAL;
	if (r == 0 && d->host_n == 0)
		r = buf_put(out, bytes.data, bytes.len);
	sources = sealer == NULL ? NULL : sealer_sources(sealer);
	if (r == 0 && d->host_n == 0 && sources->len > 0)
		r = buf_put(out, sources->data, sources->len);
	if (sealer != NULL)
		r = report_failure(d, sealer, r);
	buf_free(&bytes);
	free(lacks);
	sealer_free(sealer);
	return r;
}

/* ---- check ----------------------------------------------------------------- */

static bool
is_empty(const struct tree *t)
{
	return t->server_n + t->block_n + t->let_n + t->include_n + t->never_n +
		   t->expect_n + t->manifest_n + t->declare_n ==
	       0;
}

static int
check(const struct policy_source *source, size_t source_n, struct buf *out,
    struct diag *d, struct policy_counts *ret)
{
	struct at whole = {.file = 0};
	struct tree t;
	int r;

	d->elsewhere = true;
	r = read_tree(source, source_n, d, &t);
	d->unread = r != 0;
	if (r == 0) {
		ret->servers = t.server_n;
		if (t.server_n > 0 && (r = trusted_collect(&t)) == 0)
			r = seal(&t, NULL, out, d);
		else if (r == 0 && is_empty(&t))
			diag_warning(
			    d, whole, "no server found: add `server NAME { ... }`");
		if (r == 0 && d->error_n > 0)
			r = -EINVAL;
		tree_free(&t);
	}
	diag_end(d);
	ret->errors = d->error_n;
	ret->warnings = d->warning_n;
	ret->unchecked = d->unchecked_n;
	ret->unread = d->unread;
	return r;
}

int
policy_check(const struct policy_source *source, size_t source_n, struct buf *out,
    FILE *diag, struct policy_counts *ret)
{
	struct diag d = {
	    .sorted = true, .out = diag, .source = source, .source_n = source_n};

	return check(source, source_n, out, &d, ret);
}

int
policy_check_json(const struct policy_source *source, size_t source_n, FILE *out,
    struct policy_counts *ret)
{
	struct diag d = {.sorted = true,
	    .json = true,
	    .out = out,
	    .source = source,
	    .source_n = source_n};
	struct buf bytes;
	int r;

	buf_init(&bytes, SEALED_LEN_MAX);
	r = check(source, source_n, &bytes, &d, ret);
	buf_free(&bytes);
	return r;
}

/* ---- compile --------------------------------------------------------------- */

static bool
has_server(const struct tree *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->server_n; i++)
		if (strcmp(t->server[i].name.text, name) == 0)
			return true;
	return false;
}

static bool
in_name(char c)
{
	return name_byte((unsigned char)c) || c == '-';
}

/* Is the name a word of this text? */
static bool
has_word(const struct policy_source *s, const char *name)
{
	const char *end = s->text + s->len, *at = s->text, *next;
	size_t n = strlen(name);

	while ((at = memmem(at, (size_t)(end - at), name, n)) != NULL) {
		next = at + n;
		if ((at == s->text || !in_name(at[-1])) &&
		    (next == end || !in_name(*next)))
			return true;
		at++;
	}
	return false;
}

/* Parses without output; *ret is to be freed if the result is 0. */
static int
parse_quietly(const struct policy_source *source, struct tree *ret, size_t *ret_errors)
{
	char *said = NULL;
	size_t len = 0;
	struct diag d = {.out = open_memstream(&said, &len),
	    .source = source,
	    .source_n = 1,
	    .quiet = true};
	int r = d.out == NULL ? -ENOMEM : tree_parse(source, 1, &d, ret);

	if (d.out != NULL)
		(void)fclose(d.out); /* its text is not used */
	free(said);
	*ret_errors = d.error_n;
	return r;
}

int
policy_defines(
    const struct policy_source *source, const char *name, enum policy_defines *ret)
{
	size_t errors = 0;
	struct tree t;
	int r = parse_quietly(source, &t, &errors);

	if (r < 0)
		return r;
	*ret = has_server(&t, name) ? DEFINES_YES : DEFINES_NO;
	for (size_t i = 0; errors > 0 && i < t.source_n; i++)
		if (has_word(&t.source[i], name))
			*ret = DEFINES_MAYBE;
	tree_free(&t);
	return 0;
}

static const char *
about_of(const struct server *s)
{
	for (size_t i = 0; i < s->stmt_n; i++)
		if (s->stmt[i].kw == KW_ABOUT && s->stmt[i].word_n > 0 &&
		    s->stmt[i].word[0].text != NULL)
			return s->stmt[i].word[0].text;
	return "";
}

/* Its line in the file that was given, also if an included file defines it. */
static uint32_t
line_of(const struct tree *t, struct at at)
{
	for (size_t i = t->include_n; at.file != 0 && i > 0; i--)
		if (t->include[i - 1].file == at.file) {
			at = t->include[i - 1].at;
			i = t->include_n + 1;
		}
	return at.line;
}

int
policy_names(const struct policy_source *source, policy_name_fn *fn, void *arg)
{
	size_t errors = 0;
	struct tree t;
	int r = parse_quietly(source, &t, &errors);

	if (r < 0)
		return r;
	for (size_t i = 0; i < t.server_n; i++)
		fn(arg, &(struct policy_name){.name = t.server[i].name.text,
			    .about = about_of(&t.server[i]),
			    .path = source->path,
			    .line = line_of(&t, t.server[i].at)});
	tree_free(&t);
	return 0;
}

/*
 * Common steps: a tree with at least one server, and the requested server
 * exists.
 */
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
		diag_error(d, whole, "no server found: add `server NAME { ... }`");
	else if (only != NULL && !has_server(&t, only))
		no_server(&t, only, d);
	else {
		*ret = t;
		return 0;
	}
	tree_free(&t);
	return -EINVAL;
}

/* known: from the caller, or NULL. */
static int
compile(const struct policy_source *source, size_t source_n, const char *only,
    struct buf *out, FILE *diag, struct trusted *known, unsigned int group)
{
	struct diag d = {
	    .sorted = true, .out = diag, .source = source, .source_n = source_n};
	struct tree t;
	int r;

	r = read_servers(source, source_n, only, &d, &t);
	if (r == 0) {
		t.known = known;
		t.known_group = group;
		r = trusted_collect(&t);
		if (r == 0)
			r = seal(&t, only, out, &d);
		tree_free(&t);
	}
	diag_end(&d);
	return r;
}

int
policy_compile(const struct policy_source *source, size_t source_n, const char *only,
    struct buf *out, FILE *diag)
{
	return compile(source, source_n, only, out, diag, NULL, 0);
}

int
policy_compile_known(const struct policy_source *source, size_t source_n, struct buf *out,
    FILE *diag, struct trusted *known, unsigned int group)
{
	return compile(source, source_n, NULL, out, diag, known, group);
}

int
policy_need(const struct policy_source *source, struct policy_need *ret)
{
	struct buf bytes;
	char *said = NULL;
	size_t len = 0;
	FILE *diag = open_memstream(&said, &len);
	struct diag d = {.out = diag, .source = source, .source_n = 1};
	struct tree t;
	int r = diag == NULL ? -ENOMEM : read_servers(source, 1, NULL, &d, &t);

	ret->path[0] = '\0';
	buf_init(&bytes, SEALED_LEN_MAX);
	if (r == 0) {
		t.need = ret;
		r = seal(&t, NULL, &bytes, &d);
		tree_free(&t);
	}
	diag_end(&d);
	buf_free(&bytes);
	if (diag != NULL)
		(void)fclose(diag); /* its text is not used */
	free(said);
	return r == -EINVAL && ret->path[0] != '\0' ? 1 : r;
}

/* Compiles each server into its own buffer in all. */
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
		r = all == NULL ? -ENOMEM : seal_each(&t, all, &d);
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
