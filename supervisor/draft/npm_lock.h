/*
 * The packages that npm has installed in a directory, by its hidden lockfile
 * (node_modules/.package-lock.json).
 */
#ifndef KENNEL_SUPERVISOR_DRAFT_NPM_LOCK_H
#define KENNEL_SUPERVISOR_DRAFT_NPM_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#define LOCK_PACKAGES_MAX 20000

struct lock_package {
	char
	    *path; /* node_modules/NAME, or below another package; no control character */
	char *version;   /* "" if it has none */
	char *name;      /* of an alias: the package under that name; "": that of path */
	char *resolved;  /* where it is from, "" if it has none */
	char *integrity; /* its digest, "" if it has none */
	bool link;       /* to a directory */
	bool bundled;    /* in the package above it */
	bool scripts;    /* it has scripts for its installation */
};

struct lock {
	struct lock_package *package; /* sorted by path */
	size_t n;
};

/* Reads the lockfile below this directory. 0; -ENOENT; -EBADMSG; -E2BIG; -ENOMEM.
 * lock_free in every case. */
int lock_read(const char *dir, struct lock *ret);
/* Takes the text of one: the same. */
int lock_take(const char *text, size_t len, struct lock *ret);
void lock_free(struct lock *);
/* NAME of node_modules/a/node_modules/NAME: what the code of other packages asks for. */
const char *lock_place(const struct lock_package *);
/* The name under which the registry has it: of an alias, another. */
const char *lock_name(const struct lock_package *);
/* Are its bytes those of the package above it, that is, is it bundled and from nowhere? */
bool lock_within(const struct lock_package *);
/* Why the registry with this URL (with a slash at its end) cannot have signed what is
 * installed for this package; NULL: it can.  A static text. */
const char *lock_unsigned(const struct lock_package *, const char *registry);
/* The package with this path, or NULL. */
const struct lock_package *lock_find(const struct lock *, const char *path);

#endif
