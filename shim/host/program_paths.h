/*
 * The paths on which the start of a program depends: the names in its image that
 * the kernel opens, and those that an argument may contain.
 *
 * For programs that start in "/": a relative path is relative to it.
 */
#ifndef KENNEL_SHIM_HOST_PROGRAM_PATHS_H
#define KENNEL_SHIM_HOST_PROGRAM_PATHS_H

#include <limits.h>

#define FIRST_LINE_MAX 256 /* BINPRM_BUF_SIZE: bytes that the kernel examines */

enum program_kind {
	PROGRAM_ALONE,  /* a static program, or none that the kernel runs by itself */
	PROGRAM_LOADED, /* path is its loader (PT_INTERP) */
	PROGRAM_SCRIPT, /* path is its interpreter, arg that one's argument or "" */
};

struct program_image {
	enum program_kind kind;
	char path[PATH_MAX]; /* as written */
	char arg[FIRST_LINE_MAX];
};

/* Reads the image of an open file.  0; -ENOEXEC: an invalid ELF file; -errno. */
int program_image(int fd, struct program_image *ret);

/* Receives an absolute path; a value other than 0 ends the call, which returns it. */
typedef int program_path_fn(void *arg, const char *path);
/* The paths that an argument may contain: itself, what follows each `=`, and what
 * follows `-X`. */
int program_word(const char *word, program_path_fn *fn, void *arg);
/* The same for the argument in a script's first line, which may contain several. */
int program_line(const char *line, program_path_fn *fn, void *arg);

#endif
