/* Dice for property tests: the same throws each time, unless SEED says others. */
#ifndef KENNEL_TESTS_UNIT_ROLL_H
#define KENNEL_TESTS_UNIT_ROLL_H

#include <stdint.h>

static uint64_t seed = 0x6b656e6e656cu;

/* 0 to n-1. */
static unsigned int
roll(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)((seed >> 11) % n);
}

#endif
