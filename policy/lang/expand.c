/*
 * Expands a bare word.  $name and ${name} become the value of their `let`, as
 * plain text that is never split and never a pattern.  A `*` or `|` outside of
 * them is a pattern.
 */
#define DIAG_CODE "let"

#include "policy/base/arena.h"
#include "policy/lang/expand.h"

#include <errno.h>
#include <string.h>

#include "policy/sealed/arg_slot.h"
#include "shim/base/hash.h"
#include "shim/help/near_word.h"

#define NEAR_NAMES_MAX 256 /* that are compared with an undefined one */
#define NAME_SHOWN_MAX 64

static struct known *
known_find(const struct lets *lets, const char *name, size_t len, bool block)
{
	struct known *k;

	for (k = lets->bucket[hash32(name, len) % LET_HASH]; k != NULL; k = k->next)
		if (k->len == len && (k->block != NULL) == block &&
		    memcmp(k->name, name, len) == 0)
			return k;
	return NULL;
}

struct let *
let_find(const struct lets *lets, const char *name, size_t len)
{
	struct known *k = known_find(lets, name, len, false);

	return k == NULL ? NULL : k->let;
}

struct block *
block_find(const struct lets *lets, const char *name, size_t len)
{
	struct known *k = known_find(lets, name, len, true);

	return k == NULL ? NULL : k->block;
}

int
known_add(struct arena *arena, struct lets *lets, const char *name, size_t len,
    struct let *let, struct block *block)
{
	struct known **b = &lets->bucket[hash32(name, len) % LET_HASH];
	struct known *k = arena_alloc(arena, sizeof(*k));

	if (k == NULL)
		return -ENOMEM;
	*k = (struct known){name, len, let, block, *b};
	*b = k;
	return 0;
}

bool
name_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

/* ---- $name --------------------------------------------------------------- */

struct expand {
	const struct lets *lets;
	struct diag *diag;
	struct word *word;
	char *text; /* NULL in the first pass, which measures and reports */
	uint8_t *literal;
	size_t n;
};

static void
put(struct expand *e, const char *text, size_t len, bool literal)
{
	if (e->text != NULL) {
		memcpy(e->text + e->n, text, len);
		memset(e->literal + e->n, literal, len);
	}
	e->n += len;
}

/* The name of a let that was probably meant, or NULL. */
static const char *
near_let(const struct lets *lets, const char *name, size_t len)
{
	const char *list[NEAR_NAMES_MAX];
	char word[NAME_SHOWN_MAX];
	size_t n = 0;

	if (len >= sizeof(word))
		return NULL;
	memcpy(word, name, len);
	word[len] = '\0';
	for (size_t i = 0; i < LET_HASH; i++)
		for (const struct known *k = lets->bucket[i];
		     k != NULL && n < NEAR_NAMES_MAX; k = k->next)
			if (k->let != NULL)
				list[n++] = k->let->name.text;
	return near_word(word, list, n);
}

static void
unset(struct expand *e, size_t off, const char *name, size_t len)
{
	const char *near = near_let(e->lets, name, len);
	struct at at = e->word->at;
	char shown[DIAG_TEXT_CAP];

	at.col += (uint32_t)off;
	diag_error(e->diag, at, "`$%s` is not defined above this line%s%s%s",
	    diag_text(shown, name, len), near != NULL ? ": did you mean `$" : "",
	    near != NULL ? near : "", near != NULL ? "`?" : "");
}

/* A list is several words, so it cannot be part of one. */
static void
put_list(struct expand *e, const struct let *l, size_t off, size_t took)
{
	struct at at = e->word->at;

	at.col += (uint32_t)off;
	if (took == e->word->raw_len)
		e->word->let = l;
	else if (e->text == NULL)
		diag_error(e->diag, at,
		    "`$%s` is a list: write it as a separate argument", l->name.text);
}

/* Reads the name after the `$` at off; returns how many bytes of raw it used. */
static size_t
put_let(struct expand *e, size_t off)
{
	const char *raw = e->word->raw + off, *name = raw + 1;
	size_t left = e->word->raw_len - off - 1, n = 0, took;
	bool brace = left > 0 && name[0] == '{';
	struct at at = e->word->at;
	struct let *l;

	if (brace) {
		name++;
		left--;
	}
	while (n < left && name_byte((unsigned char)name[n]))
		n++;
	took = 1 + n + (brace ? 2 : 0);
	if (n == 0 || (brace && (n == left || name[n] != '}'))) {
		at.col += (uint32_t)off;
		if (e->text == NULL)
			diag_error(e->diag, at,
			    "expected a name after `$`, as in $name or ${name}; quote "
			    "the word to use the character literally");
		return 1;
	}
	l = let_find(e->lets, name, n);
	if (l != NULL && l->list != NULL) {
		l->used = true;
		put_list(e, l, off, took);
	} else if (l != NULL) {
		l->used = true;
		if (took == e->word->raw_len)
			e->word->let = l;
		put(e, l->value.text, l->value.len, true);
	} else if (e->text == NULL) {
		unset(e, off, name, n);
	}
	return took;
}

