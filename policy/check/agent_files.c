/*
 * The search for agents' files below a directory.  policy/clients has their names.
 */
#include "policy/check/agent_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/clients/clients.h"
#include "policy/lang/scalar.h"
#include "shim/base/array.h"

#define DEPTH_MAX 2  /* levels below the directory */
#define PARTS_MAX 16 /* of a name in the table */

/*
 * A start waits for this search: 8192 directories take about 1 s on a slow
 * machine.  A server can make more, so reaching a limit is an error.
 */
#define DIRS_MAX    8192
#define ENTRIES_MAX (1u << 20) /* read in total, files included */

/* A directory with one of these, or with the directory of a client, is a project. */
static const char *const repositories[] = {".git", ".hg", ".jj", ".svn"};

struct search {
	const char *root; /* the directory of the caller */
	agent_file_fn *fn;
	void *arg;
	size_t dirs_n;    /* searched */
	size_t entries_n; /* read */
	char *failed;     /* PATH_MAX bytes: the directory that cannot be searched */
};

/* A server can take away access to a directory, and give it back later. */
static bool
is_absence(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

static bool
join(char out[PATH_MAX], const char *dir, const char *name)
{
	const char *slash = dir[strlen(dir) - 1] == '/' ? "" : "/";
	int n = snprintf(out, PATH_MAX, "%s%s%s", dir, slash, name);

	return n > 0 && n < PATH_MAX;
}

/*
 * Returns the error.  The nearest directory that has attributes is the failed one.  If
 * it is another user's, it is not searched: a server of this user cannot open it either,
 * and the data directory of a container is often one.
 */
static int
failed_at(struct search *s, const char *path, int error)
{
	struct stat st;
	char *end;
	int r;

	memmove(s->failed, path, strlen(path) + 1);
	/* syscalls: newfstatat */
	while ((r = lstat(s->failed, &st)) < 0 &&
	       (end = strrchr(s->failed, '/')) != NULL && end != s->failed)
		*end = '\0';
	return error == EACCES && r == 0 && st.st_uid != geteuid() ? 0 : -error;
}

struct visit { /* of the entries of a directory */
	int (*fn)(struct search *, const struct visit *, const char *path,
	    const struct dirent *);
	int levels;       /* to search below it */
	const char *name; /* that an entry must have, and the path that follows */
};

/* The directory is closed. */
static int
each_entry(struct search *s, const char *dir, DIR *d, const struct visit *v)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int r = 0;

	/* syscalls: getdents64 close */
	while (r == 0 && (errno = 0, entry = readdir(d)) != NULL)
		if (s->entries_n++ >= ENTRIES_MAX)
			r = failed_at(s, dir, E2BIG);
		else if (!join(path, dir, entry->d_name))
			r = failed_at(s, dir, ENAMETOOLONG);
		else
			r = v->fn(s, v, path, entry);
	if (r == 0 && errno != 0)
		r = failed_at(s, dir, errno);
	(void)closedir(d); /* only read */
	return r;
}

static int
each_of(struct search *s, const char *dir, const struct visit *v)
{
	DIR *d;

	/* syscalls: openat fstat */
	d = opendir(dir);
	if (d == NULL)
		return is_absence(errno) ? 0 : failed_at(s, dir, errno);
	return each_entry(s, dir, d, v);
}

static int
probe_entry(
    struct search *s, const struct visit *v, const char *path, const struct dirent *entry)
{
	struct stat st;

	(void)entry;
	(void)v;
	/* syscalls: newfstatat */
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? s->fn(s->arg, path) : 0;
}

static bool
is_part(const char *name, const char *entry)
{
	return client_part_is(name, strcspn(name, "/"), entry, strlen(entry)) &&
	       strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0;
}

static int probe_below(struct search *, const char *dir, const char *name);

/*
 * A directory by any name: a server can make another one, so where it is a symbolic
 * link, the file that it leads to is covered, if it is below the root.
 */
static int /* NOLINTNEXTLINE(misc-no-recursion): one level for each part of a name */
probe_part(
    struct search *s, const struct visit *v, const char *path, const struct dirent *entry)
{
	char real[PATH_MAX];
	const char *rest = strchr(v->name, '/');
	struct stat st;

