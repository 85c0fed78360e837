/*
 * Parses grants.  One row of keyword.c defines each kind: whether it has a
 * verdict, how many words, and which qualifiers may follow them.
 */
#define DIAG_CODE "syntax"

#include "policy/base/arena.h"
#include "policy/lang/parse.h"
#include "policy/lang/secret_source.h"
#include "shim/base/array.h"
#include "shim/help/near_word.h"

#include <errno.h>
#include <string.h>

#define APPROVE_WORDS 3 /* per-call with passphrase */

/* ---- qualifiers and options ---------------------------------------------- */

static void
push_qual(struct parser *p, struct stmt *s, const struct qual *q)
{
	struct qual *array = arena_push(p->tree->arena, s->qual, s->qual_n, sizeof(*q));

	if (array == NULL) {
		p->error = -ENOMEM;
		return;
	}
	array[s->qual_n++] = *q;
	s->qual = array;
}

static bool
has_qual(const struct stmt *s, enum keyword kw)
{
	size_t i;

	for (i = 0; i < s->qual_n; i++)
		if (s->qual[i].kw == kw)
			return true;
	return false;
}

/* May q follow s, and only once? */
static bool
qual_fits(struct parser *p, const struct stmt *s, enum keyword kw, struct at at)
{
	if ((keyword_row(kw)->quals & keyword_row(s->kw)->quals) == 0) {
		diag_error(p->diag, at, "`%s` is not allowed after `%s`",
		    keyword_name(kw), keyword_name(s->kw));
		return false;
	}
	/* each `except` of a program adds one pattern */
	if (has_qual(s, kw) && !(kw == KW_EXCEPT && s->kw == KW_EXEC)) {
		diag_error(p->diag, at, "duplicate `%s`", keyword_name(kw));
		return false;
	}
	return true;
}

/* The qualifier that the current word opens. */
static enum keyword
qualifier_word(const struct parser *p, const struct stmt *s)
{
	enum keyword kw;

	if (!parse_at(p, TOKEN_WORD) || p->tok.word.quoted)
		return KW_NONE;
	kw = p->tok.word.kw == KW_NONE
		 ? keyword_context(p->tok.word.raw, p->tok.word.raw_len)
		 : KW_NONE;
	if ((s->kw == KW_NET || s->kw == KW_REMOTE) && p->tok.word.kw == KW_NONE)
		return kw;
	/* the first name of a tool may be `rate`; of a prompt, too, which has no limit */
	if ((keyword_row(kw)->quals & QUAL_LIMIT) != 0 && s->word_n > 0 &&
	    (s->kw == KW_TOOL || s->kw == KW_RESOURCE || s->kw == KW_PROMPT))
		return kw;
	return parse_place(p, WHERE_QUAL) ? p->tok.word.kw : KW_NONE;
}

/* The option that the current word opens; `may` is one only in a secret. */
static enum keyword
option_word(const struct parser *p, const struct stmt *s)
{
	const struct word *w = &p->tok.word;
	enum keyword kw = parse_keyword(p);

	if (kw == KW_NONE && s->kw == KW_SECRET && parse_at(p, TOKEN_WORD) && !w->quoted)
		kw = keyword_context(w->raw, w->raw_len);
	return (keyword_row(kw)->where & WHERE_OPTION) != 0 ? kw : KW_NONE;
}

/*
 * Reads the arguments of a qualifier or an option, at most as many as its row
 * allows.
 */
static void
qual_words(struct parser *p, const struct stmt *s, struct qual *q, size_t max)
{
	size_t min = keyword_row(q->kw)->word_min;

	/*
	 * a word like `plain` opens a qualifier only if no word is still
	 * required
	 */
	while (parse_at(p, TOKEN_WORD) && parse_keyword(p) == KW_NONE &&
	       q->word_n < max &&
	       (q->word_n < min ||
		   (qualifier_word(p, s) == KW_NONE && option_word(p, s) == KW_NONE))) {
		parse_push(p, &q->word, &q->word_n);
		parse_advance(p);
	}
}

static bool
qual_takes(struct parser *p, const struct qual *q)
{
	diag_error(p->diag, p->tok.at, "`%s` takes %s", keyword_name(q->kw),
	    keyword_row(q->kw)->takes);
	return false;
}