static void
expand_round(struct expand *e)
{
	const struct word *w = e->word;
	size_t i = 0;

	e->n = 0;
	while (i < w->raw_len && e->n <= WORD_LEN_MAX) {
		if (w->raw[i] == '$') {
			i += put_let(e, i);
		} else {
			put(e, w->raw + i, 1, false);
			i++;
		}
	}
}

int
word_expand(
    struct arena *arena, const struct lets *lets, struct diag *diag, struct word *w)
{
	struct expand e = {.lets = lets, .diag = diag, .word = w};
	bool plain = lets == NULL || memchr(w->raw, '$', w->raw_len) == NULL;

	if (!plain)
		expand_round(&e);
	if ((plain ? w->raw_len : e.n) > WORD_LEN_MAX) {
		diag_error(
		    diag, w->at, "this word is longer than %d bytes", WORD_LEN_MAX);
		plain = true;
		w->raw_len = 1;
	}
	if (plain) {
		w->text = arena_copy(arena, w->raw, w->raw_len);
		w->len = w->raw_len;
		return w->text == NULL ? -ENOMEM : 0;
	}
	e.text = arena_alloc(arena, e.n + 1);
	e.literal = arena_alloc(arena, e.n + 1);
	if (e.text == NULL || e.literal == NULL)
		return -ENOMEM;
	expand_round(&e);
	w->text = e.text;
	w->len = e.n;
	w->literal = e.literal;
	return 0;
}

/* ---- patterns ------------------------------------------------------------ */

/* How often c occurs in the word: as a pattern, and as plain text. */
static void
count(const struct word *w, char c, size_t *ret_pattern, size_t *ret_plain)
{
	size_t i, pattern = 0, plain = 0;

	for (i = 0; i < w->len; i++) {
		if (w->text[i] != c)
			continue;
		if (w->quoted || (w->literal != NULL && w->literal[i]))
			plain++;
		else
			pattern++;
	}
	*ret_pattern = pattern;
	*ret_plain = plain;
}

/* The word ends with a literal "<...>": a slot, or options. */
static bool
has_slot(const struct word *w)
{
	size_t open, close, plain;

	count(w, '<', &open, &plain);
	count(w, '>', &close, &plain);
	return open > 0 && close > 0 && w->len > 1 && w->text[w->len - 1] == '>' &&
	       (w->literal == NULL || !w->literal[w->len - 1]);
}

bool
word_is_literal(const struct word *w)
{
	size_t star, bar, plain;

	count(w, '*', &star, &plain);
	count(w, '|', &bar, &plain);
	return star == 0 && bar == 0 && !has_slot(w);
}

/* Inside a slot, text from a let is plain: it may not hold slot syntax. */
static const char *
slot_refuses(const struct word *w, enum sealed_arg_kind kind)
{
	size_t i;

	for (i = 0; w->literal != NULL && i < w->len; i++)
		if (w->literal[i] && strchr("<>,|*", w->text[i]) != NULL)
			return "`<>,|*` are not allowed inside a slot";
	return kind == ARG_OPTIONS ? slot_check_options(w->text, w->len)
				   : slot_check(w->text, w->len);
}

const char *
word_refused(const struct word *w)
{
	return has_slot(w)
		   ? slot_refuses(w,
			 w->text[0] == '<' && w->text[1] == '-' ? ARG_OPTIONS : ARG_SLOT)
		   : NULL;
}

int
word_pattern(struct arena *arena, const struct word *w, enum sealed_arg_kind *ret_kind,
    const char **ret_text)
{
	size_t star, star_plain, bar, bar_plain;
	enum sealed_arg_kind kind;
	const char *text;

	count(w, '*', &star, &star_plain);
	count(w, '|', &bar, &bar_plain);
	if (has_slot(w))
		kind = w->text[0] == '<' && w->text[1] == '-' ? ARG_OPTIONS : ARG_SLOT;
	else if (star == 0 && bar == 0)
		kind = ARG_LITERAL;
	else if (bar > 0)
		kind = ARG_CHOICE;
	else if (w->len == 1)
		kind = ARG_ANY;
	else if (w->len == 2 && star == 2)
		kind = ARG_REST;
	else
		kind = ARG_GLOB;
	if (kind >= ARG_SLOT && slot_refuses(w, kind) != NULL)
		return -EINVAL;
	if (kind == ARG_CHOICE && (star > 0 || bar_plain > 0))
		return -EINVAL;
	if (kind == ARG_GLOB && (star_plain > 0 || strstr(w->text, "**") != NULL))
		return -EINVAL;
	text = kind == ARG_ANY || kind == ARG_REST ? "" : w->text;
	text = arena_copy(arena, text, strlen(text));
	if (text == NULL)
		return -ENOMEM;
	*ret_kind = kind;
	*ret_text = text;
	return 0;
}
