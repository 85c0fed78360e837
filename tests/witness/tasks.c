/* Other processes: their memory, their descriptors, their signals (witness.h). */
#include "shim/base/array.h"
#include "tests/witness/witness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t whom = 1;

static int
open_of(const char *what, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", whom, what);
	return result(open(path, flags | O_CLOEXEC));
}

static int
try_mem_write(void)
{
	return open_of("mem", O_RDWR);
}

static int
try_mem_read(void)
{
	return open_of("mem", O_RDONLY);
}

static int
try_environ(void)
{
	char path[64], byte;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", whom);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, &byte, 1);
	return n < 0 ? -errno : n == 0 ? -ENODATA : 0;
}

static int
try_maps(void)
{
	return open_of("maps", O_RDONLY);
}

static int
try_exe_read(void)
{
	return open_of("exe", O_RDONLY);
}

static int
try_exe_write(void)
{
	return open_of("exe", O_WRONLY);
}

static int
try_fd_dir(void)
{
	return open_of("fd", O_RDONLY | O_DIRECTORY);
}

static int
try_root(void)
{
	return open_of("root/etc", O_RDONLY);
}

static int
try_cwd(void)
{
	return open_of("cwd/.", O_RDONLY);
}

static int
try_self_exe_write(void)
{
	return result(open("/proc/self/exe", O_WRONLY | O_CLOEXEC));
}

static int
try_self_mem_write(void)
{
	return result(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
}

static int
try_attach(void)
{
	return result(ptrace(PTRACE_SEIZE, whom, NULL, NULL));
}

static int
try_traceme(void)
{
	return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

/* One's own child: allowed by every kernel rule, so only a filter refuses. */
static int
with_child(int (*attempt)(pid_t))
{
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	int r = attempt(child);
	(void)kill(child, SIGKILL); /* our own child */
	(void)waitpid(child, NULL, 0);
	return r;
}

static int
seize(pid_t child)
{
	return result(ptrace(PTRACE_SEIZE, child, NULL, NULL));
}

static int
vm_read(pid_t child)
{
	long there = 0, here = 0;
	struct iovec l = {&here, sizeof(here)}, r = {&there, sizeof(there)};

	return result(process_vm_readv(child, &l, 1, &r, 1, 0));
}

static int
vm_write(pid_t child)
{
	long there = 0, here = 0;
	struct iovec l = {&here, sizeof(here)}, r = {&there, sizeof(there)};

	return result(process_vm_writev(child, &l, 1, &r, 1, 0));
}

static int
get_fd(pid_t child)
{
	int fd = (int)syscall(SYS_pidfd_open, child, 0);

	return result(syscall(SYS_pidfd_getfd, fd, 0, 0));
}

static int
compare(pid_t child)
{
	return result(syscall(SYS_kcmp, getpid(), child, 0, 0, 0));
}

static int
advise(pid_t child)
{
	int fd = (int)syscall(SYS_pidfd_open, child, 0);
	static char page[8192] __attribute__((aligned(4096)));
	struct iovec v = {page, 4096};

	return result(syscall(SYS_process_madvise, fd, &v, 1, 20 /* COLD */, 0));
}

static int
try_seize_child(void)
{
	return with_child(seize);
}

static int
try_vm_read(void)
{
	return with_child(vm_read);
}

static int
try_vm_write(void)
{
	return with_child(vm_write);
}

static int
try_getfd(void)
{
	return with_child(get_fd);
}

static int
try_kcmp(void)
{
	return with_child(compare);
}

static int
try_madvise(void)
{
	return with_child(advise);
}

/* The child's mem, for writing: opened, not written. */
static int
child_mem(pid_t child)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", child);
	return result(open(path, O_RDWR | O_CLOEXEC));
}

static int
try_child_mem(void)
{
	return with_child(child_mem);
}

int
verb_tasks(int argc, char **argv)
{
	static const struct probe probes[] = {
	    {"mem_write", try_mem_write},
	    {"mem_read", try_mem_read},
	    {"environ", try_environ},
	    {"maps", try_maps},
	    {"exe_read", try_exe_read},
	    {"exe_write", try_exe_write},
	    {"fd_dir", try_fd_dir},
	    {"root", try_root},
	    {"cwd", try_cwd},
	    {"self_exe_write", try_self_exe_write},
	    {"self_mem_write", try_self_mem_write},
	    {"attach", try_attach},
	    {"traceme", try_traceme},
	    {"seize_child", try_seize_child},
	    {"vm_readv_child", try_vm_read},
	    {"vm_writev_child", try_vm_write},
	    {"pidfd_getfd_child", try_getfd},
	    {"kcmp_child", try_kcmp},
	    {"process_madvise_child", try_madvise},
	    {"child_mem_write", try_child_mem},
	};

	if (argc > 0)
		whom = (pid_t)atoi(argv[0]);
	witness_try_all(probes, ARRAY_LEN(probes));
	return 0;
}

int
verb_signal(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char name[64];
		(void)snprintf(name, sizeof(name), "signal %s", argv[i]);
		witness_say(name, result(kill((pid_t)atoi(argv[i]), 0)));
	}
	return 0;
}

/* The limits of this process and of another one: read, and set to what they are. */
int
verb_set_limits(int argc, char **argv)
{
	pid_t other = argc > 0 ? (pid_t)atoi(argv[0]) : 1;
	struct rlimit core, files, none = {0, 0}, one;

	if (prlimit(0, RLIMIT_CORE, NULL, &core) < 0 ||
	    getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 1;
	witness_say("core_read", 0);
	witness_say(
	    "core_setrlimit", result((int)syscall(SYS_setrlimit, RLIMIT_CORE, &none)));
	witness_say("core_prlimit", result(prlimit(0, RLIMIT_CORE, &none, NULL)));
	witness_say("core_prlimit_same", result(prlimit(0, RLIMIT_CORE, &core, NULL)));
	witness_say("core_prlimit_bit32", result((int)syscall(SYS_prlimit64, 0,
					      RLIMIT_CORE | 1ull << 32, &none, NULL)));
	witness_say("files_prlimit", result(prlimit(0, RLIMIT_NOFILE, &files, NULL)));
	witness_say("other_read", result(prlimit(other, RLIMIT_NOFILE, NULL, &one)));
	witness_say("other_cpu", result(prlimit(other, RLIMIT_CPU, &files, NULL)));
	printf("core=%llu\n", (unsigned long long)core.rlim_cur);
	return 0;
}

/* Dies of SIGABRT with the core limit as high as it goes: WCOREDUMP tells. */
int
verb_core(int argc, char **argv)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit l;
		if (getrlimit(RLIMIT_CORE, &l) == 0) {
			l.rlim_cur = l.rlim_max;
			(void)setrlimit(RLIMIT_CORE, &l); /* as far as it goes */
		}
		(void)!chdir(argc > 0 ? argv[0] : "/tmp"); /* the dump would land here */
		abort();
	}
	(void)waitpid(pid, &status, 0); /* our own child */
	printf("dumped=%d\n", WIFSIGNALED(status) && WCOREDUMP(status));
	return 0;
}
