/*
 * Words to a tree.  One grant is one row of keyword.c: a verdict or none, a
 * number of words, what may stand behind them.  A statement with an error is
 * reported, skipped and left out; parsing goes on behind it.
 */
#include "policy/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	struct lexer lex;
	struct token tok; /* the one at hand */
	struct diag *diag;
	struct diag mute; /* counts what a skipped statement still has wrong */
	struct tree *tree;
	int error; /* 0 or -ENOMEM; everything stops */
};

static void
advance(struct parser *p)
{
	if (p->error == 0)
		p->error = lex_next(&p->lex, &p->tok);
	if (p->error != 0)
		p->tok.kind = TOKEN_END;
}

static bool
at_kind(const struct parser *p, enum token_kind kind)
{
	return p->tok.kind == kind;
}

static enum keyword
at_keyword(const struct parser *p)
{
	return at_kind(p, TOKEN_WORD) ? p->tok.word.kw : KW_NONE;
}

/* Does the word at hand open a statement there? */
static bool
at_place(const struct parser *p, unsigned int where)
{
	return (keyword_row(at_keyword(p))->where & where) != 0;
}

static bool
at_end(const struct parser *p)
{
	return at_kind(p, TOKEN_NEWLINE) || at_kind(p, TOKEN_CLOSE) ||
	       at_kind(p, TOKEN_END);
}

/* What stands there; never a word's text, which may be a value gone astray. */
static const char *
token_text(const struct parser *p)
{
	static const char *const names[] = {
	    [TOKEN_END] = "the end of the file",
	    [TOKEN_NEWLINE] = "the end of the line",
	    [TOKEN_WORD] = "this word",
	    [TOKEN_OPEN] = "`{`",
	    [TOKEN_CLOSE] = "`}`",
	    [TOKEN_LIST] = "`[`",
	    [TOKEN_UNLIST] = "`]`",
	};

	if (at_keyword(p) != KW_NONE)
		return keyword_name(at_keyword(p));
	return names[p->tok.kind];
}

static void
push_word(struct parser *p, struct word **array, size_t *n)
{
	struct word *w = arena_push(p->tree->arena, *array, *n, sizeof(*w));

	if (w == NULL) {
		p->error = -ENOMEM;
		return;
	}
	w[(*n)++] = p->tok.word;
	*array = w;
}

/* ---- recovery ------------------------------------------------------------ */

/*
 * Over the rest of a statement and its { }, up to the newline, or to the `}`
 * that closes the server.  A { } left open ends where a statement begins.
 */
static void
skip_statement(struct parser *p, bool top)
{
	size_t depth = 0;
	bool fresh = false; /* at the start of a line */

	p->lex.flat = false;
	p->lex.diag = &p->mute;
	while (!at_kind(p, TOKEN_END)) {
		if (at_kind(p, TOKEN_NEWLINE) && depth == 0)
			break;
		if (at_kind(p, TOKEN_CLOSE)) {
			if (depth == 0 && !top)
				break;
			if (depth > 0)
				depth--;
		}
		if (at_kind(p, TOKEN_OPEN))
			depth++;
		if (fresh && at_place(p, top ? WHERE_TOP : WHERE_TOP | WHERE_GRANT))
			break;
		fresh = at_kind(p, TOKEN_NEWLINE);
		advance(p);
	}
	p->lex.diag = p->diag;
}

static void
not_in_version(struct parser *p)
{
	diag_error(p->diag, p->tok.at, "`%s` is not in this version",
	    keyword_name(at_keyword(p)));
}

/*
 * A word that may not stand here, and what was perhaps meant.  A word that is
 * near to nothing may be a value gone astray: neither it nor its line is shown.
 */
static void
unknown_word(struct parser *p, const char *what, unsigned int where)
{
	const struct word *w = &p->tok.word;
	enum keyword near = keyword_near(w->raw, w->raw_len, where);
	char shown[DIAG_TEXT_CAP];
	bool hide = p->diag->hide_line;

	p->diag->hide_line = hide || near == KW_NONE || keyword_row(near)->hidden;
	diag_text(shown, w->raw, w->raw_len);
	if (near != KW_NONE)
		diag_error(p->diag, w->at, "unknown %s `%s`; did you mean `%s`?", what,
		    shown, keyword_name(near));
	else if (w->kw != KW_NONE)
		diag_error(p->diag, w->at, "`%s` is no %s", keyword_name(w->kw), what);
	else
		diag_error(p->diag, w->at, "unknown %s", what);
	p->diag->hide_line = hide;
}

