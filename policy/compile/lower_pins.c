/*
 * Reads a pins file (docs/FORMAT.pins) while its policy is compiled.  Each line
 * is one reviewed definition; its body is copied to the sealed file byte by
 * byte.  A line that differs from the output of "kennel server pin" is an
 * error; nothing is repaired.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIAG_CODE "pins"

#include "policy/compile/lower.h"
#include "policy/compile/source_list.h"
#include "policy/lang/parse.h"
#include "policy/sealed/load.h"
#include "policy/sealed/policy.h"
#include "shim/base/hex.h"
#include "shim/host/path_open.h"

#define PINFILE_LEN_MAX (16u << 20)
#define PINFILE_ROWS    65536

static const char head[] = "{\"kennel-pins\":1,\"server\":\"";

static const char *const kinds[] = {
    [PIN_TOOL] = "tool",
    [PIN_RESOURCE] = "resource",
    [PIN_TEMPLATE] = "template",
    [PIN_PROMPT] = "prompt",
    [PIN_CAPABILITIES] = "capabilities",
    [PIN_INSTRUCTIONS] = "instructions",
    [PIN_SERVER_INFO] = "server-info",
};

/* ---- JSON of a canonical line -------------------------------------------- */

struct at_line {
	const char *p, *end;
};

static bool
take(struct at_line *l, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(l->end - l->p) < n || memcmp(l->p, text, n) != 0)
		return false;
	l->p += n;
	return true;
}

/* Skips the value that begins here; policy_is_json checks it later. */
static bool
skip_value(struct at_line *l)
{
	size_t depth = 0;
	bool text = false;

	for (; l->p < l->end; l->p++) {
		if (text && *l->p == '\\' && l->p + 1 < l->end)
			l->p++;
		else if (*l->p == '"')
			text = !text;
		else if (!text && (*l->p == '{' || *l->p == '['))
			depth++;
		else if (!text && depth == 0 &&
			 (*l->p == ',' || *l->p == '}' || *l->p == ']'))
			return true;
		else if (!text && (*l->p == '}' || *l->p == ']'))
			depth--;
	}
	return false;
}

/* One escape of a canonical string: the byte, or -1. */
static int
unescape(struct at_line *l)
{
	static const char from[] = "\"\\bfnrt", to[] = "\"\\\b\f\n\r\t";
	const char *k;
	int high, low;

	if (l->end - l->p < 2)
		return -1;
	k = l->p[1] == '\0' ? NULL : strchr(from, l->p[1]);
	if (k != NULL) {
		l->p += 2;
		return (unsigned char)to[k - from];
	}
	if (l->end - l->p < 6 || memcmp(l->p, "\\u00", 4) != 0)
		return -1;
	high = hex_lower(l->p[4]);
	low = hex_lower(l->p[5]);
	if (high < 0 || low < 0 || high > 1 || (high == 0 && low == 0))
		return -1;
	l->p += 6;
	return high * 16 + low;
}

#define TEXT_LONG (-2)

