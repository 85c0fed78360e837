/*
 * Scripts and their interpreters, in the command of a server.
 */
#ifndef KENNEL_SUPERVISOR_DRAFT_SCRIPT_H
#define KENNEL_SUPERVISOR_DRAFT_SCRIPT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define SCRIPT_WORDS_MAX 6

/* The first line of a script: the interpreter and its arguments. */
struct script_line {
	char text[PATH_MAX];
	char *word[SCRIPT_WORDS_MAX];
	int n;
};

/* The name of a program, after the last slash of its path. */
const char *script_base(const char *path);
/* Is this program one that runs scripts of packages: node, python, ...? */
bool script_runtime(const char *program);
/* Reads the first line of a file; "env" is left out. -ENOENT: not a script of such a
 * runtime. */
int script_line(const char *file, struct script_line *ret);
/* Is the word one of these n? */
bool script_one_of(const char *word, const char *const *list, size_t n);
/* The index of the script among the arguments of a runtime; 0: it has none, such as
 * "python -m MODULE". */
int script_index(int argc, const char *const *argv);
/* The file that the runtime opens for this word: canonical. -ENOENT. */
int script_find(const char *word, char ret[PATH_MAX]);
/* Is it an ELF file? */
bool script_is_elf(const char *file);

#endif
