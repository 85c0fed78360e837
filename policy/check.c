/*
 * A tree that says something: types, units, paths, variables.  Each word of the
 * language has one check.
 *
 * Values of env and secret lines are never named in a message, and no line
 * that may hold one is shown.
 */
#include "policy/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_LEN_MAX 4095
#define NAME_LEN_MAX 256
#define TMP_LEN_MIN  (64u << 10)
#define TMP_LEN_MAX  (1ULL << 40)
#define LANDLOCK_MAX 99

/* Where a bare program name is looked for, when the policy is compiled. */
static const char *const bin_folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};

struct check {
	struct tree *tree;
	struct diag *diag;
};

typedef void check_fn(struct check *, struct stmt *);

struct shown {
	char text[DIAG_TEXT_CAP];
};

/* A word as it was written, fit for a message. */
static const char *
show(struct shown *s, const struct word *w)
{
	return diag_text(s->text, w->raw, w->raw_len);
}

static bool
no_pattern(struct check *c, const struct word *w)
{
	if (word_is_literal(w))
		return true;
	diag_error(c->diag, w->at,
	    "`*` and `|` make a pattern, and there is none here; "
	    "quote the word to mean the characters");
	return false;
}

/* ---- paths --------------------------------------------------------------- */

static bool
path(struct check *c, const struct word *w)
{
	struct shown s;

	if (!no_pattern(c, w))
		return false;
	if (w->len > PATH_LEN_MAX) {
		diag_error(
		    c->diag, w->at, "a path is at most %d bytes long", PATH_LEN_MAX);
		return false;
	}
	if (path_is_normal(w->text))
		return true;
	if (c->diag->hide_line)
		diag_error(c->diag, w->at,
		    "a path starts with `/` and has no `//`, `.`, `..` or closing `/`");
	else if (w->text[0] == '~')
		diag_error(c->diag, w->at,
		    "`~` is not known here: write the whole path, or `let home = ...`");
	else
		diag_error(c->diag, w->at,
		    "`%s`: a path starts with `/` and has no `//`, `.`, `..` "
		    "or closing `/`",
		    show(&s, w));
	return false;
}

static void
path_place(struct check *c, const struct stmt *s, const struct word *w)
{
	static const char *const own[] = {"/proc", "/sys", "/dev"};
	const char *verb = keyword_name(s->kw);
	size_t i;

	if (strcmp(w->text, "/") == 0) {
		diag_error(
		    c->diag, w->at, "`%s /` is not a grant: name the folders", verb);
		return;
	}
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (path_below(own[i], w->text)) {
			diag_error(c->diag, w->at,
			    "`%s` of the host is never in the view; "
			    "the server has its own or none",
			    own[i]);
			return;
		}
	if (s->kw == KW_HIDE)
		return;
	if (strcmp(w->text, "/tmp") == 0)
		diag_error(c->diag, w->at,
		    "/tmp of the host is never in the view; "
		    "the server has its own (`tmp SIZE`)");
	if (s->kw == KW_WRITE &&
	    (path_below(w->text, "/etc/kennel") || path_below("/etc/kennel", w->text)))
		diag_error(c->diag, w->at,
		    "this would let the server write policies (/etc/kennel)");
}

static void
check_paths(struct check *c, struct stmt *s)
{
	size_t i;

	for (i = 0; i < s->word_n; i++)
		if (path(c, &s->word[i]))
			path_place(c, s, &s->word[i]);
}

static void
check_path(struct check *c, struct stmt *s)
{
	(void)path(c, &s->word[0]); /* it reports */
}

/* ---- programs ------------------------------------------------------------ */

/* A bare name becomes the path of the first program of that name. */
static bool
program_find(struct check *c, struct word *w)
{
	char buf[PATH_LEN_MAX + 1];
	struct shown s;
	struct stat st;
	char *copy;
	size_t i;
	int n;

	for (i = 0; i < sizeof(bin_folders) / sizeof(bin_folders[0]); i++) {
		n = snprintf(buf, sizeof(buf), "%s/%s", bin_folders[i], w->text);
		if (n < 0 || (size_t)n >= sizeof(buf))
			continue;
		/* syscalls: newfstatat faccessat2 access faccessat */
		if (stat(buf, &st) != 0 || !S_ISREG(st.st_mode) || access(buf, X_OK) != 0)
			continue;
		copy = arena_copy(c->tree->arena, buf, (size_t)n);
		if (copy == NULL)
			break;
		diag_warning(c->diag, w->at, "`%s` is taken to be %s; write the path",
		    show(&s, w), buf);
		w->text = copy;
		w->len = (size_t)n;
		w->literal = NULL;
		return true;
	}
	diag_error(c->diag, w->at, "no program `%s` in /usr/local/bin, /usr/bin, /bin",
	    show(&s, w));
	return false;
}

