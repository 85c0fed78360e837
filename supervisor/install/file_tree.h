/*
 * A directory that an installer has filled, copied into the store. The installer ran code
 * of others, so nothing in the directory is trusted: its names, links, types, modes,
 * depth and size.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_FILE_TREE_H
#define KENNEL_SUPERVISOR_INSTALL_FILE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"

#define FILE_TREE_DIGEST_LEN  32
#define FILE_TREE_DEPTH_MAX   64
#define FILE_TREE_ENTRIES_MAX 500000u      /* files, links and directories */
#define FILE_TREE_BYTES_MAX   (4ULL << 30) /* of all files */
#define FILE_TREE_WHY_MAX     512

/* What a tree contains. The digest is the SHA-256 of the listing, which has one line for
 * each entry, in the order of a walk that sorts each directory by bytes:
 *
 *	d NAME
 *	f MODE DIGEST NAME	MODE is x or -
 *	l NAME TARGET		a tab before TARGET
 */
struct file_tree {
	struct buf listing;
	uint8_t digest[FILE_TREE_DIGEST_LEN];
	uint64_t bytes;
	size_t entry_n;
	char why[FILE_TREE_WHY_MAX]; /* after an error: printable */
};

/*
 * Copies the directory `from` into the empty directory `to`: regular files, directories,
 * and symbolic links that stay inside. The copies are read-only, with fresh modes, and
 * have no other attributes. 0; -EINVAL: the tree has something else; -E2BIG: a limit;
 * -errno; with why. file_tree_free in every case. The directory `to` itself keeps its mode.
 */
int file_tree_copy(int from, int to, struct file_tree *ret);
/* Reads a directory, as file_tree_copy does, without copying it. */
int file_tree_read(int dir, struct file_tree *ret);
void file_tree_free(struct file_tree *);

/* Removes a file or a directory with everything in it, however deep. No other process
 * may change it meanwhile. 0, also if it does not exist; -errno. */
int file_tree_remove(int at, const char *name);

#endif
