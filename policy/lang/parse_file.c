/*
 * File-level statements other than servers and blocks: let, never, expect.
 */
#define DIAG_CODE "syntax"

#include "policy/base/arena.h"
#include "policy/lang/parse.h"

#include <errno.h>
#include <string.h>

/* Expects the end of the line; false: reported. */
static bool
line_ends(struct parser *p)
{
	if (parse_at(p, TOKEN_NEWLINE) || parse_at(p, TOKEN_END))
		return true;
	if (parse_keyword(p) != KW_NONE)
		parse_reserved(p);
	else
		diag_error(p->diag, p->tok.at, "unexpected %s", parse_token_text(p));
	return false;
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
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): its elements are pointers */
	struct let **array = arena_push(t->arena, t->let, t->let_n, sizeof(*array));
	struct let *own = arena_alloc(t->arena, sizeof(*own));

	if (array == NULL || own == NULL ||
	    known_add(t->arena, p->lets, l->name.text, l->name.len, own, NULL) != 0) {
		p->error = -ENOMEM;
		return;
	}
	*own = *l;
	array[t->let_n++] = own;
	t->let = array;
}

/* Marks every byte of a list value as plain text. */
static void
list_literal(struct parser *p, struct let *l)
{
	uint8_t *literal;
	size_t i;

	for (i = 0; i < l->list_n; i++) {
		literal = arena_alloc(p->tree->arena, l->list[i].len + 1);
		if (literal == NULL) {
			p->error = -ENOMEM;
			return;
		}
		memset(literal, 1, l->list[i].len);
		l->list[i].literal = literal;
	}
}

/* "[" value { "," value } [ "," ] "]" */
static bool
let_list(struct parser *p, struct let *l)
{
	struct at open = p->tok.at;

	p->lex.flat = p->lex.commas = true;
	parse_advance(p);
	while (parse_at(p, TOKEN_WORD)) {
		if (parse_keyword(p) != KW_NONE)
			parse_reserved(p);
		parse_push(p, &l->list, &l->list_n);
		parse_advance(p);
		if (parse_at(p, TOKEN_COMMA))
			parse_advance(p);
		else if (!parse_at(p, TOKEN_UNLIST))
			break;
	}
	p->lex.flat = p->lex.commas = false;
	if (!parse_at(p, TOKEN_UNLIST)) {
		diag_error(p->diag, parse_at(p, TOKEN_END) ? open : p->tok.at,
		    "expected values separated by `,`, then `]`");
		return false;
	}
	parse_advance(p);
	if (l->list_n == 0 || l->list_n > COND_LIST_MAX) {
		diag_error(p->diag, open, "a list has 1 to %d values", COND_LIST_MAX);
		return false;
	}
	list_literal(p, l);
	return true;
}

static bool
let_value(struct parser *p, struct let *l)
{
	if (parse_at(p, TOKEN_LIST))
		return let_list(p, l);
	if (!parse_at(p, TOKEN_WORD)) {
		diag_error(p->diag, p->tok.at, "expected a value after `=`");
		return false;
	}
	if (parse_keyword(p) != KW_NONE)
		parse_reserved(p);
	l->value = p->tok.word;
	if (l->value.let != NULL && l->value.let->list != NULL) {
		l->list = l->value.let->list;
		l->list_n = l->value.let->list_n;
	}
	parse_advance(p);
	return true;
}

static bool
let_words(struct parser *p, struct let *l)
{
	const struct let *old;

	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD) || !let_name(&p->tok.word)) {
		diag_error(p->diag, p->tok.at,
		    "expected a name: letters, digits and `_`, not starting with a "
		    "digit, and not a keyword");
		return false;
	}
	l->name = p->tok.word;
	old = let_find(p->lets, l->name.text, l->name.len);
	if (old != NULL) {
		diag_error(p->diag, l->name.at,
		    "duplicate `%s`: first defined on line %u", l->name.text,
		    old->name.at.line);
		return false;
	}
	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD) || !parse_word_is(&p->tok.word, "=")) {
		diag_error(p->diag, p->tok.at, "expected `=` with a space on both sides");
		return false;
	}
	parse_advance(p);
	return let_value(p, l);
}

