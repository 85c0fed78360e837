/*
 * Text in, sealed bytes out: the order of the steps.  With one error nothing
 * is produced.
 */
#include "policy/tree.h"

#include <errno.h>
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

int
policy_check(const struct policy_source *source, size_t source_n, FILE *out)
{
	struct diag d = {
	    .sorted = true, .out = out, .source = source, .source_n = source_n};
	struct tree t;
	int r;

	r = read_tree(source, source_n, &d, &t);
	if (r == 0)
		tree_free(&t);
	diag_end(&d);
	return r;
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

static int
lower_all(const struct tree *t, const char *only, struct sealer *sealer, struct diag *d)
{
	bool found = only == NULL;
	size_t i;
	int r;

	for (i = 0; i < t->server_n; i++) {
		if (only != NULL && strcmp(only, t->server[i].name.text) != 0)
			continue;
		found = true;
		r = tree_lower(t, &t->server[i], sealer, d);
		if (r != 0 && r != -EINVAL)
			return r;
		if (r != 0 && d->error_n == 0)
			return r;
	}
	if (!found)
		no_server(t, only, d);
	return d->error_n > 0 ? -EINVAL : 0;
}

int
policy_compile(const struct policy_source *source, size_t source_n, const char *only,
    struct buf *out, FILE *diag)
{
	struct diag d = {
	    .sorted = true, .out = diag, .source = source, .source_n = source_n};
	struct sealer *sealer = NULL;
	struct tree t = {0};
	int r;

	r = read_tree(source, source_n, &d, &t);
	if (r != 0)
		goto out;
	sealer = sealer_new();
	if (sealer == NULL) {
		r = -ENOMEM;
		goto out;
	}
	r = lower_all(&t, only, sealer, &d);
	if (r == 0)
		r = sealer_finish(sealer, out);
out:
	diag_end(&d);
	sealer_free(sealer);
	tree_free(&t);
	return r;
}
