/*
 * Any bytes as an event stream.  Whole, byte by byte and cut in two, it gives the same
 * events; no event is larger than the limit, and an id can be sent back as a header.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/remote/sse.h"
#include "tests/fuzz/fuzz.h"

#define LINE_MAX_TEST 4096

struct heard {
	struct buf text; /* each event and a NUL */
	size_t n;
};

static void
hear(void *arg, char *data, size_t len)
{
	struct heard *h = arg;

	if (len == 0 || len > LINE_MAX_TEST)
		abort();
	h->n++;
	if (buf_put(&h->text, data, len) < 0 || buf_putc(&h->text, '\0') < 0)
		abort();
}

static int
feed(const uint8_t *data, size_t len, size_t step, struct heard *ret, struct sse *s)
{
	size_t i, n;
	int r = 0;

	*ret = (struct heard){.n = 0};
	buf_init(&ret->text, 1u << 24);
	sse_init(s, LINE_MAX_TEST, hear, ret);
	for (i = 0; i < len && r == 0; i += n) {
		n = len - i < step ? len - i : step;
		r = sse_feed(s, (const char *)data + i, n);
	}
	return r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const size_t steps[] = {1, len / 2 + 1, 7};
	struct heard whole, part;
	struct sse a, b;
	int r = feed(data, len, len + 1, &whole, &a), q;

	for (const char *p = a.id; *p != '\0'; p++)
		if (*p < ' ' || *p >= 0x7f)
			abort();
	if (strlen(a.id) > SSE_ID_MAX)
		abort();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		q = feed(data, len, steps[i], &part, &b);
		if (q != r || part.n != whole.n || part.text.len != whole.text.len ||
		    (whole.text.len > 0 &&
			memcmp(part.text.data, whole.text.data, whole.text.len) != 0) ||
		    strcmp(a.id, b.id) != 0 || a.retry_ms != b.retry_ms)
			abort();
		buf_free(&part.text);
		sse_free(&b);
	}
	buf_free(&whole.text);
	sse_free(&a);
	return 0;
}
