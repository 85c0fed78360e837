/* Every way to start a program (witness.h). */
#include "shim/base/array.h"
#include "tests/witness/witness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* The program all forms try to start, and what a copy of it holds. */
static const char *prog = "/bin/true";

int
verb_run(int argc, char **argv)
{
	int failed[2], e = 0, status = 0;

	if (argc < 1 || pipe2(failed, O_CLOEXEC) < 0)
		return 64;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		e = errno;
		(void)!write(failed[1], &e, sizeof(e));
		_exit(127);
	}
	close(failed[1]);
	if (read(failed[0], &e, sizeof(e)) != (ssize_t)sizeof(e))
		e = 0;
	(void)waitpid(pid, &status, 0); /* our own child */
	if (e != 0)
		printf("run=%s\n", strerrorname_np(e));
	else if (WIFSIGNALED(status))
		printf("run=killed SIG%s\n", sigabbrev_np(WTERMSIG(status)));
	else
		printf("run=exit %d\n", WEXITSTATUS(status));
	return 0;
}

/* SECONDS PROG: ask for it again and again; how often it was refused. */
int
verb_flood(int argc, char **argv)
{
	char *words[] = {argc > 1 ? argv[1] : NULL, NULL};
	long n = 0, end = time(NULL) + (argc > 1 ? atoi(argv[0]) : 0);

	if (argc != 2)
		return 64;
	for (; time(NULL) < end; n++)
		execve(words[0], words, environ);
	printf("flood=%ld\n", n);
	return 0;
}

/* A folder to write in: what TMPDIR says. */
static const char *
scratch(void)
{
	return getenv("TMPDIR") ?: "/tmp";
}

/* Each form replaces this process; when it comes back it was refused.  A form
 * that could not be prepared says so with its own errno. */
static char *const say[] = {(char *)"true", NULL};

static int
go(const char *path)
{
	char *const argv[] = {(char *)path, NULL};

	execve(path, argv, environ);
	return -errno;
}

static int
copy_to(int out)
{
	char buf[65536];
	ssize_t n;
	int in = open(prog, O_RDONLY | O_CLOEXEC);

	if (in < 0)
		in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (in < 0)
		return -errno;
	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			return -EIO;
	close(in);
	return n < 0 ? -errno : 0;
}

static int
form_plain(void)
{
	return go(prog);
}

static int
form_memfd(void)
{
	int fd = (int)syscall(SYS_memfd_create, "x", 0);
	int r = fd < 0 ? -errno : copy_to(fd);

	if (r < 0)
		return r;
	syscall(SYS_execveat, fd, "", say, environ, AT_EMPTY_PATH);
	return -errno;
}

static int
form_memfd_path(void)
{
	char path[64];
	int fd = (int)syscall(SYS_memfd_create, "x", 0);
	int r = fd < 0 ? -errno : copy_to(fd);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return r < 0 ? r : go(path);
}

static int
copied(const char *dir)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/witness-copy-%d", dir, getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	int r = fd < 0 ? -errno : copy_to(fd);
	if (fd >= 0)
		close(fd);
	if (r == 0) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(-go(path));
		int status = 0;
		(void)waitpid(pid, &status, 0); /* our own child */
		r = -WEXITSTATUS(status);
	}
	(void)unlink(path); /* it may never have been made */
	return r;
}

static int
form_copy_tmp(void)
{
	return copied(scratch());
}

static int
form_copy_shm(void)
{
	return copied("/dev/shm");
}

static int
form_hard_link(void)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/witness-link-%d", scratch(), getpid());
	int r = result(link(prog, path));
	return r < 0 ? r : go(path);
}

static int
form_symlink(void)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/witness-sym-%d", scratch(), getpid());
	int r = result(symlink(prog, path));
	if (r < 0)
		return r;
	r = go(path);
	(void)unlink(path); /* just made */
	return r;
}

static int
form_self_exe(void)
{
	return go("/proc/self/exe");
}

static int
form_self_root(void)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "/proc/self/root%s", prog);
	return go(path);
}

static int
form_dots(void)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "/usr/../%s", prog);
	return go(path);
}

static int
form_execveat(void)
{
	int fd = open(prog, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	syscall(SYS_execveat, fd, "", say, environ, AT_EMPTY_PATH);
	return -errno;
}

static int
form_relative(void)
{
	char *const argv[] = {(char *)prog, NULL};

	if (chdir("/") < 0)
		return -errno;
	execve(prog + 1, argv, environ);
	return -errno;
}

/* The loader maps what exec would refuse. */
static int
form_loader(void)
{
	static const char *const loaders[] = {"/lib64/ld-linux-x86-64.so.2",
	    "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1"};
	int r = -ENOENT;

	for (size_t i = 0; i < ARRAY_LEN(loaders); i++) {
		char *const argv[] = {(char *)loaders[i], (char *)prog, NULL};
		execve(loaders[i], argv, environ);
		if (errno != ENOENT)
			r = -errno;
	}
	return r;
}

static int
script(const char *first)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/witness-script-%d", scratch(), getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		return -errno;
	(void)!dprintf(fd, "#!%s\ntrue\n", first);
	close(fd);
	int r = go(path);
	(void)unlink(path); /* just made */
	return r;
}

static int
form_script(void)
{
	return script(prog);
}

static int
form_script_sh(void)
{
	return script("/bin/sh");
}

static int
form_script_env(void)
{
	return script("/usr/bin/env true");
}

static int
form_no_args(void)
{
	char *const none[] = {NULL};

	execve("/proc/self/exe", none, environ);
	return -errno;
}

/* A granted program under another's name. */
static int
form_other_name(void)
{
	char *const argv[] = {(char *)"busybox", (char *)"ids", NULL};

	execve("/proc/self/exe", argv, environ);
	return -errno;
}

static int
form_loader_env(void)
{
	char *const argv[] = {(char *)prog, NULL};
	char *const env[] = {(char *)"LD_PRELOAD=/tmp/x.so", NULL};

	execve(prog, argv, env);
	return -errno;
}

/* A file in a writable folder must not become code by mapping either. */
static int
form_map_file(void)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/witness-map-%d", scratch(), getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	(void)unlink(path); /* just made */
	if (ftruncate(fd, 4096) < 0)
		return -errno;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return p == MAP_FAILED ? -errno : 0;
}

int
verb_forms(int argc, char **argv)
{
	static const struct probe probes[] = {
	    {"plain", form_plain},
	    {"memfd_execveat", form_memfd},
	    {"memfd_proc_fd", form_memfd_path},
	    {"copy_tmp", form_copy_tmp},
	    {"copy_shm", form_copy_shm},
	    {"hard_link", form_hard_link},
	    {"symlink", form_symlink},
	    {"proc_self_exe", form_self_exe},
	    {"proc_self_root", form_self_root},
	    {"dots", form_dots},
	    {"execveat", form_execveat},
	    {"relative", form_relative},
	    {"loader", form_loader},
	    {"script", form_script},
	    {"script_sh", form_script_sh},
	    {"script_env", form_script_env},
	    {"no_args", form_no_args},
	    {"other_name", form_other_name},
	    {"loader_env", form_loader_env},
	    {"map_file_exec", form_map_file},
	};

	if (argc > 0)
		prog = argv[0];
	witness_try_all(probes, ARRAY_LEN(probes));
	return 0;
}
