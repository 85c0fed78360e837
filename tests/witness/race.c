/*
 * Swapping what an exec was judged on (witness.h): a peer writes the path or
 * an argument over and over while the caller execs, so that the kernel reads
 * something else than the gate did.  EVIL must never run.
 *
 *	race KIND N GOOD EVIL
 *	  path		a thread swaps the path GOOD for EVIL
 *	  argument	a thread swaps argv[1] "good" for "evil"
 *	  shared	another process does, in shared memory
 *	  vm		a CLONE_VM process does
 */
#include "tests/witness/witness.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define WORD 256
/* Exit statuses that no raced program has. */
#define REFUSED 113
#define FAILED  114
#define KILLED  115

static struct track {
	volatile char word[WORD];
	char good[WORD], evil[WORD];
} * track;

static void
put(const char *from)
{
	for (size_t i = 0; i < WORD; i++) {
		track->word[i] = from[i];
		if (from[i] == '\0')
			break;
	}
}

/* Bounded: what the exec leaves behind ends by itself. */
#define SWAPS_MAX 20000

static void *
swap(void *arg)
{
	(void)arg;
	for (int n = 0; n < SWAPS_MAX; n++) {
		put(track->evil);
		for (volatile int i = 0; i < 300; i++)
			continue;
		put(track->good);
		for (volatile int i = 0; i < 300; i++)
			continue;
	}
	return NULL;
}

static int
swap_child(void *arg)
{
	(void)swap(arg); /* gives NULL */
	_exit(0);
}

static void
start_peer(const char *kind)
{
	static char stack[65536] __attribute__((aligned(16)));
	pthread_t t;

	/* A race less where one of these fails. */
	if (strcmp(kind, "shared") == 0) {
		if (fork() == 0)
			_exit(swap_child(NULL));
	} else if (strcmp(kind, "vm") == 0) {
		(void)clone(swap_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	} else {
		(void)pthread_create(&t, NULL, swap, NULL);
	}
}

static void
exec_once(const char *kind, const char *good)
{
	char *by_path[] = {(char *)good, (char *)"good", NULL};
	char *by_word[] = {(char *)good, (char *)track->word, NULL};
	bool path = strcmp(kind, "path") == 0 || strcmp(kind, "vm") == 0;

	usleep((useconds_t)(rand() % 300));
	execve(
	    path ? (const char *)track->word : good, path ? by_path : by_word, environ);
	_exit(errno == EACCES ? REFUSED : FAILED);
}

static int
race_once(const char *kind, const char *good, unsigned int seed)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		srand(seed);
		start_peer(kind);
		exec_once(kind, good);
	}
	(void)waitpid(pid, &status, 0); /* our own child */
	return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

int
verb_race(int argc, char **argv)
{
	int ran = 0, evil = 0, refused = 0, killed = 0, other = 0;

	if (argc < 4)
		return 64;
	track = mmap(NULL, sizeof(*track), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (track == MAP_FAILED)
		return 70;
	bool path = strcmp(argv[0], "path") == 0 || strcmp(argv[0], "vm") == 0;
	(void)snprintf(track->good, WORD, "%s", path ? argv[2] : "good");
	(void)snprintf(track->evil, WORD, "%s", path ? argv[3] : "evil");
	for (int i = 0; i < atoi(argv[1]); i++) {
		put(track->good);
		fflush(stdout);
		int r = race_once(argv[0], argv[2], (unsigned int)i);
		ran += r == 0;
		evil += r == 1; /* what /bin/false says */
		refused += r == REFUSED;
		killed += r == KILLED;
		other += r > 1 && r != REFUSED && r != KILLED;
	}
	printf(
	    "race_ran=%d\nrace_evil=%d\nrace_refused=%d\nrace_killed=%d\nrace_other=%d\n",
	    ran, evil, refused, killed, other);
	return 0;
}