/* A quoted string, decoded into out: its length, TEXT_LONG or -1. */
static int
text(struct at_line *l, char *out, size_t cap)
{
	size_t n = 0;
	int c;

	if (!take(l, "\""))
		return -1;
	while (l->p < l->end && *l->p != '"') {
		c = *l->p == '\\' ? unescape(l) : (unsigned char)*l->p++;
		if (c < 0)
			return -1;
		if (n + 1 == cap)
			return TEXT_LONG;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return take(l, "\"") ? (int)n : -1;
}

/* The value of a member of the object at p, or NULL. */
static const char *
member(const char *p, const char *end, const char *key, const char **ret_end)
{
	struct at_line l = {p, end};
	char name[256];
	const char *from;

	if (!take(&l, "{"))
		return NULL;
	while (l.p < l.end && *l.p == '"') {
		/* a longer name is not one of those that are searched */
		if (text(&l, name, sizeof(name)) < 0 || !take(&l, ":"))
			return NULL;
		from = l.p;
		if (!skip_value(&l))
			return NULL;
		if (strcmp(name, key) == 0) {
			*ret_end = l.p;
			return from;
		}
		if (!take(&l, ","))
			return NULL;
	}
	return NULL;
}

/* 1 true, 0 false or another value, -1 absent. */
static int
hint(const char *p, const char *end, const char *key)
{
	const char *to = NULL, *v = member(p, end, key, &to);

	if (v == NULL)
		return -1;
	return to - v == 4 && memcmp(v, "true", 4) == 0;
}

/*
 * The classes from a tool's annotations, with the protocol's defaults: the same
 * as the supervisor computes for a live server (supervisor/hub/pins.c).
 */
static uint32_t
classes_of(const char *body, size_t len)
{
	const char *end, *p = member(body, body + len, "annotations", &end);
	uint32_t classes = 0;
	bool reads;

	if (p == NULL || *p != '{')
		return CLASS_UNANNOTATED;
	reads = hint(p, end, "readOnlyHint") == 1;
	if (reads)
		classes |= CLASS_READONLY;
	if (hint(p, end, "destructiveHint") == 1 ||
	    (!reads && hint(p, end, "destructiveHint") != 0))
		classes |= CLASS_DESTRUCTIVE;
	if (hint(p, end, "idempotentHint") == 1)
		classes |= CLASS_IDEMPOTENT;
	if (hint(p, end, "openWorldHint") != 0)
		classes |= CLASS_OPENWORLD;
	return classes;
}

/* ---- a line ------------------------------------------------------------------- */

static uint32_t
kind_of(const char *name)
{
	uint32_t i;

	for (i = PIN_TOOL; i <= PIN_SERVER_INFO; i++)
		if (strcmp(kinds[i], name) == 0)
			return i;
	return 0;
}

/* Why the line is invalid, or NULL with *ret filled. */
static const char *
line_read(struct sealer *s, const char *p, size_t len, struct sealed_pin *ret)
{
	struct at_line l = {p, p + len};
	char kind[32], name[SEALED_PIN_NAME_MAX + 1], variant[256];
	struct sealed_pin pin = {.kind = 0};
	const char *body;
	size_t body_len;
	int n = 0, v = 0;

	static_assert(
	    SEALED_STR_LEN_MAX == 131071 && SEALED_PIN_NAME_MAX == 4096, "the messages");
	if (!policy_is_json(p, len))
		return "invalid JSON";
	if (!take(&l, "{\"body\":"))
		return "expected a body first";
	body = l.p;
	if (!skip_value(&l))
		return "unterminated body";
	body_len = (size_t)(l.p - body);
	if (body_len > SEALED_STR_LEN_MAX)
		return "the definition has more than 131071 bytes: remove the line, and "
		       "what it defines is not offered to the agent";
	if (!take(&l, ",\"kind\":") || text(&l, kind, sizeof(kind)) < 0 ||
	    (pin.kind = kind_of(kind)) == 0)
		return "unknown kind";
	if (!take(&l, ",\"name\":"))
		return "expected body, kind, name and variant, in this order";
	n = text(&l, name, sizeof(name));
	if (n == TEXT_LONG)
		return "the name has more than 4096 bytes: remove the line, and what it "
		       "defines is not offered to the agent";
	if (n < 0 || !take(&l, ",\"variant\":") ||
	    (v = text(&l, variant, sizeof(variant))) < 0 || !take(&l, "}") ||
	    l.p != l.end)
		return "expected body, kind, name and variant, in this order";
	if ((n > 0) != (pin.kind < PIN_CAPABILITIES))
		return "unexpected or missing name";
	pin.name = sealer_str(s, name, (size_t)n);
	pin.variant = sealer_str(s, variant, (size_t)v);
	pin.body = sealer_str(s, body, body_len);
	policy_digest(body, body_len, pin.sha256);
	if (pin.kind == PIN_TOOL)
		pin.classes = classes_of(body, body_len);
	*ret = pin;
	return NULL;
}

/* The first line: the server that it belongs to. */
static const char *
head_read(const char *p, size_t len, const char *server)
{
	struct at_line l = {p, p + len};
	char name[80];

	if (!take(&l, head))
		return "not a pins file of this version: write it again with `kennel "
		       "server pin`";
	l.p--; /* the quote */
	if (text(&l, name, sizeof(name)) < 0 || !take(&l, "}") || l.p != l.end)
		return "invalid first line";
	return strcmp(name, server) == 0 ? NULL
					 : "the file contains the pins of another server";
}

const char *
pinfile_read(struct sealer *s, const char *server, const char *p, size_t len,
    struct sealed_range *ret, uint32_t *ret_line)
{
	struct sealed_pin pin;
	const char *end, *why;
	uint32_t line = 0;

	ret->first = sealer_rows(s, SEALED_PINS);
	ret->n = 0;
	while (len > 0) {
		*ret_line = ++line;
		end = memchr(p, '\n', len);
		if (end == NULL)
			return "expected a newline at the end of the file";
		why = line == 1 ? head_read(p, (size_t)(end - p), server)
				: line_read(s, p, (size_t)(end - p), &pin);
		if (why != NULL)
			return why;
		if (line > 1) {
			(void)sealer_row(s, SEALED_PINS, &pin, sizeof(pin));
			if (++ret->n > PINFILE_ROWS)
				return "the file has too many lines";
		}
		len -= (size_t)(end - p) + 1;
		p = end + 1;
	}
	*ret_line = 1;
	return line == 0 ? "the file is empty" : NULL;
}

/* ---- the statement --------------------------------------------------------------- */

int
lower_pins(struct lower *l, const struct stmt *s)
{
	const struct policy_source *source = &l->tree->source[s->at.file];
	const char *path, *why = NULL;
	char shown[DIAG_TEXT_CAP], why_not[PATH_WHY_MAX], *data = NULL;
	struct tree own = *l->tree;
	uint32_t line = 0;
	size_t len = 0;
	int r;

	if (source->reader != NULL && source->reader->no_pins)
		return 0;
	own.arena = l->arena;
	path = include_path(&own, source->path, s->word[0].text, &why);
	if (path == NULL || source->reader == NULL) {
		diag_error(l->diag, s->word[0].at, "unable to read a pins file here");
		return -EINVAL;
	}
	diag_text(shown, path, strlen(path));
	r = source->reader->read(source->reader->arg, path, PINFILE_LEN_MAX, &data, &len);
	if (r != 0) {
		l->lacks.pins = true;
		diag_host(l->diag, s->word[0].at, "unable to read %s: %s%s", shown,
		    r == -EPERM   ? "it is world-writable (chmod o-w)"
		    : r == -EFBIG ? "it is larger than 16 MiB"
				  : path_why(path, r, why_not, sizeof(why_not)),
		    r == -ENOENT ? ": `kennel server pin NAME -o FILE` writes it" : "");
		return -EINVAL;
	}
	why =
	    pinfile_read(l->sealer, l->server->name.text, data, len, &l->row.pins, &line);
	r = why == NULL ? source_list_put(sealer_sources(l->sealer), path, data, len) : 0;
	free(data);
	if (why == NULL)
		return r;
	diag_error(l->diag, s->word[0].at, "%s:%u: %s", shown, line, why);
	return -EINVAL;
}
