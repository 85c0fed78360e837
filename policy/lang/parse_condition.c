/*
 * when EXPRESSION: parses and prints conditions over the arguments of a call.
 *
 *	expr  = and { "or" and } .
 *	and   = not { "and" not } .
 *	not   = "not" not | "(" expr ")" | test .
 *	test  = path ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) value
 *	      | path "in" ( "[" value { "," value } "]" | $list )
 *	      | path "matches" pattern | path "under" directory | path "exists" .
 *	path  = "args" { "." key | "[" ( number | QUOTED ) "]" } .
 */
#define DIAG_CODE "condition"

#include "policy/base/arena.h"
#include "policy/lang/parse.h"
#include "policy/lang/scalar.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum cond_kind kind;
} tests[] = {
    {"==", COND_KIND_EQ},
    {"!=", COND_KIND_NE},
    {"<", COND_KIND_LT},
    {"<=", COND_KIND_LE},
    {">", COND_KIND_GT},
    {">=", COND_KIND_GE},
    {"in", COND_KIND_IN},
    {"matches", COND_KIND_MATCHES},
    {"under", COND_KIND_UNDER},
    {"exists", COND_KIND_EXISTS},
};
#define TEST_N (ARRAY_LEN(tests))

struct when {
	struct parser *p;
	size_t node_n;
	unsigned int depth;
};

static struct cond *expr(struct when *);

const char *
cond_name(enum cond_kind kind)
{
	size_t i;

	for (i = 0; i < TEST_N; i++)
		if (tests[i].kind == kind)
			return tests[i].name;
	return kind == COND_KIND_OR ? "or" : kind == COND_KIND_AND ? "and" : "not";
}

/* ---- values -------------------------------------------------------------- */

/* -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?, as in JSON */
static bool
is_number(const char *s)
{
	static const char digits[] = "0123456789";
	size_t n;

	if (*s == '-')
		s++;
	n = strspn(s, digits);
	if (n == 0 || (n > 1 && *s == '0'))
		return false;
	s += n;
	if (*s == '.') {
		n = strspn(++s, digits);
		if (n == 0)
			return false;
		s += n;
	}
	if (*s == 'e' || *s == 'E') {
		s++;
		if (*s == '+' || *s == '-')
			s++;
		n = strspn(s, digits);
		if (n == 0)
			return false;
		s += n;
	}
	return *s == '\0';
}

static enum sealed_value_type
bare_type(const struct word *w)
{
	if (strlen(w->text) != w->len)
		return 0;
	if (strcmp(w->text, "null") == 0)
		return VALUE_NULL;
	if (strcmp(w->text, "true") == 0)
		return VALUE_TRUE;
	if (strcmp(w->text, "false") == 0)
		return VALUE_FALSE;
	return is_number(w->text) ? VALUE_NUMBER : 0;
}

enum sealed_value_type
word_value_type(const struct word *w)
{
	enum sealed_value_type type;

	if (w->quoted || (w->let != NULL && w->let->list == NULL && w->let->value.quoted))
		return VALUE_STRING;
	type = bare_type(w);
	/*
	 * a value from a let or a list is text unless it is spelled as another
	 * type
	 */
	if (type == 0 && (w->let != NULL || w->literal != NULL))
		return VALUE_STRING;
	return type;
}

/* ---- parsing ------------------------------------------------------------- */

static struct cond *
node(struct when *w, enum cond_kind kind, struct at at)
{
	struct cond *c;

	if (w->node_n++ == COND_NODES_MAX) {
		diag_error(w->p->diag, at, "the condition has more than %d parts",
		    COND_NODES_MAX);
		return NULL;
	}
	c = arena_alloc(w->p->tree->arena, sizeof(*c));
	if (c == NULL) {
		w->p->error = -ENOMEM;
		return NULL;
	}
	c->kind = kind;
	c->at = at;
	return c;
}

static bool
at_word(const struct parser *p, const char *text)
{
	return parse_at(p, TOKEN_WORD) && parse_word_is(&p->tok.word, text);
}

static bool
step_push(struct when *w, struct cond *c, const struct cond_step *s, struct at at)
{
	struct cond_step *array;

	if (c->step_n == COND_STEPS_MAX) {
		diag_error(
		    w->p->diag, at, "the path has more than %d steps", COND_STEPS_MAX);
		return false;
	}
	array = arena_push(w->p->tree->arena, c->step, c->step_n, sizeof(*array));
	if (array == NULL) {
		w->p->error = -ENOMEM;
		return false;
	}
	array[c->step_n++] = *s;
	c->step = array;
	return true;
}

bool
cond_key_is_plain(const char *key, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!name_byte((unsigned char)key[i]) && key[i] != '-')
			return false;
	return len > 0;
}

