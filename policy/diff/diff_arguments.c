/*
 * Arguments that distinguish the conditions of two policies.  For each place in
 * the arguments that a condition reads: one value of each class that the
 * comparisons can distinguish.  Then every combination of these that one JSON
 * value can have.
 */
#include "policy/diff/diff.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"

#define NODES_MAX 128

/* A place in the arguments: args, args.a, args.a[0] ... */
struct node {
	const char *key; /* NULL: index */
	uint32_t index;
	int parent, child, next; /* -1: none */
	struct points strings, folders, globs, numbers;
	struct points cwds;  /* where relative paths are looked up */
	struct points value; /* candidate values as JSON, without members or elements */
	bool null, truth;    /* compared with null; with true or false */
};

struct tree_of {
	struct node node[NODES_MAX];
	int n;
};

/* ---- places in the arguments --------------------------------------------- */

static int
node_under(
    struct tree_of *t, int parent, const struct policy *p, const struct sealed_step *s)
{
	const char *key = s->is_index ? NULL : policy_str(p, s->key);
	struct node *n;
	int i;

	for (i = t->node[parent].child; i >= 0; i = t->node[i].next)
		if ((key == NULL) == (t->node[i].key == NULL) &&
		    (key == NULL ? t->node[i].index == s->index
				 : strcmp(t->node[i].key, key) == 0))
			return i;
	if (t->n == NODES_MAX)
		return -1;
	n = &t->node[t->n];
	memset(n, 0, sizeof(*n));
	n->key = key;
	n->index = s->index;
	n->parent = parent;
	n->child = -1;
	n->next = t->node[parent].child;
	t->node[parent].child = t->n;
	return t->n++;
}

static void
add_value(struct node *n, const struct policy *p, const struct sealed_cond *c,
    const struct sealed_value *v)
{
	const char *text = policy_str(p, v->text);
	struct points *to = NULL;

	n->null = n->null || v->type == VALUE_NULL;
	n->truth = n->truth || v->type == VALUE_TRUE || v->type == VALUE_FALSE;
	if (v->type == VALUE_NUMBER)
		to = &n->numbers;
	else if (v->type == VALUE_STRING)
		to = c->op == COND_MATCHES ? &n->globs
		     : c->op == COND_UNDER ? &n->folders
					   : &n->strings;
	if (to != NULL)
		points_add(to, text, v->text.len);
}

static int
add_cond(struct tree_of *t, const struct policy *p, const struct sealed_cond *c)
{
	const struct sealed_value *v;
	int at = 0;
	uint32_t i;

	if (c->op >= COND_AND)
		return 0;
	for (i = 0; i < c->steps.n; i++) {
		at = node_under(t, at, p, &p->step[c->steps.first + i]);
		if (at < 0)
			return -E2BIG;
	}
	for (i = 0; i < c->values.n; i++)
		add_value(&t->node[at], p, c, &p->value[c->values.first + i]);
	if (c->op == COND_UNDER && c->values.n > 1) {
		v = &p->value[c->values.first + 1];
		points_add(&t->node[at].cwds, policy_str(p, v->text), v->text.len);
	}
	return 0;
}

/* ---- candidate values ---------------------------------------------------- */

static void
add_json(struct points *to, const char *text, size_t len)
{
	char *out = NULL;
	size_t n;
	FILE *f = open_memstream(&out, &n);

	if (f == NULL) {
		to->failed = true;
		return;
	}
	out_string(f, text, len);
	if (fclose(f) == 0)
		points_add(to, out, n);
	else
		to->failed = true;
	free(out);
}

static int
take_text(void *arg, const struct sets_cell *cell)
{
	struct node *n = arg;

	add_json(&n->value, cell->text[0], cell->text_len[0]);
	return n->value.failed ? -ENOMEM : 0;
}

static int
add_set(struct sets *s, const char *text, size_t len, enum sets_kind kind)
{
	struct sets_word w = {text, len, kind};
	uint32_t at;

	return sets_add(s, &w, 1, &at);
}

/* A directory matches itself and all normal paths below it. */
static int
add_folders(struct sets *s, const struct node *n)
{
	static const char *const odd[] = {
	    "*//*", "*/./*", "*/../*", "*/.", "*/..", "*/", "/*"};
	char below[4200];
	size_t i;
	int r = 0;

	for (i = 0; n->folders.n > 0 && r == 0 && i < ARRAY_LEN(odd); i++)
		r = add_set(s, odd[i], strlen(odd[i]), SETS_GLOB);
	for (i = 0; i < n->folders.n && r == 0; i++) {
		r = add_set(s, n->folders.v[i], strlen(n->folders.v[i]), SETS_LITERAL);
		if (r == 0 && strchr(n->folders.v[i], '*') != NULL)
			r = -E2BIG; /* a star in a directory name is not a pattern */
		(void)snprintf(below, sizeof(below), "%s/*", /* "/" needs no more */
		    strcmp(n->folders.v[i], "/") == 0 ? "" : n->folders.v[i]);
		if (r == 0)
			r = add_set(s, below, strlen(below), SETS_GLOB);
	}
	return r;
}

