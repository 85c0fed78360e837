/*
 * The policy files of this user, and the servers that they define.
 *
 * Process: kennel, as the calling user. Starts nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/base/source.h"
#include "policy/compile/compile.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/help/near_word.h"
#include "shim/host/path_open.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/find/policy_files.h"

#define FILES_MAX    1024 /* of one directory, as at a start */
#define TEXT_LEN_MAX (16u << 20)
#define NAMES_MAX    256 /* that are compared with a misspelt one */

static int
name_order(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static bool
has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return name[0] != '.' && n > m && strcmp(name + n - m, suffix) == 0;
}

const char *
policy_file_refused(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return "unreadable";
	if ((st.st_mode & S_IWOTH) != 0)
		return "world-writable: run `chmod o-w` on it";
	/* In a user namespace root's files may have another owner. */
	if (st.st_uid != 0 && st.st_uid != getuid() && strncmp(path, "/etc/", 5) != 0)
		return "another user's: run `chown` on it, or remove it";
	return NULL;
}

int
policies_each(const char *dir, const char *suffix, policy_file_fn *fn, void *arg)
{
	char path[PATH_MAX], *name[FILES_MAX];
	struct dirent *entry;
	size_t n = 0;
	int fd = -1, r = path_open(dir, &fd);
	DIR *d;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (policy_file_refused(fd, dir) != NULL) {
		fd_close(&fd);
		return -EPERM;
	}
	d = fdopendir(fd);
	if (d == NULL) {
		r = -errno;
		fd_close(&fd);
		return r;
	}
	while ((entry = readdir(d)) != NULL) {
		if (!has_suffix(entry->d_name, suffix))
			continue;
		if (n == FILES_MAX || (name[n] = strdup(entry->d_name)) == NULL) {
			r = -E2BIG;
			break;
		}
		n++;
	}
	qsort(name, n, sizeof(name[0]), name_order);
	for (size_t i = 0; i < n; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir, name[i]) <
		    (int)sizeof(path)) {
			int file = -1, opened = path_open_in(dirfd(d), path, &file);

			fn(arg, path, opened < 0 ? opened : file);
			fd_close(&file);
		}
		free(name[i]);
	}
	(void)closedir(d); /* read-only */
	return r;
}

/* ---- names of servers ------------------------------------------------------ */

struct name_to {
	policy_name_fn *fn;
	void *arg;
	const char *path; /* the file */
	const char *only; /* this server alone; NULL: every one */
	bool found;
};

static void
put_name(void *arg, const struct policy_name *n)
{
	struct policy_name with_path = *n;
	struct name_to *to = arg;

	if (to->only != NULL && strcmp(to->only, n->name) != 0)
		return;
	to->found = true;
	with_path.path = to->path;
	to->fn(to->arg, &with_path);
}

/* NAME.sealed is found by its name, also if it cannot be read. */
static void
name_sealed_file(void *arg, const char *path, int fd)
{
	const char *base = strrchr(path, '/') + 1;
	struct name_to *to = arg;
	char name[SERVER_NAME_LEN_MAX];

	(void)snprintf(name, sizeof(name), "%.*s",
	    (int)(strlen(base) - strlen(".sealed")), base); /* may be cut */
	to->only = name;
	to->path = path;
	to->found = false;
	if (fd >= 0)
		(void)policy_peek(fd, put_name, to); /* a start says what is wrong */
	if (!to->found)
		put_name(to, &(struct policy_name){.name = name, .about = ""});
	to->only = to->path = NULL;
}

static int
names_of_text(int fd, const char *path, struct name_to *to)
{
	struct policy_source source = {.path = path, .reader = &policy_files};
	char *text = NULL;
	int r = fd_slurp(fd, TEXT_LEN_MAX, &text, &source.len);

	if (r < 0)
		return r;
	source.text = text;
	r = policy_names(&source, put_name, to);
	free(text);
	return r;
}

static int
names_of_file(int fd, const char *path, struct name_to *to)
{
	char magic[8] = "";
	int r;

	to->path = path;
	if (pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	    memcmp(magic, SEALED_MAGIC, sizeof(magic)) == 0)
		r = policy_peek(fd, put_name, to);
	else
		r = names_of_text(fd, path, to);
	to->path = NULL;
	return r;
}

int
server_names_of(const char *path, policy_name_fn *fn, void *arg)
{
	struct name_to to = {.fn = fn, .arg = arg};
	int fd = -1, r = path_open(path, &fd);

	if (r == 0)
		r = names_of_file(fd, path, &to);
	fd_close(&fd);
	return r;
}

/* A file that cannot be read defines nothing here: a start of its server says why. */
static void
name_text_file(void *arg, const char *path, int fd)
{
	if (fd >= 0)
		(void)names_of_file(fd, path, arg);
}

int
server_names(policy_name_fn *fn, void *arg)
{
	const char *config = paths_config_dir();
	const struct {
		const char *base, *below, *suffix;
		policy_file_fn *fn;
	} place[] = {
	    {"/etc/kennel", "sealed", ".sealed", name_sealed_file},
	    {config, "sealed", ".sealed", name_sealed_file},
	    {config, "policies", ".kennel", name_text_file},
	};
	struct name_to to = {.fn = fn, .arg = arg};
	char dir[PATH_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(place); i++) {
		if (place[i].base == NULL)
			continue;
		(void)snprintf(
		    dir, sizeof(dir), "%.4000s/%s", place[i].base, place[i].below);
		r = policies_each(dir, place[i].suffix, place[i].fn, &to);
	}
	return r;
}

struct names {
	char *name[NAMES_MAX];
	size_t n;
};

static void
keep_name(void *arg, const struct policy_name *n)
{
	struct names *to = arg;

	if (to->n < NAMES_MAX && (to->name[to->n] = strdup(n->name)) != NULL)
		to->n++;
}

bool
server_name_near(const char *name, char *ret, size_t ret_cap)
{
	struct names all = {.n = 0};
	const char *near = NULL;

	if (server_names(keep_name, &all) == 0)
		near = near_word(name, (const char *const *)all.name, all.n);
	if (near != NULL)
		(void)snprintf(ret, ret_cap, "%s", near); /* fits */
	for (size_t i = 0; i < all.n; i++)
		free(all.name[i]);
	return near != NULL;
}
