/*
 * Servers that two texts of the user define: a start by name would have to choose between
 * them, and refuses (supervisor/launch/policy_find.c).
 *
 * Runs as the calling user. Parses the other texts, and compiles none.
 */
#include "policy/cli/verb.h"
#include "policy/compile/compile.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/base/diag.h"
#include "policy/lang/ast.h"
#include "shim/base/fd.h"
#include "shim/host/path_open.h"

#define FILES_MAX 1024 /* as at a start */

struct pair {
	const struct texts *mine;
	const char *file;  /* of mine, in the directory */
	const char *other; /* the file that is compared */
	char sealed[PATH_MAX];
	bool also; /* a server of mine has the name */
	const char *name;
	size_t warnings;
};

/* Callback of policy_names. */
static void
compare(void *arg, const char *name, const char *about)
{
	struct pair *p = arg;

	(void)about;
	p->also |= strcmp(name, p->name) == 0;
}

static bool
has_sealed(const struct pair *p, const char *name)
{
	const char *folder[2] = {"/etc/kennel/sealed", p->sealed};
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++)
		if (snprintf(path, sizeof(path), "%s/%s.sealed", folder[i], name) <
			(int)sizeof(path) &&
		    access(path, F_OK) == 0)
			return true;
	return false;
}

/* Callback of policy_names: a server of the other text. */
static void
look(void *arg, const char *name, const char *about)
{
	struct pair *p = arg;
	char shown[2][DIAG_TEXT_CAP];

	(void)about;
	p->also = false;
	p->name = name;
	for (size_t i = 0; i < p->mine->n; i++)
		(void)policy_names(&p->mine->source[i], compare, p); /* a warning less */
	if (!p->also || has_sealed(p, name))
		return;
	p->warnings++;
	fprintf(stderr,
	    "%s: warning: %s defines server `%s` too, and `kennel run %s` starts "
	    "neither: remove one of them\n",
	    diag_text(shown[0], p->file, strlen(p->file)),
	    diag_text(shown[1], p->other, strlen(p->other)), name, name);
}

static void
look_in(struct pair *p, const char *path)
{
	struct policy_source source = {.path = path, .reader = &policy_files};
	char *text = NULL;
	int fd = -1;

	if (path_open(path, &fd) < 0)
		return; /* a start does not read it either */
	if (fd_slurp(fd, SOURCE_LEN_MAX, &text, &source.len) == 0) {
		source.text = text;
		p->other = path;
		(void)policy_names(&source, look, p); /* a warning less */
	}
	fd_close(&fd);
	free(text);
}

/* The given file that is in this directory; NULL: none. */
static const char *
file_in(const struct args *a, const char *folder)
{
	size_t len = strlen(folder);

	for (size_t i = 0; i < a->word_n; i++) {
		char *real = realpath(a->word[i], NULL);
		bool is_in = real != NULL && strncmp(real, folder, len) == 0 &&
			     real[len] == '/' && strchr(real + len + 1, '/') == NULL;

		free(real);
		if (is_in)
			return a->word[i];
	}
	return NULL;
}

static bool
is_given(const struct args *a, const char *path)
{
	bool same = false;

	for (size_t i = 0; !same && i < a->word_n; i++) {
		char *real = realpath(a->word[i], NULL);

		same = real != NULL && strcmp(real, path) == 0;
		free(real);
	}
	return same;
}

size_t
same_server_warn(const struct args *a, const struct texts *t)
{
	char folder[PATH_MAX], path[PATH_MAX];
	struct pair p = {.mine = t};
	struct dirent *e;
	int files = 0;
	DIR *dir;

	if (own_folder("policies", folder, sizeof(folder)) < 0 ||
	    own_folder("sealed", p.sealed, sizeof(p.sealed)) < 0 ||
	    (p.file = file_in(a, folder)) == NULL || (dir = opendir(folder)) == NULL)
		return 0;
	while ((e = readdir(dir)) != NULL && files++ < FILES_MAX) {
		size_t n = strlen(e->d_name);

		if (e->d_name[0] == '.' || n <= 7 ||
		    strcmp(e->d_name + n - 7, ".kennel") != 0)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >=
			(int)sizeof(path) ||
		    is_given(a, path))
			continue;
		look_in(&p, path);
	}
	(void)closedir(dir); /* read-only */
	return p.warnings;
}
