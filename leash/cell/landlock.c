/*
 * Landlock: the features of the running kernel, and the rights of each kind of row.
 * It is the second layer after the mounts.  The shim applies it (shim/restrict.c),
 * with the plan that shim_plan.c writes from this file.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/array.h"

/* The build host's header may be older than the kernel. */
#define FS_EXECUTE      (1ULL << 0)
#define FS_WRITE_FILE   (1ULL << 1)
#define FS_READ_FILE    (1ULL << 2)
#define FS_READ_DIR     (1ULL << 3)
#define FS_REMOVE_DIR   (1ULL << 4)
#define FS_REMOVE_FILE  (1ULL << 5)
#define FS_MAKE_CHAR    (1ULL << 6)
#define FS_MAKE_DIR     (1ULL << 7)
#define FS_MAKE_REG     (1ULL << 8)
#define FS_MAKE_SOCK    (1ULL << 9)
#define FS_MAKE_FIFO    (1ULL << 10)
#define FS_MAKE_BLOCK   (1ULL << 11)
#define FS_MAKE_SYM     (1ULL << 12)
#define FS_REFER        (1ULL << 13)
#define FS_TRUNCATE     (1ULL << 14)
#define FS_IOCTL_DEV    (1ULL << 15)
#define FS_RESOLVE_UNIX (1ULL << 16)
#define SCOPE_ABSTRACT  (1ULL << 0)
#define SCOPE_SIGNAL    (1ULL << 1)

#define CREATE_VERSION 1U /* LANDLOCK_CREATE_RULESET_VERSION */

#define FS_FIRST \
	(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_REMOVE_DIR | \
	    FS_REMOVE_FILE | FS_MAKE_CHAR | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | \
	    FS_MAKE_FIFO | FS_MAKE_BLOCK | FS_MAKE_SYM)

/* The rights that a rule on a file, not a directory, may carry. */
#define FS_OF_FILE \
	(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV | \
	    FS_RESOLVE_UNIX)

/*
 * In a directory that the server may write, it may neither create devices nor
 * execute programs.  It connects there to its own sockets only, which needs no
 * right.
 */
#define FS_OF_WRITE \
	(FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_REMOVE_DIR | FS_REMOVE_FILE | \
	    FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM | \
	    FS_REFER | FS_TRUNCATE)

/*
 * The features by ABI: what each added, and what is missing below it.  Features
 * that only the newest kernels have are not reported as missing.  TCP (ABI 4) is
 * not used: its rights know ports but no addresses, so they would either block the
 * server's own loopback or leave a port open to every address.  The network
 * namespace confines TCP.
 */
static const struct {
	int abi;
	uint64_t fs, scoped;
	const char *lack;
} ladder[] = {
    {1, FS_FIRST, 0, NULL},
    {2, FS_REFER, 0, "landlock 2: renames between directories"},
    {3, FS_TRUNCATE, 0, "landlock 3: truncate"},
    {5, FS_IOCTL_DEV, 0, "landlock 5: ioctl on devices"},
    {6, 0, SCOPE_ABSTRACT | SCOPE_SIGNAL, "landlock 6: scopes"},
    {9, FS_RESOLVE_UNIX, 0, NULL},
};

void
cell_landlock_probe(struct cell_landlock *ret)
{
	struct cell_landlock l = {0};
	/* early: landlock_create_ruleset */
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	l.abi = abi < 0 ? 0 : (int)abi;
	for (size_t i = 0; i < ARRAY_LEN(ladder); i++) {
		if (ladder[i].abi > l.abi)
			continue;
		l.handled_fs |= ladder[i].fs;
		l.scoped |= ladder[i].scoped;
	}
	*ret = l;
}

/* Requires ABI 1 and what the policy requires; reports what else is missing. */
int
landlock_check(const struct cell_order *o, struct cell *cell, char why[CELL_WHY_MAX])
{
	const struct sealed_require *q = o->policy->require + o->server->requires.first;
	struct cell_reason w = {.step = "confine files by Landlock", .object = ""};
	struct cell_landlock l;
	char reason[80];

	cell_landlock_probe(&l);
	if (l.abi < 1) {
		w.reason = "the kernel does not support it, or its lsm= parameter does "
			   "not list landlock";
		return cell_say(why, o->policy, -EOPNOTSUPP, &w);
	}
	for (uint32_t i = 0; i < o->server->requires.n; i++) {
		if (q[i].kind != REQUIRE_LANDLOCK || q[i].value <= (uint32_t)l.abi)
			continue;
		snprintf(reason, sizeof(reason),
		    "landlock %u is required, this kernel has %d", q[i].value, l.abi);
		w.reason = reason;
		w.at = q[i].at;
		return cell_say(why, o->policy, -EOPNOTSUPP, &w);
	}
	for (size_t i = 0; i < ARRAY_LEN(ladder); i++)
		if (ladder[i].abi > l.abi && ladder[i].lack != NULL)
			cell_lacks(cell, ladder[i].lack);
	return 0;
}

/* Which kinds of rows are files or directories; the others are neither. */
static const struct {
	bool file, folder;
} shape[MOUNT_HIDE + 1] = {
    [MOUNT_DIR] = {false, true},
    [MOUNT_FILE] = {true, false},
    [MOUNT_TREE] = {false, true},
    [MOUNT_TMPFS] = {false, true},
    [MOUNT_PROC] = {false, true},
    [MOUNT_DEV] = {false, true},
    [MOUNT_SHM] = {false, true},
    [MOUNT_ETC] = {false, true},
};

uint64_t
landlock_rights(const struct sealed_mount *m, uint64_t handled)
{
	uint64_t fs = 0;

	if (m->kind > MOUNT_HIDE || (!shape[m->kind].file && !shape[m->kind].folder))
		return 0;
	if ((m->right & RIGHT_READ) != 0)
		fs |= FS_READ_FILE | FS_READ_DIR;
	if ((m->right & RIGHT_START) != 0)
		fs |= FS_READ_FILE | FS_EXECUTE;
	if ((m->right & RIGHT_WRITE) != 0)
		fs |= FS_OF_WRITE;
	/* An empty directory may be listed.  Its entries have rows of their own, and a
	 * right here would apply to all of them. */
	if (m->kind == MOUNT_DIR)
		fs &= FS_READ_DIR;
	if (shape[m->kind].file)
		fs &= FS_OF_FILE;
	return fs & handled;
}

/* A terminal is of no use without its ioctls; seccomp refuses TIOCSTI and TIOCLINUX. */
uint64_t
landlock_tty_rights(uint64_t handled)
{
	return (FS_READ_FILE | FS_WRITE_FILE | FS_READ_DIR | FS_IOCTL_DEV) & handled;
}

uint64_t
landlock_device_rights(uint64_t handled)
{
	return (FS_READ_FILE | FS_WRITE_FILE) & handled;
}
