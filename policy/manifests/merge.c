/*
 * Merges manifests.  A secret that the project defines uses only the project's
 * fields.  One that it declares and that is in the index uses the index's row,
 * with the project's `override`. The approval of a use can only become
 * stricter: a project's authors cannot remove an approval that the user
 * requires.
 */
#define DIAG_CODE "manifest"

#include "policy/lang/manifest.h"
#include "policy/lang/scalar.h"
#include "policy/manifests/manifests.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/manifests/private.h"

enum { PROJECT, INDEX }; /* files, in this order */

struct metas_own {
	struct tree tree;
	char *text[2];
};

/* The merge in progress.  The tree's words outlive it. */
struct merge {
	struct tree *tree;
	struct diag *diag;
	struct metas *out;
	unsigned int how;
};

static const struct meta internal[] = {
    {.path = "__sources/cmd", .description = "the output of a program", .internal = true},
    {.path = "__sources/env", .description = "a variable", .internal = true},
    {.path = "__sources/file", .description = "a file", .internal = true},
    {.path = "__sources/plugin",
	.description = "the answer of a plugin",
	.internal = true},
    {.path = "__sources/vault", .description = "kennel's own vault", .internal = true},
    {.path = "__sys/supervisor/log-key",
	.description = "signs the audit log; held by the recorder",
	.internal = true},
    {.path = "__sys/supervisor/payload-key",
	.description =
	    "decrypts the payloads kept in the log; its public half encrypts them",
	.internal = true},
};
#define INTERNAL_N (ARRAY_LEN(internal))

/* ---- rows ----------------------------------------------------------------- */

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct meta *)a)->path, ((const struct meta *)b)->path);
}

static struct meta *
row_find(const struct metas *m, const char *path)
{
	struct meta key = {.path = path};

	/* bsearch must not be given NULL */
	return m->n == 0 ? NULL : bsearch(&key, m->meta, m->n, sizeof(key), by_path);
}

static const struct manifest *
statement_find(const struct tree *t, enum keyword kw, uint32_t file, const char *path)
{
	size_t i;

	for (i = 0; i < t->manifest_n; i++)
		if (t->manifest[i].kw == kw && t->manifest[i].at.file == file &&
		    strcmp(t->manifest[i].path.text, path) == 0)
			return &t->manifest[i];
	return NULL;
}

static unsigned int
word_index(const struct word *w, const char *const *list, unsigned int n)
{
	unsigned int i;

	for (i = 0; i + 1 < n && strcmp(list[i], w->text) != 0; i++)
		;
	return i; /* the check ensured that it is one of them */
}

/* Where each field is stored, and how. */
static const struct {
	enum { GO_NOWHERE, GO_TEXT, GO_DATE, GO_DAYS, GO_WORDS, GO_CHOICE } how;
	size_t to, to_n;
	const char *const *choice;
} goes[] = {
    [MANIFEST_APPROVE] = {GO_CHOICE, offsetof(struct meta, approve), 0, meta_approvals},
    [MANIFEST_DESCRIPTION] = {GO_TEXT, offsetof(struct meta, description)},
    [MANIFEST_EXPIRES] = {GO_DATE, offsetof(struct meta, expires)},
    [MANIFEST_HOSTS] = {GO_WORDS, offsetof(struct meta, host),
	offsetof(struct meta, host_n)},
    [MANIFEST_LAST_ROTATED] = {GO_DATE, offsetof(struct meta, last_rotated)},
    [MANIFEST_PATTERN] = {GO_TEXT, offsetof(struct meta, pattern)},
    [MANIFEST_RETRIEVAL_URL] = {GO_TEXT, offsetof(struct meta, retrieval_url)},
    [MANIFEST_ROTATE_EVERY] = {GO_DAYS, offsetof(struct meta, rotate_every)},
    [MANIFEST_ROTATION] = {GO_CHOICE, offsetof(struct meta, rotation), 0, meta_rotations},
    [MANIFEST_SCOPES] = {GO_WORDS, offsetof(struct meta, scope),
	offsetof(struct meta, scope_n)},
    [MANIFEST_STEPS] = {GO_NOWHERE},
};

