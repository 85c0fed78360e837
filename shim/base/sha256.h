/*
 * SHA-256 with the processor's own instructions (sha.c).  Where sha_fits() says
 * no, a caller uses libsodium's.
 */
#ifndef KENNEL_SHIM_BASE_SHA_H
#define KENNEL_SHIM_BASE_SHA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA_LEN 32

/* The processor has them and gets known answers right; looked at once. */
bool sha_fits(void);
/* Of len bytes, behind one more byte where tag is not -1.  Only if it fits. */
void sha_digest(int tag, const void *bytes, size_t len, uint8_t ret[SHA_LEN]);

#endif
