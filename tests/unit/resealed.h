/*
 * A sealed file that a test has changed gets the digest of what it is now, so that
 * the loader looks further.
 */
#ifndef KENNEL_TESTS_UNIT_RESEALED_H
#define KENNEL_TESTS_UNIT_RESEALED_H

#include <string.h>

#include "policy/sealed/policy.h"

/* Nothing where the header's body leaves the file. */
static inline void
digest_again(uint8_t *bytes, size_t len)
{
	struct sealed_header h;

	if (len < sizeof(h))
		return;
	memcpy(&h, bytes, sizeof(h));
	if (h.body_len > len || h.body_len < sizeof(h) + SEALED_DIGEST)
		return;
	policy_digest(
	    bytes, h.body_len - SEALED_DIGEST, bytes + h.body_len - SEALED_DIGEST);
}

#endif
