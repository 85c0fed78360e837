/*
 * How long until a program's first instruction (its main, near enough).
 *
 *	spawn N PROG ARG...	runs it N times, prints each time in nanoseconds
 *	spawn --first		the program that is timed: says what time it is
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The time from here to the child's first instruction; 0: it did not run. */
static uint64_t
once(char **argv)
{
	int out[2];
	char text[32];
	size_t n = 0;
	ssize_t got;

	if (pipe2(out, O_CLOEXEC) < 0)
		return 0;
	uint64_t before = now();
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(out[1], 1); /* cannot fail: both are open */
		execv(argv[0], argv);
		_exit(127);
	}
	close(out[1]);
	while (n < sizeof(text) - 1 &&
	       (got = read(out[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	close(out[0]);
	(void)waitpid(pid, NULL, 0); /* our own child */
	uint64_t first = strtoull(text, NULL, 10);
	return first > before ? first - before : 0;
}

int
main(int argc, char **argv)
{
	uint64_t first = now();

	if (argc == 2 && strcmp(argv[1], "--first") == 0) {
		printf("%llu\n", (unsigned long long)first);
		return 0;
	}
	if (argc < 3)
		return 64;
	for (int i = 0; i < atoi(argv[1]); i++)
		printf("%llu\n", (unsigned long long)once(argv + 2));
	return 0;
}
