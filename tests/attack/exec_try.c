/*
 * One attempt to start a program, by every way there is.
 *
 *	exec_try VERB PROGRAM ARG...
 *
 * When the attempt comes back, its errno stands on descriptor 9.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"

#define MARK_FD 9

extern char **environ;

static char **args;

static void
answer(void)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "errno %d\n", errno);

	if (write(MARK_FD, line, (size_t)n) != n)
		_exit(3);
	_exit(1);
}

static int
at(int fd, const char *path, char **argv, int flags)
{
	return (int)syscall(SYS_execveat, fd, path, argv, environ, flags);
}

static void
try_path(void)
{
	execve(args[0], args, environ);
}

/* PROGRAM ARGV0 ARG... */
static void
try_argv0(void)
{
	execve(args[0], args + 1, environ);
}

static void
try_memfd(void)
{
	static char bytes[8 << 20];
	int from = open(args[0], O_RDONLY), to = memfd_create("x", 0);
	ssize_t n = read(from, bytes, sizeof(bytes));

	if (n > 0 && write(to, bytes, (size_t)n) == n)
		at(to, "", args, AT_EMPTY_PATH);
}

static void
try_empty_path(void)
{
	at(open(args[0], O_PATH), "", args, AT_EMPTY_PATH);
}

/* PROGRAM ARGV0 ARG... */
static void
try_descriptor(void)
{
	at(open(args[0], O_PATH), "", args + 1, AT_EMPTY_PATH);
}

/* As the shim's child is before its exec. */
static void
try_not_dumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	try_path();
}

static void
try_proc_fd(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", open(args[0], O_RDONLY));
	execve(path, args, environ);
}

/* By a descriptor that can do nothing else, and by its other name. */
static void
try_proc_path_fd(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", open(args[0], O_PATH));
	execve(path, args, environ);
}

static void
try_dev_fd(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/fd/%d", open(args[0], O_RDONLY));
	execve(path, args, environ);
}

static void
try_proc_exe(void)
{
	execve("/proc/self/exe", args, environ);
}

static void
try_argc_0(void)
{
	char *none[] = {NULL};

	/* Keeps gcc from warning of what is meant here. */
	syscall(SYS_execve, args[0], none, environ);
}

static void
try_argv_null(void)
{
	syscall(SYS_execve, args[0], NULL, environ);
}

/* PROGRAM NAME=VALUE ARG... */
static void
try_env(void)
{
	char *env[] = {args[1], NULL};

	args[1] = args[0];
	execve(args[0], args + 1, env);
}

static void
try_no_env(void)
{
	syscall(SYS_execve, args[0], args, NULL);
}

static void
try_nofollow(void)
{
	at(AT_FDCWD, args[0], args, AT_SYMLINK_NOFOLLOW);
}

static void *
thread(void *fn)
{
	((void (*)(void))fn)();
	answer();
	return NULL;
}

static void
try_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread, (void *)try_path);
	for (;;)
		pause();
}

/*
 * Execs that fail in the kernel after they were allowed (the file "dud" beside
 * PROGRAM is granted, but not executable), then a good one, by one thread.
 */
static void
after_failing(char *argument)
{
	static char word[] = "dud", path[300];
	char *dud[] = {word, argument, NULL};

	snprintf(path, sizeof(path), "%.*s/dud", (int)(strrchr(args[0], '/') - args[0]),
	    args[0]);
	for (int i = 0; i < 50; i++)
		execve(path, dud, environ);
	try_path();
}

static void
try_after_failing(void)
{
	static char quiet[] = "quiet";

	after_failing(quiet);
}

static void
try_after_asking(void)
{
	static char asked[] = "asked";

	after_failing(asked);
}

/* DIR NAME ARG...: from a working directory, then below a descriptor. */
static void
try_relative(void)
{
	if (chdir(args[0]) == 0)
		execve(args[1], args + 1, environ);
}

static void
try_below_fd(void)
{
	at(open(args[0], O_PATH | O_DIRECTORY), args[1], args + 1, 0);
}

static void
try_bad_path(void)
{
	syscall(SYS_execve, 8, args, environ);
}

static void
try_bad_argv(void)
{
	syscall(SYS_execve, args[0], 8, environ);
}

static void
try_bad_string(void)
{
	char *bad[] = {args[0], (char *)8, NULL};

	syscall(SYS_execve, args[0], bad, environ);
}

static void
try_too_many(void)
{
	char **many = calloc(5002, sizeof(*many));

	for (int i = 0; i < 5000; i++)
		many[i] = args[0];
	execve(args[0], many, environ);
}