static enum meta_factor
factor_of(const struct field *f)
{
	const char *name = manifest_factor(f->word, f->word_n);

	if (name == NULL)
		return META_NO_FACTOR;
	return strcmp(name, "passphrase") == 0 ? META_PASSPHRASE : META_KEY;
}

/* Stores one field in the row.  It was checked before, so this cannot fail. */
static void
row_field(struct meta *m, const struct field *f)
{
	enum manifest_kind kind = manifest_field(&f->name);
	void *to = (char *)m + goes[kind].to;
	unsigned int choice;
	uint32_t number = 0;

	if (kind == MANIFEST_APPROVE)
		m->factor = factor_of(f);
	if (goes[kind].how == GO_TEXT) {
		memcpy(to, &f->word[0].text, sizeof(f->word[0].text));
	} else if (goes[kind].how == GO_WORDS) {
		*(const struct word **)to = f->word;
		memcpy((char *)m + goes[kind].to_n, &f->word_n, sizeof(f->word_n));
	} else if (goes[kind].how == GO_CHOICE) {
		choice = word_index(f->word, goes[kind].choice, 3);
		memcpy(to, &choice, sizeof(choice)); /* all enums have one size */
	} else if (goes[kind].how == GO_DATE) {
		(void)unit_date(f->word[0].text, &number);
		memcpy(to, &number, sizeof(number));
	} else if (goes[kind].how == GO_DAYS) {
		(void)manifest_days(f->word, &number);
		memcpy(to, &number, sizeof(number));
	}
}

void
meta_fill(struct meta *m, const struct manifest *from)
{
	size_t i;

	for (i = 0; i < from->field_n; i++)
		row_field(m, &from->field[i]);
}

/* Does the field change nothing? That is probably a mistake. */
static bool
field_is_idle(const struct meta *m, const struct field *f)
{
	struct meta changed = *m;

	row_field(&changed, f);
	return changed.approve == m->approve && changed.factor == m->factor &&
	       changed.rotate_every == m->rotate_every &&
	       (changed.description == m->description ||
		   (m->description != NULL &&
		       strcmp(changed.description, m->description) == 0));
}

static void
row_override(struct merge *g, struct meta *m, const struct manifest *from)
{
	const struct meta floor = *m;
	const struct field *f;
	size_t i;

	for (i = 0; i < from->field_n; i++) {
		f = &from->field[i];
		if (field_is_idle(m, f))
			diag_warning(g->diag, f->name.at,
			    "this override has no effect: `%.*s` already has this value",
			    (int)f->name.raw_len, f->name.raw);
		row_field(m, f);
		if (m->approve >= floor.approve && m->factor >= floor.factor)
			continue;
		/* of each the stricter */
		if (m->approve < floor.approve)
			m->approve = floor.approve;
		if (m->factor < floor.factor)
			m->factor = floor.factor;
		diag_warning(g->diag, f->name.at,
		    "`approve` can only be made stricter here: it remains %s%s%s",
		    meta_approve_name(m->approve),
		    m->factor != META_NO_FACTOR ? " with " : "",
		    m->factor != META_NO_FACTOR ? meta_factor_name(m->factor) : "");
	}
}

/* ---- declarations of a project ------------------------------------------- */

