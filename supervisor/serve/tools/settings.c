/*
 * Reads settings.kennel: the words of the policy language, one statement a line.
 *
 *	facet allow|deny NAME...
 *	expose SERVER.TOOL...
 *	budget N
 *	ahead N
 *	channels NAME...
 *	catalog allow|deny
 *
 * Trusts: the file, if it belongs to root or the user and others cannot write it. No
 * statement grants anything, so a wrong line can only show more names than wanted.
 */
#define DIAG_CODE "settings"

#include "supervisor/serve/tools/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/base/arena.h"
#include "policy/base/diag.h"
#include "policy/base/source.h"
#include "policy/lang/expand.h"
#include "policy/lang/lex.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/help/near_word.h"
#include "shim/host/path_open.h"
#include "supervisor/base/paths.h"
#include "supervisor/serve/tools/facets.h"

#define ETC_DIR        "/etc/kennel"
#define WORDS_MAX      64  /* of one line */
#define SHOWN_MAX      128 /* bytes of a pattern of --expose in a message */
#define CHANNEL_SET(c) (1u << (c))

struct expose {
	const char *server, *tool; /* with `*` */
};

/* Elicitation opens a URL through the agent, so a person must ask for it. */
#define CHANNELS_DEFAULT \
	(CHANNEL_SET(CHANNEL_TERMINAL) | CHANNEL_SET(CHANNEL_CONSOLE) | \
	    CHANNEL_SET(CHANNEL_PINENTRY) | CHANNEL_SET(CHANNEL_NOTIFY))

static const char *const channels[CHANNEL_N] = {
    [CHANNEL_TERMINAL] = "terminal",
    [CHANNEL_CONSOLE] = "console",
    [CHANNEL_PINENTRY] = "pinentry",
    [CHANNEL_NOTIFY] = "notify",
    [CHANNEL_ELICITATION] = "elicitation",
};

const char *
channel_name(enum channel channel)
{
	return channels[channel];
}

enum { FACET, EXPOSE, BUDGET, AHEAD, CHANNELS, CATALOG, STATEMENT_N };

struct line {
	struct word word[WORDS_MAX];
	size_t n;
};

struct reading {
	struct lexer lex;
	struct token tok;
	struct diag *diag;
	struct settings *settings;
	uint32_t first_line[STATEMENT_N]; /* 0: none yet */
	int error;                        /* 0 or -ENOMEM */
};

typedef void statement_fn(struct reading *, const struct line *);

struct statement {
	const char *name;
	statement_fn *read;
	size_t min, max; /* number of words after the name */
	bool once;
	const char *takes;
};

/* ---- patterns --------------------------------------------------------------- */

/* Why the word is no pattern; NULL: it is one. */
static const char *
pattern_wrong(const struct word *w, enum sealed_arg_kind kind)
{
	const char *dot = strchr(w->text, '.'), *c;

	if (kind > ARG_GLOB || kind == ARG_REST || kind == ARG_CHOICE ||
	    (kind == ARG_LITERAL && strchr(w->text, '*') != NULL))
		return "`*` matches any characters; `**`, `|`, `<` `>` and a literal `*` "
		       "are not supported here";
	if (!w->quoted && strchr(w->text, '$') != NULL)
		return "`$NAME` is not supported here: write its value";
	if (dot == NULL || dot == w->text || dot[1] == '\0')
		return "expected SERVER.TOOL, as in `github.create_*`";
	if (dot[1] == '@')
		return "classes are not supported here: write the names of the tools";
	for (c = w->text; c < dot; c++)
		if (!name_byte((unsigned char)*c) && *c != '-' && *c != '*')
			return "the name of a server has letters, digits, `_` and `-`";
	return NULL;
}