static void
try_too_long(void)
{
	char *four[6] = {args[0]}, *big = malloc(100001);

	memset(big, 'a', 100000);
	big[100000] = '\0';
	four[1] = four[2] = four[3] = four[4] = big;
	execve(args[0], four, environ);
}

static void
try_flags(void)
{
	at(AT_FDCWD, args[0], args, 0x40000);
}

/* DIR PROGRAM ARG...: in a folder; in one that took its name; in a removed one. */
static void
try_in(void)
{
	if (chdir(args[0]) == 0)
		execve(args[1], args + 1, environ);
}

static void
try_in_swapped(void)
{
	char old[300];

	snprintf(old, sizeof(old), "%s.old", args[0]);
	if (rename(args[0], old) != 0 || mkdir(args[0], 0755) != 0)
		_exit(4);
	if (chdir(args[0]) == 0)
		execve(args[1], args + 1, environ);
	answer();
}

static void
try_in_removed(void)
{
	char below[300];

	snprintf(below, sizeof(below), "%s/gone", args[0]);
	if (mkdir(below, 0755) != 0 || chdir(below) != 0 || rmdir(below) != 0)
		_exit(4);
	execve(args[1], args + 1, environ);
}

static const char *folder[2];

static void *
mover(void *arg)
{
	for (unsigned int i = 0;; i++)
		if (chdir(folder[i % 2]) != 0)
			_exit(5);
}

/* DIR OTHER PROGRAM ARG...: a thread goes to and fro between the two. */
static void
try_in_moved(void)
{
	folder[0] = args[0];
	folder[1] = args[1];
	for (int i = 0; i < 400; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pthread_t t;

			if (chdir(folder[0]) != 0 ||
			    pthread_create(&t, NULL, mover, NULL) != 0)
				_exit(6);
			execve(args[2], args + 2, environ);
			_exit(1);
		}
		for (int st; waitpid(pid, &st, 0) != pid;)
			;
	}
	_exit(0);
}

/* PROGRAM ARG...: one byte more; only touched. */
static void
try_longer(void)
{
	int fd = open(args[0], O_WRONLY | O_APPEND);

	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) != 0)
		_exit(4);
	try_path();
}

static void
try_touched(void)
{
	int fd = open(args[0], O_WRONLY | O_APPEND);

	if (fd < 0 || futimens(fd, NULL) != 0 || close(fd) != 0)
		_exit(4);
	try_path();
}

/* A whole life: many children, each granted, one after the other. */
static void
try_stopped(void)
{
	/* Stop signals while an exec is under way must not wedge anybody. */
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			execve("/nope/nope", args, environ);
			try_path();
			_exit(1);
		}
		kill(pid, SIGSTOP);
		kill(pid, SIGCONT);
		kill(pid, SIGSTOP);
		usleep(200);
		kill(pid, SIGCONT);
	}
	for (int st; wait(&st) > 0;)
		;
	_exit(0);
}

static const struct {
	const char *verb;
	void (*fn)(void);
} verbs[] = {
    {"path", try_path},
    {"argv0", try_argv0},
    {"memfd", try_memfd},
    {"empty-path", try_empty_path},
    {"descriptor", try_descriptor},
    {"not-dumpable", try_not_dumpable},
    {"proc-fd", try_proc_fd},
    {"proc-exe", try_proc_exe},
    {"proc-path-fd", try_proc_path_fd},
    {"dev-fd", try_dev_fd},
    {"in", try_in},
    {"in-swapped", try_in_swapped},
    {"in-removed", try_in_removed},
    {"in-moved", try_in_moved},
    {"longer", try_longer},
    {"touched", try_touched},
    {"argc-0", try_argc_0},
    {"argv-null", try_argv_null},
    {"env", try_env},
    {"no-env", try_no_env},
    {"nofollow", try_nofollow},
    {"thread", try_thread},
    {"after-failing", try_after_failing},
    {"after-asking", try_after_asking},
    {"relative", try_relative},
    {"below-fd", try_below_fd},
    {"bad-path", try_bad_path},
    {"bad-argv", try_bad_argv},
    {"bad-string", try_bad_string},
    {"too-many", try_too_many},
    {"too-long", try_too_long},
    {"flags", try_flags},
    {"stopped", try_stopped},
};

int
main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	args = argv + 2;
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i].verb, argv[1]) == 0) {
			verbs[i].fn();
			answer();
		}
	}
	return 2;
}
