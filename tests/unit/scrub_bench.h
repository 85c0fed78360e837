/* How fast the scrubber is beside memcpy (tests/unit/test_scrub.c, "bench"). */
#ifndef KENNEL_TESTS_UNIT_SCRUB_BENCH_H
#define KENNEL_TESTS_UNIT_SCRUB_BENCH_H

/* Prints a table.  0, or 1 without memory. */
int scrub_bench(void);

#endif
