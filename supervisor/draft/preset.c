/*
 * A preset defines its interpreter, package and directory with `let`, each on a line
 * of its own. Those lines and the server's name are replaced; all else is copied.
 */
#include "shim/base/array.h"
#include "supervisor/draft/preset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fd.h"
#include "supervisor/base/paths.h"

#define PRESET_MAX 65536

/* The text of a line after this prefix, or NULL. */
static const char *
behind(const char *line, const char *start)
{
	size_t n = strlen(start);

	return strncmp(line, start, n) == 0 ? line + n : NULL;
}

static int
is_for(const char *text, const char *package)
{
	const char *line = text, *value, *at;
	size_t n = strlen(package);

	for (; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		value = behind(line, "let package = ");
		if (value == NULL)
			continue;
		at = strstr(value, "/node_modules/");
		if (at == NULL)
			return 0;
		at += strlen("/node_modules/");
		return strncmp(at, package, n) == 0 && at[n] == '\n';
	}
	return 0;
}

static void
put_line(const struct preset_fill *f, const char *line, size_t n, FILE *out)
{
	const struct {
		const char *start, *value, *end;
	} mine[] = {
	    {"let node = ", f->program, ""},
	    {"let package = ", f->root, ""},
	    {"let work = ", f->dir, ""},
	    {"server ", f->server, " {"},
	};

	for (size_t i = 0; i < ARRAY_LEN(mine); i++)
		if (mine[i].value != NULL && behind(line, mine[i].start) != NULL) {
			fprintf(
			    out, "%s%s%s\n", mine[i].start, mine[i].value, mine[i].end);
			return;
		}
	fprintf(out, "%.*s\n", (int)n, line);
}

static void
put_all(const struct preset_fill *f, const char *text, FILE *out)
{
	const char *end;

	fprintf(out, "# From the preset for %s: review every line.\n", f->package);
	for (; *text != '\0'; text = end + (*end == '\n')) {
		end = text + strcspn(text, "\n");
		put_line(f, text, (size_t)(end - text), out);
	}
}

static int
try_file(const struct preset_fill *f, const char *path, FILE *out)
{
	char *text = NULL;
	size_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), r;

	if (fd < 0)
		return -errno;
	r = fd_slurp(fd, PRESET_MAX, &text, &len);
	fd_close(&fd);
	if (r < 0)
		return r;
	r = -ENOENT;
	if (strlen(text) == len && is_for(text, f->package)) {
		put_all(f, text, out);
		r = ferror(out) ? -EIO : 0;
	}
	free(text);
	return r;
}

/* True for a path that needs no quotes in the language and is one line, as a preset's
 * `let` requires. Any other path gets a draft, which quotes it. */
static bool
is_bare(const char *path)
{
	return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789-._/@+:=,%")] == '\0';
}

int
preset_write(const struct preset_fill *f, FILE *out)
{
	const char *folder = paths_presets_dir();
	char path[2 * PATH_MAX];
	struct dirent *e;
	int r = -ENOENT;
	DIR *dir;

	if (folder == NULL || !is_bare(f->root) || !is_bare(f->program) ||
	    (f->dir != NULL && !is_bare(f->dir)))
		return -ENOENT;
	dir = opendir(folder);
	if (dir == NULL)
		return -ENOENT;
	while (r == -ENOENT && (e = readdir(dir)) != NULL) {
		if (strstr(e->d_name, ".kennel") == NULL)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name); /* fits */
		r = try_file(f, path, out);
	}
	(void)closedir(dir); /* read-only */
	return r;
}