/* Adds the pattern: 0; -EINVAL with *ret_why; -ENOMEM. */
static int
expose_add(struct settings *s, const struct word *w, const char **ret_why)
{
	enum sealed_arg_kind kind = ARG_CHOICE;
	struct expose *array;
	const char *text;
	char *copy;
	int r;

	r = word_pattern(s->arena, w, &kind, &text);
	if (r == -ENOMEM)
		return r;
	*ret_why = pattern_wrong(w, r < 0 ? ARG_CHOICE : kind);
	if (*ret_why == NULL && s->expose_n == SETTINGS_EXPOSE_MAX)
		*ret_why = "more than 1024 patterns";
	if (*ret_why != NULL)
		return -EINVAL;
	copy = arena_copy(s->arena, w->text, w->len);
	array = arena_push(s->arena, s->expose, s->expose_n, sizeof(*array));
	if (copy == NULL || array == NULL)
		return -ENOMEM;
	s->expose = array;
	array[s->expose_n].server = copy;
	array[s->expose_n].tool = strchr(copy, '.') + 1;
	*strchr(copy, '.') = '\0';
	s->expose_n++;
	return 0;
}

int
settings_expose(struct settings *s, const char *pattern, struct reason *why)
{
	struct word w = {.text = pattern, .len = strlen(pattern)};
	char shown[4 * SHOWN_MAX + 1];
	const char *wrong;
	int r;

	w.raw = w.text;
	w.raw_len = w.len;
	r = expose_add(s, &w, &wrong);
	if (r != -EINVAL)
		return r;
	(void)log_quote(
	    shown, sizeof(shown), pattern, strnlen(pattern, SHOWN_MAX)); /* shown */
	return reason_set(why, r, "invalid pattern `%s` of --expose: %s", shown, wrong);
}

static bool
applies(const struct expose *x, const char *server)
{
	return policy_glob(x->server, strlen(x->server), server, strlen(server));
}

bool
settings_exposes(
    const struct settings *s, const char *server, const char *tool, size_t len)
{
	for (size_t i = 0; i < s->expose_n; i++) {
		const struct expose *x = &s->expose[i];

		if (applies(x, server) &&
		    policy_glob(x->tool, strlen(x->tool), tool, len))
			return true;
	}
	return false;
}

const char *
settings_tool(const struct settings *s, const char *server, size_t *at)
{
	while (*at < s->expose_n) {
		const struct expose *x = &s->expose[(*at)++], *first = s->expose;

		if (!applies(x, server))
			continue;
		while (strcmp(first->tool, x->tool) != 0 || !applies(first, server))
			first++;
		if (first == x)
			return x->tool;
	}
	return NULL;
}

/* ---- statements ------------------------------------------------------------- */

static void
unknown(struct reading *r, const struct word *w, const char *what,
    const char *const *list, size_t n, const char *names)
{
	const char *near = near_word(w->text, list, n);
	char shown[DIAG_TEXT_CAP];

	(void)diag_text(shown, w->text, w->len); /* shown */
	if (near != NULL)
		diag_error(r->diag, w->at, "unknown %s `%s`: did you mean `%s`?", what,
		    shown, near);
	else
		diag_error(
		    r->diag, w->at, "unknown %s `%s`: expected %s", what, shown, names);
}

static void
statement_facet(struct reading *r, const struct line *l)
{
	const char *list[FACET_N];
	enum facet facet;
	uint32_t *set;

	for (size_t i = 0; i < FACET_N; i++)
		list[i] = facet_name((enum facet)i);
	if (strcmp(l->word[1].text, "allow") == 0)
		set = &r->settings->facets_allowed;
	else if (strcmp(l->word[1].text, "deny") == 0)
		set = &r->settings->facets_denied;
	else {
		diag_error(r->diag, l->word[1].at,
		    "expected allow or deny after `facet`: facet allow NAME...");
		return;
	}
	for (size_t i = 2; i < l->n; i++) {
		if (facet_find(l->word[i].text, l->word[i].len, &facet) == 0)
			*set |= 1u << facet;
		else
			unknown(r, &l->word[i], "facet", list, FACET_N, facet_names());
	}
}

static void
statement_expose(struct reading *r, const struct line *l)
{
	char shown[DIAG_TEXT_CAP];
	const char *why;
	int error;

	for (size_t i = 1; i < l->n && r->error == 0; i++) {
		error = expose_add(r->settings, &l->word[i], &why);
		if (error == -ENOMEM)
			r->error = error;
		else if (error < 0)
			diag_error(r->diag, l->word[i].at, "invalid pattern `%s`: %s",
			    diag_text(shown, l->word[i].text, l->word[i].len), why);
	}
}

