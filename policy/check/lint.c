/*
 * Finds grants that are emptier or wider than they look: another grant cancels
 * or repeats them, or they allow more than the author may have intended.
 *
 * Each kind is a row that is either an error or a warning.  A grant is reported
 * as dead or repeated only if that is certain.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIAG_CODE "lint"

#include "policy/check/agent_files.h"
#include "policy/check/check.h"
#include "policy/check/path_holders.h"
#include "policy/lang/expand.h"
#include "policy/lang/host.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

/* How many pairs of grants of one server are compared; the rest are skipped. */
#define PAIRS_MAX 2000000

enum lint {
	LINT_DEAD,        /* another grant cancels it completely */
	LINT_TWICE,       /* another grant already covers it */
	LINT_HIDDEN,      /* `hide` covers it */
	LINT_HIDES,       /* hides something that nothing grants */
	LINT_FROM,        /* nothing starts the caller */
	LINT_INTERPRETER, /* runs any program that it is given */
	LINT_BROAD,       /* contains more than one thing */
	LINT_SOCKET,      /* access to it gives control of the machine */
	LINT_HOST,        /* net: duplicate */
	LINT_AGENT,       /* an agent reads from it what to start */
	LINT_UNSEARCHED,  /* whether an agent does is unknown */
	LINT_REPLACED,    /* programs replace the file that `hide` covers */
	LINT_ABSENT,      /* `hide` covers nothing yet */
	LINT_LINK,        /* `hide` of a symbolic link */
};

/* The kinds that stop a compilation. */
static const bool is_error[] = {
    [LINT_DEAD] = false,
    [LINT_TWICE] = false,
    [LINT_HIDDEN] = false,
    [LINT_HIDES] = false,
    [LINT_FROM] = false,
    [LINT_INTERPRETER] = false,
    [LINT_BROAD] = false,
    [LINT_SOCKET] = true,
    [LINT_HOST] = false,
    [LINT_AGENT] = false,
    [LINT_UNSEARCHED] = true,
    [LINT_REPLACED] = false,
    [LINT_ABSENT] = false,
    [LINT_LINK] = true,
};

struct work {
	struct check *c;
	const struct server *server;
	size_t pairs;
	struct path_holders read, write, hide;
};

static void tell(struct work *, enum lint, struct at, const char *, ...)
    __attribute__((format(printf, 4, 5)));

static void
tell(struct work *w, enum lint lint, struct at at, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* may be truncated */
	va_end(ap);
	if (is_error[lint])
		diag_error(w->c->diag, at, "%s", text);
	else
		diag_warning(w->c->diag, at, "%s", text);
}

/* ---- does one grant cover another? --------------------------------------- */

/* No condition, no exception, no end date: always in effect. */
static bool
is_plain(const struct stmt *s)
{
	return s->when == NULL && stmt_qual(s, KW_EXCEPT) == NULL &&
	       stmt_qual(s, KW_FROM) == NULL && stmt_qual(s, KW_IN) == NULL &&
	       stmt_qual(s, KW_WITH) == NULL && stmt_qual(s, KW_UNTIL) == NULL;
}

/* Does it have a limit of calls? */
static bool
is_limited(const struct stmt *s)
{
	return stmt_qual(s, KW_RATE) != NULL || stmt_qual(s, KW_QUOTA) != NULL;
}

static bool
name_covers(const struct word *out, const struct word *in)
{
	if (gate_class(out) != 0)
		return gate_class(out) == gate_class(in);
	if (gate_class(in) != 0)
		return out->len == 1 && out->text[0] == '*' && !out->quoted;
	/* a star of the inner glob matches only a star: here both are bytes */
	return policy_glob(out->text, out->len, in->text, in->len);
}

static bool
arg_covers(struct check *c, const struct word *out, const struct word *in)
{
	enum sealed_arg_kind o, i;
	const char *ot, *it;

	if (word_pattern(c->tree->arena, out, &o, &ot) != 0 ||
	    word_pattern(c->tree->arena, in, &i, &it) != 0)
		return false;
	if (o == ARG_ANY)
		return i != ARG_REST && i != ARG_OPTIONS;
	if (o == ARG_GLOB)
		return (i == ARG_LITERAL || i == ARG_GLOB) &&
		       policy_glob(ot, strlen(ot), it, strlen(it));
	return o == i && strcmp(ot, it) == 0;
}

