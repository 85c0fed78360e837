/*
 * The one place where the supervisor asks the policy about a name, so that
 * what a list shows and what a call may do can never differ.
 */
#include "supervisor/hub/hub.h"

#include <stdio.h>

#define NAME_SHOWN 128 /* bytes of the name in a sentence */

void
gate_judge(const struct policy *policy, const struct sealed_server *server,
    enum sealed_gate_kind kind, const char *name, size_t name_len,
    struct gate_answer *ret)
{
	/* No arguments, rather than none yet: no condition is taken to hold. */
	const struct policy_gate_ask ask = {
	    .kind = kind, .name = name, .name_len = name_len, .args = ""};
	struct policy_answer a = policy_match_gate(policy, server, &ask);

	ret->verdict = a.verdict;
	ret->allowed = a.verdict == VERDICT_ALLOW;
	ret->because = "";
	ret->at[0] = '\0';
	if (a.gate == NULL)
		return;
	ret->because = policy_str(policy, a.gate->because);
	(void)policy_at(policy, a.gate->at, ret->at, sizeof(ret->at)); /* is ret->at */
}

const char *
gate_text(const struct gate_answer *a, enum sealed_gate_kind kind, const char *name,
    char out[GATE_TEXT_MAX])
{
	const char *what = policy_gate_name(kind);
	const char *colon = a->because[0] == '\0' ? "" : ": ";

	if (a->verdict == VERDICT_ASK)
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the %s \"%.*s\" may only be used after a person has agreed "
		    "(%s)%s%.300s; this version cannot ask, so it was not done",
		    what, NAME_SHOWN, name, a->at, colon, a->because); /* cut is fine */
	else if (a->at[0] == '\0')
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the policy grants no %s named \"%.*s\"; it was not used. "
		    "Do not try again: use what the list shows, or ask the user to "
		    "change the policy",
		    what, NAME_SHOWN, name); /* the same */
	else
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the policy denies the %s \"%.*s\" (%s)%s%.300s; "
		    "it was not used",
		    what, NAME_SHOWN, name, a->at, colon, a->because); /* the same */
	return out;
}
