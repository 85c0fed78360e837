/*
 * Checks every text of a definition: each key and each string, wherever it is, because a
 * model reads all of them.
 *
 * Process: kennel. Trusts nothing: the texts are a server's. A warning shows a bounded
 * part of them, as printable ASCII.
 */
#include "supervisor/lint/lint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shim/base/array.h"
#include "shim/base/utf8.h"
#include "shim/host/codepoint.h"
#include "supervisor/lint/private.h"

#define DESCRIPTION_MAX (4u << 10)   /* bytes; longer ones are not read to the end */
#define CHECKED_MAX     (256u << 10) /* bytes of a text that are checked */
#define NEWLINES_MAX    8            /* empty lines in a row */
#define BLANKS_MAX      80           /* spaces in a row */
#define AROUND          24           /* bytes shown before and after a fragment */

static const struct {
	const char *name, *what;
} rules[] = {
    [LINT_ENCODING] = {"encoding", "a text that is not valid"},
    [LINT_ANSI] = {"ansi", "an escape sequence, which a terminal obeys"},
    [LINT_CONTROL] = {"control", "a control character"},
    [LINT_BIDI] = {"bidi", "a character that reverses how text is shown"},
    [LINT_ZERO_WIDTH] = {"zero-width", "an invisible character"},
    [LINT_TAG] = {"tag", "invisible tag characters, which a model can read"},
    [LINT_SELECTOR] = {"selector", "variation selectors, which can carry hidden bytes"},
    [LINT_PRIVATE] = {"private-use", "a character without a meaning"},
    [LINT_PADDING] = {"padding", "text far away from the text before it"},
    [LINT_LONG] = {"long", "a text too long to be read"},
    [LINT_MARKUP] = {"markup", "markup that pretends to be of the system"},
    [LINT_HIDE] = {"hide", "keeps something from the user"},
    [LINT_OVERRIDE] = {"override", "directs other tools or instructions"},
    [LINT_LEAK] = {"leak", "asks for what the tool does not need"},
    [LINT_DIRECT] = {"direct", "orders something besides the use of this tool"},
    [LINT_BLOB] = {"blob", "an encoded text that decodes to a command"},
    [LINT_FILE] = {"file", "names a file with credentials or settings"},
    [LINT_URL] = {"url", "a URL with a credential, or for collecting data"},
    [LINT_SHADOW] = {"shadow", "names another server or its tool"},
    [LINT_EQUAL] = {"equal", "another server has a tool of this name"},
    [LINT_LOOK_ALIKE] = {"look-alike", "a name that looks like another one"},
    [LINT_ICON] = {"icon", "an icon from neither https: nor data:"},
};

struct lint {
	struct lint_names *names;
	bool sorted;
	struct buf text, folded, map, path, shown;
	/* of the definition under check */
	lint_fn *fn;
	void *arg;
	struct lint_warning warning;
	const char *what; /* of the next warning; NULL: the rule's */
	uint32_t hits;    /* rules that the current text has broken, as bits */
};

/* ---- begin and end ------------------------------------------------------------ */

int
lint_new(const char *server, struct lint **ret)
{
	struct lint *l = calloc(1, sizeof(*l));
	int r = l == NULL ? -ENOMEM : lint_names_new(server, &l->names);

	if (r < 0) {
		free(l);
		return r;
	}
	buf_init(&l->text, MCP_MESSAGE_MAX);
	buf_init(&l->folded, 4 * (size_t)CHECKED_MAX);
	buf_init(&l->map, 4 * (size_t)CHECKED_MAX * sizeof(uint32_t));
	buf_init(&l->path, MCP_MESSAGE_MAX);
	buf_init(&l->shown, MCP_MESSAGE_MAX);
	*ret = l;
	return 0;
}

void
lint_free(struct lint *l)
{
	if (l == NULL)
		return;
	lint_names_free(l->names);
	buf_free(&l->text);
	buf_free(&l->folded);
	buf_free(&l->map);
	buf_free(&l->path);
	buf_free(&l->shown);
	free(l);
}

int
lint_know(struct lint *l, const char *server, const char *tool, size_t tool_len)
{
	l->sorted = false;
	return lint_names_add(l->names, server, tool, tool_len);
}

/* ---- warnings -------------------------------------------------------------------- */

