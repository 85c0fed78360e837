/*
 * "did you mean": edit distance between a word and those of a list.
 */
#include "shim/help/near_word.h"

#include <stdint.h>
#include <string.h>

#define NEAR_LEN_MAX 32 /* longer words have no near one */

static size_t
min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edits between two words: insert, delete, replace, swap neighbours. */
static size_t
edits(const char *a, size_t a_n, const char *b, size_t b_n)
{
	size_t row[3][NEAR_LEN_MAX + 1], *old = row[0], *prev = row[1], *cur = row[2];
	size_t i, j, *t;

	for (j = 0; j <= b_n; j++)
		prev[j] = j;
	for (i = 1; i <= a_n; i++) {
		cur[0] = i;
		for (j = 1; j <= b_n; j++) {
			cur[j] = prev[j - 1] + (a[i - 1] != b[j - 1]);
			cur[j] = min_of(cur[j], min_of(prev[j], cur[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				cur[j] = min_of(cur[j], old[j - 2] + 1);
		}
		t = old;
		old = prev;
		prev = cur;
		cur = t;
	}
	return prev[b_n];
}

size_t
near_edits(const char *a, const char *b)
{
	size_t a_n = strlen(a), b_n = strlen(b);

	if (a_n > NEAR_LEN_MAX || b_n > NEAR_LEN_MAX)
		return SIZE_MAX;
	return edits(a, a_n, b, b_n);
}

const char *
near_word(const char *word, const char *const *list, size_t n)
{
	size_t len = strlen(word), best = len / 3 + 1, i, k, d;
	const char *found = NULL;

	/* of a letter such as -n, every other letter is as near */
	if (len > NEAR_LEN_MAX || len < 2 || (len == 2 && word[0] == '-'))
		return NULL;
	if (best > 3)
		best = 3;
	for (i = 0; i < n; i++) {
		k = list[i] == NULL ? 0 : strlen(list[i]);
		if (k == 0 || k > NEAR_LEN_MAX)
			continue;
		d = edits(word, len, list[i], k);
		/*
		 * the word must leave some characters to match; on a tie,
		 * prefer one with the same beginning
		 */
		if (d <= best && d < k && d < len &&
		    (found == NULL || d < best ||
			(d == best && found[0] != word[0] && list[i][0] == word[0]))) {
			best = d;
			found = list[i];
		}
	}
	return found;
}
