/*
 * The mount plan: what of the host's files a server sees, and where.
 *
 * Everything stands in the view where it stands on the host, by its canonical
 * path; symbolic links on the way to it are made again.  The plan is sorted by
 * path, so that parents come before children; what is hidden comes last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/sealed/load.h"
#include "policy/compile/lower.h"

#define LINKS_MAX   40 /* as the kernel */
#define TMP_DEFAULT (64u << 20)

bool
path_inside(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == 0 || path[n] == '/');
}

/* ---- resolving ------------------------------------------------------------------ */

/* Where a walk stands: real is canonical and there, rest is still to go. */
struct walk {
	char real[PATH_MAX], rest[PATH_MAX];
	int links;
	bool missing;
};

/* The next part of rest goes to the end of real. */
static int
walk_part(struct walk *w, size_t *ret_len)
{
	size_t n = strspn(w->rest, "/"), len, at = strlen(w->real);

	memmove(w->rest, w->rest + n, strlen(w->rest + n) + 1);
	len = strcspn(w->rest, "/");
	if (at + len + 2 > sizeof(w->real))
		return -ENAMETOOLONG;
	if (len == 0 || (len == 1 && w->rest[0] == '.')) {
		*ret_len = 0;
	} else if (len == 2 && w->rest[0] == '.' && w->rest[1] == '.') {
		while (at > 0 && w->real[--at] != '/')
			;
		w->real[at] = 0;
		*ret_len = 0;
	} else {
		w->real[at] = '/';
		memcpy(w->real + at + 1, w->rest, len);
		w->real[at + 1 + len] = 0;
		*ret_len = len;
	}
	memmove(w->rest, w->rest + len, strlen(w->rest + len) + 1);
	return 0;
}

/* real is a link: its text is walked instead of its last part. */
static int
walk_link(struct lower *l, struct walk *w, struct at at)
{
	struct view_row row = {.kind = MOUNT_SYMLINK, .why = WHY_LINK, .at = at};
	const char *text;
	size_t n;
	int r;

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	l->link_writable = l->link_writable || view_has(l, w->real, RIGHT_WRITE);
	if ((r = memo_link(l->tree->memo, w->real, &text, &n)) < 0)
		return r;
	if (n == 0 || n + strlen(w->rest) + 1 > sizeof(w->rest))
		return -ENAMETOOLONG;
	row.source = arena_copy(l->arena, text, n);
	row.target = arena_copy(l->arena, w->real, strlen(w->real));
	if (row.source == NULL || row.target == NULL || view_put(l, &row) < 0)
		return -ENOMEM;
	memmove(w->rest + n, w->rest, strlen(w->rest) + 1);
	memcpy(w->rest, text, n);
	if (text[0] == '/')
		w->real[0] = 0;
	else
		*strrchr(w->real, '/') = 0;
	return 0;
}

int
view_walk(struct lower *l, const char *path, struct at at, const char **ret_real)
{
	struct walk w = {.links = 0};
	mode_t mode = 0;
	size_t len = 0;
	int r;

	if (path[0] != '/' || strlen(path) >= sizeof(w.rest))
		return -ENAMETOOLONG;
	memcpy(w.rest, path, strlen(path) + 1);
	while (w.rest[0] != 0) {
		if ((r = walk_part(&w, &len)) < 0)
			return r;
		if (len == 0 || w.missing)
			continue;
		r = memo_mode(l->tree->memo, w.real, &mode);
		if (r < 0 && r != -ENOENT && r != -ENOTDIR)
			return r;
		if (r < 0)
			w.missing = true;
		else if (S_ISLNK(mode) && (r = walk_link(l, &w, at)) < 0)
			return r;
	}
	*ret_real = w.real[0] == 0 ? "/" : arena_copy(l->arena, w.real, strlen(w.real));
	if (*ret_real == NULL)
		return -ENOMEM;
	return w.missing ? -ENOENT : 0;
}

/* ---- rows -------------------------------------------------------------------------- */

/* Rows of the same target and kind are one row with the rights of both. */
int
view_put(struct lower *l, const struct view_row *row)
{
	struct view_row *rows;
	size_t i;

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
		/* What starts says why it is there; a plain library does not. */
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

/* ---- the order ---------------------------------------------------------------------- */

/* As a walk through the folders meets them: "/" is smaller than any byte. */
static int
path_compare(const char *a, const char *b)
{
	for (; *a == *b && *a != 0; a++, b++)
		;
	if (*a == '/' || *b == '/')
		return *a == 0 ? -1 : *b == 0 ? 1 : *a == '/' ? -1 : 1;
	return (unsigned char)*a - (unsigned char)*b;
}

/* What is there for people to see comes before what it brought. */
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

/* Folders on the way to every row. */
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

/* The nearest row kept so far that row lies in (or stands on): they are sorted. */
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

/* Is there nothing in this row that the rows before it do not give? */
static bool
covered(const struct view_row *kept, size_t n, const struct view_row *row)
{
	const struct view_row *up = holder(kept, n, row->target);
	bool same = up != NULL && strcmp(up->target, row->target) == 0;

	if (up == NULL)
		return false;
	if (row->kind == MOUNT_HIDE)
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

/* Rows that matter, in order.  A hide of what is not in the view needs none;
 * a tree granted at /etc replaces the synthetic one. */
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
		/* DIR then the real thing: one row is enough; so is one /etc. */
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
		    "it needs %zu mounts, more than %d: grant a folder instead of its "
		    "files",
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
