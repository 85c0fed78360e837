/*
 * Files that language runtimes need besides their libraries.  They are found at
 * compile time; "policy show" marks them as preset.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/compile/lower.h"
#include "shim/base/array.h"

#define MODULES_MAX 512

static int python_need(struct lower *, const char *real, struct at);
static int node_need(struct lower *, const char *real, struct at);

/* Chosen by the base name of the image, as granted or canonical. */
static const struct {
	const char *start; /* name, or name and a version */
	int (*need)(struct lower *, const char *real, struct at);
} presets[] = {
    {"python3", python_need},
    {"node", node_need},
};

/* start, or start followed by digits and dots, as in python3.11. */
static bool
named(const char *path, const char *start)
{
	const char *base = strrchr(path, '/') + 1;
	size_t n = strlen(start);

	return strncmp(base, start, n) == 0 &&
	       strspn(base + n, ".0123456789") == strlen(base + n);
}

int
preset_need(struct lower *l, const char *path, const char *real, struct at at)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(presets); i++)
		if (named(path, presets[i].start) || named(real, presets[i].start))
			return presets[i].need(l, real, at);
	return 0;
}

/*
 * Adds a file or directory, if it exists. what: the program cannot do without it; NULL: it is
 * left out if it may not be in the view.
 */
static int
root_put(struct lower *l, const char *path, const char *what, struct at at)
{
	struct view_row row = {.right = RIGHT_READ, .why = WHY_PRESET, .at = at};
	const struct way *w;
	const char *real;
	int r;

	if (path == NULL || (w = fs_cache_way(l->tree->fs_cache, path)) == NULL)
		return -ENOMEM;
	r = content_find(l, path, &real);
	if (r == -EACCES && what != NULL)
		return content_refused(l, at, what, path);
	if (r == -ENOENT || r == -EACCES)
		return 0;
	if (r == -ENOMEM || (r = view_walk(l, path, at, &real)) < 0)
		return r;
	row.kind = S_ISDIR(w->mode) ? MOUNT_TREE : MOUNT_FILE;
	row.source = row.target = real;
	return view_put(l, &row);
}

static int
common_need(struct lower *l, struct at at)
{
	static const char *const roots[] = {
	    "/usr/lib/ssl/openssl.cnf", "/etc/ssl/openssl.cnf"};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_LEN(roots) && r == 0; i++)
		r = root_put(l, roots[i], NULL, at);
	return r;
}

/*
 * Node's modules of a distribution, and the one part of the C library that
 * prebuilt add-ons name but node does not.
 */
static int
node_need(struct lower *l, const char *real, struct at at)
{
	static const char *const roots[] = {"/usr/share/nodejs",
	    "/lib/x86_64-linux-gnu/librt.so.1", "/lib/aarch64-linux-gnu/librt.so.1",
	    "/lib64/librt.so.1"};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_LEN(roots) && r == 0; i++)
		r = root_put(l, roots[i], NULL, at);
	return r < 0 ? r : common_need(l, at);
}

/* The libraries of modules that are shared objects. */
static int
modules_need(struct lower *l, const char *dir, struct at at)
{
	const struct way *w = dir == NULL ? NULL : fs_cache_way(l->tree->fs_cache, dir);
	struct dirent *entry;
	struct elf elf;
	const char *why;
	char *path;
	size_t n = 0, len;
	int r = 0;
	DIR *d;

	if (w == NULL)
		return -ENOMEM;
	/* syscalls: openat getdents64 close fstat newfstatat */
	if (w->error != 0 || (d = opendir(w->real)) == NULL)
		return 0;
	while (r == 0 && n < MODULES_MAX && (entry = readdir(d)) != NULL) {
		len = strlen(entry->d_name);
		if (len < 3 || strcmp(entry->d_name + len - 3, ".so") != 0)
			continue;
		n++;
		if ((path = lower_printf(l, "%s/%s", w->real, entry->d_name)) == NULL)
			r = -ENOMEM;
		else if (elf_read(l->arena, path, &elf, &why) == 0)
			r = libs_need(l, path, &elf, at, WHY_PRESET);
	}
	(void)closedir(d); /* only read */
	return r;
}

/*
 * PREFIX/lib/python3.X, its modules, and the distribution's additions next to
 * it.
 */
static int
python_lib(struct lower *l, const char *prefix, size_t prefix_len, const char *version,
    struct at at)
{
	char *lib = lower_printf(l, "%.*s/lib/%s", (int)prefix_len, prefix, version);
	int r;

	if ((r = root_put(l, lib, "its standard library", at)) < 0 ||
	    (r = root_put(l, lower_printf(l, "%.*s/lib/python3", (int)prefix_len, prefix),
		 NULL, at)) < 0 ||
	    (r = root_put(l, lower_printf(l, "/usr/local/lib/%s", version), NULL, at)) <
		0)
		return r;
	return modules_need(l, lower_printf(l, "%s/lib-dynload", lib), at);
}

static int
python_need(struct lower *l, const char *real, struct at at)
{
	const char *base = strrchr(real, '/') + 1, *up;
	size_t len = (size_t)(base - 1 - real);
	int r;

	/* PREFIX/bin/python3.X */
	for (up = real + len; up > real && up[-1] != '/'; up--)
		;
	if (up == real || strncmp(base, "python3.", 8) != 0)
		return common_need(l, at); /* an unknown layout: do not guess */
	r = python_lib(l, real, (size_t)(up - 1 - real), base, at);
	return r < 0 ? r : common_need(l, at);
}
