/*
 * Any bytes as the lines of the head of an HTTP response.  What is kept of it can be a
 * header of the next request: no control byte, and within its limits.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/remote/response_head.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct response_head h = {.status = 0};
	const uint8_t *end;
	char *line;
	size_t n;

	while (len > 0) {
		end = memchr(data, '\n', len);
		n = end == NULL ? len : (size_t)(end - data) + 1;
		line = malloc(n); /* ASan sees one byte too far */
		if (line == NULL)
			return 0;
		memcpy(line, data, n);
		if (response_head_line(&h, line, n) < 0)
			len = n; /* the request is aborted */
		free(line);
		data += n;
		len -= n;
	}
	if (h.status > 999 || (h.ended && h.status < 200) ||
	    strlen(h.session) > SESSION_MAX || strlen(h.location) > LOCATION_MAX)
		abort();
	for (const char *p = h.session; *p != '\0'; p++)
		if (*p <= ' ' || *p >= 0x7f)
			abort();
	return 0;
}
