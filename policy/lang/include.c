/*
 * include "FILE": the file is parsed in place, once.  Its definitions are
 * visible after the include; ours are not visible inside it, so it has the same
 * meaning wherever it is included.
 *
 * A relative path starts at the directory of the including file (for standard
 * input: the current directory) and must stay in or below it; an absolute path
 * is also allowed.  Files are read by the reader of the source that includes
 * them.
 */
#define DIAG_CODE "include"

#include "policy/base/arena.h"
#include "policy/lang/parse.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/policy.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/hex.h"
#include "shim/host/path_open.h"

#define HEX_LEN ((size_t)2 * POLICY_ID_LEN)

int
include_given(struct tree *t, struct opened *opened)
{
	struct opened_file *f, *array;
	size_t i;

	for (i = 0; i < t->source_n; i++) {
		array = arena_push(t->arena, opened->file, opened->n, sizeof(*array));
		if (array == NULL)
			return -ENOMEM;
		opened->file = array;
		f = &array[opened->n++];
		*f = (struct opened_file){.path = t->source[i].path,
		    .reader = t->source[i].reader,
		    .from = (uint32_t)i};
		f->lets = arena_alloc(t->arena, sizeof(*f->lets));
		if (f->lets == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* ---- paths --------------------------------------------------------------- */

/* Has no empty component, no `.` and no `..`. */
static bool
is_below(const char *path)
{
	size_t n;

	for (;;) {
		n = strcspn(path, "/");
		if (n == 0 || (n == 1 && path[0] == '.') ||
		    (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (path[n] == '\0')
			return true;
		path += n + 1;
	}
}

const char *
include_path(struct tree *t, const char *from, const char *path, const char **ret_why)
{
	const char *slash = from == NULL ? NULL : strrchr(from, '/');
	size_t folder = slash == NULL ? 0 : (size_t)(slash - from) + 1;
	size_t len = strlen(path);
	char *p;

	*ret_why = NULL;
	if (path[0] == '/') {
		if (!path_is_normal(path) || path[1] == '\0' || len >= PATH_MAX)
			*ret_why = "invalid path: expected an absolute path without "
				   "`//`, `.`, `..` or a trailing `/`";
		return *ret_why == NULL ? path : NULL;
	}
	if (!is_below(path))
		*ret_why = "expected an absolute path, or a file in or below this file's "
			   "directory, without `.`, `..` or `//`";
	else if (folder + len >= PATH_MAX)
		*ret_why = "the path is too long";
	if (*ret_why != NULL)
		return NULL;
	p = arena_alloc(t->arena, folder + len + 1);
	if (p == NULL) {
		*ret_why = "out of memory";
		return NULL;
	}
	if (folder > 0)
		memcpy(p, from, folder);
	memcpy(p + folder, path, len + 1);
	return p;
}

/* ---- a further source ---------------------------------------------------- */

/* Makes room in tree.source, which may still be the caller's own array. */
static int
source_push(struct parser *p, const struct policy_source *s, uint32_t *ret)
{
	struct tree *t = p->tree;
	struct policy_source *all;
	struct opened_file *f;

	f = arena_push(t->arena, p->opened->file, p->opened->n, sizeof(*f));
	all = arena_alloc(t->arena, (t->source_n + 1) * sizeof(*all));
	if (f == NULL || all == NULL)
		return -ENOMEM;
	memcpy(all, t->source, t->source_n * sizeof(*all));
	all[t->source_n] = *s;
	p->opened->file = f;
	f[p->opened->n] = (struct opened_file){.path = s->path,
	    .reader = s->reader,
	    .from = p->file,
	    .depth = f[p->file].depth + 1};
	f[p->opened->n].lets = arena_alloc(t->arena, sizeof(struct lets));
	if (f[p->opened->n].lets == NULL)
		return -ENOMEM;
	*ret = (uint32_t)p->opened->n++;
	t->source = all;
	t->source_n++;
	p->diag->source = all;
	p->diag->source_n = t->source_n;
	return 0;
}

/* Reads the text of path into the arena: 0, or -EINVAL after reporting. */
static int
source_read(struct parser *p, const char *path, struct at at, struct policy_source *ret)
{
	const struct policy_reader *reader = p->opened->file[p->file].reader;
	char shown[DIAG_TEXT_CAP], why_not[PATH_WHY_MAX], *text = NULL;
	size_t len = 0;
	char *copy;
	int r;

	diag_text(shown, path, strlen(path));
	if (reader == NULL) {
		diag_error(p->diag, at, "`include` is not allowed here");
		return -EINVAL;
	}
	r = reader->read(reader->arg, path, SOURCE_LEN_MAX, &text, &len);
	if (r != 0) {
		diag_error(p->diag, at, "unable to read %s: %s", shown,
		    r == -EPERM   ? "it is world-writable (chmod o-w)"
		    : r == -EFBIG ? "it is larger than 8 MiB"
				  : path_why(path, r, why_not, sizeof(why_not)));
		return -EINVAL;
	}
	if (len > INCLUDE_LEN_MAX - p->opened->len) {
		diag_error(p->diag, at,
		    "the included files are larger than %u MiB in total",
		    INCLUDE_LEN_MAX >> 20);
		free(text);
		return -EINVAL;
	}
	p->opened->len += len;
	copy = arena_copy(p->tree->arena, text, len);
	free(text);
	if (copy == NULL) {
		p->error = -ENOMEM;
		return -EINVAL;
	}
	*ret = (struct policy_source){
	    .path = path, .text = copy, .len = len, .reader = reader};
	return 0;
}

/* ---- imported definitions ------------------------------------------------ */

static void
import(struct parser *p, const struct lets *lets, struct at at)
{
	const struct known *k;
	const struct let *l;
	const struct block *b;
	size_t i;

	for (i = 0; i < LET_HASH; i++)
		for (k = lets->bucket[i]; k != NULL; k = k->next) {
			l = let_find(p->lets, k->name, k->len);
			b = block_find(p->lets, k->name, k->len);
			if ((k->let != NULL && l == k->let) ||
			    (k->block != NULL && b == k->block))
				continue; /* already imported through another file */
			if ((k->let != NULL && l != NULL) ||
			    (k->block != NULL && b != NULL))
				diag_error(p->diag, at,
				    "the file defines `%.*s`, which is already defined",
				    (int)k->len, k->name);
			else if (known_add(p->tree->arena, p->lets, k->name, k->len,
				     k->let, k->block) != 0)
				p->error = -ENOMEM;
		}
}

static bool
pin_holds(struct parser *p, const struct include *in, const struct policy_source *s)
{
	uint8_t sum[POLICY_ID_LEN];
	char text[HEX_LEN + 1];

	if (in->sha256.len == 0)
		return true;
	policy_digest(s->text, s->len, sum);
	if (strcmp(hex_put(text, sum, sizeof(sum)), in->sha256.text) == 0)
		return true;
	diag_error(p->diag, in->sha256.at,
	    "the digest does not match: the sha256 of the file is %s", text);
	return false;
}

/* The file of this path, if it is already open. */
static struct opened_file *
opened_find(const struct opened *o, const char *path)
{
	size_t i;

	for (i = 0; i < o->n; i++)
		if (o->file[i].path != NULL && strcmp(o->file[i].path, path) == 0)
			return &o->file[i];
	return NULL;
}

/* Is this file being read now, so that the include is a cycle? */
static bool
is_around(const struct parser *p, uint32_t file)
{
	uint32_t at = p->file;

	while (at != file && p->opened->file[at].from != at)
		at = p->opened->file[at].from;
	return at == file;
}

static void
bring(struct parser *p, struct include *in, const char *path)
{
	struct opened_file *f = opened_find(p->opened, path);
	struct policy_source s;

	if (f != NULL)
		in->file = (uint32_t)(f - p->opened->file);
	if (f != NULL && is_around(p, in->file)) {
		diag_error(p->diag, in->path.at, "the file includes itself");
		return;
	}
	if (f != NULL && f->done) {
		(void)pin_holds(p, in, &p->tree->source[in->file]); /* reported there */
		import(p, f->lets, in->path.at);
		return;
	}
	if (f == NULL) {
		if (p->opened->file[p->file].depth == INCLUDE_DEPTH_MAX ||
		    p->opened->n == INCLUDE_FILES_MAX) {
			diag_error(p->diag, in->path.at,
			    "too many includes: at most %d levels and %d files are "
			    "allowed",
			    INCLUDE_DEPTH_MAX, INCLUDE_FILES_MAX);
			return;
		}
		if (source_read(p, path, in->path.at, &s) != 0)
			return;
		if (source_push(p, &s, &in->file) != 0) {
			p->error = -ENOMEM;
			return;
		}
	} else {
		/* also given by the caller, but not read yet */
		f->from = p->file;
		f->depth = p->opened->file[p->file].depth + 1;
	}
	if (!pin_holds(p, in, &p->tree->source[in->file])) {
		p->opened->file[in->file].done = true;
		return;
	}
	p->error = parse_file(p->tree, p->opened, in->file, p->diag);
	p->opened->file[in->file].done = true;
	if (p->error == 0)
		import(p, p->opened->file[in->file].lets, in->path.at);
}

/* ---- the statement ------------------------------------------------------- */

/* "PATH" [ sha256 HEX ] */
static bool
words(struct parser *p, struct include *in)
{
	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD) || !p->tok.word.quoted || p->tok.word.len == 0) {
		diag_error(p->diag, p->tok.at, "`include` takes one quoted path");
		return false;
	}
	in->path = p->tok.word;
	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD))
		return true;
	if (!parse_word_is(&p->tok.word, "sha256")) {
		diag_error(p->diag, p->tok.at,
		    "only `sha256` and a digest are allowed after the path");
		return false;
	}
	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD) ||
	    !hex_is(p->tok.word.text, p->tok.word.len, HEX_LEN)) {
		diag_error(p->diag, p->tok.at,
		    "`sha256` takes 64 lower-case hex digits (sha256sum FILE)");
		return false;
	}
	in->sha256 = p->tok.word;
	parse_advance(p);
	return true;
}

void
include_statement(struct parser *p)
{
	struct include in = {.at = p->tok.at}, *array;
	struct tree *t = p->tree;
	const char *path, *why;

	if (!words(p, &in)) {
		parse_skip(p, true);
		return;
	}
	if (!parse_at_end(p) || parse_at(p, TOKEN_CLOSE)) {
		diag_error(p->diag, p->tok.at, "unexpected %s", parse_token_text(p));
		parse_skip(p, true);
		return;
	}
	path = include_path(t, p->opened->file[p->file].path, in.path.text, &why);
	if (path == NULL) {
		diag_error(p->diag, in.path.at, "%s", why);
		return;
	}
	bring(p, &in, path);
	array = arena_push(t->arena, t->include, t->include_n, sizeof(in));
	if (array == NULL) {
		p->error = -ENOMEM;
		return;
	}
	array[t->include_n++] = in;
	t->include = array;
}
