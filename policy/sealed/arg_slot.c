/*
 * Typed slots: parsing them, and testing whether an argument fits (arg_slot.h).
 *
 * Every slot is a regular set of texts.  This file and the automaton in
 * algebra/slot_sets.c must agree on it (tests/unit/test_algebra.c).
 */
#include <string.h>

#include "policy/sealed/arg_slot.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

/* ---- parsing ------------------------------------------------------------- */

/* Digits only, no leading zero; reads 0 bytes if there is no number. */
static size_t
number_read(const char *text, size_t len, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < len && i < 18 && text[i] >= '0' && text[i] <= '9'; i++)
		n = 10 * n + (uint64_t)(text[i] - '0');
	if (i == 0 || (i > 1 && text[0] == '0') ||
	    (i < len && text[i] >= '0' && text[i] <= '9'))
		return 0;
	*ret = n;
	return i;
}

static const char *
read_number(const char *text, size_t len, struct slot_value *ret)
{
	size_t n = 0;

	ret->lo = 0;
	ret->hi = SLOT_NUMBER_MAX;
	if (len == 0)
		return NULL;
	n = number_read(text, len, &ret->lo);
	if (n == 0 || len < n + 3 || memcmp(text + n, "..", 2) != 0 ||
	    number_read(text + n + 2, len - n - 2, &ret->hi) != len - n - 2 ||
	    ret->lo > ret->hi)
		return "invalid number slot: expected `<number>` or, with bounds, "
		       "`<number:1..50>`";
	return NULL;
}

static const char *
read_path(const char *text, size_t len, struct slot_value *ret)
{
	ret->text = text;
	ret->len = len;
	return policy_is_path(text, len) || (len == 1 && text[0] == '/')
		   ? NULL
		   : "invalid path slot: expected `<path:/directory>` with an absolute "
		     "path without `//`, `.` or `..`";
}

static bool is_host(const char *, size_t);

static const char *
read_host(const char *text, size_t len, struct slot_value *ret)
{
	size_t skip = len > 2 && memcmp(text, "*.", 2) == 0 ? 2 : 0;

	ret->text = text;
	ret->len = len;
	return len == 0 || is_host(text + skip, len - skip)
		   ? NULL
		   : "invalid host slot: expected `<host>`, `<host:a.example>` or "
		     "`<host:*.example.com>`, in lower case";
}

static const char *
read_text(const char *text, size_t len, struct slot_value *ret)
{
	return len == 0 ? NULL : "`<text>` takes no value";
}

/* The text after "<", without the ">". */
static const char *
read_slot(const char *text, size_t len, struct slot_value *ret)
{
	static const struct {
		const char *name;
		enum slot_type type;
		const char *(*read)(const char *, size_t, struct slot_value *);
	} types[] = {
	    {"number", SLOT_NUMBER, read_number},
	    {"path", SLOT_PATH, read_path},
	    {"host", SLOT_HOST, read_host},
	    {"text", SLOT_TEXT, read_text},
	};
	const char *colon = memchr(text, ':', len);
	size_t n = colon != NULL ? (size_t)(colon - text) : len, i;

	for (i = 0; i < ARRAY_LEN(types); i++)
		if (strlen(types[i].name) == n && memcmp(types[i].name, text, n) == 0)
			break;
	if (i == ARRAY_LEN(types))
		return "unknown slot: expected `<number>`, `<path:/directory>`, "
		       "`<host>`, `<text>`, or `<-a,--b>` for options; quote the word to "
		       "use the characters literally";
	ret->type = types[i].type;
	ret->text = "";
	ret->len = 0;
	if (colon != NULL && n + 1 == len)
		return "expected a value after `:`";
	return types[i].read(
	    text + n + (colon != NULL), colon != NULL ? len - n - 1 : 0, ret);
}

static const char *
read_words(const char *text, size_t len, struct slot_value *ret)
{
	size_t i;

	*ret = (struct slot_value){.type = SLOT_WORDS, .text = text, .len = len};
	for (i = 0; i <= len; i++)
		if ((i == len || text[i] == '|') && (i == 0 || text[i - 1] == '|'))
			return "expected a value after `=`, several values separated by "
			       "`|`, or a slot";
	return memchr(text, '*', len) == NULL && memchr(text, '<', len) == NULL &&
		       memchr(text, '>', len) == NULL
		   ? NULL
		   : "invalid option value: expected `a|b` or one slot, without `*`";
}