static void
declare_one(struct merge *g, const struct word *w, bool required)
{
	const struct manifest *own, *known;
	struct meta *m;

	own = statement_find(g->tree, KW_SECRET, PROJECT, w->text);
	known = statement_find(g->tree, KW_SECRET, INDEX, w->text);
	m = row_find(g->out, w->text);
	if (m == NULL || (own == NULL && known == NULL)) {
		diag_error(g->diag, w->at,
		    "unknown path: neither this manifest nor the personal index declares "
		    "it");
		return;
	}
	if (m->declared && m->required != required) {
		if ((g->how & META_STRICT) != 0)
			diag_error(g->diag, w->at,
			    "this path is both required and optional: remove one");
		else
			diag_warning(g->diag, w->at,
			    "this path is both required and optional: treated as "
			    "required");
	}
	m->declared = true;
	m->required = m->required || required;
}

/* The project's own secret, which is in no list. */
static void
declare_own(struct merge *g, const struct manifest *own)
{
	struct meta *m = row_find(g->out, own->path.text);

	if (m == NULL || m->declared)
		return;
	diag_warning(g->diag, own->path.at,
	    "neither `required` nor `optional` names this path: treated as optional");
	m->declared = true;
}

static void
declare_all(struct merge *g)
{
	const struct tree *t = g->tree;
	size_t i, k;

	for (i = 0; i < t->declare_n; i++)
		for (k = 0; k < t->declare[i].word_n; k++)
			declare_one(
			    g, &t->declare[i].word[k], t->declare[i].kw == KW_REQUIRED);
	for (i = 0; i < t->manifest_n; i++)
		if (t->manifest[i].kw == KW_SECRET && t->manifest[i].at.file == PROJECT)
			declare_own(g, &t->manifest[i]);
}

static void
override_all(struct merge *g)
{
	const struct manifest *o;
	struct meta *m;
	size_t i;

	for (i = 0; i < g->tree->manifest_n; i++) {
		o = &g->tree->manifest[i];
		if (o->kw != KW_OVERRIDE)
			continue;
		if (statement_find(g->tree, KW_SECRET, PROJECT, o->path.text) != NULL) {
			diag_error(g->diag, o->path.at,
			    "this path has both `secret` and `override` here: remove "
			    "one");
			continue;
		}
		m = row_find(g->out, o->path.text);
		if (m == NULL || !m->declared)
			diag_warning(g->diag, o->path.at,
			    "this override has no effect: the manifest does not declare "
			    "its path");
		else
			row_override(g, m, o);
	}
}

/* ---- merging ------------------------------------------------------------- */

static void
policy_only(struct diag *d, struct at at, const char *what)
{
	diag_error(d, at, "`%s` is only allowed in a policy file", what);
}

void
manifest_check_foreign(const struct tree *t, struct diag *d)
{
	size_t i;

	for (i = 0; i < t->server_n; i++)
		policy_only(d, t->server[i].at, "server");
	for (i = 0; i < t->block_n; i++)
		policy_only(d, t->block[i]->body.at, "block");
	for (i = 0; i < t->let_n; i++)
		policy_only(d, t->let[i]->name.at, "let");
	for (i = 0; i < t->never_n; i++)
		policy_only(d, t->never[i].at, "never");
	for (i = 0; i < t->expect_n; i++)
		policy_only(d, t->expect[i].at, "expect");
	for (i = 0; i < t->include_n; i++)
		policy_only(d, t->include[i].at, "include");
}

/* The index has no declarations, and the catalog is in its own file. */
static void
check_kinds(const struct tree *t, struct diag *d)
{
	const struct manifest *m;
	size_t i;

	manifest_check_foreign(t, d);
	for (i = 0; i < t->manifest_n; i++) {
		m = &t->manifest[i];
		if (m->kw == KW_TOKEN)
			diag_error(d, m->at, "`token` is only allowed in a catalog");
		if (m->kw == KW_OVERRIDE && m->at.file == INDEX)
			diag_error(d, m->at,
			    "`override` is only allowed in a project's manifest");
	}
	for (i = 0; i < t->declare_n; i++)
		if (t->declare[i].kw == KW_CATALOG)
			diag_error(d, t->declare[i].at,
			    "`catalog` is only allowed in a catalog");
		else if (t->declare[i].at.file == INDEX)
			diag_error(d, t->declare[i].at,
			    "`%s` is only allowed in a project's manifest",
			    keyword_name(t->declare[i].kw));
}

