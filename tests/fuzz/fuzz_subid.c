/*
 * Any bytes as /etc/subuid: an id that is taken is neither root's nor the user's
 * own, and the text up to it says it too.
 */
#include <stdlib.h>

#include "shim/host/subid.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* The bytes as they are, with no NUL behind them to run up to. */
	char *text = malloc(len + 1);
	uint32_t id = 0, again = 0;

	if (text == NULL)
		return 0;
	for (size_t i = 0; i < len; i++)
		text[i] = (char)data[i];
	if (subid_in(text, len, "joe", 1005, &id) && (id == 0 || id == 1005))
		abort();
	if (subid_in(text, len, "", 1005, &again) && id == 0)
		abort(); /* a number is the user's line under any name */
	free(text);
	return 0;
}
