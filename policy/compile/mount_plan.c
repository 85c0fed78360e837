/*
 * The mount plan: which host files a server sees, and where.
 *
 * Every file has the same path in the view as on the host: its canonical path.
 * Root's symbolic links on the way to it are created again; others are not
 * followed.  The plan is sorted by path, so that parents come before children;
 * hidden paths come last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIAG_CODE "view"

#include "policy/check/agent_files.h"
#include "policy/check/trusted.h"
#include "policy/compile/lower.h"
#include "policy/sealed/load.h"
#include "shim/base/array.h"
#include "shim/host/path_open.h"

#define TMP_DEFAULT (64u << 20)

bool
path_inside(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == 0 || path[n] == '/');
}

/* ---- resolving ------------------------------------------------------------------ */

/* A link with this text at this path of the view. */
static int
link_put(struct lower *l, const struct way_link *link, struct at at)
{
	struct view_row row = {.kind = MOUNT_SYMLINK,
	    .why = WHY_LINK,
	    .source = link->text,
	    .target = link->path,
	    .at = at};

	return view_put(l, &row);
}

static int
way_failed(struct lower *l, const char *path, const struct way *w, struct at at)
{
	char why[PATH_WHY_MAX];

	diag_host(
	    l->diag, at, "unable to resolve %s: %s", path, way_why(w, why, sizeof(why)));
	return -EINVAL;
}

int
view_real(struct lower *l, const char *path, struct at at, const char **ret_real)
{
	const struct way *w = fs_cache_way(l->tree->fs_cache, path);

	if (w == NULL)
		return -ENOMEM;
	if (w->error != 0)
		return way_failed(l, path, w, at);
	*ret_real = w->real;
	return w->missing ? -ENOENT : 0;
}

int
view_walk(struct lower *l, const char *path, struct at at, const char **ret_real)
{
	const struct way *w = fs_cache_way(l->tree->fs_cache, path);
	size_t i;

	for (i = 0; w != NULL && w->error == 0 && i < w->followed_n; i++) {
		l->link_writable =
		    l->link_writable || view_has(l, w->followed[i].path, RIGHT_WRITE);
		if (link_put(l, &w->followed[i], at) < 0)
			return -ENOMEM;
	}
	return view_real(l, path, at, ret_real);
}

/* ---- rows -------------------------------------------------------------------------- */

/* A file that a program needs is trusted: no server may write it. */
static int
view_trust(struct lower *l, const struct view_row *row)
{
	static const struct {
		enum sealed_mount_why why;
		enum trusted_use use;
	} uses[] = {
	    {WHY_PROGRAM, USE_INTERPRETER}, /* a granted one was checked before */
	    {WHY_SCRIPT, USE_INTERPRETER},
	    {WHY_LOADER, USE_INTERPRETER},
	    {WHY_LIBRARY, USE_LIBRARY},
	    {WHY_PRESET, USE_RUNTIME},
	};
	bool tree = row->kind == MOUNT_TREE;
	size_t i;

	for (i = 0; i < ARRAY_LEN(uses); i++)
		if (uses[i].why == row->why && (tree || row->kind == MOUNT_FILE))
			return trusted_need(l->tree, l->server, uses[i].use, tree,
			    row->at, row->target, l->diag);
	return 0;
}

/* Merges rows of the same target and kind, with the rights of both. */
int
view_put(struct lower *l, const struct view_row *row)
{
	struct view_row *rows;
	size_t i;

	if (view_trust(l, row) < 0)
		return -ENOMEM;
	if (l->recording) {
		rows = arena_push(l->arena, l->put, l->put_n, sizeof(*rows));
		if (rows == NULL)
			return -ENOMEM;
		l->put = rows;
		l->put[l->put_n++] = *row;
	}
	for (i = 0; i < l->view_n; i++) {
		rows = &l->view[i];
		if (rows->kind != row->kind || strcmp(rows->target, row->target) != 0)
			continue;
		/* a row that adds START or WRITE gives the reason */
		if ((row->right & ~rows->right & (RIGHT_START | RIGHT_WRITE)) != 0) {
			rows->why = row->why;
			rows->at = row->at;
		}
		rows->right |= row->right;
		rows->optional = rows->optional && row->optional;
		return 0;
	}
	rows = arena_push(l->arena, l->view, l->view_n, sizeof(*rows));
	if (rows == NULL)
		return -ENOMEM;
	l->view = rows;
	l->view[l->view_n++] = *row;
	return 0;
}

