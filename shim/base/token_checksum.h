/*
 * The checksum that some providers put at the end of their tokens: the CRC-32
 * of the text before it (without the prefix), in base 62 with the alphabet
 * 0-9A-Za-z, six digits.  GitHub and npm document it.  Used by the scrubber,
 * when a value is stored, and by placeholders.
 */
#ifndef KENNEL_SHIM_BASE_TOKEN_CHECKSUM_H
#define KENNEL_SHIM_BASE_TOKEN_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_SUM_LEN 6

/*
 * For a token without its prefix: are its last six digits the checksum of the
 * rest?
 */
bool shape_sum_fits(const uint8_t *text, size_t len);
/* Replaces the last six digits by that checksum; a shorter text stays. */
void shape_sum_put(uint8_t *text, size_t len);

#endif
