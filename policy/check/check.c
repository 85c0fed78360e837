/*
 * Checks the meaning of a tree: types, units, paths, variables.  Each keyword
 * has one check.
 *
 * No message contains a value of an env or secret line, and no line that may
 * hold one is shown.
 */
#define DIAG_CODE "value"

#include "policy/base/arena.h"
#include "policy/check/check.h"
#include "policy/check/remote.h"
#include "policy/check/trusted.h"
#include "policy/lang/expand.h"
#include "policy/lang/manifest.h"
#include "policy/lang/scalar.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TMP_LEN_MIN (64u << 10)
#define TMP_LEN_MAX (1ULL << 40)

const char *const check_bin_dirs[CHECK_BIN_DIRS_N] = {
    "/usr/local/bin", "/usr/bin", "/bin"};

#define show check_show

const struct qual *
stmt_qual(const struct stmt *s, enum keyword kw)
{
	size_t i;

	for (i = 0; i < s->qual_n; i++)
		if (s->qual[i].kw == kw)
			return &s->qual[i];
	return NULL;
}

/* ---- paths --------------------------------------------------------------- */

static void
path_place(struct check *c, const struct stmt *s, const struct word *w)
{
	static const char *const own[] = {"/proc", "/sys", "/dev"};
	const char *verb = keyword_name(s->kw);
	size_t i;

	if (strcmp(w->text, "/") == 0) {
		diag_error(
		    c->diag, w->at, "`%s /` is not allowed: name the directories", verb);
		return;
	}
	for (i = 0; i < ARRAY_LEN(own); i++)
		if (path_below(own[i], w->text)) {
			diag_error(c->diag, w->at,
			    "`%s` of the host cannot be granted: the server has its own "
			    "or none%s",
			    own[i],
			    path_below("/dev/ptmx", w->text) ||
				    path_below("/dev/pts", w->text)
				? "; for pseudo-terminals write `tty`"
				: "");
			return;
		}
	if (s->kw == KW_HIDE)
		return;
	if (strcmp(w->text, "/tmp") == 0)
		diag_error(c->diag, w->at,
		    "/tmp of the host cannot be granted: the server has its own (`tmp "
		    "SIZE`)");
	if (s->kw == KW_WRITE &&
	    (path_below(w->text, "/etc/kennel") || path_below("/etc/kennel", w->text)))
		diag_error(c->diag, w->at,
		    "this would let the server write policies (/etc/kennel): grant "
		    "another directory");
}

static void
check_paths(struct check *c, struct stmt *s)
{
	size_t i;

	for (i = 0; i < s->word_n; i++)
		if (check_path_word(c, &s->word[i]))
			path_place(c, s, &s->word[i]);
}

static void
check_path(struct check *c, struct stmt *s)
{
	(void)check_path_word(c, &s->word[0]); /* reports errors itself */
}

/* ---- programs ------------------------------------------------------------ */

/* Replaces a bare name by the path of the first program with that name. */
static bool
program_find(struct check *c, struct word *w)
{
	char buf[PATH_MAX];
	struct shown s;
	struct stat st;
	char *copy;
	size_t i;
	int n;

	for (i = 0; i < CHECK_BIN_DIRS_N; i++) {
		n = snprintf(buf, sizeof(buf), "%s/%s", check_bin_dirs[i], w->text);
		if (n < 0 || (size_t)n >= sizeof(buf))
			continue;
		/* syscalls: newfstatat faccessat2 access faccessat */
		if (stat(buf, &st) != 0 || !S_ISREG(st.st_mode) || access(buf, X_OK) != 0)
			continue;
		copy = arena_copy(c->tree->arena, buf, (size_t)n);
		if (copy == NULL)
			break;
		diag_warning(c->diag, w->at, "`%s` resolves to %s: write the full path",
		    show(&s, w), buf);
		w->text = copy;
		w->len = (size_t)n;
		w->literal = NULL;
		return true;
	}
	diag_error(c->diag, w->at,
	    "no program `%s` found in /usr/local/bin, /usr/bin, /bin: write its full "
	    "path",
	    show(&s, w));
	return false;
}

static void
program(struct check *c, struct stmt *s)
{
	struct word *w = &s->word[0];

	if (w->len > 0 && strchr(w->text, '/') == NULL && w->text[0] != '~' &&
	    strcmp(w->text, ".") != 0 && strcmp(w->text, "..") != 0) {
		if (!check_literal(c, w) || !program_find(c, w))
			return;
	} else if (!check_path_word(c, w)) {
		return;
	}
	if (check_is_loader(w->text))
		diag_error(c->diag, w->at,
		    "the dynamic loader cannot be granted: it can start any program");
}

