/*
 * A command that runs outside every cell (`secret from cmd`, a plugin): the files that
 * decide what it does.  These are its arguments that name files and, for each of them
 * that is a program, what the kernel starts with it: the interpreter of a script, the
 * arguments in that line, the loader of an ELF file, and the same of these.
 *
 * The leash judges a command again when it runs it (leash/vault/open_checked.c).  This
 * file judges it when a policy is compiled or read, also against servers of other
 * policies.
 */
#include "policy/check/trusted.h"
#include "shim/base/array.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/base/fd.h"
#include "shim/host/path_open.h"
#include "shim/host/path_resolve.h"
#include "shim/host/program_paths.h"

#define FILES_MAX 16 /* of one argument; real ones have three */

/* The files of one argument, in the order in which they are found. */
struct command {
	size_t n;
	char file[FILES_MAX][PATH_MAX];
	const char *word; /* the argument that is read now */
};

/* At most FILES_MAX: a longer chain is the user's own, and each file of it is judged. */
static void
file_push(struct command *c, const char *path)
{
	char *to = c->file[c->n < FILES_MAX ? c->n : 0];

	if (c->n == FILES_MAX || strlen(path) >= PATH_MAX)
		return;
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->file[i], path) == 0)
			return;
	memcpy(to, path, strlen(path) + 1);
	c->n++;
}

/* Relative arguments are often other names than those of files in "/", so one counts
 * only if the file exists. */
static int
path_push(void *arg, const char *path)
{
	struct command *c = arg;
	struct stat st;

	/* early: newfstatat */
	if (strstr(c->word, path) != NULL || lstat(path, &st) == 0)
		file_push(c, path);
	return 0;
}

/* X of "env X": each place that the PATH of a command has before the one found. */
static void
env_push(struct command *c, const char *line)
{
	static const char *const dirs[] = {"/usr/local/bin/", "/usr/bin/", "/bin/"};
	char copy[FIRST_LINE_MAX], path[PATH_MAX], *rest = NULL, *name;
	struct stat st;

	(void)snprintf(copy, sizeof(copy), "%s", line); /* fits */
	name = strtok_r(copy, " \t", &rest);
	while (name != NULL && (name[0] == '-' || strchr(name, '=') != NULL))
		name = strtok_r(NULL, " \t", &rest);
	if (name == NULL || strchr(name, '/') != NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", dirs[i], name); /* fits */
		file_push(c, path);
		if (stat(path, &st) == 0) /* early: newfstatat */
			return;
	}
}

static bool
is_env(const char *path)
{
	size_t n = strlen(path);

	return n >= 4 && strcmp(path + n - 4, "/env") == 0;
}

/* What the kernel starts with a program; one that it cannot load needs nothing. */
static void
image_push(struct command *c, int fd)
{
	struct program_image image;

	if (program_image(fd, &image) < 0 || image.kind == PROGRAM_ALONE)
		return;
	c->word = image.path;
	(void)program_word(image.path, path_push, c); /* path_push returns 0 */
	c->word = image.arg;
	(void)program_line(image.arg, path_push, c); /* the same */
	if (is_env(image.path))
		env_push(c, image.arg);
}

/* Only regular files: to open a device may do something. */
static int
regular_open(const char *path)
{
	static struct path_resolved p; /* large */
	struct stat st;
	int fd = -EACCES;

	if (path_resolve(path, 0, NULL, NULL, &p) != 0)
		return -ENOENT;
	if (fstat(p.fd, &st) == 0 && S_ISREG(st.st_mode))
		fd = path_reopen(p.fd);
	fd_close(&p.fd);
	return fd;
}

int
trusted_add_word(struct trusted *t, const struct trusted_file *from, const char *word)
{
	struct command *c = calloc(1, sizeof(*c));
	struct trusted_file f = *from;
	int fd, r = c == NULL ? -ENOMEM : 0;
	size_t own = 0;

	if (r == 0) {
		c->word = word;
		(void)program_word(word, path_push, c); /* path_push returns 0 */
		own = c->n;
	}
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		if (i >= own)
			f.use = USE_SECRET_INTERPRETER;
		r = trusted_add_file(t, &f, c->file[i], false);
		fd = regular_open(c->file[i]);
		if (fd < 0)
			continue;
		image_push(c, fd);
		fd_close(&fd);
	}
	free(c);
	return r;
}