static bool
qualifier_when(struct parser *p, struct stmt *s)
{
	p->lex.parens = true;
	parse_advance(p);
	s->when = when_parse(p);
	return s->when != NULL;
}

static bool
is_factor(const struct word *w)
{
	return parse_word_is(w, "passphrase") || parse_word_is(w, "key");
}

/* `with env NAME...`, or `with` and a factor: two qualifiers of a program. */
static enum keyword
with_word(struct parser *p)
{
	parse_advance(p);
	if (parse_keyword(p) != KW_ENV)
		return KW_WITH_FACTOR;
	parse_advance(p);
	return KW_WITH;
}

static bool
qualifier(struct parser *p, struct stmt *s)
{
	struct qual q = {.kw = qualifier_word(p, s), .at = p->tok.at};
	bool with = q.kw == KW_WITH;
	const struct keyword_row *row;

	if (q.kw == KW_WHEN && s->when != NULL) {
		diag_error(p->diag, q.at, "duplicate `when`");
		return false;
	}
	if (with)
		q.kw = with_word(p);
	row = keyword_row(q.kw);
	if (!qual_fits(p, s, q.kw, q.at))
		return false;
	if (q.kw == KW_WHEN)
		return qualifier_when(p, s);
	if (!with)
		parse_advance(p);
	if ((q.kw == KW_BECAUSE || q.kw == KW_INSTEAD) &&
	    (!parse_at(p, TOKEN_WORD) || !p->tok.word.quoted))
		return qual_takes(p, &q);
	qual_words(p, s, &q, row->word_max);
	if (q.word_n < row->word_min ||
	    (q.kw == KW_WITH_FACTOR && !is_factor(&q.word[0])))
		return qual_takes(p, &q);
	push_qual(p, s, &q);
	return true;
}

/* One entry of an option list, with its values. */
static bool
option(struct parser *p, struct stmt *s)
{
	struct qual q = {.kw = option_word(p, s), .at = p->tok.at};

	if (!parse_at(p, TOKEN_WORD)) {
		diag_error(p->diag, p->tok.at, "expected an option, found %s",
		    parse_token_text(p));
		return false;
	}
	if (q.kw == KW_NONE) {
		parse_unknown(p, "option", WHERE_OPTION);
		return false;
	}
	if (!qual_fits(p, s, q.kw, q.at))
		return false;
	parse_advance(p);
	qual_words(p, s, &q, keyword_row(q.kw)->word_max);
	if (q.word_n < keyword_row(q.kw)->word_min)
		return qual_takes(p, &q);
	if (q.kw == KW_APPROVE && parse_keyword(p) == KW_WITH) {
		parse_push(p, &q.word, &q.word_n);
		parse_advance(p);
		qual_words(p, s, &q, APPROVE_WORDS);
	}
	push_qual(p, s, &q);
	return true;
}

static bool
options(struct parser *p, struct stmt *s)
{
	struct at open = p->tok.at;

	p->lex.flat = true;
	parse_advance(p);
	while (!parse_at(p, TOKEN_CLOSE)) {
		if (parse_at(p, TOKEN_END)) {
			diag_error(p->diag, open, "unclosed `{`: expected `}`");
			return false;
		}
		if (!option(p, s)) {
			p->lex.flat = false;
			while (!parse_at_end(p))
				parse_advance(p);
			if (parse_at(p, TOKEN_CLOSE))
				parse_advance(p);
			return false;
		}
	}
	p->lex.flat = false;
	parse_advance(p);
	return true;
}

/* The entry of the list that is nearest to this word, as spelled there. */
static const char *
word_near(const struct word *w, const char *const *list, size_t n)
{
	char text[DIAG_TEXT_CAP];

	return w->quoted ? NULL : near_word(diag_text(text, w->raw, w->raw_len), list, n);
}

/* ---- a grant ------------------------------------------------------------- */

