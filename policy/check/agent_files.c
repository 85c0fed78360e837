/*
 * Where agents keep the programs that they start.  The names come from the
 * clients' documentation and from files that their command lines write.
 */
#include "policy/check/agent_files.h"
#include "shim/base/array.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 2 /* levels below the directory */

/*
 * A start waits for this search: 8192 directories take about 1 s on a slow
 * machine.  A server can make more, so reaching a limit is an error.
 */
#define DIRS_MAX    8192
#define ENTRIES_MAX (1u << 20) /* read in total, files included */

/* In a project. */
static const char *const project[] = {".mcp.json", ".claude/settings.json",
    ".claude/settings.local.json", ".codex/config.toml", ".cursor/mcp.json",
    ".gemini/settings.json", ".github/mcp.json", ".kiro/settings/mcp.json",
    ".vscode/mcp.json", "opencode.json", "opencode.jsonc"};

/* In a home directory: searched there only, not below it. */
static const char *const home[] = {".claude.json",
    ".cline/data/settings/cline_mcp_settings.json", ".codeium/windsurf/mcp_config.json",
    ".config/Claude/claude_desktop_config.json",
    (".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/"
     "cline_mcp_settings.json"),
    ".config/Code/User/mcp.json", ".config/goose/config.yaml", ".config/kilo/kilo.json",
    ".config/opencode/opencode.json", ".config/opencode/opencode.jsonc",
    ".config/zed/settings.json", ".copilot/mcp-config.json",
    ".gemini/config/mcp_config.json", ".junie/mcp/mcp.json"};

/* A directory with one of these is a project. */
static const char *const marks[] = {".claude", ".codex", ".cursor", ".gemini", ".git",
    ".github", ".hg", ".jj", ".kiro", ".svn", ".vscode"};

#define N(list) (ARRAY_LEN(list))

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
	int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);

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

static int
probe(struct search *s, const char *dir, const char *const *names, size_t n)
{
	char path[PATH_MAX];
	struct stat st;
	int r = 0;

	/* syscalls: newfstatat */
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!join(path, dir, names[i]))
			return failed_at(s, dir, ENAMETOOLONG);
		if (lstat(path, &st) == 0)
			r = S_ISREG(st.st_mode) ? s->fn(s->arg, path) : 0;
		else if (!is_absence(errno))
			r = failed_at(s, path, errno);
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
search_below(struct search *s, const char *dir, int levels)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int r = 0;
	DIR *d;

	/* syscalls: openat fstat newfstatat getdents64 close */
	d = opendir(dir);
	if (d == NULL)
		return is_absence(errno) ? 0 : failed_at(s, dir, errno);
	while (r == 0 && (errno = 0, entry = readdir(d)) != NULL)
		if (s->entries_n++ >= ENTRIES_MAX)
			r = failed_at(s, dir, E2BIG);
		else if (!join(path, dir, entry->d_name))
			r = failed_at(s, dir, ENAMETOOLONG);
		else if (is_searched(entry, path))
			r = search(s, path, levels - 1);
	if (r == 0 && errno != 0)
		r = failed_at(s, dir, errno);
	(void)closedir(d); /* only read */
	return r;
}

/* This directory and `levels` levels below it. */
static int /* NOLINTNEXTLINE(misc-no-recursion): two levels deep */
search(struct search *s, const char *dir, int levels)
{
	int r;

	if (s->dirs_n++ >= DIRS_MAX)
		return failed_at(s, dir, E2BIG);
	r = probe(s, dir, project, N(project));
	return r == 0 && levels > 0 ? search_below(s, dir, levels) : r;
}

/*
 * The rest of a name whose beginning is the end of this directory's path, from
 * that point on: "mcp.json" for W/.vscode.  NULL: none.
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

/* The directory may itself be a part of such a name. */
static int
probe_rests(struct search *s, const char *dir, const char *const *names, size_t n)
{
	const char *rest;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if ((rest = rest_of(dir, names[i])) != NULL)
			r = probe(s, dir, &rest, 1);
	return r;
}

int
agent_files_find(const char *dir, agent_file_fn *fn, void *arg, char ret_failed[PATH_MAX])
{
	struct search s = {.fn = fn, .arg = arg, .failed = ret_failed};
	int r = probe(&s, dir, home, N(home));

	if (r == 0)
		r = probe_rests(&s, dir, home, N(home));
	if (r == 0)
		r = probe_rests(&s, dir, project, N(project));
	if (r == 0)
		r = search(&s, dir, DEPTH_MAX);
	if (r == -E2BIG) /* the whole, not the place where the search stopped */
		memcpy(ret_failed, dir, strlen(dir) + 1);
	return r;
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

	for (size_t i = 0; i < N(marks); i++)
		if (join(path, dir, marks[i]) && lstat(path, &st) == 0)
			return true;
	return false;
}

static bool
is_named(const char *path, const char *const *names, size_t names_n)
{
	size_t len = strlen(path), n;

	for (size_t i = 0; i < names_n; i++) {
		n = strlen(names[i]);
		if (len > n && path[len - n - 1] == '/' &&
		    strcmp(path + len - n, names[i]) == 0)
			return true;
	}
	return false;
}

bool
agent_files_is(const char *path)
{
	return is_named(path, project, N(project)) || is_named(path, home, N(home));
}

static const char *
first_rest(const char *dir)
{
	const char *rest = NULL;

	for (size_t i = 0; rest == NULL && i < N(project); i++)
		rest = rest_of(dir, project[i]);
	for (size_t i = 0; rest == NULL && i < N(home); i++)
		rest = rest_of(dir, home[i]);
	return rest;
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
	const char *rest = first_rest(dir);
	int r = agent_files_find(dir, keep_first, first, failed);

	if (r != 0) {
		memcpy(ret_path, failed, strlen(failed) + 1);
		return r;
	}
	if (first[0] != '\0') {
		memcpy(ret_path, first, strlen(first) + 1);
		return AGENT_FILE_EXISTS;
	}
	if (rest == NULL && agent_files_project(dir))
		rest = project[0];
	if (rest != NULL && join(ret_path, dir, rest))
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
