/*
 * Landlock: what the running kernel knows of it, and which rights a row of
 * the view stands for.  The second fence behind the mounts; the shim raises
 * it (shim/restrict.c) with the plan that plan.c writes from here.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/cell/private.h"

/* The header of the build host may be older than the kernel. */
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
#define NET_BIND_TCP    (1ULL << 0)
#define NET_CONNECT_TCP (1ULL << 1)
#define SCOPE_ABSTRACT  (1ULL << 0)
#define SCOPE_SIGNAL    (1ULL << 1)

#define CREATE_VERSION 1U /* LANDLOCK_CREATE_RULESET_VERSION */

#define FS_FIRST \
	(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_REMOVE_DIR | \
	    FS_REMOVE_FILE | FS_MAKE_CHAR | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | \
	    FS_MAKE_FIFO | FS_MAKE_BLOCK | FS_MAKE_SYM)

/* The rights that a rule on a file, not a folder, may carry. */
#define FS_OF_FILE \
	(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV | \
	    FS_RESOLVE_UNIX)

/*
 * Neither devices nor programs come to be in a folder that the server may
 * write; and it connects there to its own sockets only, which need no right.
 */
#define FS_OF_WRITE \
	(FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_REMOVE_DIR | FS_REMOVE_FILE | \
	    FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM | \
	    FS_REFER | FS_TRUNCATE)

/* The ladder: what each ABI added, and what is missing below it.  Rungs that
 * only newest kernels have are no lack worth a line in every log. */
static const struct {
	int abi;
	uint64_t fs, net, scoped;
	const char *lack;
} ladder[] = {
    {1, FS_FIRST, 0, 0, NULL},
    {2, FS_REFER, 0, 0, "landlock 2: renames between folders"},
    {3, FS_TRUNCATE, 0, 0, "landlock 3: truncate"},
    {4, 0, NET_BIND_TCP | NET_CONNECT_TCP, 0, "landlock 4: tcp"},
    {5, FS_IOCTL_DEV, 0, 0, "landlock 5: ioctl on devices"},
    {6, 0, 0, SCOPE_ABSTRACT | SCOPE_SIGNAL, "landlock 6: scopes"},
    {9, FS_RESOLVE_UNIX, 0, 0, NULL},
};

void
cell_landlock_probe(struct cell_landlock *ret)
{
	struct cell_landlock l = {0};
	/* early: landlock_create_ruleset */
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	l.abi = abi < 0 ? 0 : (int)abi;
	for (size_t i = 0; i < sizeof(ladder) / sizeof(ladder[0]); i++) {
		if (ladder[i].abi > l.abi)
			continue;
		l.handled_fs |= ladder[i].fs;
		l.handled_net |= ladder[i].net;
		l.scoped |= ladder[i].scoped;
	}
	*ret = l;
}

/* The floor, what the policy requires, and what is missing in between. */
int
landlock_check(const struct cell_order *o, struct cell *cell, char why[CELL_WHY_MAX])
{
	const struct sealed_require *q = o->policy->require + o->server->requires.first;
	struct cell_reason w = {.step = "confine files by Landlock", .object = ""};
	struct cell_landlock l;
	char reason[80];

	cell_landlock_probe(&l);
	if (l.abi < 1) {
		w.reason = "this kernel does not have it, or it is not among its lsm=";
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
	for (size_t i = 0; i < sizeof(ladder) / sizeof(ladder[0]); i++)
		if (ladder[i].abi > l.abi && ladder[i].lack != NULL)
			cell_lacks(cell, ladder[i].lack);
	return 0;
}

/* Which kinds of rows are files; the others are folders or nothing. */
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
	/* An empty folder may be listed; what lies in it has rows of its own, and
	 * a right here would reach down to all of them. */
	if (m->kind == MOUNT_DIR)
		fs &= FS_READ_DIR;
	if (shape[m->kind].file)
		fs &= FS_OF_FILE;
	return fs & handled;
}

uint64_t
landlock_device_rights(uint64_t handled)
{
	return (FS_READ_FILE | FS_WRITE_FILE) & handled;
}
