/*
 * What became of each server that import was to put under kennel: the table at its end.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_RESULTS_H
#define KENNEL_SUPERVISOR_IMPORT_RESULTS_H

#include <stddef.h>

#include "supervisor/import/private.h"
#include "supervisor/import/trial.h"

struct result {
	const struct import_found *file;
	const struct entry *entry;
	enum trial how;
	char *why;    /* of one that was not started: lines; owned; or NULL */
	char *policy; /* of one that was not started: its draft; owned; or NULL */
};

struct results {
	struct result *row;
	size_t n;
};

/* Adds a row, or replaces that of the same entry. Takes why; both texts may be NULL. */
void results_add(struct results *, const struct import_found *, const struct entry *,
    enum trial how, char *why, const char *policy);
/* Adds a row of one that is left as it was, if its trial has not. */
void results_left(
    struct results *, const struct import_found *, const struct entry *, const char *why);
/* A file that could not be changed: none of its servers is under kennel. */
void results_lost(struct results *, const struct import_found *, const char *why);
/* Prints the table, and what to do about each server that was left as it was. */
void results_put(const struct results *);
void results_free(struct results *);

#endif