	/* syscalls: newfstatat readlink */
	if (!is_part(v->name, entry->d_name) || lstat(path, &st) < 0)
		return 0;
	if (rest == NULL)
		return S_ISREG(st.st_mode) ? s->fn(s->arg, path) : 0;
	if (!S_ISLNK(st.st_mode))
		return S_ISDIR(st.st_mode) ? probe_below(s, path, rest + 1) : 0;
	if (realpath(path, real) == NULL || !path_below(s->root, real))
		return 0;
	return probe_below(s, real, rest + 1);
}

/* A file, or each of a directory whose name ends with a slash. */
static int
probe_path(struct search *s, const char *path)
{
	static const struct visit all = {.fn = probe_entry};
	struct stat st;

	if (path[strlen(path) - 1] == '/')
		return each_of(s, path, &all);
	/* syscalls: newfstatat */
	if (lstat(path, &st) == 0)
		return S_ISREG(st.st_mode) ? s->fn(s->arg, path) : 0;
	return is_absence(errno) ? 0 : failed_at(s, path, errno);
}

/* Each file of this name below a directory. */
static int /* NOLINTNEXTLINE(misc-no-recursion): one level for each part of a name */
probe_below(struct search *s, const char *dir, const char *name)
{
	const char *any = client_any(name);
	struct visit v = {.fn = probe_part, .name = any};
	char path[PATH_MAX];
	int n;

	n = snprintf(path, PATH_MAX, "%s%s%.*s", dir,
	    dir[strlen(dir) - 1] == '/' ? "" : "/",
	    any == NULL ? PATH_MAX : (int)(any - name), name);
	if (n < 0 || n >= PATH_MAX)
		return failed_at(s, dir, ENAMETOOLONG);
	return any == NULL ? probe_path(s, path) : each_of(s, path, &v);
}

/*
 * Fast path: most directories have nothing of a client, so its directory is looked for
 * once, and not each of its files.  absent is the last that was missed.
 */
static bool
is_without(const char *dir, const char *name, const char **absent)
{
	size_t n = strcspn(name, "/|");
	char path[PATH_MAX], part[NAME_MAX + 1];
	struct stat st;

	if (n == 0 || name[n] == '\0' || n > NAME_MAX)
		return false;
	if (*absent != NULL && strncmp(*absent, name, n + 1) == 0)
		return true;
	(void)snprintf(part, sizeof(part), "%.*s", (int)n, name); /* fits */
	/* syscalls: newfstatat */
	if (!join(path, dir, part) || lstat(path, &st) == 0 || !is_absence(errno))
		return false;
	*absent = name;
	return true;
}

/* The files of this scope in a project or a home directory. */
static int
probe(struct search *s, const char *dir, enum client_scope scope)
{
	const char *absent = NULL;
	char name[PATH_MAX];
	int r = 0;
	size_t n;

	const struct client_file *f = client_files(&n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		/* search() reads the directory once, for all of these */
		if (f[i].scope != scope || client_any(f[i].path) == f[i].path ||
		    is_without(dir, f[i].path, &absent))
			continue;
		client_home_path(&f[i], name);
		r = probe_below(s, dir, name);
	}
	return r;
}

/*
 * Skips dependencies: they are not projects, and a package manager that replaces
 * a covered file would end the server.
 */
static bool
is_searched(const struct dirent *entry, const char *path)
{
	const char *name = entry->d_name;
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strcmp(name, "node_modules") == 0)
		return false;
	/* syscalls: newfstatat */
	if (entry->d_type == DT_UNKNOWN) /* some file systems */
		return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
	return entry->d_type == DT_DIR;
}

/* Is it a file of a project that may have any name in its directory? */
static bool
is_any(const struct dirent *entry)
{
	size_t n;

	const struct client_file *f = client_files(&n);

	for (size_t i = 0; i < n; i++)
		if (f[i].scope == SCOPE_PROJECT && client_any(f[i].path) == f[i].path &&
		    is_part(f[i].path, entry->d_name))
			return true;
	return false;
}

static int search(struct search *, const char *dir, int levels);

static int /* NOLINTNEXTLINE(misc-no-recursion): two levels deep */
search_entry(
    struct search *s, const struct visit *v, const char *path, const struct dirent *entry)
{
	if (is_any(entry))
		return probe_entry(s, v, path, entry);
	if (v->levels == 0 || !is_searched(entry, path))
		return 0;
	return search(s, path, v->levels - 1);
}

