/*
 * Sessions: a list of them, and the events of one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"

/* ---- sessions --------------------------------------------------------------------- */

static const struct column sessions_column[] = {
    {"session", CELL_SESSION, 16},
    {"server", CELL_TEXT, 16},
    {"policy", CELL_ID, 12},
    {"purpose", CELL_TEXT, 8},
    {"first", CELL_TIME, 24},
    {"last", CELL_TIME, 24},
    {"records", CELL_NUMBER, 8},
    {"selected", CELL_NUMBER, 8},
    {"calls", CELL_NUMBER, 7},
    {"execs", CELL_NUMBER, 7},
    {"denied", CELL_NUMBER, 7},
    {"user", CELL_TEXT, 10},
    {"launcher", CELL_TEXT, 24},
    {"client", CELL_TEXT, 20},
    {"ended", CELL_TEXT, 0},
};

enum { CALLS, EXECS, DENIED, COUNTS };

static int
begin_tally(struct ask *ask)
{
	ask->groups = group_new();
	return ask->groups != NULL ? 0 : -ENOMEM;
}

static int
see_facts(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	struct group_row *row = session_see(ask->groups, record);

	if (row == NULL)
		return -E2BIG;
	row->extra[CALLS] += strcmp(record->kind, "call") == 0 &&
			     log_record_is(record, "outcome", "forwarded");
	row->extra[EXECS] +=
	    strcmp(record->kind, "exec") == 0 && !log_record_absent(record);
	row->extra[DENIED] += log_record_denied(record);
	return 0;
}

/* Does the query select every record? Then one scan has them all. */
static bool
selects_all(const struct query *q)
{
	return q->server == NULL && q->kind == NULL && q->verdict == NULL &&
	       q->session == NULL && q->tool == NULL && q->rule == NULL &&
	       q->contains == NULL && !q->from_given && !q->to_given;
}

static int
see_sessions(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	int r = session_choose(ask, record);

	if (r < 0 || record->session[0] == '\0' || !selects_all(&ask->q))
		return r;
	return see_facts(ask, record);
}

static const char *
or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static int
end_sessions(struct ask *ask)
{
	struct group_row *const *row, *chosen;
	uint64_t over = 0;
	int r = selects_all(&ask->q) ? 0 : session_each(ask, INT64_MAX, see_facts);

	if (r < 0)
		return r;
	ask->q.to_ns = INT64_MAX; /* a session ends when it ends */
	row = group_sorted(ask->groups, group_by_first);
	r = row != NULL ? session_over(ask, &over) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < group_rows(ask->groups); i++) {
		const struct group_row *t = row[i];

		if (!session_is_row(t))
			continue;
		table_text(&ask->table, t->part[0]);
		table_text(&ask->table, or_null(session_server(t)));
		table_text(&ask->table, or_null(session_policy(t)));
		table_text(&ask->table, or_null(session_purpose(t)));
		table_number(&ask->table, t->first_ts);
		table_number(&ask->table, t->last_ts);
		table_number(&ask->table, t->n);
		chosen = group_at(ask->chosen, t->part, 1);
		if (chosen == NULL)
			return -E2BIG;
		table_number(&ask->table, chosen->n);
		for (size_t k = 0; k < COUNTS; k++)
			table_number(&ask->table, t->extra[k]);
		table_text(&ask->table, or_null(session_user(t)));
		table_text(&ask->table, or_null(session_launcher(t)));
		table_text(&ask->table, or_null(session_client(t)));
		table_text(&ask->table, session_end_name(session_end(t, over)));
	}
	return r;
}

/* ---- session S ---------------------------------------------------------------------- */

static const struct column session_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"after", CELL_US, 9},
    {"by", CELL_TEXT, 10},
    {"verdict", CELL_VERDICT, 7},
    {"what", CELL_TEXT, 0},
};

static int
begin_session(struct ask *ask)
{
	if (ask->q.session != NULL)
		return -EINVAL;
	ask->q.session = ask->word;
	return 0;
}

