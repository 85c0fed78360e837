/*
 * Finds grants that reach trusted files.  Grants are sorted by path; for each
 * file, every directory above it is looked up.
 */
#include "policy/base/arena.h"
#include "policy/check/trusted.h"
#include "policy/lang/scalar.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fd.h"
#include "shim/base/hash.h"
#include "shim/host/path_resolve.h"

#define PATHS_MAX 48   /* of one file: its own and the links on the way */
#define SLOTS     1024 /* buckets of resolved paths */

/* A resolved path with all of its names. */
struct resolved {
	struct resolved *next;
	const char *text;
	bool resolved; /* as requested */
	const char **path;
	size_t n;
};

struct trusted {
	struct arena *arena;
	struct trusted_file *file;
	size_t file_n;
	struct trusted_grant *grant;
	size_t grant_n;
	const struct trusted_grant **sorted;
	size_t sorted_n;                  /* how many grants are sorted */
	struct resolved *resolved[SLOTS]; /* a thousand servers start the same few */
};

struct trusted *
trusted_new(struct arena *arena)
{
	struct trusted *t = arena_alloc(arena, sizeof(*t));

	if (t != NULL)
		t->arena = arena;
	return t;
}

/* ---- all names of a path ------------------------------------------------- */

struct names {
	struct arena *arena;
	const char **path;
	size_t n;
	bool failed;
};

static void
name_put(void *arg, const char *path)
{
	struct names *names = arg;

	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->path[i], path) == 0)
			return;
	if (names->n == PATHS_MAX)
		return; /* more links than a path may have */
	names->path[names->n] = arena_copy(names->arena, path, strlen(path));
	if (names->path[names->n] == NULL)
		names->failed = true;
	else
		names->n++;
}

/*
 * The path as written, each link, and the result.  A link that may not be
 * followed is refused elsewhere; here both of its ends count.
 */
static int
names_find(struct trusted *t, const char *path, bool resolved, struct names *ret)
{
	const char *found[PATHS_MAX] = {NULL};
	struct names names = {.arena = t->arena, .path = found};
	struct path_resolved r;
	int e;

	if (path_is_normal(path))
		name_put(&names, path);
	if (!resolved) {
		e = path_resolve(path, PATH_MISSING_OK, name_put, &names, &r);
		if (e == 0)
			name_put(&names, r.real);
		if (e == -ELOOP && r.link[0] != '\0')
			name_put(&names, r.link);
		if (e == -ELOOP && r.target[0] != '\0')
			name_put(&names, r.target);
		fd_close(&r.fd);
	}
	ret->n = names.n;
	ret->path = arena_alloc(t->arena, (names.n + 1) * sizeof(*ret->path));
	if (ret->path == NULL || names.failed)
		return -ENOMEM;
	memcpy(ret->path, found, names.n * sizeof(*ret->path));
	return 0;
}

static struct resolved **
slot_of(struct trusted *t, const char *text)
{
	return &t->resolved[hash32(text, strlen(text)) % SLOTS];
}

static int
names_of(struct trusted *t, const char *path, bool resolved, struct names *ret)
{
	struct resolved **list = slot_of(t, path), *s;
	int r;

	for (s = *list; s != NULL; s = s->next)
		if (s->resolved == resolved && strcmp(s->text, path) == 0) {
			*ret = (struct names){.path = s->path, .n = s->n};
			return 0;
		}
	r = names_find(t, path, resolved, ret);
	if (r < 0)
		return r;
	s = arena_alloc(t->arena, sizeof(*s));
	if (s == NULL || (s->text = arena_copy(t->arena, path, strlen(path))) == NULL)
		return -ENOMEM;
	s->resolved = resolved;
	s->path = ret->path;
	s->n = ret->n;
	s->next = *list;
	*list = s;
	return 0;
}

/* ---- adding grants and files --------------------------------------------- */

static const char *
text_keep(struct trusted *t, const char *text, bool *failed)
{
	const char *copy;

	if (text == NULL)
		return NULL;
	copy = arena_copy(t->arena, text, strlen(text));
	*failed = *failed || copy == NULL;
	return copy;
}

int
trusted_add_grant(struct trusted *t, const struct trusted_line *by, const char *path,
    uint32_t right, bool resolved)
{
	struct trusted_grant *row;
	bool failed = false;
	struct names names;
	int r = names_of(t, path, resolved, &names);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		row = arena_push(t->arena, t->grant, t->grant_n, sizeof(*row));
		if (row == NULL)
			return -ENOMEM;
		t->grant = row;
		row = &t->grant[t->grant_n];
		*row = (struct trusted_grant){*by, names.path[i], right};
		row->by.server = text_keep(t, by->server, &failed);
		row->by.file = text_keep(t, by->file, &failed);
		if (failed)
			return -ENOMEM;
		t->grant_n++;
	}
	return r;
}

