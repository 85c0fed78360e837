/*
 * Sorting for processes that a system call may kill: qsort of the C library
 * asks the kernel for the amount of memory.
 */
#ifndef KENNEL_SHIM_BASE_SORT_H
#define KENNEL_SHIM_BASE_SORT_H

#include <stddef.h>

/*
 * Sorts n elements of `size` bytes in place: at most 2 n log2 n comparisons, no
 * allocation, no system call, no recursion.  Not stable.
 */
void sort_in_place(
    void *base, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
