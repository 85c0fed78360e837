/*
 * The checksum that some providers put at the end of their tokens.
 */
#include "shim/base/token_checksum.h"

/* CRC-32 as in zlib and gzip (reflected, 0xedb88320). */
static uint32_t
crc32_of(const uint8_t *text, size_t len)
{
	uint32_t crc = 0xffffffff;
	size_t i;
	int k;

	for (i = 0; i < len; i++) {
		crc ^= text[i];
		for (k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (0xedb88320 & (0U - (crc & 1)));
	}
	return ~crc;
}

bool
shape_sum_fits(const uint8_t *text, size_t len)
{
	static const char digits[] =
	    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	uint32_t crc;
	size_t i;

	if (len <= SHAPE_SUM_LEN)
		return false;
	crc = crc32_of(text, len - SHAPE_SUM_LEN);
	for (i = 0; i < SHAPE_SUM_LEN; i++, crc /= 62)
		if (text[len - 1 - i] != (uint8_t)digits[crc % 62])
			return false;
	return true;
}