/* ---- what stands behind the words ---------------------------------------- */

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

/* May q stand behind s at all, and only once. */
static bool
qual_fits(struct parser *p, const struct stmt *s, enum keyword kw, struct at at)
{
	if ((keyword_row(kw)->quals & keyword_row(s->kw)->quals) == 0) {
		diag_error(p->diag, at, "`%s` cannot stand behind `%s`", keyword_name(kw),
		    keyword_name(s->kw));
		return false;
	}
	if (has_qual(s, kw)) {
		diag_error(p->diag, at, "`%s` stands here twice", keyword_name(kw));
		return false;
	}
	return true;
}

static bool
qualifier(struct parser *p, struct stmt *s)
{
	struct qual q = {.kw = at_keyword(p), .at = p->tok.at};

	if (at_place(p, WHERE_LATER)) {
		not_in_version(p);
		return false;
	}
	if (!qual_fits(p, s, q.kw, q.at))
		return false;
	advance(p);
	if (!at_kind(p, TOKEN_WORD) || !p->tok.word.quoted) {
		diag_error(p->diag, p->tok.at, "`%s` takes %s", keyword_name(q.kw),
		    keyword_row(q.kw)->takes);
		return false;
	}
	push_word(p, &q.word, &q.word_n);
	advance(p);
	push_qual(p, s, &q);
	return true;
}

/* One word of an option list. */
static bool
option(struct parser *p, struct stmt *s)
{
	struct qual q = {.kw = at_keyword(p), .at = p->tok.at};

	if (!at_kind(p, TOKEN_WORD)) {
		diag_error(
		    p->diag, p->tok.at, "an option was expected, not %s", token_text(p));
		return false;
	}
	if (at_place(p, WHERE_OPTION) && at_place(p, WHERE_LATER)) {
		not_in_version(p);
		return false;
	}
	if (!at_place(p, WHERE_OPTION)) {
		unknown_word(p, "option", WHERE_OPTION);
		return false;
	}
	if (!qual_fits(p, s, q.kw, q.at))
		return false;
	advance(p);
	push_qual(p, s, &q);
	return true;
}

static bool
options(struct parser *p, struct stmt *s)
{
	struct at open = p->tok.at;

	p->lex.flat = true;
	advance(p);
	while (!at_kind(p, TOKEN_CLOSE)) {
		if (at_kind(p, TOKEN_END)) {
			diag_error(p->diag, open, "this `{` has no `}`");
			return false;
		}
		if (!option(p, s)) {
			p->lex.flat = false;
			while (!at_end(p))
				advance(p);
			if (at_kind(p, TOKEN_CLOSE))
				advance(p);
			return false;
		}
	}
	p->lex.flat = false;
	advance(p);
	return true;
}

/* Near to a word of the list, as it was written. */
static const char *
word_near(const struct word *w, const char *const *list, size_t n)
{
	char text[DIAG_TEXT_CAP];

	return w->quoted ? NULL : diag_near(diag_text(text, w->raw, w->raw_len), list, n);
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
	enum keyword kw = at_keyword(p);
	const struct word *w = &p->tok.word;

	if (kw == KW_ALLOW || kw == KW_ASK || kw == KW_DENY) {
		s->verdict = of[kw];
		s->has_verdict = true;
		advance(p);
		return;
	}
	if (s->kw == KW_TOOL && at_kind(p, TOKEN_WORD) && w->raw_len == 14 &&
	    memcmp(w->raw, "by-annotations", 14) == 0)
		diag_error(
		    p->diag, p->tok.at, "`tool by-annotations` is not in this version");
	else if (at_kind(p, TOKEN_WORD) && word_near(w, verdicts, 3) != NULL)
		diag_error(
		    p->diag, p->tok.at, "did you mean `%s`?", word_near(w, verdicts, 3));
	else
		diag_error(p->diag, p->tok.at, "`%s` is followed by %s",
		    keyword_name(s->kw),
		    keyword_row(s->kw)->word_max == 0 ? "allow or deny"
						      : "allow, ask or deny");
}

static void
too_many(struct parser *p, const struct stmt *s)
{
	diag_error(p->diag, p->tok.at, "`%s` takes %s", keyword_name(s->kw),
	    keyword_row(s->kw)->takes);
}