/*
 * A row for each known path: the project's own definition alone, else the
 * index's.  The stricter approval of both applies.
 */
static int
rows_make(struct merge *g)
{
	const struct tree *t = g->tree;
	const struct manifest *s, *other;
	struct meta *m;
	size_t i;

	g->out->meta = calloc(t->manifest_n + INTERNAL_N, sizeof(*m));
	if (g->out->meta == NULL)
		return -ENOMEM;
	for (i = 0; i < t->manifest_n; i++) {
		s = &t->manifest[i];
		other = statement_find(
		    t, KW_SECRET, s->at.file == PROJECT ? INDEX : PROJECT, s->path.text);
		if (s->kw != KW_SECRET || (s->at.file == INDEX && other != NULL))
			continue;
		m = &g->out->meta[g->out->n++];
		*m = (struct meta){.path = s->path.text, .local = s->at.file == PROJECT};
		meta_fill(m, s);
		if (other != NULL) {
			struct meta index = {.approve = META_NEVER};

			diag_warning(g->diag, s->path.at,
			    "this takes precedence over the entry in the personal index");
			meta_fill(&index, other);
			if (index.approve > m->approve)
				m->approve = index.approve;
			if (index.factor > m->factor)
				m->factor = index.factor;
		}
	}
	memcpy(g->out->meta + g->out->n, internal, sizeof(internal));
	g->out->n += INTERNAL_N;
	qsort(g->out->meta, g->out->n, sizeof(*g->out->meta), by_path);
	return 0;
}

static int
merge(struct merge *g)
{
	size_t i, words = 0;
	int r;

	for (i = 0; i < g->tree->declare_n; i++)
		words += g->tree->declare[i].word_n;
	if (g->tree->manifest_n > META_N_MAX || words > META_N_MAX) {
		diag_error(
		    g->diag, (struct at){.file = 0}, "more than %u secrets", META_N_MAX);
		return -EINVAL;
	}
	check_kinds(g->tree, g->diag);
	manifest_check(g->tree, g->diag);
	if (g->diag->error_n > 0)
		return -EINVAL;
	r = rows_make(g);
	if (r < 0)
		return r;
	declare_all(g);
	override_all(g);
	return g->diag->error_n > 0 ? -EINVAL : 0;
}

int
metas_merge(const struct meta_text *project, const struct meta_text *index,
    unsigned int how, FILE *out, struct metas *ret)
{
	const struct meta_text *const given[2] = {project, index};
	struct policy_source source[2];
	struct diag d = {
	    .sorted = true, .hide_all = true, .json = (how & META_JSON) != 0};
	struct metas m = {.n = 0};
	struct merge g = {.diag = &d, .out = &m, .how = how};
	int r = -ENOMEM;

	m.own = calloc(1, sizeof(*m.own));
	if (m.own == NULL ||
	    meta_texts_keep(given, 2, META_FILE, m.own->text, source) < 0)
		goto out;
	d.out = out;
	d.source = source;
	d.source_n = 2;
	d.quiet = (how & META_WARN) == 0;
	r = tree_parse(source, 2, &d, &m.own->tree);
	g.tree = &m.own->tree;
	if (r == 0)
		r = merge(&g);
	diag_end(&d);
	m.warning_n = d.warning_n;
out:
	if (r == 0)
		*ret = m;
	else
		metas_free(&m);
	return r;
}

void
metas_free(struct metas *m)
{
	if (m->own != NULL) {
		if (m->own->tree.arena != NULL)
			tree_free(&m->own->tree);
		free(m->own->text[0]);
		free(m->own->text[1]);
	}
	free(m->own);
	free(m->meta);
	memset(m, 0, sizeof(*m));
}
