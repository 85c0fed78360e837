/*
 * Names and argument lists.  The patterns form one nondeterministic automaton.
 * The sets of nodes that texts reach are searched breadth first, so the first
 * text found for a cell is a shortest one.
 *
 * An argument list is written as its texts, each followed by a NUL.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/algebra/nodes.h"
#include "policy/sealed/arg_slot.h"
#include "shim/base/hash.h"

struct sets {
	enum sets_domain domain;
	struct node *node;
	size_t node_n, node_cap;
	uint32_t *start; /* of each pattern */
	size_t pattern_n, pattern_cap;
	char **key; /* for each pattern: equal patterns have equal keys */
	size_t *key_len;
};

struct sets *
sets_new(enum sets_domain domain)
{
	struct sets *s = calloc(1, sizeof(*s));

	if (s != NULL)
		s->domain = domain;
	return s;
}

void
sets_free(struct sets *s)
{
	size_t i;

	if (s == NULL)
		return;
	for (i = 0; i < s->pattern_n; i++)
		free(s->key[i]);
	free(s->key);
	free(s->key_len);
	free(s->start);
	free(s->node);
	free(s);
}

/* ---- patterns to nodes -------------------------------------------------------- */

uint32_t
node_new(struct sets *s, enum node_kind kind, uint8_t byte, uint32_t next, uint32_t other)
{
	size_t cap = s->node_cap == 0 ? 256 : 2 * s->node_cap;
	struct node *grown;

	if (s->node_n == s->node_cap) {
		grown = cap >= NONE / 2 ? NULL : realloc(s->node, cap * sizeof(*grown));
		if (grown == NULL)
			return NONE;
		s->node = grown;
		s->node_cap = cap;
	}
	s->node[s->node_n] = (struct node){(uint8_t)kind, byte, next, other};
	return (uint32_t)s->node_n++;
}

void
node_join(struct sets *s, uint32_t split, uint32_t other)
{
	s->node[split].other = other;
}

uint32_t
build_bytes(struct sets *s, const char *text, size_t len, bool glob, uint32_t next)
{
	while (len-- > 0 && next != NONE)
		next = glob && text[len] == '*'
			   ? node_new(s, NODE_STAR, 0, next, NONE)
			   : node_new(s, NODE_BYTE, (uint8_t)text[len], next, NONE);
	return next;
}

uint32_t
build_choice(struct sets *s, const char *text, size_t len, uint32_t next)
{
	uint32_t all = NONE, one;
	size_t at = 0, end;

	for (;;) {
		for (end = at; end < len && text[end] != '|'; end++)
			;
		one = build_bytes(s, text + at, end - at, false, next);
		if (one == NONE)
			return NONE;
		all = all == NONE ? one : node_new(s, NODE_SPLIT, 0, one, all);
		if (end == len || all == NONE)
			return all;
		at = end + 1;
	}
}

static uint32_t
build_rest(struct sets *s, uint32_t next)
{
	uint32_t split = node_new(s, NODE_SPLIT, 0, next, NONE), nul, star;

	if (split == NONE)
		return NONE;
	nul = node_new(s, NODE_BYTE, 0, split, NONE);
	star = nul == NONE ? NONE : node_new(s, NODE_STAR, 0, nul, NONE);
	if (star == NONE)
		return NONE;
	s->node[split].other = star;
	return split;
}

static uint32_t
build_word(struct sets *s, const struct sets_word *w, uint32_t next)
{
	if (w->kind == SETS_REST)
		return build_rest(s, next);
	if (w->kind == SETS_OPTIONS)
		return build_options(s, w->text, w->len, next);
	next = node_new(s, NODE_BYTE, 0, next, NONE);
	if (next == NONE)
		return NONE;
	if (w->kind == SETS_SLOT)
		return build_slot(s, w->text, w->len, next);
	if (w->kind == SETS_ANY)
		return node_new(s, NODE_STAR, 0, next, NONE);
	if (w->kind == SETS_CHOICE)
		return build_choice(s, w->text, w->len, next);
	return build_bytes(s, w->text, w->len, w->kind == SETS_GLOB, next);
}

/* ---- adding ---------------------------------------------------------------------- */

