/*
 * What a start costs at least: the kernel's part of a cell, made by a program that does
 * nothing else.  No policy, no check, no message format, no recorder, no relay: one
 * process reads nothing and starts nothing but the program.
 *
 *	floor FILE PROG ARG...	runs PROG as /first in a cell; FILE gets the record
 *
 * The work is kennel's: all namespaces (the network's in parallel with the mounts), id
 * maps, a root with proc, dev and tmp, one file bound, the old root gone, no capability,
 * Landlock, a seccomp filter with a notification for execve, and a record of one page
 * on disk before the program runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | \
	    CLONE_NEWCGROUP)
#define CALLS  300 /* of the filter: as many as a server's */
#define GROUP  100 /* of them have one answer */
#define RECORD 4096
#define BYTE   1

#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

static void
need(long r, const char *what)
{
	if (r < 0) {
		perror(what);
		_exit(1);
	}
}

static void
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	need(fd, path);
	need(write(fd, text, strlen(text)), path);
	close(fd);
}

static int
new_mount(const char *type)
{
	int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);

	need(fs, "fsopen");
	need(syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0), "fsconfig");
	int tree = (int)syscall(
	    SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	need(tree, "fsmount");
	close(fs);
	return tree;
}

static void
attach(int tree, int dir, const char *name)
{
	int flags =
	    MOVE_MOUNT_F_EMPTY_PATH | (*name == '\0' ? MOVE_MOUNT_T_EMPTY_PATH : 0);

	need(syscall(SYS_move_mount, tree, "", dir, name, flags), name);
	close(tree);
}

static int
tree_of(const char *path)
{
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path,
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	need(tree, path);
	return tree;
}

static void
mounts(const char *program)
{
	static const char *const device[] = {"null", "zero", "full", "random", "urandom"};
	char path[32];
	int clone[5], root, dev, bound, host;

	need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bound = tree_of(program);
	for (int i = 0; i < 5; i++) {
		(void)snprintf(path, sizeof(path), "/dev/%s", device[i]);
		clone[i] = tree_of(path);
	}
	root = new_mount("tmpfs");
	dev = dup(root);
	attach(dev, host, "");
	need(mkdirat(root, "dev", 0755), "dev");
	need(mkdirat(root, "proc", 0755), "proc");
	need(mkdirat(root, "tmp", 01777), "tmp");
	need(mknodat(root, "first", S_IFREG | 0444, 0), "first");
	dev = openat(root, "dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 5; i++) {
		need(mknodat(dev, device[i], S_IFREG | 0444, 0), device[i]);
		attach(clone[i], dev, device[i]);
	}
	attach(new_mount("proc"), root, "proc");
	attach(new_mount("tmpfs"), root, "tmp");
	attach(bound, root, "first");
	need(fchdir(root), "root");
	need(syscall(SYS_pivot_root, ".", "."), "pivot_root");
	need(umount2(".", MNT_DETACH), "umount2");
	need(chdir("/"), "/");
	close(root);
}

/* In the child of the cell's first process: the network's namespace. */
static int
network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int sock, fd;

	need(unshare(CLONE_NEWNET), "network");
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	fd = ioctl(sock, SIOCGSKNS);
	need(fd, "network");
	need(ioctl(sock, SIOCSIFFLAGS, &lo), "loopback");
	close(sock);
	return fd;
}

static void
no_capabilities(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		need(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0), "bounding set");
	need(syscall(SYS_capset, &head, none), "capset");
	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
}

static void
landlock(void)
{
	struct landlock_ruleset_attr set = {
	    .handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof(set), 0);
	struct landlock_path_beneath_attr may = {LANDLOCK_ACCESS_FS_EXECUTE, -1};

	need(rules, "landlock");
	may.parent_fd = open("/first", O_PATH | O_CLOEXEC);
	need(syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &may, 0),
	    "rule");
	need(syscall(SYS_landlock_restrict_self, rules, 0), "landlock");
	close(may.parent_fd);
	close(rules);
}

/* A list of calls, each compared by itself, as in a filter of libseccomp's; returns the
 * listener for execve. */
static int
filter(void)
{
	static struct sock_filter code[2 * CALLS + 8];
	struct sock_fprog p = {.filter = code};

	code[p.len++] = (struct sock_filter)BPF_STMT(
	    BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	code[p.len++] =
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1);
	code[p.len++] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	for (unsigned int i = 0; i < CALLS; i++) {
		unsigned int left = GROUP - 1 - i % GROUP; /* to the group's answer */

		code[p.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		    i + (i >= SYS_execve), (uint8_t)left, left == 0);
		if (left == 0)
			code[p.len++] = (struct sock_filter)BPF_STMT(
			    BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[p.len++] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	return (int)syscall(
	    SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p);
}

static _Noreturn void
cell(int up, int down, char **argv)
{
	int *ns =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t helper;
	int listener;
	char byte;

	need(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable");
	need(write(up, "r", BYTE), "ready");
	helper = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, 0);
	if (helper == 0) {
		*ns = network();
		_exit(0);
	}
	need(read(down, &byte, BYTE), "maps");
	mounts(argv[0]);
	need(waitpid(helper, NULL, __WALL), "helper");
	need(setns(*ns, CLONE_NEWNET), "network");
	no_capabilities();
	landlock();
	listener = filter();
	need(listener, "filter");
	need(write(up, &listener, sizeof(listener)), "listener");
	need(read(down, &byte, BYTE), "go");
	argv[0] = (char *)"/first";
	execv(argv[0], argv);
	_exit(127);
}

static void
maps(pid_t pid)
{
	char path[64], text[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/setgroups", pid);
	put(path, "deny");
	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	(void)snprintf(text, sizeof(text), "%u %u 1\n", geteuid(), geteuid());
	put(path, text);
	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	(void)snprintf(text, sizeof(text), "%u %u 1\n", getegid(), getegid());
	put(path, text);
}

static void
record(const char *file)
{
	static const char page[RECORD];
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	need(fd, file);
	need(pwrite(fd, page, sizeof(page), 0), file);
	need(fdatasync(fd), file);
	close(fd);
}

int
main(int argc, char **argv)
{
	struct clone_args args = {.flags = SPACES | CLONE_PIDFD, .exit_signal = SIGCHLD};
	struct seccomp_notif ask;
	struct seccomp_notif_resp yes = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	int up[2], down[2], pidfd = -1, number, status, listener;
	char byte;

	if (argc < 3)
		return 64;
	need(pipe2(up, O_CLOEXEC), "pipe");
	need(pipe2(down, O_CLOEXEC), "pipe");
	args.pidfd = (uint64_t)(uintptr_t)&pidfd;
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	need(pid, "clone3");
	if (pid == 0)
		cell(up[1], down[0], argv + 2);
	need(read(up[0], &byte, BYTE), "ready");
	maps(pid);
	need(write(down[1], "m", BYTE), "maps");
	record(argv[1]);
	need(read(up[0], &number, sizeof(number)), "listener");
	listener = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	need(listener, "listener");
	need(write(down[1], "g", BYTE), "go");
	memset(&ask, 0, sizeof(ask));
	need(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask), "notification");
	yes.id = ask.id;
	need(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &yes), "answer");
	need(waitpid(pid, &status, 0), "wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
