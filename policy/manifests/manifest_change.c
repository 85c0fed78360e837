/*
 * Edits the texts of manifests.
 *
 *	parse both texts ─▶ for each field: the statement it is in ─▶ edits of that text
 *	     └─▶ merge the new texts again: exactly the proposed facts must differ
 *
 * The last step is what a person relies on. An edit that the rules below place wrongly
 * is refused there, so it can only fail.
 */
#define DIAG_CODE "manifest"

#include "policy/manifests/manifest_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/lang/manifest.h"
#include "policy/manifests/private.h"
#include "policy/print/statement.h"

enum { PROJECT, INDEX, FILES };

#define FIELDS_N  5
#define EDITS_MAX (2 * FIELDS_N)
#define LINE_MAX_ (2 * META_CHANGE_TEXT_MAX + 64)

/* ---- texts --------------------------------------------------------------------------- */

static const enum manifest_kind kinds[FIELDS_N] = {MANIFEST_DESCRIPTION,
    MANIFEST_RETRIEVAL_URL, MANIFEST_PATTERN, MANIFEST_ROTATE_EVERY, MANIFEST_EXPIRES};

static int
put_quoted(struct buf *out, const char *text)
{
	int r = buf_putc(out, '"');

	for (; r == 0 && *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			r = buf_putc(out, '\\');
		if (r == 0)
			r = buf_putc(out, *text);
	}
	return r == 0 ? buf_putc(out, '"') : r;
}

/* "name value"; nothing for a date that is removed. */
static int
put_field(struct buf *out, enum manifest_kind kind, const struct meta_change *c)
{
	bool url = kind == MANIFEST_RETRIEVAL_URL;
	char day[SAY_DAY_CAP];
	int r;

	if (kind == MANIFEST_PATTERN)
		return buf_printf(out, "pattern %s", c->pattern);
	if (kind == MANIFEST_ROTATE_EVERY)
		return buf_printf(out, "rotate-every %ud", c->rotate_every);
	if (kind == MANIFEST_EXPIRES)
		return c->expires == 0
			   ? 0
			   : buf_printf(out, "expires %s", say_day_text(c->expires, day));
	r = buf_puts(out, url ? "retrieval-url " : "description ");
	return r == 0 ? put_quoted(out, url ? c->retrieval_url : c->description) : r;
}

/* ---- edits of one text ------------------------------------------------------------------ */

struct edit {
	size_t from, to; /* replaced */
	size_t order;    /* of those at one place */
	struct buf text;
};

