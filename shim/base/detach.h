/*
 * Starts a program that outlives its parent: not a child of this process,
 * without a terminal, with only the given descriptors and no environment.
 */
#ifndef KENNEL_SHIM_BASE_DETACH_H
#define KENNEL_SHIM_BASE_DETACH_H

#define APART_FIRST    3 /* the number of the first descriptor it gets */
#define APART_GIVE_MAX 8

struct apart {
	const char *path; /* of the program */
	const char *name; /* its argv[0] */
	const int *give;  /* borrowed; its descriptors from APART_FIRST on, in order */
	int give_n;       /* at most APART_GIVE_MAX */
	int log;          /* its standard error; -1: /dev/null, like the other two */
};

/*
 * 0 once it runs; -errno of the step that failed; -EAGAIN if no process can be
 * created.
 */
int apart_start(const struct apart *);

#endif
