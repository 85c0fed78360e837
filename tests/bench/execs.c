/*
 * How long execs take, and how much a server that has none of them gets done.
 *
 *	execs spawn N PROGRAM ARG...	posix_spawn and wait, N times
 *	execs fork N PROGRAM ARG...	fork, exec and wait, N times
 *	execs loops N PROGRAM ARG...	64 processes, N times each, all at once
 *	execs busy N			N requests by four threads: a pipe, a sum
 *
 * Prints the nanoseconds of each (spawn, fork), or of all (loops, busy).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/start.h"

#define LOOPS   64
#define THREADS 4
#define WORK    20000 /* additions for one request: some ten microseconds */

static uint64_t
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static pid_t
by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(words[0], words, environment);
		_exit(127);
	}
	return pid;
}

static void
wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "%s did not run\n", words[0]);
		exit(70);
	}
}

static void
each(int n, pid_t (*start)(void))
{
	for (int i = 0; i < n; i++) {
		uint64_t from = now();

		wait_for(start());
		printf("%llu\n", (unsigned long long)(now() - from));
	}
}

static void
loops(int n)
{
	uint64_t from = now();
	int status, bad = 0;

	for (int i = 0; i < LOOPS; i++) {
		if (fork() != 0)
			continue;
		for (int k = 0; k < n; k++)
			wait_for(by_spawn());
		exit(0);
	}
	while (wait(&status) > 0)
		bad += status != 0;
	if (bad)
		exit(70);
	printf("%llu\n", (unsigned long long)(now() - from));
}

static void *
serve(void *arg)
{
	volatile uint64_t sum = 0;
	char request[64] = {0};
	int pipes[2];

	if (pipe(pipes) < 0)
		exit(70);
	for (int n = *(int *)arg / THREADS; n > 0; n--) {
		if (write(pipes[1], request, sizeof(request)) < 0 ||
		    read(pipes[0], request, sizeof(request)) < 0)
			exit(70);
		for (int i = 0; i < WORK; i++)
			sum += (uint64_t)i;
	}
	return sum ? NULL : arg; /* what it came to is nobody's: it was work */
}

static void
busy(int n)
{
	uint64_t from = now();
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&t[i], NULL, serve, &n) != 0)
			exit(70);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%llu\n", (unsigned long long)(now() - from));
}

int
main(int argc, char **argv)
{
	int n;

	if (argc < 3)
		return 64;
	n = atoi(argv[2]);
	words = argv + 3;
	if (strcmp(argv[1], "spawn") == 0)
		each(n, by_spawn);
	else if (strcmp(argv[1], "fork") == 0)
		each(n, by_fork);
	else if (strcmp(argv[1], "loops") == 0)
		loops(n);
	else
		busy(n);
	return 0;
}
