/*
 * The tree as text again, one statement a line: what stands in the files that
 * were given, kind after kind.  What is printed parses to the same tree: a bare
 * word stays as it was written, $name and all, and a quoted one stays quoted.
 * Comments are not kept.
 */
#include "policy/base/output.h"
#include "policy/lang/ast.h"
#include "tests/unit/ast_print.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static void
print_quoted(const struct word *w, FILE *f)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	uint32_t code;
	const char *p;
	size_t i, n;

	fputc('"', f);
	for (i = 0; i < w->len; i += n) {
		n = utf8_read(w->text + i, w->len - i, &code);
		if (n == 0) { /* not text: nothing that parsed holds it */
			n = 1;
			continue;
		}
		p = code != 0 && code < 0x80 ? strchr(from, (int)code) : NULL;
		if (p != NULL)
			fprintf(f, "\\%c", to[p - from]);
		else if (code < 0x20 || (code >= 0x7f && code < 0xa0) ||
			 utf8_is_unseen(code))
			fprintf(f, "\\u%04x", code);
		else
			(void)fwrite(w->text + i, 1, n, f); /* ferror, at the end */
	}
	fputc('"', f);
}

static void
print_bare(const struct word *w, FILE *f)
{
	if (w->quoted)
		print_quoted(w, f);
	else
		(void)fwrite(w->raw, 1, w->raw_len, f); /* ferror, at the end */
}

static void
print_word(const struct word *w, FILE *f)
{
	if (w->rest)
		return; /* of a list that was printed as its $name */
	fputc(' ', f);
	print_bare(w, f);
}

static void
print_words(const struct word *w, size_t n, FILE *f)
{
	size_t i;

	for (i = 0; i < n; i++)
		print_word(&w[i], f);
}

/* ---- conditions ---------------------------------------------------------- */

static void
print_path(const struct cond *c, FILE *f)
{
	struct word key = {.quoted = true};
	size_t i;

	fputs("args", f);
	for (i = 0; i < c->step_n; i++) {
		key.text = c->step[i].key;
		key.len = c->step[i].key_len;
		if (key.text == NULL) {
			fprintf(f, "[%u]", c->step[i].index);
		} else if (cond_key_is_plain(key.text, key.len)) {
			fprintf(f, ".%s", key.text);
		} else {
			fputc('[', f);
			print_quoted(&key, f);
			fputc(']', f);
		}
	}
}

static void
print_test(const struct cond *c, FILE *f)
{
	size_t i;

	print_path(c, f);
	fprintf(f, " %s", cond_name(c->kind));
	if (c->kind != COND_KIND_IN) {
		print_words(c->value, c->value_n, f);
		fputs(c->relative ? " relative" : "", f);
		return;
	}
	if (c->value[0].let != NULL && c->value[0].let->list != NULL &&
	    c->value[0].let->list_n == c->value_n) {
		print_word(&c->value[0], f);
		return;
	}
	fputs(" [", f);
	for (i = 0; i < c->value_n; i++) {
		if (c->value[i].rest)
			continue;
		if (i > 0)
			fputs(", ", f);
		print_bare(&c->value[i], f);
	}
	fputc(']', f);
}

