/*
 * The text of a policy, and of what it includes, at a revision of its git repository: for
 * `policy diff --git`.  git itself reads the repository, as the calling user.
 */
#include "policy/cli/git_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"

extern char **environ;

static int
git_start(const char *folder, const char *object, int out, pid_t *ret)
{
	const char *words[] = {"git", "-C", folder, "cat-file", "blob", object, NULL};
	posix_spawn_file_actions_t act;
	int r = posix_spawn_file_actions_init(&act);

	if (r != 0)
		return -r;
	/* early: clone vfork execve dup2 openat */
	r = posix_spawn_file_actions_adddup2(&act, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawnp(ret, words[0], &act, NULL,
		    (char *const *)(uintptr_t)words, /* spawn does not modify it */
		    environ);
	(void)posix_spawn_file_actions_destroy(&act); /* frees */
	return -r;
}

/* 0; -EIO: git has reported the reason; or -errno. */
static int
git_read(const char *folder, const char *object, size_t max, char **ret, size_t *ret_len)
{
	int out[2], status = 0, r;
	char *text = NULL;
	pid_t pid = 0;

	/* early: pipe2 wait4 read close */
	if (pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	r = git_start(folder, object, out[1], &pid);
	fd_close(&out[1]);
	if (r == 0)
		r = fd_slurp(out[0], max, &text, ret_len);
	fd_close(&out[0]); /* git ends, also if it has more to write */
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r == 0 && status != 0)
		r = -EIO;
	if (r == 0)
		*ret = text;
	else
		free(text);
	return r;
}

int
git_text_read(void *arg, const char *path, size_t max, char **ret, size_t *ret_len)
{
	const struct git_text *g = arg;
	char folder[PATH_MAX], object[2 * PATH_MAX];
	const char *slash = strrchr(g->file, '/');
	size_t n = slash == NULL ? 0 : (size_t)(slash - g->file) + 1;

	/* what is outside of the file's directory may be outside of the repository */
	if (strncmp(path, g->file, n) != 0 || (n == 0 && path[0] == '/'))
		return -EXDEV;
	if (snprintf(folder, sizeof(folder), "%.*s", n > 0 ? (int)n : 1,
		n > 0 ? g->file : ".") >= (int)sizeof(folder) ||
	    snprintf(object, sizeof(object), "%s:./%s", g->revision, path + n) >=
		(int)sizeof(object))
		return -ENAMETOOLONG;
	return git_read(folder, object, max, ret, ret_len);
}