static uint32_t
count(struct reading *r, const struct line *l)
{
	uint64_t n = 0;

	if (l->word[1].quoted || unit_count(l->word[1].text, &n) < 0 ||
	    n > SETTINGS_COUNT_MAX) {
		diag_error(r->diag, l->word[1].at, "expected a number from 0 to %u",
		    SETTINGS_COUNT_MAX);
		return 0;
	}
	return (uint32_t)n;
}

static void
statement_budget(struct reading *r, const struct line *l)
{
	r->settings->budget = count(r, l);
	r->settings->has_budget = true;
}

static void
statement_ahead(struct reading *r, const struct line *l)
{
	r->settings->ahead = count(r, l);
}

static void
statement_channels(struct reading *r, const struct line *l)
{
	size_t i, c;

	r->settings->channels = 0;
	for (i = 1; i < l->n; i++) {
		for (c = 0; c < CHANNEL_N; c++)
			if (strcmp(l->word[i].text, channels[c]) == 0)
				break;
		if (c < CHANNEL_N)
			r->settings->channels |= CHANNEL_SET(c);
		else
			unknown(r, &l->word[i], "channel", channels, CHANNEL_N,
			    "terminal, console, pinentry, notify, elicitation");
	}
}

static void
statement_catalog(struct reading *r, const struct line *l)
{
	r->settings->catalog_denied = strcmp(l->word[1].text, "deny") == 0;
	if (!r->settings->catalog_denied && strcmp(l->word[1].text, "allow") != 0)
		diag_error(r->diag, l->word[1].at, "expected allow or deny");
}

static const struct statement statements[STATEMENT_N] = {
    [FACET] = {"facet", statement_facet, 2, WORDS_MAX, false,
	"allow or deny, and names of facets"},
    [EXPOSE] = {"expose", statement_expose, 1, WORDS_MAX, false,
	"patterns, as in `github.create_*`"},
    [BUDGET] = {"budget", statement_budget, 1, 1, true, "one number"},
    [AHEAD] = {"ahead", statement_ahead, 1, 1, true, "one number"},
    [CHANNELS] = {"channels", statement_channels, 1, WORDS_MAX, true,
	"names of channels"},
    [CATALOG] = {"catalog", statement_catalog, 1, 1, true, "allow or deny"},
};

/* The statement with this name; STATEMENT_N: reported. */
static size_t
statement_find(struct reading *r, const struct word *w)
{
	const char *list[STATEMENT_N];
	size_t i;

	for (i = 0; i < STATEMENT_N; i++) {
		list[i] = statements[i].name;
		if (!w->quoted && strcmp(list[i], w->text) == 0)
			return i;
	}
	unknown(r, w, "statement", list, STATEMENT_N,
	    "facet, expose, budget, ahead, channels or catalog");
	return STATEMENT_N;
}

static void
statement_read(struct reading *r, const struct line *l)
{
	size_t i = statement_find(r, &l->word[0]);
	const struct statement *s = &statements[i];

	if (i == STATEMENT_N)
		return;
	if (s->once && r->first_line[i] != 0)
		diag_error(r->diag, l->word[0].at,
		    "duplicate `%s`; first defined on line %u", s->name,
		    r->first_line[i]);
	else if (l->n - 1 < s->min || l->n - 1 > s->max)
		diag_error(r->diag, l->word[0].at, "`%s` takes %s", s->name, s->takes);
	else
		s->read(r, l);
	if (r->first_line[i] == 0)
		r->first_line[i] = l->word[0].at.line;
}

/* ---- the text --------------------------------------------------------------- */

static void
advance(struct reading *r)
{
	if (lex_next(&r->lex, &r->tok) < 0) {
		r->error = -ENOMEM;
		r->tok.kind = TOKEN_END;
	}
}