/* This directory and `levels` levels below it. */
static int /* NOLINTNEXTLINE(misc-no-recursion): two levels deep */
search(struct search *s, const char *dir, int levels)
{
	const struct visit v = {.fn = search_entry, .levels = levels};
	int r;

	if (s->dirs_n++ >= DIRS_MAX)
		return failed_at(s, dir, E2BIG);
	r = probe(s, dir, SCOPE_PROJECT);
	return r == 0 ? each_of(s, dir, &v) : r;
}

/* The end of the path's last n parts: where they begin, or NULL if it has fewer. */
static const char *
last_parts(const char *path, size_t len, size_t n)
{
	size_t at = len;

	for (; n > 0; n--) {
		if (at == 0)
			return NULL;
		while (at > 0 && path[at - 1] != '/')
			at--;
		if (at == 0)
			return NULL; /* no absolute path */
		at--;
	}
	return path + at + 1;
}

/* Are the first n parts of this name the last ones of the path? */
static bool
ends_with(const char *path, size_t len, const char *name, size_t n)
{
	const char *at = last_parts(path, len, n);
	size_t have, want;

	for (; at != NULL && n > 0; n--) {
		have = strcspn(at, "/");
		have =
		    have < len - (size_t)(at - path) ? have : len - (size_t)(at - path);
		want = strcspn(name, "/");
		if (!client_part_is(name, want, at, have))
			return false;
		at += have + 1;
		name += want + 1;
	}
	return at != NULL;
}

/*
 * The rest of a name whose first n parts are the end of this directory's path, from
 * that point on: "mcp.json" for W/.vscode, "" for W/.github/hooks.  NULL: none.
 */
static const char *
rest_of(const char *dir, const char *name, size_t n)
{
	const char *rest = name;

	for (size_t i = 0; i < n; i++) {
		rest = strchr(rest, '/');
		if (rest == NULL)
			return NULL;
		rest++;
	}
	return ends_with(dir, strlen(dir), name, n) ? rest : NULL;
}

struct rests { /* where a search is in the names of which a directory is a part */
	size_t row, parts;
};

/* The next of these: what follows the directory. */
static bool
next_rest(const char *dir, struct rests *at, char ret[PATH_MAX])
{
	char name[PATH_MAX];
	const char *rest;
	size_t n;

	const struct client_file *f = client_files(&n);

	for (; at->row < n; at->row++, at->parts = 0) {
		if (f[at->row].scope == SCOPE_MANAGED)
			continue;
		client_home_path(&f[at->row], name);
		while (++at->parts < PARTS_MAX) {
			rest = rest_of(dir, name, at->parts);
			if (rest == NULL)
				continue;
			memcpy(ret, rest, strlen(rest) + 1);
			return true;
		}
	}
	return false;
}

/* The directory may itself be a part of such a name. */
static int
probe_rests(struct search *s, const char *dir)
{
	char rest[PATH_MAX];
	struct rests at = {0};
	int r = 0;

	while (r == 0 && next_rest(dir, &at, rest))
		r = probe_below(s, dir, rest);
	return r;
}

/* ---- files of this machine --------------------------------------------------- */

/* The home directory of this user, without links. "": none. */
static void
home_find(char ret[PATH_MAX])
{
	const char *home = getenv("HOME");

	ret[0] = '\0';
	/* syscalls: readlink newfstatat */
	if (home != NULL && home[0] == '/' && realpath(home, ret) == NULL)
		ret[0] = '\0';
}

/* The path of a file that is not a project's, where a variable of this process or the
 * administrator has it. */
static bool
place_of(const struct client_file *f, const char *home, char ret[PATH_MAX])
{
	if (f->scope == SCOPE_PROJECT || (f->scope == SCOPE_USER && f->variable == NULL))
		return false;
	return client_path(f, home, "", ret) == 0 && ret[0] == '/';
}

/* What follows the directory in an absolute name, or NULL. */
static const char *
rest_below(const char *dir, const char *name)
{
	size_t n = 0;

	for (const char *at = dir; *at != '\0'; at++)
		n += *at == '/' && at[1] != '\0';
	return rest_of(dir, name + 1, n);
}

/* The files of the user and of the administrator, however deep below this directory.
 * Those of a home stay covered where a variable moves them: an agent that another shell
 * starts may not have the variable. */
static int
probe_places(struct search *s, const char *dir)
{
	char home[PATH_MAX], path[PATH_MAX];
	const char *rest;
	int r = 0;
	size_t n;

	const struct client_file *f = client_files(&n);

	home_find(home);
	if (home[0] != '\0' && path_below(dir, home))
		r = probe(s, home, SCOPE_USER);
	if (r == 0 && home[0] != '\0' && path_below(dir, home))
		r = search(s, home, 0);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (place_of(&f[i], home, path) &&
		    (rest = rest_below(dir, path)) != NULL && *rest != '\0')
			r = probe_below(s, dir, rest);
	return r;
}

