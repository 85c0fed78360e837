/*
 * Many execs at once, and how long one of them takes.
 *
 *	exec_crowd crowd N PROGRAM ARG...	N processes start it at one moment
 *	exec_crowd threads N PROGRAM ARG...	N times, by a thread that is not the leader
 *	exec_crowd spawn N PROGRAM ARG...	posix_spawn, N times
 *	exec_crowd vfork N PROGRAM ARG...	vfork and exec, N times
 *	exec_crowd dying N PROGRAM ARG...	each is killed at some moment of its exec
 *	exec_crowd flood N PROGRAM ARG...	N processes try it for ever
 *
 * Says how many came to status 0, how many to another end, and of the one-by-one
 * kinds the median and the longest time in microseconds.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "tests/lib/start.h"

static unsigned int seed = 1;

static long
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static _Noreturn void
go(void)
{
	execve(words[0], words, environment);
	_exit(errno == EACCES ? 113 : 114);
}

static void *
thread(void *arg)
{
	(void)arg;
	go();
}

/* ---- one by one ------------------------------------------------------------ */

static pid_t
by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		go();
	return pid;
}

static pid_t
by_thread(void)
{
	pid_t pid = fork();
	pthread_t t;

	if (pid == 0) {
		if (pthread_create(&t, NULL, thread, NULL) != 0)
			_exit(115);
		for (;;)
			pause();
	}
	return pid;
}

static pid_t
by_fork_and_kill(void)
{
	pid_t pid = fork();

	if (pid == 0)
		go();
	usleep((useconds_t)(rand_r(&seed) % 1000));
	(void)kill(pid, SIGKILL); /* not yet waited for: it is there */
	return pid;
}

static int
compare(const void *a, const void *b)
{
	long d = *(const long *)a - *(const long *)b;

	return d < 0 ? -1 : d > 0;
}

static void
one_by_one(int n, pid_t (*start)(void))
{
	long *took = calloc((size_t)n + 1, sizeof(*took));
	int good = 0, other = 0;

	for (int i = 0; i < n; i++) {
		long from = now_us();
		int status = 0;
		pid_t pid = start();

		if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
			good++;
		else
			other++;
		took[i] = now_us() - from;
	}
	qsort(took, (size_t)n, sizeof(*took), compare);
	printf("good=%d\nother=%d\nmedian_us=%ld\nmax_us=%ld\n", good, other, took[n / 2],
	    took[n > 0 ? n - 1 : 0]);
	free(took);
}

/* ---- all at once ------------------------------------------------------------ */

static void
crowd(int n)
{
	int good = 0, other = 0, status, begin[2];
	long from;
	char c;

	if (pipe(begin) < 0)
		exit(70);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			close(begin[1]);
			if (read(begin[0], &c, 1) == 0) /* all of them, at its end */
				go();
			_exit(116);
		}
		other += pid < 0;
	}
	close(begin[0]);
	from = now_us();
	close(begin[1]);
	while (wait(&status) > 0) {
		good += status == 0;
		other += status != 0;
	}
	printf("good=%d\nother=%d\nall_us=%ld\n", good, other, now_us() - from);
}

static void
flood(int n)
{
	for (int i = 0; i < n; i++) {
		if (fork() != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			execve(words[0], words, environment);
	}
	puts("flooding");
	fflush(stdout);
	for (;;)
		pause();
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *verb;
		pid_t (*start)(void);
	} kinds[] = {
	    {"threads", by_thread},
	    {"spawn", by_spawn},
	    {"vfork", by_vfork},
	    {"dying", by_fork_and_kill},
	};
	int n;

	if (argc < 4)
		return 64;
	n = atoi(argv[2]);
	words = argv + 3;
	if (strcmp(argv[1], "crowd") == 0)
		crowd(n);
	if (strcmp(argv[1], "flood") == 0)
		flood(n);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(argv[1], kinds[i].verb) == 0)
			one_by_one(n, kinds[i].start);
	}
	return 0;
}