static int
put_base(struct lower *l, enum sealed_mount_kind kind, const char *target, uint32_t right,
    uint64_t size)
{
	struct view_row row = {.source = "",
	    .target = target,
	    .kind = kind,
	    .right = right,
	    .why = WHY_BASE,
	    .size = size,
	    .at = l->server->at};

	if (kind == MOUNT_TMPFS && l->tmp_size != 0) {
		row.why = WHY_TMP;
		row.at = l->tmp_at;
	}
	return view_put(l, &row);
}

int
view_base(struct lower *l)
{
	uint64_t tmp = l->tmp_size != 0 ? l->tmp_size : TMP_DEFAULT;
	int r;

	if ((r = put_base(l, MOUNT_TMPFS, "/tmp", RIGHT_READ | RIGHT_WRITE, tmp)) < 0 ||
	    (r = put_base(l, MOUNT_DEV, "/dev", RIGHT_READ | RIGHT_DEVICE, 0)) < 0 ||
	    (r = put_base(l, MOUNT_SHM, "/dev/shm", RIGHT_READ | RIGHT_WRITE, tmp)) < 0)
		return r;
	if ((l->row.flags & SERVER_NO_PROC) == 0 &&
	    (r = put_base(l, MOUNT_PROC, "/proc", RIGHT_READ, 0)) < 0)
		return r;
	return put_base(l, MOUNT_ETC, "/etc", RIGHT_READ, 0);
}

bool
view_has(const struct lower *l, const char *real, uint32_t right)
{
	const struct view_row *v;
	size_t i;

	for (i = 0; i < l->view_n; i++) {
		v = &l->view[i];
		if ((v->right & right) == 0 || v->kind == MOUNT_DIR)
			continue;
		if (v->kind == MOUNT_FILE ? strcmp(real, v->target) == 0
					  : path_inside(real, v->target))
			return true;
	}
	return false;
}

/* ---- agents' configurations ------------------------------------------------------- */

struct agents {
	struct lower *l;
	struct at at; /* of the grant */
};

static int
agent_put(void *arg, const char *path)
{
	struct agents *a = arg;
	struct view_row row = {.kind = MOUNT_FILE,
	    .right = RIGHT_READ,
	    .why = WHY_AGENT,
	    .optional = true,
	    .at = a->at};
	struct view_row *v;

	for (size_t i = 0; i < a->l->view_n; i++) {
		v = &a->l->view[i];
		if (v->kind == MOUNT_HIDE && path_inside(path, v->target))
			return 0;
		if (v->kind != MOUNT_FILE || strcmp(v->target, path) != 0)
			continue;
		/* `write` of the file itself is deliberate; any other row of it
		 * must not be dropped as part of the writable directory */
		if ((v->right & RIGHT_WRITE) == 0)
			v->why = WHY_AGENT;
		return 0;
	}
	row.source = row.target = arena_copy(a->l->arena, path, strlen(path));
	return row.target == NULL ? -ENOMEM : view_put(a->l, &row);
}

static int
agents_failed(struct agents *a, const char *failed, int error)
{
	char text[AGENT_TEXT_MAX];

	agent_files_text(text, failed, error);
	diag_error(a->l->diag, a->at, "%s", text);
	return -EINVAL;
}

int
view_agents(struct lower *l)
{
	struct agents a = {.l = l};
	char failed[PATH_MAX];
	size_t n = l->view_n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (l->view[i].kind != MOUNT_TREE ||
		    (l->view[i].right & RIGHT_WRITE) == 0)
			continue;
		a.at = l->view[i].at;
		r = agent_files_find(l->view[i].target, agent_put, &a, failed);
		if (r < 0 && r != -ENOMEM)
			r = agents_failed(&a, failed, r);
	}
	return r;
}

/* ---- sorting ------------------------------------------------------------- */

/* In the order of a directory walk: "/" is smaller than any byte. */
static int
path_compare(const char *a, const char *b)
{
	for (; *a == *b && *a != 0; a++, b++)
		;
	if (*a == '/' || *b == '/')
		return *a == 0 ? -1 : *b == 0 ? 1 : *a == '/' ? -1 : 1;
	return (unsigned char)*a - (unsigned char)*b;
}

