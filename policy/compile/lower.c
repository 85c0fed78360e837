/*
 * Compiles a checked server to rows of the sealed file.  One function for each
 * statement.  The files that a program needs are found here, on this machine.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <linux/audit.h>

#define DIAG_CODE "lowering"

#include "policy/compile/lower.h"
#include "policy/compile/seccomp_rows.h"
#include "policy/compile/source_list.h"
#include "policy/check/oauth_words.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

typedef int lower_fn(struct lower *, const struct stmt *);

static lower_fn lower_about, lower_cwd, lower_user, lower_tmp, lower_path, lower_hide,
    lower_no_proc, lower_oneshot, lower_tty, lower_remote, lower_auth;
static int arguments_look(struct lower *, const struct stmt *);
static int lower_tables(struct lower *);

/* Passes over the statements, in the order of their tables. */
enum pass {
	PASS_PATHS,
	PASS_PROGRAMS,
	PASS_HIDE,
	PASS_GATES,
	PASS_NETS,
	PASS_AUDITS,
	PASS_CALLS,
	PASS_PINS,
	PASS_LIMITS,
	PASS_REQUIRES
};
static const struct {
	enum keyword kw;
	enum pass pass;
	lower_fn *lower;
} statements[] = {
    {KW_ABOUT, PASS_PATHS, lower_about},
    {KW_USER, PASS_PATHS, lower_user},
    {KW_TMP, PASS_PATHS, lower_tmp},
    {KW_NO_PROC, PASS_PATHS, lower_no_proc},
    {KW_ONESHOT, PASS_PATHS, lower_oneshot},
    {KW_TTY, PASS_PATHS, lower_tty},
    {KW_REMOTE, PASS_PATHS, lower_remote},
    {KW_AUTH, PASS_PATHS, lower_auth},
    {KW_SAMPLING, PASS_GATES, lower_offer},
    {KW_ELICITATION, PASS_GATES, lower_offer},
    {KW_ROOTS, PASS_GATES, lower_offer},
    {KW_READ, PASS_PATHS, lower_path},
    {KW_WRITE, PASS_PATHS, lower_path},
    {KW_RUN, PASS_PROGRAMS, program_lower},
    {KW_EXEC, PASS_PROGRAMS, program_lower},
    {KW_RUN, PASS_HIDE, arguments_look},
    {KW_DIGEST, PASS_HIDE, digest_lower},
    {KW_CWD, PASS_HIDE, lower_cwd},
    {KW_HIDE, PASS_HIDE, lower_hide},
    {KW_TOOL, PASS_GATES, lower_gate},
    {KW_RESOURCE, PASS_GATES, lower_gate},
    {KW_PROMPT, PASS_GATES, lower_gate},
    {KW_METHOD, PASS_GATES, lower_gate},
    {KW_NET, PASS_NETS, lower_net},
    {KW_AUDIT, PASS_AUDITS, lower_audit},
    {KW_SYSCALLS, PASS_CALLS, lower_syscalls},
    {KW_PINS, PASS_PINS, lower_pins},
    {KW_LIMIT, PASS_LIMITS, lower_limit},
    {KW_TIMEOUT, PASS_LIMITS, lower_limit},
    {KW_REQUIRE, PASS_REQUIRES, lower_require},
};

/* ---- helpers ------------------------------------------------------------- */

struct sealed_ref
lower_str(struct lower *l, const char *text)
{
	return sealer_str(l->sealer, text, strlen(text));
}

struct sealed_at
lower_at(const struct lower *l, struct at at)
{
	return (struct sealed_at){.file = at.file, .line = at.line};
}

char *
lower_printf(struct lower *l, const char *fmt, ...)
{
	char text[2 * PATH_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text))
		return NULL;
	return arena_copy(l->arena, text, (size_t)n);
}

static bool
has_option(const struct stmt *s, enum keyword kw)
{
	size_t i;

	for (i = 0; i < s->qual_n; i++)
		if (s->qual[i].kw == kw)
			return true;
	return false;
}

/* ---- passes -------------------------------------------------------------- */

static int
pass_run(struct lower *l, enum pass pass)
{
	size_t i, k;
	int r;

	for (i = 0; i < l->server->stmt_n; i++)
		for (k = 0; k < ARRAY_LEN(statements); k++) {
			if (statements[k].kw != l->server->stmt[i].kw ||
			    statements[k].pass != pass)
				continue;
			r = statements[k].lower(l, &l->server->stmt[i]);
			/* the error is reported: go on and find others */
			if (r < 0 && r != -EINVAL)
				return r;
			if (r == -EINVAL && diag_failures(l->diag) == 0)
				return r;
		}
	return 0;
}

