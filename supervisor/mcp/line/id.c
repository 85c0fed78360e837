/*
 * Ids as values. JSON libraries that have only doubles answer request 1 with the id 1.0,
 * so numbers are compared by value. Strings are compared by their text, however it is
 * escaped.
 */
#include <stdio.h>
#include <string.h>

#include "policy/sealed/values/number.h"
#include "supervisor/mcp/line/id.h"

#define EXACT_MAX  "9007199254740992" /* 2^53: each integer up to it is a double */
#define DIGITS_MAX 20                 /* of a number that is compared by value */

/* "DIGITSePOWER" of a number; as written, if it has more digits or is beyond 2^53. */
static void
number_key(struct id_key *k, const char *text, size_t len)
{
	bool negative = text[0] == '-';
	struct number_decimal d;
	size_t n = 0;
	int order;

	k->at = text;
	k->len = len;
	if (number_decimal(text, len, &d) < 0 ||
	    policy_number_compare(text + negative, len - negative, EXACT_MAX,
		sizeof(EXACT_MAX) - 1, &order) < 0 ||
	    order > 0)
		return;
	while (d.sign != 0 && (d.s[d.end - 1] == '0' || d.s[d.end - 1] == '.'))
		d.end--;
	for (size_t i = d.at; d.sign != 0 && i < d.end; i++) {
		if (d.s[i] == '.')
			continue;
		if (n == DIGITS_MAX)
			return;
		k->memory[n++] = d.s[i];
	}
	k->at = k->memory;
	k->len = n + (size_t)snprintf(k->memory + n, sizeof(k->memory) - n, "%se%lld",
			 d.sign < 0 ? "-" : "", d.sign == 0 ? 0 : (long long)d.power);
}

void
id_key(struct id_key *k, const uint8_t *id, size_t len)
{
	struct json string = {id, len, JSON_IS_STRING};

	k->string = id[0] == '"';
	if (!k->string) {
		number_key(k, (const char *)id, len);
		return;
	}
	k->at = (const char *)id + 1;
	k->len = len - 2;
	if (memchr(id, '\\', len) == NULL)
		return;
	/* A lone surrogate has no text: compare it as written. */
	if (json_text(string, k->memory, sizeof(k->memory), &k->len) == 0)
		k->at = k->memory;
	else
		k->len = len - 2;
}

bool
id_key_same(const struct id_key *a, const struct id_key *b)
{
	return a->string == b->string && a->len == b->len &&
	       memcmp(a->at, b->at, a->len) == 0;
}

static bool
is_id(struct json id)
{
	return (id.type == JSON_IS_STRING || id.type == JSON_IS_NUMBER) && id.len > 0 &&
	       id.len <= MCP_ID_MAX;
}

bool
id_same(struct json a, struct json b)
{
	struct id_key left, right;

	if (!is_id(a) || !is_id(b))
		return false;
	id_key(&left, a.at, a.len);
	id_key(&right, b.at, b.len);
	return id_key_same(&left, &right);
}

bool
id_spelled(struct json id, const uint8_t *as, size_t len)
{
	return id.len == len && memcmp(id.at, as, len) == 0;
}

bool
id_of_text(struct json id, struct id_key *ret)
{
	char text[MCP_ID_MAX + 1];
	struct json_message m;
	size_t len;

	if (!is_id(id) || id.at[0] != '"' ||
	    json_text(id, text, sizeof(text), &len) < 0 || len == 0 ||
	    strspn(text, "-.0123456789") != len ||
	    json_scan((const uint8_t *)text, len, &m) < 0 ||
	    m.root.type != JSON_IS_NUMBER)
		return false;
	id_key(ret, (const uint8_t *)text, len);
	if (ret->at != ret->memory) { /* the text is about to go */
		memcpy(ret->memory, text, len);
		ret->at = ret->memory;
	}
	return true;
}