static bool
args_cover(struct check *c, const struct stmt *out, const struct stmt *in)
{
	size_t i;

	if (strcmp(out->word[0].text, in->word[0].text) != 0)
		return false;
	for (i = 1; i < out->word_n; i++) {
		if (out->word[i].len == 2 && !out->word[i].quoted &&
		    memcmp(out->word[i].text, "**", 2) == 0)
			return true;
		if (i >= in->word_n || !arg_covers(c, &out->word[i], &in->word[i]))
			return false;
	}
	return in->word_n == out->word_n;
}

static bool
net_covers(const struct stmt *out, const struct word *w, const struct stmt *in,
    const struct word *v)
{
	const struct qual *to = stmt_qual(in, KW_TO), *by = stmt_qual(out, KW_TO);
	struct host a, b;

	if (host_read(w, true, &a) != NULL || host_read(v, true, &b) != NULL)
		return false;
	if (out->verdict != VERDICT_DENY &&
	    ((to == NULL) != (by == NULL) ||
		(to != NULL && strcmp(to->word[0].text, by->word[0].text) != 0)))
		return false;
	return host_covers(&a, &b) && a.port_first <= b.port_first &&
	       b.port_last <= a.port_last;
}

/* ---- pairs ------------------------------------------------------------------ */

/* Deny beats ask beats allow. */
static bool
beats(const struct stmt *a, const struct stmt *b)
{
	static const int rank[] = {
	    [VERDICT_ALLOW] = 1, [VERDICT_ASK] = 2, [VERDICT_DENY] = 3};

	return rank[a->verdict] > rank[b->verdict];
}

/* Of two asks, the stricter factor counts. */
static int
factor_rank(const struct stmt *s)
{
	const struct qual *q = stmt_qual(s, KW_WITH_FACTOR);

	return q == NULL ? 0 : strcmp(q->word[0].text, "passphrase") == 0 ? 1 : 2;
}

/* Both are written here: a repetition from a block is fine. */
static bool
both_own(const struct stmt *a, const struct stmt *b)
{
	return !a->expanded && !b->expanded;
}

static void
covered(struct work *w, const struct stmt *out, const struct stmt *in, struct at at)
{
	if (beats(out, in))
		tell(w, LINT_DEAD, at,
		    "this has no effect: `%s` on line %u covers all of it",
		    policy_verdict_name(out->verdict), out->at.line);
	else if (out->verdict == in->verdict && both_own(out, in) &&
		 factor_rank(in) <= factor_rank(out))
		tell(w, in->kw == KW_NET ? LINT_HOST : LINT_TWICE, at,
		    "redundant: line %u already covers this", out->at.line);
}

/* A pattern, or a word that may be repeated there. */
static bool
is_wide(const struct stmt *s, const struct word *w)
{
	return s->kw == KW_NET || gate_class(w) != 0 ||
	       memchr(w->text, '*', w->len) != NULL;
}

static void
gate_pair(struct work *w, const struct stmt *out, const struct stmt *in)
{
	size_t i, k;

	for (i = 0; i < out->word_n; i++) {
		if (!is_wide(out, &out->word[i]))
			continue;
		for (k = 0; k < in->word_n && w->pairs < PAIRS_MAX; k++) {
			w->pairs++;
			if (out == in && i == k)
				continue;
			if (out->kw == KW_NET
				? !net_covers(out, &out->word[i], in, &in->word[k])
				: !name_covers(&out->word[i], &in->word[k]))
				continue;
			/* of two equal grants the second is reported */
			if (out->verdict == in->verdict &&
			    name_covers(&in->word[k], &out->word[i]) &&
			    in->word[k].at.line < out->word[i].at.line)
				continue;
			covered(w, out, in, in->word[k].at);
		}
	}
}

