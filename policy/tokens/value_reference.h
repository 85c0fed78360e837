/*
 * Values that are no value yet: a client fills them in, a secret manager has them, or a
 * person has still to write them.
 */
#ifndef KENNEL_POLICY_TOKENS_VALUE_REFERENCE_H
#define KENNEL_POLICY_TOKENS_VALUE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

enum value_reference {
	VALUE_PLAIN,       /* none of these */
	VALUE_VARIABLE,    /* ${X}, ${X:-d}, $X, ${env:X}, {env:X}, %X% */
	VALUE_FILE,        /* {file:P}, ${file:P} */
	VALUE_INPUT,       /* ${input:x}, and what else an editor fills in */
	VALUE_TEMPLATE,    /* {{ x }}, $(x) */
	VALUE_MANAGER,     /* op://x, bw://x, keychain:x, vault:x, aws-sm://x */
	VALUE_PLACEHOLDER, /* <YOUR_KEY>, YOUR_KEY_HERE, changeme */
};

/* What a text refers to as a whole, or after one word such as Bearer. *ret_default: the text
 * after :- of ${X:-d}, *ret_len bytes of it, or NULL; ret_default may be NULL. */
enum value_reference value_reference(
    const char *value, const char **ret_default, size_t *ret_len);
/* Has it a part that is written as a reference to a variable, a file, an input or
 * a template? */
bool value_has_reference(const char *value);

#endif