int
agent_files_find(const char *dir, agent_file_fn *fn, void *arg, char ret_failed[PATH_MAX])
{
	struct search s = {.root = dir, .fn = fn, .arg = arg, .failed = ret_failed};
	int r = probe(&s, dir, SCOPE_USER);

	if (r == 0)
		r = probe_rests(&s, dir);
	if (r == 0)
		r = probe_places(&s, dir);
	if (r == 0)
		r = search(&s, dir, DEPTH_MAX);
	if (r == -E2BIG) /* the whole, not the place where the search stopped */
		memcpy(ret_failed, dir, strlen(dir) + 1);
	return r;
}

/* ---- names ------------------------------------------------------------------- */

/* Has this directory the directory of a client? */
static bool
has_client(const char *dir)
{
	const char *absent = NULL;
	size_t n;

	const struct client_file *f = client_files(&n);

	for (size_t i = 0; i < n; i++)
		if (f[i].scope == SCOPE_PROJECT && strchr(f[i].path, '/') != NULL &&
		    !is_without(dir, f[i].path, &absent))
			return true;
	return false;
}

/*
 * Is this directory a project, where an agent may look for a file that does not
 * exist yet?  A repository, or a directory with settings of an agent or an
 * editor.
 */
static bool
agent_files_project(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(repositories); i++)
		if (join(path, dir, repositories[i]) && lstat(path, &st) == 0)
			return true;
	return has_client(dir);
}

/* Does the path end with this name, or with a file of this directory? */
static bool
is_named(const char *path, const char *name)
{
	size_t len = strlen(path), n = 1;
	const char *slash = strrchr(path, '/');

	if (name[strlen(name) - 1] == '/' && slash != NULL) {
		len = (size_t)(slash - path);
		n = 0;
	}
	for (const char *at = name; *at != '\0'; at++)
		n += *at == '/';
	return ends_with(path, len, name, n);
}

bool
agent_files_is(const char *path)
{
	char home[PATH_MAX], name[PATH_MAX];
	size_t n;

	const struct client_file *f = client_files(&n);

	home_find(home);
	for (size_t i = 0; i < n; i++) {
		/* the slash of an absolute name is that of is_named, too */
		if (place_of(&f[i], home, name) && is_named(path, name + 1))
			return true;
		client_home_path(&f[i], name);
		if (f[i].scope != SCOPE_MANAGED && is_named(path, name))
			return true;
	}
	return false;
}

static int
keep_first(void *arg, const char *path)
{
	char *first = arg;

	if (first[0] == '\0')
		memcpy(first, path, strlen(path) + 1);
	return 0; /* go on: a directory may be inaccessible */
}

int
agent_files_warn(const char *dir, char ret_path[PATH_MAX])
{
	char first[PATH_MAX] = "", failed[PATH_MAX];
	int r = agent_files_find(dir, keep_first, first, failed);
	struct rests at = {0};

	if (r != 0) {
		memcpy(ret_path, failed, strlen(failed) + 1);
		return r;
	}
	if (first[0] != '\0') {
		memcpy(ret_path, first, strlen(first) + 1);
		return AGENT_FILE_EXISTS;
	}
	if ((next_rest(dir, &at, failed) && join(ret_path, dir, failed)) ||
	    (agent_files_project(dir) && join(ret_path, dir, ".mcp.json")))
		return AGENT_FILE_POSSIBLE;
	return AGENT_FILE_NONE;
}

void
agent_files_text(char out[AGENT_TEXT_MAX], const char *failed, int error)
{
	char shown[DIAG_PATH_CAP];

	(void)diag_cut(shown, DIAG_PATH_MAX, failed, strlen(failed));
	if (error == -E2BIG)
		(void)snprintf(out, AGENT_TEXT_MAX,
		    "unable to search %s for configurations of agents: expected at most "
		    "%d directories and %u entries on two levels; grant the directories "
		    "in it that the server needs",
		    shown, DIRS_MAX, ENTRIES_MAX);
	else
		(void)snprintf(out, AGENT_TEXT_MAX,
		    "unable to search %s for configurations of agents: %s; run `chmod "
		    "u+rwx` on it, or grant directories beside it",
		    shown, strerror(-error));
}
