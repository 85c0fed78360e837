/*
 * Which parts of a value a server may output besides the whole: the value without
 * outer white space, the lines of a multi-line value, and the secret fields of a
 * structured one.
 *
 *	{ or [ first		JSON: its strings
 *	all lines are fields	YAML, INI, an environment file: what follows key: or key=
 *	anything else		its lines; for a line that is a field, also its value
 *
 * A field counts if its key names a secret or its value is a token.  Text that is
 * ordinary elsewhere (a host, a URL, a word) never counts.
 *
 * Process: the leash, before it sandboxes itself.  Holds: bytes of the vault, and
 * decoded strings in pages of their own.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "leash/scrub/private.h"
#include "leash/scrub/white_space.h"
#include "leash/vault/vault.h"
#include "policy/tokens/weak_value.h"
#include "shim/base/array.h"

#define WORD_MAX  20   /* bytes; a longer string without a digit is not a word */
#define KEY_MAX   64   /* bytes; a longer name is not a key */
#define SPARE_MAX 4096 /* bytes of these pages for the room's bookkeeping */

/* The bytes of a value, or part of them. */
struct piece {
	const uint8_t *at;
	size_t len;
};

struct gather {
	struct scrub *scrub;
	uint32_t value;
	size_t first; /* index of the value's first string */
	struct piece whole;
	bool every_end; /* lines end also at CR, NEL, LS and PS: not all programs agree */
	int error;
};

/* ---- learning ----------------------------------------------------------------- */

static struct piece
trimmed(struct piece p)
{
	size_t n;

	while ((n = white_space_first(p.at, p.len)) > 0)
		p = (struct piece){p.at + n, p.len - n};
	while ((n = white_space_last(p.at, p.len)) > 0)
		p.len -= n;
	return p;
}

/* Adds the string once, unchanged. */
static void
add(struct gather *g, struct piece p)
{
	struct scrub *s = g->scrub;
	struct string *more;
	size_t i;

	if (g->error < 0 || p.len < SCRUB_LEN_MIN)
		return;
	for (i = g->first; i < s->string_n; i++)
		if (s->string[i].len == p.len &&
		    memcmp(s->string[i].data, p.at, p.len) == 0)
			return;
	if (s->string_n - g->first == SCRUB_STRINGS_MAX) {
		g->error = -E2BIG;
		return;
	}
	more = reallocarray(s->string, s->string_n + 1, sizeof(*more));
	if (more == NULL) {
		g->error = -ENOMEM;
		return;
	}
	s->string = more;
	s->string[s->string_n++] = (struct string){p.at, p.len, g->value};
}

static bool
begins(struct piece p, const char *with)
{
	size_t len = strlen(with);

	return p.len >= len && strncasecmp((const char *)p.at, with, len) == 0;
}

/* Adds a line as a string, unless it may occur in ordinary text. */
static void
add_line(struct gather *g, struct piece p)
{
	static const char *const known[] = {
	    "-----BEGIN ", "-----END ", "Proc-Type:", "DEK-Info:"};
	bool some = false;
	size_t i;

	p = trimmed(p);
	if (p.len < SCRUB_LINE_MIN || weak_value(p.at, p.len) != NULL)
		return;
	for (i = 0; i < ARRAY_LEN(known); i++)
		if (begins(p, known[i]))
			return;
	for (i = 0; i < p.len; i++)
		some |= isalnum(p.at[i]) || p.at[i] >= 0x80;
	if (some)
		add(g, p);
}

/* Bytes of the line end at p.at[at]; 0: none. */
static size_t
line_end(const struct gather *g, struct piece p, size_t at)
{
	if (g->every_end)
		return white_space_line_end(p.at + at, p.len - at);
	return p.at[at] == '\n';
}

/* The next line of *rest, without its end; false at the end. */
static bool
next_line(const struct gather *g, struct piece *rest, struct piece *ret)
{
	size_t len = 0, end = 0;

	if (rest->len == 0)
		return false;
	while (len < rest->len && (end = line_end(g, *rest, len)) == 0)
		len++;
	*ret = (struct piece){rest->at, len};
	*rest = (struct piece){rest->at + len + end, rest->len - len - end};
	if (ret->len > 0 && ret->at[ret->len - 1] == '\r')
		ret->len--;
	return true;
}

