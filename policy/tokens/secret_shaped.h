/*
 * Texts that look like a secret. No row of the registry may contain one: rows are
 * listed, exported and shown to agents.
 *
 * A text is refused, at the price of some harmless ones, if it has one of these:
 *	a token of a known format
 *	a password in a URL, or a query parameter that is named like a secret
 *	a value with a name that is named like a secret: NAME=VALUE, NAME:VALUE,
 *	--NAME VALUE, the variable NAME, the header NAME
 *	32 or more characters of base64 or hex in a word without `/` and `.`
 */
#ifndef KENNEL_POLICY_TOKENS_SECRET_SHAPED_H
#define KENNEL_POLICY_TOKENS_SECRET_SHAPED_H

#include <stdbool.h>
#include <stddef.h>

/* A text by itself. */
bool secret_shaped(const char *text);
/* A text under a name: a variable's, a header's. References such as ${TOKEN} are none. */
bool secret_shaped_value(const char *name, const char *value);
/* The first of n arguments that is secret-shaped, or -1. */
int secret_shaped_args(const char *const *arg, size_t n);

#endif
