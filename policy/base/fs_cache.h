/*
 * Answers of the file system during one compilation, each asked once.
 */
#ifndef KENNEL_POLICY_BASE_FS_CACHE_H
#define KENNEL_POLICY_BASE_FS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/base/diag.h"

struct fs_cache *fs_cache_new(void);
void fs_cache_free(struct fs_cache *);

/* A symbolic link on the way; only root can change its text. */
struct way_link {
	const char *path, *text;
};
/* Where a path leads by the rules of shim/host/path_resolve.h. */
struct way {
	int error;          /* 0 or -errno; -ELOOP, -EXDEV: link and target are set */
	bool missing;       /* the last components of real do not exist */
	mode_t mode;        /* of real; 0: missing */
	uid_t uid;          /* of real, unless it is missing */
	const char *real;   /* canonical */
	const char *link;   /* the link that may not be followed */
	const char *target; /* what the policy should name instead, or "" */
	struct way_link *followed;
	size_t followed_n;
};
/* NULL: no memory.  The answer lives as long as the cache. */
const struct way *fs_cache_way(struct fs_cache *, const char *path);
/*
 * Does root alone decide what this file or directory is, and may every user read it?  Its
 * owner and mode, and those of each directory on the way, are compared.
 */
bool fs_cache_public(struct fs_cache *, const struct way *);
/* Writes to out why the path leads nowhere. */
const char *way_why(const struct way *, char *out, size_t out_cap);

/* One mount of a view (policy/compile/mount_plan.c). */
struct view_row {
	const char *source;
	const char *target;
	struct at at;
	uint32_t kind, right, why;
	bool optional;
	bool read; /* a `read` or `write` of the text has it */
	uint64_t size;
	uint32_t same_target; /* of mount_plan.c: the next row of this path */
};

/*
 * The rows that a program of this path and file added to a view; NULL: not
 * known yet.
 */
const struct view_row *fs_cache_closure(
    const struct fs_cache *, const char *path, const char *real, size_t *ret_n);
int fs_cache_keep(struct fs_cache *, const char *path, const char *real,
    const struct view_row *, size_t n);

#endif