static bool
has_lines(const struct gather *g, struct piece p)
{
	for (size_t i = 0; i < p.len; i++)
		if (line_end(g, p, i) > 0)
			return true;
	return false;
}

static void
add_lines(struct gather *g, struct piece rest)
{
	struct piece line;

	while (next_line(g, &rest, &line))
		add_line(g, line);
}

/* ---- ordinary text -------------------------------------------------------------- */

static bool
all_of(struct piece p, const char *others)
{
	for (size_t i = 0; i < p.len; i++)
		if (!isalnum(p.at[i]) &&
		    (p.at[i] == '\0' || strchr(others, p.at[i]) == NULL))
			return false;
	return p.len > 0;
}

static bool
has_digit(struct piece p)
{
	for (size_t i = 0; i < p.len; i++)
		if (isdigit(p.at[i]))
			return true;
	return false;
}

/* name.example.org or 192.0.2.1, with or without a port. */
static bool
is_host(struct piece p)
{
	const uint8_t *colon = memchr(p.at, ':', p.len), *dot;
	struct piece last;

	if (colon != NULL) {
		last = (struct piece){colon + 1, p.len - (size_t)(colon + 1 - p.at)};
		if (!all_of(last, "") || last.len > 5)
			return false;
		p.len = (size_t)(colon - p.at);
	}
	dot = p.len > 0 ? memrchr(p.at, '.', p.len) : NULL;
	if (dot == NULL || !all_of(p, ".-"))
		return false;
	last = (struct piece){dot + 1, p.len - (size_t)(dot + 1 - p.at)};
	if (last.len >= 2 && all_of(last, "") && !has_digit(last))
		return true;
	for (size_t i = 0; i < p.len; i++)
		if (!isdigit(p.at[i]) && p.at[i] != '.')
			return false;
	return true;
}

static bool
is_email(struct piece p)
{
	const uint8_t *at = memchr(p.at, '@', p.len);
	struct piece user, host;

	if (at == NULL)
		return false;
	user = (struct piece){p.at, (size_t)(at - p.at)};
	host = (struct piece){at + 1, p.len - user.len - 1};
	return all_of(user, "._%+-") && is_host(host);
}

/* A URL without a user. */
static bool
is_url(struct piece p)
{
	const uint8_t *at = memmem(p.at, p.len, "://", 3), *end;
	size_t left;

	if (at == NULL || !all_of((struct piece){p.at, (size_t)(at - p.at)}, "+-."))
		return false;
	at += 3;
	left = p.len - (size_t)(at - p.at);
	end = memchr(at, '/', left);
	return memchr(at, '@', end == NULL ? left : (size_t)(end - at)) == NULL;
}

static bool
is_path(struct piece p)
{
	return (begins(p, "/") || begins(p, "~/") || begins(p, "./")) &&
	       memchr(p.at, '.', p.len) != NULL && all_of(p, "/._-~");
}

/* 2026-11-22, optionally followed by more. */
static bool
is_date(struct piece p)
{
	return p.len >= 10 && p.at[4] == '-' && p.at[7] == '-' &&
	       all_of((struct piece){p.at, 10}, "-") &&
	       all_of((struct piece){p.at, p.len}, "-:.+ ");
}

static bool
is_ordinary(struct piece p)
{
	return is_url(p) || is_host(p) || is_email(p) || is_path(p) || is_date(p) ||
	       (p.len < WORD_MAX && !has_digit(p) && all_of(p, "_.-"));
}

/* ---- fields --------------------------------------------------------------------------- */

/* Does this key name a secret?  A cluster's certificate is public. */
static bool
is_secret_key(struct piece key)
{
	static const char *const parts[] = {
	    "TOKEN", "SECRET", "KEY", "PASS", "CREDENTIAL", "AUTH"};
	size_t i, at;

	if (begins(key, "certificate-authority"))
		return false;
	for (at = 0; at < key.len; at++)
		for (i = 0; i < ARRAY_LEN(parts); i++)
			if (begins((struct piece){key.at + at, key.len - at}, parts[i]))
				return true;
	return false;
}

