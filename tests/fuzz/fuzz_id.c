/*
 * Two JSON values as ids: one is itself, the order of the two does not matter, two numbers up
 * to 2^53 with few digits are one id where the exact comparison says so, and no other two are
 * unless they have the same bytes. A text that reads as a number is that number.
 *
 * Input: the values, with a newline between them.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/values/number.h"
#include "supervisor/mcp/line/id.h"
#include "tests/fuzz/fuzz.h"

static bool
small(struct json v)
{
	int order;
	bool negative = v.at[0] == '-';

	return v.len <= 20 &&
	       policy_number_compare((const char *)v.at + negative, v.len - negative,
		   "9007199254740992", 16, &order) == 0 &&
	       order <= 0;
}

static void
numbers(struct json a, struct json b, bool same)
{
	int order;

	if (small(a) && small(b)) {
		if (policy_number_compare((const char *)a.at, a.len, (const char *)b.at,
			b.len, &order) < 0 ||
		    (order == 0) != same)
			abort();
	} else if (same && !id_spelled(a, b.at, b.len) &&
		   policy_number_compare((const char *)a.at, a.len, (const char *)b.at,
		       b.len, &order) == 0 &&
		   order != 0)
		abort();
}

static void
text(struct json a)
{
	char quoted[MCP_ID_MAX + 3];
	struct id_key own, read;

	if (a.type != JSON_IS_NUMBER || a.len > MCP_ID_MAX - 2 ||
	    memchr(a.at, 'e', a.len) != NULL || memchr(a.at, 'E', a.len) != NULL)
		return;
	quoted[0] = quoted[a.len + 1] = '"';
	memcpy(quoted + 1, a.at, a.len);
	id_key(&own, a.at, a.len);
	if (!id_of_text((struct json){(const uint8_t *)quoted, a.len + 2, JSON_IS_STRING},
		&read) ||
	    !id_key_same(&own, &read))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *end = memchr(data, '\n', len);
	struct json_message left, right;
	struct json a, b;

	if (end == NULL || json_scan(data, (size_t)(end - data), &left) < 0 ||
	    json_scan(end + 1, len - (size_t)(end + 1 - data), &right) < 0)
		return 0;
	a = left.root;
	b = right.root;
	if (id_same(a, b) != id_same(b, a))
		abort();
	if ((a.type != JSON_IS_STRING && a.type != JSON_IS_NUMBER) ||
	    a.len > MCP_ID_MAX) {
		if (id_same(a, a))
			abort();
		return 0;
	}
	if (!id_same(a, a) || (a.type != b.type && id_same(a, b)))
		abort();
	if (a.type == JSON_IS_NUMBER && b.type == JSON_IS_NUMBER && b.len <= MCP_ID_MAX)
		numbers(a, b, id_same(a, b));
	text(a);
	return 0;
}