static const char *
base_name(const char *p)
{
	const char *slash = strrchr(p, '/');

	return slash == NULL ? p : slash + 1;
}

static bool
is_loader(const char *p)
{
	const char *base = base_name(p);

	return strncmp(base, "ld-linux", 8) == 0 || strncmp(base, "ld-musl-", 8) == 0 ||
	       strncmp(base, "ld64.so", 7) == 0 || strcmp(base, "ld.so") == 0 ||
	       strncmp(base, "ld.so.", 6) == 0 || strcmp(base, "ld-uClibc.so.0") == 0 ||
	       (strncmp(base, "ld-2.", 5) == 0 && strstr(base, ".so") != NULL);
}

static void
program(struct check *c, struct stmt *s)
{
	struct word *w = &s->word[0];

	if (w->len > 0 && strchr(w->text, '/') == NULL && w->text[0] != '~' &&
	    strcmp(w->text, ".") != 0 && strcmp(w->text, "..") != 0) {
		if (!no_pattern(c, w) || !program_find(c, w))
			return;
	} else if (!path(c, w)) {
		return;
	}
	if (is_loader(w->text))
		diag_error(c->diag, w->at,
		    "the loader starts any program: it cannot be granted");
}

static void
arguments(struct check *c, const struct stmt *s)
{
	enum sealed_arg_kind kind;
	const char *text;
	size_t i;
	int r;

	for (i = 1; i < s->word_n; i++) {
		r = word_pattern(c->tree->arena, &s->word[i], &kind, &text);
		if (r == 0 && kind == ARG_LITERAL)
			continue;
		if (r == 0 && kind == ARG_REST && i + 1 == s->word_n)
			continue;
		if (r == 0 && kind == ARG_REST)
			diag_error(c->diag, s->word[i].at,
			    "`**` is the rest of the arguments: it can only be last");
		else
			diag_error(c->diag, s->word[i].at,
			    "patterns other than a closing `**` are not in this "
			    "version; quote the word to mean the characters");
	}
}

static void
check_program(struct check *c, struct stmt *s)
{
	program(c, s);
	arguments(c, s);
}

/* ---- small ones ---------------------------------------------------------- */

static void
check_about(struct check *c, struct stmt *s)
{
	if (!s->word[0].quoted)
		diag_error(c->diag, s->word[0].at, "`about` takes one quoted text");
}

static void
check_user(struct check *c, struct stmt *s)
{
	const struct word *w = &s->word[0];
	bool number = w->len > 0 && strspn(w->text, "0123456789") == w->len;
	uint64_t id;
	size_t i;

	if (number && (unit_count(w->text, &id) != 0 || id >= UINT32_MAX)) {
		diag_error(c->diag, w->at, "a user's number is from 1 to 4294967294");
		return;
	}
	if (strcmp(w->text, "root") == 0 || strcmp(w->text, "0") == 0) {
		diag_error(c->diag, w->at, "a server never runs as root");
		return;
	}
	for (i = 0; !number && i < w->len; i++)
		if (!name_byte((unsigned char)w->text[i]) && w->text[i] != '-' &&
		    w->text[i] != '.')
			break;
	if (w->len == 0 || w->len > 32 || (!number && i < w->len) || w->text[0] == '-')
		diag_error(c->diag, w->at, "not the name or number of a user");
}

static void
check_tmp(struct check *c, struct stmt *s)
{
	uint64_t v;

	if (unit_bytes(s->word[0].text, &v) != 0 || v < TMP_LEN_MIN || v > TMP_LEN_MAX)
		diag_error(c->diag, s->word[0].at,
		    "a size from 64K to 1T was expected, as in 64M");
}

static void
check_gate(struct check *c, struct stmt *s)
{
	static const char *const classes[] = {
	    "@readonly", "@destructive", "@idempotent", "@openworld", "@unannotated"};
	enum sealed_arg_kind kind;
	const struct word *w;
	const char *text;
	size_t i, k;

	for (i = 0; i < s->word_n; i++) {
		w = &s->word[i];
		for (k = 0; !w->quoted && k < sizeof(classes) / sizeof(classes[0]); k++)
			if (strcmp(w->text, classes[k]) == 0)
				break;
		if (!w->quoted && k < sizeof(classes) / sizeof(classes[0]))
			diag_error(
			    c->diag, w->at, "`%s` is not in this version", classes[k]);
		else if (w->len == 0)
			diag_error(c->diag, w->at, "a name cannot be empty");
		else if (word_pattern(c->tree->arena, w, &kind, &text) != 0 ||
			 kind == ARG_REST || kind == ARG_CHOICE ||
			 (kind == ARG_LITERAL && strchr(w->text, '*') != NULL))
			diag_error(c->diag, w->at,
			    "in a name, `*` is any run of characters; "
			    "`**`, `|` and a literal `*` are not known here");
	}
}

