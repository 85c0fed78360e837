/*
 * "kennel policy compile": texts in, sealed files out.
 */
#include "policy/cli/verb.h"
#include "policy/compile/compile.h"
#include "policy/lang/ast.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"

static int
compile_to(const struct texts *t, const char *out)
{
	struct buf b;
	int r, status;

	buf_init(&b, SEALED_LEN_MAX);
	status = verb_status(policy_compile(t->source, t->n, NULL, &b, stderr));
	if (status == EXIT_OK && strcmp(out, "-") == 0) {
		r = fd_write_all(STDOUT_FILENO, b.data, b.len);
		if (r != 0)
			status = verb_unable("write", "standard output", r);
	} else if (status == EXIT_OK) {
		r = verb_write(out, b.data, b.len, 0600);
		if (r != 0)
			status = verb_unable("write", out, r);
	}
	buf_free(&b);
	return status;
}

/* Writes one server into its own file in the directory. */
static int
write_one(const char *server, const struct buf *b, void *arg)
{
	const char *folder = arg;
	char path[PATH_MAX];
	int n, r;

	n = snprintf(path, sizeof(path), "%s/%s.sealed", folder, server);
	r = n < 0 || (size_t)n >= sizeof(path) ? -ENAMETOOLONG
					       : verb_write(path, b->data, b->len, 0600);
	if (r != 0)
		return verb_unable("write", path, r);
	printf("%s\n", path);
	return 0;
}

static int
compile_files(const struct texts *t)
{
	char folder[PATH_MAX] = "";
	int r;

	r = own_folder("sealed", folder, sizeof(folder));
	if (r == 0)
		r = fd_make_dirs(folder); /* syscalls: mkdir mkdirat */
	if (r != 0)
		return verb_unable("create",
		    folder[0] != '\0' ? folder : "the directory for sealed files", r);
	r = compile_each(t->source, t->n, write_one, folder, stderr);
	return r > 0 ? r : verb_status(r);
}

/*
 * A start finds the texts of the user's sealed files again, to see whether they have
 * changed, so these files have their absolute names. The last part is not resolved: an
 * include is relative to the directory of the name.
 */
static int
absolute(const char *path, char **ret)
{
	const char *slash = strrchr(path, '/');
	char *dir = strndup(path, slash == NULL ? 0 : (size_t)(slash - path));
	char real[PATH_MAX];
	int r = 0;

	/* syscalls: getcwd readlink newfstatat */
	if (dir == NULL || realpath(dir[0] == '\0' ? "." : dir, real) == NULL)
		r = -errno;
	else if (asprintf(ret, "%s/%s", real, slash == NULL ? path : slash + 1) < 0)
		r = -ENOMEM;
	free(dir);
	return r;
}

/* The names are never freed: this process ends soon. */
static int
texts_absolute(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++) {
		char *path = NULL;

		if (t->source[i].path == NULL || t->source[i].path[0] == '/')
			continue;
		int r = absolute(t->source[i].path, &path);

		if (r < 0)
			return verb_unable("open", t->source[i].path, r);
		t->source[i].path = path;
	}
	return 0;
}

int
verb_compile(const struct args *a)
{
	static struct texts t;
	int status;

	status = texts_read(a->word, a->word_n, SOURCE_LEN_MAX, &t);
	if (status != 0)
		return status;
	if (a->out != NULL)
		status = compile_to(&t, a->out);
	else if ((status = texts_absolute(&t)) == 0)
		status = compile_files(&t);
	texts_free(&t);
	return status;
}
