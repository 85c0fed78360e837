/*
 * JSON numbers as decimals of any length (number.c).
 */
#ifndef KENNEL_POLICY_SEALED_VALUES_NUMBER_H
#define KENNEL_POLICY_SEALED_VALUES_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * A number as its sign, its digits from the first nonzero one on, and the power
 * of ten of that digit.
 */
struct number_decimal {
	const char *s;
	size_t at, end; /* digits and at most one dot */
	int64_t power;
	int sign; /* 0: zero */
};
/* Reads a JSON number: 0; -ERANGE for an exponent of more than 17 digits. */
int number_decimal(const char *, size_t len, struct number_decimal *ret);
/*
 * Compares two JSON numbers by their exact value: 0 with *ret < 0, 0 or > 0;
 * -ERANGE for an exponent of more than 17 digits.
 */
int policy_number_compare(
    const char *a, size_t a_len, const char *b, size_t b_len, int *ret);
/*
 * Compares two JSON numbers like policy_number_compare.  Also -ERANGE if they
 * differ but their nearest double is the same: servers then see one number.
 */
int value_number_order(
    const char *a, size_t a_len, const char *b, size_t b_len, int *ret);

#endif
