/*
 * The libraries of compiled modules: node loads `.node` files and Python loads `.so`
 * files with dlopen, so no program names them.  They are searched for in the packages
 * that `read` grants to a server with such a runtime.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIAG_CODE "modules"

#include "policy/compile/lower.h"
#include "shim/base/array.h"

#define DEPTH_MAX   32
#define ENTRIES_MAX 500000u
#define MODULES_MAX 1024u

static const struct {
	const char *runtime; /* its base name, or that and a version */
	const char *end;     /* of its compiled modules */
} kinds[] = {
    {"node", ".node"},
    {"python", ".so"},
};

struct walk {
	struct lower *l;
	struct at at;
	const char *end;
	size_t entry_n, module_n;
};

static bool
ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && strcmp(text + len - n, end) == 0;
}

static int
module_need(struct walk *w, const char *path)
{
	struct elf elf;
	const char *why;
	int r = elf_read(w->l->arena, path, &elf, &why);

	w->module_n++;
	if (r < 0) /* a build for another machine, which cannot be loaded either */
		return r == -ENOMEM ? r : 0;
	return module_libs_need(w->l, path, &elf, w->at);
}

/* NOLINTBEGIN(misc-no-recursion): at most DEPTH_MAX directories deep */
static int dir_walk(struct walk *, const char *dir, unsigned depth);

/* NOLINTBEGIN(misc-no-recursion): at most DEPTH_MAX deep */
static int
entry_walk(struct walk *w, const char *dir, const struct dirent *e, unsigned depth)
{
	unsigned char type = e->d_type;
	struct stat st;
	char *path;

	if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
	    (type != DT_DIR && type != DT_UNKNOWN && !ends_in(e->d_name, w->end)))
		return 0;
	path = lower_printf(w->l, "%s/%s", dir, e->d_name);
	if (path == NULL)
		return -ENOMEM;
	/* syscalls: newfstatat */
	if (type == DT_UNKNOWN && lstat(path, &st) == 0)
		type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : type;
	if (type == DT_DIR)
		return dir_walk(w, path, depth + 1);
	return type == DT_REG && ends_in(path, w->end) ? module_need(w, path) : 0;
}

/* -E2BIG: more than is searched. */
static int
dir_walk(struct walk *w, const char *dir, unsigned depth)
{
	const struct dirent *e;
	int r = 0;
	DIR *d;

	if (depth > DEPTH_MAX)
		return -E2BIG;
	/* syscalls: openat getdents64 close fstat */
	d = opendir(dir);
	if (d == NULL)
		return 0; /* the server cannot list it either, or it is gone */
	while (r == 0 && (e = readdir(d)) != NULL) {
		if (++w->entry_n > ENTRIES_MAX || w->module_n >= MODULES_MAX)
			r = -E2BIG;
		else
			r = entry_walk(w, dir, e, depth);
	}
	(void)closedir(d); /* only read */
	return r;
}
/* NOLINTEND(misc-no-recursion) */

/* NOLINTEND(misc-no-recursion) */

/* Does the directory hold packages: by its name, or by what is in it? */
static bool
has_packages(struct lower *l, const char *dir)
{
	static const char *const name[] = {
	    "/node_modules", "/site-packages", "/dist-packages"};
	static const char *const in[] = {
	    "node_modules", "package.json", "pyvenv.cfg", "site-packages"};
	const char *at, *path;

	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		at = strstr(dir, name[i]);
		if (at != NULL && strchr("/", at[strlen(name[i])]) != NULL)
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(in); i++) {
		path = lower_printf(l, "%s/%s", dir, in[i]);
		/* syscalls: faccessat */
		if (path != NULL && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* Is one of the server's programs this runtime, under any version? */
static bool
has_runtime(const struct lower *l, const char *runtime)
{
	for (size_t i = 0; i < l->image_n; i++) {
		const char *base = strrchr(l->image_real[i], '/') + 1;
		size_t n = strlen(runtime);

		if (strncmp(base, runtime, n) == 0 &&
		    strspn(base + n, ".0123456789") == strlen(base + n))
			return true;
	}
	return false;
}

static int
tree_walk(struct lower *l, const struct view_row *tree)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(kinds); i++) {
		struct walk w = {.l = l, .at = tree->at, .end = kinds[i].end};

		if (!has_runtime(l, kinds[i].runtime))
			continue;
		r = dir_walk(&w, tree->target, 0);
		if (r != -E2BIG)
			continue;
		diag_warning(l->diag, tree->at,
		    "%s has too many files to search for compiled modules: if one lacks "
		    "a "
		    "library, grant that with `read`",
		    tree->target);
		r = 0;
	}
	return r;
}

int
modules_lower(struct lower *l)
{
	size_t n = l->view_n; /* before the libraries that are added */
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct view_row tree = l->view[i]; /* the array moves as it grows */

		if (tree.kind == MOUNT_TREE && tree.why == WHY_READ &&
		    (tree.right & RIGHT_WRITE) == 0 && has_packages(l, tree.target))
			r = tree_walk(l, &tree);
	}
	return r == -EINVAL ? 0 : r; /* reported */
}
