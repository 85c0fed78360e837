/*
 * Every file of a folder, for tests that replay one.
 */
#ifndef KENNEL_TESTS_UNIT_CORPUS_H
#define KENNEL_TESTS_UNIT_CORPUS_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"

#define CORPUS_FILE_MAX (1u << 20)

typedef void corpus_fn(const char *name, const uint8_t *, size_t);

/* Calls fn for each file under folder, folders inside too.  How many. */
static inline int
corpus_each(const char *folder, corpus_fn *fn)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char path[512], *text;
	size_t len;
	int n = 0, fd;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (e->d_type == DT_DIR) {
			n += corpus_each(path, fn);
			continue;
		}
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fd_slurp(fd, CORPUS_FILE_MAX, &text, &len) < 0)
			abort();
		close(fd);
		fn(e->d_name, (uint8_t *)text, len);
		free(text);
		n++;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

/* Keeps the input, where CORPUS_OUT names a folder: how a corpus is made anew. */
static inline void
corpus_keep(const char *name, const uint8_t *bytes, size_t len)
{
	const char *folder = getenv("CORPUS_OUT");
	char path[512], *c;
	int fd;

	if (folder == NULL)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (c = path + strlen(folder) + 1; *c != 0; c++)
		if (strchr(" /*", *c) != NULL)
			*c = '-';
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static inline void
corpus_input(const char *name, const uint8_t *bytes, size_t len)
{
	(void)name;
	(void)LLVMFuzzerTestOneInput(bytes, len); /* aborts where it is wrong */
}

#endif