/* Parses "<...>" or a list of words. */
static const char *
read_value(const char *text, size_t len, struct slot_value *ret)
{
	if (len >= 2 && text[0] == '<' && text[len - 1] == '>')
		return read_slot(text + 1, len - 2, ret);
	return read_words(text, len, ret);
}

struct slot_value
slot_value(const char *text, size_t len, size_t *ret_prefix)
{
	struct slot_value v = {.type = SLOT_WORDS, .text = ""};
	const char *open = memchr(text, '<', len);
	size_t n = open != NULL ? (size_t)(open - text) : len;

	*ret_prefix = n;
	if (read_value(text + n, len - n, &v) != NULL)
		v = (struct slot_value){.type = SLOT_WORDS, .text = ""};
	return v;
}

const char *
slot_check(const char *text, size_t len)
{
	const char *open = memchr(text, '<', len), *why;
	struct slot_value v;
	size_t n;

	if (open == NULL)
		return "expected a slot";
	n = (size_t)(open - text);
	if (len - n < 2 || text[len - 1] != '>' ||
	    memchr(open + 1, '<', len - n - 1) != NULL)
		return "expected one slot, at the end of the argument";
	if (memchr(text, '*', n) != NULL || memchr(text, '|', n) != NULL)
		return "`*` and `|` are not allowed before a slot";
	why = read_value(open, len - n, &v);
	if (why == NULL && v.type == SLOT_TEXT && n > 0)
		return "`<text>` must be the whole argument";
	return why;
}

/* The end of the option that begins here: a comma outside a slot, or len. */
static size_t
option_end(const char *text, size_t len, size_t at)
{
	bool inside = false;

	for (; at < len && (inside || text[at] != ','); at++)
		inside = text[at] == '<' || (inside && text[at] != '>');
	return at;
}

static const char *
read_option(const char *text, size_t len, struct slot_option *ret)
{
	const char *equal = memchr(text, '=', len), *why;
	size_t n = equal != NULL ? (size_t)(equal - text) : len, i;

	*ret = (struct slot_option){.name = text, .name_len = n, .takes = equal != NULL};
	ret->is_short = n == 2 && text[0] == '-';
	if (n < 2 || text[0] != '-' || (n == 2 && text[1] == '-'))
		return "invalid option: expected `-` or `--`, then a name";
	for (i = 1; i < n; i++)
		if (strchr("<>,|*", text[i]) != NULL || text[i] == 0)
			return "invalid option name: `<>,|*` are not allowed";
	if (equal == NULL)
		return NULL;
	why = read_value(equal + 1, len - n - 1, &ret->value);
	if (why == NULL && ret->value.type == SLOT_TEXT)
		return "`<text>` is only allowed after `--`";
	return why;
}

bool
slot_option(const char *text, size_t len, size_t *at, struct slot_option *ret)
{
	size_t from = *at == 0 ? 1 : *at, end;

	if (len < 2 || from >= len - 1)
		return false;
	end = option_end(text, len - 1, from);
	*at = end + 1;
	return read_option(text + from, end - from, ret) == NULL;
}

const char *
slot_check_options(const char *text, size_t len)
{
	struct slot_option o;
	const char *why;
	size_t at = 1, end;

	if (len < 4 || text[0] != '<' || text[1] != '-' || text[len - 1] != '>')
		return "invalid options: expected `<-a,--b,--c=<number>>`";
	for (;; at = end + 1) {
		end = option_end(text, len - 1, at);
		why = read_option(text + at, end - at, &o);
		if (why != NULL || end == len - 1)
			return why;
	}
}

/* ---- matching ------------------------------------------------------------ */

static bool
words_fit(const struct slot_value *v, const char *text, size_t len)
{
	size_t at = 0, end;

	for (;;) {
		for (end = at; end < v->len && v->text[end] != '|'; end++)
			;
		if (end - at == len && memcmp(v->text + at, text, len) == 0)
			return true;
		if (end == v->len)
			return false;
		at = end + 1;
	}
}

static bool
number_fits(const struct slot_value *v, const char *text, size_t len)
{
	uint64_t n;

	return len > 0 && number_read(text, len, &n) == len && n >= v->lo && n <= v->hi;
}

