/*
 * A program that lives on by itself: nobody's child, without a terminal, with no
 * more than the descriptors it is given and no environment.
 */
#ifndef KENNEL_BASE_APART_H
#define KENNEL_BASE_APART_H

#define APART_FIRST    3 /* the number of the first descriptor it gets */
#define APART_GIVE_MAX 8

struct apart {
	const char *path; /* of the program */
	const char *name; /* as it is called */
	const int *give;  /* borrowed; its descriptors from APART_FIRST on, in order */
	int give_n;       /* at most APART_GIVE_MAX */
	int log;          /* its standard error; -1: /dev/null, as the other two are */
};

/* 0 once it runs; -errno of what kept it from that; -EAGAIN where no process can
 * be made. */
int apart_start(const struct apart *);

#endif
