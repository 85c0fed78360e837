/*
 * The scanner and the walker on any bytes.  What jansson takes, the scanner
 * must take too (but for depth); what the scanner takes, the walker must get
 * through, value by value, and find to be JSON again; its canonical form means
 * the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/mcp.h"
#include "tests/fuzz/fuzz.h"

static void
inside(const struct json *outer, struct json value, int depth)
{
	struct json key, member, again;
	struct json_message m;
	struct json_walk w;
	char text[64];
	size_t len;

	if (value.at < outer->at || value.at + value.len > outer->at + outer->len)
		abort();
	if (json_scan(value.at, value.len, &m) < 0 || m.root.type != value.type ||
	    m.root.len != value.len)
		abort();
	(void)json_text(value, text, sizeof(text), &len);
	(void)json_get(value, "name", &again);
	if (depth == 4)
		return;
	json_walk(&w, value);
	while (json_next(&w, &key, &member)) {
		if (key.type == JSON_IS_STRING && json_scan(key.at, key.len, &m) < 0)
			abort();
		inside(&value, member, depth + 1);
	}
}

/* The canonical form is JSON, its own canonical form, and means the same. */
static void
canonical(struct json value)
{
	struct buf one, two;
	struct json_message m;
	json_t *was, *is;

	buf_init(&one, MCP_MESSAGE_MAX);
	buf_init(&two, MCP_MESSAGE_MAX);
	if (json_canon(value, &one) == 0) {
		if (json_scan(one.data, one.len, &m) < 0 || json_canon(m.root, &two) < 0)
			abort();
		if (one.len != two.len || memcmp(one.data, two.data, one.len) != 0)
			abort();
		was =
		    json_loadb((const char *)value.at, value.len, JSON_DECODE_ANY, NULL);
		is = json_loadb((const char *)one.data, one.len, JSON_DECODE_ANY, NULL);
		if ((was == NULL) != (is == NULL) || (is != NULL && !json_equal(was, is)))
			abort();
		json_decref(was);
		json_decref(is);
	} else if (one.len != 0) {
		abort();
	}
	buf_free(&one);
	buf_free(&two);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + !len); /* exactly: ASan sees one byte too far */
	struct json_message m;
	struct skim skim;
	json_t *other;
	int r;

	if (len > 0)
		memcpy(copy, data, len);
	r = json_scan(copy, len, &m);
	if (m.stop > len)
		abort();
	skim_begin(&skim);
	skim_feed(&skim, copy, len);
	if (r == 0)
		inside(&m.root, m.root, 0);
	if (r == 0)
		canonical(m.root);
	if (memchr(copy, 0, len) != NULL) /* jansson may take it for the end */
		goto out;
	other = json_loadb((char *)copy, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (other != NULL && r < 0 && r != -E2BIG)
		abort();
	json_decref(other);
out:
	free(copy);
	return 0;
}
