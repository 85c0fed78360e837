/*
 * Parses the statements of manifests into a tree: secret, override, token,
 * required, optional, catalog.  Any word in them may be a misplaced secret, so no line
 * of them is shown.
 */
#define DIAG_CODE "manifest"

#include "policy/base/arena.h"
#include "policy/lang/manifest.h"
#include "policy/lang/parse.h"

#include <errno.h>

#define APPROVE_WORDS 3 /* per-call with passphrase */

/*
 * Is the current word past the end of this field?  A field with one value ends
 * after it, so that an unknown word is reported at its own place.
 */
static bool
field_ends(const struct parser *p, const struct field *f)
{
	if (!parse_at(p, TOKEN_WORD) || manifest_field(&p->tok.word) != MANIFEST_NONE ||
	    manifest_is_value_word(&p->tok.word))
		return true;
	if (manifest_field(&f->name) == MANIFEST_APPROVE && f->word_n > 0 &&
	    f->word_n < APPROVE_WORDS)
		return f->word_n == 1 && !parse_word_is(&p->tok.word, "with");
	return f->word_n > 0 && manifest_takes_one(manifest_field(&f->name));
}

/* A field ends with its line; the last one may end at the `}`. */
static bool
field(struct parser *p, struct manifest *m)
{
	struct field f = {.word_n = 0}, *array;

	if (!parse_at(p, TOKEN_WORD)) {
		diag_error(p->diag, p->tok.at, "expected a field, found %s",
		    parse_token_text(p));
		return false;
	}
	f.name = p->tok.word;
	parse_advance(p);
	while (!field_ends(p, &f)) {
		parse_push(p, &f.word, &f.word_n);
		parse_advance(p);
	}
	array = arena_push(p->tree->arena, m->field, m->field_n, sizeof(f));
	if (array == NULL) {
		p->error = -ENOMEM;
		return false;
	}
	array[m->field_n++] = f;
	m->field = array;
	return true;
}

static bool
fields(struct parser *p, struct manifest *m, struct at open)
{
	while (!parse_at(p, TOKEN_CLOSE)) {
		if (parse_at(p, TOKEN_END)) {
			diag_error(p->diag, open, "unclosed `{`: expected `}`");
			return false;
		}
		if (!field(p, m))
			return false;
	}
	return true;
}

/* The keyword of the statement is already passed. */
static bool
manifest(struct parser *p, struct manifest *m)
{
	static const char token[] = "expected the name of a token, as in github/classic";
	static const char path[] =
	    "expected the path of a secret, as in team/github/token";
	static const char other[] =
	    "; write the secret of one server inside its `server`";
	struct at open;

	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD)) {
		diag_error(p->diag, p->tok.at, "%s", m->kw == KW_TOKEN ? token : path);
		return false;
	}
	m->path = p->tok.word;
	parse_advance(p);
	open = p->tok.at;
	if (!parse_at(p, TOKEN_OPEN)) {
		diag_error(p->diag, open, "expected `{`: %s %s { field ... }%s",
		    keyword_name(m->kw), m->kw == KW_TOKEN ? "NAME" : "PATH",
		    m->kw == KW_SECRET ? other : "");
		return false;
	}
	p->lex.flat = true;
	parse_advance(p);
	if (!fields(p, m, open))
		return false;
	p->lex.flat = false;
	parse_advance(p);
	if (parse_at(p, TOKEN_NEWLINE) || parse_at(p, TOKEN_END))
		return true;
	diag_error(p->diag, p->tok.at, "unexpected %s", parse_token_text(p));
	return false;
}

void
top_manifest(struct parser *p)
{
	struct manifest m = {.kw = parse_statement(p), .at = p->tok.at}, *array;
	struct tree *t = p->tree;

	p->diag->hide_line = true;
	if (!manifest(p, &m)) {
		parse_skip(p, true);
	} else {
		array = arena_push(t->arena, t->manifest, t->manifest_n, sizeof(m));
		if (array == NULL) {
			p->error = -ENOMEM;
		} else {
			array[t->manifest_n++] = m;
			t->manifest = array;
		}
	}
	p->diag->hide_line = false;
}

static void
declare_add(struct parser *p, const struct declare *d)
{
	struct tree *t = p->tree;
	struct declare *array =
	    arena_push(t->arena, t->declare, t->declare_n, sizeof(*d));

	if (array == NULL) {
		p->error = -ENOMEM;
		return;
	}
	array[t->declare_n++] = *d;
	t->declare = array;
}

void
top_declare(struct parser *p)
{
	struct declare d = {.kw = parse_statement(p), .at = p->tok.at};

	p->diag->hide_line = true;
	parse_advance(p);
	parse_words(p, &d.word, &d.word_n, MANIFEST_WORDS_MAX);
	declare_add(p, &d);
	if (d.word_n == 0 || !parse_at_end(p)) {
		diag_error(p->diag, d.word_n == 0 ? d.at : p->tok.at,
		    "`%s` takes paths of secrets, as in team/github/token",
		    keyword_name(d.kw));
		parse_skip(p, true);
	}
	p->diag->hide_line = false;
}

/* "URL" and pairs of a word and its value: the reader of catalogs knows them. */
void
top_catalog(struct parser *p)
{
	struct declare d = {.kw = KW_CATALOG, .at = p->tok.at};

	p->diag->hide_line = true;
	parse_advance(p);
	while (parse_at(p, TOKEN_WORD) && d.word_n < CATALOG_WORDS_MAX) {
		parse_push(p, &d.word, &d.word_n);
		parse_advance(p);
	}
	if (d.word_n == 0 || !parse_at_end(p)) {
		diag_error(p->diag, d.word_n == 0 ? d.at : p->tok.at,
		    "`catalog` takes " CATALOG_TAKES);
		parse_skip(p, true);
	} else {
		declare_add(p, &d);
	}
	p->diag->hide_line = false;
}
