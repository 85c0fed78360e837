/*
 * Any bytes as the head of a request to a page.  The check finds the same end in each
 * longer part, and what it passes has lines that every reader of HTTP ends at the same
 * places: no control byte but HTAB, and CR LF.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/host/http_heads.h"
#include "tests/fuzz/fuzz.h"

static void
judge(const uint8_t *head, size_t len)
{
	const uint8_t *end = memmem(head, len, "\r\n\r\n", 4);

	if (end == NULL)
		abort();
	for (const uint8_t *p = head; p < end; p++) {
		if (*p == '\r' && p[1] != '\n')
			abort();
		if (*p == '\n' && (p == head || p[-1] != '\r'))
			abort();
		if ((*p < ' ' && *p != '\t' && *p != '\r' && *p != '\n') || *p == 0x7f)
			abort();
	}
	if (head[0] == '\r')
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	enum http_head before = HTTP_HEAD_PART, is;
	uint8_t *part;

	if (len > 2048)
		return 0;
	for (size_t n = 0; n <= len; n++) {
		part = malloc(n + 1); /* ASan sees one byte too far */
		if (part == NULL)
			return 0;
		memcpy(part + 1, data, n);
		is = http_head_check(part + 1, n);
		if (before != HTTP_HEAD_PART && is != before)
			abort();
		if (is == HTTP_HEAD_WHOLE)
			judge(part + 1, n);
		before = is;
		free(part);
	}
	return 0;
}
