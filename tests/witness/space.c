/*
 * Namespaces and mounts (witness.h).  Every attempt runs in a child; unconfined
 * it is only ever made by an ordinary user, where all of it needs a user
 * namespace of its own first.
 */
#include "shim/base/array.h"
#include "tests/witness/witness.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int
try_unshare_user(void)
{
	return result(unshare(CLONE_NEWUSER));
}

static int
try_unshare_mount(void)
{
	return result(unshare(CLONE_NEWNS));
}

static int
try_unshare_net(void)
{
	return result(unshare(CLONE_NEWNET));
}

static int
try_unshare_pid(void)
{
	return result(unshare(CLONE_NEWPID));
}

static int
try_unshare_fs(void)
{
	return result(unshare(CLONE_FS));
}

static long
raw_clone(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

static int
try_clone_user(void)
{
	return result(raw_clone(CLONE_NEWUSER));
}

static int
try_clone_all(void)
{
	return result(raw_clone(
	    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC));
}

/* A process that shares the working directory: it could move a judged one. */
static int
try_clone_fs(void)
{
	return result(raw_clone(CLONE_FS));
}

/* In a real new mount namespace (userns first): a mount that hides another. */
static int
try_clone3(void)
{
	struct clone_args a = {.exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &a, sizeof(a));

	if (pid == 0)
		_exit(0);
	return result(pid);
}

static int
try_clone3_user(void)
{
	struct clone_args a = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &a, sizeof(a));

	if (pid == 0)
		_exit(0);
	return result(pid);
}

static int
try_setns(void)
{
	return result(setns(open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC), 0));
}

static int
try_setns_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, 1, 0);

	return result(setns(fd, CLONE_NEWNS));
}

static int
try_mount(void)
{
	return result(mount("none", "/tmp", "tmpfs", 0, ""));
}

static int
try_remount(void)
{
	return result(mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int
try_bind(void)
{
	return result(mount("/", "/tmp", NULL, MS_BIND, NULL));
}

static int
try_umount(void)
{
	return result(umount2("/tmp", MNT_DETACH));
}

static int
try_umount_proc(void)
{
	return result(umount2("/proc", MNT_DETACH));
}

static int
try_fsopen(void)
{
	return result(syscall(SYS_fsopen, "tmpfs", 0));
}

static int
try_open_tree(void)
{
	return result(syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* CLONE */));
}

static int
try_move_mount(void)
{
	return result(syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/", 0));
}

static int
try_mount_setattr(void)
{
	uint64_t attr[4] = {0};

	return result(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attr, sizeof(attr)));
}

static int
try_fspick(void)
{
	return result(syscall(SYS_fspick, AT_FDCWD, "/tmp", 0));
}

static int
try_pivot(void)
{
	return result(syscall(SYS_pivot_root, "/tmp", "/tmp"));
}

int
verb_space(int argc, char **argv)
{
	static const struct probe probes[] = {
	    {"unshare_user", try_unshare_user},
	    {"unshare_mount", try_unshare_mount},
	    {"unshare_net", try_unshare_net},
	    {"unshare_pid", try_unshare_pid},
	    {"unshare_fs", try_unshare_fs},
	    {"clone_user", try_clone_user},
	    {"clone_all", try_clone_all},
	    {"clone_fs", try_clone_fs},
	    {"clone3", try_clone3},
	    {"clone3_user", try_clone3_user},
	    {"setns", try_setns},
	    {"setns_pidfd", try_setns_pidfd},
	    {"mount_tmpfs", try_mount},
	    {"remount", try_remount},
	    {"bind", try_bind},
	    {"umount_tmp", try_umount},
	    {"umount_proc", try_umount_proc},
	    {"fsopen", try_fsopen},
	    {"open_tree", try_open_tree},
	    {"move_mount", try_move_mount},
	    {"mount_setattr", try_mount_setattr},
	    {"fspick", try_fspick},
	    {"pivot_root", try_pivot},
	};

	witness_try_all(probes, ARRAY_LEN(probes));
	return 0;
}