int
trusted_add_file(
    struct trusted *t, const struct trusted_file *from, const char *path, bool resolved)
{
	struct trusted_file *row;
	bool failed = false;
	struct names names;
	int r = names_of(t, path, resolved, &names);

	if (r < 0)
		return r;
	row = arena_push(t->arena, t->file, t->file_n, sizeof(*row));
	if (row == NULL)
		return -ENOMEM;
	t->file = row;
	row = &t->file[t->file_n];
	*row = *from;
	row->path = names.path;
	row->path_n = names.n;
	row->what = text_keep(t, from->what, &failed);
	row->by.server = text_keep(t, from->by.server, &failed);
	row->by.file = text_keep(t, from->by.file, &failed);
	if (failed)
		return -ENOMEM;
	t->file_n++;
	return 0;
}

const struct trusted_grant *
trusted_grants(const struct trusted *t, size_t *ret_n)
{
	*ret_n = t->grant_n;
	return t->grant;
}

/* ---- finding the matches ------------------------------------------------- */

static int
grant_order(const void *x, const void *y)
{
	const struct trusted_grant *a = *(const struct trusted_grant *const *)x,
				   *b = *(const struct trusted_grant *const *)y;
	int d = strcmp(a->path, b->path);

	return d != 0 ? d : (a > b) - (a < b);
}

/* The array of grants may have moved: sorts it again if there are more. */
static bool
grants_sort(struct trusted *t)
{
	size_t i;

	if (t->sorted_n == t->grant_n)
		return t->grant_n > 0;
	t->sorted = arena_alloc(t->arena, t->grant_n * sizeof(const void *));
	if (t->sorted == NULL)
		return false;
	for (i = 0; i < t->grant_n; i++)
		t->sorted[i] = &t->grant[i];
	t->sorted_n = t->grant_n;
	qsort(t->sorted, t->sorted_n, sizeof(const void *), grant_order);
	return true;
}