/* Shared by all servers of one file: the names of its sources. */
static int
common_rows(struct lower *l)
{
	const char *path;
	struct sealed_ref ref;
	size_t i;
	int r = 0;

	if (sealer_rows(l->sealer, SEALED_FILES) == 0)
		for (i = 0; i < l->tree->source_n; i++) {
			path = l->tree->source[i].path;
			ref = lower_str(l, path != NULL ? path : "(standard input)");
			(void)sealer_row(l->sealer, SEALED_FILES, &ref, sizeof(ref));
			if (path != NULL && r == 0)
				r = source_list_put(sealer_sources(l->sealer), path,
				    l->tree->source[i].text, l->tree->source[i].len);
		}
	return r;
}

/* Runs after the `syscalls` lines: servers with equal lines share a filter. */
static int
lower_filters(struct lower *l)
{
	int r = filters_build(l->sealer, l->row.calls, &l->row.filters);

	if (r == 0 || r == -ENOMEM)
		return r;
	diag_error(l->diag, l->server->at, "unable to build the system call filter: %s",
	    strerror(-r));
	return -EINVAL;
}

static int
lower_one(const struct tree *t, const struct server *server, struct sealer *s,
    struct diag *d, struct lacks *ret_lacks)
{
	struct lower l = {
	    .tree = t, .server = server, .sealer = s, .diag = d, .arena = t->arena};
	size_t failures = diag_failures(d), errors = d->error_n, host = d->host_n;
	int r;

	l.row.name = lower_str(&l, server->name.text);
	l.row.cwd = lower_str(&l, "/tmp");
	l.row.at = lower_at(&l, server->at);
	if ((r = common_rows(&l)) < 0 || (r = pass_run(&l, PASS_PATHS)) < 0 ||
	    (r = view_base(&l)) < 0 || (r = pass_run(&l, PASS_PROGRAMS)) < 0 ||
	    (r = program_end(&l)) < 0 || (r = modules_lower(&l)) < 0 ||
	    (r = pass_run(&l, PASS_HIDE)) < 0 || (r = view_agents(&l)) < 0 ||
	    (r = lower_tables(&l)) < 0)
		return r;
	if (!l.has_run && diag_failures(d) == failures)
		diag_error(d, server->at,
		    "server `%s` has no `run`: add `run PROGRAM ARGUMENT...`",
		    server->name.text);
	if (d->error_n != errors)
		return -EINVAL;
	(void)sealer_row(s, SEALED_SERVERS, &l.row, sizeof(l.row));
	l.lacks.files = d->host_n != host;
	*ret_lacks = l.lacks;
	return 0;
}

int
tree_lower(const struct tree *t, const struct server *server, struct sealer *s,
    struct diag *d, struct lacks *ret_lacks)
{
	struct tree own = *t;
	int r;

	if (t->fs_cache != NULL)
		return lower_one(t, server, s, d, ret_lacks);
	own.fs_cache = fs_cache_new();
	if (own.fs_cache == NULL)
		return -ENOMEM;
	r = lower_one(&own, server, s, d, ret_lacks);
	fs_cache_free(own.fs_cache);
	return r;
}

/* Writes the collected rows, table by table. */
static int
lower_tables(struct lower *l)
{
	struct sealed_exec *e;
	size_t i;
	int r;

	l->row.images.first = sealer_rows(l->sealer, SEALED_IMAGES);
	l->row.images.n = (uint32_t)l->image_n;
	for (i = 0; i < l->image_n; i++)
		(void)sealer_row(
		    l->sealer, SEALED_IMAGES, &l->image[i], sizeof(l->image[i]));
	l->row.execs.first = sealer_rows(l->sealer, SEALED_EXECS);
	l->row.execs.n = (uint32_t)l->exec_n;
	l->row.run += l->row.execs.first;
	for (i = 0; i < l->exec_n; i++) {
		e = &l->exec[i];
		e->asked += l->row.images.first;
		e->mapped += l->row.images.first;
		(void)sealer_row(l->sealer, SEALED_EXECS, e, sizeof(*e));
	}
	l->row.gates.first = sealer_rows(l->sealer, SEALED_GATES);
	l->row.nets.first = sealer_rows(l->sealer, SEALED_NETS);
	l->row.audits.first = sealer_rows(l->sealer, SEALED_AUDITS);
	l->row.calls.first = sealer_rows(l->sealer, SEALED_CALLS);
	l->row.limits.first = sealer_rows(l->sealer, SEALED_LIMITS);
	l->row.requires.first = sealer_rows(l->sealer, SEALED_REQUIRES);
	if ((r = view_seal(l, &l->row.mounts)) < 0 || (r = lower_envs(l)) < 0 ||
	    (r = lower_secrets(l)) < 0 || (r = pass_run(l, PASS_GATES)) < 0 ||
	    (r = pass_run(l, PASS_NETS)) < 0 || (r = pass_run(l, PASS_AUDITS)) < 0 ||
	    (r = pass_run(l, PASS_CALLS)) < 0 || (r = pass_run(l, PASS_PINS)) < 0 ||
	    (r = pass_run(l, PASS_LIMITS)) < 0 || (r = lower_filters(l)) < 0)
		return r;
	return pass_run(l, PASS_REQUIRES);
}