/* Printable, and cut with an ellipsis. */
static void
put_shown(struct lint *l, const char *text, size_t len, char *out, size_t cap)
{
	const char *shown;

	buf_clear(&l->shown);
	if (codepoint_show(&l->shown, text, len < cap ? len : cap, 0) < 0)
		buf_clear(&l->shown); /* out of memory: the warning has no fragment */
	shown = buf_str(&l->shown);
	if (len > cap || strlen(shown) >= cap)
		(void)snprintf(out, cap, "%.*s...", (int)cap - 4, shown);
	else
		(void)snprintf(out, cap, "%s", shown);
}

static void
warn(struct lint *l, enum lint_rule rule, const char *text, size_t len)
{
	const char *path = buf_str(&l->path); /* no text has a NUL */

	if ((l->hits & 1u << rule) != 0)
		return;
	l->hits |= 1u << rule;
	l->warning.rule = rules[rule].name;
	l->warning.what = l->what != NULL ? l->what : rules[rule].what;
	put_shown(l, path, strlen(path), l->warning.member, sizeof(l->warning.member));
	put_shown(l, text, len, l->warning.shown, sizeof(l->warning.shown));
	l->fn(l->arg, &l->warning);
}

/* Moves to the beginning of a character. */
static size_t
at_character(const struct lint_text *t, size_t i)
{
	while (i > 0 && i < t->len && ((uint8_t)t->at[i] & 0xc0) == 0x80)
		i--;
	return i;
}

/* The bytes [from, to) of the text, with what is around them. */
void
lint_part(struct lint *l, enum lint_rule rule, const struct lint_text *t, size_t from,
    size_t to)
{
	from = at_character(t, from > AROUND ? from - AROUND : 0);
	to = at_character(t, t->len - to > AROUND ? to + AROUND : t->len);
	warn(l, rule, t->at + from, to - from);
}

void
lint_part_about(struct lint *l, enum lint_rule rule, const struct lint_text *t,
    size_t from, size_t to, const char *what)
{
	char shown[LINT_SHOWN_MAX];

	put_shown(l, what, strlen(what), shown, sizeof(shown));
	l->what = shown;
	lint_part(l, rule, t, from, to);
	l->what = NULL;
}

void
lint_hit(struct lint *l, enum lint_rule rule, const struct lint_text *t, size_t from,
    size_t to)
{
	lint_part(l, rule, t, t->map[from], to < t->folded_len ? t->map[to] : t->len);
}

/* ---- characters ------------------------------------------------------------------ */

static bool
is_emoji(uint32_t c)
{
	return (c >= 0x2190 && c <= 0x2bff) || (c >= 0x1f000 && c <= 0x1faff) ||
	       c == 0xfe0f;
}

/* Arabic, Syriac, and the scripts of India and its neighbours need joiners. */
static bool
needs_joiner(uint32_t c)
{
	return (c >= 0x600 && c <= 0x8ff) || (c >= 0x900 && c <= 0xdff) ||
	       (c >= 0x1000 && c <= 0x109f);
}

/* True if ordinary text has this character after that one. */
static bool
is_ordinary(uint32_t before, uint32_t c, uint32_t after)
{
	if (c == 0x200d)
		return (is_emoji(before) && is_emoji(after)) ||
		       (needs_joiner(before) && needs_joiner(after));
	if (c == 0x200c)
		return needs_joiner(before) && needs_joiner(after);
	if (c == 0xfe0e || c == 0xfe0f)
		return (before >= 0xa9 && codepoint_class(before) == CODEPOINT_PLAIN) ||
		       before == '#' || before == '*' || (before >= '0' && before <= '9');
	return false;
}

