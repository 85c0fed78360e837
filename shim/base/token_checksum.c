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

static void
sum_of(const uint8_t *text, size_t len, uint8_t ret[SHAPE_SUM_LEN])
{
	static const char digits[] =
	    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	uint32_t crc = crc32_of(text, len);

	for (size_t i = 0; i < SHAPE_SUM_LEN; i++, crc /= 62)
		ret[SHAPE_SUM_LEN - 1 - i] = (uint8_t)digits[crc % 62];
}

bool
shape_sum_fits(const uint8_t *text, size_t len)
{
	uint8_t sum[SHAPE_SUM_LEN];

	if (len <= SHAPE_SUM_LEN)
		return false;
	sum_of(text, len - SHAPE_SUM_LEN, sum);
	for (size_t i = 0; i < SHAPE_SUM_LEN; i++)
		if (text[len - SHAPE_SUM_LEN + i] != sum[i])
			return false;
	return true;
}

void
shape_sum_put(uint8_t *text, size_t len)
{
	if (len > SHAPE_SUM_LEN)
		sum_of(text, len - SHAPE_SUM_LEN, text + len - SHAPE_SUM_LEN);
}
