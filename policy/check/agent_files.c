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

#define DEPTH_MAX 2 /* levels below the directory */

/*
 * A start waits for this search: 8192 directories take about 1 s on a slow
 * machine.  A server can make more, so reaching a limit is an error.
 */
#define DIRS_MAX    8192
#define ENTRIES_MAX (1u << 20) /* read in total, files included */

/* A directory with one of these, or with the directory of a client, is a project. */
static const char *const repositories[] = {".git", ".hg", ".jj", ".svn"};

struct search {
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

/* Calls this for each entry of a directory, which is closed. */
static int
each_entry(struct search *s, const char *dir, DIR *d,
    int (*fn)(struct search *, const char *path, const struct dirent *, int levels),
    int levels)
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
			r = fn(s, path, entry, levels);
	if (r == 0 && errno != 0)
		r = failed_at(s, dir, errno);
	(void)closedir(d); /* only read */
	return r;
}

static int
probe_entry(struct search *s, const char *path, const struct dirent *entry, int levels)
{
	struct stat st;

	(void)entry;
	(void)levels;
	/* syscalls: newfstatat */
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? s->fn(s->arg, path) : 0;
}

/* Each regular file of a directory that a client reads as a whole. */
static int
probe_all(struct search *s, const char *dir)
{
	DIR *d;

	/* syscalls: openat fstat */
	d = opendir(dir);
	if (d == NULL)
		return is_absence(errno) ? 0 : failed_at(s, dir, errno);
	return each_entry(s, dir, d, probe_entry, 0);
}

static int
probe_path(struct search *s, const char *path)
{
	struct stat st;

	if (path[strlen(path) - 1] == '/')
		return probe_all(s, path);
	/* syscalls: newfstatat */
	if (lstat(path, &st) == 0)
		return S_ISREG(st.st_mode) ? s->fn(s->arg, path) : 0;
	return is_absence(errno) ? 0 : failed_at(s, path, errno);
}

static int
probe_name(struct search *s, const char *dir, const char *name)
{
	char path[PATH_MAX];

	if (!join(path, dir, name))
		return failed_at(s, dir, ENAMETOOLONG);
	return probe_path(s, path);
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
		if (f[i].scope != scope || is_without(dir, f[i].path, &absent))
			continue;
		client_home_path(&f[i], name);
		r = probe_name(s, dir, name);
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

static int search(struct search *, const char *dir, int levels);

static int /* NOLINTNEXTLINE(misc-no-recursion): two levels deep */
search_entry(struct search *s, const char *path, const struct dirent *entry, int levels)
{
	return is_searched(entry, path) ? search(s, path, levels) : 0;
}

static int /* NOLINTNEXTLINE(misc-no-recursion): two levels deep */
search_below(struct search *s, const char *dir, int levels)
{
	DIR *d;

	/* syscalls: openat fstat */
	d = opendir(dir);
	if (d == NULL)
		return is_absence(errno) ? 0 : failed_at(s, dir, errno);
	return each_entry(s, dir, d, search_entry, levels - 1);
}

/* This directory and `levels` levels below it. */
static int /* NOLINTNEXTLINE(misc-no-recursion): two levels deep */
search(struct search *s, const char *dir, int levels)
{
	int r;

	if (s->dirs_n++ >= DIRS_MAX)
		return failed_at(s, dir, E2BIG);
	r = probe(s, dir, SCOPE_PROJECT);
	return r == 0 && levels > 0 ? search_below(s, dir, levels) : r;
}

/*
 * The rest of a name whose beginning is the end of this directory's path, from
 * that point on: "mcp.json" for W/.vscode, "" for W/.github/hooks.  NULL: none.
 */
static const char *
rest_of(const char *dir, const char *name)
{
	size_t len = strlen(dir), n;

	for (const char *end = strchr(name, '/'); end != NULL;
	     end = strchr(end + 1, '/')) {
		n = (size_t)(end - name);
		if (len > n && dir[len - n - 1] == '/' &&
		    strncmp(dir + len - n, name, n) == 0)
			return end + 1;
	}
	return NULL;
}

/* The next file, from *at on, of whose name the directory is a part: the path. */
static bool
next_rest(const char *dir, size_t *at, char ret[PATH_MAX])
{
	char name[PATH_MAX];
	const char *rest;
	size_t n;

	const struct client_file *f = client_files(&n);

	while (*at < n) {
		const struct client_file *one = &f[(*at)++];

		if (one->scope == SCOPE_MANAGED)
			continue;
		client_home_path(one, name);
		rest = rest_of(dir, name);
		if (rest != NULL && join(ret, dir, rest))
			return true;
	}
	return false;
}

/* The directory may itself be a part of such a name. */
static int
probe_rests(struct search *s, const char *dir)
{
	char path[PATH_MAX];
	size_t at = 0;
	int r = 0;

	while (r == 0 && next_rest(dir, &at, path))
		r = probe_path(s, path);
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

/* The files of the user and of the administrator, however deep below this directory.
 * Those of a home stay covered where a variable moves them: an agent that another shell
 * starts may not have the variable. */
static int
probe_places(struct search *s, const char *dir)
{
	char home[PATH_MAX], path[PATH_MAX];
	int r = 0;
	size_t n;

	const struct client_file *f = client_files(&n);

	home_find(home);
	if (home[0] != '\0' && path_below(dir, home))
		r = probe(s, home, SCOPE_USER);
	if (r == 0 && home[0] != '\0' && path_below(dir, home))
		r = probe(s, home, SCOPE_PROJECT);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (place_of(&f[i], home, path) && path_below(dir, path))
			r = probe_path(s, path);
	return r;
}

int
agent_files_find(const char *dir, agent_file_fn *fn, void *arg, char ret_failed[PATH_MAX])
{
	struct search s = {.fn = fn, .arg = arg, .failed = ret_failed};
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
	size_t len = strlen(path), n = strlen(name);
	const char *slash = strrchr(path, '/');

	if (name[n - 1] == '/' && slash != NULL)
		len = (size_t)(slash - path) + 1;
	return len > n && path[len - n - 1] == '/' &&
	       strncmp(path + len - n, name, n) == 0;
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
	size_t at = 0;

	if (r != 0) {
		memcpy(ret_path, failed, strlen(failed) + 1);
		return r;
	}
	if (first[0] != '\0') {
		memcpy(ret_path, first, strlen(first) + 1);
		return AGENT_FILE_EXISTS;
	}
	if (next_rest(dir, &at, ret_path) ||
	    (agent_files_project(dir) && join(ret_path, dir, ".mcp.json")))
		return AGENT_FILE_POSSIBLE;
	return AGENT_FILE_NONE;
}

void
agent_files_text(char out[AGENT_TEXT_MAX], const char *failed, int error)
{
	char shown[DIAG_TEXT_CAP];

	diag_text(shown, failed, strlen(failed));
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
