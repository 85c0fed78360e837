/*
 * Any bytes as the value of a secret: its placeholder is as long, is the same each time, has
 * no NUL that the value had not, is UTF-8 if the value is, and is another text.
 *
 *	make build/fuzz/placeholder && build/fuzz/placeholder tests/fuzz/corpus/placeholder
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "leash/placeholder/placeholder.h"

#define SAFE_MIN 8 /* bytes; a shorter text may be drawn again as it was */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Well-formed, without regard to surrogates and overlong forms. */
static bool
is_utf8(const uint8_t *at, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = at[i] >= 0xf0 ? 4 : at[i] >= 0xe0 ? 3 : at[i] >= 0xc2 ? 2 : 1;
		if (at[i] > 0xf4 || (at[i] >= 0x80 && n == 1) || n > len - i)
			return false;
		for (size_t k = 1; k < n; k++)
			if ((at[i + k] & 0xc0) != 0x80)
				return false;
	}
	return true;
}

static size_t
visible(const uint8_t *at, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += at[i] > ' ';
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t seed[PLACEHOLDER_SEED_LEN] = {1};
	const struct placeholder how = {.seed = seed, .name = "API_TOKEN"};
	const struct placeholder again = {
	    .seed = seed, .name = "API_TOKEN", .attempt = 1};
	uint8_t *one = malloc(len + 1), *two = malloc(len + 1);

	if (one == NULL || two == NULL)
		abort();
	if (len > 0) {
		memcpy(one, data, len);
		memcpy(two, data, len);
	}
	placeholder_replace(&how, one, len);
	placeholder_replace(&how, two, len);
	if (len > 0 && memcmp(one, two, len) != 0)
		abort();
	if (len > 0 && memchr(data, '\0', len) == NULL && memchr(one, '\0', len) != NULL)
		abort();
	if (is_utf8(data, len) && !is_utf8(one, len))
		abort();
	/* a placeholder is its own: the caller then makes another */
	if (visible(data, len) >= SAFE_MIN && memcmp(one, data, len) == 0) {
		placeholder_replace(&again, one, len);
		if (memcmp(one, data, len) == 0)
			abort();
	}
	free(one);
	free(two);
	return 0;
}
