/*
 * A fuzz target: libFuzzer drives it, and a unit test replays its corpus.
 */
#ifndef KENNEL_TESTS_FUZZ_FUZZ_H
#define KENNEL_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#endif