/* Hidden paths last; else by path, then by kind. */
static int
row_compare(const void *x, const void *y)
{
	const struct view_row *a = x, *b = y;
	int c;

	if ((a->kind == MOUNT_HIDE) != (b->kind == MOUNT_HIDE))
		return a->kind == MOUNT_HIDE ? 1 : -1;
	if ((c = path_compare(a->target, b->target)) != 0)
		return c;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Adds the parent directories of every row. */
static int
put_parents(struct lower *l)
{
	struct view_row dir = {
	    .source = "", .kind = MOUNT_DIR, .right = RIGHT_READ, .why = WHY_BASE};
	size_t i, n = l->view_n, len;
	const char *target;

	for (i = 0; i < n; i++) {
		target = l->view[i].target;
		dir.at = l->view[i].at;
		for (len = 1; l->view[i].kind != MOUNT_HIDE && target[len] != 0; len++) {
			if (target[len] != '/')
				continue;
			dir.target = arena_copy(l->arena, target, len);
			if (dir.target == NULL || view_put(l, &dir) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/*
 * The nearest kept row that contains this one (or has the same path): rows are
 * sorted.
 */
static const struct view_row *
holder(const struct view_row *kept, size_t n, const char *target)
{
	while (n > 0) {
		n--;
		if (kept[n].kind != MOUNT_HIDE && path_inside(target, kept[n].target))
			return &kept[n];
	}
	return NULL;
}

/* Do the rows before this one already give everything in it? */
static bool
covered(const struct view_row *kept, size_t n, const struct view_row *row)
{
	const struct view_row *up = holder(kept, n, row->target);
	bool same = up != NULL && strcmp(up->target, row->target) == 0;

	if (up == NULL)
		return false;
	if (row->kind == MOUNT_HIDE || row->why == WHY_AGENT)
		return false;
	if (row->kind == MOUNT_DIR || row->kind == MOUNT_SYMLINK)
		return same || up->kind == MOUNT_TREE;
	if (up->kind == MOUNT_TREE)
		return (row->right & ~up->right) == 0;
	return false;
}

static bool
hidden_before(const struct view_row *kept, size_t n, const char *target)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (kept[i].kind == MOUNT_HIDE && path_inside(target, kept[i].target))
			return true;
	return false;
}

/*
 * Keeps the rows that have an effect, in order.  A hide of a path outside the
 * view is dropped; a tree granted at /etc replaces the synthetic one.
 */
static size_t
rows_settle(struct lower *l)
{
	struct view_row *v = l->view, *last;
	size_t i, n = 0;

	qsort(v, l->view_n, sizeof(*v), row_compare);
	for (i = 0; i < l->view_n; i++) {
		if (v[i].kind == MOUNT_HIDE) {
			const struct view_row *up = holder(v, n, v[i].target);

			if (up == NULL || hidden_before(v, n, v[i].target) ||
			    (up->kind != MOUNT_TREE &&
				strcmp(up->target, v[i].target) != 0))
				continue;
		} else if (covered(v, n, &v[i]))
			continue;
		last = n > 0 ? &v[n - 1] : NULL;
		/*
		 * a DIR row and a real one for the same path: keep one; the
		 * same for /etc
		 */
		if (last != NULL && v[i].kind != MOUNT_HIDE &&
		    strcmp(last->target, v[i].target) == 0)
			n--;
		if (last != NULL && last->kind == MOUNT_TREE && v[i].kind == MOUNT_ETC &&
		    strcmp(last->target, v[i].target) == 0)
			v[n] = *last;
		else
			v[n] = v[i];
		n++;
	}
	return n;
}

int
view_seal(struct lower *l, struct sealed_range *ret)
{
	struct sealed_mount m;
	const struct view_row *v;
	size_t i;
	int r;

	if ((r = put_parents(l)) < 0)
		return r;
	l->view_n = rows_settle(l);
	if (l->view_n > SEALED_MOUNTS_MAX) {
		diag_error(l->diag, l->server->at,
		    "the server needs %zu mounts, more than %d: grant a directory "
		    "instead of its files",
		    l->view_n, SEALED_MOUNTS_MAX);
		return -EINVAL;
	}
	ret->first = sealer_rows(l->sealer, SEALED_MOUNTS);
	ret->n = (uint32_t)l->view_n;
	for (i = 0; i < l->view_n; i++) {
		v = &l->view[i];
		m = (struct sealed_mount){.source = lower_str(l, v->source),
		    .target = lower_str(l, v->target),
		    .at = lower_at(l, v->at),
		    .kind = v->kind,
		    .right = v->right,
		    .why = v->why,
		    .optional = v->optional,
		    .size = v->size};
		(void)sealer_row(l->sealer, SEALED_MOUNTS, &m, sizeof(m));
	}
	return 0;
}
