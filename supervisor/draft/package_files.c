#include "supervisor/draft/package_files.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"

#define DEPTH_MAX   32
#define ENTRIES_MAX 500000u
#define CODE_MAX    (16u << 20)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

struct walk {
	struct package_files *found;
	const char *own; /* the server's own package */
	size_t entry_n;
};

/* Reads the header of a program that Linux can start here; not of a library. */
static bool
is_program(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	Elf64_Ehdr h;
	bool r;

	if (fd < 0)
		return false;
	r = read(fd, &h, sizeof(h)) == (ssize_t)sizeof(h) &&
	    memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_machine == MACHINE &&
	    (h.e_ident[EI_OSABI] == ELFOSABI_NONE ||
		h.e_ident[EI_OSABI] == ELFOSABI_LINUX) &&
	    (h.e_type == ET_EXEC || h.e_type == ET_DYN);
	fd_close(&fd);
	return r;
}

/* Does this file of the server's own code use the module that starts programs? */
static bool
starts_programs(const struct walk *w, const char *path, const char *end)
{
	static const char word[] = "child_process";
	size_t n = strlen(w->own), len;
	char *text = NULL;
	int fd;
	bool r;

	if ((strcmp(end, ".js") != 0 && strcmp(end, ".mjs") != 0 &&
		strcmp(end, ".cjs") != 0) ||
	    strncmp(path, w->own, n) != 0 || strstr(path + n, "/node_modules/") != NULL)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	r = fd_slurp(fd, CODE_MAX, &text, &len) == 0 &&
	    memmem(text, len, word, sizeof(word) - 1) != NULL;
	fd_close(&fd);
	free(text);
	return r;
}

static void
file_take(struct walk *w, const char *path, const char *name)
{
	struct package_files *f = w->found;
	const char *dot = strrchr(name, '.');
	struct stat st;

	if (dot != NULL && strcmp(dot, ".node") == 0) {
		f->addon_n++;
		return;
	}
	if (dot != NULL && !f->starts_programs && starts_programs(w, path, dot)) {
		f->starts_programs = true;
		return;
	}
	if (f->program_n == PACKAGE_PROGRAMS_MAX || strstr(name, ".so") != NULL ||
	    lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & S_IXUSR) == 0 ||
	    st.st_size < (off_t)sizeof(Elf64_Ehdr) || !is_program(path))
		return;
	(void)snprintf(f->program[f->program_n++], PATH_MAX, "%s", path); /* same size */
}

/* NOLINTBEGIN(misc-no-recursion): at most DEPTH_MAX deep */
static void
dir_walk(struct walk *w, const char *dir, int depth)
{
	size_t addons = w->found->addon_n;
	char path[PATH_MAX];
	const struct dirent *e;
	bool sources = false;
	DIR *d = depth > DEPTH_MAX ? NULL : opendir(dir);

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL && ++w->entry_n < ENTRIES_MAX) {
		int n = snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);

		if (n < 0 || n >= PATH_MAX || strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0)
			continue;
		if (e->d_type == DT_DIR)
			dir_walk(w, path, depth + 1);
		else if (e->d_type == DT_REG)
			file_take(w, path, e->d_name);
		sources |= strcmp(e->d_name, "binding.gyp") == 0;
	}
	(void)closedir(d); /* only read */
	if (sources && w->found->addon_n == addons && w->found->unbuilt[0] == '\0')
		(void)snprintf(w->found->unbuilt, PATH_MAX, "%s", dir); /* same size */
}
/* NOLINTEND(misc-no-recursion) */

void
package_files_find(const char *dir, const char *own, struct package_files *ret)
{
	struct walk w = {.found = ret, .own = own};

	memset(ret, 0, sizeof(*ret));
	dir_walk(&w, dir, 0);
}
