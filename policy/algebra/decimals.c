/*
 * Exact decimals: numbers are digit strings and are never rounded.  Between two
 * different ones there is one with one digit more than either.
 */
#include "policy/algebra/algebra.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -?WHOLE.PART, without leading zeros of WHOLE or trailing zeros of PART. */
struct decimal {
	bool minus;
	char whole[NUMBERS_DIGITS_MAX + 1], part[NUMBERS_DIGITS_MAX + 1];
};

/* The digits of a number as written, and the position of its point. */
struct digits {
	char v[NUMBERS_DIGITS_MAX];
	size_t n;
	long point; /* digits before the point */
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
digits_read(const char *t, struct digits *d)
{
	bool part = false;
	long exponent;
	char *end;

	d->n = 0;
	d->point = 0;
	for (; is_digit(*t) || (*t == '.' && !part); t++) {
		if (*t == '.') {
			part = true;
			continue;
		}
		if (d->n == NUMBERS_DIGITS_MAX)
			return -E2BIG;
		d->v[d->n++] = *t;
		d->point += part ? 0 : 1;
	}
	if (d->n == 0)
		return -EINVAL;
	if (*t != 'e' && *t != 'E')
		return *t == 0 ? 0 : -EINVAL;
	errno = 0;
	exponent = strtol(t + 1, &end, 10);
	if (end == t + 1 || *end != 0)
		return -EINVAL;
	if (errno != 0 || exponent > NUMBERS_DIGITS_MAX || exponent < -NUMBERS_DIGITS_MAX)
		return -E2BIG;
	d->point += exponent;
	return 0;
}

/* The digits without exponent, padded with zeros. */
static int
decimal_read(const char *text, struct decimal *ret)
{
	struct digits d;
	size_t whole = 0, part = 0;
	long i;
	char c;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->minus = *text == '-';
	r = digits_read(text + (ret->minus ? 1 : 0), &d);
	if (r != 0)
		return r;
	for (i = d.point < 0 ? d.point : 0; i < (long)d.n || i < d.point; i++) {
		c = '0';
		if (i >= 0 && i < (long)d.n)
			c = d.v[i];
		if (i < d.point && whole == 0 && c == '0')
			continue;
		if ((i < d.point ? whole : part) == NUMBERS_DIGITS_MAX)
			return -E2BIG;
		if (i < d.point)
			ret->whole[whole++] = c;
		else
			ret->part[part++] = c;
	}
	while (part > 0 && ret->part[part - 1] == '0')
		ret->part[--part] = 0;
	if (whole == 0 && part == 0)
		ret->minus = false;
	return 0;
}

static int
magnitude_order(const struct decimal *a, const struct decimal *b)
{
	size_t an = strlen(a->whole), bn = strlen(b->whole);
	int c;

	if (an != bn)
		return an < bn ? -1 : 1;
	c = strcmp(a->whole, b->whole);
	return c != 0 ? c : strcmp(a->part, b->part);
}

static int
decimal_order(const void *va, const void *vb)
{
	const struct decimal *a = va, *b = vb;

	if (a->minus != b->minus)
		return a->minus ? -1 : 1;
	return a->minus ? magnitude_order(b, a) : magnitude_order(a, b);
}

static void
decimal_add(struct points *p, bool minus, const char *lead, const struct decimal *d,
    const char *zeros, const char *tail)
{
	char text[3 * NUMBERS_DIGITS_MAX + 16];
	bool point = d->part[0] != 0 || zeros[0] != 0 || tail[0] != 0;
	const char *whole = d->whole[0] != 0 || lead[0] != 0 ? d->whole : "0";

	(void)snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", minus ? "-" : "", lead,
	    whole, point ? "." : "", d->part, zeros, tail); /* it fits */
	points_add(p, text, strlen(text));
}

/*
 * A number between a and b, where b is greater: takes the one nearer to 0, if
 * both have the same sign, and appends a digit after all digits of both.
 */
static void
between(struct points *p, const struct decimal *a, const struct decimal *b)
{
	const struct decimal *near = a->minus ? b : a;
	size_t an = strlen(a->part), bn = strlen(b->part), n = an > bn ? an : bn;
	char zeros[NUMBERS_DIGITS_MAX + 1];

	/* if a < 0 < b, the number is 0 */
	if (a->minus && !b->minus && (b->whole[0] != 0 || b->part[0] != 0)) {
		points_add(p, "0", 1);
		return;
	}
	n -= strlen(near->part);
	memset(zeros, '0', n);
	zeros[n] = 0;
	decimal_add(p, a->minus, "", near, zeros, "1");
}

static int
cells(struct decimal *d, size_t n, struct points *p)
{
	size_t i;

	qsort(d, n, sizeof(*d), decimal_order);
	for (i = 0; i < n; i++)
		decimal_add(p, d[i].minus, "", &d[i], "", "");
	/* below and above all: one more leading digit, with the same sign */
	if (d[0].minus)
		decimal_add(p, true, "1", &d[0], "", "");
	else
		points_add(p, "-1", 2);
	if (d[n - 1].minus)
		points_add(p, "0", 1);
	else
		decimal_add(p, false, "1", &d[n - 1], "", "");
	for (i = 0; i + 1 < n; i++)
		if (decimal_order(&d[i], &d[i + 1]) != 0)
			between(p, &d[i], &d[i + 1]);
	return p->failed ? -ENOMEM : 0;
}

int
numbers_cells(const struct points *mentioned, struct points *ret)
{
	struct points made = {.n = 0};
	struct decimal *d;
	size_t i;
	int r = 0;

	if (mentioned->n == 0) {
		points_add(&made, "0", 1);
		*ret = made;
		return made.failed ? -ENOMEM : 0;
	}
	d = calloc(mentioned->n, sizeof(*d));
	if (d == NULL)
		return -ENOMEM;
	for (i = 0; i < mentioned->n && r == 0; i++)
		r = decimal_read(mentioned->v[i], &d[i]);
	if (r == 0)
		r = cells(d, mentioned->n, &made);
	free(d);
	if (r != 0)
		points_free(&made);
	else
		*ret = made;
	return r;
}
