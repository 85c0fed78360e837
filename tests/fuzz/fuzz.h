/*
 * A fuzz target: libFuzzer drives it, and a unit test replays its corpus.
 */
#ifndef KENNEL_TESTS_FUZZ_FUZZ_H
#define KENNEL_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* What is told to a person: ASCII and line ends, whatever came in. */
static inline void
printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != '\n' && (text[i] < 0x20 || text[i] > 0x7e))
			abort();
}

#endif
