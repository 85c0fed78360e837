/*
 * Any bytes as a message that kennel-remote sends or receives.  Its parts are inside of
 * it, reading it again as one line gives the same, and a string without its escapes is
 * no longer than with them.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/remote/message.h"
#include "shim/base/buf.h"
#include "tests/fuzz/fuzz.h"

static void
inside(struct slice s, const char *text, size_t len)
{
	struct buf out;

	if (s.len == 0)
		return;
	if (s.at < text || s.at + s.len > text + len)
		abort();
	buf_init(&out, len);
	if (message_unescape(s, &out) == 0 && out.len > s.len)
		abort();
	buf_free(&out);
}

static void
item(void *arg, struct slice key, struct slice value)
{
	const struct slice *whole = arg;
	struct message m;

	(void)key; /* an item of an array */
	inside(value, whole->at, whole->len);
	if (message_read(value.at, value.len, &m) == 0)
		inside(m.id, value.at, value.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + !len);
	struct message m, again;

	if (text == NULL)
		return 0;
	if (len > 0)
		memcpy(text, data, len);
	if (message_read(text, len, &m) == 0) {
		const struct slice parts[] = {m.id, m.method, m.name, m.version,
		    m.settled, m.request, m.cursor, m.arguments, m.capabilities, m.items};

		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			inside(parts[i], text, len);
		if (m.batch)
			(void)slice_items(
			    m.items, item, &m.items); /* as far as it goes */
		message_one_line(text, len);
		if (memchr(text, '\n', len) != NULL || memchr(text, '\r', len) != NULL ||
		    message_read(text, len, &again) != 0 || again.id.at != m.id.at ||
		    again.answers != m.answers || again.method.len != m.method.len ||
		    slice_same(again.id, m.id) != (m.id.len > 0))
			abort();
	}
	free(text);
	return 0;
}