/*
 * A free-text slot is allowed only after `--`, where no program takes it for an
 * option; an option list is allowed once.
 */
static void
slots(struct check *c, const struct word *w, size_t at, enum sealed_arg_kind kind)
{
	enum sealed_arg_kind other;
	const char *text;
	size_t i;

	for (i = 0; i < at && kind == ARG_SLOT; i++)
		if (strcmp(w[i].text, "--") == 0)
			return;
	if (kind == ARG_SLOT && strcmp(w[at].text, "<text>") == 0)
		diag_error(c->diag, w[at].at, "`<text>` is only allowed after `--`: %s",
		    at > 0 && w[at - 1].text[0] == '-'
			? "for the value of an option write `*`"
			: "write `-- <text>`");
	for (i = 0; i < at && kind == ARG_OPTIONS; i++)
		if (word_pattern(c->tree->arena, &w[i], &other, &text) == 0 &&
		    other == ARG_OPTIONS) {
			diag_error(c->diag, w[at].at,
			    "duplicate option list: write all options in one list");
			return;
		}
}

/* Argument patterns: `**` is only allowed last. */
static void
patterns(struct check *c, const struct word *w, size_t n)
{
	enum sealed_arg_kind kind;
	const char *text, *why;
	size_t i;
	int r;

	for (i = 0; i < n; i++) {
		if ((why = word_refused(&w[i])) != NULL) {
			diag_error(c->diag, w[i].at, "%s", why);
			continue;
		}
		r = word_pattern(c->tree->arena, &w[i], &kind, &text);
		if (r == 0)
			slots(c, w, i, kind);
		if (r != 0)
			diag_error(c->diag, w[i].at,
			    "invalid pattern: `*` matches any characters, `a|b` either "
			    "text, and `**` alone the remaining arguments; they cannot "
			    "be combined, or used next to a literal `*` or `|`");
		else if (kind == ARG_REST && i + 1 < n)
			diag_error(c->diag, w[i].at,
			    "`**` matches the remaining arguments: it is only allowed as "
			    "the last one");
	}
}

/*
 * `run` is an exact command; the only pattern that it allows is a trailing
 * `**`.
 */
static void
run_arguments(struct check *c, const struct stmt *s)
{
	size_t i;

	for (i = 1; i < s->word_n; i++) {
		if (i + 1 == s->word_n && s->word[i].len == 2 && !s->word[i].quoted &&
		    s->word[i].literal == NULL && strcmp(s->word[i].text, "**") == 0)
			continue;
		if (!word_is_literal(&s->word[i]))
			diag_error(c->diag, s->word[i].at,
			    "`run` is the server's exact command: only a final `**` is "
			    "allowed as a pattern; quote the argument to use the "
			    "characters literally");
	}
}

/*
 * Variables with which a tool passes its own settings and helper paths to its
 * children.  They point to programs, each of which is checked by itself.  So a
 * grant may allow them to change, although no policy may set them.
 */
static bool
is_told(const struct word *w)
{
	static const char *const told[] = {"GIT_EXEC_PATH", "GIT_PREFIX",
	    "GIT_REFLOG_ACTION", "npm_config_globalconfig", "npm_config_userconfig"};

	for (size_t i = 0; i < ARRAY_LEN(told); i++)
		if (strcmp(told[i], w->text) == 0)
			return true;
	return false;
}

static void
callers(struct check *c, const struct stmt *s)
{
	const struct qual *q = stmt_qual(s, KW_FROM);
	size_t i;

	for (i = 0; q != NULL && i < q->word_n; i++)
		if (check_path_word(c, &q->word[i]) && check_is_loader(q->word[i].text))
			diag_error(c->diag, q->word[i].at,
			    "the dynamic loader is never the caller: name the program "
			    "that it loads");
	q = stmt_qual(s, KW_IN);
	if (q != NULL)
		(void)check_path_word(c, &q->word[0]); /* reports errors itself */
	q = stmt_qual(s, KW_WITH);
	for (i = 0; q != NULL && i < q->word_n; i++)
		if (!is_told(&q->word[i]) && !check_beginning(c, &q->word[i]))
			(void)check_variable(c, &q->word[i]); /* reports errors itself */
}

/* Programs that download a package at each start: a cell keeps nothing between two. */
static void
run_fetches(struct check *c, const struct word *w)
{
	static const char *const fetching[] = {"npx", "bunx", "uvx", "pipx"};
	const char *slash = strrchr(w->text, '/');
	const char *name = slash == NULL ? w->text : slash + 1;

	for (size_t i = 0; i < ARRAY_LEN(fetching); i++)
		if (strcmp(name, fetching[i]) == 0)
			diag_warning(c->diag, w->at,
			    "`%s` downloads a package at each start: `kennel install "
			    "NAME "
			    "-- %s ...` installs it once and drafts the policy",
			    name, name);
}

