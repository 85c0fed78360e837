/*
 * A directory for a registry, and rows to put into it.
 */
#ifndef KENNEL_TESTS_UNIT_REGISTRY_FIXTURE_H
#define KENNEL_TESTS_UNIT_REGISTRY_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/registry/registry.h"

static char registry_dir[64];

static inline void
directory_remove(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char below[512];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		(void)snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
		if (unlink(below) < 0)
			directory_remove(below);
	}
	if (d != NULL)
		(void)closedir(d);
	(void)rmdir(path);
}

static inline int
directory_make(void **state)
{
	(void)strcpy(registry_dir, "/tmp/kennel-registry-XXXXXX");
	assert_non_null(mkdtemp(registry_dir));
	return 0;
}

static inline int
directory_drop(void **state)
{
	directory_remove(registry_dir);
	return 0;
}

/* The registry of the directory; it is not damaged. */
static inline struct registry *
registry_of(const char *below)
{
	struct registry *g = NULL;
	struct reason why, moved;
	char dir[128];

	(void)snprintf(dir, sizeof(dir), "%s/%s", registry_dir, below);
	if (registry_open(dir, true, &g, &moved, &why) < 0)
		fail_msg("%s", why.text);
	assert_string_equal(moved.text, "");
	return g;
}

static inline struct server_row
row_of(const char *name, enum row_source source, const char *command, const char *args)
{
	return (struct server_row){.name = name,
	    .scope = "user",
	    .source = source,
	    .transport = "stdio",
	    .command = command,
	    .args_json = args,
	    .auth_type = "none",
	    .policy_server = name,
	    .enabled = true};
}

static inline struct row_change
row_put(struct registry *g, const char *name, enum row_source source, const char *command)
{
	struct server_row row = row_of(name, source, command, "[\"a\"]");
	struct row_change done;

	assert_int_equal(registry_put(g, &row, &done), 0);
	return done;
}

static inline uint64_t
generation_of(struct registry *g)
{
	uint64_t gen = 0;

	assert_int_equal(registry_generation(g, &gen), 0);
	return gen;
}

/* Calls the check with the row of this name. */
#define WITH_ROW(g, name_, row_, ...) \
	do { \
		struct server_rows found_; \
		assert_int_equal(registry_find((g), (name_), &found_), 0); \
		assert_int_equal(found_.n, 1); \
		const struct server_row *row_ = &found_.row[0]; \
		__VA_ARGS__; \
		server_rows_free(&found_); \
	} while (0)

static inline void
file_write(const char *below, const void *bytes, size_t len)
{
	char path[192];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", registry_dir, below);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	(void)close(fd);
}

#endif
