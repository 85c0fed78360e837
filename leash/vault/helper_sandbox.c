/*
 * The sandbox of a program that prints a secret.
 *
 * Process: a child of the leash between fork and exec, where only system calls are
 * safe.  The program may read what its user may read, and use local services (a key
 * agent, a keyring: Unix sockets with a path).  It may write nothing and reach no
 * network, so a value it misprints, or a program that was changed, has one way out:
 * the pipe.  `may` permits what the policy names.  Stricter rules would break
 * common programs; and a helper is trusted, because it has the secret already.
 *
 * No call of this file is in the leash's allow-list.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/vault/helper.h"
#include "leash/vault/vault.h"
#include "policy/sealed/sealed.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"

#if defined(__x86_64__)
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call table for this architecture"
#endif

/* The policy's and this room's names for the same permissions. */
_Static_assert((unsigned int)SECRET_CMD_NETWORK == (unsigned int)SECRET_MAY_NETWORK &&
		   (unsigned int)SECRET_CMD_WRITE == (unsigned int)SECRET_MAY_FILES &&
		   (unsigned int)SECRET_CMD_FIRST_LINE == (unsigned int)SECRET_FIRST_LINE,
    "flags of a command");

#define X32_BIT  0x40000000U
#define CODE_MAX 192
#define NEW_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	    CLONE_NEWPID | CLONE_NEWNET)

/* Calls that reach other processes, around Landlock, or the kernel. */
static const int refused[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_open_by_handle_at,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_syslog,
    SYS_acct,
    SYS_clock_settime,
    SYS_settimeofday,
};

static const int families_local[] = {AF_UNIX};
static const int families_network[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

static void
put(struct sock_fprog *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	p->filter[p->len++] = (struct sock_filter){code, yes, no, k};
}

static void
put_load(struct sock_fprog *p, size_t at)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0);
}

static void
put_answer(struct sock_fprog *p, uint32_t answer)
{
	put(p, BPF_RET | BPF_K, answer, 0, 0);
}

/* If it is this call: load the low half of an argument (which contains its value on
 * both architectures), else jump over the n instructions that check it. */
static void
put_call(struct sock_fprog *p, int nr, size_t arg, uint8_t n)
{
	put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, (uint8_t)(n + 1));
	put_load(p, offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t));
}

static void
put_families(struct sock_fprog *p, const int *list, uint8_t n)
{
	uint8_t i;

	put_call(p, SYS_socket, 0, (uint8_t)(2 * n + 1));
	for (i = 0; i < n; i++) {
		put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)list[i], 0, 1);
		put_answer(p, SECCOMP_RET_ALLOW);
	}
	put_answer(p, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

static void
filter_make(struct sock_fprog *p, unsigned int may)
{
	size_t i;

	put_load(p, offsetof(struct seccomp_data, arch));
	put(p, BPF_JMP | BPF_JEQ | BPF_K, SANDBOX_ARCH, 1, 0);
	put_answer(p, SECCOMP_RET_KILL_PROCESS);
	put_load(p, offsetof(struct seccomp_data, nr));
	put(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	put_answer(p, SECCOMP_RET_ERRNO | ENOSYS);
	for (i = 0; i < ARRAY_LEN(refused); i++) {
		put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused[i], 0, 1);
		put_answer(p, SECCOMP_RET_ERRNO | EPERM);
	}
	/* its flags are in memory; libraries fall back to clone */
	put(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
	put_answer(p, SECCOMP_RET_ERRNO | ENOSYS);
	put_call(p, SYS_clone, 0, 3);
	put(p, BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1);
	put_answer(p, SECCOMP_RET_ERRNO | EPERM);
	put_answer(p, SECCOMP_RET_ALLOW);
	put_call(p, SYS_ioctl, 1, 4);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 1, 0);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 0, 1);
	put_answer(p, SECCOMP_RET_ERRNO | EPERM);
	put_answer(p, SECCOMP_RET_ALLOW);
	if ((may & SECRET_CMD_NETWORK) != 0)
		put_families(p, families_network, 4);
	else
		put_families(p, families_local, 1);
	put_answer(p, SECCOMP_RET_ALLOW);
}

bool
helper_confine_possible(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 1;
}

/* All files may be read and executed; only devices that store nothing may be written. */
static int
confine_files(unsigned int may)
{
	unsigned int all = CONFINE_READ | CONFINE_EXEC;
	struct confine_path path[2];

	if ((may & SECRET_CMD_WRITE) != 0)
		all |= CONFINE_WRITE;
	path[0].fd = open("/", O_PATH | O_CLOEXEC);
	path[0].may = all;
	path[1].fd = open("/dev/null", O_PATH | O_CLOEXEC);
	path[1].may = CONFINE_READ | CONFINE_WRITE;
	if (path[0].fd < 0 || path[1].fd < 0)
		return -errno;
	return confine_paths_of(
	    path, 2, (may & SECRET_CMD_NETWORK) != 0 ? CONFINE_NETWORK : 0);
	/* the exec closes both */
}

int
helper_confine(unsigned int may)
{
	struct sock_filter code[CODE_MAX];
	struct sock_fprog program = {.filter = code};
	/* 1, not 0: a core handler that the kernel pipes to also runs for 0 */
	struct rlimit core = {1, 1};
	int r;

	if (setrlimit(RLIMIT_CORE, &core) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = confine_files(may);
	if (r < 0)
		return r;
	filter_make(&program, may);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -errno;
	return 0;
}
