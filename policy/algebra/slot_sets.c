/*
 * Typed slots as automata: the same sets as in policy/sealed/arg_slot.h, except
 * that paths have no maximal length.
 */
#include <stdio.h>
#include <string.h>

#include "policy/algebra/nodes.h"
#include "policy/sealed/arg_slot.h"

static uint32_t
one_of(struct sets *s, uint32_t a, uint32_t b)
{
	if (a == NONE || b == NONE)
		return NONE;
	return node_new(s, NODE_SPLIT, 0, a, b);
}

/* A byte from lo to hi. */
static uint32_t
range(struct sets *s, int lo, int hi, uint32_t next)
{
	return next == NONE ? NONE
			    : node_new(s, NODE_RANGE, (uint8_t)lo, next, (uint32_t)hi);
}

/* Zero or more bytes from these ranges. */
static uint32_t
many(struct sets *s, const int (*ranges)[2], size_t n, uint32_t next)
{
	uint32_t loop = node_new(s, NODE_SPLIT, 0, next, next), all = NONE, one;
	size_t i;

	for (i = 0; i < n && loop != NONE; i++) {
		one = range(s, ranges[i][0], ranges[i][1], loop);
		all = i == 0 ? one : one_of(s, all, one);
		if (all == NONE)
			return NONE;
	}
	if (loop != NONE)
		node_join(s, loop, all);
	return loop;
}

/* ---- numbers ------------------------------------------------------------------- */

static uint32_t
any_digits(struct sets *s, size_t n, uint32_t next)
{
	while (n-- > 0 && next != NONE)
		next = range(s, '0', '9', next);
	return next;
}

/*
 * Numbers with as many digits as `bound` that are on one side of it or equal to
 * it, from digit `from` on.  At each position: either the bound's digit, and
 * continue, or a digit beyond it, and then any digits.
 */
static uint32_t
one_side(
    struct sets *s, const char *bound, size_t from, size_t len, bool above, uint32_t next)
{
	uint32_t all = next;
	size_t at;
	int lo, hi;

	for (at = len; at-- > from && all != NONE;) {
		lo = above ? bound[at] + 1 : '0';
		hi = above ? '9' : bound[at] - 1;
		all = build_bytes(s, bound + at, 1, false, all);
		if (lo <= hi)
			all = one_of(
			    s, all, range(s, lo, hi, any_digits(s, len - at - 1, next)));
	}
	return all;
}

/*
 * Numbers of one length, from lo to hi.  After the first digit that differs,
 * the two bounds are independent.
 */
static uint32_t
between(struct sets *s, const char *lo, const char *hi, size_t len, uint32_t next)
{
	uint32_t low, high, all = next;
	size_t at = 0;

	while (at < len && lo[at] == hi[at])
		at++;
	if (at < len) {
		low = one_side(s, lo, at + 1, len, true, next);
		low = low == NONE ? NONE : build_bytes(s, lo + at, 1, false, low);
		high = one_side(s, hi, at + 1, len, false, next);
		high = high == NONE ? NONE : build_bytes(s, hi + at, 1, false, high);
		all = one_of(s, low, high);
		if (all != NONE && lo[at] + 1 < hi[at])
			all = one_of(s, all,
			    range(s, lo[at] + 1, hi[at] - 1,
				any_digits(s, len - at - 1, next)));
	}
	return all == NONE ? NONE : build_bytes(s, lo, at, false, all);
}

static uint32_t
build_number(struct sets *s, const struct slot_value *v, uint32_t next)
{
	uint64_t first = 0, last = 9;
	uint32_t all = NONE, one;
	char lo[24], hi[24];
	size_t len;

	for (len = 1; len <= 18; len++, first = last + 1, last = 10 * last + 9) {
		if (last < v->lo || first > v->hi)
			continue;
		(void)snprintf(lo, sizeof(lo), "%llu",
		    (unsigned long long)(first > v->lo ? first : v->lo));
		(void)snprintf(hi, sizeof(hi), "%llu",
		    (unsigned long long)(last < v->hi ? last : v->hi));
		one = between(s, lo, hi, len, next);
		if (one == NONE)
			return NONE;
		all = all == NONE ? one : one_of(s, all, one);
		if (all == NONE)
			return NONE;
	}
	return all;
}