/* The first grant whose path is not less than these len bytes. */
static size_t
grant_first(const struct trusted *t, const char *path, size_t len)
{
	size_t low = 0, high = t->sorted_n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (strncmp(t->sorted[mid]->path, path, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct meeting {
	struct trusted *t;
	const struct trusted_file *file;
	const char *path;
	trusted_fn *fn;
	void *arg;
};

/*
 * Grants of exactly the first len bytes; with below, grants of paths that begin
 * with them.
 */
static bool
meet_some(const struct meeting *m, const char *path, size_t len, bool below)
{
	const struct trusted_grant *g;
	size_t i;

	for (i = grant_first(m->t, path, len); i < m->t->sorted_n; i++) {
		g = m->t->sorted[i];
		if (strncmp(g->path, path, len) != 0 || (!below && g->path[len] != '\0'))
			return false;
		if ((g->right & m->file->right) == 0)
			continue;
		if (m->fn(m->arg, m->file, below ? g->path : m->path, g))
			return true;
	}
	return false;
}

static bool
meet_path(const struct meeting *m)
{
	char dir[PATH_MAX + 1];
	size_t len = strlen(m->path), n;

	if (len >= PATH_MAX)
		return false;
	/* The nearest first; `/` is never a grant. */
	for (n = len; n > 1; n--) {
		if (m->path[n] != '/' && m->path[n] != '\0')
			continue;
		/* if the granted directory is itself the argument, it is data */
		if (n == len && m->file->use == USE_ARGUMENT)
			continue;
		if (meet_some(m, m->path, n, false))
			return true;
	}
	memcpy(dir, m->path, len);
	dir[len] = '/';
	dir[len + 1] = '\0';
	return m->file->below && meet_some(m, dir, len + 1, true);
}

void
trusted_reach(struct trusted *t, const struct trusted_file *f, trusted_fn *fn, void *arg)
{
	struct meeting m = {.t = t, .file = f, .fn = fn, .arg = arg};

	if (!grants_sort(t))
		return;
	/* The resolved path is the last one, and is reported first. */
	for (size_t i = f->path_n; i > 0; i--) {
		m.path = f->path[i - 1];
		if (meet_path(&m))
			return;
	}
}

void
trusted_pairs(struct trusted *t, trusted_fn *fn, void *arg)
{
	for (size_t i = 0; i < t->file_n; i++)
		trusted_reach(t, &t->file[i], fn, arg);
}

struct first_match {
	char *why;
	size_t why_cap;
	bool found;
};

static bool
first_match(void *arg, const struct trusted_file *f, const char *real,
    const struct trusted_grant *g)
{
	static char text[TRUSTED_TEXT_MAX];
	struct first_match *m = arg;
	int n = 0;

	if (m->found)
		return true;
	m->found = true;
	trusted_text(text, f, real, g);
	if (f->by.file != NULL)
		n = snprintf(m->why, m->why_cap, "%s:%u: ", f->by.file, f->by.line);
	if (n >= 0 && (size_t)n < m->why_cap)
		(void)snprintf(m->why + n, m->why_cap - (size_t)n, "%s", text);
	return true;
}

int
trusted_first(struct trusted *t, char *why, size_t why_cap)
{
	struct first_match arg = {.why = why, .why_cap = why_cap};

	trusted_pairs(t, first_match, &arg);
	return arg.found ? -EPERM : 0;
}

/* ---- text of a match ----------------------------------------------------- */

#define PATH_TEXT_CAP (PATH_MAX + 256)
#define PIECE         16 /* bytes */

static const struct {
	const char *of, *alone; /* with a server's name; without one */
} uses[] = {
    [USE_RUN] = {"the program of", "a program"},
    [USE_EXEC] = {"a program that `exec` grants to", "a program"},
    [USE_INTERPRETER] = {"an interpreter of", "an interpreter"},
    [USE_LIBRARY] = {"a library of", "a library"},
    [USE_RUNTIME] = {"part of the runtime of", "part of a runtime"},
    [USE_SECRET_FILE] = {"the source of a secret of", "the source of a secret"},
    [USE_SECRET_CMD] = {"part of a command for a secret of", "part of a command"},
    [USE_PLUGIN] = {"a plugin for a secret of", "a plugin"},
    [USE_SECRET_INTERPRETER] = {"an interpreter for a secret of", "an interpreter"},
    [USE_SIDECAR] = {"the sidecar of a plugin for", "a sidecar"},
    [USE_ROUTES] = {"the routes of secrets of", "the routes of secrets"},
    [USE_PINS] = {"the pins of", "a pins file"},
    [USE_INCLUDE] = {"an included policy of", "an included policy"},
    [USE_POLICY] = {"the policy of", "the policy itself"},
    [USE_ARGUMENT] = {"an argument of a program of", "an argument"},
};

/* "line 7" of the same policy, else "FILE:7". */
static const char *
place(
    const struct trusted_line *by, const struct trusted_line *from, char *out, size_t cap)
{
	const char *file = by->file != NULL ? by->file : "(standard input)";
	bool same = from->file != NULL && strcmp(file, from->file) == 0;
	char shown[DIAG_TEXT_CAP];

	if (same || (by->file == NULL && from->line > 0 && from->file == NULL))
		(void)snprintf(out, cap, "line %u", by->line); /* may be truncated */
	else
		(void)snprintf(
		    out, cap, "%s:%u", diag_text(shown, file, strlen(file)), by->line);
	return out;
}

/* Printable and not truncated. */
static const char *
path_text(char out[PATH_TEXT_CAP], const char *path)
{
	size_t at = 0, len = strlen(path), n;
	char piece[DIAG_TEXT_CAP];

	out[0] = '\0';
	for (; len > 0; path += n, len -= n) {
		n = len < PIECE ? len : PIECE; /* escaping must not cut it */
		diag_text(piece, path, n);
		if (at + strlen(piece) >= PATH_TEXT_CAP)
			break;
		memcpy(out + at, piece, strlen(piece) + 1);
		at += strlen(piece);
	}
	return out;
}

void
trusted_text(char out[TRUSTED_TEXT_MAX], const struct trusted_file *f, const char *real,
    const struct trusted_grant *g)
{
	char path[PATH_TEXT_CAP], server[DIAG_TEXT_CAP], whose[DIAG_TEXT_CAP],
	    at[DIAG_TEXT_CAP + 32];
	bool writes = (g->right & f->right & RIGHT_WRITE) != 0;
	const char *who = g->by.server != NULL ? g->by.server : "";

	(void)path_text(path, real);
	diag_text(server, who, strlen(who));
	(void)place(&g->by, &f->by, at, sizeof(at));
	if (f->use == USE_OWN)
		(void)snprintf(out, TRUSTED_TEXT_MAX,
		    "%s is %s, and `%s` on %s lets server `%s` %s it: grant a directory "
		    "that does not contain it (`hide` does not protect it)",
		    path, f->what, writes ? "write" : "read", at, server,
		    writes ? "replace" : "read");
	else if (f->use == USE_ARGUMENT)
		(void)snprintf(out, TRUSTED_TEXT_MAX,
		    "server `%s` may write here (`write` on %s): this path does not "
		    "determine which code runs",
		    server, at);
	else if (f->by.server != NULL)
		(void)snprintf(out, TRUSTED_TEXT_MAX,
		    "%s is %s server `%s`, and `write` on %s lets server `%s` replace "
		    "it: move it, or grant less",
		    path, uses[f->use].of,
		    diag_text(whose, f->by.server, strlen(f->by.server)), at, server);
	else
		(void)snprintf(out, TRUSTED_TEXT_MAX,
		    "%s is %s, and `write` on %s lets server `%s` replace it: move it, "
		    "or grant less",
		    path, uses[f->use].alone, at, server);
}