/* ".a.b", the part of a bare word after `args` or `]`. */
static bool
keys(struct when *w, struct cond *c, const char *text, size_t len, struct at at)
{
	struct cond_step s = {.key = NULL};
	const char *end = text + len, *dot;

	while (text < end) {
		if (*text != '.')
			goto bad;
		text++;
		dot = memchr(text, '.', (size_t)(end - text));
		s.key_len = (size_t)((dot == NULL ? end : dot) - text);
		if (!cond_key_is_plain(text, s.key_len))
			goto bad;
		s.key = arena_copy(w->p->tree->arena, text, s.key_len);
		if (s.key == NULL)
			w->p->error = -ENOMEM;
		if (s.key == NULL || !step_push(w, c, &s, at))
			return false;
		text += s.key_len;
	}
	return true;
bad:
	diag_error(w->p->diag, at,
	    "invalid path: expected args.a.b[0] or args[\"any key\"], with spaces around "
	    "operators such as ==");
	return false;
}

/* [3] or ["key"] */
static bool
step_index(struct when *w, struct cond *c)
{
	struct parser *p = w->p;
	struct cond_step s = {.key = NULL};
	struct at at = p->tok.at;
	uint64_t n = 0;

	parse_advance(p);
	if (parse_at(p, TOKEN_WORD) && p->tok.word.quoted) {
		s.key = p->tok.word.text;
		s.key_len = p->tok.word.len;
	} else if (!parse_at(p, TOKEN_WORD) || unit_count(p->tok.word.text, &n) != 0 ||
		   n >= UINT32_MAX) {
		diag_error(
		    p->diag, p->tok.at, "expected a number or a quoted key in `[ ]`");
		return false;
	}
	s.index = (uint32_t)n;
	parse_advance(p);
	if (!parse_at(p, TOKEN_UNLIST)) {
		diag_error(p->diag, p->tok.at, "expected `]`");
		return false;
	}
	parse_advance(p);
	return step_push(w, c, &s, at);
}

static bool
path(struct when *w, struct cond *c)
{
	struct parser *p = w->p;
	const struct word *t = &p->tok.word;

	if (!parse_at(p, TOKEN_WORD) || t->quoted || t->raw_len < 4 ||
	    memcmp(t->raw, "args", 4) != 0 || (t->raw_len > 4 && t->raw[4] != '.')) {
		diag_error(p->diag, p->tok.at,
		    "expected a condition that starts with args, as in args.branch == "
		    "\"main\"");
		return false;
	}
	if (!keys(w, c, t->raw + 4, t->raw_len - 4, t->at))
		return false;
	parse_advance(p);
	while (parse_at(p, TOKEN_LIST)) {
		if (!step_index(w, c))
			return false;
		if (parse_at(p, TOKEN_WORD) && !t->quoted && t->raw[0] == '.') {
			if (!keys(w, c, t->raw, t->raw_len, t->at))
				return false;
			parse_advance(p);
		}
	}
	return true;
}

static bool
value(struct when *w, struct cond *c)
{
	struct parser *p = w->p;

	if (!parse_at(p, TOKEN_WORD) || parse_keyword(p) != KW_NONE) {
		diag_error(p->diag, p->tok.at,
		    "expected a value: a quoted string, a number, true, false or null");
		return false;
	}
	if (word_value_type(&p->tok.word) == 0) {
		diag_error(p->diag, p->tok.at,
		    "expected a number, true, false or null: quote it to use it as a "
		    "string");
		return false;
	}
	parse_push(p, &c->value, &c->value_n);
	parse_advance(p);
	return true;
}

/* "[" value { "," value } "]", or the $name of a list */
static bool
value_list(struct when *w, struct cond *c)
{
	struct parser *p = w->p;
	bool good = true;

	if (!parse_at(p, TOKEN_LIST)) {
		if (parse_at(p, TOKEN_WORD) && p->tok.word.let != NULL &&
		    p->tok.word.let->list != NULL) {
			parse_push(p, &c->value, &c->value_n);
			parse_advance(p);
			return true;
		}
		diag_error(p->diag, p->tok.at, "`in` takes a list, as in [\"a\", \"b\"]");
		return false;
	}
	p->lex.flat = true;
	parse_advance(p);
	while (good && !parse_at(p, TOKEN_UNLIST)) {
		good = value(w, c);
		if (good && parse_at(p, TOKEN_COMMA))
			parse_advance(p);
		else if (good && !parse_at(p, TOKEN_UNLIST)) {
			diag_error(p->diag, p->tok.at, "expected `,` or `]`");
			good = false;
		}
	}
	p->lex.flat = false;
	if (!good)
		return false;
	if (c->value_n == 0 || c->value_n > COND_LIST_MAX) {
		diag_error(p->diag, c->at, "a list has 1 to %d values", COND_LIST_MAX);
		return false;
	}
	parse_advance(p);
	return true;
}