static void
check_characters(struct lint *l, const struct lint_text *t)
{
	static const uint8_t rule_of[] = {
	    [CODEPOINT_CONTROL] = LINT_CONTROL,
	    [CODEPOINT_ESCAPE] = LINT_ANSI,
	    [CODEPOINT_BIDI] = LINT_BIDI,
	    [CODEPOINT_ZERO_WIDTH] = LINT_ZERO_WIDTH,
	    [CODEPOINT_TAG] = LINT_TAG,
	    [CODEPOINT_SELECTOR] = LINT_SELECTOR,
	    [CODEPOINT_PRIVATE] = LINT_PRIVATE,
	    [CODEPOINT_SPACE] = 0,
	};
	const char *p = t->at, *end = t->at + t->len;
	uint32_t before = 0;

	while (p < end) {
		const char *from = p, *next;
		uint32_t c = utf8_take(&p, end);
		int rule = rule_of[codepoint_class(c)];

		next = p;
		if (rule != 0 &&
		    !is_ordinary(before, c, p < end ? utf8_take(&next, end) : 0))
			lint_part(l, (enum lint_rule)rule, t, (size_t)(from - t->at),
			    (size_t)(p - t->at));
		/* a carriage return that ends no line writes over what is before it */
		if (c == '\r' && p < end && *p != '\n')
			lint_part(l, LINT_CONTROL, t, (size_t)(from - t->at),
			    (size_t)(p - t->at));
		before = c;
	}
}

/* Text after many blanks or empty lines: a window shows only what is before them. */
static void
check_padding(struct lint *l, const struct lint_text *t)
{
	const char *p = t->at, *end = t->at + t->len;
	size_t blanks = 0, lines = 0;

	while (p < end) {
		const char *from = p;
		uint32_t c = utf8_take(&p, end);

		if (c == '\n') {
			lines++;
			blanks = 0;
		} else if (c == ' ' || c == '\t' || c == '\r' ||
			   codepoint_class(c) == CODEPOINT_SPACE) {
			blanks++;
		} else {
			if (from - t->at > (ptrdiff_t)(blanks + lines) &&
			    (blanks > BLANKS_MAX || lines > NEWLINES_MAX))
				lint_part(l, LINT_PADDING, t, (size_t)(from - t->at),
				    (size_t)(p - t->at));
			blanks = lines = 0;
		}
	}
}

/* ---- texts ----------------------------------------------------------------------- */

static char
lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static int
fold(struct lint *l, struct lint_text *t)
{
	const char *p = t->at, *end = t->at + t->len;
	int r = 0;

	buf_clear(&l->folded);
	buf_clear(&l->map);
	while (r == 0 && p < end) {
		uint32_t from = (uint32_t)(p - t->at);
		char memory[2];
		const char *as = codepoint_ascii(utf8_take(&p, end), memory);

		if (as == NULL)
			as = "\x80";
		do {
			/* a NUL is not in a text */
			if (*as != '\0')
				r = buf_putc(&l->folded, lower(*as));
			if (*as != '\0' && r == 0)
				r = buf_put(&l->map, &from, sizeof(from));
		} while (r == 0 && *as != '\0' && *++as != '\0');
	}
	t->folded = (const char *)l->folded.data;
	t->folded_len = l->folded.len;
	t->map = (const uint32_t *)(const void *)l->map.data;
	return r;
}

static bool
ends_in(const struct lint *l, const char *suffix)
{
	size_t n = strlen(suffix);

	return l->path.len >= n && memcmp(l->path.data + l->path.len - n, suffix, n) == 0;
}

static int
check_text(struct lint *l, const char *at, size_t len, bool described)
{
	struct lint_text t = {.at = at, .len = len};
	int r;

	if (len > (described ? DESCRIPTION_MAX : CHECKED_MAX))
		warn(l, LINT_LONG, at, len);
	if (t.len > CHECKED_MAX)
		t.len = CHECKED_MAX;
	t.len = at_character(&(struct lint_text){.at = at, .len = len}, t.len);
	check_characters(l, &t);
	check_padding(l, &t);
	r = fold(l, &t);
	if (r < 0 || t.folded_len == 0)
		return r;
	lint_phrases(l, &t);
	lint_blobs(l, &t);
	lint_marks(l, &t);
	/* two servers may have a tool of one name */
	if (l->path.len != sizeof("/name") - 1 || !ends_in(l, "/name"))
		lint_names_in(l->names, l, &t);
	return 0;
}

static int
decode(struct lint *l, struct json string, size_t *ret_len)
{
	int r;

	buf_clear(&l->text);
	r = buf_reserve(&l->text, string.len);
	if (r < 0)
		return r;
	r = json_text(string, (char *)l->text.data, l->text.cap, ret_len);
	if (r == -EILSEQ) {
		warn(l, LINT_ENCODING, (const char *)string.at, string.len);
		r = 0;
		*ret_len = 0;
	}
	return r;
}

