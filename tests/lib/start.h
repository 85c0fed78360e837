/*
 * What a program of the tests starts, over and over: the words of its command
 * line, with an empty environment.
 */
#ifndef KENNEL_TESTS_LIB_START_H
#define KENNEL_TESTS_LIB_START_H

#include <spawn.h>
#include <stddef.h>
#include <sys/types.h>

static char **words; /* of the program to start, from its path on */
static char *environment[] = {NULL};

/* By posix_spawn; -1: it is not there, or was refused. */
static pid_t
by_spawn(void)
{
	pid_t pid;
	int r = posix_spawn(&pid, words[0], NULL, NULL, words, environment);

	return r == 0 ? pid : -1;
}

#endif
