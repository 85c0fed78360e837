/*
 * The accept room: what a person's process does before it reports to a session that a
 * proposal is accepted.
 *
 *	accept_proposal.c	reads the proposal, makes the new texts
 *	manifest_write.c	writes them
 */
#ifndef KENNEL_SUPERVISOR_ACCEPT_ACCEPT_H
#define KENNEL_SUPERVISOR_ACCEPT_ACCEPT_H

#include "supervisor/approve/approve.h"

/* A question of kind 7 to 10, as it was shown. */
struct accept_request {
	uint32_t kind, cut;
	char subject[QUESTION_TEXT_MAX], detail[QUESTION_DETAIL_MAX];
};

/*
 * Writes a proposal (kind 9 or 10) to the manifest. name: chosen by the person for a new
 * path; NULL: the suggested one. Returns an exit status, after reporting an error.
 * *ret_changed: a manifest is not as it was shown, and nothing was written.
 */
int accept_proposal(const struct accept_request *, const char *name, bool *ret_changed);

#endif
