/*
 * The mount plan: which host files a server sees, and where.
 *
 * Every file has the same path in the view as on the host: its canonical path.
 * Root's symbolic links on the way to it are created again; others are not
 * followed.  The plan is sorted by path, so that parents come before children;
 * hidden paths come last.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
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

#define TMP_DEFAULT  (64u << 20)
#define RUNTIME_SIZE (16u << 20)
#define LOCALE_DIR   "/usr/lib/locale"

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
	uint32_t first, i;

	if (view_trust(l, row) < 0)
		return -ENOMEM;
	if (l->recording) {
		rows = arena_push(l->arena, l->put, l->put_n, sizeof(*rows));
		if (rows == NULL)
			return -ENOMEM;
		l->put = rows;
		l->put[l->put_n++] = *row;
	}
	first = path_index_get(&l->by_target, row->target, strlen(row->target));
	for (i = first; i != PATH_INDEX_NONE; i = rows->same_target) {
		rows = &l->view[i];
		if (rows->kind != row->kind)
			continue;
		/* a row that adds START or WRITE gives the reason */
		if ((row->right & ~rows->right & (RIGHT_START | RIGHT_WRITE)) != 0) {
			rows->why = row->why;
			rows->at = row->at;
		}
		rows->right |= row->right;
		rows->read |= row->read;
		rows->optional = rows->optional && row->optional;
		return 0;
	}
	rows = arena_push(l->arena, l->view, l->view_n, sizeof(*rows));
	if (rows == NULL ||
	    path_index_set(l->arena, &l->by_target, row->target, (uint32_t)l->view_n) < 0)
		return -ENOMEM;
	l->view = rows;
	rows += l->view_n++;
	*rows = *row;
	rows->same_target = first;
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

/* What the C library reads of the system: the host's, read-only, if the host has it. */
static int
put_system_path(struct lower *l, const char *path)
{
	const struct way *way = fs_cache_way(l->tree->fs_cache, path);
	struct view_row row = {
	    .right = RIGHT_READ, .why = WHY_BASE, .optional = true, .at = l->server->at};
	size_t before;
	int r;

	if (way == NULL)
		return -ENOMEM;
	if (way->error != 0 || way->missing ||
	    (!S_ISREG(way->mode) && !S_ISDIR(way->mode)))
		return 0;
	row.kind = S_ISREG(way->mode) ? MOUNT_FILE : MOUNT_TREE;
	before = l->view_n;
	r = view_walk(l, path, row.at, &row.target);
	for (size_t i = before; i < l->view_n; i++)
		l->view[i].why = WHY_BASE; /* its links are every cell's, too */
	row.source = row.target;
	return r < 0 ? r : view_put(l, &row);
}

/* "C.UTF-8" is in the directory C.utf8: the C library writes the character set in small
 * letters and digits. A locale that it has built in, or in an archive, has none. */
static int
put_locale(struct lower *l)
{
	const struct stmt *s = lower_env_of(l, "LANG");
	const char *lang = s == NULL       ? DEFAULT_LANG
			   : s->word_n > 1 ? s->word[1].text
					   : "";
	char path[NAME_MAX + sizeof(LOCALE_DIR) + 1] = LOCALE_DIR "/";
	size_t n = strlen(path), dot = strcspn(lang, ".@");

	if (dot == 0 || strlen(lang) > NAME_MAX || strchr(lang, '/') != NULL)
		return 0;
	memcpy(path + n, lang, dot);
	n += dot;
	for (const char *p = lang + dot; *p != '\0' && (*p != '@' || p == lang + dot);
	     p++)
		if (*p == '.' || isalnum((unsigned char)*p))
			path[n++] = (char)tolower((unsigned char)*p);
	path[n] = '\0';
	return put_system_path(l, path);
}

static int
put_system(struct lower *l)
{
	static const char *const files[] = {"/etc/localtime", "/etc/mime.types",
	    "/etc/os-release", "/etc/protocols", "/etc/services"};
	int r = put_locale(l);

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(files); i++)
		r = put_system_path(l, files[i]);
	return r;
}

int
view_base(struct lower *l)
{
	uint64_t tmp = l->tmp_size != 0 ? l->tmp_size : TMP_DEFAULT;
	int r;

	if ((r = put_base(l, MOUNT_TMPFS, "/tmp", RIGHT_READ | RIGHT_WRITE, tmp)) < 0 ||
	    (r = put_base(l, MOUNT_DEV, "/dev", RIGHT_READ | RIGHT_DEVICE, 0)) < 0 ||
	    (r = put_base(l, MOUNT_SHM, "/dev/shm", RIGHT_READ | RIGHT_WRITE, tmp)) < 0 ||
	    (r = put_base(l, MOUNT_TMPFS, POLICY_RUNTIME_DIR, RIGHT_READ | RIGHT_WRITE,
		 RUNTIME_SIZE)) < 0 ||
	    (r = put_system(l)) < 0)
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
	size_t whole = strlen(real), len;
	uint32_t i;

	for (len = whole; len > 0; len = path_above(real, len)) {
		i = path_index_get(&l->by_target, real, len);
		for (; i != PATH_INDEX_NONE; i = v->same_target) {
			v = &l->view[i];
			if ((v->right & right) != 0 && v->kind != MOUNT_DIR &&
			    (v->kind != MOUNT_FILE || len == whole))
				return true;
		}
	}
	return false;
}

