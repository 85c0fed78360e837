/*
 * Shared by the steps of a cell: private to the room.  cell.c contains the table.
 * Each step is a function on struct cell_child that runs in the cell's first
 * process, between clone3 and the exec of the shim.
 *
 *	child				leash (cell_start)
 *	CELL_READY ------------------>	id maps, coredump_filter
 *	   <------------------- CELL_GO
 *	CELL_PLACED {descriptors} --->	watched; one per directory and mount
 *	CELL_ABSENT ----------------->	the user gets a warning
 *	CELL_IMAGES {descriptors} --->	kept; one per batch
 *	CELL_SOCKETS {descriptors} -->	sent to kennel-egress; one per batch
 *	CELL_FAILED ----------------->	why; the cell is removed
 *	CELL_DONE ------------------->	from here on the socket is the shim's
 *
 * The child's functions carry no notes of system calls: the leash sandboxes itself
 * after the cell exists, and must not keep mount(2) for these steps.
 */
#ifndef KENNEL_LEASH_CELL_PRIVATE_H
#define KENNEL_LEASH_CELL_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "policy/sealed/policy.h"
#include "leash/cell/cell.h"
#include "shim/host/subid.h"

#define CELL_PATH_MAX   4096
#define CELL_OBJECT_MAX 256  /* bytes of a name in a failure */
#define CELL_PACKET_MAX 1024 /* bytes of a message of this file */
#define CELL_OWN_MAX    64   /* tmpfs mounts in one view */
#define CELL_DEVICES    5

enum cell_message {
	CELL_READY = 101,  /* empty: dumpable, waits for its maps */
	CELL_GO = 102,     /* struct cell_bounds: u32, u32 */
	CELL_IMAGES = 103, /* O_PATH descriptors, in the order of the images */
	/* u32 step, u32 errno, u32 file, u32 line (0: none), str object, str hint */
	CELL_FAILED = 105,
	CELL_DONE = 107, /* empty */
	/* u32 row, u64 mount id (0: a directory on the way to the row's target).
	 * Descriptors: none, or the directory and the covered entry in it. */
	CELL_PLACED = 109,
	/* bytes: 1 for each socket sent, 0 for each missing one; descriptors */
	CELL_SOCKETS = 111,
	CELL_ABSENT = 113, /* u32 row: optional, with nothing to cover */
};

struct cell_ids {
	uid_t uid;
	gid_t gid;
	bool root; /* the leash is root: it may map any id and drop groups */
	bool lent; /* subordinate ids: newuidmap maps them; groups may be dropped */
};

/* The most inotify instances and watches of the cell (place.c). */
struct cell_bounds {
	uint32_t instances, watches;
};

struct cell_child {
	const struct cell_order *order;
	struct cell_ids ids;
	struct cell_bounds bounds; /* once step_wait is over */
	bool cgroup;               /* the cell has a cgroup of its own */
	int channel;               /* SHIM_CHANNEL_FD once the descriptors are in place */
	int shim_fd;
	pid_t net_pid;     /* helper that makes the network, until net_join */
	struct made *made; /* its result (net.c) */

	int *clone;               /* per mount row: a detached tree, or -1 */
	int device[CELL_DEVICES]; /* detached clones of the host's device nodes */
	int host_fd;              /* "/" before the view, O_PATH */
	int root_fd;              /* the root of the view */
	dev_t own[CELL_OWN_MAX];  /* our tmpfs mounts, where names may be made */
	size_t own_n;
	int hidden[2];              /* covers for a file and for a directory; or -1 */
	int parent_fd;              /* the directory of the last target, */
	bool parent_own;            /* whether it is in one of own, */
	char parent[CELL_PATH_MAX]; /* and its path; a cache for the next target */

	/* Reported when a step fails. */
	char object[CELL_OBJECT_MAX];
	struct sealed_at at; /* line 0: no line of the policy */
	const char *hint;    /* replaces the errno's text */
};

typedef int cell_step_fn(struct cell_child *);

/* Stores the object of a failed step, and returns the error. */
int cell_blame(struct cell_child *, int error, const char *object, struct sealed_at);
/* The same without a line of the policy. */
int cell_fault(struct cell_child *, int error, const char *object);

/* Written to why as "unable to STEP OBJECT: REASON (file:line)". */
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
/* *ret_why is set if the errno is not enough. */
int ns_write_maps(const struct cell *, const struct cell_ids *, const char **ret_why);
/* ns.c: in the child, in this order */
cell_step_fn ns_open_up, ns_take_ids, ns_no_more, ns_name, ns_tie;

/* place.c: in the leash */
#define PLACE_LIMITS 4
/* What the cell gets, by its place.  *ret_fd holds the place; -1: it has none. */
struct cell_bounds place_bounds(int dir, int *ret_fd);
/* Around the creation of the cell's user namespace. */
void place_limits_lower(struct rlimit before[PLACE_LIMITS]);
void place_limits_back(const struct rlimit before[PLACE_LIMITS]);

/* mount.c */
cell_step_fn mount_private, mount_open, mount_open_as_user, mount_reach, mount_root,
    mount_build, mount_enter, mount_seal;
