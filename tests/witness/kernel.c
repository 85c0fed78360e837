/*
 * System calls that no server needs and that others' sandboxes let through
 * (witness.h).  Arguments are such that an unconfined ordinary user does no
 * harm: the answer is in the errno.
 */
#include "shim/base/array.h"
#include "tests/witness/witness.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCLINUX
#define TIOCLINUX 0x541c
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#define X32_BIT 0x40000000L

static int
try_keyctl(void)
{
	return result(
	    syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
}

static int
try_add_key(void)
{
	return result(syscall(
	    SYS_add_key, "user", "kennel-witness", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

static int
try_request_key(void)
{
	int r = result(syscall(SYS_request_key, "user", "kennel-none", NULL, 0));

	return r == -ENOKEY ? 0 : r; /* the kernel answered: it was let through */
}

static int
try_io_uring(void)
{
	struct io_uring_params p = {0};

	return result(syscall(SYS_io_uring_setup, 4, &p));
}

static int
try_bpf(void)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_ARRAY,
	    .key_size = 4,
	    .value_size = 4,
	    .max_entries = 1};

	return result(syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a)));
}

static int
try_perf(void)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(a),
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .exclude_kernel = 1};

	return result(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
}

static int
try_userfaultfd(void)
{
	return result(syscall(SYS_userfaultfd, 1 /* user mode only */ | O_CLOEXEC));
}

static int
try_listener(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = {1, &allow};

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* the call says if not */
	return result(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog));
}

static int
try_memfd_exec(void)
{
	return result(syscall(SYS_memfd_create, "w", MFD_EXEC));
}

static int
try_memfd_plain(void)
{
	return result(syscall(SYS_memfd_create, "w", 0));
}

static int
try_handle_name(void)
{
	struct {
		uint32_t bytes;
		int type;
		unsigned char handle[128];
	} h = {128, 0, {0}};
	int id;

	return result(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &h, &id, 0));
}

static int
try_handle_open(void)
{
	struct {
		uint32_t bytes;
		int type;
		unsigned char handle[8];
	} h = {8, 1, {2}};
	int dir = open("/", O_RDONLY | O_DIRECTORY);

	return result(syscall(SYS_open_by_handle_at, dir, &h, O_RDONLY));
}

static int
try_mknod(void)
{
	return result(mknod("/tmp/witness-node", S_IFCHR | 0600, makedev(1, 5)));
}

static int
try_chroot(void)
{
	return result(chroot("/"));
}

static int
try_hostname(void)
{
	return result(sethostname("x", 1));
}

static int
try_module(void)
{
	return result(syscall(SYS_finit_module, -1, "", 0));
}

static int
try_kexec(void)
{
	return result(syscall(SYS_kexec_load, 0, 0, NULL, 0));
}

static int
try_syslog(void)
{
	return result(syscall(SYS_syslog, 10, NULL, 0));
}

static int
try_swapon(void)
{
	return result(syscall(SYS_swapon, "/none", 0));
}

static int
try_iopl(void)
{
	return result(syscall(SYS_iopl, 3));
}

static int
try_fanotify(void)
{
	return result(syscall(SYS_fanotify_init, 0x200, 0));
}

static int
try_quota(void)
{
	return result(syscall(SYS_quotactl, 0x80000100, NULL, 0, NULL));
}

static int
try_lookup_dcookie(void)
{
	return result(syscall(SYS_lookup_dcookie, 0, NULL, 0));
}

/* getpid by the x32 table: bit 30 of the number. */
static int
try_x32(void)
{
	return result(syscall(X32_BIT | SYS_getpid));
}

/* getpid by the 32-bit table: number 20 by the old gate. */
static int
try_int80(void)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(20L)
			 : "memory", "r8", "r9", "r10", "r11");
	return r < 0 ? (int)r : 0;
}

static int
try_unknown(void)
{
	return result(syscall(511));
}

static int
try_open_tree_attr(void)
{
	return result(syscall(467, -1, "", 0, NULL, 0));
}

