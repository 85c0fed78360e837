/*
 * kennel secret: the verbs that show what is known about secrets (secret_show.c,
 * secret_catalog.c).  They read manifests and never a value; every verb that
 * meets one is another program, kennel-secret.
 */
#ifndef KENNEL_SUPERVISOR_CLI_SECRET_H
#define KENNEL_SUPERVISOR_CLI_SECRET_H

#include "policy/manifests/manifests.h"

/* argv[0] is the verb; an exit status. */
int secret_list_main(int argc, char **argv);
int secret_show_main(int argc, char **argv);
int secret_validate_main(int argc, char **argv);
int secret_catalog_main(int argc, char **argv);
int secret_put_main(int argc, char **argv);
int secret_sources_main(int argc, char **argv);

/* What these verbs are told. */
struct secret_options {
	const char *word[2]; /* what is no option */
	int word_n;
	const char *project; /* NULL: found from here upwards */
	struct meta_filter filter;
	bool json, strict;
};

/* 0, or EXIT_USAGE after why was told.  An argument is never shown: it may be a
 * value in the wrong place. */
int secret_options(int argc, char **argv, unsigned int may, int word_min, int word_max,
    struct secret_options *ret);
/* The folder of the project: given, or the nearest above that has a manifest;
 * NULL: there is none. */
const char *secret_project(const struct secret_options *);

enum { /* may */
	SECRET_JSON = 1,
	SECRET_STRICT = 2,
	SECRET_FILTER = 4, /* --contains --scope --status --internal */
	SECRET_ALL = 8,
};

#endif
