/*
 * A checked server becomes rows of the sealed file.  One statement, one
 * function; what a program needs to be there is found here, on this machine.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <linux/audit.h>

#include "policy/compile/lower.h"

typedef int lower_fn(struct lower *, const struct stmt *);

static lower_fn lower_about, lower_cwd, lower_user, lower_tmp, lower_path, lower_hide,
    lower_no_proc;
static int lower_tables(struct lower *);

/* Statements whose rows go into one table each, table after table. */
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
    {KW_SAMPLING, PASS_GATES, lower_offer},
    {KW_ELICITATION, PASS_GATES, lower_offer},
    {KW_ROOTS, PASS_GATES, lower_offer},
    {KW_READ, PASS_PATHS, lower_path},
    {KW_WRITE, PASS_PATHS, lower_path},
    {KW_RUN, PASS_PROGRAMS, program_lower},
    {KW_EXEC, PASS_PROGRAMS, program_lower},
    {KW_DIGEST, PASS_HIDE, digest_lower},
    {KW_CWD, PASS_HIDE, lower_cwd},
    {KW_HIDE, PASS_HIDE, lower_hide},
    {KW_TOOL, PASS_GATES, lower_gate},
    {KW_RESOURCE, PASS_GATES, lower_gate},
    {KW_PROMPT, PASS_GATES, lower_gate},
    {KW_NET, PASS_NETS, lower_net},
    {KW_AUDIT, PASS_AUDITS, lower_audit},
    {KW_SYSCALLS, PASS_CALLS, lower_syscalls},
    {KW_PINS, PASS_PINS, lower_pins},
    {KW_LIMIT, PASS_LIMITS, lower_limit},
    {KW_TIMEOUT, PASS_LIMITS, lower_limit},
    {KW_REQUIRE, PASS_REQUIRES, lower_require},
};

/* ---- small helpers ------------------------------------------------------------ */

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

/* ---- the order ------------------------------------------------------------------- */

static int
pass_run(struct lower *l, enum pass pass)
{
	size_t i, k;
	int r;

	for (i = 0; i < l->server->stmt_n; i++)
		for (k = 0; k < sizeof(statements) / sizeof(statements[0]); k++) {
			if (statements[k].kw != l->server->stmt[i].kw ||
			    statements[k].pass != pass)
				continue;
			r = statements[k].lower(l, &l->server->stmt[i]);
			/* A located error: go on and find the others. */
			if (r < 0 && r != -EINVAL)
				return r;
			if (r == -EINVAL && l->diag->error_n == 0)
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

	if (sealer_rows(l->sealer, SEALED_FILES) == 0)
		for (i = 0; i < l->tree->source_n; i++) {
			path = l->tree->source[i].path;
			ref = lower_str(l, path != NULL ? path : "(standard input)");
			(void)sealer_row(l->sealer, SEALED_FILES, &ref, sizeof(ref));
		}
	return 0;
}

/* After the lines about system calls: servers with the same lines share it. */
static int
lower_filters(struct lower *l)
{
	int r = filters_build(l->sealer, l->row.calls, &l->row.filters);

	if (r == 0 || r == -ENOMEM)
		return r;
	diag_error(l->diag, l->server->at, "the system call filter cannot be made: %s",
	    strerror(-r));
	return -EINVAL;
}

static int
lower_one(
    const struct tree *t, const struct server *server, struct sealer *s, struct diag *d)
{
	struct lower l = {
	    .tree = t, .server = server, .sealer = s, .diag = d, .arena = t->arena};
	size_t errors = d->error_n;
	int r;

	l.row.name = lower_str(&l, server->name.text);
	l.row.cwd = lower_str(&l, "/tmp");
	l.row.at = lower_at(&l, server->at);
	if ((r = common_rows(&l)) < 0 || (r = pass_run(&l, PASS_PATHS)) < 0 ||
	    (r = view_base(&l)) < 0 || (r = pass_run(&l, PASS_PROGRAMS)) < 0 ||
	    (r = program_end(&l)) < 0 || (r = pass_run(&l, PASS_HIDE)) < 0 ||
	    (r = lower_tables(&l)) < 0)
		return r;
	if (!l.has_run && d->error_n == errors)
		diag_error(d, server->at, "server `%s` has no `run`", server->name.text);
	if (d->error_n != errors)
		return -EINVAL;
	(void)sealer_row(s, SEALED_SERVERS, &l.row, sizeof(l.row));
	return 0;
}

int
tree_lower(
    const struct tree *t, const struct server *server, struct sealer *s, struct diag *d)
{
	struct tree own = *t;
	int r;

	if (t->memo != NULL)
		return lower_one(t, server, s, d);
	own.memo = memo_new();
	if (own.memo == NULL)
		return -ENOMEM;
	r = lower_one(&own, server, s, d);
	memo_free(own.memo);
	return r;
}

/* The rows that were gathered, table by table. */
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

/* ---- one value -------------------------------------------------------------------- */

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

/* The server starts there, so it has to be in the view. */
static int
lower_cwd(struct lower *l, const struct stmt *s)
{
	const char *path = s->word[0].text, *real;
	int r = view_walk(l, path, s->at, &real);

	if (r < 0 && r != -ENOENT)
		return r;
	if (!view_has(l, real, RIGHT_READ | RIGHT_WRITE)) {
		diag_error(l->diag, s->word[0].at,
		    "%s is not in the view: no `read` or `write` grants it", path);
		return -EINVAL;
	}
	if (r == -ENOENT && !path_inside(real, "/tmp"))
		diag_warning(l->diag, s->word[0].at,
		    "%s is not there: the server will not start unless it is by then",
		    path);
	l->row.cwd = lower_str(l, path);
	return 0;
}

/* ---- paths -------------------------------------------------------------------------- */

/* Folders of the view that are kennel's own. */
static const struct {
	const char *path;
	bool below; /* and everything in it */
	const char *why;
} own[] = {
    {"/", false, "the whole root cannot be granted"},
    {"/proc", true, "/proc is the cell's own"},
    {"/sys", true, "/sys of the host is never in the view"},
    {"/dev", true, "/dev is the cell's own"},
    {"/tmp", false, "/tmp is the server's own; a folder in it can be granted"},
};

static int
path_grantable(struct lower *l, const char *real, struct at at)
{
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i].below ? path_inside(real, own[i].path)
				 : strcmp(real, own[i].path) == 0) {
			diag_error(l->diag, at, "%s", own[i].why);
			return -EINVAL;
		}
	return 0;
}