static void
verdict(struct parser *p, struct stmt *s)
{
	static const enum sealed_verdict of[KW_END] = {
	    [KW_ALLOW] = VERDICT_ALLOW,
	    [KW_ASK] = VERDICT_ASK,
	    [KW_DENY] = VERDICT_DENY,
	};
	static const char *const verdicts[] = {"allow", "ask", "deny"};
	enum keyword kw = parse_keyword(p);
	const struct word *w = &p->tok.word;
	bool asks = keyword_row(s->kw)->word_max != 0;

	if (kw == KW_ALLOW || kw == KW_ASK || kw == KW_DENY) {
		s->verdict = of[kw];
		s->has_verdict = true;
		parse_advance(p);
		return;
	}
	if (s->kw == KW_TOOL && parse_at(p, TOKEN_WORD) &&
	    keyword_context(w->raw, w->raw_len) == KW_BY_ANNOTATIONS) {
		s->by_annotations = true;
		parse_advance(p);
	} else if (parse_at(p, TOKEN_WORD) && word_near(w, verdicts, 3) != NULL)
		diag_error(p->diag, p->tok.at, "unknown verdict: did you mean `%s`?",
		    word_near(w, verdicts, 3));
	else
		diag_error(p->diag, p->tok.at, "expected %s after `%s`",
		    asks ? "allow, ask or deny" : "allow or deny", keyword_name(s->kw));
}

static void
too_many(struct parser *p, const struct stmt *s)
{
	diag_error(p->diag, p->tok.at, "`%s` takes %s", keyword_name(s->kw),
	    keyword_row(s->kw)->takes);
}

/* `ask` in `timeout ask 20s`, `secret` in `auth oauth2 client ID secret VARIABLE`. */
static bool
is_ordinary(const struct stmt *s, enum keyword kw)
{
	return (s->kw == KW_TIMEOUT && kw == KW_ASK) ||
	       (s->kw == KW_AUTH && kw == KW_SECRET && s->word_n > 0);
}

/* Reads the words up to a reserved one or the end of the grant. */
static void
words(struct parser *p, struct stmt *s)
{
	const struct keyword_row *row = keyword_row(s->kw);
	enum keyword kw;

	while (parse_at(p, TOKEN_WORD)) {
		kw = p->tok.word.kw;
		if ((kw != KW_NONE && !is_ordinary(s, kw)) ||
		    qualifier_word(p, s) != KW_NONE)
			return;
		if (s->word_n == row->word_max) {
			too_many(p, s);
			return;
		}
		parse_push(p, &s->word, &s->word_n);
		parse_advance(p);
	}
}

/* NAME [ "=" value ] */
static void
words_env(struct parser *p, struct stmt *s)
{
	if (!parse_at(p, TOKEN_WORD) || parse_keyword(p) != KW_NONE)
		return; /* tail() and the check of the word count report it */
	parse_push(p, &s->word, &s->word_n);
	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD) || parse_keyword(p) != KW_NONE)
		return;
	if (!parse_word_is(&p->tok.word, "=")) {
		too_many(p, s);
		return;
	}
	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD)) {
		diag_error(p->diag, p->tok.at, "expected a value after `=`");
		return;
	}
	if (parse_keyword(p) != KW_NONE)
		return;
	parse_push(p, &s->word, &s->word_n);
	parse_advance(p);
}

/* NAME from SOURCE reference... */
static void
words_secret(struct parser *p, struct stmt *s)
{
	if (!parse_at(p, TOKEN_WORD) || p->tok.word.kw != KW_NONE) {
		diag_error(p->diag, p->tok.at, "`secret` takes %s",
		    keyword_row(KW_SECRET)->takes);
		return;
	}
	parse_push(p, &s->word, &s->word_n);
	parse_advance(p);
	if (parse_keyword(p) != KW_FROM) {
		diag_error(p->diag, p->tok.at,
		    "expected `from`: secret NAME from env, file, cmd or vault");
		return;
	}
	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD) || p->tok.word.quoted ||
	    source_find(p->tok.word.text) == NULL) {
		diag_error(p->diag, p->tok.at, "expected a source: %s", source_list());
		return;
	}
	parse_push(p, &s->word, &s->word_n);
	parse_advance(p);
	words(p, s);
}

