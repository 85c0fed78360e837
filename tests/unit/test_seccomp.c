/*
 * The system call filter: the finished program, run by a small interpreter on
 * calls of both architectures, and by the kernel on this one.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "tests/unit/child.h"
#include <seccomp.h>

#include "policy/compile/seccomp_rows.h"
#include "policy/base/syscall_list.h"
#include "policy/sealed/load.h"

#define X86    AUDIT_ARCH_X86_64
#define ARM    AUDIT_ARCH_AARCH64
#define ALLOW  SECCOMP_RET_ALLOW
#define KILL   SECCOMP_RET_KILL_PROCESS
#define ASK    SECCOMP_RET_USER_NOTIF
#define ERR(e) (SECCOMP_RET_ERRNO | (e))
#define HIGH   0x100000000ull

struct program {
	struct sealed_insn insn[SEALED_INSNS_MAX];
	uint32_t n;
};
static struct program programs[2]; /* X86, ARM */

static uint32_t
load_word(const struct seccomp_data *d, uint32_t k)
{
	uint32_t v;

	assert_true(k % 4 == 0 && k <= sizeof(*d) - 4);
	memcpy(&v, (const char *)d + k, 4);
	return v;
}

static bool
jump(const struct sealed_insn *i, uint32_t a)
{
	switch (i->code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		return a == i->k;
	case BPF_JMP | BPF_JGT | BPF_K:
		return a > i->k;
	case BPF_JMP | BPF_JGE | BPF_K:
		return a >= i->k;
	case BPF_JMP | BPF_JSET | BPF_K:
		return (a & i->k) != 0;
	}
	fail_msg("opcode %x", i->code);
	return false;
}