static bool
words_fit(const struct sets *s, const struct sets_word *w, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (w[i].kind < SETS_LITERAL || w[i].kind > SETS_OPTIONS ||
		    (w[i].kind == SETS_REST && i + 1 != n))
			return false;
		if (w[i].len > 0 && memchr(w[i].text, 0, w[i].len) != NULL)
			return false;
		if ((w[i].kind == SETS_SLOT && slot_check(w[i].text, w[i].len) != NULL) ||
		    (w[i].kind == SETS_OPTIONS &&
			slot_check_options(w[i].text, w[i].len) != NULL))
			return false;
	}
	return s->domain == SETS_ARGV ||
	       (n == 1 && w[0].kind != SETS_REST && w[0].kind != SETS_OPTIONS);
}

/* All words as bytes: a kind and a text each. */
static char *
key_make(const struct sets_word *w, size_t n, size_t *ret_len)
{
	size_t i, len = 0, at = 0;
	char *key;

	for (i = 0; i < n; i++)
		len += 2 + w[i].len;
	key = malloc(len + 1);
	if (key == NULL)
		return NULL;
	for (i = 0; i < n; i++) {
		key[at++] = (char)w[i].kind;
		if (w[i].len > 0)
			memcpy(key + at, w[i].text, w[i].len);
		at += w[i].len;
		key[at++] = 0;
	}
	*ret_len = len;
	return key;
}

static int
patterns_grow(struct sets *s)
{
	size_t cap = s->pattern_cap == 0 ? 16 : 2 * s->pattern_cap;
	uint32_t *start;
	size_t *len;
	char **key;

	if (s->pattern_n < s->pattern_cap)
		return 0;
	start = realloc(s->start, cap * sizeof(*start));
	if (start != NULL)
		s->start = start;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): its elements are pointers */
	key = realloc(s->key, cap * sizeof(*key));
	if (key != NULL)
		s->key = key;
	len = realloc(s->key_len, cap * sizeof(*len));
	if (len != NULL)
		s->key_len = len;
	if (start == NULL || key == NULL || len == NULL)
		return -ENOMEM;
	s->pattern_cap = cap;
	return 0;
}

int
sets_add(struct sets *s, const struct sets_word *w, size_t n, uint32_t *ret)
{
	uint32_t at, i;
	size_t len;
	char *key;

	if (!words_fit(s, w, n))
		return -EINVAL;
	key = key_make(w, n, &len);
	if (key == NULL || patterns_grow(s) != 0) {
		free(key);
		return -ENOMEM;
	}
	for (i = 0; i < s->pattern_n; i++)
		if (s->key_len[i] == len && memcmp(s->key[i], key, len) == 0) {
			free(key);
			*ret = i;
			return 0;
		}
	at = node_new(s, NODE_ACCEPT, 0, NONE, (uint32_t)s->pattern_n);
	while (n-- > 0 && at != NONE)
		at = build_word(s, &w[n], at);
	if (at == NONE) {
		free(key);
		return -ENOMEM;
	}
	s->key[s->pattern_n] = key;
	s->key_len[s->pattern_n] = len;
	s->start[s->pattern_n] = at;
	*ret = (uint32_t)s->pattern_n++;
	return 0;
}

/* ---- search -------------------------------------------------------------- */

/* A set of nodes reached together, with the shortest text that reaches it. */
struct state {
	uint32_t *node; /* ascending; BYTE, STAR and ACCEPT only */
	uint32_t n;
	uint32_t from; /* the previous state, or NONE */
	uint32_t hash_next;
	uint8_t byte; /* the byte that leads here from it */
	uint8_t open; /* inside a text; for a name, before its end */
};

#define HASH_N 65536

struct walk {
	const struct sets *s;
	struct state *state;
	size_t state_n, state_cap, bytes;
	uint32_t hash[HASH_N];
	uint8_t *seen; /* scratch: one flag for each node */
	uint32_t *set, *stack;
	size_t set_n;
	uint32_t *cell_hash; /* states that form a cell, hashed by accepted patterns */
	uint32_t *cell_next;
	uint32_t *in;
};

static uint32_t
hash_of(const uint32_t *v, size_t n, uint32_t seed)
{
	uint32_t h = HASH32_START ^ seed; /* of 32-bit words */
	size_t i;

	for (i = 0; i < n; i++) {
		h = hash32_add(h, v[i]);
		h ^= h >> 15;
	}
	return h % HASH_N;
}