static int
see_session(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	static char story[DESCRIBE_MAX];

	/* boottime, because the clock may have been set meanwhile */
	if (ask->number == 0)
		ask->number = record->boot;
	table_number(&ask->table, record->idx);
	table_number(&ask->table, record->ts);
	if (record->boot >= ask->number)
		table_number(&ask->table, (record->boot - ask->number) / 1000);
	else
		table_none(&ask->table);
	table_text(&ask->table, record->role);
	table_field(&ask->table, record, "verdict");
	table_text(&ask->table, describe_tell(record, story));
	return ferror(ask->table.out) ? -EPIPE : 0;
}

static int
end_session(struct ask *ask)
{
	return ask->table.rows > 0 ? 0 : -ENOENT;
}

/* ---- why IDX -------------------------------------------------------------------------- */

static const struct column why_column[] = {
    {"about", CELL_TEXT, 14},
    {"answer", CELL_TEXT, 0},
};

/* What enforced the decision. The first row whose fields all exist applies. */
static const struct {
	const char *kind, *has, *mechanism;
} reason[] = {
    {"exec", "program",
	"exec gate: decided at execve, checked again on the mapped image"},
    {"refused", "mode", "start: refused before a cell was made"},
    {"refused", "name", "kennel's tool gate, before the message was forwarded"},
    {"refused", "method", "kennel's message check, before the message was forwarded"},
    {"refused", NULL, "before anything was started or forwarded"},
    {"call", NULL, "kennel's tool gate"},
    {"start", NULL, "the leash, from the sealed policy"},
    {"secrets", NULL, "the leash, from the sealed policy"},
    {"scrub", NULL, "the leash's scrubber, on the server's output"},
    {"egress", "name", "relay: the cell has no other network access"},
    {"approve", NULL, "a person's answer"},
};

static void
say(struct ask *ask, const char *about, const char *answer)
{
	table_text(&ask->table, about);
	table_text(&ask->table, answer);
}

static void
say_absent(struct ask *ask)
{
	say(ask, "explanation",
	    "the file does not exist, so it was not refused by a rule and no line could "
	    "allow it");
	say(ask, "",
	    "a search along PATH makes such an attempt in each directory before the one "
	    "that has the program");
}

/* An approval that ended without a person's answer was ended by kennel. */
static const char *
mechanism_of(const struct log_record *record, const char *otherwise)
{
	if (strcmp(record->kind, "approve") == 0 &&
	    (log_record_is(record, "outcome", "withdrawn") ||
		log_record_is(record, "outcome", "nobody")))
		return "kennel: without a person's answer, nothing is allowed";
	if (strcmp(record->kind, "approve") == 0 &&
	    log_record_is(record, "outcome", "reopened"))
		return "a person: after a refusal it may be asked about again; nothing "
		       "was "
		       "allowed";
	return otherwise;
}

/* What would allow it; or, where a line would only remove a restriction, which it was. */
static void
say_remedy(struct ask *ask, const struct log_record *record)
{
	static char text[DESCRIBE_MAX];
	char hint[GRANT_HINT_MAX];
	const char *line = grant_hint(record, hint), *pattern = NULL;

	if (grant_line_denies(record))
		pattern = "the line {rule} denies it: a deny wins over an allow";
	else if (grant_other_name(record) != NULL)
		pattern = "the program connected to {name} and asked for another server: "
			  "a line that allows {name} does not allow that";
	else if (grant_other_arguments(record))
		pattern = "lines of the policy allow {program} with other arguments: "
			  "`kennel policy explain` names the nearest line";
	if (pattern != NULL)
		say(ask, "explanation", describe_fill(record, pattern, text));
	else if (line != NULL)
		say(ask, "would allow it", line);
}