static void
check_run(struct check *c, struct stmt *s)
{
	const char *before;

	run_fetches(c, &s->word[0]);
	/* no message about any word shows a line with a secret */
	for (size_t i = 1; i < s->word_n; i++) {
		before =
		    i > 1 && s->word[i - 1].text[0] == '-' ? s->word[i - 1].text : "";
		if (!check_is_secret(before, s->word[i].text))
			continue;
		c->diag->hide_line = true;
		diag_warning(c->diag, s->word[i].at,
		    "this argument looks like a secret: policies and their copies beside "
		    "the log are not encrypted, and it is not redacted; store it with "
		    "`kennel secret set`, and give it to the server in a variable: "
		    "`secret "
		    "VARIABLE from vault PATH`");
	}
	program(c, s);
	run_arguments(c, s);
}

static void
check_exec(struct check *c, struct stmt *s)
{
	size_t i;

	program(c, s);
	patterns(c, s->word + 1, s->word_n - 1);
	for (i = 0; i < s->qual_n; i++)
		if (s->qual[i].kw == KW_EXCEPT)
			patterns(c, s->qual[i].word, s->qual[i].word_n);
	callers(c, s);
	check_exception(c, s);
}

/*
 * A program with a required digest: the one it has now, or the one in the
 * policy.
 */
static void
check_digest(struct check *c, struct stmt *s)
{
	const struct word *w = &s->word[1];

	(void)check_path_word(c, &s->word[0]); /* reports errors itself */
	if (s->word_n > 1 && !hex_is(w->text, w->len, 64))
		diag_error(c->diag, w->at,
		    "invalid digest: expected 64 lower-case hex digits (sha256sum FILE)");
}

/* ---- exceptions ---------------------------------------------------------- */

void
check_exception(struct check *c, const struct stmt *s)
{
	const struct qual *owner = stmt_qual(s, KW_OWNER),
			  *ticket = stmt_qual(s, KW_TICKET),
			  *until = stmt_qual(s, KW_UNTIL);
	const struct qual *any = owner != NULL ? owner : ticket != NULL ? ticket : until;
	uint32_t day;

	if (any == NULL)
		return;
	if (owner == NULL || ticket == NULL || until == NULL) {
		diag_error(c->diag, any->at,
		    "incomplete exception: expected `owner WORD ticket WORD until DATE`");
		return;
	}
	if (unit_date(until->word[0].text, &day) != 0)
		diag_error(c->diag, until->word[0].at,
		    "invalid date: expected YYYY-MM-DD, as in 2027-01-31");
	else if (day < unit_today())
		diag_warning(c->diag, until->at, "this exception has expired: %s",
		    s->has_verdict && s->verdict == VERDICT_DENY
			? "the deny still applies"
			: "it grants nothing");
}

/* ---- short checks -------------------------------------------------------- */

static void
check_about(struct check *c, struct stmt *s)
{
	if (!s->word[0].quoted)
		diag_error(c->diag, s->word[0].at, "`about` takes one quoted string");
}

static void
check_user(struct check *c, struct stmt *s)
{
	const struct word *w = &s->word[0];
	bool number = w->len > 0 && strspn(w->text, "0123456789") == w->len;
	uint64_t id;
	size_t i;

	if (number && (unit_count(w->text, &id) != 0 || id >= UINT32_MAX)) {
		diag_error(c->diag, w->at, "invalid user id: expected 1 to 4294967294");
		return;
	}
	if (strcmp(w->text, "root") == 0 || strcmp(w->text, "0") == 0) {
		diag_error(
		    c->diag, w->at, "a server cannot run as root: name another user");
		return;
	}
	for (i = 0; !number && i < w->len; i++)
		if (!name_byte((unsigned char)w->text[i]) && w->text[i] != '-' &&
		    w->text[i] != '.')
			break;
	if (w->len == 0 || w->len > 32 || (!number && i < w->len) || w->text[0] == '-')
		diag_error(c->diag, w->at,
		    "invalid user: expected a user name or a numeric user id");
}

static void
check_tmp(struct check *c, struct stmt *s)
{
	uint64_t v;

	if (unit_bytes(s->word[0].text, &v) != 0 || v < TMP_LEN_MIN || v > TMP_LEN_MAX)
		diag_error(
		    c->diag, s->word[0].at, "expected a size from 64K to 1T, as in 64M");
}

