/*
 * The cell: namespaces, mounts, loopback, limits, no capabilities.  cell.c is the
 * list of steps; there is one file per kernel facility.
 *
 * Process: the leash, and its child between clone3 and exec.  Trusts the sealed
 * policy, which the loader has already checked, and nothing it finds on disk.  Must
 * never leave a partial cell, or go on after a failed step.
 */
#ifndef KENNEL_LEASH_CELL_CELL_H
#define KENNEL_LEASH_CELL_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/sealed/sealed.h"
#include "shim/shim.h"

#define CELL_WHY_MAX    512
#define CELL_LACKS_MAX  16
#define CELL_IMAGES_MAX 1024
#define CELL_ABSENT_MAX 16

/* Features that the kernel lacks; each becomes one KEY_LACKS of the log. */
struct cell_lack {
	const char *what; /* "landlock 6: scopes", "cgroup memory" */
};

/* A mount over a name that the host may replace or rename (mount_watch.c). */
struct cell_cover {
	const char *path; /* the row's target; points into the policy */
	uint64_t mount_id;
	uint32_t row; /* index in the server's mounts */
	bool seen;    /* in place at the last check */
};

/* An inotify watch: if its name moves, the row's cover has moved away from the name. */
struct cell_move {
	int wd;
	uint32_t row;
};

struct cell;

struct cell_order {
	const struct policy *policy;
	const struct sealed_server *server;
	int stdin_fd; /* the server's ends; must not be -1 */
	int stdout_fd;
	int stderr_fd;
	int shim_fd; /* sealed memfd with the shim's image */
	int log_dir; /* where the places of cells are (place.c) */
	/* The cell's sockets are sent to kennel-egress (leash/egress/egress.h).  If
	 * false, the cell has a loopback and no other address. */
	bool has_relay;
	/* Starts it, once, when there are sockets for it: this process and a processor have
	 * nothing else to do then. Fails like begun; *ret_fd is borrowed. */
	int (*relay)(const struct cell_order *, int *ret_fd);
	/* System calls that notify the gate where the filter allows them
	 * (watched_calls.c); NULL: none. */
	const uint32_t *watched;
	size_t watched_n;
	/* Called in the leash once the cell's first process no longer waits for it:
	 * the view is known but unused.  A result other than 0 (not -EBADMSG) ends the
	 * cell with that result and leaves why unchanged.  May be NULL. */
	int (*begun)(const struct cell_order *, const struct cell *);
	void *begun_arg;
};

struct cell {
	pid_t pid;     /* PID 1 of the cell, as the host sees it */
	int pidfd;     /* readable when the cell is gone */
	int channel;   /* to the shim (shim/shim.h) */
	int *image_fd; /* O_PATH, opened inside: one per row of the
					 * server's images range; owned */
	size_t image_n;
	struct cell_cover *cover; /* owned; NULL: none */
	size_t cover_n;
	struct cell_move *move; /* owned */
	size_t move_n;
	uint32_t absent[CELL_ABSENT_MAX]; /* rows of `hide` with nothing to cover: */
	size_t absent_n;                  /* only the first CELL_ABSENT_MAX */
	int mounts_fd;    /* the cell's mountinfo (POLLPRI), if there are covers; -1 */
	int moves_fd;     /* inotify (POLLIN), if a covered name can be renamed; -1 */
	int place_fd;     /* holds its place (place.c), or -1 */
	uid_t uid;        /* host uid the server runs as */
	char cgroup[256]; /* path of its own cgroup, or "" */
	struct cell_lack lack[CELL_LACKS_MAX];
	size_t lack_n;
};

/* The Landlock features of the running kernel, for the plan. */
struct cell_landlock {
	uint64_t handled_fs, scoped;
	int abi; /* 0: none */
};

/*
 * Creates the cell up to the shim, which then waits for its plan.  On failure
 * returns -errno, leaves nothing, and why names the step, the object, the reason
 * and the policy line if one is the cause.
 */
int cell_start(const struct cell_order *, struct cell *ret, char why[CELL_WHY_MAX]);

/* The server's seccomp filter for this machine, or NULL. */
const struct sealed_filter *cell_filter(const struct cell_order *);
/*
 * Writes the plan (shim/shim.h) for this server: Landlock rules from the mounts,
 * the filter for this machine, cwd, program and argv.  The caller then adds the
 * environment (env_write) and sends the plan with cell_send_plan.
 */
int cell_plan(const struct cell_order *, const char *path, const char *const *argv,
    size_t argc, struct wire_out *);
/* The server gets the descriptors from SHIM_FILE_FD on, at most SHIM_FILES_MAX; the
 * caller keeps its own. */
int cell_send_plan(
    struct cell *, const struct wire_out *, const int *files, size_t files_n);
/* After SHIM_SHUT: fetches the notify descriptor from the shim. */
int cell_notify_fd(struct cell *, uint32_t number, int *ret_fd);

/*
 * Is each cover in place?  Call when mounts_fd or moves_fd is ready; this clears
 * the event.  0; -ENOENT: *ret_lost is the row of a cover that is not in place;
 * another -errno: no cover could be checked (and *ret_lost is one of them).
 */
int cell_watch(struct cell *, const struct policy *, const struct sealed_server *,
    const struct sealed_mount **ret_lost);

/* Kills every process in the cell immediately.  Safe to call twice. */
void cell_kill(struct cell *);
/* Reaps PID 1, removes the cgroup, closes everything. */
void cell_free(struct cell *);

/* For doctor and cell_start: the running kernel's ABI and masks. */
void cell_landlock_probe(struct cell_landlock *ret);

/* ns.c: writes text to a kernel's file below dir, which is no symlink.  0 or -errno. */
int cell_put_at(int dir, const char *name, const char *text);

#endif
