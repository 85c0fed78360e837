/*
 * Private to value.c: JSON read in place (reader.c).
 */
#ifndef KENNEL_POLICY_READER_H
#define KENNEL_POLICY_READER_H

#include "policy/sealed/policy.h"

/* Where a reader is.  bad: nothing after this counts. */
struct value_reader {
	const uint8_t *s;
	size_t len, at;
	bool bad;
};

/* A value found: bytes from to to, one whole JSON value. */
struct value_found {
	size_t from, to;
};

/* The byte here, 0 at the end. */
uint8_t value_peek(const struct value_reader *);
/* The next character of a string whose opening quote is behind; false at its end
 * (the closing quote is then behind too) and where it is bad. */
bool value_char(struct value_reader *, uint32_t *ret);
/* The next character of good UTF-8 without escapes; false at its end. */
bool value_text_char(struct value_reader *, uint32_t *ret);
/* Is the string at from this text? */
bool value_is(const struct value_reader *, size_t from, const char *text, size_t len);
/* Where the steps lead from the whole value.  YES, NO: nowhere; UNKNOWN: the way
 * is not to be trusted. */
enum policy_truth value_place(const struct policy *, struct sealed_range steps,
    struct value_reader *, struct value_found *ret);

#endif