static void
exec_pair(struct work *w, const struct stmt *out, const struct stmt *in)
{
	w->pairs++;
	if (out == in || !args_cover(w->c, out, in))
		return;
	if (out->verdict == in->verdict && args_cover(w->c, in, out) && in < out)
		return;
	covered(w, out, in, in->at);
}

/* Only such a line covers others: ten thousand plain names are not compared. */
static bool
has_wide(const struct stmt *s)
{
	for (size_t i = 0; i < s->word_n; i++)
		if (s->kw == KW_EXEC || is_wide(s, &s->word[i]))
			return true;
	return false;
}

static void
pairs(struct work *w, const struct stmt *out)
{
	const struct stmt *in;
	size_t i;

	if (!is_plain(out) || !out->has_verdict || !has_wide(out))
		return;
	for (i = 0; i < w->server->stmt_n && w->pairs < PAIRS_MAX; i++) {
		in = &w->server->stmt[i];
		/* a limit restricts calls that another line allows, too */
		if (is_limited(in) && out->verdict != VERDICT_DENY)
			continue;
		if (in->kw != out->kw || (!beats(out, in) && !is_plain(in)) ||
		    (!beats(out, in) && out->verdict != in->verdict))
			continue;
		if (out->kw == KW_EXEC)
			exec_pair(w, out, in);
		else
			gate_pair(w, out, in);
	}
}

/* ---- paths ------------------------------------------------------------------ */

/* Directories that contain more than one thing. */
static const char *const whole[] = {"/bin", "/boot", "/etc", "/home", "/lib", "/lib64",
    "/media", "/mnt", "/opt", "/root", "/run", "/sbin", "/usr", "/var", "/var/lib",
    "/var/run", "/usr/local"};
/* Commonly read, and without personal data. */
static const char *const common[] = {
    "/bin", "/lib", "/lib64", "/sbin", "/usr", "/usr/local", "/opt"};
static const char *const sockets[] = {"/run/docker.sock", "/var/run/docker.sock",
    "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/dbus",
    "/var/run/dbus", "/run/systemd/private", "/run/crio/crio.sock"};

static bool
is_in(const char *text, const char *const *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(text, list[i]) == 0)
			return true;
	return false;
}
#define IN(text, list) is_in(text, list, ARRAY_LEN(list))

/* Is it /home/NAME or /root itself? */
static bool
is_home(const char *path)
{
	return strncmp(path, "/home/", 6) == 0 && strchr(path + 6, '/') == NULL;
}

/* A server that can write what an agent starts has escaped its cell. */
static void
agent_lint(struct work *w, const struct word *p)
{
	char path[PATH_MAX], shown[DIAG_PATH_CAP], text[AGENT_TEXT_MAX];
	int r;

	if (agent_files_is(p->text))
		tell(w, LINT_AGENT, p->at,
		    "server `%s` may write this file, from which an agent reads which "
		    "programs to start: remove the grant if this is not intended",
		    w->server->name.text);
	r = agent_files_warn(p->text, path);
	if (r < 0) {
		agent_files_text(text, path, r);
		tell(w, LINT_UNSEARCHED, p->at, "%s", text);
	}
	if (r <= AGENT_FILE_NONE)
		return;
	(void)diag_cut(shown, DIAG_PATH_MAX, path, strlen(path));
	tell(w, LINT_AGENT, p->at,
	    r == AGENT_FILE_EXISTS
		? "server `%s` may write where an agent reads which programs to "
		  "start: %s is read-only for the server while it exists; grant the "
		  "directories next to it"
		: "server `%s` may create %s, from which an agent reads which "
		  "programs to start: grant directories inside the project",
	    w->server->name.text, shown);
}