/* ---- paths and hosts ------------------------------------------------------------- */

/* '.' and '/' are 46 and 47. */
static const int no_slash[][2] = {{1, 46}, {48, 255}};
static const int no_dot[][2] = {{1, 45}, {48, 255}};

/* A byte in one of two ranges. */
static uint32_t
of_two(struct sets *s, const int (*ranges)[2], uint32_t next)
{
	return one_of(s, range(s, ranges[0][0], ranges[0][1], next),
	    range(s, ranges[1][0], ranges[1][1], next));
}

/* One component of a path: not empty, not "." and not "..". */
static uint32_t
build_part(struct sets *s, uint32_t next)
{
	uint32_t rest = many(s, no_slash, 2, next), more, two, one;

	if (rest == NONE)
		return NONE;
	more = of_two(s, no_slash, rest); /* after ".." */
	two = more == NONE ? NONE : build_bytes(s, ".", 1, false, more);
	two = one_of(s, two, of_two(s, no_dot, rest)); /* after "." */
	one = two == NONE ? NONE : build_bytes(s, ".", 1, false, two);
	return one_of(s, one, of_two(s, no_dot, rest));
}

static uint32_t
build_path(struct sets *s, const struct slot_value *v, uint32_t next)
{
	uint32_t loop = node_new(s, NODE_SPLIT, 0, next, next), below;

	if (loop == NONE)
		return NONE;
	below = build_part(s, loop);
	below = below == NONE ? NONE : build_bytes(s, "/", 1, false, below);
	if (below == NONE)
		return NONE;
	node_join(s, loop, below);
	if (v->len > 1)
		return build_bytes(s, v->text, v->len, false, loop);
	below = one_of(s, next, build_part(s, loop)); /* the root itself too */
	return below == NONE ? NONE : build_bytes(s, "/", 1, false, below);
}

static const int letter[][2] = {{'a', 'z'}};
static const int letters[][2] = {{'a', 'z'}, {'0', '9'}};
static const int inner[][2] = {{'a', 'z'}, {'0', '9'}, {'-', '-'}};

/* [first] ( [a-z0-9-]* [a-z0-9] )? */
static uint32_t
build_label(struct sets *s, bool last, uint32_t next)
{
	uint32_t end = of_two(s, letters, next), tail;

	tail = end == NONE ? NONE : many(s, inner, 3, end);
	tail = one_of(s, next, tail);
	if (tail == NONE)
		return NONE;
	return last ? range(s, letter[0][0], letter[0][1], tail)
		    : of_two(s, letters, tail);
}

/* Any number of labels, each followed by a dot. */
static uint32_t
build_labels(struct sets *s, uint32_t next)
{
	uint32_t loop = node_new(s, NODE_SPLIT, 0, next, next), one;

	if (loop == NONE)
		return NONE;
	one = build_bytes(s, ".", 1, false, loop);
	one = one == NONE ? NONE : build_label(s, false, one);
	if (one == NONE)
		return NONE;
	node_join(s, loop, one);
	return loop;
}

static uint32_t
build_host(struct sets *s, const struct slot_value *v, uint32_t next)
{
	uint32_t all;

	if (v->len > 0 && v->text[0] != '*')
		return build_bytes(s, v->text, v->len, false, next);
	if (v->len == 0) {
		all = build_label(s, true, next);
		return all == NONE ? NONE : build_labels(s, all);
	}
	all = build_bytes(s, v->text + 1, v->len - 1, false, next);
	all = all == NONE ? NONE : build_label(s, false, all);
	return all == NONE ? NONE : build_labels(s, all);
}

static uint32_t
build_value(struct sets *s, const struct slot_value *v, uint32_t next)
{
	if (next == NONE)
		return NONE;
	if (v->type == SLOT_NUMBER)
		return build_number(s, v, next);
	if (v->type == SLOT_PATH)
		return build_path(s, v, next);
	if (v->type == SLOT_HOST)
		return build_host(s, v, next);
	if (v->type == SLOT_TEXT)
		return node_new(s, NODE_STAR, 0, next, NONE);
	return build_choice(s, v->text, v->len, next);
}

