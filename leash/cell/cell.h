/*
 * The cell: namespaces, mounts, loopback, limits, no capabilities.  cell.c is
 * the list of steps, one file per kernel facility does them.
 *
 * Process: the leash, and between clone3 and exec its child.  Trusts the
 * sealed policy (already checked by the loader) and nothing it finds on disk.
 * Must never: leave a half-made cell behind; go on after a failed step.
 */
#ifndef KENNEL_LEASH_CELL_CELL_H
#define KENNEL_LEASH_CELL_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/sealed/policy.h"
#include "shim/shim.h"

#define CELL_WHY_MAX    512
#define CELL_LACKS_MAX  16
#define CELL_IMAGES_MAX 1024

/* What the kernel could not give; each is one KEY_LACKS of the log. */
struct cell_lack {
	const char *what; /* "landlock 6: scopes", "cgroup memory" */
};

struct cell;

struct cell_order {
	const struct policy *policy;
	const struct sealed_server *server;
	int stdin_fd; /* the server's ends; -1 is not allowed */
	int stdout_fd;
	int stderr_fd;
	int shim_fd; /* sealed memfd with the shim's image */
	/* Called in the leash once the cell's first process goes on by itself:
	 * what it will see is known, nothing of it is used yet.  Not 0: the cell is
	 * ended with this result (not -EBADMSG), and why is left alone.  May be
	 * NULL. */
	int (*begun)(const struct cell_order *, const struct cell *);
	void *begun_arg;
};

struct cell {
	pid_t pid;     /* PID 1 of the cell, as the host sees it */
	int pidfd;     /* fires when the cell is gone */
	int channel;   /* to the shim (shim/shim.h) */
	int *image_fd; /* O_PATH, opened inside: one per row of the
					 * server's images range; owned */
	size_t image_n;
	uid_t uid;        /* host uid the server runs as */
	char cgroup[256]; /* path of its own cgroup, or "" */
	struct cell_lack lack[CELL_LACKS_MAX];
	size_t lack_n;
};

/* Landlock as far as the running kernel knows it: what goes into the plan. */
struct cell_landlock {
	uint64_t handled_fs, handled_net, scoped;
	int abi; /* 0: none */
};

/*
 * Make the cell up to the shim, which then waits for its plan.  On failure
 * nothing is left and why says the step, the object, the reason and the
 * policy's line where one is to blame; -errno.
 */
int cell_start(const struct cell_order *, struct cell *ret, char why[CELL_WHY_MAX]);

/* The server's filter for this machine, or NULL. */
const struct sealed_filter *cell_filter(const struct cell_order *);
/*
 * Write the plan (shim/shim.h) for this server: Landlock rules from the
 * mounts, the filter for this machine, cwd, program and argv.  The caller then
 * adds the environment (env_write) and sends with cell_send_plan.
 */
int cell_plan(const struct cell_order *, const char *path, const char *const *argv,
    size_t argc, struct wire_out *);
/* The descriptors, at most SHIM_FILES_MAX, are the server's from SHIM_FILE_FD on;
 * they stay the caller's here. */
int cell_send_plan(
    struct cell *, const struct wire_out *, const int *files, size_t files_n);
/* After SHIM_SHUT: fetch the notify descriptor from the shim. */
int cell_notify_fd(struct cell *, uint32_t number, int *ret_fd);

/* Kill every process in the cell, now.  Safe to call twice. */
void cell_kill(struct cell *);
/* Reap PID 1, remove the cgroup, close everything. */
void cell_free(struct cell *);

/* For doctor and cell_start: the running kernel's ABI and masks. */
void cell_landlock_probe(struct cell_landlock *ret);

#endif
