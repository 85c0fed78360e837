/*
 * The arguments of `auth oauth2`.
 */
#ifndef KENNEL_POLICY_CHECK_OAUTH_WORDS_H
#define KENNEL_POLICY_CHECK_OAUTH_WORDS_H

#include <stdbool.h>

#include "policy/lang/ast.h"

#define OAUTH_TEXT_MAX 1024 /* bytes of a client's id, of a scope */

/* NULL: not given. */
struct oauth_words {
	const struct word *client, *secret, *grant, *scope, *issuer;
};

/* Is this `auth` the form oauth2? */
bool oauth_is(const struct stmt *auth);
/* And does a person log in: `grant code`, or no `grant`? */
bool oauth_is_code(const struct stmt *auth);
/*
 * 0 with *ret filled; or the index of the word that is wrong, from 1, and *ret_why: an
 * unknown or second keyword, one without its value, an invalid value.  The
 * issuer and the secret are for policy/check/remote.c.
 */
size_t oauth_words_read(
    const struct stmt *auth, struct oauth_words *ret, const char **ret_why);

#endif