uint32_t
build_slot(struct sets *s, const char *text, size_t len, uint32_t next)
{
	size_t prefix;
	struct slot_value v = slot_value(text, len, &prefix);

	next = build_value(s, &v, next);
	return next == NONE ? NONE : build_bytes(s, text, prefix, false, next);
}

/* ---- options ----------------------------------------------------------------------- */

static uint32_t
nul(struct sets *s, uint32_t next)
{
	return next == NONE ? NONE : node_new(s, NODE_BYTE, 0, next, NONE);
}

/* The rest after an option's name: nothing, or a value in one of its forms. */
static uint32_t
behind_name(struct sets *s, const struct slot_option *o, uint32_t next)
{
	uint32_t end = nul(s, next), beside, apart;

	if (!o->takes || end == NONE)
		return end;
	beside = build_value(s, &o->value, end);
	apart = nul(s, build_value(s, &o->value, end));
	if (beside != NONE && !o->is_short)
		beside = build_bytes(s, "=", 1, false, beside);
	return one_of(s, beside, apart);
}

/* The letters of combined short options: the next letter begins at `more`. */
static uint32_t
build_letter(struct sets *s, const struct slot_option *o, uint32_t more, uint32_t next)
{
	next = o->takes ? behind_name(s, o, next) : more;
	return next == NONE ? NONE : build_bytes(s, o->name + 1, 1, false, next);
}

uint32_t
build_options(struct sets *s, const char *text, size_t len, uint32_t next)
{
	uint32_t loop = node_new(s, NODE_SPLIT, 0, next, next), more, all = next,
		 some = NONE, one;
	struct slot_option o;
	size_t at = 0;

	more = nul(s, loop);
	more = more == NONE ? NONE : node_new(s, NODE_SPLIT, 0, more, more);
	if (more == NONE)
		return NONE;
	while (slot_option(text, len, &at, &o)) {
		one = o.is_short ? build_letter(s, &o, more, loop)
				 : behind_name(s, &o, loop);
		if (one != NONE && !o.is_short)
			one = build_bytes(s, o.name, o.name_len, false, one);
		if (one == NONE)
			return NONE;
		if (o.is_short)
			some = some == NONE ? one : one_of(s, some, one);
		else
			all = one_of(s, all, one);
		if (all == NONE || (o.is_short && some == NONE))
			return NONE;
	}
	if (some != NONE) {
		node_join(s, more, some);
		one = build_bytes(s, "-", 1, false, some);
		all = one == NONE ? NONE : one_of(s, all, one);
	}
	if (all != NONE)
		node_join(s, loop, all);
	return all == NONE ? NONE : loop;
}

/* ---- byte classes -------------------------------------------------------- */

void
byte_classes(
    const struct node *node, const uint32_t *list, uint32_t n, uint16_t class[256])
{
	uint16_t number[512], made;
	uint32_t i, k;
	size_t key;
	int c;

	memset(class, 0, 256 * sizeof(*class));
	for (i = 0; i < n; i++) {
		k = list[i];
		if (node[k].kind != NODE_RANGE)
			continue;
		memset(number, 0xff, sizeof(number));
		for (c = 1, made = 0; c < 256; c++) {
			key = 2u * class[c] +
			      (c >= node[k].byte && (uint32_t)c <= node[k].other);
			if (number[key] == 0xffff)
				number[key] = made++;
			class[c] = number[key];
		}
	}
}

void
byte_others(const uint16_t class[256], const bool wanted[256], bool ret[256])
{
	static const char nice[] = "abcdefghijklmnopqrstuvwxyz0123456789_-."
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	bool had[256] = {false};
	int i, c;

	for (i = 1 - (int)sizeof(nice); i < 256; i++) {
		c = i < 0 ? (unsigned char)nice[i + (int)sizeof(nice) - 1] : i;
		if (c == 0 || wanted[c] || had[class[c]])
			continue;
		had[class[c]] = true;
		ret[c] = true;
	}
}