/* Files of /etc that a cell has of its own; a link cannot stand there too. */
static bool
is_synthetic(const char *path)
{
	static const char *const names[] = {"/etc/passwd", "/etc/group", "/etc/hosts",
	    "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/ld.so.cache"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(path, names[i]) == 0)
			return true;
	return false;
}

static int
path_put(struct lower *l, const struct stmt *s, const struct word *w)
{
	bool writing = s->kw == KW_WRITE;
	struct view_row row = {.kind = MOUNT_TREE,
	    .right = writing ? RIGHT_READ | RIGHT_WRITE : RIGHT_READ,
	    .why = writing ? WHY_WRITE : WHY_READ,
	    .optional = has_option(s, KW_OPTIONAL),
	    .at = w->at};
	const char *real = NULL;
	mode_t mode;
	int r = view_walk(l, w->text, w->at, &real);

	if (r == -ENOMEM)
		return r;
	if (r < 0 && r != -ENOENT) {
		diag_error(l->diag, w->at, "%s: %s", w->text, strerror(-r));
		return -EINVAL;
	}
	if (r == -ENOENT && !row.optional)
		diag_warning(l->diag, w->at,
		    "%s is not there: the server will not start unless it is by then",
		    w->text);
	if ((r = path_grantable(l, real, w->at)) < 0)
		return r;
	if (is_synthetic(w->text) && strcmp(w->text, real) != 0) {
		diag_error(l->diag, w->at,
		    "%s is a link, and the cell has a file of its own there; grant %s",
		    w->text, real);
		return -EINVAL;
	}
	/* The checker looked at the words; a link may lead there as well. */
	if (writing &&
	    (path_inside(real, "/etc/kennel") || path_inside("/etc/kennel", real))) {
		diag_error(l->diag, w->at, "this would let the server write policies");
		return -EINVAL;
	}
	if (memo_mode(l->tree->memo, real, &mode) == 0) {
		if (S_ISREG(mode))
			row.kind = MOUNT_FILE;
		else if (!S_ISDIR(mode)) {
			diag_error(
			    l->diag, w->at, "%s is neither a file nor a folder", w->text);
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

/* After the programs: what starts cannot be hidden, it would not start. */
static int
lower_hide(struct lower *l, const struct stmt *s)
{
	struct view_row row = {.source = "",
	    .kind = MOUNT_HIDE,
	    .why = WHY_HIDE,
	    .optional = has_option(s, KW_OPTIONAL)};
	size_t i, k, links;
	int r;

	for (i = 0; i < s->word_n; i++) {
		row.at = s->word[i].at;
		links = l->view_n;
		r = view_walk(l, s->word[i].text, row.at, &row.target);
		/* What is hidden needs no link to lead to it. */
		l->view_n = links;
		if (r < 0 && r != -ENOENT)
			return r;
		for (k = 0; k < l->image_n; k++)
			if (path_inside(l->image_real[k], row.target)) {
				diag_error(l->diag, row.at,
				    "%s would hide the program %s", s->word[i].text,
				    l->image_real[k]);
				return -EINVAL;
			}
		if ((r = path_grantable(l, row.target, row.at)) < 0 ||
		    (r = view_put(l, &row)) < 0)
			return r;
	}
	return 0;
}