static int
u32_order(const void *va, const void *vb)
{
	const uint32_t *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

/* Adds a node to the current set, with all nodes reachable without input. */
static void
reach(struct walk *w, uint32_t first)
{
	const struct node *node = w->s->node;
	size_t n = 0;
	uint32_t i;

	if (w->seen[first])
		return;
	w->seen[first] = 1;
	w->stack[n++] = first;
	while (n > 0) {
		i = w->stack[--n];
		w->set[w->set_n++] = i;
		if (node[i].kind != NODE_STAR && node[i].kind != NODE_SPLIT)
			continue;
		if (!w->seen[node[i].next]) {
			w->seen[node[i].next] = 1;
			w->stack[n++] = node[i].next;
		}
		if (node[i].kind == NODE_SPLIT && !w->seen[node[i].other]) {
			w->seen[node[i].other] = 1;
			w->stack[n++] = node[i].other;
		}
	}
}

/* Sorts the current set and drops nodes that only lead to others. */
static void
settle(struct walk *w)
{
	size_t i, n = 0;

	for (i = 0; i < w->set_n; i++) {
		w->seen[w->set[i]] = 0;
		if (w->s->node[w->set[i]].kind != NODE_SPLIT)
			w->set[n++] = w->set[i];
	}
	w->set_n = n;
	if (n > 1)
		qsort(w->set, n, sizeof(*w->set), u32_order);
}

/* Stores the current set as a state, if it is new. */
static int
state_add(struct walk *w, uint32_t from, uint8_t byte, bool open)
{
	uint32_t h = hash_of(w->set, w->set_n, open), i;
	size_t size = w->set_n * sizeof(*w->set);
	struct state *st, *grown;

	for (i = w->hash[h]; i < w->state_n; i = w->state[i].hash_next)
		if (w->state[i].n == w->set_n && w->state[i].open == open &&
		    memcmp(w->state[i].node, w->set, size) == 0)
			return 0;
	w->bytes += size;
	if (w->state_n == SETS_STATES_MAX || w->bytes > SETS_BYTES_MAX)
		return -E2BIG;
	if (w->state_n == w->state_cap) {
		w->state_cap = w->state_cap == 0 ? 256 : 2 * w->state_cap;
		grown = realloc(w->state, w->state_cap * sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		w->state = grown;
	}
	st = &w->state[w->state_n];
	*st = (struct state){.n = (uint32_t)w->set_n,
	    .from = from,
	    .hash_next = w->hash[h],
	    .byte = byte,
	    .open = open};
	st->node = malloc(size > 0 ? size : 1);
	if (st->node == NULL)
		return -ENOMEM;
	memcpy(st->node, w->set, size);
	w->hash[h] = (uint32_t)w->state_n++;
	return 0;
}

static bool
takes(const struct node *node, uint8_t byte)
{
	if (node->kind == NODE_RANGE)
		return byte >= node->byte && byte <= node->other;
	return node->kind == NODE_BYTE && node->byte == byte;
}

static int
step(struct walk *w, uint32_t from, uint8_t byte)
{
	const struct node *node = w->s->node;
	uint32_t i, k;

	w->set_n = 0;
	for (i = 0; i < w->state[from].n; i++) {
		k = w->state[from].node[i];
		if (takes(&node[k], byte))
			reach(w, node[k].next);
		else if (node[k].kind == NODE_STAR && byte != 0)
			reach(w, k);
	}
	settle(w);
	return state_add(w, from, byte, byte != 0);
}

static int
expand(struct walk *w, uint32_t from)
{
	const struct node *node = w->s->node;
	bool wanted[256] = {false}, other[256] = {false};
	bool one = w->s->domain != SETS_ARGV;
	uint16_t class[256];
	int c, r = 0;
	uint32_t i;

	/* a single text ends with its NUL */
	if (one && from != 0 && !w->state[from].open)
		return 0;
	for (i = 0; i < w->state[from].n; i++)
		if (node[w->state[from].node[i]].kind == NODE_BYTE)
			wanted[node[w->state[from].node[i]].byte] = true;
	byte_classes(node, w->state[from].node, w->state[from].n, class);
	byte_others(class, wanted, other);
	for (c = 1; c < 256 && r == 0; c++)
		if (other[c])
			r = step(w, from, (uint8_t)c);
	wanted[0] = w->s->domain != SETS_NAME || from != 0;
	for (c = 0; c < 256 && r == 0; c++)
		if (wanted[c])
			r = step(w, from, (uint8_t)c);
	return r;
}

/* ---- cells --------------------------------------------------------------- */

/* The patterns that a state accepts, ascending. */
static size_t
accepts(const struct walk *w, const struct state *st, uint32_t *in)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < st->n; i++)
		if (w->s->node[st->node[i]].kind == NODE_ACCEPT)
			in[n++] = w->s->node[st->node[i]].other;
	if (n > 1)
		qsort(in, n, sizeof(*in), u32_order);
	return n;
}

