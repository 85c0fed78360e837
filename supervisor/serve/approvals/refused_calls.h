/*
 * Calls that have a process of their own, and that a person has refused. The queue of such a
 * process ends with it, so the session remembers the refusal, in its own queue: the same call is
 * refused unasked for a while, and `kennel approve reopen` lifts that.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_APPROVALS_REFUSED_CALLS_H
#define KENNEL_SUPERVISOR_SERVE_APPROVALS_REFUSED_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/hub/hub.h"
#include "supervisor/json/json.h"

struct queue;
struct refused_call; /* a call that a person is asked about */

#define REFUSED_CALL_TEXT \
	"kennel: a person has refused this a short while ago, so it is not asked again " \
	"yet " \
	"(exactly this for 60 s; after three refusals, anything of this name for 10 " \
	"min); " \
	"talk with the person instead, who can lift this with kennel approve reopen " \
	"NAME"
#define REFUSED_CALL_OUTCOME "denied by a person"

/* The call is refused unasked. */
bool refused_call_is(const struct queue *, const struct gate_ask *);
/* A call that is made: NULL: no person is asked about it, or there is no memory. */
struct refused_call *refused_call_new(const struct gate_ask *);
/* Its answer: a refusal by a person is noted. */
void refused_call_answer(
    struct queue *, const struct refused_call *, const struct json_message *);

#endif
