/*
 * Exact arithmetic on JSON numbers, which may have any number of digits.
 */
#include <errno.h>

#include "policy/sealed/values/number.h"
#include "shim/base/hash.h"
#include "supervisor/schema/private.h"

#define DIVISOR_DIGITS 18

/* The digits from the first to the last nonzero one, and the power of ten of the
 * last. */
static int
read_decimal(const struct value *v, struct number_decimal *ret, int64_t *ret_last)
{
	struct number_decimal d;
	size_t digits = 0;
	int r = number_decimal(v->text, v->len, &d);

	if (r < 0)
		return r;
	while (d.sign != 0 && (d.s[d.end - 1] == '0' || d.s[d.end - 1] == '.'))
		d.end--;
	for (size_t i = d.at; i < d.end; i++)
		digits += d.s[i] != '.';
	*ret_last = d.power - (int64_t)digits + 1;
	*ret = d;
	return 0;
}

int
decimal_integer(const struct value *v, bool *ret)
{
	struct number_decimal d;
	int64_t last;
	int r = read_decimal(v, &d, &last);

	if (r == 0)
		*ret = d.sign == 0 || last >= 0;
	return r;
}

int
decimal_order(const struct value *a, const struct value *b, int *ret)
{
	return policy_number_compare(a->text, a->len, b->text, b->len, ret);
}

int
decimal_hash(const struct value *v, uint64_t *ret)
{
	struct number_decimal d;
	uint64_t h = HASH64_START;
	int64_t last;
	int r = read_decimal(v, &d, &last);

	if (r < 0)
		return r;
	h = hash64_add(h, d.sign < 0);
	if (d.sign != 0)
		h = hash64_add(h, (uint64_t)d.power);
	for (size_t i = d.at; i < d.end; i++)
		if (d.s[i] != '.')
			h = hash64_add(h, (uint8_t)d.s[i]);
	*ret = h;
	return 0;
}

int
decimal_divisor(const struct value *v, struct divisor *ret)
{
	struct number_decimal d;
	struct divisor divisor = {0};
	size_t digits = 0;
	int r = read_decimal(v, &d, &divisor.power);

	if (r < 0)
		return r;
	for (size_t i = d.at; i < d.end; i++) {
		if (d.s[i] == '.')
			continue;
		if (++digits > DIVISOR_DIGITS)
			return -EINVAL;
		divisor.digits = divisor.digits * 10 + (uint64_t)(d.s[i] - '0');
	}
	if (d.sign <= 0)
		return -EINVAL;
	*ret = divisor;
	return 0;
}

/* a * b modulo m: all below 2^63. */
static uint64_t
multiply(uint64_t a, uint64_t b, uint64_t m)
{
	return (uint64_t)((unsigned __int128)a * b % m);
}

int
decimal_multiple(const struct value *v, const struct divisor *by, bool *ret)
{
	struct number_decimal d;
	uint64_t rest = 0, ten = 10 % by->digits;
	int64_t last, power;
	int r = read_decimal(v, &d, &last);

	if (r < 0)
		return r;
	/* The value's last digit is not 0: no multiple of a higher power of ten has
	 * it. */
	if (d.sign == 0 || last < by->power) {
		*ret = d.sign == 0;
		return 0;
	}
	for (size_t i = d.at; i < d.end; i++)
		if (d.s[i] != '.')
			rest = (uint64_t)(((unsigned __int128)rest * 10 +
					      (uint64_t)(d.s[i] - '0')) %
					  by->digits);
	for (power = last - by->power; power > 0; power /= 2) {
		if (power % 2 != 0)
			rest = multiply(rest, ten, by->digits);
		ten = multiply(ten, ten, by->digits);
	}
	*ret = rest == 0;
	return 0;
}

int
decimal_count(const struct value *v, uint32_t *ret)
{
	struct number_decimal d;
	uint64_t count = 0;
	int64_t last;
	int r = v->type == JSON_IS_NUMBER ? read_decimal(v, &d, &last) : -EINVAL;

	if (r < 0 || d.sign < 0 || (d.sign > 0 && last < 0))
		return -EINVAL;
	for (size_t i = d.at; i < d.end && count <= UINT32_MAX; i++)
		if (d.s[i] != '.')
			count = count * 10 + (uint64_t)(d.s[i] - '0');
	for (; d.sign > 0 && last > 0 && count <= UINT32_MAX; last--)
		count *= 10;
	*ret = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
	return 0;
}