/* or binds least, then and, then not; a test needs no parentheses. */
static int
binding(const struct cond *c)
{
	return c->kind == COND_KIND_OR    ? 1
	       : c->kind == COND_KIND_AND ? 2
	       : c->kind == COND_KIND_NOT ? 3
					  : 4;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as COND_NODES_MAX at most */
static void
print_cond(const struct cond *c, int least, FILE *f)
{
	bool parens = binding(c) < least;

	if (parens)
		fputc('(', f);
	if (c->kind == COND_KIND_NOT) {
		fputs("not ", f);
		print_cond(c->left, 3, f);
	} else if (binding(c) == 4) {
		print_test(c, f);
	} else {
		/* from the left: a right side of the same kind was in parentheses */
		print_cond(c->left, binding(c), f);
		fprintf(f, " %s ", cond_name(c->kind));
		print_cond(c->right, binding(c) + 1, f);
	}
	if (parens)
		fputc(')', f);
}
/* NOLINTEND(misc-no-recursion) */

/* ---- grants -------------------------------------------------------------- */

static bool
is_option(const struct qual *q)
{
	return (keyword_row(q->kw)->where & WHERE_OPTION) != 0;
}

static void
print_options(const struct stmt *s, FILE *f)
{
	bool open = false;
	size_t i;

	for (i = 0; i < s->qual_n; i++) {
		if (!is_option(&s->qual[i]))
			continue;
		fprintf(f, "%s %s", open ? "" : " {", keyword_name(s->qual[i].kw));
		print_words(s->qual[i].word, s->qual[i].word_n, f);
		open = true;
	}
	if (open)
		fputs(" }", f);
}

static void
print_stmt(const struct stmt *s, FILE *f)
{
	static const char *const verdicts[] = {
	    [VERDICT_DENY] = "deny",
	    [VERDICT_ALLOW] = "allow",
	    [VERDICT_ASK] = "ask",
	};
	size_t i;

	fprintf(f, "\t%s", keyword_name(s->kw));
	if (s->has_verdict)
		fprintf(f, " %s", verdicts[s->verdict]);
	if (s->by_annotations)
		fprintf(f, " %s", keyword_name(KW_BY_ANNOTATIONS));
	for (i = 0; i < s->word_n; i++) {
		if (i == 1 && s->kw == KW_ENV)
			fputs(" =", f);
		if (i == 1 && s->kw == KW_SECRET)
			fputs(" from", f);
		print_word(&s->word[i], f);
	}
	if (s->when != NULL) {
		fputs(" when ", f);
		print_cond(s->when, 1, f);
	}
	for (i = 0; i < s->qual_n; i++) {
		if (is_option(&s->qual[i]))
			continue;
		fprintf(f, " %s%s", keyword_name(s->qual[i].kw),
		    s->qual[i].kw == KW_WITH ? " env" : "");
		print_words(s->qual[i].word, s->qual[i].word_n, f);
	}
	print_options(s, f);
	fputc('\n', f);
}

static void
print_body(const char *what, const struct server *s, FILE *f)
{
	size_t i;

	fputs(what, f);
	print_word(&s->name, f);
	fputs(" {\n", f);
	for (i = 0; i < s->stmt_n; i++)
		if (!s->stmt[i].expanded)
			print_stmt(&s->stmt[i], f);
	fputs("}\n", f);
}

/* ---- the other statements ------------------------------------------------ */

static void
print_include(const struct include *in, FILE *f)
{
	fputs("include", f);
	print_word(&in->path, f);
	if (in->sha256.len > 0) {
		fputs(" sha256", f);
		print_word(&in->sha256, f);
	}
	fputc('\n', f);
}

static void
print_let(const struct let *l, FILE *f)
{
	bool first = true;
	size_t i;

	fprintf(f, "let %s =", l->name.text);
	if (l->list == NULL || l->value.raw != NULL) {
		print_word(&l->value, f);
	} else {
		fputs(" [", f);
		for (i = 0; i < l->list_n; i++) {
			if (l->list[i].rest)
				continue;
			fputs(first ? "" : ", ", f);
			print_bare(&l->list[i], f);
			first = false;
		}
		fputc(']', f);
	}
	fputc('\n', f);
}

static void
print_never(const struct never *n, FILE *f)
{
	fprintf(f, "never %s%s", n->allow_only ? "allow " : "", keyword_name(n->what));
	print_words(n->word, n->word_n, f);
	if (n->to != NULL) {
		fputs(" to", f);
		print_word(n->to, f);
	}
	if (n->server_n > 0 || n->except_n > 0 || n->that != KW_NONE)
		fputs(" from servers", f);
	print_words(n->server, n->server_n, f);
	if (n->except_n > 0) {
		fputs(" except", f);
		print_words(n->except, n->except_n, f);
	}
	if (n->that != KW_NONE) {
		fprintf(
		    f, " that %s", n->that == KW_SECRET ? "hold" : keyword_name(n->that));
		print_words(n->that_word, n->that_word_n, f);
	}
	fputc('\n', f);
}

static void
print_expectation(const struct expectation *e, FILE *f)
{
	static const char *const verdicts[] = {
	    [VERDICT_DENY] = "deny",
	    [VERDICT_ALLOW] = "allow",
	    [VERDICT_ASK] = "ask",
	};

	fprintf(f, "\t%s", keyword_name(e->kw));
	print_words(e->word, e->word_n, f);
	if (e->from != NULL) {
		fputs(" from", f);
		print_word(e->from, f);
	}
	if (e->in != NULL) {
		fputs(" in", f);
		print_word(e->in, f);
	}
	if (e->env_n > 0) {
		fputs(" with env", f);
		print_words(e->env, e->env_n, f);
	}
	if (e->json != NULL) {
		fputc(' ', f);
		(void)fwrite(e->json, 1, e->json_len, f); /* ferror, at the end */
	}
	fprintf(f, " -> %s\n", verdicts[e->verdict]);
}

static void
print_expect(const struct expect *x, FILE *f)
{
	size_t i;

	fputs("expect", f);
	print_word(&x->name, f);
	fputs(" {\n", f);
	for (i = 0; i < x->row_n; i++)
		print_expectation(&x->row[i], f);
	fputs("}\n", f);
}

static void
print_declare(const struct declare *d, FILE *f)
{
	fputs(keyword_name(d->kw), f);
	print_words(d->word, d->word_n, f);
	fputc('\n', f);
}

static void
print_manifest(const struct manifest *m, FILE *f)
{
	size_t i;

	fputs(keyword_name(m->kw), f);
	print_word(&m->path, f);
	fputs(" {\n", f);
	for (i = 0; i < m->field_n; i++) {
		fputs("\t", f);
		print_bare(&m->field[i].name, f);
		print_words(m->field[i].word, m->field[i].word_n, f);
		fputc('\n', f);
	}
	fputs("}\n", f);
}

/* An empty line between one kind and the next. */
static void
gap(bool *some, FILE *f)
{
	if (*some)
		fputc('\n', f);
	*some = true;
}

static void
print_heads(const struct tree *t, bool *some, FILE *f)
{
	size_t i;

	for (i = 0; i < t->include_n; i++)
		if (t->include[i].at.file < t->source_own) {
			print_include(&t->include[i], f);
			*some = true;
		}
	for (i = 0; i < t->let_n; i++)
		if (t->let[i]->name.at.file < t->source_own) {
			print_let(t->let[i], f);
			*some = true;
		}
	for (i = 0; i < t->declare_n; i++)
		if (t->declare[i].at.file < t->source_own) {
			print_declare(&t->declare[i], f);
			*some = true;
		}
	for (i = 0; i < t->manifest_n; i++)
		if (t->manifest[i].at.file < t->source_own) {
			gap(some, f);
			print_manifest(&t->manifest[i], f);
		}
}

static void
print_claims(const struct tree *t, bool *some, FILE *f)
{
	bool first = true;
	size_t i;

	for (i = 0; i < t->never_n; i++) {
		if (t->never[i].at.file >= t->source_own)
			continue;
		if (first)
			gap(some, f);
		first = false;
		print_never(&t->never[i], f);
	}
	for (i = 0; i < t->expect_n; i++)
		if (t->expect[i].at.file < t->source_own) {
			gap(some, f);
			print_expect(&t->expect[i], f);
		}
}

int
tree_print(const struct tree *t, FILE *f)
{
	bool some = false;
	size_t i;

	print_heads(t, &some, f);
	for (i = 0; i < t->block_n; i++)
		if (t->block[i]->body.at.file < t->source_own) {
			gap(&some, f);
			print_body("block", &t->block[i]->body, f);
		}
	for (i = 0; i < t->server_n; i++)
		if (t->server[i].at.file < t->source_own) {
			gap(&some, f);
			print_body("server", &t->server[i], f);
		}
	print_claims(t, &some, f);
	return ferror(f) ? -EIO : 0;
}