static void
path_lint(struct work *w, const struct stmt *s, const struct word *p)
{
	const struct word *by;

	if (!path_is_normal(p->text))
		return;
	by = path_holders_find(&w->hide, p->text, NULL);
	if (by != NULL)
		tell(w, LINT_HIDDEN, p->at, "`hide` on line %u covers all of this",
		    by->at.line);
	if (IN(p->text, sockets))
		tell(w, LINT_SOCKET, p->at,
		    "access to this socket gives control of the machine: it is never "
		    "granted");
	else if (IN(p->text, whole) && (s->kw == KW_WRITE || !IN(p->text, common)))
		tell(w, LINT_BROAD, p->at,
		    "this grants all of %s: name the directories in it", p->text);
	else if (is_home(p->text))
		tell(w, LINT_BROAD, p->at,
		    "this grants a whole home directory, with its keys and startup "
		    "files: name the directories in it");
	if (s->kw == KW_WRITE)
		agent_lint(w, p);
	if (s->expanded)
		return;
	by = path_holders_find(s->kw == KW_READ ? &w->read : &w->write, p->text, p);
	if (by != NULL && (strcmp(by->text, p->text) != 0 || by < p))
		tell(w, LINT_TWICE, p->at,
		    "redundant: `%s` on line %u already covers this", keyword_name(s->kw),
		    by->at.line);
	else if (s->kw == KW_READ &&
		 (by = path_holders_find(&w->write, p->text, NULL)) != NULL)
		tell(w, LINT_TWICE, p->at,
		    "redundant: `write` on line %u already covers this", by->at.line);
}

static bool
is_optional(const struct stmt *s)
{
	for (size_t i = 0; i < s->qual_n; i++)
		if (s->qual[i].kw == KW_OPTIONAL)
			return true;
	return false;
}

/* A link is not a path of the view: its target has another name. */
static void
hide_link(struct work *w, const struct word *p)
{
	char to[PATH_MAX], real[PATH_MAX], shown[DIAG_TEXT_CAP], named[DIAG_TEXT_CAP];
	ssize_t n = readlink(p->text, to, sizeof(to)); /* syscalls: readlink readlinkat */

	if (n < 0 || (size_t)n == sizeof(to))
		n = 0;
	to[n] = '\0';
	if (realpath(p->text, real) == NULL)
		memcpy(real, to, (size_t)n + 1);
	tell(w, LINT_LINK, p->at, "`%s` is a symbolic link to `%s`: hide `%s`", p->text,
	    diag_text(shown, to, (size_t)n), diag_text(named, real, strlen(real)));
}

/*
 * How a hide can become ineffective: programs create missing files and replace
 * existing ones.
 */
static void
hide_lint(struct work *w, const struct stmt *s, const struct word *p)
{
	const struct word *grant;
	const char *slash;
	struct stat st;

	if (!path_is_normal(p->text))
		return;
	if (lstat(p->text, &st) < 0) { /* syscalls: lstat newfstatat */
		if (is_optional(s))
			tell(w, LINT_ABSENT, p->at,
			    "%s does not exist: it is not hidden if another program "
			    "creates it while the server runs",
			    p->text);
		return;
	}
	if (S_ISLNK(st.st_mode)) {
		hide_link(w, p);
		return;
	}
	grant = path_holders_find(&w->write, p->text, NULL);
	if (!S_ISREG(st.st_mode) || grant == NULL)
		return;
	slash = strrchr(p->text, '/');
	if (strlen(grant->text) < (size_t)(slash - p->text))
		tell(w, LINT_REPLACED, p->at,
		    "programs replace this file when they save it, and kennel then kills "
		    "the server: hide its directory `%.*s` instead",
		    (int)(slash - p->text), p->text);
	else
		tell(w, LINT_REPLACED, p->at,
		    "programs replace this file when they save it, and kennel then kills "
		    "the server: move it to a directory of its own and hide that");
}

static void
paths(struct work *w, const struct stmt *s)
{
	size_t i;

	for (i = 0; i < s->word_n; i++) {
		if (s->kw != KW_HIDE) {
			path_lint(w, s, &s->word[i]);
			continue;
		}
		hide_lint(w, s, &s->word[i]);
		if (!s->expanded && path_is_normal(s->word[i].text) &&
		    path_holders_find(&w->read, s->word[i].text, NULL) == NULL &&
		    path_holders_find(&w->write, s->word[i].text, NULL) == NULL)
			tell(w, LINT_HIDES, s->word[i].at,
			    "nothing to hide: no grant covers this path");
	}
}