static bool
is_icon(const struct lint *l)
{
	const char *p =
	    l->path.data == NULL ? NULL : memmem(l->path.data, l->path.len, "/icons/", 7);

	return p != NULL && ends_in(l, "/src");
}

static int
check_string(struct lint *l, struct json string)
{
	bool described = l->path.len == 0 || ends_in(l, "/description") ||
			 ends_in(l, "/title") || ends_in(l, "/instructions");
	size_t len;
	int r;

	l->hits = 0;
	r = decode(l, string, &len);
	if (r < 0 || len == 0)
		return r;
	if (is_icon(l)) {
		const char *src = (const char *)l->text.data;

		if (strncasecmp(src, "https:", 6) != 0 &&
		    strncasecmp(src, "data:", 5) != 0)
			warn(l, LINT_ICON, src, len);
		if (strncasecmp(src, "data:", 5) == 0)
			return 0; /* bytes of a picture */
	}
	return check_text(l, (const char *)l->text.data, len, described);
}

/* ---- a definition ------------------------------------------------------------------ */

/* Appends one step of the pointer (RFC 6901). */
static int
path_key(struct lint *l, const char *key, size_t len)
{
	int r = buf_putc(&l->path, '/');

	for (size_t i = 0; r == 0 && i < len; i++)
		r = key[i] == '~'   ? buf_puts(&l->path, "~0")
		    : key[i] == '/' ? buf_puts(&l->path, "~1")
				    : buf_putc(&l->path, key[i]);
	return r;
}

static int
check_key(struct lint *l, struct json key)
{
	size_t len;
	int r;

	l->hits = 0;
	r = decode(l, key, &len);
	if (r == 0)
		r = path_key(l, (const char *)l->text.data, len);
	if (r < 0 || len == 0)
		return r;
	if (lint_names_mixed((const char *)l->text.data, len))
		warn(l, LINT_LOOK_ALIKE, (const char *)l->text.data, len);
	return check_text(l, (const char *)l->text.data, len, false);
}

/* The depth is that of a message (MCP_DEPTH_MAX), which the scanner has checked. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a message, MCP_DEPTH_MAX */
check_value(struct lint *l, struct json value)
{
	struct json key, inner;
	struct json_walk w;
	size_t path = l->path.len, i = 0;
	char number[24];
	int r = value.type == JSON_IS_STRING ? check_string(l, value) : 0;

	json_walk(&w, value);
	while (r == 0 && json_next(&w, &key, &inner)) {
		if (key.type == JSON_IS_STRING)
			r = check_key(l, key);
		else
			r = path_key(l, number,
			    (size_t)snprintf(number, sizeof(number), "%zu", i++));
		if (r == 0)
			r = check_value(l, inner);
		l->path.len = path;
	}
	return r;
}

/* A name is what a call goes by: it may be neither another one's nor look like it. */
static int
check_name(struct lint *l, struct json name)
{
	char like[LINT_SHOWN_MAX];
	const char *server;
	size_t len;
	int r;

	l->hits = 0;
	r = decode(l, name, &len);
	if (r < 0)
		return r;
	put_shown(
	    l, (const char *)l->text.data, len, l->warning.name, sizeof(l->warning.name));
	if (l->warning.kind == PIN_TOOL &&
	    lint_names_like(l->names, (const char *)l->text.data, len, like) != NULL)
		warn(l, LINT_LOOK_ALIKE, like, strlen(like));
	else if (lint_names_mixed((const char *)l->text.data, len))
		warn(l, LINT_LOOK_ALIKE, (const char *)l->text.data, len);
	server = l->warning.kind == PIN_TOOL
		     ? lint_names_equal(l->names, (const char *)l->text.data, len)
		     : NULL;
	if (server != NULL)
		warn(l, LINT_EQUAL, server, strlen(server));
	return 0;
}

int
lint_definition(struct lint *l, enum sealed_pin_kind kind, struct json name,
    struct json body, lint_fn *fn, void *arg)
{
	int r = 0;

	if (!l->sorted)
		lint_names_sort(l->names);
	l->sorted = true;
	l->fn = fn;
	l->arg = arg;
	l->warning = (struct lint_warning){.kind = kind};
	buf_clear(&l->path);
	if (name.type == JSON_IS_STRING)
		r = check_name(l, name);
	return r < 0 ? r : check_value(l, body);
}
