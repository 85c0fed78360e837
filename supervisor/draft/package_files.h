/*
 * The files of an installed package that a draft must name or explain.
 */
#ifndef KENNEL_SUPERVISOR_DRAFT_PACKAGE_FILES_H
#define KENNEL_SUPERVISOR_DRAFT_PACKAGE_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define PACKAGE_PROGRAMS_MAX 8

struct package_files {
	char program[PACKAGE_PROGRAMS_MAX][PATH_MAX]; /* ELF, for this machine */
	size_t program_n;
	bool starts_programs; /* the code of the server's own package does */
	size_t addon_n;       /* .node files */
	char unbuilt
	    [PATH_MAX]; /* a package with sources of an add-on and no add-on, or "" */
};

/* Searches a directory, without following links; own: the server's package in it. */
void package_files_find(const char *dir, const char *own, struct package_files *ret);

#endif
