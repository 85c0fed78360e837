/*
 * The policies that come with kennel, for servers that many people run
 * (policy/presets): found by the package they are for.
 */
#ifndef KENNEL_SUPERVISOR_CLI_PRESET_H
#define KENNEL_SUPERVISOR_CLI_PRESET_H

#include <stdio.h>

struct preset_fill {
	const char *server;  /* what it is to be called */
	const char *package; /* which package it is for */
	const char *root;    /* where that lies here */
	const char *program; /* its interpreter here */
	const char *dir;     /* the folder it works on, or NULL */
};

/* The preset for this package, with these in the places of its own.  0; -ENOENT:
 * there is none; -errno of the file. */
int preset_write(const struct preset_fill *, FILE *);

#endif
