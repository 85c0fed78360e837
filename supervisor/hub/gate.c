/*
 * The only place where the supervisor queries the policy about a name, so that the
 * contents of a list and the permissions of a call can never differ.
 */
#include "policy/sealed/policy.h"
#include "supervisor/hub/hub.h"

#include <stdio.h>
#include <string.h>

#include "policy/sealed/values/method_name.h"
#include "policy/sealed/values/uri.h"

#define NAME_SHOWN 128 /* bytes of the name in a message */

/* The kinds of pins that apply to each kind of name. */
static const enum sealed_pin_kind pin_kind[] = {
    [GATE_TOOL] = PIN_TOOL,
    [GATE_RESOURCE] = PIN_RESOURCE,
    [GATE_PROMPT] = PIN_PROMPT,
};

/* A resource may be used although no list shows it; only one that is known to differ
 * from its pin is refused. */
static enum pin_state
pin_of(const struct gate_ask *ask)
{
	enum pin_state state;

	if (ask->pins == NULL || ask->kind > GATE_PROMPT)
		return PIN_OFF;
	state = pins_state(ask->pins, pin_kind[ask->kind], ask->name, ask->name_len);
	return state == PIN_MISSING && ask->kind == GATE_RESOURCE ? PIN_OFF : state;
}

void
gate_judge(const struct gate_ask *ask, struct gate_answer *ret)
{
	struct policy_gate_ask match = {.kind = ask->kind,
	    .name = ask->name,
	    .name_len = ask->name_len,
	    .args = ask->args,
	    .args_len = ask->args_len};
	struct pin_words words = {.pin = NULL};
	struct policy_answer a;
	bool reviewed;

	if (ask->pins != NULL && ask->kind == GATE_TOOL)
		words = pins_words(ask->pins, ask->name, ask->name_len);
	match.pin = words.pin;
	match.said = words.said;
	a = policy_match_gate(ask->policy, ask->server, &match);
	ret->pin = pin_of(ask);
	ret->verdict = a.verdict;
	reviewed = ret->pin == PIN_OFF || ret->pin == PIN_FITS;
	ret->allowed = a.verdict == VERDICT_ALLOW && reviewed;
	ret->asks = a.verdict == VERDICT_ASK && reviewed;
	ret->method = ask->kind == GATE_METHOD;
	ret->odd =
	    ask->kind == GATE_RESOURCE && uri_form(ask->name, ask->name_len) == URI_ODD;
	ret->because = ret->instead = "";
	ret->at[0] = '\0';
	if (a.gate == NULL)
		return;
	ret->because = policy_str(ask->policy, a.gate->because);
	ret->instead = policy_str(ask->policy, a.gate->instead);
	(void)policy_at(ask->policy, a.gate->at, ret->at, sizeof(ret->at)); /* ret->at */
}

static void
put_method(const struct gate_answer *a, const char *name, char out[GATE_TEXT_MAX])
{
	bool twin = method_form(name, strlen(name)) == METHOD_TWIN;

	if (a->at[0] != '\0')
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the policy denies the method \"%.*s\" (%s); it was not "
		    "forwarded",
		    NAME_SHOWN, name, a->at); /* may be truncated */
	else
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the method \"%.*s\" %s; it was not forwarded", NAME_SHOWN,
		    name,
		    twin ? "is unknown, and could be mistaken for a known one"
			 : "is not allowed by the policy"); /* so */
}

/* Writes the reason, before the policy's own text. */
static void
put_reason(const struct gate_answer *a, const char *what, const char *name,
    char out[GATE_TEXT_MAX])
{
	if (a->verdict == VERDICT_ASK)
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the %s \"%.*s\" needs approval (%s), and no approval "
		    "channel is available here; it was not used",
		    what, NAME_SHOWN, name, a->at); /* may be truncated */
	else if (a->verdict == VERDICT_ALLOW)
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the %s \"%.*s\" is %s; it cannot be used until a person has "
		    "reviewed it",
		    what, NAME_SHOWN, name,
		    a->pin == PIN_DIFFERS
			? "no longer the one that was reviewed"
			: "not among those that were reviewed"); /* so */
	else if (a->method)
		put_method(a, name, out);
	else if (a->odd)
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the resource \"%.*s\" is not in normal form, so a server "
		    "may read another one; it was not used. Write its URI without dot "
		    "segments, empty segments, `\\`, an upper-case scheme or "
		    "percent-encoded letters",
		    NAME_SHOWN, name); /* so */
	else if (a->at[0] == '\0')
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the policy grants no %s named \"%.*s\" with these "
		    "arguments; "
		    "it was not used. Do not try again: use what the list shows, or ask "
		    "the user to change the policy",
		    what, NAME_SHOWN, name); /* so */
	else
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the policy denies the %s \"%.*s\" (%s); it was not used",
		    what, NAME_SHOWN, name, a->at); /* so */
}

const char *
gate_text(const struct gate_answer *a, enum sealed_gate_kind kind, const char *name,
    char out[GATE_TEXT_MAX])
{
	size_t n;

	put_reason(a, policy_gate_name(kind), name, out);
	n = strlen(out);
	if (a->verdict != VERDICT_ALLOW && a->because[0] != '\0')
		n += (size_t)snprintf(
		    out + n, GATE_TEXT_MAX - n, ": %.300s", a->because); /* fits */
	if (a->verdict != VERDICT_ALLOW && a->instead[0] != '\0')
		(void)snprintf(out + n, GATE_TEXT_MAX - n, ". Instead: %.300s",
		    a->instead); /* fits */
	return out;
}
