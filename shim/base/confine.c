/*
 * Removes privileges that a kennel process does not need.
 *
 * The system calls that every program needs (for libc's memory, normal exits,
 * the loop, and the sanitizers of a test build at exit):
 * syscalls: read write close exit exit_group rt_sigreturn restart_syscall
 * syscalls: brk mmap munmap mremap mprotect madvise futex
 * syscalls: getpid gettid getuid geteuid getgid getegid
 * syscalls: clock_gettime clock_nanosleep nanosleep gettimeofday time
 * syscalls: getrandom rt_sigaction rt_sigprocmask sigaltstack tgkill
 * syscalls: fstat newfstatat lseek rseq set_robust_list sched_yield
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/confine.h"

#if defined(__x86_64__)
#define CONFINE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CONFINE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call table for this architecture"
#endif

#define CONFINE_CALLS_MAX 320
#define STACK_DROPPED     ((size_t)256 << 10) /* deeper than any start */
/*
 * A leaf tests one or two calls with at most five instructions, and each branch
 * adds two; no list has more leaves than calls.
 */
#define CODE_MAX (4 + 7 * CONFINE_CALLS_MAX)

#ifdef CONFINE_DEBUG
#define CONFINE_REFUSED SECCOMP_RET_TRAP
#else
#define CONFINE_REFUSED SECCOMP_RET_KILL_PROCESS
#endif

int
confine_core(void)
{
	/*
	 * 1, not 0: the kernel runs a core handler that is a pipe even for 0,
	 * and refuses it for 1 (core(5)).
	 */
	struct rlimit core = {1, 1};

	/* syscalls: prctl prlimit64 setrlimit */
	if (setrlimit(RLIMIT_CORE, &core) < 0)
		return -errno;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

int
confine_no_dumps(void)
{
	int r = confine_core();

	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r;
}

static int
drop_segment(struct dl_phdr_info *program, size_t len, void *arg)
{
	for (int i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &program->dlpi_phdr[i];
		uintptr_t page = (uintptr_t)p->p_align - 1;
		uintptr_t at = (program->dlpi_addr + p->p_vaddr) & ~page;

		/* A writable segment also contains relocated data. */
		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) == 0 && page == 4095)
			/* syscalls: madvise */
			(void)madvise((void *)at, p->p_memsz, MADV_DONTNEED);
	}
	return 1; /* the first object is the program itself */
}

/*
 * What deeper calls have left below this frame.  The page after it is kept: this call
 * uses it.  Nothing else is mapped there: the kernel keeps 128 MB below the first thread's
 * stack free.
 */
static void
drop_stack(void)
{
	uintptr_t end = ((uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)4095) - 4096;

	/* the stack may have fewer pages: the others are not mapped */
	(void)madvise((void *)(end - STACK_DROPPED), STACK_DROPPED, MADV_DONTNEED);
}

void
confine_drop_start(void)
{
	drop_stack();
	(void)malloc_trim(0);                      /* 0: there was nothing to give back */
	(void)dl_iterate_phdr(drop_segment, NULL); /* pages that remain only use memory */
}

#ifdef CONFINE_DEBUG
/* The debug build: prints the call that would kill the release build. */
static void
name_refused(int sig, siginfo_t *info, void *context)
{
	char line[80];
	int n;

	n = snprintf(line, sizeof(line), "confine: system call %d is not in the list\n",
	    info->si_syscall);
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		_exit(126);
	_exit(125);
}
#endif

/* Sorts the numbers and removes duplicates, for the binary search. */
static size_t
sort_calls(uint16_t *to, const uint16_t *nr, size_t nr_n)
{
	size_t n = 0;

	for (size_t i = 0; i < nr_n; i++) {
		size_t at = n;

		while (at > 0 && to[at - 1] > nr[i])
			at--;
		if (at > 0 && to[at - 1] == nr[i])
			continue;
		memmove(to + at + 1, to + at, (n - at) * sizeof(*to));
		to[at] = nr[i];
		n++;
	}
	return n;
}

static void
put(struct sock_fprog *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	p->filter[p->len++] = (struct sock_filter){code, yes, no, k};
}

/*
 * Is the number among nr?  A binary search, because the kernel runs the filter
 * for every system call before it accepts it.  Halves are skipped with
 * unconditional jumps: conditional ones reach only 255 instructions.
 */