/* The words of a grant, up to a reserved one or the end. */
static void
words(struct parser *p, struct stmt *s)
{
	const struct keyword_row *row = keyword_row(s->kw);
	enum keyword kw;

	while (at_kind(p, TOKEN_WORD)) {
		kw = p->tok.word.kw;
		/* `timeout ask 20s`: there it is a word like the others */
		if (kw != KW_NONE && !(s->kw == KW_TIMEOUT && kw == KW_ASK))
			return;
		if (s->word_n == row->word_max) {
			too_many(p, s);
			return;
		}
		push_word(p, &s->word, &s->word_n);
		advance(p);
	}
}

static bool
word_is(const struct word *w, const char *text)
{
	return !w->quoted && w->raw_len == strlen(text) &&
	       memcmp(w->raw, text, w->raw_len) == 0;
}

/* NAME [ "=" value ] */
static void
words_env(struct parser *p, struct stmt *s)
{
	if (!at_kind(p, TOKEN_WORD) || at_keyword(p) != KW_NONE)
		return; /* tail() and the number of words report it */
	push_word(p, &s->word, &s->word_n);
	advance(p);
	if (!at_kind(p, TOKEN_WORD) || at_keyword(p) != KW_NONE)
		return;
	if (!word_is(&p->tok.word, "=")) {
		too_many(p, s);
		return;
	}
	advance(p);
	if (!at_kind(p, TOKEN_WORD)) {
		diag_error(p->diag, p->tok.at, "a value is missing behind `=`");
		return;
	}
	if (at_keyword(p) != KW_NONE)
		return;
	push_word(p, &s->word, &s->word_n);
	advance(p);
}