/* ---- statements with one value ------------------------------------------- */

static int
lower_about(struct lower *l, const struct stmt *s)
{
	l->row.about = lower_str(l, s->word[0].text);
	return 0;
}

static int
lower_user(struct lower *l, const struct stmt *s)
{
	l->row.user = lower_str(l, s->word[0].text);
	return 0;
}

static int
lower_tmp(struct lower *l, const struct stmt *s)
{
	l->tmp_at = s->at;
	return unit_bytes(s->word[0].text, &l->tmp_size);
}

static int
lower_no_proc(struct lower *l, const struct stmt *s)
{
	l->row.flags |= SERVER_NO_PROC;
	return 0;
}

static int
lower_oneshot(struct lower *l, const struct stmt *s)
{
	l->row.flags |= SERVER_ONESHOT;
	return 0;
}

static int
lower_tty(struct lower *l, const struct stmt *s)
{
	l->row.flags |= SERVER_TTY;
	return 0;
}

/* Its grants are statements of their own (policy/check/remote.h). */
static int
lower_remote(struct lower *l, const struct stmt *s)
{
	l->row.flags |= SERVER_REMOTE;
	return 0;
}

/* What else it means is in the statement of `run`. */
static int
lower_auth(struct lower *l, const struct stmt *s)
{
	if (oauth_is_code(s))
		l->row.flags |= SERVER_LOGIN;
	return 0;
}

/* The server starts there, so the directory must be in the view. */
static int
lower_cwd(struct lower *l, const struct stmt *s)
{
	const char *path = s->word[0].text, *real;
	int r = view_walk(l, path, s->word[0].at, &real);

	if (r < 0 && r != -ENOENT)
		return r;
	if (!view_has(l, real, RIGHT_READ | RIGHT_WRITE)) {
		diag_error(l->diag, s->word[0].at,
		    "%s is not in the view: no `read` or `write` grants it", path);
		return -EINVAL;
	}
	if (r == -ENOENT && !path_inside(real, "/tmp"))
		diag_warning(l->diag, s->word[0].at,
		    "%s does not exist: the server cannot start until it does", path);
	/* the canonical name: no link is followed when the server starts */
	l->row.cwd = lower_str(l, real);
	l->cwd = path;
	return 0;
}

/* ---- paths --------------------------------------------------------------- */

/* Directories of the view that belong to kennel. */
static const struct {
	const char *path;
	bool below; /* and everything below it */
	const char *why;
} own[] = {
    {"/", false, "the root directory cannot be granted: name the directories in it"},
    {"/proc", true, "/proc of the host cannot be granted: the cell has its own"},
    {"/sys", true, "/sys of the host cannot be granted"},
    {"/dev", true,
	"/dev of the host cannot be granted: the cell has its own; for pseudo-terminals "
	"write `tty`"},
    {POLICY_RUNTIME_DIR, true,
	POLICY_RUNTIME_DIR " cannot be granted: the cell has its own (XDG_RUNTIME_DIR)"},
    {"/tmp", false,
	"/tmp of the host cannot be granted, only a directory in it: the server has its "
	"own /tmp"},
};

static int
path_grantable(struct lower *l, const char *real, struct at at)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(own); i++)
		if (own[i].below ? path_inside(real, own[i].path)
				 : strcmp(real, own[i].path) == 0) {
			diag_error(l->diag, at, "%s", own[i].why);
			return -EINVAL;
		}
	return 0;
}

/* Is it in the view, also if only as the parent of another row? */
static bool
is_seen(const struct lower *l, const char *real)
{
	if (strcmp(real, "/") == 0 || view_has(l, real, RIGHT_READ | RIGHT_WRITE))
		return true;
	for (size_t i = 0; i < l->view_n; i++)
		if (l->view[i].why != WHY_BASE && path_inside(l->view[i].target, real))
			return true;
	return false;
}