void
top_let(struct parser *p)
{
	struct let l = {.used = false};
	size_t before = p->diag->error_n;

	p->diag->hide_line = true;
	if (let_words(p, &l)) {
		if (!parse_at(p, TOKEN_NEWLINE) && !parse_at(p, TOKEN_END))
			diag_error(p->diag, p->tok.at,
			    "a value is one word: quote it if it contains spaces");
		/*
		 * define it even after an error, so that one mistake gives one
		 * message
		 */
		push_let(p, &l);
	}
	if (p->diag->error_n != before)
		parse_skip(p, true);
	p->diag->hide_line = false;
}

/* ---- never --------------------------------------------------------------- */

/* May `never` name this keyword? */
static bool
is_claim(enum keyword kw)
{
	return (keyword_row(kw)->where & WHERE_ASKED) != 0 || kw == KW_SECRET;
}

static enum keyword
that_word(const struct parser *p)
{
	if (!parse_at(p, TOKEN_WORD))
		return KW_NONE;
	if (parse_word_is(&p->tok.word, "hold"))
		return KW_SECRET;
	return p->tok.word.kw;
}

/* that hold NAME... | that write PATH... | ... */
static bool
never_that(struct parser *p, struct never *n)
{
	parse_advance(p);
	n->that = that_word(p);
	n->that_at = p->tok.at;
	if (n->that == KW_NONE || !is_claim(n->that)) {
		diag_error(p->diag, p->tok.at,
		    "expected hold, read, write, exec, net, tool, resource or prompt "
		    "after `that`");
		return false;
	}
	parse_advance(p);
	parse_words(p, &n->that_word, &n->that_word_n, WORDS_ANY);
	return true;
}

/* from servers [ NAME... ] [ except NAME... ] [ that ... ] */
static bool
never_servers(struct parser *p, struct never *n)
{
	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD) || !parse_word_is(&p->tok.word, "servers")) {
		diag_error(p->diag, p->tok.at, "expected `servers` after `from`");
		return false;
	}
	parse_advance(p);
	while (parse_at(p, TOKEN_WORD) && parse_keyword(p) == KW_NONE &&
	       !parse_word_is(&p->tok.word, "that")) {
		parse_push(p, &n->server, &n->server_n);
		parse_advance(p);
	}
	if (parse_keyword(p) == KW_EXCEPT) {
		parse_advance(p);
		while (parse_at(p, TOKEN_WORD) && parse_keyword(p) == KW_NONE &&
		       !parse_word_is(&p->tok.word, "that")) {
			parse_push(p, &n->except, &n->except_n);
			parse_advance(p);
		}
		if (n->except_n == 0) {
			diag_error(p->diag, p->tok.at, "`except` takes server names");
			return false;
		}
	}
	if (parse_at(p, TOKEN_WORD) && parse_word_is(&p->tok.word, "that"))
		return never_that(p, n);
	return true;
}

static bool
never_words(struct parser *p, struct never *n)
{
	struct word *to = NULL;
	size_t to_n = 0;

	parse_advance(p);
	if (parse_keyword(p) == KW_ALLOW) {
		n->allow_only = true;
		parse_advance(p);
	}
	n->what = parse_keyword(p);
	if (n->what == KW_NONE || !is_claim(n->what)) {
		diag_error(p->diag, p->tok.at,
		    "expected read, write, exec, net, tool, resource, prompt, secret, "
		    "sampling, elicitation or roots after `never`");
		return false;
	}
	parse_advance(p);
	parse_words(p, &n->word, &n->word_n, WORDS_ANY);
	if (n->what == KW_NET && parse_keyword(p) == KW_TO) {
		parse_advance(p);
		parse_words(p, &to, &to_n, 1);
		n->to = to;
		if (to_n == 0) {
			diag_error(p->diag, p->tok.at, "`to` takes %s",
			    keyword_row(KW_TO)->takes);
			return false;
		}
	}
	if (parse_keyword(p) == KW_FROM && !never_servers(p, n))
		return false;
	return line_ends(p);
}

