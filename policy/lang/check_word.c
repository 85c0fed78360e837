/*
 * Checks of one word: literals, paths, names of variables.
 *
 * No message contains a value of an env or secret line, and no line that may
 * hold one is shown.
 */
#define DIAG_CODE "value"

#include "policy/lang/check_word.h"
#include "policy/lang/expand.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/policy.h"

#include <string.h>

#define PATH_LEN_MAX 4095
#define NAME_LEN_MAX 256

const char *
check_show(struct shown *s, const struct word *w)
{
	return diag_text(s->text, w->raw, w->raw_len);
}
bool
check_literal(struct check *c, const struct word *w)
{
	if (word_is_literal(w))
		return true;
	diag_error(c->diag, w->at,
	    "a pattern (`*` or `|`) is not allowed here; quote it to use the characters "
	    "literally");
	return false;
}

bool
check_path_word(struct check *c, const struct word *w)
{
	struct shown s;

	if (!check_literal(c, w))
		return false;
	if (w->len > PATH_LEN_MAX) {
		diag_error(
		    c->diag, w->at, "invalid path: longer than %d bytes", PATH_LEN_MAX);
		return false;
	}
	if (path_is_normal(w->text))
		return true;
	if (c->diag->hide_line)
		diag_error(c->diag, w->at,
		    "invalid path: expected an absolute path without `//`, `.`, `..` or "
		    "a trailing `/`");
	else if (w->text[0] == '~')
		diag_error(c->diag, w->at,
		    "`~` is not supported: write the whole path, or define `let home = "
		    "...`");
	else
		diag_error(c->diag, w->at,
		    "invalid path `%s`: expected an absolute path without `//`, `.`, "
		    "`..` or a trailing `/`",
		    check_show(&s, w));
	return false;
}

bool
check_name(struct check *c, const struct word *w)
{
	struct shown s;
	size_t i;
	bool good = w->len > 0 && w->len <= NAME_LEN_MAX &&
		    !(w->text[0] >= '0' && w->text[0] <= '9');

	for (i = 0; i < w->len; i++)
		good = good && name_byte((unsigned char)w->text[i]);
	if (good)
		return true;
	/* the word may contain a value: NAME=value */
	if (memchr(w->text, '=', w->len) != NULL)
		diag_error(c->diag, w->at,
		    "expected `=` with a space on both sides after the name");
	else if (w->len <= NAME_LEN_MAX && c->diag->hide_line)
		diag_error(c->diag, w->at,
		    "invalid variable name: use letters, digits and `_`, not starting "
		    "with a digit");
	else
		diag_error(c->diag, w->at,
		    "invalid variable name `%s`: use letters, digits and `_`, not "
		    "starting with a digit",
		    check_show(&s, w));
	return false;
}

bool
check_variable(struct check *c, const struct word *w)
{
	if (!check_name(c, w))
		return false;
	if (!env_is_refused(w->text))
		return true;
	diag_error(c->diag, w->at,
	    "%s is not allowed: it can make a loader, an interpreter or a tool run code "
	    "that no grant names",
	    w->text);
	return false;
}

bool
check_beginning(struct check *c, const struct word *w)
{
	size_t len = w->len > 0 ? w->len - 1 : 0;
	struct shown s;

	if (w->len == 0 || w->text[len] != '*' || word_is_literal(w))
		return false;
	if (!policy_env_beginning(w->text, w->len))
		diag_error(c->diag, w->at,
		    "invalid variable pattern `%s`: expected three or more letters, "
		    "digits or `_`, then `_*`",
		    check_show(&s, w));
	else if (env_beginning_is_refused(w->text, len))
		diag_error(c->diag, w->at,
		    "%s is not allowed: it matches variables that can make a loader, an "
		    "interpreter or a tool run code that no grant names",
		    w->text);
	return true;
}

static const char *
base_name(const char *p)
{
	const char *slash = strrchr(p, '/');

	return slash == NULL ? p : slash + 1;
}

bool
check_is_loader(const char *p)
{
	const char *base = base_name(p);

	return strncmp(base, "ld-linux", 8) == 0 || strncmp(base, "ld-musl-", 8) == 0 ||
	       strncmp(base, "ld64.so", 7) == 0 || strcmp(base, "ld.so") == 0 ||
	       strncmp(base, "ld.so.", 6) == 0 || strcmp(base, "ld-uClibc.so.0") == 0 ||
	       (strncmp(base, "ld-2.", 5) == 0 && strstr(base, ".so") != NULL);
}