/* Is this state the first of its cell? Then w->in has the patterns. */
static bool
cell_is_new(struct walk *w, uint32_t i, size_t *ret_n)
{
	size_t n = accepts(w, &w->state[i], w->in), k;
	uint32_t *other = w->in + w->s->pattern_n, h = hash_of(w->in, n, 7), j;

	for (j = w->cell_hash[h]; j != NONE; j = w->cell_next[j]) {
		k = accepts(w, &w->state[j], other);
		if (k == n && memcmp(other, w->in, n * sizeof(*other)) == 0)
			return false;
	}
	w->cell_next[i] = w->cell_hash[h];
	w->cell_hash[h] = i;
	*ret_n = n;
	return true;
}

/* The texts that lead to a state, in one block of memory, or NULL. */
static char *
spell(const struct walk *w, uint32_t i, struct sets_cell *ret)
{
	size_t len = 0, words = 0, at;
	const char **text;
	size_t *text_len;
	char *bytes;
	uint32_t k;

	for (k = i; w->state[k].from != NONE; k = w->state[k].from, len++)
		words += w->state[k].byte == 0;
	text = malloc((words + 1) * (sizeof(*text) + sizeof(*text_len)) + len + 1);
	if (text == NULL)
		return NULL;
	text_len = (size_t *)(void *)(text + words + 1);
	bytes = (char *)(text_len + words + 1);
	bytes[len] = 0;
	for (k = i, at = len; w->state[k].from != NONE; k = w->state[k].from)
		bytes[--at] = (char)w->state[k].byte;
	for (at = 0, words = 0; at < len; words++) {
		text[words] = bytes + at;
		text_len[words] = strlen(bytes + at);
		at += text_len[words] + 1;
	}
	ret->text = text;
	ret->text_len = text_len;
	ret->text_n = words;
	return (char *)text;
}

static int
tell(struct walk *w, sets_fn *fn, void *arg)
{
	struct sets_cell cell = {.in = w->in};
	char *block;
	uint32_t i;
	int r = 0;

	w->cell_next = malloc((w->state_n + 1) * sizeof(*w->cell_next));
	if (w->cell_next == NULL)
		return -ENOMEM;
	for (i = 0; i < w->state_n && r == 0; i++) {
		if (w->state[i].open || (w->s->domain != SETS_ARGV && i == 0))
			continue;
		if (!cell_is_new(w, i, &cell.in_n))
			continue;
		block = spell(w, i, &cell);
		if (block == NULL)
			return -ENOMEM;
		r = fn(arg, &cell);
		free(block);
	}
	return r;
}

static int
walk_open(struct walk *w)
{
	size_t n = w->s->node_n + 1, i;

	w->seen = calloc(n, 1);
	w->set = calloc(n, sizeof(*w->set));
	w->stack = malloc(n * sizeof(*w->stack));
	w->in = malloc((2 * w->s->pattern_n + 1) * sizeof(*w->in));
	w->cell_hash = malloc(HASH_N * sizeof(*w->cell_hash));
	if (w->seen == NULL || w->set == NULL || w->stack == NULL || w->in == NULL ||
	    w->cell_hash == NULL)
		return -ENOMEM;
	memset(w->hash, 0xff, sizeof(w->hash));
	memset(w->cell_hash, 0xff, HASH_N * sizeof(*w->cell_hash));
	for (i = 0; i < w->s->pattern_n; i++)
		reach(w, w->s->start[i]);
	settle(w);
	return state_add(w, NONE, 0, false);
}

int
sets_cells(const struct sets *s, sets_fn *fn, void *arg)
{
	struct walk *w = calloc(1, sizeof(*w));
	size_t i;
	int r;

	if (w == NULL)
		return -ENOMEM;
	w->s = s;
	r = walk_open(w);
	for (i = 0; i < w->state_n && r == 0; i++)
		r = expand(w, (uint32_t)i);
	if (r == 0)
		r = tell(w, fn, arg);
	for (i = 0; i < w->state_n; i++)
		free(w->state[i].node);
	free(w->state);
	free(w->seen);
	free(w->set);
	free(w->stack);
	free(w->in);
	free(w->cell_hash);
	free(w->cell_next);
	free(w);
	return r;
}

bool
sets_in(const struct sets_cell *cell, uint32_t pattern)
{
	size_t i;

	for (i = 0; i < cell->in_n; i++)
		if (cell->in[i] == pattern)
			return true;
	return false;
}