/* ---- agents' configurations ------------------------------------------------------- */

struct agents {
	struct lower *l;
	struct at at; /* of the grant */
};

/* The first directory of the path that is a symbolic link: its length, or 0. */
static size_t
link_in(const char *path)
{
	char one[PATH_MAX];
	struct stat st;

	for (const char *at = strchr(path + 1, '/'); at != NULL;
	     at = strchr(at + 1, '/')) {
		memcpy(one, path, (size_t)(at - path));
		one[at - path] = '\0';
		/* syscalls: newfstatat */
		if (lstat(one, &st) == 0 && S_ISLNK(st.st_mode))
			return (size_t)(at - path);
	}
	return 0;
}

/* The cover would be on the file that the link leads to now: the server may turn it. */
static int
agent_link(struct agents *a, const char *path, size_t link)
{
	char shown[2][DIAG_PATH_CAP];

	diag_error(a->l->diag, a->at,
	    "unable to keep %s read-only, from which an agent reads which programs to "
	    "start: %s is a symbolic link; replace it by a directory, or grant the "
	    "directories next to it",
	    diag_cut(shown[0], DIAG_PATH_MAX, path, strlen(path)),
	    diag_cut(shown[1], DIAG_PATH_MAX, path, link));
	return 1;
}

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
	size_t link;

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
	link = link_in(path);
	if (link > 0)
		return agent_link(a, path, link);
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
		if (r > 0)
			r = -EINVAL; /* agent_link has reported it */
		else if (r < 0 && r != -ENOMEM)
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

/* The rows that are kept so far, by path: hidden paths apart from the others. */
struct kept {
	struct view_row *row;
	size_t n;
	struct path_index shown, hidden;
};

/* The nearest kept row that contains this path, or has it. */
static const struct view_row *
holder(const struct kept *k, const char *target)
{
	uint32_t i = path_index_holder(&k->shown, target);

	return i == PATH_INDEX_NONE ? NULL : &k->row[i];
}

/* Do the rows before this one already give everything in it? */
static bool
covered(const struct kept *k, const struct view_row *row)
{
	const struct view_row *up = holder(k, row->target);
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

/* Is this hidden path in the view, and not in a path that is hidden before? */
static bool
hides(const struct kept *k, const char *target)
{
	const struct view_row *up = holder(k, target);

	return up != NULL && path_index_holder(&k->hidden, target) == PATH_INDEX_NONE &&
	       (up->kind == MOUNT_TREE || strcmp(up->target, target) == 0);
}

/*
 * A directory and a real row of the same path: keep one. The same for /etc, where a
 * granted tree replaces the synthetic one.
 */
static int
keep(struct lower *l, struct kept *k, const struct view_row *row)
{
	struct path_index *x = row->kind == MOUNT_HIDE ? &k->hidden : &k->shown;
	struct view_row *last = k->n > 0 ? &k->row[k->n - 1] : NULL;
	bool same = last != NULL && strcmp(last->target, row->target) == 0;

	if (same && row->kind != MOUNT_HIDE)
		k->n--;
	if (!same || last->kind != MOUNT_TREE || row->kind != MOUNT_ETC)
		k->row[k->n] = *row;
	return path_index_set(l->arena, x, row->target, (uint32_t)k->n++);
}

/* Keeps the rows that have an effect, in order: hiding what is not shown has none. */
static int
rows_settle(struct lower *l)
{
	struct kept k = {.row = l->view};
	size_t i;

	qsort(l->view, l->view_n, sizeof(l->view[0]), row_compare);
	for (i = 0; i < l->view_n; i++) {
		const struct view_row row = l->view[i];

		if ((row.kind == MOUNT_HIDE ? hides(&k, row.target)
					    : !covered(&k, &row)) &&
		    keep(l, &k, &row) < 0)
			return -ENOMEM;
	}
	l->view_n = k.n;
	return 0;
}

int
view_seal(struct lower *l, struct sealed_range *ret)
{
	struct sealed_mount m;
	const struct view_row *v;
	size_t i;
	int r;

	if ((r = put_parents(l)) < 0 || (r = rows_settle(l)) < 0)
		return r;
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