/* Allows this process as many descriptors as it may have at all. */
void mount_room(void);
/* For canonical paths: a link in one was put there later. */
#define MOUNT_RESOLVE_REAL (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
/* openat2, close-on-exec; flags are O_*, resolve is RESOLVE_*. */
int mount_open_below(int dir, const char *path, uint64_t flags, uint64_t resolve);
/* A detached, recursive clone of the tree at fd, all of it with these attributes. */
int mount_clone(int fd, uint64_t attr, int *ret);
/* Makes a file at path in the view; *ret_parent is borrowed until the next call. */
int mount_make_file(struct cell_child *, const char *path, int *ret_parent);
/* The directory of path, if names may be made in it; borrowed as above. */
int mount_own_parent(struct cell_child *, const char *path, int *ret_parent);
/* Makes the directory itself, if it may; *ret_parent is borrowed as above. */
int mount_make_dir(struct cell_child *, const char *path, int *ret_parent);
int mount_attach(int tree, int parent, const char *name);
/* Forgets the cached directory: call it after a mount over a directory. */
void mount_parent_forget(struct cell_child *);
/* Is this in one of our own tmpfs mounts? */
bool mount_is_own(const struct cell_child *, int fd);

/*
 * filesystem.c: new file systems that are not attached yet; attr are MOUNT_ATTR_*. The
 * options end with NULL. 0 and a descriptor for the caller, or -errno.
 */
struct filesystem_option {
	const char *name, *value;
};
int filesystem_new(
    const char *type, const struct filesystem_option *, uint64_t attr, int *ret);
/* size in bytes; -EINVAL: it is 0. */
int filesystem_tmpfs(uint64_t size, const char *mode, uint64_t attr, int *ret);
/* Attaches pts to this directory of devices, with its link ptmx. */
int filesystem_pts(struct cell_child *, const char *dev);

/* hide.c: covers a path of the view; then, before the view is entered, removes the
 * names of the covers. */
int hide_place(struct cell_child *, const struct sealed_mount *);
/* Attaches a row's tree at its target, whose parent is open. */
int hide_attach(struct cell_child *, const struct sealed_mount *, int tree, int parent);
int hide_forget(struct cell_child *);

/* images.c */
cell_step_fn images_open;

/* mountinfo.c: marks the covers that it finds.  Set all fields but the first two to
 * zero before each text. */
struct mountinfo {
	struct cell_cover *cover;
	size_t cover_n;
	unsigned field; /* number of the current field in the line */
	uint64_t id;
	struct cell_cover *line; /* the cover with this line's mount id, or NULL */
	const char *want;        /* the rest of its path; NULL: the path differs */
	unsigned escape;         /* octal digits of "\040" still to come */
	unsigned char value;
};
void mountinfo_byte(struct mountinfo *, char);

/* mount_watch.c: in the leash, handles a CELL_PLACED. */
int watch_placed(struct cell *, const struct cell_order *, struct wire_in *,
    const int *fds, size_t fds_n, char why[CELL_WHY_MAX]);
/* Call after CELL_DONE, if anything is watched. */
int watch_begin(struct cell *);
/* Before the cell exists, whose server could take the last inotify instance. */
void watch_prepare(const struct cell_order *, struct cell *);

/* etc_dev.c: /dev and /etc of the cell */
cell_step_fn synthetic_open_devices;
int synthetic_dev(struct cell_child *, const char *path);
int synthetic_etc(struct cell_child *, const char *path);
const char *synthetic_device_name(size_t i); /* NULL after the last */

/* libcache.c: writes a loader cache of the libraries in the view to to.  -ENOENT,
 * -EXDEV, -E2BIG: no cache, the loader searches. */
int libcache_make(const struct cell_order *, uint8_t *to, size_t cap, size_t *ret_len);

/* net.c, caps.c */
cell_step_fn net_begin, net_join, net_listening, caps_none;

/* sockets.c */
int sockets_open(struct cell_child *);

/* limits.c */
int limits_prepare(
    const struct cell_order *, struct cell *, int *ret_cgroup_fd, char why[CELL_WHY_MAX]);
cell_step_fn limits_set;
void limits_free(struct cell *);

/* landlock.c */
int landlock_check(const struct cell_order *, struct cell *, char why[CELL_WHY_MAX]);
uint64_t landlock_rights(const struct sealed_mount *, uint64_t handled);
uint64_t landlock_device_rights(uint64_t handled);
/* The same for the directory of its own pseudo-terminals. */
uint64_t landlock_tty_rights(uint64_t handled);

/*
 * watched_calls.c: in ret, the filter insn[0..n) which also notifies of these calls,
 * where it allows them.  Returns the number of its instructions; 0: it is too long.
 */
#define WATCHED_INSNS_MAX 4096 /* BPF_MAXINSNS of the kernel */
size_t watched_filter(const struct sealed_insn *insn, size_t n, const uint32_t *call,
    size_t call_n, struct sealed_insn ret[WATCHED_INSNS_MAX]);

/* cell.c */
void cell_lacks(struct cell *, const char *what);
const struct sealed_mount *cell_mounts(const struct cell_order *, size_t *ret_n);

#endif
