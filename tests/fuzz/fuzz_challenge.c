/*
 * Any bytes as a WWW-Authenticate header.  What is kept of it may be a URL, or text for an
 * agent: visible, within its limits, and nothing without the scheme Bearer.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/remote/response_head.h"
#include "tests/fuzz/fuzz.h"

static void
visible(const char *text, size_t max, char lowest)
{
	if (strlen(text) > max)
		abort();
	for (; *text != '\0'; text++)
		if (*text < lowest || *text >= 0x7f || *text == '"' || *text == '\\')
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + !len); /* ASan sees one byte too far */
	struct challenge c;

	if (text == NULL)
		return 0;
	if (len > 0)
		memcpy(text, data, len);
	challenge_read(text, len, &c);
	free(text);
	visible(c.metadata, CHALLENGE_URL_MAX, '!');
	visible(c.scope, CHALLENGE_SCOPE_MAX, ' ');
	visible(c.error, CHALLENGE_ERROR_MAX, '_');
	if (!c.bearer && (c.metadata[0] | c.scope[0] | c.error[0]) != '\0')
		abort();
	return 0;
}
