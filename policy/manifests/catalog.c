/*
 * Merges the catalog of tokens from its texts, in this order: bundled, by URL, the
 * user's, the project's.
 */
#define DIAG_CODE "manifest"

#include "policy/lang/manifest.h"
#include "policy/manifests/catalog.h"
#include "policy/manifests/catalog_source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"
#include "policy/manifests/private.h"
#include "shim/host/embed.h"

#define TEXTS_MAX (3 + CATALOG_SOURCES_MAX)

struct catalog_own {
	struct tree tree;
	char *text[TEXTS_MAX];
	size_t fetched_n;
};

/* The contents of policy/manifests/catalog.kennel, and a NUL. */
EMBED(catalog_bundled, "policy/manifests/catalog.kennel");

/* ---- rows ----------------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct catalog_row *)a)->meta.path,
	    ((const struct catalog_row *)b)->meta.path);
}

static enum catalog_origin
origin_of(const struct catalog *c, struct at at)
{
	if (at.file == 0)
		return CATALOG_BUNDLED;
	if (at.file <= c->own->fetched_n)
		return CATALOG_FETCHED;
	return at.file == c->own->fetched_n + 1 ? CATALOG_PERSONAL : CATALOG_PROJECT;
}

static void
row_fill(const struct catalog *c, struct catalog_row *row, const struct manifest *from)
{
	enum manifest_kind kind;
	size_t i;

	*row = (struct catalog_row){
	    .meta.path = from->path.text, .origin = origin_of(c, from->at)};
	meta_fill(&row->meta, from);
	for (i = 0; i < from->field_n; i++) {
		kind = manifest_field(&from->field[i].name);
		if (kind == MANIFEST_LIVENESS)
			row->liveness = from->field[i].word[0].text;
		if (kind == MANIFEST_STEPS) {
			row->step = from->field[i].word;
			row->step_n = from->field[i].word_n;
		}
	}
}

/* The row with this name added before, or the place after the last. */
static struct catalog_row *
row_place(const struct catalog *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->n && strcmp(c->row[i].meta.path, name) != 0; i++)
		;
	return &c->row[i];
}

/* `catalog` was read before (catalog_source.c). */
static void
declare_check(const struct catalog *c, const struct declare *s, struct diag *d)
{
	if (s->kw != KW_CATALOG)
		diag_error(d, s->at, "`%s` is only allowed in a project's manifest",
		    keyword_name(s->kw));
	else if (origin_of(c, s->at) == CATALOG_FETCHED)
		diag_error(d, s->at,
		    "`catalog` is only allowed in " CATALOG_FILE
		    ": a catalog by URL names no other");
}

static int
rows_make(const struct tree *t, struct diag *d, struct catalog *c)
{
	struct catalog_row *row;
	size_t i;

	manifest_check_foreign(t, d);
	for (i = 0; i < t->declare_n; i++)
		declare_check(c, &t->declare[i], d);
	for (i = 0; i < t->manifest_n; i++)
		if (t->manifest[i].kw != KW_TOKEN)
			diag_error(d, t->manifest[i].at,
			    "`%s` is only allowed in a manifest",
			    keyword_name(t->manifest[i].kw));
	if (t->manifest_n > META_N_MAX)
		diag_error(d, (struct at){.file = 0}, "more than %u tokens", META_N_MAX);
	if (d->error_n > 0)
		return -EINVAL;
	c->row = calloc(t->manifest_n + 1, sizeof(*c->row));
	if (c->row == NULL)
		return -ENOMEM;
	/* in the order of the texts: a later row replaces an earlier one */
	for (i = 0; i < t->manifest_n; i++) {
		row = row_place(c, t->manifest[i].path.text);
		c->n += row == &c->row[c->n];
		row_fill(c, row, &t->manifest[i]);
	}
	qsort(c->row, c->n, sizeof(*c->row), by_name);
	return 0;
}

/* ---- texts ---------------------------------------------------------------- */

int
catalog_merge(const struct catalog_texts *texts, FILE *out, struct catalog *ret)
{
	const struct meta_text bundled = {
	    "(bundled)", catalog_bundled, strlen(catalog_bundled)};
	const struct meta_text *given[TEXTS_MAX] = {&bundled};
	struct policy_source source[TEXTS_MAX];
	size_t n = 1;
	struct diag d = {.sorted = true, .hide_all = true};
	struct catalog c = {.n = 0};
	int r = -ENOMEM;

	for (size_t i = 0; i < texts->fetched_n && i < CATALOG_SOURCES_MAX; i++)
		given[n++] = &texts->fetched[i];
	given[n++] = texts->personal;
	given[n++] = texts->project;
	c.own = calloc(1, sizeof(*c.own));
	if (c.own == NULL ||
	    meta_texts_keep(given, n, CATALOG_FILE, c.own->text, source) < 0)
		goto out;
	c.own->fetched_n = n - 3;
	d.out = out;
	d.source = source;
	d.source_n = n;
	r = tree_parse(source, n, &d, &c.own->tree);
	if (r == 0) {
		manifest_check(&c.own->tree, &d);
		r = rows_make(&c.own->tree, &d, &c);
	}
	diag_end(&d);
out:
	if (r == 0)
		*ret = c;
	else
		catalog_free(&c);
	return r;
}

