/*
 * Private to condition.c: JSON read in place (json_reader.c).
 */
#ifndef KENNEL_POLICY_SEALED_JSON_READER_H
#define KENNEL_POLICY_SEALED_JSON_READER_H

#include <stdbool.h>

#include "policy/sealed/policy.h"

/* The position of a reader. bad: everything after this is invalid. */
struct value_reader {
	const uint8_t *s;
	size_t len, at;
	bool bad;
};

/* A value: the bytes from `from` to `to`, one whole JSON value. */
struct value_found {
	size_t from, to;
};

/* The byte here, 0 at the end. */
uint8_t value_peek(const struct value_reader *);
/*
 * The next character of a string whose opening quote is already read.  False at
 * its end (after reading the closing quote) and at an error.
 */
bool value_char(struct value_reader *, uint32_t *ret);
/* The next character of valid UTF-8 without escapes; false at its end. */
bool value_text_char(struct value_reader *, uint32_t *ret);
/* Is the string at `from` this text? */
bool value_is(const struct value_reader *, size_t from, const char *text, size_t len);
/*
 * Follows the steps from the whole value.  YES: found; NO: not there; UNKNOWN:
 * ambiguous.
 */
enum policy_truth value_place(const struct policy *, struct sealed_range steps,
    struct value_reader *, struct value_found *ret);

#endif
