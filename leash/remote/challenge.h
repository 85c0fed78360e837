/*
 * The value of a WWW-Authenticate header (RFC 9110, 11.6.1; RFC 6750; RFC 9728, 5.1), as
 * far as a client with a bearer token uses it.
 */
#ifndef KENNEL_LEASH_REMOTE_CHALLENGE_H
#define KENNEL_LEASH_REMOTE_CHALLENGE_H

#include <stdbool.h>
#include <stddef.h>

#define CHALLENGE_URL_MAX   2048 /* bytes */
#define CHALLENGE_SCOPE_MAX 512
#define CHALLENGE_ERROR_MAX 64

struct challenge {
	bool bearer;                          /* there was one with this scheme */
	char metadata[CHALLENGE_URL_MAX + 1]; /* resource_metadata; "": none */
	char scope[CHALLENGE_SCOPE_MAX + 1];  /* of the characters of RFC 6749; "" */
	char error[CHALLENGE_ERROR_MAX + 1];  /* of a to z and `_`; "": none */
};

/* The first challenge with the scheme Bearer.  Values that are too long or have other
 * characters count as absent, and so does everything if the value is no list of
 * challenges. */
void challenge_read(const char *, size_t, struct challenge *ret);

#endif
