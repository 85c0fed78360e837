/*
 * The only place where the supervisor queries the policy about a name, so that the
 * contents of a list and the permissions of a call can never differ.
 */
#include "policy/sealed/policy.h"
#include "shim/base/loop.h"
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

static struct policy_gate_ask
match_of(const struct gate_ask *ask)
{
	struct pin_words words = {.pin = NULL};

	if (ask->pins != NULL && ask->kind == GATE_TOOL)
		words = pins_words(ask->pins, ask->name, ask->name_len);
	return (struct policy_gate_ask){.kind = ask->kind,
	    .name = ask->name,
	    .name_len = ask->name_len,
	    .args = ask->args,
	    .args_len = ask->args_len,
	    .pin = words.pin,
	    .said = words.said};
}

/* A call that may pass is refused if it exceeds a limit, whose line then decides. */
static const struct sealed_gate *
limit_judge(const struct gate_ask *ask, const struct policy_gate_ask *match,
    const struct sealed_gate *by, struct gate_answer *ret)
{
	ret->over = (struct call_over){.is = CALL_FITS};
	if (ask->limits == NULL || ask->args == NULL || ask->kind != GATE_TOOL ||
	    !(ret->allowed || ret->asks))
		return by;
	call_limits_judge(ask, match, &ret->over);
	if (ret->over.is == CALL_FITS)
		return by;
	ret->allowed = ret->asks = false;
	return ret->over.gate;
}

/* The first line that grants the name but not this call. */
static void
find_near(const struct gate_ask *ask, const struct policy_gate_ask *match,
    struct gate_answer *ret)
{
	const struct sealed_range *rows = &ask->server->gates;

	for (uint32_t i = 0; ret->miss == MISS_NONE && i < rows->n; i++) {
		const struct sealed_gate *g = &ask->policy->gate[rows->first + i];
		enum policy_miss miss = policy_gate_miss(ask->policy, g, match);

		if (g->verdict == VERDICT_DENY ||
		    (miss != MISS_COND && miss != MISS_EXCEPT && miss != MISS_EXPIRED))
			continue;
		ret->miss = miss;
		(void)policy_at(
		    ask->policy, g->at, ret->near, sizeof(ret->near)); /* fits */
	}
}

void
gate_judge(const struct gate_ask *ask, struct gate_answer *ret)
{
	struct policy_gate_ask match = match_of(ask);
	const struct sealed_gate *by;
	struct policy_answer a;
	bool reviewed;

	a = policy_match_gate(ask->policy, ask->server, &match);
	ret->pin = pin_of(ask);
	ret->verdict = a.verdict;
	ret->factor = policy_answer_factor(&a);
	ret->destructive =
	    match.pin != NULL && (match.pin->classes & CLASS_DESTRUCTIVE) != 0;
	reviewed = ret->pin == PIN_OFF || ret->pin == PIN_FITS;
	ret->allowed = a.verdict == VERDICT_ALLOW && reviewed;
	ret->asks = a.verdict == VERDICT_ASK && reviewed;
	ret->method = ask->kind == GATE_METHOD;
	ret->odd =
	    ask->kind == GATE_RESOURCE && uri_form(ask->name, ask->name_len) == URI_ODD;
	ret->because = ret->instead = "";
	ret->at[0] = ret->near[0] = '\0';
	ret->miss = MISS_NONE;
	by = limit_judge(ask, &match, a.gate, ret);
	if (by == NULL)
		return;
	ret->because = policy_str(ask->policy, by->because);
	ret->instead = policy_str(ask->policy, by->instead);
	(void)policy_at(ask->policy, by->at, ret->at, sizeof(ret->at)); /* ret->at */
}

void
gate_explain(const struct gate_ask *ask, struct gate_answer *a)
{
	struct policy_gate_ask match = match_of(ask);

	if (a->verdict == VERDICT_DENY && a->at[0] == '\0')
		find_near(ask, &match, a);
}

void
gate_count(const struct gate_ask *ask)
{
	struct policy_gate_ask match = match_of(ask);

	if (ask->limits != NULL && ask->kind == GATE_TOOL)
		call_limits_count(ask, &match);
}

/* The policy would let it be used, but not as the server defines it now. */
static bool
is_unreviewed(const struct gate_answer *a)
{
	return (a->verdict == VERDICT_ALLOW || a->verdict == VERDICT_ASK) &&
	       (a->pin == PIN_DIFFERS || a->pin == PIN_MISSING);
}

