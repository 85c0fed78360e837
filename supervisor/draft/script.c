/*
 * A package installs its program as a link in a directory of programs, to a file whose
 * first line is "#!/usr/bin/env node".  A policy names the interpreter and the script:
 * env would search a PATH that the cell does not have.
 */
#include "supervisor/draft/script.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"

const char *
script_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

bool
script_runtime(const char *program)
{
	static const char *const name[] = {"node", "nodejs", "bun", "deno", "python"};
	const char *base = script_base(program);

	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		size_t n = strlen(name[i]);

		if (strncmp(base, name[i], n) == 0 &&
		    strspn(base + n, ".0123456789") == strlen(base + n))
			return true;
	}
	return false;
}

/* Reads the start of a file: the number of bytes, or -errno. */
static ssize_t
start_of(const char *file, char *out, size_t max)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, out, max);
	if (n < 0)
		n = -errno;
	fd_close(&fd);
	return n;
}

bool
script_is_elf(const char *file)
{
	char start[SELFMAG];

	return start_of(file, start, sizeof(start)) == (ssize_t)sizeof(start) &&
	       memcmp(start, ELFMAG, SELFMAG) == 0;
}

int
script_line(const char *file, struct script_line *ret)
{
	ssize_t len = start_of(file, ret->text, sizeof(ret->text) - 1);
	char *save = NULL, *word;

	ret->n = 0;
	if (len < 2 || memcmp(ret->text, "#!", 2) != 0)
		return -ENOENT;
	ret->text[len] = '\0';
	ret->text[strcspn(ret->text, "\r\n")] = '\0';
	for (word = strtok_r(ret->text + 2, " \t", &save); word != NULL;
	     word = strtok_r(NULL, " \t", &save)) {
		bool skip = ret->n == 0 && (strcmp(script_base(word), "env") == 0 ||
					       strcmp(word, "-S") == 0);

		if (ret->n == SCRIPT_WORDS_MAX)
			return -ENOENT;
		if (!skip)
			ret->word[ret->n++] = word;
	}
	return ret->n > 0 && script_runtime(ret->word[0]) ? 0 : -ENOENT;
}

bool
script_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

int
script_index(int argc, const char *const *argv)
{
	static const char *const valued[] = {"-r", "--require", "--import", "--loader",
	    "--experimental-loader", "-C", "--conditions", "-W", "-X"};
	static const char *const none[] = {
	    "-e", "-p", "-pe", "-m", "-c", "--eval", "--print", "-"};
	const char *base = script_base(argv[0]);
	int i = 1;

	if (i < argc && strcmp(argv[i], "run") == 0 &&
	    (strcmp(base, "deno") == 0 || strcmp(base, "bun") == 0))
		i++;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (script_one_of(argv[i], none, ARRAY_LEN(none)))
			return 0;
		if (script_one_of(argv[i], valued, ARRAY_LEN(valued)))
			i++;
	}
	return i < argc ? i : 0;
}

int
script_find(const char *word, char ret[PATH_MAX])
{
	static const char *const end[] = {
	    "", ".js", ".mjs", ".cjs", "/index.js", "/__main__.py"};
	char path[PATH_MAX], real[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(end); i++) {
		int n = snprintf(path, sizeof(path), "%s%s", word, end[i]);

		if (n < 0 || n >= PATH_MAX || realpath(path, real) == NULL ||
		    stat(real, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		memcpy(ret, real, PATH_MAX);
		return 0;
	}
	return -ENOENT;
}
