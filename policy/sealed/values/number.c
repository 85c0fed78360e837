/*
 * JSON numbers: decimals of any length, compared as written.  Most servers read
 * them as doubles, so two different decimals with the same double have no order
 * in a condition.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/values/number.h"

#define EXPONENT_MAX 17 /* digits: sums of such exponents stay far below 2^63 */

int
number_decimal(const char *s, size_t len, struct number_decimal *ret)
{
	struct number_decimal d = {.s = s, .sign = 1};
	size_t i = 0, dot, digits = 0;
	bool minus = false;
	int64_t e = 0;

	if (len > 0 && s[0] == '-') {
		d.sign = -1;
		i = 1;
	}
	for (d.end = i; d.end < len && (s[d.end] | 0x20) != 'e'; d.end++)
		;
	for (dot = i; dot < d.end && s[dot] != '.'; dot++)
		;
	for (d.at = i; d.at < d.end && (s[d.at] == '0' || s[d.at] == '.'); d.at++)
		;
	if (d.at == d.end) {
		*ret = (struct number_decimal){.s = s};
		return 0; /* the exponent does not matter */
	}
	i = d.end + (d.end < len);
	if (i < len && (s[i] == '-' || s[i] == '+'))
		minus = s[i++] == '-';
	for (; i < len; i++) {
		digits += digits > 0 || s[i] != '0';
		if (digits > EXPONENT_MAX)
			return -ERANGE;
		e = e * 10 + (s[i] - '0');
	}
	d.power = d.at < dot ? (int64_t)(dot - d.at) - 1 : -(int64_t)(d.at - dot);
	d.power += minus ? -e : e;
	*ret = d;
	return 0;
}

/* The next digit; 0 forever after the last. */
static char
digit_next(struct number_decimal *d, bool *more)
{
	if (d->at < d->end && d->s[d->at] == '.')
		d->at++;
	*more = *more || d->at < d->end;
	return (char)(d->at < d->end ? d->s[d->at++] : '0');
}

int
policy_number_compare(const char *a, size_t a_len, const char *b, size_t b_len, int *ret)
{
	struct number_decimal x, y;
	char v, w;
	bool more = true;
	int r;

	if ((r = number_decimal(a, a_len, &x)) < 0 ||
	    (r = number_decimal(b, b_len, &y)) < 0)
		return r;
	if (x.sign != y.sign || x.sign == 0) {
		*ret = (x.sign > y.sign) - (x.sign < y.sign);
		return 0;
	}
	if (x.power != y.power) {
		*ret = (x.power > y.power) == (x.sign > 0) ? 1 : -1;
		return 0;
	}
	while (more) {
		more = false;
		v = digit_next(&x, &more);
		w = digit_next(&y, &more);
		if (v != w) {
			*ret = (v > w) == (x.sign > 0) ? 1 : -1;
			return 0;
		}
	}
	*ret = 0;
	return 0;
}

#define DOUBLE_LEN_MAX 1100 /* characters; no double needs more digits */

/* The nearest double of a JSON number. */
static int
double_of(const char *s, size_t len, double *ret)
{
	char text[DOUBLE_LEN_MAX];

	if (len >= sizeof(text))
		return -ERANGE;
	memcpy(text, s, len);
	text[len] = '\0';
	*ret = strtod(text, NULL);
	return 0;
}

int
value_number_order(const char *a, size_t a_len, const char *b, size_t b_len, int *ret)
{
	double x, y;
	int order, r = policy_number_compare(a, a_len, b, b_len, &order);

	if (r == 0 && order != 0) {
		r = double_of(a, a_len, &x) < 0 || double_of(b, b_len, &y) < 0 || x == y
			? -ERANGE
			: 0;
	}
	if (r == 0)
		*ret = order;
	return r;
}