/* Would an interpreter run this argument? By its suffix. */
static bool
is_script(const char *path)
{
	static const char *const suffix[] = {".js", ".mjs", ".cjs", ".ts", ".py"};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot != NULL && i < ARRAY_LEN(suffix); i++)
		if (strcmp(dot, suffix[i]) == 0)
			return true;
	return false;
}

/* The paths among the arguments of `run`; the first that is no option may be a script. */
static int
arguments_look(struct lower *l, const struct stmt *s)
{
	bool first = true;

	for (size_t i = 1; i < s->word_n; i++) {
		const struct word *w = &s->word[i];
		const struct way *way;
		bool script = first && is_script(w->text);

		first = first && w->text[0] == '-';
		if (!path_is_normal(w->text))
			continue;
		way = fs_cache_way(l->tree->fs_cache, w->text);
		if (way == NULL || way->error != 0 || path_inside(way->real, "/sys"))
			continue;
		if (way->missing && script)
			diag_warning(l->diag, w->at,
			    "%s does not exist: the server cannot start until it does",
			    w->text);
		else if (!way->missing && !is_seen(l, way->real))
			diag_warning(l->diag, w->at,
			    "no `read` or `write` grants %s: the server %s; add `read "
			    "%s`",
			    w->text, script ? "cannot start" : "cannot open it", w->text);
	}
	return 0;
}

static int
path_put(struct lower *l, const struct stmt *s, const struct word *w)
{
	bool writing = s->kw == KW_WRITE;
	struct view_row row = {.kind = MOUNT_TREE,
	    .right = writing ? RIGHT_READ | RIGHT_WRITE : RIGHT_READ,
	    .why = writing ? WHY_WRITE : WHY_READ,
	    .read = true,
	    .optional = has_option(s, KW_OPTIONAL),
	    .at = w->at};
	const struct way *way;
	const char *real = NULL;
	int r = view_walk(l, w->text, w->at, &real);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == -ENOENT && !row.optional)
		diag_warning(l->diag, w->at,
		    "%s does not exist: the server cannot start until it does", w->text);
	if ((r = path_grantable(l, real, w->at)) < 0)
		return r;
	/* a link cannot have the path of a file that the cell has */
	if (policy_etc_has(w->text) && strcmp(w->text, real) != 0) {
		diag_error(l->diag, w->at,
		    "%s is a symbolic link, and the cell has its own file there: grant "
		    "%s",
		    w->text, real);
		return -EINVAL;
	}
	/* the checker tested the path as written; a link may lead there too */
	if (writing &&
	    (path_inside(real, "/etc/kennel") || path_inside("/etc/kennel", real))) {
		diag_error(l->diag, w->at,
		    "this would let the server write policies: grant another directory");
		return -EINVAL;
	}
	way = fs_cache_way(l->tree->fs_cache, w->text);
	if (way == NULL)
		return -ENOMEM;
	if (!way->missing) {
		if (S_ISREG(way->mode))
			row.kind = MOUNT_FILE;
		else if (!S_ISDIR(way->mode)) {
			diag_host(l->diag, w->at, "%s is neither a file nor a directory",
			    w->text);
			return -EINVAL;
		}
	}
	row.source = row.target = real;
	return view_put(l, &row);
}

static int
lower_path(struct lower *l, const struct stmt *s)
{
	size_t i;
	int r = 0, bad = 0;

	for (i = 0; i < s->word_n; i++) {
		r = path_put(l, s, &s->word[i]);
		if (r < 0 && r != -EINVAL)
			return r;
		bad = r < 0 ? r : bad;
	}
	return bad;
}

/* After the programs: a program that starts cannot be hidden. */
static int
lower_hide(struct lower *l, const struct stmt *s)
{
	struct view_row row = {.source = "",
	    .kind = MOUNT_HIDE,
	    .why = WHY_HIDE,
	    .optional = has_option(s, KW_OPTIONAL)};
	size_t i, k;
	int r;

	for (i = 0; i < s->word_n; i++) {
		row.at = s->word[i].at;
		/* a hidden path needs no link that leads to it */
		r = view_real(l, s->word[i].text, row.at, &row.target);
		if (r < 0 && r != -ENOENT)
			return r;
		for (k = 0; k < l->image_n; k++)
			if (path_inside(l->image_real[k], row.target)) {
				diag_error(l->diag, row.at,
				    "%s would hide the program %s: hide less, or move "
				    "the program",
				    s->word[i].text, l->image_real[k]);
				return -EINVAL;
			}
		if ((r = path_grantable(l, row.target, row.at)) < 0 ||
		    (r = view_put(l, &row)) < 0)
			return r;
	}
	return 0;
}