/* Reads the words of a line. false: reported. */
static bool
line_read(struct reading *r, struct line *ret)
{
	bool good = true;

	ret->n = 0;
	for (; r->tok.kind != TOKEN_NEWLINE && r->tok.kind != TOKEN_END; advance(r)) {
		if (!good)
			continue; /* one error for a line that is no line of words */
		if (r->tok.kind == TOKEN_WORD && ret->n < WORDS_MAX) {
			ret->word[ret->n++] = r->tok.word;
			continue;
		}
		good = false;
		if (r->tok.kind == TOKEN_WORD)
			diag_error(r->diag, r->tok.at,
			    "more than %d words: continue on another line", WORDS_MAX);
		else
			diag_error(r->diag, r->tok.at,
			    "expected words only: a statement of " SETTINGS_FILE
			    " has no block and no list");
	}
	return good;
}

int
settings_read(
    const char *file, const char *text, size_t len, FILE *out, struct settings *ret)
{
	struct policy_source source = {.path = file, .len = len};
	struct diag diag = {.out = out, .source = &source, .source_n = 1};
	struct reading r = {.diag = &diag, .settings = ret};
	struct line line;

	*ret = (struct settings){.arena = arena_new(), .channels = CHANNELS_DEFAULT};
	if (ret->arena == NULL)
		return -ENOMEM;
	source.text = arena_copy(ret->arena, text, len);
	ret->file = arena_copy(ret->arena, file, strlen(file));
	if (source.text == NULL || ret->file == NULL)
		return -ENOMEM;
	lex_scan(&source, 0, &diag);
	lex_init(&r.lex, &source, 0, ret->arena, &diag);
	for (advance(&r); r.tok.kind != TOKEN_END && r.error == 0;) {
		if (r.tok.kind == TOKEN_NEWLINE)
			advance(&r);
		else if (line_read(&r, &line))
			statement_read(&r, &line);
	}
	diag_end(&diag);
	return r.error < 0 ? r.error : diag.error_n > 0 ? -EINVAL : 0;
}

void
settings_free(struct settings *s)
{
	arena_free(s->arena);
	*s = (struct settings){.arena = NULL};
}

/* ---- the file --------------------------------------------------------------- */

/* Can this file be trusted? NULL, or why not. */
static const char *
file_wrong(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (st->st_uid != 0 && st->st_uid != geteuid()) /* early: geteuid */
		return "it belongs to another user";
	if ((st->st_mode & S_IWOTH) != 0)
		return "it is world-writable: run `chmod o-w` on it";
	return NULL;
}

static int
file_read(const char *path, FILE *diag, struct settings *ret)
{
	char why[PATH_WHY_MAX], *text = NULL;
	const char *wrong = NULL;
	struct stat st;
	size_t len = 0;
	int fd = -1, r;

	r = path_open(path, &fd); /* early: openat fstat newfstatat read lseek close */
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0 && (wrong = file_wrong(&st)) != NULL)
		r = -EPERM;
	if (r == 0)
		r = fd_slurp(fd, SETTINGS_LEN_MAX, &text, &len);
	if (r == -EFBIG)
		wrong = "it is larger than 64 KiB";
	fd_close(&fd);
	if (r == 0)
		r = settings_read(path, text, len, diag, ret);
	else if (r != -ENOMEM) {
		(void)fprintf(diag, "%s: error: unable to read the file: %s\n", path,
		    wrong != NULL ? wrong : path_why(path, r, why, sizeof(why)));
		r = -EINVAL;
	}
	free(text);
	return r;
}

/* A link that leads nowhere is a file that cannot be read, not a missing one. */
static bool
file_is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0; /* early: lstat newfstatat */
}

int
settings_load(FILE *diag, struct settings *ret)
{
	static const char etc[] = ETC_DIR "/" SETTINGS_FILE;
	const char *config = paths_config_dir();
	char path[PATH_MAX];
	int n;

	*ret = (struct settings){.arena = NULL};
	if (file_is_there(etc))
		return file_read(etc, diag, ret);
	if (config == NULL && paths_refused()) {
		(void)fprintf(diag, "error: %s\n", paths_why());
		return -EINVAL;
	}
	if (config != NULL) {
		n = snprintf(path, sizeof(path), "%s/%s", config, SETTINGS_FILE);
		if (n > 0 && (size_t)n < sizeof(path) && file_is_there(path))
			return file_read(path, diag, ret);
	}
	ret->arena = arena_new();
	ret->channels = CHANNELS_DEFAULT;
	return ret->arena == NULL ? -ENOMEM : 0;
}