struct editing {
	const struct meta_change *change;
	struct tree tree;
	char *text[FILES]; /* that the tree's words are in */
	size_t len[FILES];
	struct edit edit[FILES][EDITS_MAX];
	size_t edit_n[FILES];
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Where the line that contains `at` begins. */
static size_t
line_begin(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

/* Is there nothing but space, or a comment, from `at` to the end of its line? */
static bool
line_is_over(const char *text, size_t len, size_t at, size_t *ret_end)
{
	while (at < len && is_blank(text[at]))
		at++;
	if (at < len && text[at] != '\n' && text[at] != '#')
		return false;
	while (at < len && text[at] != '\n')
		at++;
	*ret_end = at;
	return true;
}

static struct edit *
add_edit(struct editing *e, uint32_t file, size_t from, size_t to)
{
	struct edit *x = &e->edit[file][e->edit_n[file]];

	*x = (struct edit){.from = from, .to = to, .order = e->edit_n[file]++};
	buf_init(&x->text, LINE_MAX_ + META_CHANGE_TEXT_MAX);
	return x;
}

/* A word's place in its file. */
static size_t
begins(const struct editing *e, const struct word *w)
{
	return (size_t)(w->raw - e->text[w->at.file]);
}

static size_t
ends(const struct editing *e, const struct word *w)
{
	return begins(e, w) + w->raw_len;
}

static size_t
field_end(const struct editing *e, const struct field *f)
{
	return ends(e, f->word_n > 0 ? &f->word[f->word_n - 1] : &f->name);
}

/* Removes a field, with its line if nothing else is on it. */
static void
cut_field(struct editing *e, const struct field *f)
{
	uint32_t file = f->name.at.file;
	const char *text = e->text[file];
	size_t from = begins(e, &f->name), to = field_end(e, f);
	size_t begin = from, over = to;

	while (begin > 0 && is_blank(text[begin - 1]))
		begin--;
	while (over < e->len[file] && is_blank(text[over]))
		over++;
	if (line_begin(text, from) != begin) {
		(void)add_edit(e, file, begin, to);
		return;
	}
	if (over < e->len[file] && text[over] == '\n') {
		(void)add_edit(e, file, begin, over + 1);
		return;
	}
	(void)add_edit(e, file, from, over);
}

/* Adds a field after the last one, in the way that this one is written. */
static int
add_after(struct editing *e, const struct field *last, enum manifest_kind kind)
{
	uint32_t file = last->name.at.file;
	const char *text = e->text[file];
	size_t at = field_end(e, last), name = begins(e, &last->name), eol;
	size_t line = line_begin(text, name), indent = line;
	struct edit *x;
	int r;

	while (is_blank(text[indent]))
		indent++;
	if (indent == name && line_is_over(text, e->len[file], at, &eol)) {
		x = add_edit(e, file, eol, eol);
		r = buf_putc(&x->text, '\n');
		if (r == 0 && indent > line)
			r = buf_put(&x->text, text + line, indent - line);
	} else {
		x = add_edit(e, file, at, at);
		r = buf_puts(&x->text, "  ");
	}
	return r == 0 ? put_field(&x->text, kind, e->change) : r;
}

/* Adds the first field, after the `{`. */
static int
add_first(struct editing *e, const struct manifest *m, enum manifest_kind kind)
{
	uint32_t file = m->at.file;
	const char *text = e->text[file], *open;
	size_t at = ends(e, &m->path), eol;
	struct edit *x;
	int r;

	open = memchr(text + at, '{', e->len[file] - at);
	if (open == NULL)
		return -EINVAL;
	at = (size_t)(open - text) + 1;
	if (line_is_over(text, e->len[file], at, &eol)) {
		x = add_edit(e, file, eol, eol);
		r = buf_puts(&x->text, "\n    ");
		return r == 0 ? put_field(&x->text, kind, e->change) : r;
	}
	x = add_edit(e, file, at, at);
	r = buf_putc(&x->text, ' ');
	if (r == 0)
		r = put_field(&x->text, kind, e->change);
	return r == 0 ? buf_putc(&x->text, ' ') : r;
}

static const struct field *
field_of(const struct manifest *m, enum manifest_kind kind)
{
	for (size_t i = 0; m != NULL && i < m->field_n; i++)
		if (manifest_field(&m->field[i].name) == kind)
			return &m->field[i];
	return NULL;
}

static int
edit_field(struct editing *e, const struct manifest *m, enum manifest_kind kind)
{
	const struct field *f = field_of(m, kind);
	struct edit *x;

	if (kind == MANIFEST_EXPIRES && e->change->expires == 0) {
		if (f == NULL)
			return -EINVAL;
		cut_field(e, f);
		return 0;
	}
	if (f != NULL) {
		x = add_edit(e, m->at.file, begins(e, &f->name), field_end(e, f));
		return put_field(&x->text, kind, e->change);
	}
	if (m->field != NULL && m->field_n > 0)
		return add_after(e, &m->field[m->field_n - 1], kind);
	return add_first(e, m, kind);
}

static int
by_place(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* The text of this file with its edits; nothing if it has none. */
static int
apply(struct editing *e, uint32_t file, struct buf *out)
{
	size_t at = 0, n = e->edit_n[file];
	int r = 0;

	qsort(e->edit[file], n, sizeof(struct edit), by_place);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct edit *x = &e->edit[file][i];

		if (x->from < at)
			return -EINVAL; /* two in one place */
		r = buf_put(out, e->text[file] + at, x->from - at);
		if (r == 0 && x->text.len > 0)
			r = buf_put(out, x->text.data, x->text.len);
		at = x->to;
	}
	if (r == 0 && n > 0)
		r = buf_put(out, e->text[file] + at, e->len[file] - at);
	return r == -EMSGSIZE ? -EINVAL : r;
}

/* ---- the statements ---------------------------------------------------------------------- */

static const struct manifest *
statement(const struct tree *t, enum keyword kw, uint32_t file, const char *path)
{
	for (size_t i = 0; i < t->manifest_n; i++)
		if (t->manifest[i].kw == kw && t->manifest[i].at.file == file &&
		    strcmp(t->manifest[i].path.text, path) == 0)
			return &t->manifest[i];
	return NULL;
}

static int
parse(const struct manifest_texts *from, FILE *diag, struct editing *e)
{
	const struct meta_text *const given[FILES] = {from->project, from->index};
	struct policy_source source[FILES];
	struct diag d = {.hide_all = true, .out = diag, .source = source};
	int r = meta_texts_keep(given, FILES, META_FILE, e->text, source);

	if (r < 0)
		return r;
	d.source_n = FILES;
	for (size_t i = 0; i < FILES; i++)
		e->len[i] = source[i].len;
	r = tree_parse(source, FILES, &d, &e->tree);
	diag_end(&d);
	return r == 0 && d.error_n > 0 ? -EINVAL : r;
}

static int
edit_all(struct editing *e, const char *path, unsigned int fields)
{
	const struct manifest *own = statement(&e->tree, KW_SECRET, PROJECT, path);
	const struct manifest *over = statement(&e->tree, KW_OVERRIDE, PROJECT, path);
	const struct manifest *in = statement(&e->tree, KW_SECRET, INDEX, path), *at;
	int r = 0;

	for (size_t i = 0; r == 0 && i < FIELDS_N; i++) {
		if ((fields & 1u << kinds[i]) == 0)
			continue;
		at = own != NULL ? own : field_of(over, kinds[i]) != NULL ? over : in;
		r = at == NULL ? -EINVAL : edit_field(e, at, kinds[i]);
	}
	return r;
}

static void
editing_free(struct editing *e)
{
	if (e == NULL)
		return;
	for (size_t i = 0; i < FILES; i++) {
		for (size_t k = 0; k < e->edit_n[i]; k++)
			buf_free(&e->edit[i][k].text);
		free(e->text[i]);
	}
	if (e->tree.arena != NULL)
		tree_free(&e->tree);
	free(e);
}

/* ---- what must be so afterwards ------------------------------------------------------------ */

static bool
text_is(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
words_are(const struct word *a, size_t a_n, const struct word *b, size_t b_n)
{
	for (size_t i = 0; a_n == b_n && i < a_n; i++)
		if (strcmp(a[i].text, b[i].text) != 0)
			return false;
	return a_n == b_n;
}

/* Is m what `was` becomes by the change? */
static bool
is_changed(const struct meta *m, const struct meta *was, const struct meta_change *c)
{
	return text_is(m->description,
		   c->has_description ? c->description : was->description) &&
	       text_is(m->retrieval_url,
		   c->has_retrieval_url ? c->retrieval_url : was->retrieval_url) &&
	       text_is(m->pattern, c->has_pattern ? c->pattern : was->pattern) &&
	       m->rotate_every ==
		   (c->has_rotate_every ? c->rotate_every : was->rotate_every) &&
	       m->expires == (c->has_expires ? c->expires : was->expires) &&
	       m->last_rotated == was->last_rotated && m->rotation == was->rotation &&
	       m->approve == was->approve && m->declared == was->declared &&
	       m->required == was->required && m->local == was->local &&
	       m->internal == was->internal &&
	       words_are(m->scope, m->scope_n, was->scope, was->scope_n) &&
	       words_are(m->host, m->host_n, was->host, was->host_n);
}

static const struct meta *
row_of(const struct metas *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->meta[i].path, path) == 0)
			return &m->meta[i];
	return NULL;
}

/* Everything but this path is as before, and the path as the change makes it. */
static bool
is_expected(const struct metas *before, const struct metas *after, const char *path,
    const struct meta_change *c)
{
	static const struct meta_change nothing;
	const struct meta *known = row_of(before, path);
	/* a declaration of the project's own: of the index it keeps the approval */
	const struct meta added = {.path = path,
	    .declared = true,
	    .required = true,
	    .local = true,
	    .approve = known != NULL ? known->approve : META_NEVER};

	if (after->n != before->n + (known == NULL))
		return false;
	for (size_t i = 0; i < after->n; i++) {
		const struct meta *m = &after->meta[i], *was = row_of(before, m->path);
		bool it = strcmp(m->path, path) == 0;

		if (it && (known == NULL || !known->declared))
			was = &added;
		if (was == NULL || !is_changed(m, was, it ? c : &nothing))
			return false;
	}
	return true;
}

static int
check(const struct manifest_texts *from, const struct manifest_new *new,
    const struct metas *before, const char *path, const struct meta_change *c, FILE *diag)
{
	const struct meta_text project = {
	    META_FILE, (const char *)new->project.data, new->project.len};
	const struct meta_text index = {
	    META_FILE, (const char *)new->index.data, new->index.len};
	struct metas after;
	int r = metas_merge(project.len > 0 ? &project : from->project,
	    index.len > 0 ? &index : from->index, 0, diag, &after);

	if (r < 0)
		return r;
	r = is_expected(before, &after, path, c) ? 0 : -EINVAL;
	metas_free(&after);
	return r;
}

/* ---- the two changes ------------------------------------------------------------------------ */

void
manifest_new_init(struct manifest_new *n)
{
	buf_init(&n->project, META_LEN_MAX);
	buf_init(&n->index, META_LEN_MAX);
}

void
manifest_new_free(struct manifest_new *n)
{
	buf_free(&n->project);
	buf_free(&n->index);
}

static int
change(const struct manifest_texts *from, const struct metas *before, const char *path,
    const struct meta_change *c, FILE *diag, struct manifest_new *ret)
{
	struct editing *e;
	enum meta_error why;
	const struct meta *m = metas_find(before, path, &why);
	int r;

	if (m == NULL)
		return -ENOENT;
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return -ENOMEM;
	e->change = c;
	r = parse(from, diag, e);
	if (r == 0)
		r = edit_all(e, path, meta_change_fields(c, m));
	if (r == 0)
		r = apply(e, PROJECT, &ret->project);
	if (r == 0)
		r = apply(e, INDEX, &ret->index);
	editing_free(e);
	return r;
}

static int
add(const struct manifest_texts *from, const struct metas *before, const char *path,
    const struct meta_change *c, FILE *diag, struct manifest_new *ret)
{
	const bool has[FIELDS_N] = {c->has_description, c->has_retrieval_url,
	    c->has_pattern, c->has_rotate_every, c->has_expires && c->expires != 0};
	const struct meta_text *old = from->project;
	enum meta_error why;
	struct buf *out = &ret->project;
	int r = 0;

	(void)diag;
	if (metas_find(before, path, &why) != NULL)
		return -EEXIST;
	if (why == META_INVALID_PATH)
		return -EINVAL;
	if (old != NULL && old->len > 0) {
		r = buf_put(out, old->text, old->len);
		if (r == 0)
			r = buf_puts(
			    out, old->text[old->len - 1] == '\n' ? "\n" : "\n\n");
	}
	if (r == 0)
		r = buf_printf(out, "required %s\nsecret %s {\n", path, path);
	for (size_t i = 0; r == 0 && i < FIELDS_N; i++) {
		if (!has[i])
			continue;
		r = buf_puts(out, "    ");
		if (r == 0)
			r = put_field(out, kinds[i], c);
		if (r == 0)
			r = buf_putc(out, '\n');
	}
	if (r == 0)
		r = buf_puts(out, "}\n");
	return r == -EMSGSIZE ? -EINVAL : r;
}

typedef int change_fn(const struct manifest_texts *, const struct metas *before,
    const char *path, const struct meta_change *, FILE *diag, struct manifest_new *);

static int
changed(const struct manifest_texts *from, const char *path, const struct meta_change *c,
    change_fn *fn, struct manifest_new *ret)
{
	char *said = NULL;
	size_t len;
	FILE *diag = open_memstream(&said, &len);
	struct metas before;
	int r;

	if (diag == NULL)
		return -ENOMEM;
	manifest_new_init(ret);
	r = meta_change_wrong(c) != NULL ? -EINVAL : 0;
	if (r == 0)
		r = metas_merge(from->project, from->index, 0, diag, &before);
	if (r == 0) {
		r = fn(from, &before, path, c, diag, ret);
		if (r == 0)
			r = check(from, ret, &before, path, c, diag);
		metas_free(&before);
	}
	if (r < 0)
		manifest_new_free(ret);
	(void)fclose(diag); /* what it says is dropped */
	free(said);
	return r;
}

int
manifest_change(const struct manifest_texts *from, const char *path,
    const struct meta_change *c, struct manifest_new *ret)
{
	return changed(from, path, c, change, ret);
}

int
manifest_add(const struct manifest_texts *from, const char *path,
    const struct meta_change *c, struct manifest_new *ret)
{
	return changed(from, path, c, add, ret);
}
