/*
 * An installed npm package (npm's package.json): its name, version and programs.
 * Nothing in it is run.
 */
#ifndef KENNEL_SUPERVISOR_DRAFT_NPM_PACKAGE_H
#define KENNEL_SUPERVISOR_DRAFT_NPM_PACKAGE_H

#include <limits.h>
#include <stdbool.h>

#define PACKAGE_TEXT_MAX 256

struct package {
	char root[PATH_MAX]; /* the directory of package.json, canonical */
	char name[PACKAGE_TEXT_MAX];
	char version[PACKAGE_TEXT_MAX];
	char program[PATH_MAX]; /* its only program, or the one with its name; "" */
};

/* Reads the package in this directory. 0; -ENOENT; -EBADMSG: no unambiguous
 * package.json. */
int package_read(const char *root, struct package *ret);
/* Finds the package of this file: below a node_modules the one that was installed there,
 * node_modules/NAME, if it has that name itself (what is below it names nothing: its author
 * chooses it); elsewhere the nearest directory above the file that is a package. 0;
 * -ENOENT. */
int package_of(const char *file, struct package *ret);

/* Does its package.json name this one among its dependencies, or the optional ones? */
bool package_depends(const struct package *, const char *name);

/* Splits an argument of npx, "name@version"; version is "" if it is missing, a tag
 * or a range. -EINVAL: not a name that the registry accepts, or another source. */
int package_split(
    const char *spec, char name[PACKAGE_TEXT_MAX], char version[PACKAGE_TEXT_MAX]);

/* Converts text to a JSON string; the caller frees it. NULL: invalid UTF-8, no
 * memory. */
char *package_json_text(const char *);

#endif