static bool
path_fits(const struct slot_value *v, const char *text, size_t len)
{
	return (policy_is_path(text, len) || (len == 1 && text[0] == '/')) &&
	       policy_under(text, len, v->text, v->len);
}

static bool
is_label(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (text[i] != '-' && !(text[i] >= 'a' && text[i] <= 'z') &&
		    !(text[i] >= '0' && text[i] <= '9'))
			return false;
	return len > 0 && text[0] != '-' && text[len - 1] != '-';
}

/*
 * Labels separated by dots.  The last one begins with a letter, so that no
 * spelling of an IP address is a name.
 */
static bool
is_host(const char *text, size_t len)
{
	size_t at, end;

	for (at = 0;; at = end + 1) {
		for (end = at; end < len && text[end] != '.'; end++)
			;
		if (!is_label(text + at, end - at))
			return false;
		if (end == len)
			return text[at] >= 'a' && text[at] <= 'z';
	}
}

static bool
host_fits(const struct slot_value *v, const char *text, size_t len)
{
	if (!is_host(text, len))
		return false;
	if (v->len == 0)
		return true;
	if (v->text[0] != '*')
		return len == v->len && memcmp(text, v->text, len) == 0;
	return len > v->len - 1 &&
	       memcmp(text + len - (v->len - 1), v->text + 1, v->len - 1) == 0;
}

static bool
text_fits(const struct slot_value *v, const char *text, size_t len)
{
	return true;
}

bool
slot_match(const struct slot_value *v, const char *text, size_t len)
{
	static bool (*const fits[])(const struct slot_value *, const char *, size_t) = {
	    [SLOT_WORDS] = words_fit,
	    [SLOT_NUMBER] = number_fits,
	    [SLOT_PATH] = path_fits,
	    [SLOT_HOST] = host_fits,
	    [SLOT_TEXT] = text_fits,
	};

	return fits[v->type](v, text, len);
}

/*
 * --name, --name=value, --name value; also -name, a name of several letters
 * after one dash.
 */
static unsigned int
take_long(const struct slot_option *o, const char *const *argv, size_t argc)
{
	size_t len = strlen(argv[0]);
	unsigned int ret = 0;

	if (len < o->name_len || memcmp(argv[0], o->name, o->name_len) != 0)
		return 0;
	if (len == o->name_len && !o->takes)
		return SLOT_ONE;
	if (!o->takes)
		return 0;
	if (argv[0][o->name_len] == '=' &&
	    slot_match(&o->value, argv[0] + o->name_len + 1, len - o->name_len - 1))
		ret |= SLOT_ONE;
	if (len == o->name_len && argc > 1 &&
	    slot_match(&o->value, argv[1], strlen(argv[1])))
		ret |= SLOT_TWO;
	return ret;
}

/*
 * Finds the short option of this letter that takes a value, or that takes none.
 */
static bool
short_find(const char *options, size_t len, char letter, bool takes, size_t *at,
    struct slot_option *ret)
{
	while (slot_option(options, len, at, ret))
		if (ret->is_short && ret->name[1] == letter && ret->takes == takes)
			return true;
	return false;
}

/* -abc, where the last may take a value: -n5 or -n 5. */
static unsigned int
take_short(const char *options, size_t len, const char *const *argv, size_t argc)
{
	const char *word = argv[0];
	struct slot_option o;
	unsigned int ret = 0;
	size_t i, at;

	if (word[0] != '-' || word[1] == '\0')
		return 0;
	for (i = 1; word[i] != '\0'; i++) {
		for (at = 0; short_find(options, len, word[i], true, &at, &o);) {
			if (slot_match(&o.value, word + i + 1, strlen(word + i + 1)) &&
			    word[i + 1] != '\0')
				ret |= SLOT_ONE;
			if (word[i + 1] == '\0' && argc > 1 &&
			    slot_match(&o.value, argv[1], strlen(argv[1])))
				ret |= SLOT_TWO;
		}
		at = 0;
		if (!short_find(options, len, word[i], false, &at, &o))
			return ret;
	}
	return ret | SLOT_ONE;
}

unsigned int
slot_take(const char *options, size_t len, const char *const *argv, size_t argc)
{
	unsigned int ret = take_short(options, len, argv, argc);
	struct slot_option o;
	size_t at = 0;

	while (slot_option(options, len, &at, &o))
		if (!o.is_short)
			ret |= take_long(&o, argv, argc);
	return ret;
}