static int
try_mmap_exec_anonymous(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

static int
try_sysctl(void)
{
	int fd = open("/proc/sys/kernel/core_pattern", O_WRONLY);

	return result(fd);
}

static int
try_sysrq(void)
{
	return result(open("/proc/sysrq-trigger", O_WRONLY));
}

static int
try_release_agent(void)
{
	return result(open("/sys/fs/cgroup/release_agent", O_WRONLY));
}

static int
try_cgroup(void)
{
	return result(open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY));
}

static int
try_fuse(void)
{
	return result(open("/dev/fuse", O_RDWR));
}

static int
try_uffd_device(void)
{
	return result(open("/dev/userfaultfd", O_RDWR));
}

int
verb_kernel(int argc, char **argv)
{
	static const struct probe probes[] = {
	    {"keyctl", try_keyctl},
	    {"add_key", try_add_key},
	    {"request_key", try_request_key},
	    {"io_uring_setup", try_io_uring},
	    {"bpf", try_bpf},
	    {"perf_event_open", try_perf},
	    {"userfaultfd", try_userfaultfd},
	    {"dev_userfaultfd", try_uffd_device},
	    {"dev_fuse", try_fuse},
	    {"new_listener", try_listener},
	    {"memfd_exec_flag", try_memfd_exec},
	    {"memfd_plain", try_memfd_plain},
	    {"name_to_handle_at", try_handle_name},
	    {"open_by_handle_at", try_handle_open},
	    {"mknod", try_mknod},
	    {"chroot", try_chroot},
	    {"sethostname", try_hostname},
	    {"finit_module", try_module},
	    {"kexec_load", try_kexec},
	    {"syslog", try_syslog},
	    {"swapon", try_swapon},
	    {"iopl", try_iopl},
	    {"fanotify_init", try_fanotify},
	    {"quotactl", try_quota},
	    {"lookup_dcookie", try_lookup_dcookie},
	    {"x32", try_x32},
	    {"int80", try_int80},
	    {"unknown_511", try_unknown},
	    {"open_tree_attr", try_open_tree_attr},
	    {"mmap_exec_anonymous", try_mmap_exec_anonymous},
	    {"write_core_pattern", try_sysctl},
	    {"write_sysrq", try_sysrq},
	    {"release_agent", try_release_agent},
	    {"cgroupfs", try_cgroup},
	};

	witness_try_all(probes, ARRAY_LEN(probes));
	return 0;
}

/* ---- terminals ------------------------------------------------------------ */

static int
try_tiocsti(void)
{
	return result(syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI, "#"));
}

/* The kernel takes 32 bits of the command, a filter may compare 64. */
static int
try_tiocsti_high(void)
{
	return result(syscall(SYS_ioctl, 0, (1UL << 32) | TIOCSTI, "#"));
}

static int
try_tioclinux(void)
{
	char paste = 3;

	return result(syscall(SYS_ioctl, 0, (unsigned long)TIOCLINUX, &paste));
}

static int
try_tioclinux_high(void)
{
	char paste = 3;

	return result(syscall(SYS_ioctl, 0, (1UL << 32) | TIOCLINUX, &paste));
}

static int
try_tiocsctty(void)
{
	(void)setsid(); /* EPERM when it leads one already */
	return result(syscall(SYS_ioctl, 0, (unsigned long)TIOCSCTTY, 0));
}

static int
try_dev_tty(void)
{
	return result(open("/dev/tty", O_RDWR));
}

static int
try_ptmx(void)
{
	return result(open("/dev/ptmx", O_RDWR | O_NOCTTY));
}

static int
try_isatty(void)
{
	return isatty(0) ? 0 : -errno;
}

int
verb_tty(int argc, char **argv)
{
	static const struct probe probes[] = {
	    {"isatty", try_isatty},
	    {"tiocsti", try_tiocsti},
	    {"tiocsti_bit32", try_tiocsti_high},
	    {"tioclinux", try_tioclinux},
	    {"tioclinux_bit32", try_tioclinux_high},
	    {"tiocsctty", try_tiocsctty},
	    {"dev_tty", try_dev_tty},
	    {"dev_ptmx", try_ptmx},
	};

	witness_try_all(probes, ARRAY_LEN(probes));
	return 0;
}
