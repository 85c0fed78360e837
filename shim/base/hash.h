/*
 * FNV-1a, for tables whose keys no attacker chooses. The low bits of a hash depend
 * on the low bits of the bytes only, so fold the high ones into them.
 */
#ifndef KENNEL_SHIM_BASE_HASH_H
#define KENNEL_SHIM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH32_START 0x811c9dc5u
#define HASH64_START 0xcbf29ce484222325u

static inline uint32_t
hash32_add(uint32_t h, uint32_t value)
{
	return (h ^ value) * 0x01000193u;
}

static inline uint64_t
hash64_add(uint64_t h, uint64_t value)
{
	return (h ^ value) * 0x100000001b3u;
}

static inline uint32_t
hash32(const void *bytes, size_t len)
{
	uint32_t h = HASH32_START;

	for (size_t i = 0; i < len; i++)
		h = hash32_add(h, ((const uint8_t *)bytes)[i]);
	return h ^ h >> 15;
}

/* Continues h: HASH64_START, or what it returned. */
static inline uint64_t
hash64(uint64_t h, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = hash64_add(h, ((const uint8_t *)bytes)[i]);
	return h;
}

#endif