void
top_never(struct parser *p)
{
	struct never n = {.at = p->tok.at}, *array;
	struct tree *t = p->tree;

	if (!never_words(p, &n)) {
		parse_skip(p, true);
		return;
	}
	array = arena_push(t->arena, t->never, t->never_n, sizeof(n));
	if (array == NULL) {
		p->error = -ENOMEM;
		return;
	}
	array[t->never_n++] = n;
	t->never = array;
}

/* ---- expect -------------------------------------------------------------- */

/*
 * The JSON object at the current position, up to its last `}`: raw, parsed by
 * the matcher.
 */
static bool
json(struct parser *p, struct expectation *e)
{
	struct lexer *l = &p->lex;
	size_t start = l->off - 1, depth = 1, i;
	bool text = false;

	for (i = l->off; i < l->len && depth > 0; i++) {
		char c = l->text[i];

		if (text && c == '\\' && i + 1 < l->len && l->text[i + 1] != '\n')
			i++;
		else if (c == '"')
			text = !text;
		else if (c == '\n' && text)
			break;
		else if (!text && (c == '{' || c == '['))
			depth++;
		else if (!text && (c == '}' || c == ']'))
			depth--;
	}
	if (depth > 0) {
		diag_error(p->diag, p->tok.at, "unterminated JSON");
		return false;
	}
	e->json = l->text + start;
	e->json_len = i - start;
	while (l->off < i) {
		l->at.col++;
		if (l->text[l->off++] == '\n') {
			l->at.line++;
			l->at.col = 1;
		}
	}
	parse_advance(p);
	return true;
}

/* from PATH, in PATH, with env NAME...: facts about the caller. */
static bool
expect_fact(struct parser *p, struct expectation *e)
{
	enum keyword kw = parse_keyword(p);
	struct word **into = kw == KW_FROM ? &e->from : &e->in;
	size_t n = 0;

	parse_advance(p);
	if (kw == KW_WITH) {
		if (parse_keyword(p) == KW_ENV)
			parse_advance(p);
		while (parse_at(p, TOKEN_WORD) && !parse_word_is(&p->tok.word, "->") &&
		       parse_keyword(p) == KW_NONE) {
			parse_push(p, &e->env, &e->env_n);
			parse_advance(p);
		}
		n = e->env_n;
	} else if (*into == NULL && parse_at(p, TOKEN_WORD) &&
		   !parse_word_is(&p->tok.word, "->")) {
		parse_words(p, into, &n, 1);
	}
	if (n == 0)
		diag_error(p->diag, p->tok.at, "`%s` takes %s", keyword_name(kw),
		    kw == KW_WITH ? "env and names of variables" : "one path");
	return n > 0;
}

static void
expect_arguments(struct parser *p, struct expectation *e)
{
	while (parse_at(p, TOKEN_WORD) && parse_keyword(p) == KW_NONE &&
	       !parse_word_is(&p->tok.word, "->")) {
		parse_push(p, &e->word, &e->word_n);
		parse_advance(p);
	}
}

static bool
expect_verdict(struct parser *p, struct expectation *e)
{
	static const enum sealed_verdict of[KW_END] = {
	    [KW_ALLOW] = VERDICT_ALLOW,
	    [KW_ASK] = VERDICT_ASK,
	    [KW_DENY] = VERDICT_DENY,
	};
	enum keyword kw;

	if (!parse_at(p, TOKEN_WORD) || !parse_word_is(&p->tok.word, "->")) {
		diag_error(p->diag, p->tok.at, "expected `->` and allow, ask or deny");
		return false;
	}
	parse_advance(p);
	kw = parse_keyword(p);
	if (kw != KW_ALLOW && kw != KW_ASK && kw != KW_DENY) {
		diag_error(p->diag, p->tok.at, "expected allow, ask or deny");
		return false;
	}
	e->verdict = of[kw];
	parse_advance(p);
	return true;
}

