/*
 * Any bytes as the start of a TLS connection, from either side.  However they come
 * in, the answer is the same; what is asked for more of is more than there is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/egress/client_hello.h"
#include "tests/fuzz/fuzz.h"

struct outcome {
	int r;
	enum hello_why why;
	struct client_hello hello;
};

/* As the relay reads: no look before there is as much as was asked for. */
static struct outcome
in_pieces(const uint8_t *bytes, size_t len, size_t piece)
{
	struct outcome o = {.r = -EAGAIN};
	size_t got = 0, need = 0;
	uint8_t *copy;

	while (o.r == -EAGAIN && got < len) {
		got = got + piece < len ? got + piece : len;
		if (got < need)
			continue;
		copy = malloc(got);
		if (copy == NULL)
			abort();
		memcpy(copy, bytes, got);
		o.r = client_hello_read(copy, got, &o.hello, &need, &o.why);
		free(copy);
		if (o.r == -EAGAIN && (need <= got || need > HELLO_BYTES_MAX))
			abort();
	}
	return o;
}

static void
client(const uint8_t *bytes, size_t len)
{
	struct outcome whole = in_pieces(bytes, len, len + !len), parts;

	if (whole.r == 0 && (whole.hello.len > len || whole.hello.len < 43 ||
				strlen(whole.hello.name) > HELLO_NAME_MAX))
		abort();
	if (whole.r == 0)
		printable(whole.hello.alpn, strlen(whole.hello.alpn));
	parts = in_pieces(bytes, len, 1 + len / 7);
	/* what is wrong may show later, when there is as much as was asked for */
	if (parts.r == -EAGAIN && whole.r == -EBADMSG)
		return;
	if (parts.r != whole.r ||
	    (parts.r == 0 && (parts.hello.len != whole.hello.len ||
				 strcmp(parts.hello.name, whole.hello.name) != 0)))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy;
	bool retry;

	if (len > HELLO_BYTES_MAX)
		return 0;
	client(data, len);
	copy = malloc(len + !len);
	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	(void)server_hello_read(copy, len, &retry);
	if (hello_skipped(copy, len) > len)
		abort();
	free(copy);
	return 0;
}
