/*
 * The node of a command. A person who names the npx of one version, as that of nvm or fnm,
 * wants the node beside it: engines and native add-ons may not fit another one. The
 * programs of volta, asdf and mise are shims, which choose a version at each start and need
 * their manager's files for it: a policy names the version itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/base/paths.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/script.h"

#define SETTINGS_MAX (1u << 16)

/* Below the directory that has the one with the shims. */
static const struct manager {
	const char *shims, *versions;
	const char *file;   /* with the version that it takes by default */
	bool home;          /* the file is in the home, or else in the same directory */
	const char *before; /* the version in that file */
} managers[] = {
    {"bin", "tools/image/node", "tools/user/platform.json", false, "\"runtime\":\""},
    {"shims", "installs/nodejs", ".tool-versions", true, "nodejs "},
    {"shims", "installs/node", ".tool-versions", true, "node "},
};

/* PATH/NAME, cut at n bytes of PATH. -ENAMETOOLONG. */
static int
join(const char *path, size_t n, const char *name, char ret[PATH_MAX])
{
	int len = snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, path, name);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static size_t
dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (size_t)(slash - path);
}

/* Does this program choose among versions, by the name that it is started with? */
static bool
is_shim(const char *node)
{
	static const char *const shim[] = {"volta-shim", "volta", "mise", "rtx", "asdf"};
	char real[PATH_MAX];
	size_t n = dir_len(node);

	if (realpath(node, real) == NULL)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(shim); i++)
		if (strcmp(script_base(real), shim[i]) == 0)
			return true;
	return n >= 6 && strncmp(node + n - 6, "/shims", 6) == 0 && !script_is_elf(real);
}

/* ---- versions of a manager --------------------------------------------------------- */

/* The version in its file: it ends with a blank or a quote. "": none. */
static void
read_default(const struct manager *m, const char *dir, size_t n, char ret[NAME_MAX + 1])
{
	const char *home = getenv("HOME"), *at;
	char path[PATH_MAX], *text = NULL;
	size_t len;
	int fd, r;

	ret[0] = '\0';
	if (home == NULL || home[0] != '/')
		home = paths_home_of(geteuid());
	if (m->home && home == NULL)
		return;
	r = m->home ? join(home, strlen(home), m->file, path)
		    : join(dir, n, m->file, path);
	fd = r < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && fd_slurp(fd, SETTINGS_MAX, &text, &len) < 0)
		text = NULL;
	fd_close(&fd);
	at = text == NULL ? NULL : strstr(text, m->before);
	if (at != NULL) {
		at += strlen(m->before);
		at += strspn(at, " ");
		(void)snprintf(ret, NAME_MAX + 1, "%.*s", (int)strcspn(at, " \"\r\n"),
		    at); /* or cut */
	}
	free(text);
}

/* The node of one version: the canonical path. -ENOENT. */
static int
version_node(const char *versions, const char *version, char ret[PATH_MAX])
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s/bin/node", versions, version);

	if (version[0] == '\0' || version[0] == '.' || strchr(version, '/') != NULL ||
	    n < 0 || n >= PATH_MAX || access(path, X_OK) < 0 ||
	    realpath(path, ret) == NULL)
		return -ENOENT;
	return 0;
}

/* The only version below this directory. -ENOTUNIQ: there are more; -ENOENT. */
static int
only_version(const char *versions, char ret[PATH_MAX])
{
	char path[PATH_MAX];
	struct dirent *entry;
	int r = -ENOENT;
	DIR *d = opendir(versions);

	while (d != NULL && r != -ENOTUNIQ && (entry = readdir(d)) != NULL) {
		if (version_node(versions, entry->d_name, path) < 0)
			continue;
		/* mise has links for `latest` and for parts of a version */
		if (r == 0 && strcmp(path, ret) != 0) {
			r = -ENOTUNIQ;
			continue;
		}
		memcpy(ret, path, PATH_MAX);
		r = 0;
	}
	if (d != NULL)
		(void)closedir(d); /* only read */
	return r;
}

static int
of_shim(const char *shim, char ret[PATH_MAX])
{
	size_t n = dir_len(shim), top;
	char dir[PATH_MAX], versions[PATH_MAX], version[NAME_MAX + 1];
	int r = -ENOENT;

	(void)snprintf(dir, sizeof(dir), "%.*s", (int)n, shim); /* it was shorter */
	top = dir_len(dir);
	for (size_t i = 0; i < ARRAY_LEN(managers) && r == -ENOENT; i++) {
		const struct manager *m = &managers[i];

		if (strcmp(script_base(dir), m->shims) != 0 ||
		    join(dir, top, m->versions, versions) < 0)
			continue;
		r = only_version(versions, ret);
		if (r != -ENOTUNIQ)
			continue;
		read_default(m, dir, top, version);
		if (version_node(versions, version, ret) == 0)
			r = 0;
	}
	return r;
}

int
draft_shim(const char *node, char ret[PATH_MAX])
{
	return is_shim(node) ? of_shim(node, ret) : 1;
}

int
draft_node(const char *program, char ret[PATH_MAX])
{
	char node[PATH_MAX];
	int r;

	if (program[0] != '/')
		return 1;
	if (access(program, X_OK) < 0)
		return -errno;
	if (join(program, dir_len(program), "node", node) < 0 || access(node, X_OK) < 0)
		return 1;
	r = draft_shim(node, ret);
	if (r == 1)
		r = realpath(node, ret) == NULL ? -errno : 0;
	return r;
}

int
draft_interpreter(const struct draft *d, const char *word, char ret[PATH_MAX])
{
	if (d->node[0] == '\0' || strcmp(script_base(word), "node") != 0)
		return draft_program(word, ret);
	memcpy(ret, d->node, PATH_MAX);
	return 0;
}

const char *
draft_node_why(int r)
{
	if (r == -ENOTUNIQ)
		return "its node is chosen among several versions at each start: name "
		       "the npx or the node in the directory of one version";
	return r == -ENOENT ? "program not found" : strerror(-r);
}