/* A pattern or a directory: one word, any text. */
static bool
value_text(struct when *w, struct cond *c)
{
	struct parser *p = w->p;
	enum sealed_arg_kind kind;
	const char *text;

	if (!parse_at(p, TOKEN_WORD) || parse_keyword(p) != KW_NONE ||
	    (p->tok.word.let != NULL && p->tok.word.let->list != NULL)) {
		diag_error(p->diag, p->tok.at, "`%s` takes %s", cond_name(c->kind),
		    c->kind == COND_KIND_UNDER ? "one directory" : "one pattern");
		return false;
	}
	if (c->kind == COND_KIND_UNDER &&
	    (!word_is_literal(&p->tok.word) || !path_is_normal(p->tok.word.text))) {
		diag_error(p->diag, p->tok.at,
		    "invalid path: expected an absolute path without `//`, `.`, `..`, "
		    "`*` or a trailing `/`");
		return false;
	}
	if (c->kind == COND_KIND_MATCHES &&
	    (word_pattern(p->tree->arena, &p->tok.word, &kind, &text) != 0 ||
		kind == ARG_REST || kind == ARG_CHOICE || kind >= ARG_SLOT ||
		(kind == ARG_LITERAL && strchr(p->tok.word.text, '*') != NULL))) {
		diag_error(p->diag, p->tok.at,
		    "invalid pattern: `*` matches any characters; `**`, `|` and a "
		    "literal `*` are not supported here");
		return false;
	}
	parse_push(p, &c->value, &c->value_n);
	parse_advance(p);
	c->relative = c->kind == COND_KIND_UNDER && at_word(p, "relative");
	if (c->relative)
		parse_advance(p);
	return true;
}

/* Ordering operators compare numbers only. */
static bool
order_is_good(struct when *w, const struct cond *c)
{
	if (c->kind < COND_KIND_LT || c->kind > COND_KIND_GE ||
	    word_value_type(&c->value[0]) == VALUE_NUMBER)
		return true;
	diag_error(
	    w->p->diag, c->value[0].at, "`%s` only compares numbers", cond_name(c->kind));
	return false;
}

static struct cond *
test(struct when *w)
{
	struct parser *p = w->p;
	struct cond *c = node(w, COND_KIND_NONE, p->tok.at);
	size_t i;
	bool good;

	if (c == NULL || !path(w, c))
		return NULL;
	for (i = 0; i < TEST_N; i++)
		if (at_word(p, tests[i].name))
			break;
	if (i == TEST_N) {
		diag_error(p->diag, p->tok.at,
		    "expected one of == != < <= > >= in matches under exists");
		return NULL;
	}
	c->kind = tests[i].kind;
	parse_advance(p);
	if (c->kind == COND_KIND_EXISTS)
		return c;
	if (c->kind == COND_KIND_IN)
		good = value_list(w, c);
	else if (c->kind == COND_KIND_MATCHES || c->kind == COND_KIND_UNDER)
		good = value_text(w, c);
	else
		good = value(w, c) && order_is_good(w, c);
	if (good && c->kind != COND_KIND_IN && c->value_n != 1) {
		diag_error(p->diag, c->at, "`%s` takes one value, not a list",
		    cond_name(c->kind));
		good = false;
	}
	return good ? c : NULL;
}

/* NOLINTBEGIN(misc-no-recursion): at most SEALED_COND_DEPTH_MAX deep */
static struct cond *
not_or_test(struct when *w)
{
	struct parser *p = w->p;
	struct cond *c = NULL;
	struct at at = p->tok.at;

	if (++w->depth >= SEALED_COND_DEPTH_MAX) {
		diag_error(p->diag, at,
		    "the condition is nested more than %d levels deep",
		    SEALED_COND_DEPTH_MAX - 1);
	} else if (at_word(p, "not")) {
		c = node(w, COND_KIND_NOT, at);
		parse_advance(p);
		if (c != NULL && (c->left = not_or_test(w)) == NULL)
			c = NULL;
	} else if (parse_at(p, TOKEN_LEFT)) {
		parse_advance(p);
		c = expr(w);
		if (c != NULL && !parse_at(p, TOKEN_RIGHT)) {
			diag_error(p->diag, p->tok.at, "expected `)`");
			c = NULL;
		}
		if (c != NULL)
			parse_advance(p);
	} else {
		c = test(w);
	}
	w->depth--;
	return c;
}
/* NOLINTEND(misc-no-recursion) */

/* a OP b OP c, left-associative; part() parses what binds tighter. */
static struct cond *
chain(struct when *w, enum cond_kind kind, struct cond *(*part)(struct when *))
{
	struct cond *left = part(w), *c;

	while (left != NULL && at_word(w->p, cond_name(kind))) {
		c = node(w, kind, w->p->tok.at);
		parse_advance(w->p);
		if (c == NULL || (c->right = part(w)) == NULL)
			return NULL;
		c->left = left;
		left = c;
	}
	return left;
}

static struct cond *
and_of(struct when *w)
{
	return chain(w, COND_KIND_AND, not_or_test);
}

static struct cond *
expr(struct when *w)
{
	return chain(w, COND_KIND_OR, and_of);
}

struct cond *
when_parse(struct parser *p)
{
	struct when w = {.p = p};
	struct cond *c = expr(&w);

	p->lex.parens = false;
	return c; /* cppcheck-suppress returnDanglingLifetime ; of the arena, not of w */
}