/* ---- programs --------------------------------------------------------------- */

/* Programs that run code given as a file, an argument or input. */
static const char *const runners[] = {"ash", "awk", "bash", "bun", "busybox", "bunx",
    "chroot", "cmake", "csh", "dash", "deno", "doas", "docker", "env", "expect", "find",
    "fish", "gawk", "gdb", "java", "julia", "ksh", "lua", "luajit", "make", "mawk",
    "nice", "node", "nodejs", "nohup", "npm", "npx", "parallel", "perl", "php", "pip",
    "pipx", "pnpm", "podman", "pypy3", "python", "python2", "python3", "Rscript", "ruby",
    "setsid", "sh", "ssh", "stdbuf", "strace", "sudo", "su", "tclsh", "tcsh", "time",
    "timeout", "ts-node", "unshare", "uv", "uvx", "watch", "xargs", "yarn", "zsh"};

static bool
is_runner(const char *path)
{
	const char *base = strrchr(path, '/');
	char name[32];
	size_t n;

	base = base == NULL ? path : base + 1;
	n = strcspn(base, ".0123456789");
	if (n >= sizeof(name) || n == 0)
		return IN(base, runners);
	memcpy(name, base, n);
	name[n] = '\0';
	return IN(base, runners) || IN(name, runners);
}

/* Does the grant name the code to run, with a literal first argument? */
static bool
is_told(const struct stmt *s)
{
	return s->word_n > 1 && word_is_literal(&s->word[1]) && s->word[1].text[0] != '-';
}

static bool
is_startable(const struct work *w, const char *path)
{
	const struct stmt *s;
	size_t i;

	for (i = 0; i < w->server->stmt_n; i++) {
		s = &w->server->stmt[i];
		if ((s->kw == KW_RUN || s->kw == KW_EXEC) &&
		    (!s->has_verdict || s->verdict != VERDICT_DENY) &&
		    strcmp(s->word[0].text, path) == 0)
			return true;
	}
	return false;
}

static void
program(struct work *w, const struct stmt *s)
{
	const struct qual *from = stmt_qual(s, KW_FROM);
	size_t i;

	for (i = 0; from != NULL && i < from->word_n; i++)
		if (!is_startable(w, from->word[i].text))
			tell(w, LINT_FROM, from->word[i].at,
			    "no `run` or `exec` of this server starts this program: it "
			    "is never the caller");
	/* an author who gives a reason has considered it */
	if (s->verdict == VERDICT_ALLOW && is_runner(s->word[0].text) && !is_told(s) &&
	    stmt_qual(s, KW_BECAUSE) == NULL)
		tell(w, LINT_INTERPRETER, s->word[0].at,
		    "this interpreter runs any code from its arguments: name the script "
		    "after it, use `ask`, or give a reason with `because`");
}

void
lint_server(struct check *c, const struct server *server)
{
	struct work w = {.c = c, .server = server};
	const struct stmt *s;
	size_t i;

	if (path_holders_make(server, KW_READ, &w.read) < 0 ||
	    path_holders_make(server, KW_WRITE, &w.write) < 0 ||
	    path_holders_make(server, KW_HIDE, &w.hide) < 0)
		diag_error(c->diag, server->at, "out of memory");
	for (i = 0; i < server->stmt_n; i++) {
		s = &server->stmt[i];
		if (s->kw == KW_READ || s->kw == KW_WRITE || s->kw == KW_HIDE)
			paths(&w, s);
		else if (s->kw == KW_EXEC)
			program(&w, s);
		if (s->kw == KW_EXEC || s->kw == KW_NET || s->kw == KW_TOOL ||
		    s->kw == KW_RESOURCE || s->kw == KW_PROMPT || s->kw == KW_METHOD)
			pairs(&w, s);
	}
	path_holders_free(&w.read);
	path_holders_free(&w.write);
	path_holders_free(&w.hide);
}
