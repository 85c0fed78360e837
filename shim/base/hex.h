/*
 * Lower-case hex: digests, keys and ids as text.
 */
#ifndef KENNEL_SHIM_BASE_HEX_H
#define KENNEL_SHIM_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The value of a lower-case digit, or -1. */
static inline int
hex_lower(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The value of a digit of either case, or -1. */
static inline int
hex_any(int c)
{
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : hex_lower(c);
}

/* Writes 2 * n digits and a NUL to ret, and returns ret. */
char *hex_put(char *ret, const void *bytes, size_t n);
void hex_print(FILE *, const void *bytes, size_t n);

/* Number of lower-case digits at the start of a string. */
size_t hex_span(const char *text);
/* Whether a string of this length is n lower-case digits. */
bool hex_is(const char *text, size_t len, size_t n);
/* Decodes a text of exactly 2 * n lower-case digits; on false, ret is undefined. */
bool hex_get(const char *text, size_t len, void *ret, size_t n);

#endif
