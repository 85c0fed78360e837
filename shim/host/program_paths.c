/*
 * Reads what the kernel reads of a program (execve(2)): the first line of a script,
 * and the path of the loader in an ELF file.  Every offset and length is checked: a
 * file may be malformed.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "shim/host/program_paths.h"

#define PHDRS_LEN_MAX 65536 /* as in fs/binfmt_elf.c */

/* What the reader needs of the two classes. */
struct table {
	uint64_t off;
	size_t n, entry_len;
};

/* All len bytes, or -ENOEXEC. */
static int
take(int fd, void *to, size_t len, uint64_t off)
{
	ssize_t n;

	if (off > INT64_MAX - len)
		return -ENOEXEC;
	n = pread(fd, to, len, (off_t)off); /* syscalls: pread64 */
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -ENOEXEC;
}

/* ---- scripts --------------------------------------------------------------- */

/* Like the kernel: blanks, the interpreter, blanks, the rest as one argument.  Blanks
 * at the end of the line are dropped, at the end of the file they are not. */
static void
script_read(char line[FIRST_LINE_MAX], struct program_image *ret)
{
	size_t at = 2 + strspn(line + 2, " \t"), len;
	char *end = strchr(line, '\n');

	while (end != NULL && (*end == '\n' || *end == ' ' || *end == '\t'))
		*end-- = '\0';
	if (at > strlen(line))
		at = strlen(line);
	len = strcspn(line + at, " \t");
	memcpy(ret->path, line + at, len);
	ret->path[len] = '\0';
	at += len;
	at += strspn(line + at, " \t");
	(void)snprintf(ret->arg, sizeof(ret->arg), "%s", line + at); /* fits */
	ret->kind = PROGRAM_SCRIPT;
}

/* ---- ELF ------------------------------------------------------------------- */

static int
loader_read(int fd, uint64_t off, uint64_t len, struct program_image *ret)
{
	char path[PATH_MAX];
	int r;

	/* the kernel's limits: 2 to PATH_MAX bytes with the final NUL */
	if (len < 2 || len > sizeof(path))
		return -ENOEXEC;
	r = take(fd, path, (size_t)len, off);
	if (r < 0)
		return r;
	if (path[len - 1] != '\0')
		return -ENOEXEC;
	memcpy(ret->path, path, (size_t)len);
	ret->kind = PROGRAM_LOADED;
	return 0;
}

/* The table of program headers.  1: the kernel does not run files of this type. */
static int
table_read(int fd, struct table *ret)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr h32;
		Elf64_Ehdr h64;
	} u = {.ident = {0}};
	bool wide;
	size_t entry;
	int r = take(fd, u.ident, EI_NIDENT, 0);

	if (r < 0)
		return r;
	wide = u.ident[EI_CLASS] == ELFCLASS64;
	if ((!wide && u.ident[EI_CLASS] != ELFCLASS32) || u.ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	r = take(fd, &u, wide ? sizeof(u.h64) : sizeof(u.h32), 0);
	if (r < 0)
		return r;
	/* at the same offset in both classes */
	if (u.h64.e_type != ET_EXEC && u.h64.e_type != ET_DYN)
		return 1;
	entry = wide ? u.h64.e_phentsize : u.h32.e_phentsize;
	*ret = (struct table){.off = wide ? u.h64.e_phoff : u.h32.e_phoff,
	    .n = wide ? u.h64.e_phnum : u.h32.e_phnum,
	    .entry_len = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)};
	return entry != ret->entry_len || ret->n * entry > PHDRS_LEN_MAX ? -ENOEXEC : 0;
}

static int
elf_loader(int fd, struct program_image *ret)
{
	union {
		Elf32_Phdr p32;
		Elf64_Phdr p64;
	} u;
	struct table t;
	bool wide;
	int r = table_read(fd, &t);

	if (r != 0)
		return r < 0 ? r : 0;
	wide = t.entry_len == sizeof(u.p64);
	for (size_t i = 0; i < t.n; i++) {
		if (t.off > INT64_MAX - PHDRS_LEN_MAX)
			return -ENOEXEC;
		r = take(fd, &u, t.entry_len, t.off + i * t.entry_len);
		if (r < 0)
			return r;
		/* p_type is the first field of both; the kernel uses the first loader */
		if (u.p64.p_type == PT_INTERP)
			return loader_read(fd, wide ? u.p64.p_offset : u.p32.p_offset,
			    wide ? u.p64.p_filesz : u.p32.p_filesz, ret);
	}
	return 0;
}

int
program_image(int fd, struct program_image *ret)
{
	char line[FIRST_LINE_MAX];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0); /* syscalls: pread64 */

	*ret = (struct program_image){.kind = PROGRAM_ALONE};
	if (n < 0)
		return -errno;
	line[n] = '\0';
	if (n >= 3 && memcmp(line, "#!", 2) == 0)
		script_read(line, ret);
	else if (n >= SELFMAG && memcmp(line, ELFMAG, SELFMAG) == 0)
		return elf_loader(fd, ret);
	return 0;
}

/* ---- arguments ------------------------------------------------------------- */

static int
path_give(const char *text, program_path_fn *fn, void *arg)
{
	char path[PATH_MAX];

	if (text[0] == '\0' || strlen(text) + 1 >= sizeof(path))
		return 0;
	(void)snprintf(path, sizeof(path), "%s%s", text[0] == '/' ? "" : "/", text);
	return fn(arg, path);
}

int
program_word(const char *word, program_path_fn *fn, void *arg)
{
	int r = path_give(word, fn, arg);

	if (r == 0 && word[0] == '-' && word[1] != '\0' && word[1] != '-')
		r = path_give(word + 2, fn, arg);
	for (; r == 0 && (word = strchr(word, '=')) != NULL; word++)
		r = path_give(word + 1, fn, arg);
	return r;
}

int
program_line(const char *line, program_path_fn *fn, void *arg)
{
	static const char between[] = " \t\"'";
	char copy[FIRST_LINE_MAX], *at = copy, *end;
	int r = program_word(line, fn, arg);

	(void)snprintf(copy, sizeof(copy), "%s", line);
	for (at += strspn(at, between); r == 0 && *at != '\0'; at = end) {
		end = at + strcspn(at, between);
		if (*end != '\0')
			*end++ = '\0';
		r = program_word(at, fn, arg);
		end += strspn(end, between);
	}
	return r;
}