static void
/* NOLINTNEXTLINE(misc-no-recursion): halves of 320 are nine deep */
put_search(struct sock_fprog *p, const uint16_t *nr, size_t n)
{
	unsigned short at;

	if (n <= 2) {
		for (size_t i = 0; i < n; i++) {
			put(p, BPF_JMP | BPF_JEQ | BPF_K, nr[i], 0, 1);
			put(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
		}
		put(p, BPF_RET | BPF_K, CONFINE_REFUSED, 0, 0);
		return;
	}
	put(p, BPF_JMP | BPF_JGE | BPF_K, nr[n / 2], 0, 1);
	at = p->len;
	put(p, BPF_JMP | BPF_JA, 0, 0, 0);
	put_search(p, nr, n / 2);
	p->filter[at].k = (uint32_t)(p->len - at - 1);
	put_search(p, nr + n / 2, n - n / 2);
}

int
confine_syscalls(const uint16_t *nr, size_t nr_n)
{
	struct sock_filter code[CODE_MAX];
	struct sock_fprog program = {.filter = code};
	uint16_t sorted[CONFINE_CALLS_MAX];

	if (nr_n > CONFINE_CALLS_MAX)
		return -E2BIG;
	put(&program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0,
	    0);
	put(&program, BPF_JMP | BPF_JEQ | BPF_K, CONFINE_ARCH, 1, 0);
	put(&program, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	put(&program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	put_search(&program, sorted, sort_calls(sorted, nr, nr_n));
#ifdef CONFINE_DEBUG
	struct sigaction trap = {
	    .sa_sigaction = name_refused, .sa_flags = SA_SIGINFO | SA_NODEFER};
	if (sigaction(SIGSYS, &trap, NULL) < 0)
		return -errno;
#endif
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* syscalls: seccomp */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -errno;
	return 0;
}

/*
 * Landlock's rights by the ABI that introduced them (landlock(7)). Debian 12's
 * linux/landlock.h ends at ABI 2, so they are defined here.
 */
#define LL_EXECUTE     (1ull << 0)
#define LL_WRITE_FILE  (1ull << 1)
#define LL_READ_FILE   (1ull << 2)
#define LL_READ_DIR    (1ull << 3)
#define LL_ABI1_FS     ((1ull << 13) - 1)
#define LL_REFER       (1ull << 13) /* ABI 2 */
#define LL_TRUNCATE    (1ull << 14) /* ABI 3 */
#define LL_IOCTL_DEV   (1ull << 15) /* ABI 5 */
#define LL_NET_TCP     3ull         /* ABI 4: bind, connect */
#define LL_SCOPES      3ull         /* ABI 6: abstract sockets, signals */
#define LL_FILE_RIGHTS (LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE)

struct ll_ruleset {
	uint64_t fs, net, scoped;
};

struct ll_path {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

static const struct ll_abi {
	int from;
	uint64_t fs, net, scoped;
} ll_abi[] = {
    {1, LL_ABI1_FS, 0, 0},
    {2, LL_REFER, 0, 0},
    {3, LL_TRUNCATE, 0, 0},
    {4, 0, LL_NET_TCP, 0},
    {5, LL_IOCTL_DEV, 0, 0},
    {6, 0, 0, LL_SCOPES},
};

static uint64_t
rights_for(unsigned int may, mode_t mode)
{
	uint64_t fs = 0;

	if ((may & CONFINE_READ) != 0)
		fs |= LL_READ_FILE | LL_READ_DIR;
	if ((may & CONFINE_WRITE) != 0)
		fs |= (LL_ABI1_FS & ~LL_EXECUTE) | LL_TRUNCATE | LL_REFER;
	if ((may & CONFINE_EXEC) != 0)
		fs |= LL_EXECUTE;
	/* a directory right on a file is EINVAL */
	return S_ISDIR(mode) ? fs : fs & LL_FILE_RIGHTS;
}

static int
add_path(int ruleset, uint64_t handled, const struct confine_path *path)
{
	struct ll_path rule = {.parent_fd = path->fd};
	struct stat st;

	if (fstat(path->fd, &st) < 0)
		return -errno;
	rule.allowed = rights_for(path->may, st.st_mode) & handled;
	if (rule.allowed == 0)
		return 0;
	/* syscalls: landlock_add_rule */
	if (syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0) < 0)
		return -errno;
	return 0;
}

int
confine_paths(const struct confine_path *path, size_t n)
{
	return confine_paths_of(path, n, 0);
}

int
confine_paths_of(const struct confine_path *path, size_t n, unsigned int left)
{
	struct ll_ruleset set = {0};
	int abi, ruleset, r = 0;

	/* syscalls: landlock_create_ruleset */
	abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	if (abi < 1)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < ARRAY_LEN(ll_abi); i++) {
		if (abi < ll_abi[i].from)
			continue;
		set.fs |= ll_abi[i].fs;
		set.net |= ll_abi[i].net;
		set.scoped |= ll_abi[i].scoped;
	}
	if ((left & CONFINE_NETWORK) != 0)
		set.net = 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof(set), 0);
	if (ruleset < 0)
		return -errno;
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_path(ruleset, set.fs, &path[i]);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	/* syscalls: landlock_restrict_self */
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = -errno;
	close(ruleset);
	return r;
}