/* "Bearer t0ken": also adds the token without its scheme. */
static void
add_without_scheme(struct gather *g, struct piece p)
{
	static const char *const schemes[] = {"bearer ", "basic ", "token "};

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (begins(p, schemes[i]))
			add_line(g, (struct piece){p.at + strlen(schemes[i]),
					p.len - strlen(schemes[i])});
}

/* Adds the value of a field. */
static void
add_leaf(struct gather *g, bool secret, struct piece p)
{
	p = trimmed(p);
	if (p.len < SCRUB_LINE_MIN)
		return;
	if (!credentials_whole(p.at, p.len)) {
		if (!secret || is_ordinary(p) || weak_value(p.at, p.len) != NULL)
			return;
		add_without_scheme(g, p);
	}
	add(g, p);
	if (has_lines(g, p))
		add_lines(g, p);
}

/* ---- JSON ----------------------------------------------------------------------------- */

/* Pages for the decoded strings of this value; the size is bounded by the value's. */
static uint8_t *
decoded_room(struct gather *g, size_t n)
{
	struct value *v = &g->scrub->value[g->value];
	uint8_t *room = NULL;

	if (v->decoded == NULL)
		g->error = vault_new(g->whole.len + SPARE_MAX, &v->decoded);
	if (g->error == 0)
		room = vault_scratch(v->decoded, n);
	if (g->error == 0 && room == NULL)
		g->error = -ENOMEM;
	return room;
}

static struct piece
decoded(struct gather *g, struct piece p)
{
	struct piece ret;
	uint8_t *room, out[4], len;
	size_t at = 0;
	int r;

	if (memchr(p.at, '\\', p.len) == NULL)
		return p;
	room = decoded_room(g, p.len);
	if (room == NULL)
		return p;
	for (ret = (struct piece){room, 0}; at < p.len;) {
		r = NONE;
		if (p.at[at] == '\\')
			r = decode(SPELL_JSON, p.at, p.len, at, out, &len);
		if (r <= 0) {
			room[ret.len++] = p.at[at++];
			continue;
		}
		memcpy(room + ret.len, out, len);
		ret.len += len;
		at += (size_t)r;
	}
	return ret;
}

/* The string after the quote at p.at[*at]; moves *at after it. */
static struct piece
json_string(struct piece p, size_t *at)
{
	size_t from = ++*at;

	while (*at < p.len && p.at[*at] != '"')
		*at += p.at[*at] == '\\' ? 2 : 1;
	if (*at > p.len)
		*at = p.len;
	return (struct piece){p.at + from, (*at)++ - from};
}

static void
add_json(struct gather *g, struct piece p)
{
	bool secret = false;
	struct piece s;
	size_t at = 0;

	while (at < p.len && g->error == 0) {
		if (p.at[at] != '"') {
			at++;
			continue;
		}
		s = json_string(p, &at);
		while (at < p.len && isspace(p.at[at]))
			at++;
		if (at < p.len && p.at[at] == ':')
			secret = is_secret_key(s);
		else
			add_leaf(g, secret, decoded(g, s));
	}
}

/* ---- lines that are fields ----------------------------------------------------------------- */

struct field {
	struct piece key, value; /* key.len 0: a list item */
	size_t indent;
};

static struct piece
unquoted(struct piece p)
{
	const uint8_t *end;

	p = trimmed(p);
	if (p.len >= 2 && (p.at[0] == '"' || p.at[0] == '\'')) {
		end = memrchr(p.at + 1, p.at[0], p.len - 1);
		if (end != NULL)
			return (struct piece){p.at + 1, (size_t)(end - p.at) - 1};
	}
	end = memmem(p.at, p.len, " #", 2);
	if (end != NULL)
		p.len = (size_t)(end - p.at);
	return trimmed(p);
}

