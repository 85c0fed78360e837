/*
 * Values of secrets that ordinary text also has: they cannot be redacted without redacting
 * the text, too. The leash refuses them at a start, and the import of configurations knows
 * that it will.
 */
#ifndef KENNEL_POLICY_TOKENS_WEAK_VALUE_H
#define KENNEL_POLICY_TOKENS_WEAK_VALUE_H

#include <stddef.h>
#include <stdint.h>

#define WEAK_BELOW 8 /* bytes; safe from here on, unless it is a common word */

/* Why a value is weak, a static text; or NULL. */
const char *weak_value(const uint8_t *data, size_t n);

#endif