static void
check_offer(struct check *c, struct stmt *s)
{
	if (s->verdict == VERDICT_ASK)
		diag_error(c->diag, s->at, "`%s ask` is not in this version",
		    keyword_name(s->kw));
}

static void
check_require(struct check *c, struct stmt *s)
{
	static const char *const list[] = {"landlock", "cgroup", "subuid"};
	const struct word *w = &s->word[0];
	const char *near;
	struct shown sh;
	uint64_t v;

	if (strcmp(w->text, "landlock") == 0) {
		if (s->word_n != 2 || unit_count(s->word[1].text, &v) != 0 || v < 1 ||
		    v > LANDLOCK_MAX)
			diag_error(c->diag, s->word[s->word_n - 1].at,
			    "`require landlock` takes the least ABI: 1 to %d",
			    LANDLOCK_MAX);
		return;
	}
	if (strcmp(w->text, "cgroup") == 0 || strcmp(w->text, "subuid") == 0) {
		if (s->word_n != 1)
			diag_error(c->diag, s->word[1].at, "nothing follows `require %s`",
			    w->text);
		return;
	}
	near = diag_near(w->text, list, 3);
	if (near != NULL)
		diag_error(c->diag, w->at, "unknown requirement `%s`; did you mean `%s`?",
		    show(&sh, w), near);
	else
		diag_error(c->diag, w->at,
		    "unknown requirement `%s`: landlock N, cgroup or subuid",
		    show(&sh, w));
}

/* ---- limits -------------------------------------------------------------- */

static const char *const limit_words[] = {
    "memory", "processes", "files", "cpu", "output", "input"};
static const char *const timeout_words[] = {"call", "ask", "start", "idle"};

static void
limit_unknown(struct check *c, const struct stmt *s, const struct word *w)
{
	bool timeout = s->kw == KW_TIMEOUT;
	const char *near = timeout ? diag_near(w->text, timeout_words, 4)
				   : diag_near(w->text, limit_words, 6);
	struct shown sh;

	if (near != NULL)
		diag_error(c->diag, w->at, "unknown %s `%s`; did you mean `%s`?",
		    keyword_name(s->kw), show(&sh, w), near);
	else
		diag_error(c->diag, w->at, "unknown %s `%s`: %s", keyword_name(s->kw),
		    show(&sh, w),
		    timeout ? "call, ask, start or idle"
			    : "memory, processes, files, cpu, output or input");
}

/* What a value of each kind is, for the message. */
static const char *const limit_takes[] = {
    [LIMIT_MEMORY] = "a size from 1M to 16T, as in 512M",
    [LIMIT_PROCESSES] = "a number from 1 to 4194304",
    [LIMIT_FILES] = "a number from 8 to 1048576",
    [LIMIT_CPU] = "a share of one core from 1% to 100000%",
    [LIMIT_OUTPUT] = "a size from 1K to 16M",
    [LIMIT_INPUT] = "a size from 1K to 16M",
    [TIMEOUT_CALL] = "a time from 1ms to 30d, as in 30s",
    [TIMEOUT_ASK] = "a time from 1ms to 30d, as in 30s",
    [TIMEOUT_START] = "a time from 1ms to 30d, as in 30s",
    [TIMEOUT_IDLE] = "a time from 1ms to 30d, as in 30s",
};

static void
check_limit(struct check *c, struct stmt *s)
{
	enum sealed_limit_kind kind;
	const struct word *w;
	struct shown sh;
	uint64_t v;
	size_t i;

	for (i = 0; i < s->word_n; i += 2) {
		w = &s->word[i];
		kind = limit_kind(s->kw, w->text);
		if (kind == 0) {
			limit_unknown(c, s, w);
		} else if (i + 1 == s->word_n) {
			diag_error(c->diag, w->at, "`%s` has no value: %s", w->text,
			    limit_takes[kind]);
		} else if (limit_value(kind, w[1].text, &v) != 0) {
			diag_error(c->diag, w[1].at, "`%s`: `%s` takes %s",
			    show(&sh, &w[1]), w->text, limit_takes[kind]);
		}
	}
}

/* ---- variables ----------------------------------------------------------- */