/* NAME from SOURCE reference... */
static void
words_secret(struct parser *p, struct stmt *s)
{
	static const char *const sources[] = {"env", "file", "cmd"};
	size_t i;

	if (!at_kind(p, TOKEN_WORD) || p->tok.word.kw != KW_NONE) {
		diag_error(p->diag, p->tok.at, "`secret` takes %s",
		    keyword_row(KW_SECRET)->takes);
		return;
	}
	push_word(p, &s->word, &s->word_n);
	advance(p);
	if (at_keyword(p) != KW_FROM) {
		diag_error(p->diag, p->tok.at,
		    "`from` was expected: secret NAME from env, file or cmd");
		return;
	}
	advance(p);
	if (at_kind(p, TOKEN_WORD) && word_is(&p->tok.word, "vault")) {
		diag_error(p->diag, p->tok.at, "vault sources are not in this version");
		return;
	}
	for (i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (at_kind(p, TOKEN_WORD) && word_is(&p->tok.word, sources[i]))
			break;
	if (i == sizeof(sources) / sizeof(sources[0])) {
		diag_error(p->diag, p->tok.at,
		    "a source was expected: env NAME, file PATH or cmd PROGRAM...");
		return;
	}
	push_word(p, &s->word, &s->word_n);
	advance(p);
	words(p, s);
}

/* A reserved word where it cannot stand: the argument list ends before it. */
static void
reserved(struct parser *p)
{
	diag_error(p->diag, p->tok.at,
	    "`%s` is a reserved word; write \"%s\" in quotes to mean its text",
	    keyword_name(at_keyword(p)), keyword_name(at_keyword(p)));
}

/* Up to the end of the statement; false when something was wrong. */
static bool
tail(struct parser *p, struct stmt *s)
{
	bool good = true;

	while (good && !at_end(p)) {
		if (at_kind(p, TOKEN_OPEN)) {
			good = options(p, s);
		} else if (at_place(p, WHERE_QUAL)) {
			good = qualifier(p, s);
		} else if (at_kind(p, TOKEN_LIST)) {
			diag_error(p->diag, p->tok.at, "lists are not in this version");
			good = false;
		} else if (at_keyword(p) != KW_NONE) {
			reserved(p);
			good = false;
		} else {
			diag_error(
			    p->diag, p->tok.at, "%s is one too many here", token_text(p));
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
	if (s->word_n < row->word_min)
		diag_error(p->diag, s->at, "`%s` takes %s", row->name, row->takes);
}

static void
grant(struct parser *p, struct server *server)
{
	struct stmt s = {.kw = at_keyword(p), .at = p->tok.at}, *array;
	size_t before = p->diag->error_n;

	p->diag->hide_line = keyword_row(s.kw)->hidden;
	if (at_place(p, WHERE_LATER)) {
		not_in_version(p);
	} else {
		advance(p);
		grant_words(p, &s);
	}
	if (p->diag->error_n != before) {
		server->broken = true;
		skip_statement(p, false);
	} else {
		array =
		    arena_push(p->tree->arena, server->stmt, server->stmt_n, sizeof(s));
		if (array == NULL) {
			p->error = -ENOMEM;
		} else {
			array[server->stmt_n++] = s;
			server->stmt = array;
		}
	}
	p->diag->hide_line = false;
}

/* ---- server -------------------------------------------------------------- */

static void
body_stranger(struct parser *p)
{
	p->diag->hide_line = at_kind(p, TOKEN_WORD);
	if (at_kind(p, TOKEN_WORD) && at_keyword(p) == KW_NONE && !p->tok.word.quoted) {
		p->diag->hide_line = false; /* it decides */
		unknown_word(p, "word", WHERE_GRANT);
	} else if (at_keyword(p) == KW_LET)
		diag_error(p->diag, p->tok.at, "`let` stands outside of a server");
	else
		diag_error(
		    p->diag, p->tok.at, "a grant was expected, not %s", token_text(p));
	p->diag->hide_line = false;
}

/* A statement of the file inside a server: its `}` was forgotten. */
static bool
body_is_left_open(const struct parser *p)
{
	return at_place(p, WHERE_TOP) && at_keyword(p) != KW_LET;
}

static void
body(struct parser *p, struct server *server, struct at open)
{
	while (!at_kind(p, TOKEN_CLOSE)) {
		if (at_kind(p, TOKEN_END) || body_is_left_open(p)) {
			diag_error(p->diag, open, "this `{` has no `}`");
			server->broken = true;
			return;
		}
		if (at_kind(p, TOKEN_NEWLINE)) {
			advance(p);
		} else if (at_place(p, WHERE_GRANT)) {
			grant(p, server);
		} else {
			body_stranger(p);
			server->broken = true;
			skip_statement(p, false);
		}
	}
	advance(p);
}

/* A letter or digit, then letters, digits, `_` and `-`. */
static bool
server_name(const struct word *w)
{
	size_t i;

	for (i = 0; i < w->len; i++)
		if (!name_byte((unsigned char)w->text[i]) && w->text[i] != '-')
			return false;
	return w->len > 0 && w->len <= 64 && w->text[0] != '-' && w->text[0] != '_';
}

static void
push_server(struct parser *p, const struct server *s)
{
	struct tree *t = p->tree;
	struct server *array = arena_push(t->arena, t->server, t->server_n, sizeof(*s));

	if (array == NULL) {
		p->error = -ENOMEM;
		return;
	}
	array[t->server_n++] = *s;
	t->server = array;
}

static void
server(struct parser *p)
{
	struct server s = {.at = p->tok.at};
	struct at open;

	advance(p);
	if (!at_kind(p, TOKEN_WORD)) {
		diag_error(p->diag, p->tok.at, "a name was expected: server NAME {");
		skip_statement(p, true);
		return;
	}
	if (at_keyword(p) != KW_NONE)
		reserved(p);
	s.name = p->tok.word;
	if (!server_name(&s.name))
		diag_error(p->diag, s.name.at,
		    "a server's name is up to 64 letters, digits, `_` and `-`, "
		    "the first a letter or digit");
	advance(p);
	open = p->tok.at;
	if (!at_kind(p, TOKEN_OPEN)) {
		diag_error(
		    p->diag, open, "`{` was expected on the line of the server's name");
		while (!at_kind(p, TOKEN_OPEN) && !at_end(p))
			advance(p);
		while (at_kind(p, TOKEN_NEWLINE))
			advance(p);
		if (!at_kind(p, TOKEN_OPEN))
			return;
	}
	advance(p);
	body(p, &s, open);
	push_server(p, &s);
	if (!s.broken && !at_end(p))
		diag_error(p->diag, p->tok.at, "a new line was expected behind `}`");
}

/* ---- let ----------------------------------------------------------------- */

static bool
let_name(const struct word *w)
{
	size_t i;

	for (i = 0; i < w->len; i++)
		if (!name_byte((unsigned char)w->text[i]))
			return false;
	return !w->quoted && w->len > 0 && w->len <= 64 &&
	       !(w->text[0] >= '0' && w->text[0] <= '9') && w->kw == KW_NONE;
}

static void
push_let(struct parser *p, const struct let *l)
{
	struct tree *t = p->tree;
	struct let **array = arena_push(t->arena, t->let, t->let_n, sizeof(*array));
	struct let *own = arena_alloc(t->arena, sizeof(*own));

	if (array == NULL || own == NULL) {
		p->error = -ENOMEM;
		return;
	}
	*own = *l;
	array[t->let_n++] = own;
	t->let = array;
	let_add(&p->lex.lets, own);
}

static bool
let_words(struct parser *p, struct let *l)
{
	const struct let *old;

	advance(p);
	if (!at_kind(p, TOKEN_WORD) || !let_name(&p->tok.word)) {
		diag_error(p->diag, p->tok.at,
		    "a name was expected: letters, digits and `_`, not a digit first, "
		    "not a reserved word");
		return false;
	}
	l->name = p->tok.word;
	old = let_find(&p->lex.lets, l->name.text, l->name.len);
	if (old != NULL) {
		diag_error(p->diag, l->name.at, "`%s` is already set on line %u",
		    l->name.text, old->name.at.line);
		return false;
	}
	advance(p);
	if (!at_kind(p, TOKEN_WORD) || !word_is(&p->tok.word, "=")) {
		diag_error(
		    p->diag, p->tok.at, "`=` with a space on both sides was expected");
		return false;
	}
	advance(p);
	if (at_kind(p, TOKEN_LIST)) {
		diag_error(p->diag, p->tok.at, "lists are not in this version");
		return false;
	}
	if (!at_kind(p, TOKEN_WORD)) {
		diag_error(p->diag, p->tok.at, "a value is missing behind `=`");
		return false;
	}
	if (at_keyword(p) != KW_NONE)
		reserved(p);
	l->value = p->tok.word;
	advance(p);
	return true;
}

static void
let(struct parser *p)
{
	struct let l = {.used = false};
	size_t before = p->diag->error_n;

	p->diag->hide_line = true;
	if (let_words(p, &l)) {
		if (!at_kind(p, TOKEN_NEWLINE) && !at_kind(p, TOKEN_END))
			diag_error(p->diag, p->tok.at,
			    "a value is one word; quote it if it has spaces");
		/* set even so: one mistake, one message */
		push_let(p, &l);
	}
	if (p->diag->error_n != before)
		skip_statement(p, true);
	p->diag->hide_line = false;
}

/* ---- file ---------------------------------------------------------------- */

static void
top_stranger(struct parser *p)
{
	p->diag->hide_line = keyword_row(at_keyword(p))->hidden || p->tok.word.quoted;
	if (at_place(p, WHERE_GRANT))
		diag_error(p->diag, p->tok.at,
		    "`%s` belongs inside of a server: server NAME { ... }",
		    keyword_name(at_keyword(p)));
	else if (at_kind(p, TOKEN_WORD) && at_keyword(p) == KW_NONE &&
		 !p->tok.word.quoted)
		unknown_word(p, "word", WHERE_TOP);
	else if (at_kind(p, TOKEN_CLOSE))
		diag_error(p->diag, p->tok.at, "this `}` closes nothing");
	else
		diag_error(p->diag, p->tok.at, "a statement was expected, not %s",
		    token_text(p));
	if (at_kind(p, TOKEN_CLOSE))
		advance(p);
	else
		skip_statement(p, true);
	p->diag->hide_line = false;
}

static void
top(struct parser *p)
{
	if (at_place(p, WHERE_TOP) && at_place(p, WHERE_LATER)) {
		not_in_version(p);
		advance(p);
		skip_statement(p, true);
	} else if (at_keyword(p) == KW_SERVER) {
		server(p);
	} else if (at_keyword(p) == KW_LET) {
		let(p);
	} else {
		top_stranger(p);
	}
}

static int
parse_one(
    const struct policy_source *s, uint32_t file, struct diag *diag, struct tree *tree)
{
	struct at whole = {.file = file};
	struct parser p = {.diag = diag, .tree = tree};

	if (s->len > SOURCE_LEN_MAX) {
		diag_error(
		    diag, whole, "the file is larger than %u MiB", SOURCE_LEN_MAX >> 20);
		return 0;
	}
	lex_scan(s, file, diag);
	lex_init(&p.lex, s, file, tree->arena, diag);
	advance(&p);
	while (!at_kind(&p, TOKEN_END)) {
		if (at_kind(&p, TOKEN_NEWLINE))
			advance(&p);
		else
			top(&p);
	}
	return p.error;
}

int
tree_parse(
    const struct policy_source *source, size_t n, struct diag *diag, struct tree *ret)
{
	struct tree t = {.source = source, .source_n = n};
	size_t i;
	int r = 0;

	t.arena = arena_new();
	if (t.arena == NULL)
		return -ENOMEM;
	for (i = 0; i < n && r == 0; i++)
		r = parse_one(&source[i], (uint32_t)i, diag, &t);
	if (r != 0)
		arena_free(t.arena);
	else
		*ret = t;
	return r;
}

void
tree_free(struct tree *t)
{
	arena_free(t->arena);
	memset(t, 0, sizeof(*t));
}