void
catalog_free(struct catalog *c)
{
	size_t i;

	if (c->own != NULL) {
		if (c->own->tree.arena != NULL)
			tree_free(&c->own->tree);
		for (i = 0; i < TEXTS_MAX; i++)
			free(c->own->text[i]);
	}
	free(c->own);
	free(c->row);
	memset(c, 0, sizeof(*c));
}

/* ---- lookups ------------------------------------------------------------- */

const struct catalog_row *
catalog_find(const struct catalog *c, const char *name)
{
	const struct catalog_row *row = row_place(c, name);

	return row < c->row + c->n ? row : NULL;
}

const struct catalog_row *
catalog_of_pattern(const struct catalog *c, const char *pattern)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (c->row[i].meta.pattern != NULL &&
		    strcmp(c->row[i].meta.pattern, pattern) == 0)
			return &c->row[i];
	return NULL;
}

static const char *
catalog_origin_name(enum catalog_origin o)
{
	static const char *const names[] = {"bundled", "fetched", "personal", "project"};

	return names[o];
}

/* ---- output -------------------------------------------------------------- */

static void
json_words(struct out *o, const char *key, const struct word *w, size_t n)
{
	size_t i;

	out_list(o, key);
	for (i = 0; i < n; i++)
		out_bytes(o, NULL, w[i].text, w[i].len);
	out_end(o);
}

static void
json_one(const struct catalog_row *t, struct out *o)
{
	out_object(o, NULL);
	out_text(o, "name", t->meta.path);
	out_text_or_null(o, "description", t->meta.description);
	out_text_or_null(o, "retrieval_url", t->meta.retrieval_url);
	json_words(o, "steps", t->step, t->step_n);
	out_text_or_null(o, "pattern_id", t->meta.pattern);
	json_words(o, "scopes", t->meta.scope, t->meta.scope_n);
	json_words(o, "hosts", t->meta.host, t->meta.host_n);
	out_text_or_null(o, "liveness", t->liveness);
	out_text(o, "rotation_method", meta_rotation_name(t->meta.rotation));
	meta_json_rotate_every(&t->meta, o);
	out_text(o, "origin", catalog_origin_name(t->origin));
	out_end(o);
}

void
token_json(const struct catalog_row *t, FILE *f)
{
	struct out o;

	out_init(&o, f);
	json_one(t, &o);
}

void
catalog_json(const struct catalog *c, FILE *f)
{
	struct out o;
	size_t i;

	out_init(&o, f);
	out_list(&o, NULL);
	for (i = 0; i < c->n; i++)
		json_one(&c->row[i], &o);
	out_end(&o);
}

void
catalog_show(const struct catalog *c, FILE *f)
{
	const struct catalog_row *t;
	size_t i;

	for (i = 0; i < c->n; i++) {
		t = &c->row[i];
		(void)fprintf(
		    f, "%-24s %-8s  ", t->meta.path, catalog_origin_name(t->origin));
		if (t->meta.description != NULL)
			out_plain(f, t->meta.description, strlen(t->meta.description));
		(void)fputc('\n', f);
	}
}

static void
show_words(FILE *f, const char *what, const struct word *w, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		meta_row(f, i == 0 ? what : "", w[i].text);
}

void
token_show(const struct catalog_row *t, FILE *f)
{
	(void)fprintf(f, "%s (%s)\n", t->meta.path, catalog_origin_name(t->origin));
	meta_row(f, "description", t->meta.description);
	meta_row(f, "retrieval-url", t->meta.retrieval_url);
	show_words(f, "steps", t->step, t->step_n);
	meta_row(f, "pattern", t->meta.pattern);
	show_words(f, "scopes", t->meta.scope, t->meta.scope_n);
	show_words(f, "hosts", t->meta.host, t->meta.host_n);
	meta_row(f, "liveness", t->liveness);
	meta_row(f, "rotation", meta_rotation_name(t->meta.rotation));
	if (t->meta.rotate_every > 0)
		(void)fprintf(
		    f, "  %-14s %u days\n", "rotate-every", t->meta.rotate_every);
}
