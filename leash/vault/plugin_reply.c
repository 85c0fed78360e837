/*
 * A reply of a plugin: one JSON object per line, by the rules of JSON-RPC 2.0.
 *
 * Process: the leash, before it sandboxes itself.  The plugin is the user's own
 * program, but its output is untrusted.  The line contains a value: it is decoded
 * in place, in the vault's pages, and no message of this file contains a byte of
 * it.
 *
 * First the whole line must be valid JSON (policy/sealed/json_reader.c: strict,
 * UTF-8, limited depth); then it is walked once.  Duplicate known names are
 * rejected.
 */
#include "leash/vault/plugin_reply.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <string.h>

#include "policy/sealed/json_reader.h"
#include "shim/base/utf8.h"

#define NUMBER_LEN_MAX 9 /* digits; no valid number here has more */

struct walk {
	char *s;
	size_t len, at;
	bool bad;
	const char *what;
	struct reply reply;
	uint32_t id;
};

struct text {
	char *at;
	size_t len;
};

/* A known name, and the function that reads its value. */
struct member {
	const char *name;
	void (*read)(struct walk *);
};

static const char *const kinds[] = {
    [REPLY_RESULT] = "answered",
    [REPLY_UNAVAILABLE] = "unavailable",
    [REPLY_UNSUPPORTED] = "unsupported-capability",
    [REPLY_BAD_REFERENCE] = "bad-reference",
    [REPLY_NEEDS_CREDENTIAL] = "needs-credential",
    [REPLY_OTHER] = "other",
};

const char *
reply_kind_name(enum reply_kind k)
{
	return kinds[k];
}

static void
wrong(struct walk *w, const char *what)
{
	if (!w->bad)
		w->what = what;
	w->bad = true;
}

static void
space(struct walk *w)
{
	while (w->at < w->len && strchr(" \t\n\r", w->s[w->at]) != NULL &&
	       w->s[w->at] != '\0')
		w->at++;
}

/* Skips white space, then this byte if it is next; true if it was. */
static bool
is(struct walk *w, char c)
{
	space(w);
	if (w->bad || w->at >= w->len || w->s[w->at] != c)
		return false;
	w->at++;
	return true;
}

/* ---- strings ---------------------------------------------------------------------- */

/* Decodes in place: the result is never longer. */
static struct text
string(struct walk *w)
{
	struct value_reader r = {.s = (const uint8_t *)w->s, .len = w->len};
	struct text t = {.at = w->s + w->at + 1};
	uint8_t one[4];
	uint32_t code;
	size_t n;

	if (!is(w, '"')) {
		wrong(w, "expected a string");
		return t;
	}
	t.at = w->s + w->at;
	r.at = w->at;
	while (value_char(&r, &code)) {
		n = utf8_put(code, one);
		memcpy(t.at + t.len, one, n);
		t.len += n;
	}
	if (r.bad)
		wrong(w, "invalid string");
	w->at = r.at;
	return t;
}

static bool
text_is(struct text t, const char *word)
{
	return t.len == strlen(word) && memcmp(t.at, word, t.len) == 0;
}

/* ---- other values ------------------------------------------------------------------ */

/* The bytes of a number or a literal. */
static struct text
bare(struct walk *w)
{
	struct text t;

	space(w);
	t.at = w->s + w->at;
	t.len = 0;
	while (w->at < w->len && strchr(",]} \t\n\r\"[{:", w->s[w->at]) == NULL) {
		w->at++;
		t.len++;
	}
	if (t.len == 0)
		wrong(w, "expected a number or a literal");
	return t;
}

static uint32_t
number(struct walk *w)
{
	struct text t = bare(w);
	uint32_t n = 0;
	size_t i;

	if (t.len > NUMBER_LEN_MAX)
		wrong(w, "number out of range");
	for (i = 0; !w->bad && i < t.len; i++) {
		if (t.at[i] < '0' || t.at[i] > '9')
			wrong(w, "expected an integer");
		n = n * 10 + (uint32_t)(t.at[i] - '0');
	}
	return w->bad ? 0 : n;
}

/* Skips one value of any kind.  The line is valid JSON, so counting brackets suffices. */
static void
skip(struct walk *w)
{
	size_t depth = 0;

	do {
		space(w);
		if (w->bad || w->at >= w->len)
			break;
		if (w->s[w->at] == '"')
			(void)string(w);
		else if (strchr("[{", w->s[w->at]) != NULL)
			depth++, w->at++;
		else if (strchr("]}", w->s[w->at]) != NULL)
			depth--, w->at++;
		else if (strchr(",:", w->s[w->at]) != NULL)
			w->at++;
		else
			(void)bare(w);
	} while (!w->bad && depth > 0);
	if (depth > 0)
		wrong(w, "unterminated value");
}

