/*
 * What the steps of a cell share: private to the room.  cell.c holds the
 * table; each step is a function on struct cell_child that runs in the cell's
 * first process, between clone3 and the exec of the shim.
 *
 *	child				leash (cell_start)
 *	CELL_READY ------------------>	id maps, coredump_filter
 *	   <------------------- CELL_GO
 *	CELL_IMAGES {descriptors} --->	kept; once per batch
 *	CELL_FAILED ----------------->	why; nothing is left
 *	CELL_DONE ------------------->	the same socket is the shim's from here
 *
 * The functions of the child carry no notes of system calls: the leash shuts
 * its own doors after the cell is made, and must not keep mount(2) for it.
 */
#ifndef KENNEL_LEASH_CELL_STEP_H
#define KENNEL_LEASH_CELL_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/cell/cell.h"
#include "shim/host/subid.h"

#define CELL_PATH_MAX   4096
#define CELL_OBJECT_MAX 256  /* bytes of a name in a failure */
#define CELL_PACKET_MAX 1024 /* of this file's messages */
#define CELL_OWN_MAX    64   /* tmpfs mounts in one view */
#define CELL_DEVICES    5

enum cell_message {
	CELL_READY = 101,  /* nothing: dumpable, waits for its maps */
	CELL_GO = 102,     /* nothing */
	CELL_IMAGES = 103, /* O_PATH descriptors, in the order of the images */
	/* u32 step, u32 errno, u32 file, u32 line (0: none), str object, str hint */
	CELL_FAILED = 105,
	CELL_DONE = 107, /* nothing */
};

struct cell_ids {
	uid_t uid;
	gid_t gid;
	bool root; /* the leash is root: it may map any id, and drop groups */
	bool lent; /* subordinate ids: others map them, and groups may be dropped */
};

struct cell_child {
	const struct cell_order *order;
	struct cell_ids ids;
	bool cgroup; /* it has one of its own */
	int channel; /* SHIM_CHANNEL_FD once the descriptors are in place */
	int shim_fd;
	pid_t net_pid; /* who makes the network, until net_join */

	int *clone;               /* per mount row: a detached tree, or -1 */
	int device[CELL_DEVICES]; /* detached clones of the real nodes */
	int host_fd;              /* "/" before the view, O_PATH */
	int root_fd;              /* the root of the view */
	dev_t own[CELL_OWN_MAX];  /* our tmpfs mounts: names may be made there */
	size_t own_n;
	int hidden[2];              /* what covers a file, a folder; or -1 */
	int parent_fd;              /* the folder of the last target, */
	char parent[CELL_PATH_MAX]; /* its path, so that the next is cheap */

	/* Whom to blame when a step fails. */
	char object[CELL_OBJECT_MAX];
	struct sealed_at at; /* line 0: no line of the policy */
	const char *hint;    /* instead of the errno's text */
};

typedef int cell_step_fn(struct cell_child *);

/* Remember what the step was about, and give the error back. */
int cell_blame(struct cell_child *, int error, const char *object, struct sealed_at);
/* The same without a line of the policy. */
int cell_fault(struct cell_child *, int error, const char *object);

/* "unable to STEP OBJECT: REASON (file:line)" into why. */
struct cell_reason {
	const char *step;
	const char *object;
	const char *reason; /* NULL: the errno's text */
	struct sealed_at at;
};
int cell_say(
    char why[CELL_WHY_MAX], const struct policy *, int error, const struct cell_reason *);

/* ns.c: in the leash */
int ns_choose_ids(
    const struct cell_order *, struct cell_ids *ret, char why[CELL_WHY_MAX]);
/* *ret_why is set where the errno says too little. */
int ns_write_maps(const struct cell *, const struct cell_ids *, const char **ret_why);
/* ns.c: in the child, in this order */
cell_step_fn ns_open_up, ns_take_ids, ns_no_more, ns_name, ns_tie;

/* mount.c */
cell_step_fn mount_private, mount_open, mount_open_as_user, mount_reach, mount_root,
    mount_build, mount_enter, mount_seal;
/* openat2, close-on-exec; flags are O_*, resolve is RESOLVE_*. */
int mount_open_below(int dir, const char *path, uint64_t flags, uint64_t resolve);
/* A detached copy of what fd shows, with these attributes everywhere in it. */
int mount_clone(int fd, uint64_t attr, int *ret);
/* A name at path in the view: *ret_parent is borrowed until the next call. */
int mount_make_file(struct cell_child *, const char *path, int *ret_parent);
/* The folder of path, if names may be made in it; borrowed as above. */
int mount_own_parent(struct cell_child *, const char *path, int *ret_parent);
int mount_attach(int tree, int parent, const char *name);
/* Is this in one of our own tmpfs mounts? */
bool mount_is_own(const struct cell_child *, int fd);

/* hide.c: cover a path of the view; then, before the view is entered, take away
 * the names of what covers. */
int hide_place(struct cell_child *, const char *path);
int hide_forget(struct cell_child *);

/* images.c */
cell_step_fn images_open;

/* synthetic.c: /dev and /etc as the cell has them */
cell_step_fn synthetic_open_devices;
int synthetic_dev(struct cell_child *, const char *path);
int synthetic_etc(struct cell_child *, const char *path);
const char *synthetic_device_name(size_t i); /* NULL behind the last */

/* libcache.c: what the loader is told of the libraries in the view, into to.
 * -ENOENT, -EXDEV, -E2BIG: nothing; it searches. */
int libcache_make(const struct cell_order *, uint8_t *to, size_t cap, size_t *ret_len);

/* net.c, caps.c */
cell_step_fn net_begin, net_join, caps_none;

/* limits.c */
int limits_prepare(
    const struct cell_order *, struct cell *, int *ret_cgroup_fd, char why[CELL_WHY_MAX]);
cell_step_fn limits_set;
void limits_free(struct cell *);

/* landlock.c */
int landlock_check(const struct cell_order *, struct cell *, char why[CELL_WHY_MAX]);
uint64_t landlock_rights(const struct sealed_mount *, uint64_t handled);
uint64_t landlock_device_rights(uint64_t handled);

/* cell.c */
void cell_lacks(struct cell *, const char *what);
const struct sealed_mount *cell_mounts(const struct cell_order *, size_t *ret_n);

#endif
