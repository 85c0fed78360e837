/*
 * Servers that two texts of the user define: a start by name would have to choose between
 * them, and refuses (supervisor/launch/find/policy_find.c).
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

struct mine {              /* a server of the given files */
	char *name, *path; /* owned */
	uint32_t line;
};

struct pair {
	struct mine *mine;
	size_t mine_n;
	const char *other; /* the file that is compared */
	char sealed[PATH_MAX];
	size_t warnings;
};

/* Callback of policy_names. */
static void
keep(void *arg, const struct policy_name *n)
{
	struct pair *p = arg;
	struct mine *more = reallocarray(p->mine, p->mine_n + 1, sizeof(*more));
	struct mine m = {strdup(n->name), strdup(n->path), n->line};

	if (more != NULL)
		p->mine = more;
	if (more != NULL && m.name != NULL && m.path != NULL) {
		more[p->mine_n++] = m;
		return;
	}
	free(m.name); /* a warning less */
	free(m.path);
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
look(void *arg, const struct policy_name *n)
{
	struct pair *p = arg;
	char shown[2][DIAG_TEXT_CAP];
	size_t i = 0;

	while (i < p->mine_n && strcmp(p->mine[i].name, n->name) != 0)
		i++;
	if (i == p->mine_n || has_sealed(p, n->name))
		return;
	p->warnings++;
	fprintf(stderr,
	    "%s:%u: warning: %s:%u defines server `%s` too, and `kennel run %s` starts "
	    "neither: remove one of them\n",
	    diag_text(shown[0], p->mine[i].path, strlen(p->mine[i].path)),
	    p->mine[i].line, diag_text(shown[1], p->other, strlen(p->other)), n->line,
	    n->name, n->name);
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

static bool
is_in(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	char *real = path == NULL ? NULL : realpath(path, NULL);
	bool is = real != NULL && strncmp(real, folder, len) == 0 && real[len] == '/' &&
		  strchr(real + len + 1, '/') == NULL;

	free(real);
	return is;
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
	struct pair p = {.mine = NULL};
	struct dirent *e;
	int files = 0;
	DIR *dir;

	if (own_folder("policies", folder, sizeof(folder)) < 0 ||
	    own_folder("sealed", p.sealed, sizeof(p.sealed)) < 0)
		return 0;
	for (size_t i = 0; i < t->n; i++)
		if (is_in(t->source[i].path, folder))
			(void)policy_names(&t->source[i], keep, &p); /* a warning less */
	dir = p.mine_n > 0 ? opendir(folder) : NULL;
	while (dir != NULL && (e = readdir(dir)) != NULL && files++ < FILES_MAX) {
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
	if (dir != NULL)
		(void)closedir(dir); /* read-only */
	for (size_t i = 0; i < p.mine_n; i++) {
		free(p.mine[i].name);
		free(p.mine[i].path);
	}
	free(p.mine);
	return p.warnings;
}