/* ---- a statement --------------------------------------------------------- */

static check_fn *const checks[KW_END] = {
    [KW_ABOUT] = check_about,
    [KW_AUDIT] = check_audit,
    [KW_AUTH] = check_auth,
    [KW_CWD] = check_path,
    [KW_DIGEST] = check_digest,
    [KW_ELICITATION] = check_offer,
    [KW_ENV] = check_env,
    [KW_EXEC] = check_exec,
    [KW_HEADER] = check_header,
    [KW_HIDE] = check_paths,
    [KW_LIMIT] = check_limit,
    [KW_METHOD] = check_method,
    [KW_NET] = check_net,
    [KW_PINS] = check_pins,
    [KW_PROMPT] = check_gate,
    [KW_READ] = check_paths,
    [KW_REMOTE] = check_remote,
    [KW_REQUIRE] = check_require,
    [KW_RESOURCE] = check_gate,
    [KW_ROOTS] = check_offer,
    [KW_RUN] = check_run,
    [KW_SAMPLING] = check_offer,
    [KW_SECRET] = check_secret,
    [KW_SYSCALLS] = check_syscalls,
    [KW_TIMEOUT] = check_limit,
    [KW_TMP] = check_tmp,
    [KW_TOOL] = check_gate,
    [KW_USER] = check_user,
    [KW_WRITE] = check_paths,
};

/* ---- a server ------------------------------------------------------------ */

static void
check_stmt(struct check *c, struct stmt *s)
{
	const struct qual *q = stmt_qual(s, KW_WITH_FACTOR);

	c->diag->hide_line = keyword_row(s->kw)->hidden;
	if (checks[s->kw] != NULL)
		checks[s->kw](c, s);
	if (q != NULL && s->verdict != VERDICT_ASK)
		diag_error(c->diag, q->at, "`with %s` is only allowed after `ask`",
		    q->word[0].text);
	c->diag->hide_line = false;
}

/*
 * Checked once, however many servers use it; conflicts with a server's own
 * statements are found when that server is checked.
 */
static void
check_block(struct check *c, struct block *b)
{
	size_t i;

	for (i = 0; i < b->body.stmt_n; i++)
		if (!b->body.stmt[i].expanded)
			check_stmt(c, &b->body.stmt[i]);
}

static void
check_server(struct check *c, struct server *server)
{
	struct stmt *s;
	bool run = false;
	size_t i;

	for (i = 0; i < server->stmt_n; i++) {
		s = &server->stmt[i];
		if (!s->expanded)
			check_stmt(c, s);
		run = run || s->kw == KW_RUN || s->kw == KW_REMOTE;
	}
	remote_expand(c, server);
	check_secret_hosts(c, server);
	conflict_server(c->tree, server, c->diag);
	if (!run && !server->broken)
		diag_error(c->diag, server->at,
		    "the server has no `run`: add `run PROGRAM ARGUMENT...`, or `remote "
		    "URL`");
}

/*
 * Warns about unused definitions in the files given by the caller; those in
 * included files may be used elsewhere.
 */
static void
check_unused(struct check *c)
{
	const struct block *b;
	const struct let *l;
	size_t i;

	c->diag->hide_line = true;
	for (i = 0; i < c->tree->let_n; i++) {
		l = c->tree->let[i];
		if (!l->used && l->name.at.file < c->tree->source_own)
			diag_warning(
			    c->diag, l->name.at, "`%s` is not used", l->name.text);
	}
	c->diag->hide_line = false;
	for (i = 0; i < c->tree->block_n; i++) {
		b = c->tree->block[i];
		if (!b->used && b->body.at.file < c->tree->source_own &&
		    c->tree->server_n > 0)
			diag_warning(c->diag, b->body.name.at, "block `%s` is not used",
			    b->body.name.text);
	}
}

bool
tree_check(struct tree *tree, struct diag *diag)
{
	struct check c = {.tree = tree, .diag = diag};
	bool sound;
	size_t i;

	for (i = 0; i < tree->block_n; i++)
		check_block(&c, tree->block[i]);
	for (i = 0; i < tree->server_n; i++)
		check_server(&c, &tree->server[i]);
	manifest_check(tree, diag);
	manifest_check_policy(tree, diag);
	expects_check(&c);
	conflict_names(tree, diag);
	trusted_check(tree, diag);
	sound = diag->error_n == 0;
	for (i = 0; sound && i < tree->server_n; i++)
		lint_server(&c, &tree->server[i]);
	never_check(&c);
	if (sound)
		check_unused(&c);
	return sound;
}