/* ": ", ":" and "=" at the end, "=x".  "x1=" and "==" may be the end of base64. */
static bool
is_separator(struct piece line, size_t at, struct piece key)
{
	bool last = at + 1 == line.len;

	if (line.at[at] == ':')
		return last || line.at[at + 1] == ' ';
	if (line.at[at] != '=')
		return false;
	return last ? !has_digit(key) : line.at[at + 1] != '=';
}

/* Is the line "key: value", "key=value", "- value" or a mixture? */
static bool
field_of(struct piece line, struct field *ret)
{
	size_t at = 0, end;
	bool item = false;

	while (at < line.len && (line.at[at] == ' ' || line.at[at] == '\t'))
		at++;
	ret->indent = at;
	for (; at + 1 < line.len && line.at[at] == '-' && line.at[at + 1] == ' '; at += 2)
		item = true;
	line = (struct piece){line.at + at, line.len - at};
	if (begins(line, "export "))
		line = (struct piece){line.at + 7, line.len - 7};
	for (end = 0; end < line.len && end < KEY_MAX; end++)
		if (!isalnum(line.at[end]) && strchr("_.-\"'", line.at[end]) == NULL)
			break;
	ret->key = (struct piece){line.at, end};
	while (end < line.len && line.at[end] == ' ')
		end++;
	if (ret->key.len > 0 && end < line.len && is_separator(line, end, ret->key)) {
		ret->value = (struct piece){line.at + end + 1, line.len - end - 1};
		return true;
	}
	ret->key.len = 0;
	ret->value = line;
	return item;
}

static bool
is_filler(struct piece line)
{
	line = trimmed(line);
	return line.len == 0 || line.at[0] == '#' || line.at[0] == ';' ||
	       line.at[0] == '[' || begins(line, "---");
}

/* Does an indented block follow, as after "key: |"? */
static bool
is_block(struct piece value)
{
	value = trimmed(value);
	return value.len > 0 && value.len <= 3 &&
	       (value.at[0] == '|' || value.at[0] == '>');
}

/* Is every line a field, or indented below one? */
static bool
is_fields(const struct gather *g, struct piece rest)
{
	struct piece line;
	struct field f;
	bool any = false;

	while (next_line(g, &rest, &line)) {
		if (is_filler(line))
			continue;
		if (field_of(line, &f))
			any |= f.key.len > 0;
		else if (!any || f.indent == 0)
			return false;
	}
	return any;
}

static void
add_fields(struct gather *g, struct piece rest)
{
	bool secret = false, block = false, field;
	size_t indent = 0;
	struct piece line;
	struct field f;

	while (next_line(g, &rest, &line) && g->error == 0) {
		field = field_of(line, &f);
		block = block && (trimmed(line).len == 0 || f.indent > indent);
		if (block)
			add_line(g, line);
		if (block || !field || is_filler(line))
			continue;
		if (f.key.len > 0) {
			secret = is_secret_key(f.key);
			indent = f.indent;
			block = secret && is_block(f.value);
		}
		if (!block)
			add_leaf(g, secret, unquoted(f.value));
	}
}

/* ---- a value ------------------------------------------------------------------------------ */

static void
learn_lines(struct gather *g, struct piece p)
{
	if (!is_fields(g, p) && has_lines(g, p))
		add_lines(g, p);
	add_fields(g, p);
}

int
structured_learn(struct scrub *s, uint32_t value, const uint8_t *data, size_t len)
{
	struct piece whole = {data, len}, inner = trimmed(whole);
	struct gather g = {
	    .scrub = s, .value = value, .first = s->string_n, .whole = whole};

	add(&g, whole);
	add(&g, inner);
	if (inner.len > 0 && (inner.at[0] == '{' || inner.at[0] == '[')) {
		add_json(&g, inner);
	} else {
		learn_lines(&g, inner);
		g.every_end = true;
		learn_lines(&g, inner);
	}
	return g.error;
}

bool
structured_trim(const uint8_t **data, size_t *len)
{
	struct piece inner = trimmed((struct piece){*data, *len});
	bool shorter = inner.len < *len;

	*data = inner.at;
	*len = inner.len;
	return shorter;
}