static void
say_mechanism(struct ask *ask, const struct log_record *record)
{
	bool denied = !log_record_is(record, "verdict", "allow") &&
		      log_record_find(record, "verdict") != NULL;

	if (log_record_absent(record)) {
		say_absent(ask);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(reason); i++) {
		if (strcmp(reason[i].kind, record->kind) != 0 ||
		    (reason[i].has != NULL &&
			log_record_find(record, reason[i].has) == NULL))
			continue;
		say(ask, "enforced by", mechanism_of(record, reason[i].mechanism));
		if (denied)
			say_remedy(ask, record);
		return;
	}
}

/* Lists the ancestors of the program that made the request, nearest first. */
static void
say_chain(struct ask *ask, const struct log_record *record)
{
	const struct log_record_field *chain = log_record_find(record, "chain");

	if (log_record_text(record, "caller") != NULL)
		say(ask, "caller", log_record_text(record, "caller"));
	for (size_t i = 0; chain != NULL && i < chain->n; i++)
		say(ask, i == 0 ? "started by" : "", log_record_item(chain, i));
}

/* Other refusals, as of a start or of an approval, are not for want of a line. */
static bool
lacks_line(const struct log_record *record)
{
	return log_record_find(record, "rule") == NULL &&
	       log_record_is(record, "verdict", "deny") &&
	       (strcmp(record->kind, "exec") == 0 ||
		   strcmp(record->kind, "egress") == 0 || grant_missing(record) ||
		   log_record_is(record, "reason", "deny"));
}

static int
see_why(void *arg, const struct log_record *record)
{
	static const char *const key[] = {
	    "server", "policy", "verdict", "rule", "reason", "outcome"};
	static char text[DESCRIBE_MAX];
	struct ask *ask = arg;
	char time[DESCRIBE_TIME_MAX];

	if (record->idx != ask->number)
		return 0;
	say(ask, "what", describe_tell(record, text));
	say(ask, "when", describe_time(record->ts, 9, time));
	say(ask, "session", record->session);
	for (size_t i = 0; i < ARRAY_LEN(key); i++) {
		if (log_record_text(record, key[i]) != NULL)
			say(ask, key[i], log_record_text(record, key[i]));
	}
	if (log_record_text(record, "reason") == NULL &&
	    describe_no_approval(record) != NULL)
		say(ask, "reason", describe_no_approval(record));
	say_chain(ask, record);
	if (lacks_line(record) && !grant_other_arguments(record) &&
	    grant_other_name(record) == NULL)
		say(ask, "rule", "none: no line allows it, so it is denied");
	say_mechanism(ask, record);
	return egress_start_note(ask, record) ? 0 : -ENOMEM;
}

static int
begin_why(struct ask *ask)
{
	struct span digits = {(const uint8_t *)ask->word, strlen(ask->word)};

	if (!scan_number(digits, &ask->number))
		return -EINVAL;
	ask->q.first = ask->number;
	ask->q.beyond = ask->number + 1;
	return 0;
}

static int
end_why(struct ask *ask)
{
	const char *outcome = NULL;
	int r = egress_outcome(ask, &outcome);

	if (r < 0)
		return r;
	if (outcome != NULL)
		say(ask, "connection", outcome);
	return ask->table.rows > 0 ? 0 : -ENOENT;
}

const struct verb verbs_session[] = {
    {.name = "sessions",
	.may = "I",
	.column = sessions_column,
	.column_n = ARRAY_LEN(sessions_column),
	.begin = begin_tally,
	.see = see_sessions,
	.end = end_sessions},
    {.name = "session",
	.operand = OPERAND_MUST,
	.may = "",
	.column = session_column,
	.column_n = ARRAY_LEN(session_column),
	.begin = begin_session,
	.see = see_session,
	.end = end_session},
    {.name = "why",
	.operand = OPERAND_MUST,
	.may = "",
	.column = why_column,
	.column_n = ARRAY_LEN(why_column),
	.begin = begin_why,
	.see = see_why,
	.end = end_why},
    {.name = NULL},
};
