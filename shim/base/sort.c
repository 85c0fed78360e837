/*
 * Heap sort (sort.h).
 *
 * The first n elements are a heap: none is less than its children at 2i+1 and
 * 2i+2. The greatest, at 0, is swapped with the last, and the heap becomes one
 * element shorter.
 */
#include "shim/base/sort.h"

#include <stdint.h>
#include <string.h>

#define SWAP_BYTES 64 /* bytes swapped at a time */

struct heap {
	uint8_t *base;
	size_t size;
	int (*compare)(const void *, const void *);
};

static int
compare_at(const struct heap *h, size_t a, size_t b)
{
	return h->compare(h->base + a * h->size, h->base + b * h->size);
}

static void
swap(const struct heap *h, size_t a, size_t b)
{
	uint8_t kept[SWAP_BYTES], *x = h->base + a * h->size, *y = h->base + b * h->size;

	for (size_t left = h->size, n; left > 0; left -= n, x += n, y += n) {
		n = left < SWAP_BYTES ? left : SWAP_BYTES;
		memcpy(kept, x, n);
		memcpy(x, y, n);
		memcpy(y, kept, n);
	}
}

/*
 * Restores the heap of n elements if only the one at `at` may be less than its
 * children.
 */
static void
sift_down(const struct heap *h, size_t at, size_t n)
{
	while (at < n / 2) {
		size_t child = 2 * at + 1;

		if (child + 1 < n && compare_at(h, child, child + 1) < 0)
			child++;
		if (compare_at(h, at, child) >= 0)
			return;
		swap(h, at, child);
		at = child;
	}
}

void
sort_in_place(
    void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	struct heap h = {base, size, compare};

	for (size_t i = n / 2; i > 0; i--)
		sift_down(&h, i - 1, n);
	for (size_t i = n; i > 1; i--) {
		swap(&h, 0, i - 1);
		sift_down(&h, 0, i - 1);
	}
}
