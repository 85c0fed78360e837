/*
 * What a person has refused a short while ago: it is refused unasked, so that a server or an
 * agent that asks again and again does not wear a person down.
 */
#ifndef KENNEL_SUPERVISOR_APPROVE_REFUSALS_H
#define KENNEL_SUPERVISOR_APPROVE_REFUSALS_H

#include "supervisor/approve/approve.h"

#define REFUSED_NS      (60000 * LOOP_MS)  /* the same digest is not asked about */
#define REFUSED_TIMES   3                  /* refusals of one server and subject ... */
#define REFUSED_SPAN_NS (600000 * LOOP_MS) /* ... in this time close it for as long */
#define REFUSALS_KEPT   64                 /* digests, and subjects */

struct refusals {
	struct {
		uint8_t digest[QUESTION_DIGEST_LEN];
		uint64_t at; /* loop_now(); 0: free */
		uint32_t of; /* the number of its subject */
	} same[REFUSALS_KEPT];
	uint32_t last; /* number of a subject */
	struct refused_subject {
		uint32_t number;
		enum question_kind kind;
		char server[256], subject[QUESTION_TEXT_MAX];
		uint64_t at[REFUSED_TIMES]; /* the newest first; 0: none */
	} of[REFUSALS_KEPT];
};

/* A person has refused it. The oldest of what is kept makes room. */
void refusals_note(struct refusals *, const struct question_text *, uint64_t now);
/* Is it refused unasked? */
bool refusals_cover(const struct refusals *, const struct question_text *, uint64_t now);
/* Was this subject refused, of any server? */
bool refusals_about(const struct refusals *, const char *subject);
/* A person lets it be asked about again: this subject, of any server. */
void refusals_lift(struct refusals *, const char *subject);
/* How often this server and subject were refused in REFUSED_SPAN_NS: 0 to REFUSED_TIMES. */
uint32_t refusals_count(
    const struct refusals *, const struct question_text *, uint64_t now);

#endif
