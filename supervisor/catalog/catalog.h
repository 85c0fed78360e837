/*
 * kennel secret catalog fetch: catalogs by URL.
 *
 *	verb_fetch.c	the verb: each `catalog` of both files, and what becomes of it
 *	cell.c		kennel-remote in its cell, which gets one file
 *	outcome.c	how a fetch ended: its record and its message
 */
#ifndef KENNEL_SUPERVISOR_CATALOG_CATALOG_H
#define KENNEL_SUPERVISOR_CATALOG_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/manifests/catalog.h"
#include "policy/manifests/catalog_source.h"

enum catalog_outcome {
	OUTCOME_FETCHED,
	OUTCOME_UNCHANGED,
	OUTCOME_FIRST_USE,
	OUTCOME_DIGEST_MISMATCH,
	OUTCOME_TOO_LARGE,
	OUTCOME_WRONG_TYPE,
	OUTCOME_NOT_HTTPS,
	OUTCOME_PRIVATE_ADDRESS,
	OUTCOME_REDIRECT,
	OUTCOME_HTTP_ERROR,
	OUTCOME_TLS,
	OUTCOME_TIMEOUT,
	OUTCOME_UNREACHABLE,
	OUTCOME_PARSE_ERROR,
	OUTCOME_DISABLED,
	OUTCOME_N
};

/* One fetch. */
struct catalog_fetch {
	const struct catalog_source *source;
	char *text; /* what came, with a NUL after it; NULL: nothing */
	size_t len;
	char digest[CATALOG_DIGEST_LEN + 1]; /* of text; "": none */
	unsigned int status;                 /* of the answer; 0: none */
	const char *reason;                  /* instead of the outcome's; or NULL */
};

/* ---- outcome.c ---- */

const char *outcome_name(enum catalog_outcome);
/* The outcome of this name, or OUTCOME_N. */
enum catalog_outcome outcome_find(const char *, size_t len);
/* May what was fetched be used? */
bool outcome_good(enum catalog_outcome);
/* Records it in the user's log, and waits until it is on disk: 0, or -errno after
 * reporting why not. */
struct report;
int outcome_record(
    struct report *, const struct catalog_fetch *, enum catalog_outcome, bool allowed);
/* Reports one that is not good. */
void outcome_complain(const struct catalog_fetch *, enum catalog_outcome);

/* ---- cell.c ---- */

/* Gets the file, as far as it fits. store: the directory of catalogs, which has the
 * cell's policy meanwhile. */
enum catalog_outcome cell_fetch(const char *store, struct catalog_fetch *);

#endif
