/*
 * The checksum that some makers put at the end of their tokens: CRC-32 of what
 * stands before it (the prefix is not in it), in base 62 with the alphabet
 * 0-9A-Za-z, six digits.  GitHub and npm say so of theirs.  For the scrubber and
 * for who stores a value.
 */
#ifndef KENNEL_POLICY_SHAPE_SUM_H
#define KENNEL_POLICY_SHAPE_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_SUM_LEN 6

/* Of a token without its prefix: are its last six the checksum of the rest? */
bool shape_sum_fits(const uint8_t *text, size_t len);

#endif
