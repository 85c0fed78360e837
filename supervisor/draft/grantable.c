/*
 * Which paths of a command a draft may grant.
 *
 * A configuration names paths for its server, and a person has not read the draft yet. So
 * a path becomes a grant only if it is one file, or a directory that holds nothing else
 * than what the command is for.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/base/paths.h"
#include "supervisor/draft/draft.h"

typedef const char *place_fn(void);

bool
draft_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1 && dir[0] == '/')
		return path[0] == '/';
	return n > 0 && strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Kennel's own files are in it, or it is in a directory of them. What is below work/, store/
 * and servers/ of the data directory is for servers. */
static bool
is_of_kennel(const char *path, bool holds)
{
	static const struct {
		place_fn *place;
		const char *below; /* that has only files of kennel */
	} row[] = {
	    {paths_config_dir, "policies"},
	    {paths_config_dir, "sealed"},
	    {paths_data_dir, "import"},
	    {paths_vault_dir, ""},
	    {paths_audit_dir, ""},
	    {paths_log_dir, ""},
	    {paths_run_dir, ""},
	    {paths_registry_dir, ""},
	    {paths_catalogs_dir, ""},
	};
	char dir[PATH_MAX], real[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const char *place = row[i].place();

		if (place == NULL || realpath(place, real) == NULL)
			continue;
		if (holds && draft_below(real, path))
			return true;
		(void)snprintf(
		    dir, sizeof(dir), "%.4000s/%s", place, row[i].below); /* fits */
		if (realpath(dir, real) != NULL && draft_below(path, real))
			return true;
	}
	return false;
}

/* Directories that kennel has made for servers, and packages. */
static bool
is_of_servers(const char *path)
{
	char real[PATH_MAX];

	return paths_data_dir() != NULL && realpath(paths_data_dir(), real) != NULL &&
	       draft_below(path, real) && strcmp(path, real) != 0;
}

const char *
draft_dir_refused(const char *path)
{
	const char *home = getenv("HOME");
	char own[PATH_MAX];

	if (strcmp(path, "/") == 0)
		return "it is the root directory";
	if (is_of_kennel(path, true))
		return "it has files of kennel";
	if (home == NULL || realpath(home, own) == NULL || strcmp(own, "/") == 0)
		return NULL;
	if (draft_below(own, path))
		return strcmp(own, path) == 0 ? "it is the home directory"
					      : "it has the home directory";
	if (draft_below(path, own) && path[strlen(own) + 1] == '.' &&
	    !is_of_servers(path))
		return "it is in a hidden directory of the home directory";
	return NULL;
}

const char *
draft_path_refused(const struct draft *d, const struct draft_path *p)
{
	if (p->is == PATH_IS_FILE)
		return is_of_kennel(p->path, false) ? "it is a file of kennel" : NULL;
	if (p->is == PATH_IS_DIR && d->below[0] != '\0' &&
	    !draft_below(p->path, d->below))
		return "it is outside the project of its configuration";
	return p->is == PATH_IS_DIR ? draft_dir_refused(p->path) : NULL;
}

const char *
draft_cwd_refused(const struct draft *d)
{
	struct draft_path p = {.is = PATH_IS_DIR};

	memcpy(p.path, d->cwd, sizeof(p.path));
	return draft_path_refused(d, &p);
}

int
draft_cwd_line(const struct draft *d, const char *indent, FILE *out)
{
	const char *refused = d->cwd[0] == '\0' ? NULL : draft_cwd_refused(d);
	int r;

	if (d->cwd[0] == '\0')
		return 0;
	fputs(indent, out);
	if (refused != NULL)
		fprintf(out, "# not granted, because %s:  ", refused);
	fputs("cwd", out);
	r = draft_word(out, d->cwd);
	fprintf(out, "\n");
	return r;
}

int
draft_cwd_put(const struct draft *d, const char *indent, FILE *out)
{
	int r;

	if (d->cwd[0] == '\0' || draft_cwd_refused(d) != NULL ||
	    (d->project[0] != '\0' && draft_below(d->cwd, d->project)) ||
	    (d->work[0] != '\0' && draft_below(d->cwd, d->work)) ||
	    (d->modules[0] != '\0' && draft_below(d->cwd, d->modules)))
		return 0;
	fprintf(out, "%sread", indent);
	r = draft_word(out, d->cwd);
	fprintf(out, "\n");
	return r;
}