/* Relative paths: one of any name, and those that lead from a cwd into a directory. */
static int
add_relatives(struct sets *s, const struct node *n)
{
	char below[4200];
	size_t i, k, len;
	int r = n->cwds.n == 0 ? 0 : add_set(s, "x", 1, SETS_LITERAL);

	for (i = 0; i < n->cwds.n; i++) {
		len = strcmp(n->cwds.v[i], "/") == 0 ? 0 : strlen(n->cwds.v[i]);
		for (k = 0; k < n->folders.n && r == 0; k++) {
			const char *folder = n->folders.v[k];

			if (strncmp(folder, n->cwds.v[i], len) != 0 ||
			    folder[len] != '/' || folder[len + 1] == 0)
				continue;
			folder += len + 1;
			r = add_set(s, folder, strlen(folder), SETS_LITERAL);
			(void)snprintf(below, sizeof(below), "%s/*", folder);
			if (r == 0)
				r = add_set(s, below, strlen(below), SETS_GLOB);
		}
	}
	return r;
}

static int
node_texts(struct node *n)
{
	struct sets *s = sets_new(SETS_TEXT);
	int r = s == NULL ? -ENOMEM : 0;
	size_t i;

	for (i = 0; i < n->strings.n && r == 0; i++)
		r = add_set(s, n->strings.v[i], strlen(n->strings.v[i]), SETS_LITERAL);
	for (i = 0; i < n->globs.n && r == 0; i++)
		r = add_set(s, n->globs.v[i], strlen(n->globs.v[i]), SETS_GLOB);
	if (r == 0)
		r = add_folders(s, n);
	if (r == 0)
		r = add_relatives(s, n);
	if (r == 0)
		r = sets_cells(s, take_text, n);
	sets_free(s);
	return r;
}

/* One value represents all types that no comparison here names. */
static int
node_values(struct node *n)
{
	struct points numbers = {.n = 0};
	size_t i;
	int r = 0;

	if (n->null)
		points_add(&n->value, "null", 4);
	if (n->truth) {
		points_add(&n->value, "true", 4);
		points_add(&n->value, "false", 5);
	}
	if (n->numbers.n > 0)
		r = numbers_cells(&n->numbers, &numbers);
	for (i = 0; i < numbers.n; i++)
		points_add(&n->value, numbers.v[i], strlen(numbers.v[i]));
	points_free(&numbers);
	if (r == 0 && n->strings.n + n->globs.n + n->folders.n > 0)
		r = node_texts(n);
	if (r == 0 && n->child < 0)
		points_add(&n->value, "[]", 2);
	return r != 0 ? r : n->value.failed ? -ENOMEM : 0;
}

/* ---- combinations -------------------------------------------------------- */

/* Adds one member to each object; "" means that the member is absent. */
static int
join(const struct points *left, const struct node *n, const struct points *right,
    struct points *ret)
{
	size_t i, k, len;
	char *out;
	FILE *f;

	if ((left->n + 1) * (right->n + 1) > DIFF_VALUES_MAX)
		return -E2BIG;
	for (i = 0; i < left->n; i++)
		for (k = 0; k <= right->n; k++) {
			out = NULL;
			f = open_memstream(&out, &len);
			if (f == NULL)
				return -ENOMEM;
			(void)fputs(left->v[i], f);
			if (k > 0) {
				(void)fputs(left->v[i][0] != 0 ? "," : "", f);
				out_string(f, n->key, strlen(n->key));
				(void)fprintf(f, ":%s", right->v[k - 1]);
			}
			if (fclose(f) != 0)
				ret->failed = true;
			points_push(ret, out, len);
			free(out);
		}
	return ret->failed ? -ENOMEM : 0;
}

static int node_documents(struct tree_of *t, int at, struct points *ret);

static void
wrap(struct points *to, const char *open, const struct points *inner, const char *close)
{
	char *text;
	size_t i, len;

	for (i = 0; i < inner->n; i++) {
		len = strlen(inner->v[i]) + strlen(open) + strlen(close);
		text = malloc(len + 1);
		if (text == NULL) {
			to->failed = true;
			return;
		}
		(void)snprintf(text, len + 1, "%s%s%s", open, inner->v[i], close);
		points_push(to, text, len);
		free(text);
	}
}

