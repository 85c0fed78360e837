/*
 * The tree as text again, one statement a line.  What is printed parses to the
 * same tree: a bare word stays as it was written, $name and all, and a quoted
 * one stays quoted.  Comments are not kept.
 */
#include "policy/text.h"

#include <errno.h>
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
		n = lex_utf8(w->text + i, w->len - i, &code);
		if (n == 0) { /* not text: nothing that parsed holds it */
			n = 1;
			continue;
		}
		p = code != 0 && code < 0x80 ? strchr(from, (int)code) : NULL;
		if (p != NULL)
			fprintf(f, "\\%c", to[p - from]);
		else if (code < 0x20 || (code >= 0x7f && code < 0xa0) || lex_unseen(code))
			fprintf(f, "\\u%04x", code);
		else
			(void)fwrite(w->text + i, 1, n, f); /* ferror, at the end */
	}
	fputc('"', f);
}

static void
print_word(const struct word *w, FILE *f)
{
	fputc(' ', f);
	if (w->quoted)
		print_quoted(w, f);
	else
		(void)fwrite(w->raw, 1, w->raw_len, f); /* ferror, at the end */
}

static void
print_qual(const struct qual *q, FILE *f)
{
	size_t i;

	if ((keyword_row(q->kw)->where & WHERE_OPTION) != 0) {
		fprintf(f, " { %s }", keyword_name(q->kw));
		return;
	}
	fprintf(f, " %s", keyword_name(q->kw));
	for (i = 0; i < q->word_n; i++)
		print_word(&q->word[i], f);
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
	for (i = 0; i < s->word_n; i++) {
		if (i == 1 && s->kw == KW_ENV)
			fputs(" =", f);
		if (i == 1 && s->kw == KW_SECRET)
			fputs(" from", f);
		print_word(&s->word[i], f);
	}
	for (i = 0; i < s->qual_n; i++)
		print_qual(&s->qual[i], f);
	fputc('\n', f);
}

int
tree_print(const struct tree *t, FILE *f)
{
	const struct server *s;
	size_t i, k;

	for (i = 0; i < t->let_n; i++) {
		fprintf(f, "let %s =", t->let[i]->name.text);
		print_word(&t->let[i]->value, f);
		fputc('\n', f);
	}
	for (i = 0; i < t->server_n; i++) {
		s = &t->server[i];
		fputs(i > 0 || t->let_n > 0 ? "\nserver" : "server", f);
		print_word(&s->name, f);
		fputs(" {\n", f);
		for (k = 0; k < s->stmt_n; k++)
			print_stmt(&s->stmt[k], f);
		fputs("}\n", f);
	}
	return ferror(f) ? -EIO : 0;
}
