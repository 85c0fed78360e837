/*
 * The policies that come with kennel for common servers (policy/presets), found by
 * package.
 */
#ifndef KENNEL_SUPERVISOR_DRAFT_PRESET_H
#define KENNEL_SUPERVISOR_DRAFT_PRESET_H

#include <stdio.h>

struct preset_fill {
	const char *server;  /* name for the server */
	const char *package; /* the package it is for */
	const char *root;    /* where that package is installed */
	const char *program; /* its installed interpreter */
	const char *dir;     /* its working directory, or NULL */
};

/* Writes the preset for this package, with these values filled in. 0; -ENOENT: no
 * such preset; -errno of the file. */
int preset_write(const struct preset_fill *, FILE *);

#endif