static uint32_t
run(const struct program *p, const struct seccomp_data *d)
{
	const struct sealed_insn *i;
	uint32_t a = 0, pc = 0;

	for (;;) {
		assert_true(pc < p->n);
		i = &p->insn[pc++];
		if (i->code == (BPF_RET | BPF_K))
			return i->k;
		if (i->code == (BPF_LD | BPF_W | BPF_ABS))
			a = load_word(d, i->k);
		else if (i->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= i->k;
		else if (i->code == (BPF_JMP | BPF_JA))
			pc += i->k;
		else
			pc += jump(i, a) ? i->jt : i->jf;
	}
}

static int
group_setup(void **state)
{
	static const uint32_t arch[] = {X86, ARM};
	struct load l = {.why = NULL};
	struct sealer *s = sealer_new();
	struct sealed_range range;
	struct sealed_filter *f, one;
	size_t i;

	for (i = 0; i < 2; i++) {
		if (filter_build(s, arch[i], (struct sealed_range){0, 0}, &range) < 0 ||
		    range.n != 1)
			return -1;
		f = sealer_at(s, SEALED_FILTERS, range.first);
		if (f->arch != arch[i] || f->insns.n > SEALED_INSNS_MAX)
			return -1;
		programs[i].n = f->insns.n;
		memcpy(programs[i].insn, sealer_at(s, SEALED_INSNS, f->insns.first),
		    f->insns.n * sizeof(struct sealed_insn));
		l.p.insn = programs[i].insn;
		one =
		    (struct sealed_filter){.insns = {0, programs[i].n}, .arch = arch[i]};
		if (load_bpf(&l, &one) < 0)
			return -1;
		print_message("%08x: %u instructions\n", arch[i], programs[i].n);
	}
	sealer_free(s);
	return 0;
}

static uint32_t
verdict(uint32_t arch, const char *name, const uint64_t arg[4])
{
	struct seccomp_data d = {.arch = arch};

	d.nr = seccomp_syscall_resolve_name_arch(arch, name);
	assert_int_not_equal(d.nr, __NR_SCMP_ERROR);
	if (d.nr < 0)
		return ERR(ENOSYS); /* no such call there */
	memcpy(d.args, arg, 4 * sizeof(arg[0]));
	return run(&programs[arch == ARM], &d);
}

#define NEWS(f) \
	{"clone", {f | SIGCHLD}, ERR(EPERM)}, \
	{ \
		"clone", {f | HIGH}, ERR(EPERM) \
	}

static const struct {
	const char *name;
	uint64_t arg[4];
	uint32_t want;
} calls[] = {
    {"execve", {0}, ASK}, {"execveat", {0}, ASK}, {"read", {0}, ALLOW},
    {"openat2", {0}, ERR(ENOSYS)}, {"statx", {0}, ALLOW}, {"getdents64", {0}, ALLOW},
    {"rseq", {0}, ALLOW}, {"mprotect", {0}, ALLOW},
    {"landlock_restrict_self", {0}, ALLOW}, {"epoll_pwait2", {0}, ALLOW},
    {"close_range", {0}, ALLOW}, {"prlimit64", {0}, ALLOW},
    {"setrlimit", {RLIMIT_NOFILE, 1}, ALLOW}, {"setrlimit", {RLIMIT_CORE, 1}, ERR(EPERM)},
    {"setrlimit", {RLIMIT_CORE | HIGH, 1}, ERR(EPERM)},
    {"getrlimit", {RLIMIT_CORE, 1}, ALLOW},
    {"prlimit64", {0, RLIMIT_NOFILE, 1, 1}, ALLOW},
    {"prlimit64", {HIGH, RLIMIT_NOFILE, 1}, ALLOW}, /* a pid is 32 bits */
    {"prlimit64", {0, RLIMIT_CORE, 0, 1}, ALLOW},
    {"prlimit64", {0, RLIMIT_CORE, 1}, ERR(EPERM)},
    {"prlimit64", {HIGH, RLIMIT_CORE | HIGH, HIGH}, ERR(EPERM)},
    {"prlimit64", {1, RLIMIT_NOFILE}, ERR(EPERM)},
    {"prlimit64", {1, RLIMIT_CPU, 1}, ERR(EPERM)},
    {"prlimit64", {0xffffffff, RLIMIT_CPU, 1}, ERR(EPERM)}, {"clone3", {0}, ERR(ENOSYS)},
    {"clone", {SIGCHLD}, ALLOW}, {"clone", {CLONE_VM | CLONE_VFORK | SIGCHLD}, ALLOW},
    {"clone", {0x3d0f00}, ALLOW}, /* a thread of glibc */
    {"clone", {0x50f00}, ALLOW},  /* a thread of Go */
    {"clone", {CLONE_FS | SIGCHLD}, ERR(EPERM)},
    {"clone", {CLONE_FS | CLONE_VM | CLONE_VFORK}, ERR(EPERM)},
    {"clone", {CLONE_FS | HIGH}, ERR(EPERM)},
    {"clone", {CLONE_FS | CLONE_THREAD | CLONE_NEWUSER}, ERR(EPERM)}, NEWS(CLONE_NEWUSER),
    NEWS(CLONE_NEWNS), NEWS(CLONE_NEWPID), NEWS(CLONE_NEWNET), NEWS(CLONE_NEWIPC),
    NEWS(CLONE_NEWUTS), NEWS(CLONE_NEWCGROUP), {"unshare", {CLONE_FILES}, ALLOW},
    {"unshare", {0}, ERR(EPERM)}, {"unshare", {CLONE_NEWUSER}, ERR(EPERM)},
    {"unshare", {CLONE_NEWUSER | CLONE_FILES}, ERR(EPERM)},
    {"unshare", {CLONE_FILES | HIGH}, ERR(EPERM)}, {"setns", {3}, ERR(EPERM)},
    {"fcntl", {0, 3}, ALLOW}, {"fcntl", {0, 1030}, ALLOW},
    {"fcntl", {0, 1024}, ERR(EPERM)}, {"fcntl", {0, 1024 | HIGH}, ERR(EPERM)},
    {"ioctl", {0, 0x5401}, ALLOW}, {"ioctl", {0, 0x5412}, ERR(EPERM)},
    {"ioctl", {0, 0x5412 | HIGH}, ERR(EPERM)},
    {"ioctl", {0, 0x5412 | 0xffffffffull << 32}, ERR(EPERM)},
    /* btrfs: snapshots, old and new; a copy of an open file is none */
    {"ioctl", {0, 0x50009401}, ERR(EPERM)}, {"ioctl", {0, 0x50009417}, ERR(EPERM)},
    {"ioctl", {0, 0x50009417 | HIGH}, ERR(EPERM)}, {"ioctl", {0, 0x5000940e}, ERR(EPERM)},
    {"ioctl", {0, 0x40049409}, ALLOW}, {"ioctl", {0, 0x4020940d}, ALLOW},
    {"ioctl", {0, 0xc0189436}, ALLOW}, {"ioctl", {0, 0x541c}, ERR(EPERM)},
    {"ioctl", {0, 0x541c | HIGH}, ERR(EPERM)}, {"socket", {AF_UNIX, SOCK_STREAM}, ALLOW},
    {"socket", {AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP}, ALLOW},
    {"socket", {AF_INET6, SOCK_DGRAM, IPPROTO_UDP}, ALLOW},
    {"socket", {AF_INET, SOCK_STREAM, 132}, ERR(EPROTONOSUPPORT)},
    {"socket", {AF_INET6, SOCK_STREAM, 262}, ERR(EPROTONOSUPPORT)},
    {"socket", {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}, ERR(EPROTONOSUPPORT)},
    {"socket", {AF_INET, 6 /* dccp */ | SOCK_CLOEXEC}, ERR(EPERM)},
    {"socket", {AF_INET, SOCK_RAW, IPPROTO_RAW}, ERR(EPROTONOSUPPORT)},
    {"socket", {AF_INET, SOCK_STREAM, IPPROTO_TCP | HIGH}, ERR(EPROTONOSUPPORT)},
    {"socket", {AF_INET, SOCK_DGRAM}, ALLOW}, {"socket", {AF_INET6, SOCK_STREAM}, ALLOW},
    {"socket", {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, ALLOW},
    {"socket", {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER}, ERR(EAFNOSUPPORT)},
    {"socket", {AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT}, ERR(EAFNOSUPPORT)},
    {"socket", {AF_NETLINK, SOCK_RAW, NETLINK_GENERIC}, ERR(EAFNOSUPPORT)},
    {"socket", {AF_PACKET, SOCK_RAW}, ERR(EAFNOSUPPORT)},
    {"socket", {AF_VSOCK}, ERR(EAFNOSUPPORT)}, {"socket", {AF_ALG}, ERR(EAFNOSUPPORT)},
    {"socket", {AF_BLUETOOTH}, ERR(EAFNOSUPPORT)},
    {"socket", {AF_VSOCK | HIGH}, ERR(EAFNOSUPPORT)},
    {"socket", {AF_INET | HIGH}, ERR(EAFNOSUPPORT)}, {"socket", {0}, ERR(EAFNOSUPPORT)},
    {"socket", {AF_X25}, ERR(EAFNOSUPPORT)}, {"socket", {AF_KEY}, ERR(EAFNOSUPPORT)},
    {"socketpair", {AF_UNIX}, ALLOW}, {"socketpair", {AF_TIPC}, ERR(EAFNOSUPPORT)},
    {"memfd_create", {0, 0}, ALLOW}, {"memfd_create", {0, 3}, ALLOW},
    {"memfd_create", {0, 0x10}, ERR(EPERM)},
    {"memfd_create", {0, 0x13 | HIGH}, ERR(EPERM)},
    {"mknodat", {0, 0, S_IFIFO | 0600}, ALLOW}, {"mknodat", {0, 0, S_IFSOCK}, ALLOW},
    /* nothing set-user-id is made; a mode that nobody reads may be anything */
    {"fchmod", {0, 0755}, ALLOW}, {"fchmod", {0, 04755}, ERR(EPERM)},
    {"fchmod", {0, 04000 | HIGH}, ERR(EPERM)}, {"chmod", {0, 02755}, ALLOW},
    {"chmod", {0, 06755}, ERR(EPERM)}, {"fchmodat", {0, 0, 04755}, ERR(EPERM)},
    {"fchmodat", {0, 0, 0755, 04000}, ALLOW}, {"creat", {0, 04755}, ERR(EPERM)},
    {"open", {0, O_CREAT, 04755}, ERR(EPERM)}, {"open", {0, O_RDWR, 04755}, ALLOW},
    {"open", {0, O_DIRECTORY, 04755}, ALLOW},
    {"openat", {0, 0, O_CREAT | O_WRONLY, 04755}, ERR(EPERM)},
    {"openat", {0, 0, O_CREAT | O_WRONLY, 0644}, ALLOW},
    {"openat", {0, 0, O_RDONLY | O_DIRECTORY, 04755}, ALLOW},
    {"openat", {0, 0, O_TMPFILE | O_RDWR, 04755}, ERR(EPERM)},
    {"mknod", {0, S_IFREG | 04755}, ERR(EPERM)}, {"mknodat", {0, 0, 04755}, ERR(EPERM)},
    {"mknodat", {0, 0, 0600}, ALLOW}, {"mknodat", {0, 0, S_IFCHR | 0600}, ERR(EPERM)},
    {"mknodat", {0, 0, S_IFBLK}, ERR(EPERM)}, {"mknod", {0, S_IFCHR}, ERR(EPERM)},
    {"personality", {0}, ALLOW}, {"personality", {0xffffffff}, ALLOW},
    {"personality", {0x0400000}, ERR(ENOSYS)}, /* READ_IMPLIES_EXEC */
    {"seccomp", {SECCOMP_SET_MODE_FILTER, 0}, ALLOW},
    {"seccomp", {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC}, ALLOW},
    {"seccomp", {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER}, ERR(EPERM)},
    {"seccomp", {SECCOMP_SET_MODE_FILTER, 0x18}, ERR(EPERM)},
    {"seccomp", {SECCOMP_SET_MODE_FILTER | HIGH, 8}, ERR(ENOSYS)},
    {"seccomp", {SECCOMP_GET_NOTIF_SIZES}, ERR(ENOSYS)}, {"prctl", {PR_SET_NAME}, ALLOW},
    {"prctl", {PR_SET_NO_NEW_PRIVS}, ALLOW}, {"prctl", {PR_SET_MM}, ERR(ENOSYS)},
    {"prctl", {0x59616d61}, ERR(ENOSYS)}, /* PR_SET_PTRACER */
};

static const char refused[] =
    "io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key bpf "
    "perf_event_open userfaultfd ptrace process_vm_readv process_vm_writev pidfd_getfd "
    "kcmp mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree "
    "move_mount mount_setattr open_by_handle_at name_to_handle_at init_module "
    "finit_module delete_module kexec_load reboot swapon swapoff acct quotactl syslog "
    "clock_settime settimeofday sethostname setdomainname iopl ioperm modify_ldt "
    "fanotify_init memfd_secret process_madvise io_setup vhangup adjtimex";

/* S4-19; ESCAPES 1 2 3 8 10 17 19 20 23 34 36 38 39 40 54 */
static void
verdicts(void **state)
{
	static const uint64_t zero[4];
	static const uint32_t arch[] = {X86, ARM};
	char *copy, *name, *save;
	uint32_t got;
	size_t i, a, bad = 0;

	for (a = 0; a < 2; a++) {
		for (i = 0; i < ARRAY_LEN(calls); i++) {
			if (seccomp_syscall_resolve_name_arch(arch[a], calls[i].name) < 0)
				continue;
			got = verdict(arch[a], calls[i].name, calls[i].arg);
			if (got == calls[i].want)
				continue;
			print_error(
			    "%08x %s row %zu: %08x\n", arch[a], calls[i].name, i, got);
			bad++;
		}
		copy = strdup(refused);
		for (name = strtok_r(copy, " ", &save); name != NULL;
		     name = strtok_r(NULL, " ", &save))
			if (verdict(arch[a], name, zero) != ERR(ENOSYS)) {
				print_error("%08x %s\n", arch[a], name);
				bad++;
			}
		free(copy);
	}
	assert_int_equal(bad, 0);
}

/* ESCAPES 18 73 74: foreign tables kill, numbers nobody knows do not exist */
static void
foreign_numbers(void **state)
{
	static const uint32_t foreign[] = {
	    AUDIT_ARCH_I386, AUDIT_ARCH_ARM, 0, 0xffffffff};
	struct seccomp_data d = {.arch = X86};
	uint32_t i, got;

	for (i = 0; i < 4; i++) {
		d.arch = foreign[i];
		for (d.nr = 0; d.nr < 600; d.nr++) {
			assert_int_equal(run(&programs[0], &d), KILL);
			assert_int_equal(run(&programs[1], &d), KILL);
		}
	}
	d.arch = ARM;
	d.nr = 0;
	assert_int_equal(run(&programs[0], &d), KILL);
	d.arch = X86;
	assert_int_equal(run(&programs[1], &d), KILL);
	for (i = 0; i < 1024; i++) {
		d.nr = (int)(0x40000000u | i); /* x32 */
		assert_int_equal(run(&programs[0], &d), KILL);
		d.nr = (int)(0x80000000u | i);
		assert_int_equal(run(&programs[0], &d), KILL);
	}
	d.nr = -1; /* a tracer skipped the call */
	assert_int_equal(run(&programs[0], &d), ERR(ENOSYS));
	for (i = 440; i < 1024; i++) {
		d.nr = (int)i;
		got = run(&programs[0], &d);
		if (got != ERR(ENOSYS) && got != ALLOW)
			fail_msg("number %u: %08x", i, got);
		if (i > 466 && got != ERR(ENOSYS))
			fail_msg("number %u is allowed", i);
	}
	d.nr = 467; /* open_tree_attr */
	assert_int_equal(run(&programs[0], &d), ERR(ENOSYS));
	d.nr = 451; /* cachestat */
	assert_int_equal(run(&programs[0], &d), ALLOW);
	assert_int_equal(
	    run(&programs[1], &(struct seccomp_data){.nr = 451, .arch = ARM}), ALLOW);
}

/* A name that neither libseccomp knew nor the kernel has would do nothing. */
static void
names_are_known(void **state)
{
	const struct calls *c;
	char *copy, *name, *save;

	for (c = calls_allowed; c->names != NULL; c++) {
		copy = strdup(c->names);
		for (name = strtok_r(copy, " ", &save); name != NULL;
		     name = strtok_r(NULL, " ", &save))
			if (seccomp_syscall_resolve_name_arch(X86, name) ==
			    __NR_SCMP_ERROR)
				fail_msg("%s", name);
		free(copy);
	}
}

#if defined(__x86_64__)
static void *
thread(void *arg)
{
	return arg;
}

static bool
fails(long r, int want)
{
	return r == -1 && errno == want;
}

/* In the child, under the filter.  0: all as it should be. */
static int
witness(void)
{
	pthread_t t;
	void *ret = NULL;
	pid_t pid;
	int sv[2];

	if (!fails(unshare(CLONE_NEWUSER), EPERM))
		return 1;
	if (!fails(ioctl(0, 0x5412, "x"), EPERM))
		return 2;
	if (!fails(syscall(SYS_ioctl, 0, 0x5412 | HIGH, "x"), EPERM))
		return 3;
	if (!fails(socket(AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT))
		return 4;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) != 0)
		return 5;
	if (!fails(syscall(SYS_keyctl, 0, -3, 0), ENOSYS))
		return 6;
	if (!fails(syscall(SYS_memfd_create, "x", 0x10), EPERM))
		return 7;
	if (syscall(SYS_memfd_create, "x", 1) < 0)
		return 8;
	if (!fails(syscall(SYS_clone3, NULL, 0), ENOSYS))
		return 9;
	if (pthread_create(&t, NULL, thread, sv) != 0 || pthread_join(t, &ret) != 0 ||
	    ret != sv)
		return 10;
	if ((pid = test_fork()) == 0)
		_exit(7);
	if (pid < 0 || waitpid(pid, sv, 0) != pid || WEXITSTATUS(sv[0]) != 7)
		return 11;
	if (!fails(syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0), EPERM))
		return 12;
	/* no listener here, so what is asked of the leash is refused */
	if (!fails(execl("/bin/true", "true", NULL), ENOSYS))
		return 13;
	if (!fails(syscall(SYS_io_uring_setup, 1, NULL), ENOSYS))
		return 14;
	return 0;
}

static void
confined(int (*call)(void))
{
	struct sock_fprog prog = {
	    .len = (unsigned short)programs[0].n, .filter = (void *)programs[0].insn};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
		_exit(100);
	_exit(call());
}

static int
in_child(int (*call)(void))
{
	int status = -1;
	pid_t pid = test_fork();

	if (pid == 0)
		confined(call);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int
x32_call(void)
{
	return (int)syscall(0x40000000 | SYS_getpid);
}

static int
compat_call(void)
{
	long r = 20; /* getpid of i386 */

	/* cmocka's handler would turn the kernel's own signal into an exit status */
	(void)signal(SIGSEGV, SIG_DFL);
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

/* The kernel says the same. */
static void
kernel_agrees(void **state)
{
	int status = in_child(witness);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	status = in_child(x32_call);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	status = in_child(compat_call);
	/* SIGSEGV: this kernel has no 32-bit entry at all */
	assert_true(WIFSIGNALED(status) &&
		    (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV));
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts),
		cmocka_unit_test(foreign_numbers),
		cmocka_unit_test(names_are_known),
#if defined(__x86_64__)
		cmocka_unit_test(kernel_agrees),
#endif
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
