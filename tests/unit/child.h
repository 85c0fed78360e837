/*
 * A child of a unit test.  A failed assertion of cmocka jumps back to the list
 * of tests, also in a child, which would then run all that follow and fork in
 * its turn.  In a child of test_fork() it aborts instead, and the child does
 * not outlive the test.
 */
#ifndef KENNEL_TESTS_UNIT_CHILD_H
#define KENNEL_TESTS_UNIT_CHILD_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

static inline pid_t
test_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (setenv("CMOCKA_TEST_ABORT", "1", 1) != 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
			_exit(99);
	}
	return pid;
}

#endif
