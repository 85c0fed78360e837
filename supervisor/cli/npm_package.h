/*
 * An npm package as it lies on the disk (package.json of npm's documentation):
 * its name, its version, the programs it brings.  Nothing of it is run.
 */
#ifndef KENNEL_SUPERVISOR_CLI_PACKAGE_H
#define KENNEL_SUPERVISOR_CLI_PACKAGE_H

#include <limits.h>

#define PACKAGE_TEXT_MAX 256

struct package {
	char root[PATH_MAX]; /* the folder of its package.json, canonical */
	char name[PACKAGE_TEXT_MAX];
	char version[PACKAGE_TEXT_MAX];
	char program[PATH_MAX]; /* its one program, or that of its own name; "" */
};

/* The package in this folder.  0; -ENOENT; -EBADMSG: no package.json that can be
 * read for certain. */
int package_read(const char *root, struct package *ret);
/* The package that this file belongs to: the nearest folder above it. */
int package_of(const char *file, struct package *ret);

/* What a word of npx asks for: "name@version" in its parts; version "" when it
 * has none.  -EINVAL when it is no name that the registry would take. */
int package_split(
    const char *spec, char name[PACKAGE_TEXT_MAX], char version[PACKAGE_TEXT_MAX]);

/* Text as a JSON string, into memory of malloc.  NULL: no UTF-8, no memory. */
char *package_json_text(const char *);

#endif