const char *
gate_outcome(const struct gate_answer *a)
{
	static const char *const over[] = {
	    [CALL_OVER_RATE] = "rate limit", [CALL_OVER_QUOTA] = "quota"};

	if (a->over.is != CALL_FITS)
		return over[a->over.is];
	if (is_unreviewed(a))
		return a->pin == PIN_DIFFERS ? "differs from its pin" : "not pinned";
	return a->verdict == VERDICT_ASK ? "ask" : "deny";
}

const char *
gate_reason(const struct gate_answer *a)
{
	const char *outcome = gate_outcome(a);

	if (strcmp(outcome, "deny") != 0 || a->at[0] != '\0' || a->method)
		return outcome;
	if (a->odd)
		return "not in normal form";
	/* no other line is missing, so the log's readers must not propose one */
	if (a->miss == MISS_COND)
		return "the condition of the line that grants it does not hold";
	if (a->miss == MISS_EXCEPT)
		return "the line that grants others like it excludes it (`except`)";
	if (a->miss == MISS_EXPIRED)
		return "the exception of the line that grants it has expired";
	return "no line grants it";
}

const char *
gate_rule(const struct gate_answer *a)
{
	return a->at[0] != '\0' ? a->at : a->near;
}

/* As in "rate limit: 30 in 1m, try again in 12 s". */
static void
put_over(const struct gate_answer *a, const char *what, const char *name,
    char out[GATE_TEXT_MAX])
{
	const struct sealed_gate *g = a->over.gate;
	char limit[128], duration[POLICY_DURATION_CAP];

	if (a->over.is == CALL_OVER_QUOTA)
		(void)snprintf(limit, sizeof(limit),
		    "quota: %u calls in this session are used up", g->quota); /* fits */
	else
		(void)snprintf(limit, sizeof(limit),
		    "rate limit: %u in %s, try again in %llu s", g->rate,
		    policy_duration(g->rate_ms, duration),
		    (unsigned long long)((a->over.wait_ns + 1000 * LOOP_MS - 1) /
					 (1000 * LOOP_MS))); /* fits */
	(void)snprintf(out, GATE_TEXT_MAX,
	    "kennel: the policy limits the %s \"%.*s\" (%s); it was not used: %s", what,
	    NAME_SHOWN, name, a->at, limit); /* may be truncated */
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
	if (a->over.is != CALL_FITS)
		put_over(a, what, name, out);
	else if (is_unreviewed(a))
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the %s \"%.*s\" is %s; it cannot be used until a person has "
		    "reviewed it with `kennel server pin`",
		    what, NAME_SHOWN, name,
		    a->pin == PIN_DIFFERS
			? "no longer the one that was reviewed"
			: "not among those that were reviewed"); /* so */
	else if (a->verdict == VERDICT_ASK)
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the %s \"%.*s\" needs approval (%s), and no approval "
		    "channel is available here; it was not used",
		    what, NAME_SHOWN, name, a->at); /* may be truncated */
	else if (a->method)
		put_method(a, name, out);
	else if (a->odd)
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the resource \"%.*s\" is not in normal form, so a server "
		    "may read another one; it was not used. Write its URI without dot "
		    "segments, empty segments, `\\`, an upper-case scheme or "
		    "percent-encoded letters",
		    NAME_SHOWN, name); /* so */
	else if (a->miss == MISS_COND)
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the arguments of the %s \"%.*s\" do not meet a condition of "
		    "the policy; it was not used. Do not try again with the same "
		    "arguments: use others, or ask the user to change the policy",
		    what, NAME_SHOWN, name); /* so */
	else if (a->at[0] == '\0')
		(void)snprintf(out, GATE_TEXT_MAX,
		    "kennel: the policy grants no %s named \"%.*s\"; "
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
	bool says = a->verdict != VERDICT_ALLOW || a->over.is != CALL_FITS;
	size_t n;

	put_reason(a, policy_gate_name(kind), name, out);
	n = strlen(out);
	if (says && a->because[0] != '\0')
		n += (size_t)snprintf(
		    out + n, GATE_TEXT_MAX - n, ": %.300s", a->because); /* fits */
	if (says && a->instead[0] != '\0')
		(void)snprintf(out + n, GATE_TEXT_MAX - n, ". Instead: %.300s",
		    a->instead); /* fits */
	return out;
}