/* An object: calls the table's function for each known name.  Other names are skipped,
 * or rejected if strict.  *ret_seen has a bit for each name found. */
static void
object(
    struct walk *w, const struct member *m, size_t n, bool strict, unsigned int *ret_seen)
{
	unsigned int seen = 0;
	struct text name;
	size_t i;

	if (!is(w, '{')) {
		wrong(w, "expected an object");
		return;
	}
	if (is(w, '}')) {
		*ret_seen = 0;
		return;
	}
	do {
		name = string(w);
		if (!is(w, ':'))
			wrong(w, "expected a value after a name");
		for (i = 0; i < n && !text_is(name, m[i].name); i++)
			;
		if (i < n && (seen & (1u << i)) != 0)
			wrong(w, "duplicate name");
		if (i == n && strict)
			wrong(w, "unknown name");
		if (w->bad)
			return;
		if (i < n)
			seen |= 1u << i;
		if (i < n)
			m[i].read(w);
		else
			skip(w);
	} while (is(w, ','));
	if (!is(w, '}'))
		wrong(w, "unterminated object");
	*ret_seen = seen;
}

/* ---- members of a reply -------------------------------------------------------- */

static void
read_protocol(struct walk *w)
{
	w->reply.protocol = number(w);
}

static void
read_capabilities(struct walk *w)
{
	w->reply.capabilities = number(w);
}

static void
read_available(struct walk *w)
{
	struct text t = bare(w);

	w->reply.available = text_is(t, "true");
	if (!w->reply.available && !text_is(t, "false"))
		wrong(w, "expected true or false");
}

static void
read_value(struct walk *w)
{
	struct text t;

	space(w);
	if (w->at >= w->len || w->s[w->at] != '"') {
		wrong(w, "expected a string as the value");
		return;
	}
	t = string(w);
	w->reply.value = t.at;
	w->reply.value_len = t.len;
}

static void
read_result(struct walk *w)
{
	static const struct member list[] = {
	    {"protocol_version", read_protocol},
	    {"capabilities_bits", read_capabilities},
	    {"available", read_available},
	    {"value", read_value},
	};
	unsigned int seen;

	object(w, list, ARRAY_LEN(list), false, &seen);
}

static void
read_kind(struct walk *w)
{
	struct text t = string(w);
	int i;

	for (i = REPLY_UNAVAILABLE; i < REPLY_OTHER; i++)
		if (text_is(t, kinds[i]))
			w->reply.kind = (enum reply_kind)i;
}

static void
read_data(struct walk *w)
{
	static const struct member list[] = {{"kind", read_kind}};
	unsigned int seen;

	space(w);
	if (w->at < w->len && w->s[w->at] == '{')
		object(w, list, 1, false, &seen);
	else
		skip(w);
}

static void
read_error(struct walk *w)
{
	static const struct member list[] = {
	    {"code", skip},
	    {"message", skip},
	    {"data", read_data},
	};
	unsigned int seen = 0;

	w->reply.kind = REPLY_OTHER;
	object(w, list, ARRAY_LEN(list), false, &seen);
	if ((seen & 3) != 3)
		wrong(w, "an error without code or message");
}

static void
read_version(struct walk *w)
{
	if (!text_is(string(w), "2.0"))
		wrong(w, "expected JSON-RPC 2.0");
}

static void
read_id(struct walk *w)
{
	if (number(w) != w->id)
		wrong(w, "a reply to another request");
}

int
reply_read(char *line, size_t len, uint32_t id, struct reply *ret, const char **ret_what)
{
	static const struct member list[] = {
	    {"jsonrpc", read_version},
	    {"id", read_id},
	    {"result", read_result},
	    {"error", read_error},
	};
	struct walk w = {.s = line, .len = len, .id = id};
	unsigned int seen = 0;

	if (!policy_is_json(line, len)) {
		*ret_what = "invalid JSON";
		return -EPROTO;
	}
	object(&w, list, ARRAY_LEN(list), true, &seen);
	if (!w.bad && (seen & 3) != 3)
		wrong(&w, "missing `jsonrpc` or `id`");
	if (!w.bad && seen != 7 && seen != 11)
		wrong(&w, "expected either `result` or `error`");
	if (w.bad) {
		*ret_what = w.what;
		return -EPROTO;
	}
	*ret = w.reply;
	return 0;
}
