/*
 * Prints a policy in canonical form: one statement a line, one space between
 * words, a tab for each level, at most one empty line in a row.  Words keep
 * their spelling and comments keep their place; a comment inside a statement
 * moves in front of it.
 *
 * The input goes through the same lexer as every policy, and the output is
 * lexed again: it must give the same words in the same order.
 */
#include "policy/base/arena.h"
#include "policy/lang/fmt.h"
#include "policy/lang/lex.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

/* A word, a mark, a comment, or the end of a line. */
enum item_kind { ITEM_WORD, ITEM_OPEN, ITEM_CLOSE, ITEM_COMMENT, ITEM_NEWLINE };

struct item {
	enum item_kind kind;
	const char *raw;
	size_t len;
	bool touches; /* nothing separates it from the item before */
	enum keyword kw;
};

struct items {
	struct item *v;
	size_t n, cap;
};

/* ---- reading -------------------------------------------------------------------- */

static int
item_add(struct items *list, enum item_kind kind, const char *raw, size_t len)
{
	struct item *grown;

	if (list->n == list->cap) {
		list->cap = list->cap == 0 ? 4096 : 2 * list->cap;
		grown = realloc(list->v, list->cap * sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		list->v = grown;
	}
	list->v[list->n++] = (struct item){.kind = kind, .raw = raw, .len = len};
	return 0;
}

/* Reads what separates two tokens: spaces, continued lines, comments. */
static int
gap_read(struct items *list, const char *text, size_t from, size_t to)
{
	const char *end;
	size_t len;
	int r = 0;

	for (; from < to && r == 0; from++) {
		if (text[from] != '#')
			continue;
		end = memchr(text + from, '\n', to - from);
		len = end == NULL ? to - from : (size_t)(end - (text + from));
		while (len > 0 &&
		       (text[from + len - 1] == ' ' || text[from + len - 1] == '\t'))
			len--;
		r = item_add(list, ITEM_COMMENT, text + from, len);
		from = end == NULL ? to : (size_t)(end - text);
	}
	return r;
}

static const enum item_kind kinds[] = {
    [TOKEN_NEWLINE] = ITEM_NEWLINE,
    [TOKEN_OPEN] = ITEM_OPEN,
    [TOKEN_LIST] = ITEM_OPEN,
    [TOKEN_CLOSE] = ITEM_CLOSE,
    [TOKEN_UNLIST] = ITEM_CLOSE,
};

static int
token_read(
    struct items *list, const char *text, const struct token *t, size_t *at, size_t end)
{
	enum item_kind kind = ITEM_WORD;
	size_t start = end - 1;
	int r;

	if (t->kind == TOKEN_WORD) {
		start = (size_t)(t->word.raw - text);
		if (t->word.raw < text || start < *at || start > end)
			return -EINVAL; /* a word that is not a slice of the text */
	} else if ((size_t)t->kind < ARRAY_LEN(kinds)) {
		kind = kinds[t->kind];
	}
	r = gap_read(list, text, *at, start);
	if (r == 0)
		r = item_add(list, kind, text + start, end - start);
	if (r != 0)
		return r;
	list->v[list->n - 1].touches = start == *at;
	list->v[list->n - 1].kw =
	    t->kind == TOKEN_WORD && !t->word.quoted ? t->word.kw : KW_NONE;
	*at = end;
	return 0;
}

/* Every token and comment of a text. */
static int
items_read(const struct policy_source *s, struct arena *arena, struct items *ret)
{
	struct diag mute = {.out = NULL};
	struct lexer l;
	struct token t = {.kind = TOKEN_NEWLINE};
	size_t at = 0;
	int r;

	lex_init(&l, s, 0, arena, &mute);
	at = l.off;
	for (;;) {
		r = lex_next(&l, &t);
		if (r != 0)
			return r;
		if (t.kind == TOKEN_END)
			return gap_read(ret, s->text, at, s->len);
		r = token_read(ret, s->text, &t, &at, l.off);
		if (r != 0)
			return r;
	}
}

/* ---- writing ---------------------------------------------------------------------- */

struct fmt {
	const struct item *item;
	size_t n, at;
	struct buf *out;
	int error;

	bool body;   /* inside the { } of a server, a block, an expect ... */
	bool asks;   /* ... of an expect: its { } holds JSON */
	bool fresh;  /* this body, or the file, has no statement yet */
	bool blank;  /* an empty line came before */
	bool ended;  /* a { } at file level just closed */
	size_t line; /* offset in out at which the current line begins */
};

static void
put(struct fmt *f, const char *text, size_t len)
{
	if (f->error == 0)
		f->error = buf_put(f->out, text, len);
}

static void
put_indent(struct fmt *f, bool more)
{
	f->line = f->out->len;
	put(f, "\t\t\t", (f->body ? 1 : 0) + (more ? 2 : 0));
}

/* Prints an empty line where the source has one or the form requires one. */
static void
lead(struct fmt *f, bool opens)
{
	bool wants = f->blank || f->ended || (opens && f->at > 0 && !f->fresh);
	const struct item *before = f->at > 1 ? &f->item[f->at - 2] : NULL;

	/* a comment directly above a statement belongs to it */
	if (!f->blank && !f->ended && before != NULL && before->kind == ITEM_COMMENT)
		wants = false;
	if (wants && !f->fresh)
		put(f, "\n", 1);
	f->blank = f->ended = f->fresh = false;
}

static size_t
columns(const char *text, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		if (text[i] == '\t')
			n += 8;
		else
			n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* The number of items joined to this one without a space, itself included. */
static size_t
run_columns(const struct fmt *f, const struct item *from, const struct item *end)
{
	const struct item *i;
	size_t n = columns(from->raw, from->len);

	for (i = from + 1; i < end && i->touches; i++)
		n += columns(i->raw, i->len);
	return n;
}

/* Does a space precede this item? */
static bool
spaced(const struct fmt *f, const struct item *i, const struct item *before)
{
	bool brace = i->raw[0] == '{' || i->raw[0] == '}' || before->raw[0] == '{' ||
		     before->raw[0] == '}';

	/* between quotes, braces are not marks */
	brace = brace && (i->kind != ITEM_WORD || before->kind != ITEM_WORD);
	return !i->touches || (brace && !f->asks);
}

/* The value is on the line of its `=`. */
static bool
is_equals(const struct item *i)
{
	return i->len == 1 && i->raw[0] == '=';
}

/* One statement, and the comment after it, if any. */
static void
put_statement(struct fmt *f, size_t from, size_t to)
{
	const struct item *i, *before = NULL, *end = f->item + to;
	size_t depth = 0;

	put_indent(f, false);
	for (i = f->item + from; i < end; i++) {
		if (i->kind == ITEM_COMMENT || i->kind == ITEM_NEWLINE)
			continue;
		if (i->kind == ITEM_CLOSE && depth > 0)
			depth--;
		if (before != NULL && spaced(f, i, before)) {
			if (depth == 0 && i->kind != ITEM_CLOSE && !is_equals(before) &&
			    columns(
				(char *)f->out->data + f->line, f->out->len - f->line) +
				    run_columns(f, i, end) + 3 >
				FMT_WIDTH) {
				put(f, " \\\n", 3);
				put_indent(f, true);
			} else {
				put(f, " ", 1);
			}
		}
		put(f, i->raw, i->len);
		if (i->kind == ITEM_OPEN)
			depth++;
		before = i;
	}
}

/* ---- statements ---------------------------------------------------------- */

static bool
opens_body(enum keyword kw)
{
	return kw == KW_SERVER || kw == KW_BLOCK || kw == KW_EXPECT || kw == KW_SECRET;
}

/*
 * The end of the statement at `from`: a newline outside every list, the brace
 * that opens a body (*ret_body), or the one that closes it.
 */
static size_t
statement_end(const struct fmt *f, size_t from, bool *ret_body)
{
	size_t depth = 0, i;

	*ret_body = false;
	for (i = from; i < f->n; i++) {
		const struct item *it = &f->item[i];

		bool ends = it->kind == ITEM_CLOSE || it->kind == ITEM_NEWLINE ||
			    it->kind == ITEM_COMMENT;

		if (depth == 0 && ends)
			return i;
		if (it->kind == ITEM_OPEN) {
			if (!f->body && depth == 0 && opens_body(f->item[from].kw)) {
				*ret_body = true;
				return i + 1;
			}
			depth++;
		} else if (it->kind == ITEM_CLOSE) {
			depth--;
		}
	}
	return i;
}

/* Comments inside the lists of a statement, printed in front of it. */
static void
put_lifted(struct fmt *f, size_t from, size_t to)
{
	for (; from < to; from++) {
		if (f->item[from].kind != ITEM_COMMENT)
			continue;
		put_indent(f, false);
		put(f, f->item[from].raw, f->item[from].len);
		put(f, "\n", 1);
	}
}

/* A comment on the same line after what was just written. */
static void
put_behind(struct fmt *f)
{
	if (f->at < f->n && f->item[f->at].kind == ITEM_COMMENT) {
		put(f, "  ", 2);
		put(f, f->item[f->at].raw, f->item[f->at].len);
		f->at++;
	}
	put(f, "\n", 1);
	if (f->at < f->n && f->item[f->at].kind == ITEM_NEWLINE)
		f->at++;
}

static void
statement(struct fmt *f)
{
	size_t from = f->at, to;
	bool body;

	to = statement_end(f, from, &body);
	lead(f, body);
	put_lifted(f, from, to);
	put_statement(f, from, to);
	f->at = to;
	if (body) {
		f->body = f->fresh = true;
		f->asks = f->item[from].kw == KW_EXPECT;
	}
	put_behind(f);
}

static void
close_body(struct fmt *f)
{
	f->body = f->asks = f->blank = f->fresh = false;
	put_indent(f, false);
	put(f, f->item[f->at].raw, f->item[f->at].len);
	f->at++;
	put_behind(f);
	f->ended = true;
}

static void
next(struct fmt *f)
{
	const struct item *i = &f->item[f->at];

	if (i->kind == ITEM_NEWLINE) {
		f->blank = true;
		f->at++;
	} else if (i->kind == ITEM_CLOSE && f->body) {
		close_body(f);
	} else if (i->kind == ITEM_COMMENT) {
		lead(f, false);
		put_indent(f, false);
		put(f, i->raw, i->len);
		put(f, "\n", 1);
		f->at++;
		if (f->at < f->n && f->item[f->at].kind == ITEM_NEWLINE)
			f->at++;
	} else if (i->kind == ITEM_CLOSE) {
		f->error = -EINVAL;
	} else {
		statement(f);
	}
}

/* ---- comparison ---------------------------------------------------------- */

/*
 * The next item of one kind: comments only, or everything except comments and
 * line ends.
 */
static const struct item *
same_next(const struct items *list, size_t *at, bool comments)
{
	const struct item *i;

	while (*at < list->n) {
		i = &list->v[(*at)++];
		if (i->kind != ITEM_NEWLINE && (i->kind == ITEM_COMMENT) == comments)
			return i;
	}
	return NULL;
}

static bool
same(const struct items *a, const struct items *b, bool comments)
{
	size_t ai = 0, bi = 0;
	const struct item *x, *y;

	do {
		x = same_next(a, &ai, comments);
		y = same_next(b, &bi, comments);
		if (x == NULL || y == NULL)
			return x == y;
	} while (x->kind == y->kind && x->len == y->len &&
		 memcmp(x->raw, y->raw, x->len) == 0);
	return false;
}

static int
verify(const struct items *was, const struct buf *out, struct arena *arena)
{
	const struct policy_source s = {.text = (const char *)out->data, .len = out->len};
	struct items is = {.n = 0};
	int r;

	r = items_read(&s, arena, &is);
	if (r == 0 && (!same(was, &is, false) || !same(was, &is, true)))
		r = -EINVAL;
	free(is.v);
	return r;
}

int
fmt_text(const struct policy_source *s, struct buf *out)
{
	struct items items = {.n = 0};
	struct arena *arena = arena_new();
	struct fmt f = {.out = out, .fresh = true};

	if (arena == NULL)
		return -ENOMEM;
	f.error = items_read(s, arena, &items);
	f.item = items.v;
	f.n = items.n;
	while (f.error == 0 && f.at < f.n)
		next(&f);
	if (f.error == 0)
		f.error = verify(&items, out, arena);
	free(items.v);
	arena_free(arena);
	return f.error;
}