static bool
variable(struct check *c, const struct word *w)
{
	struct shown s;
	size_t i;
	bool good = w->len > 0 && w->len <= NAME_LEN_MAX &&
		    !(w->text[0] >= '0' && w->text[0] <= '9');

	for (i = 0; i < w->len; i++)
		good = good && name_byte((unsigned char)w->text[i]);
	if (good)
		return true;
	/* what stands there may hold the value: NAME=value */
	if (memchr(w->text, '=', w->len) != NULL)
		diag_error(c->diag, w->at,
		    "`=` with a space on both sides was expected behind the name");
	else if (w->len <= NAME_LEN_MAX && c->diag->hide_line)
		diag_error(c->diag, w->at,
		    "a variable's name is letters, digits and `_`, not a digit first");
	else
		diag_error(c->diag, w->at, "`%s` is not a variable's name", show(&s, w));
	return false;
}

static void
variable_allowed(struct check *c, const struct word *w)
{
	if (variable(c, w) && env_is_refused(w->text))
		diag_error(c->diag, w->at,
		    "%s is refused: it makes a loader, an interpreter or a tool "
		    "run what no grant names",
		    w->text);
}

static void
check_env(struct check *c, struct stmt *s)
{
	variable_allowed(c, &s->word[0]);
	if (s->word_n == 2)
		(void)no_pattern(c, &s->word[1]); /* it reports */
}

static bool
is_fixed(const char *name)
{
	static const char *const fixed[] = {"PATH", "HOME", "USER", "LANG", "TMPDIR"};
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (strcmp(fixed[i], name) == 0)
			return true;
	return false;
}

static void
check_secret(struct check *c, struct stmt *s)
{
	const char *source = s->word[1].text;
	size_t i;

	variable_allowed(c, &s->word[0]);
	if (is_fixed(s->word[0].text))
		diag_error(c->diag, s->word[0].at,
		    "%s is one of the fixed variables; it cannot be a secret",
		    s->word[0].text);
	if (strcmp(source, "cmd") != 0 && s->word_n != 3) {
		diag_error(c->diag, s->word[3].at, "`from %s` takes one %s", source,
		    strcmp(source, "env") == 0 ? "variable" : "path");
		return;
	}
	if (strcmp(source, "env") == 0) {
		(void)variable(c, &s->word[2]); /* it reports */
		return;
	}
	if (path(c, &s->word[2]) && strcmp(source, "cmd") == 0 &&
	    is_loader(s->word[2].text))
		diag_error(
		    c->diag, s->word[2].at, "the loader cannot be a secret's command");
	for (i = 3; i < s->word_n; i++)
		(void)no_pattern(c, &s->word[i]); /* it reports */
}

/* ---- a statement --------------------------------------------------------- */

static check_fn *const checks[KW_END] = {
    [KW_ABOUT] = check_about,
    [KW_CWD] = check_path,
    [KW_ELICITATION] = check_offer,
    [KW_ENV] = check_env,
    [KW_EXEC] = check_program,
    [KW_HIDE] = check_paths,
    [KW_LIMIT] = check_limit,
    [KW_PROMPT] = check_gate,
    [KW_READ] = check_paths,
    [KW_REQUIRE] = check_require,
    [KW_RESOURCE] = check_gate,
    [KW_ROOTS] = check_offer,
    [KW_RUN] = check_program,
    [KW_SAMPLING] = check_offer,
    [KW_SECRET] = check_secret,
    [KW_TIMEOUT] = check_limit,
    [KW_TMP] = check_tmp,
    [KW_TOOL] = check_gate,
    [KW_USER] = check_user,
    [KW_WRITE] = check_paths,
};

/* ---- a server ------------------------------------------------------------ */

static void
check_server(struct check *c, struct server *server)
{
	struct stmt *s;
	bool run = false;
	size_t i;

	for (i = 0; i < server->stmt_n; i++) {
		s = &server->stmt[i];
		c->diag->hide_line = keyword_row(s->kw)->hidden;
		if (checks[s->kw] != NULL)
			checks[s->kw](c, s);
		c->diag->hide_line = false;
		run = run || s->kw == KW_RUN;
	}
	conflict_server(c->tree, server, c->diag);
	if (!run && !server->broken)
		diag_error(c->diag, server->at, "the server has no `run`");
}

static void
check_lets(struct check *c)
{
	const struct let *l;
	size_t i;

	c->diag->hide_line = true;
	for (i = 0; i < c->tree->let_n; i++) {
		l = c->tree->let[i];
		if (!l->used)
			diag_warning(
			    c->diag, l->name.at, "`%s` is not used", l->name.text);
	}
	c->diag->hide_line = false;
}

void
tree_check(struct tree *tree, struct diag *diag)
{
	struct check c = {.tree = tree, .diag = diag};
	size_t i;

	for (i = 0; i < tree->server_n; i++)
		check_server(&c, &tree->server[i]);
	conflict_names(tree, diag);
	if (diag->error_n == 0)
		check_lets(&c);
}
