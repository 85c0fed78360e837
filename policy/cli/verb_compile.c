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
#include "shim/host/path_resolve.h"

/* The directory of this user's sealed files; creates it and its parents. */
static int
sealed_folder(char *out, size_t cap)
{
	const char *home = getenv("KENNEL_HOME"), *rest = "/sealed";
	struct path_resolved p;
	int n, r;

	if (home == NULL || home[0] != '/') {
		home = getenv("XDG_CONFIG_HOME");
		rest = "/kennel/sealed";
	}
	if (home == NULL || home[0] != '/') {
		home = getenv("HOME");
		rest = "/.config/kennel/sealed";
	}
	if (home == NULL || home[0] != '/')
		return -ENOENT;
	n = snprintf(out, cap, "%s%s", home, rest);
	if (n < 0 || (size_t)n >= cap)
		return -ENAMETOOLONG;
	r = path_resolve(out, PATH_MISSING_OK, NULL, NULL, &p);
	fd_close(&p.fd);
	if (r < 0)
		return r;
	(void)snprintf(out, cap, "%s", p.real); /* paths have a maximal length */
	return fd_make_dirs(out);               /* syscalls: mkdir mkdirat */
}

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

	r = sealed_folder(folder, sizeof(folder));
	if (r != 0)
		return verb_unable("create",
		    folder[0] != '\0' ? folder : "the directory for sealed files", r);
	r = compile_each(t->source, t->n, write_one, folder, stderr);
	return r > 0 ? r : verb_status(r);
}

int
verb_compile(const struct args *a)
{
	static struct texts t;
	int status;

	status = texts_read(a->word, a->word_n, SOURCE_LEN_MAX, &t);
	if (status != 0)
		return status;
	status = a->out != NULL ? compile_to(&t, a->out) : compile_files(&t);
	texts_free(&t);
	return status;
}
