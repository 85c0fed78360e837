/*
 * Why a leash started nothing, as a session passes it to its agent: error.data.kennel of
 * the answer has `cause`, and `variable` and `path` of the secret.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_REFUSED_START_H
#define KENNEL_SUPERVISOR_LAUNCH_REFUSED_START_H

#include "leash/leash.h"

/* Its name in cause; NULL: LEASH_CAUSE_OTHER, which has none. */
const char *refused_cause_name(enum leash_cause);
struct json;
struct rpc_why;
/* What a session answers: why is the text for people. It points into both. */
struct rpc_why refused_start_why(const char *why, const struct leash_refused *);
/* The same as its agent reads it, of error.data.kennel. */
void refused_start_read(struct json kennel, struct leash_refused *ret);
/* What is wrong with the secret, without the command that helps; NULL: only the whole
 * text says it. */
const char *refused_cause_text(enum leash_cause);

#endif
