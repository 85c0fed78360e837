/*
 * The store: installed packages, each in a directory that is named after the digest of
 * its files and that nothing changes afterwards.
 *
 *	DATA/store/DIGEST/node_modules/...	a package with what it depends on
 *	DATA/install/XXXXXX/			an installation that is not complete
 *		work/				what the installer may write
 *		kept/				the copy that becomes DIGEST
 *	DATA/install/DIGEST/			an entry that is being removed
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_STORE_H
#define KENNEL_SUPERVISOR_INSTALL_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "supervisor/install/file_tree.h"

#define STORE_KEY_LEN ((size_t)2 * FILE_TREE_DIGEST_LEN) /* hex digits */

/*
 * Holds the store: while a package is put into it and its policy is written, shared; while
 * packages are removed, alone. Returns a descriptor that is closed to release it; -EAGAIN:
 * another kennel holds it; -errno.
 */
int store_hold(bool alone);

struct staging {
	char dir[PATH_MAX];  /* "": none */
	char work[PATH_MAX]; /* tree/ and cache/ in it */
	int lock;            /* held as long as the installation runs */
};

/* The directory of the store. NULL: no directory of data (paths_why). Static. */
const char *store_dir(void);
/* The directory of the installations that are not complete: the same. */
const char *store_staging_dir(void);
/* Creates a staging directory; work and what is in it belong to this user. 0 or -errno.
 * staging_free in every case. */
int staging_new(uid_t owner, gid_t group, struct staging *ret);
/* Removes it. */
void staging_free(struct staging *);
/* Copies work/tree into the store. 0, also if the store has it already; -EUCLEAN: it has
 * another under this digest; -errno; with tree->why. file_tree_free in every case. */
int store_keep(const struct staging *, struct file_tree *, char ret_path[PATH_MAX]);
/* The first key of the store in a text: its digits, or NULL. A path in a policy begins
 * with the directory of the store, a slash and the key. */
const char *store_key_in(const char *text, size_t len);

#endif
