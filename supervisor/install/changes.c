#include "supervisor/install/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/draft/npm_lock.h"
#include "supervisor/install/file_tree.h"

#define FILES_SHOWN_MAX 40
#define MODULES_LEN     (sizeof("node_modules/") - 1)

/* ---- packages -------------------------------------------------------------------- */

/* A package that is new or changed; was: NULL, or how it was. */
static void
show_package(const struct lock_package *was, const struct lock_package *is)
{
	const char *path = is->path + MODULES_LEN;

	if (was == NULL)
		printf("  + %s %s%s\n", path, is->version,
		    is->scripts ? ", with install scripts" : "");
	else if (strcmp(was->version, is->version) == 0 &&
		 (strcmp(was->integrity, is->integrity) != 0 ||
		     strcmp(was->resolved, is->resolved) != 0))
		printf("  ~ %s %s, with another digest or address%s\n", path, is->version,
		    is->scripts ? ", with install scripts" : "");
	else if (strcmp(was->version, is->version) != 0 || was->scripts != is->scripts)
		printf("  ~ %s %s -> %s%s\n", path, was->version, is->version,
		    !is->scripts   ? ""
		    : was->scripts ? ", with install scripts"
				   : ", with install scripts that it did not have");
}

static void
show_packages(const struct lock *was, const struct lock *is)
{
	printf("Packages (+ new, - gone, ~ changed):\n");
	for (size_t i = 0; i < is->n; i++)
		show_package(lock_find(was, is->package[i].path), &is->package[i]);
	for (size_t i = 0; i < was->n; i++)
		if (lock_find(is, was->package[i].path) == NULL)
			printf("  - %s %s\n", was->package[i].path + MODULES_LEN,
			    was->package[i].version);
}

/* ---- files --------------------------------------------------------------------------- */

/* The lines of a listing, sorted by path. */
struct lines {
	char **line; /* each after its path: "PATH\tREST" */
	size_t n;
};

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The path in a line of a listing: the last field, but for links. */
static char *
path_first(const char *line)
{
	const char *path = line + 2;
	char *out = NULL;

	if (line[0] == 'd')
		return NULL;
	if (line[0] == 'f')
		path += 2 + (size_t)2 * FILE_TREE_DIGEST_LEN + 1;
	if (line[0] == 'l')
		return strdup(path);
	if (asprintf(&out, "%s\t%.*s", path, (int)(path - line), line) < 0)
		return NULL;
	return out;
}

static void
lines_free(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->line[i]);
	free(l->line);
}

static int
lines_take(const struct file_tree *tree, struct lines *ret)
{
	char **line = calloc(tree->entry_n + 1, sizeof(*line));
	const char *at = (const char *)tree->listing.data, *end = at + tree->listing.len;

	if (line == NULL)
		return -ENOMEM;
	ret->line = line;
	while (at != end && ret->n < tree->entry_n) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		char *one = next == NULL ? NULL : strndup(at, (size_t)(next - at));

		if (one == NULL)
			return -ENOMEM;
		line[ret->n] = path_first(one);
		ret->n += line[ret->n] != NULL;
		free(one);
		at = next + 1;
	}
	if (ret->n > 0)
		qsort(line, ret->n, sizeof(*line), by_text);
	return 0;
}

static int
lines_of(const char *dir, struct lines *ret)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	struct file_tree tree;

	*ret = (struct lines){NULL, 0};
	if (fd < 0)
		return -errno;
	r = file_tree_read(fd, &tree);
	fd_close(&fd);
	if (r == 0)
		r = lines_take(&tree, ret);
	file_tree_free(&tree);
	return r;
}

struct counted {
	size_t added, removed, changed, shown;
	const char *own; /* node_modules/PACKAGE/ */
};

static void
count(struct counted *c, char mark, size_t *counter, const char *line)
{
	size_t n = strcspn(line, "\t");
	char shown[1024];

	*counter += 1;
	if (strncmp(line, c->own, strlen(c->own)) != 0 ||
	    strstr(line + strlen(c->own), "node_modules/") != NULL ||
	    c->shown++ >= FILES_SHOWN_MAX)
		return;
	printf("  %c %s\n", mark,
	    log_quote(shown, sizeof(shown), line + strlen(c->own), n - strlen(c->own)));
}

/* <0, 0, >0: by their paths. */
static int
by_path(const char *a, const char *b)
{
	size_t n = strcspn(a, "\t"), m = strcspn(b, "\t");
	int r = memcmp(a, b, n < m ? n : m);

	return r != 0 ? r : n < m ? -1 : n > m;
}

static void
show_files(const struct lines *was, const struct lines *is, const char *package)
{
	char own[512];
	struct counted c = {.own = own};
	size_t i = 0, k = 0;

	(void)snprintf(own, sizeof(own), "node_modules/%.255s/", package); /* fits */
	printf("Files of %s:\n", package);
	while (i < was->n || k < is->n) {
		int r = i == was->n  ? 1
			: k == is->n ? -1
				     : by_path(was->line[i], is->line[k]);

		if (r < 0)
			count(&c, '-', &c.removed, was->line[i]);
		else if (r > 0)
			count(&c, '+', &c.added, is->line[k]);
		else if (strcmp(was->line[i], is->line[k]) != 0)
			count(&c, '~', &c.changed, is->line[k]);
		i += r <= 0;
		k += r >= 0;
	}
	if (c.shown > FILES_SHOWN_MAX)
		printf("  and %zu more\n", c.shown - FILES_SHOWN_MAX);
	printf("Files of all packages: %zu new, %zu gone, %zu changed\n", c.added,
	    c.removed, c.changed);
}

int
changes_show(const char *old_dir, const char *new_dir, const char *package)
{
	struct lock was_lock, is_lock;
	struct lines was, is = {NULL, 0};
	int r = lock_read(old_dir, &was_lock), s = lock_read(new_dir, &is_lock);

	if (r == 0 && s == 0)
		show_packages(&was_lock, &is_lock);
	else
		printf("Packages: not known, a lockfile is not readable\n");
	lock_free(&was_lock);
	lock_free(&is_lock);
	r = lines_of(old_dir, &was);
	if (r == 0)
		r = lines_of(new_dir, &is);
	if (r == 0)
		show_files(&was, &is, package);
	lines_free(&was);
	lines_free(&is);
	return r;
}