/* Objects with every combination of the named members. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): as deep as steps are */
node_objects(struct tree_of *t, int at, struct points *ret)
{
	struct points all = {.n = 0}, more, one;
	int i, r = 0;

	points_add(&all, "", 0);
	for (i = t->node[at].child; i >= 0 && r == 0; i = t->node[i].next) {
		if (t->node[i].key == NULL)
			continue;
		memset(&more, 0, sizeof(more));
		memset(&one, 0, sizeof(one));
		r = node_documents(t, i, &one);
		if (r == 0)
			r = join(&all, &t->node[i], &one, &more);
		points_free(&one);
		points_free(&all);
		all = more;
	}
	if (r == 0)
		wrap(ret, "{", &all, "}");
	points_free(&all);
	return r;
}

/* The child of a node for this index; -1: no condition reads it. */
static int
node_index(const struct tree_of *t, int at, uint32_t index)
{
	int i;

	for (i = t->node[at].child; i >= 0; i = t->node[i].next)
		if (t->node[i].key == NULL && t->node[i].index == index)
			return i;
	return -1;
}

static int
array_more(struct points *all, const struct points *one)
{
	struct points more = {.n = 0};
	size_t i;

	if ((all->n + 1) * (one->n + 1) > DIFF_VALUES_MAX)
		return -E2BIG;
	for (i = 0; i < all->n; i++) {
		size_t k, len;
		char *text;

		for (k = 0; k < one->n; k++) {
			len = strlen(all->v[i]) + strlen(one->v[k]) + 1;
			text = malloc(len + 1);
			if (text == NULL)
				return -ENOMEM;
			len = (size_t)snprintf(text, len + 1, "%s%s%s", all->v[i],
			    all->v[i][0] != 0 ? "," : "", one->v[k]);
			points_push(&more, text, len);
			free(text);
		}
	}
	points_free(all);
	*all = more;
	return more.failed ? -ENOMEM : 0;
}

/* Lists of every length up to the last index that a condition reads. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): as deep as steps are */
node_arrays(struct tree_of *t, int at, struct points *ret)
{
	struct points all = {.n = 0}, one;
	uint32_t last = 0, k;
	bool any = false;
	int i, r = 0;

	for (i = t->node[at].child; i >= 0; i = t->node[i].next)
		if (t->node[i].key == NULL) {
			any = true;
			last = t->node[i].index > last ? t->node[i].index : last;
		}
	if (!any)
		return 0;
	if (last > 64)
		return -E2BIG;
	points_add(&all, "", 0);
	wrap(ret, "[", &all, "]");
	for (k = 0; k <= last && r == 0; k++) {
		memset(&one, 0, sizeof(one));
		i = node_index(t, at, k);
		if (i < 0)
			points_add(&one, "null", 4);
		else
			r = node_documents(t, i, &one);
		if (r == 0)
			r = array_more(&all, &one);
		points_free(&one);
		if (r == 0)
			wrap(ret, "[", &all, "]");
	}
	points_free(&all);
	return r;
}

/*
 * Every value for a place.  The recursion is as deep as the conditions' steps,
 * which the loader limits.
 */
static int
/* NOLINTNEXTLINE(misc-no-recursion): as deep as steps are */
node_documents(struct tree_of *t, int at, struct points *ret)
{
	struct node *n = &t->node[at];
	size_t i;
	int r = 0;

	if (at > 0 && n->value.n == 0)
		r = node_values(n);
	for (i = 0; i < n->value.n && r == 0; i++)
		points_push(ret, n->value.v[i], strlen(n->value.v[i]));
	if (r == 0)
		r = node_objects(t, at, ret);
	if (r == 0 && at > 0)
		r = node_arrays(t, at, ret);
	if (r == 0 && ret->n > DIFF_VALUES_MAX)
		r = -E2BIG;
	return r != 0 ? r : ret->failed ? -ENOMEM : 0;
}

int
diff_values(const struct conds_of *conds, size_t n, struct points *ret)
{
	struct tree_of *t = calloc(1, sizeof(*t));
	struct points made = {.n = 0};
	uint32_t k;
	size_t i;
	int r = t == NULL ? -ENOMEM : 0, j;

	if (t == NULL)
		return r;
	t->n = 1;
	t->node[0].child = t->node[0].next = t->node[0].parent = -1;
	for (i = 0; i < n && r == 0; i++)
		for (k = 0; k < conds[i].conds.n && r == 0; k++)
			r = add_cond(
			    t, conds[i].p, &conds[i].p->cond[conds[i].conds.first + k]);
	/* the arguments of a call are an object */
	if (r == 0)
		r = node_documents(t, 0, &made);
	for (j = 0; j < t->n; j++) {
		points_free(&t->node[j].strings);
		points_free(&t->node[j].folders);
		points_free(&t->node[j].globs);
		points_free(&t->node[j].numbers);
		points_free(&t->node[j].cwds);
		points_free(&t->node[j].value);
	}
	free(t);
	if (r != 0)
		points_free(&made);
	else
		*ret = made;
	return r;
}