/* Checks how many words follow each keyword of `expect`. */
static bool
expect_count(struct parser *p, const struct expectation *e)
{
	const char *takes = "one name or path";
	size_t max = 1;

	if (keyword_row(e->kw)->word_max == 0) {
		max = 0;
		takes = "nothing";
	} else if (e->kw == KW_EXEC) {
		max = WORDS_ANY;
		takes = "a program and its arguments";
	} else if (e->kw == KW_NET) {
		takes = "one HOST:PORT";
	}
	if (e->word_n >= (max > 0) && e->word_n <= max)
		return true;
	diag_error(
	    p->diag, e->at, "in `expect`, `%s` takes %s", keyword_name(e->kw), takes);
	return false;
}

static bool
expectation(struct parser *p, struct expect *x)
{
	struct expectation e = {.at = p->tok.at, .kw = parse_statement(p)}, *array;

	if ((keyword_row(e.kw)->where & WHERE_ASKED) == 0) {
		diag_error(p->diag, p->tok.at,
		    "expected exec, net, read, write, tool, resource, prompt, method, "
		    "sampling, elicitation or roots, found %s",
		    parse_token_text(p));
		return false;
	}
	parse_advance(p);
	expect_arguments(p, &e);
	while (e.kw == KW_EXEC &&
	       (parse_keyword(p) == KW_FROM || parse_keyword(p) == KW_IN ||
		   parse_keyword(p) == KW_WITH))
		if (!expect_fact(p, &e))
			return false;
	if (parse_at(p, TOKEN_OPEN) && (e.kw == KW_TOOL || e.kw == KW_PROMPT) &&
	    !json(p, &e))
		return false;
	if (!expect_verdict(p, &e) || !expect_count(p, &e))
		return false;
	if (!parse_at_end(p)) {
		diag_error(p->diag, p->tok.at, "unexpected %s", parse_token_text(p));
		return false;
	}
	array = arena_push(p->tree->arena, x->row, x->row_n, sizeof(e));
	if (array == NULL) {
		p->error = -ENOMEM;
		return false;
	}
	array[x->row_n++] = e;
	x->row = array;
	return true;
}

static void
push_expect(struct parser *p, const struct expect *x)
{
	struct tree *t = p->tree;
	struct expect *array =
	    arena_push(t->arena, t->expect, t->expect_n, sizeof(*array));

	if (array == NULL) {
		p->error = -ENOMEM;
		return;
	}
	array[t->expect_n++] = *x;
	t->expect = array;
}

void
top_expect(struct parser *p)
{
	struct expect x = {.at = p->tok.at};
	struct at open;

	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD) || parse_keyword(p) != KW_NONE) {
		diag_error(
		    p->diag, p->tok.at, "expected the name of a server: expect NAME {");
		parse_skip(p, true);
		return;
	}
	x.name = p->tok.word;
	parse_advance(p);
	open = p->tok.at;
	if (!parse_open(p, "the server's name"))
		return;
	while (!parse_at(p, TOKEN_CLOSE)) {
		if (parse_at(p, TOKEN_END) ||
		    (parse_place(p, WHERE_TOP) && parse_keyword(p) != KW_SECRET)) {
			diag_error(p->diag, open, "unclosed `{`: expected `}`");
			return;
		}
		if (parse_at(p, TOKEN_NEWLINE))
			parse_advance(p);
		else if (!expectation(p, &x))
			parse_skip(p, false);
	}
	parse_advance(p);
	push_expect(p, &x);
	if (!parse_at_end(p))
		diag_error(p->diag, p->tok.at, "expected a newline after `}`");
}