/* Parses up to the end of the statement; false after an error. */
static bool
tail(struct parser *p, struct stmt *s)
{
	bool good = true;

	while (good && !parse_at_end(p)) {
		if (parse_at(p, TOKEN_OPEN)) {
			good = options(p, s);
		} else if (qualifier_word(p, s) != KW_NONE) {
			good = qualifier(p, s);
		} else if (parse_at(p, TOKEN_LIST)) {
			diag_error(p->diag, p->tok.at,
			    "a list in `[ ]` is only allowed after `let NAME =` or in a "
			    "condition: write the values here one after the other");
			good = false;
		} else if (parse_keyword(p) != KW_NONE) {
			parse_reserved(p);
			good = false;
		} else {
			diag_error(
			    p->diag, p->tok.at, "unexpected %s", parse_token_text(p));
			good = false;
		}
	}
	return good;
}

static void
grant_words(struct parser *p, struct stmt *s)
{
	const struct keyword_row *row = keyword_row(s->kw);
	size_t before = p->diag->error_n;

	if (row->verdict)
		verdict(p, s);
	if (p->diag->error_n != before)
		return;
	if (s->kw == KW_ENV)
		words_env(p, s);
	else if (s->kw == KW_SECRET)
		words_secret(p, s);
	else
		words(p, s);
	if (p->diag->error_n != before || !tail(p, s))
		return;
	if (s->by_annotations && (s->word_n > 0 || s->when != NULL || s->qual_n > 0))
		diag_error(
		    p->diag, s->at, "nothing is allowed after `tool by-annotations`");
	else if (s->word_n < row->word_min && !s->by_annotations)
		diag_error(p->diag, s->at, "`%s` takes %s", row->name, row->takes);
}

static void
push_stmt(struct parser *p, struct server *server, const struct stmt *s)
{
	struct stmt *array =
	    arena_push(p->tree->arena, server->stmt, server->stmt_n, sizeof(*s));

	if (array == NULL) {
		p->error = -ENOMEM;
		return;
	}
	array[server->stmt_n++] = *s;
	server->stmt = array;
}

/* Suggests the nearest defined block. */
static void
block_unknown(struct parser *p, const struct word *w)
{
	const char *list[64], *near;
	size_t i;

	for (i = 0; i < p->tree->block_n && i < ARRAY_LEN(list); i++)
		list[i] = p->tree->block[i]->body.name.text;
	near = word_near(w, list, i);
	if (near != NULL)
		diag_error(p->diag, w->at,
		    "no such block above this line: did you mean `%s`?", near);
	else
		diag_error(
		    p->diag, w->at, "no such block above this line: define it first");
}

/* Copies the statements of the blocks of a `use` into the server. */
static void
use(struct parser *p, struct server *server, const struct stmt *s)
{
	struct block *b;
	struct stmt one;
	size_t i, k;

	for (i = 0; i < s->word_n && p->error == 0; i++) {
		b = block_find(p->lets, s->word[i].text, s->word[i].len);
		if (b == NULL) {
			block_unknown(p, &s->word[i]);
			server->broken = true;
			continue;
		}
		b->used = true;
		server->broken = server->broken || b->body.broken;
		for (k = 0; k < b->body.stmt_n; k++) {
			one = b->body.stmt[k];
			one.expanded = true;
			one.used_at = s->at;
			push_stmt(p, server, &one);
		}
		if (server->stmt_n > SERVER_STMTS_MAX) {
			diag_error(p->diag, s->at, "the server has more than %d grants",
			    SERVER_STMTS_MAX);
			server->broken = true;
			return;
		}
	}
}

void
parse_grant(struct parser *p, struct server *server)
{
	struct stmt s = {.kw = parse_statement(p), .at = p->tok.at};
	size_t before = p->diag->error_n;

	p->diag->hide_line = keyword_row(s.kw)->hidden;
	if (parse_place(p, WHERE_LATER)) {
		parse_not_in_version(p);
	} else {
		parse_advance(p);
		grant_words(p, &s);
	}
	if (p->diag->error_n != before) {
		server->broken = true;
		parse_skip(p, false);
	} else {
		push_stmt(p, server, &s);
		if (s.kw == KW_USE)
			use(p, server, &s);
	}
	p->diag->hide_line = false;
}
