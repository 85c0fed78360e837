/*
 * A tree that says something: types, units, paths, variables.  Each word of the
 * language has one check.
 *
 * Values of env and secret lines are never named in a message, and no line
 * that may hold one is shown.
 */
#include "policy/check/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_LEN_MAX 4095
#define TMP_LEN_MIN  (64u << 10)
#define TMP_LEN_MAX  (1ULL << 40)

/* Where a bare program name is looked for, when the policy is compiled. */
static const char *const bin_folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};

const char *
check_show(struct shown *s, const struct word *w)
{
	return diag_text(s->text, w->raw, w->raw_len);
}
#define show check_show

bool
check_literal(struct check *c, const struct word *w)
{
	if (word_is_literal(w))
		return true;
	diag_error(c->diag, w->at,
	    "`*` and `|` make a pattern, and there is none here; "
	    "quote the word to mean the characters");
	return false;
}

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

bool
check_path_word(struct check *c, const struct word *w)
{
	struct shown s;

	if (!check_literal(c, w))
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
		if (check_path_word(c, &s->word[i]))
			path_place(c, s, &s->word[i]);
}

static void
check_path(struct check *c, struct stmt *s)
{
	(void)check_path_word(c, &s->word[0]); /* it reports */
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

bool
check_is_loader(const char *p)
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
		if (!check_literal(c, w) || !program_find(c, w))
			return;
	} else if (!check_path_word(c, w)) {
		return;
	}
	if (check_is_loader(w->text))
		diag_error(c->diag, w->at,
		    "the loader starts any program: it cannot be granted");
}

/* Free text stands behind `--` only, where no program takes it for an option; and
 * options stand once. */
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
		diag_error(c->diag, w[at].at,
		    "`<text>` stands behind `--` only: write `-- <text>`");
	for (i = 0; i < at && kind == ARG_OPTIONS; i++)
		if (word_pattern(c->tree->arena, &w[i], &other, &text) == 0 &&
		    other == ARG_OPTIONS) {
			diag_error(c->diag, w[at].at,
			    "options stand once in a list: write them together");
			return;
		}
}

/* Patterns of arguments: `**` only last. */
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
			    "in an argument, `*` is any characters, `a|b` a choice of "
			    "words, `**` alone the rest; not all at once, and not beside "
			    "a literal `*` or `|`");
		else if (kind == ARG_REST && i + 1 < n)
			diag_error(c->diag, w[i].at,
			    "`**` is the rest of the arguments: it can only be last");
	}
}

/* `run` is what is started: of patterns it knows a closing `**`. */
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
			    "`run` is the server's whole command: no pattern but a "
			    "closing `**`; quote the word to mean the characters");
	}
}

/*
 * What tools tell all that they start: where their settings and helpers lie.  It
 * leads a tool to programs, of which each is judged by itself; so a grant may say
 * that it changes, though no policy may set it.
 */
static bool
is_told(const struct word *w)
{
	static const char *const told[] = {"GIT_EXEC_PATH", "GIT_PREFIX",
	    "GIT_REFLOG_ACTION", "npm_config_globalconfig", "npm_config_userconfig"};

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
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
			diag_error(
			    c->diag, q->word[i].at, "the loader is never who asks");
	q = stmt_qual(s, KW_IN);
	if (q != NULL)
		(void)check_path_word(c, &q->word[0]); /* it reports */
	q = stmt_qual(s, KW_WITH);
	for (i = 0; q != NULL && i < q->word_n; i++)
		if (!is_told(&q->word[i]) && !check_beginning(c, &q->word[i]))
			(void)check_variable(c, &q->word[i]); /* it reports */
}

static void
check_run(struct check *c, struct stmt *s)
{
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

/* A program that keeps its bytes: from now on, or those that the policy names. */
static void
check_digest(struct check *c, struct stmt *s)
{
	const struct word *w = &s->word[1];

	(void)check_path_word(c, &s->word[0]); /* it reports */
	if (s->word_n > 1 &&
	    (w->len != 64 || strspn(w->text, "0123456789abcdef") != w->len))
		diag_error(c->diag, w->at,
		    "a digest is 64 digits, 0 to 9 and a to f (sha256sum FILE)");
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
		    "an exception says all three: owner WORD ticket WORD until DATE");
		return;
	}
	if (unit_date(until->word[0].text, &day) != 0)
		diag_error(
		    c->diag, until->word[0].at, "a date is YYYY-MM-DD, as in 2027-01-31");
	else if (day < unit_today())
		diag_warning(c->diag, until->at, "this exception is over: %s",
		    s->has_verdict && s->verdict == VERDICT_DENY
			? "the deny stays all the same"
			: "nothing is granted by it");
}

bool
stmt_is_expired(const struct stmt *s)
{
	const struct qual *until = stmt_qual(s, KW_UNTIL);
	uint32_t day;

	return until != NULL && unit_date(until->word[0].text, &day) == 0 &&
	       day < unit_today();
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

/* ---- a statement --------------------------------------------------------- */

static check_fn *const checks[KW_END] = {
    [KW_ABOUT] = check_about,
    [KW_AUDIT] = check_audit,
    [KW_CWD] = check_path,
    [KW_DIGEST] = check_digest,
    [KW_ELICITATION] = check_offer,
    [KW_ENV] = check_env,
    [KW_EXEC] = check_exec,
    [KW_HIDE] = check_paths,
    [KW_LIMIT] = check_limit,
    [KW_NET] = check_net,
    [KW_PINS] = check_pins,
    [KW_PROMPT] = check_gate,
    [KW_READ] = check_paths,
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
	c->diag->hide_line = keyword_row(s->kw)->hidden;
	if (checks[s->kw] != NULL)
		checks[s->kw](c, s);
	c->diag->hide_line = false;
}

/* Once, however many servers use it; what it says against theirs comes there. */
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
		run = run || s->kw == KW_RUN;
	}
	check_secret_hosts(c, server);
	conflict_server(c->tree, server, c->diag);
	if (!run && !server->broken)
		diag_error(c->diag, server->at, "the server has no `run`");
}

/* What files that were given set and nobody takes; of what they include, other
 * files may take it. */
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

void
tree_check(struct tree *tree, struct diag *diag)
{
	struct check c = {.tree = tree, .diag = diag};
	size_t i;

	for (i = 0; i < tree->block_n; i++)
		check_block(&c, tree->block[i]);
	for (i = 0; i < tree->server_n; i++)
		check_server(&c, &tree->server[i]);
	manifest_check(tree, diag);
	manifest_check_policy(tree, diag);
	expects_check(&c);
	conflict_names(tree, diag);
	for (i = 0; diag->error_n == 0 && i < tree->server_n; i++)
		lint_server(&c, &tree->server[i]);
	never_check(&c);
	if (diag->error_n == 0)
		check_unused(&c);
}
