/*
 * SHA-256 with the processor's instructions (sha256.c). If sha_fits() is false,
 * a caller uses libsodium's.
 */
#ifndef KENNEL_SHIM_BASE_SHA256_H
#define KENNEL_SHIM_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA_LEN 32

/* The processor has the instructions and they give known answers; tested once. */
bool sha_fits(void);
/*
 * Hashes len bytes, preceded by the byte tag unless tag is -1. Requires
 * sha_fits().
 */
void sha_digest(int tag, const void *bytes, size_t len, uint8_t ret[SHA_LEN]);

#endif
