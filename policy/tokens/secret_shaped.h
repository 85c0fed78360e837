/*
 * Texts that look like a secret. No row of the registry may contain one: rows are
 * listed, exported and shown to agents.
 *
 * A text is refused, at the price of some harmless ones, if it has one of these:
 *	a token of a known format
 *	a password in a URL, a query parameter that is named like a secret, or a long
 *	segment that mixes digits and both cases
 *	a value with a name of which a whole word is that of a secret (secret_name.h):
 *	NAME=VALUE, NAME:VALUE, --NAME VALUE, the variable NAME, the header NAME; unless
 *	the value refers to another (value_reference.h), or is a number, true or false,
 *	a path, or a URL without user and token, and the name is not surely a secret's
 *	32 or more characters of base64 or hex in a word without `/` and `.`
 */
#ifndef KENNEL_POLICY_TOKENS_SECRET_SHAPED_H
#define KENNEL_POLICY_TOKENS_SECRET_SHAPED_H

#include <stdbool.h>
#include <stddef.h>

/* A text by itself. */
bool secret_shaped(const char *text);
/* Is it the name of a secret, while the value is unknown? */
bool secret_shaped_name(const char *name);
/* A text under a name: a variable's, a header's. References such as ${TOKEN} are none. */
bool secret_shaped_value(const char *name, const char *value);
/* The first of n arguments that is secret-shaped, or -1. */
int secret_shaped_args(const char *const *arg, size_t n);

#endif
