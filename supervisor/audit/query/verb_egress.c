/*
 * egress [HOST|CIDR]: one row per connection out of a cell, joined from the record of
 * its start and the record of its end.  `why` has the end of one from here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"

static const struct column egress_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"session", CELL_SESSION, 16},
    {"server", CELL_TEXT, 16},
    {"verdict", CELL_VERDICT, 7},
    {"name", CELL_TEXT, 28},
    {"port", CELL_NUMBER, 5},
    {"outcome", CELL_TEXT, 12},
    {"address", CELL_TEXT, 20},
    {"bytes_out", CELL_NUMBER, 10},
    {"bytes_in", CELL_NUMBER, 10},
    {"duration_us", CELL_US, 11},
    {"first", CELL_TEXT, 5},
    {"rule", CELL_TEXT, 0},
};

/* True if "192.0.2.0/24" contains "192.0.2.7". */
static bool
in_cidr(const char *cidr, const char *address)
{
	const char *slash = strchr(cidr, '/');
	uint8_t net[16], is[16];
	char text[64];
	int family = strchr(cidr, ':') != NULL ? AF_INET6 : AF_INET;
	unsigned long bits;
	char *end;

	if (slash == NULL || address == NULL || (size_t)(slash - cidr) >= sizeof(text))
		return false;
	memcpy(text, cidr, (size_t)(slash - cidr));
	text[slash - cidr] = '\0';
	bits = strtoul(slash + 1, &end, 10);
	if (*end != '\0' || bits > (family == AF_INET ? 32 : 128) ||
	    inet_pton(family, text, net) != 1 || inet_pton(family, address, is) != 1)
		return false;
	if (memcmp(net, is, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || (net[bits / 8] ^ is[bits / 8]) >> (8 - bits % 8) == 0;
}

static bool
is_name(const char *name, const char *word)
{
	size_t n = name != NULL ? strlen(name) : 0, w = strlen(word);

	if (name != NULL && strcmp(name, word) == 0)
		return true;
	/* "*.example.com" */
	return w > 2 && word[0] == '*' && n > w - 1 &&
	       strcmp(name + n - (w - 1), word + 1) == 0;
}

/* other: the server that the program asked for instead, or NULL. */
static bool
is_meant(const struct ask *ask, const char *name, const char *other, const char *address)
{
	const char *word = ask->word;

	return word == NULL || is_name(name, word) || is_name(other, word) ||
	       (address != NULL && strcmp(address, word) == 0) || in_cidr(word, address);
}

static int
begin_egress(struct ask *ask)
{
	ask->groups = group_new();
	return ask->groups != NULL ? 0 : -ENOMEM;
}

/* Columns whose values are not in the record of the end. */
enum { IDX, TIME, OUTCOME = 7, FIRST = 12 };

/* Key of a connection that is open. first_idx and first_ts are of its start, sum is its
 * port. "request" is its number; the writer is the leash, of which a session may have
 * several.  Records of earlier versions have no number and are not joined. */
enum { SESSION, SERVER, NAME, RULE, WRITER, REQUEST };
enum { IS_OPEN = 1, IS_FIRST = 2, IS_CHOSEN = 4 };

static struct group_row *
open_row(struct ask *ask, const struct log_record *record)
{
	const char *part[] = {
	    [SESSION] = record->session,
	    [SERVER] = log_record_text(record, "server"),
	    [NAME] = log_record_text(record, "name"),
	    [RULE] = log_record_text(record, "rule"),
	    [WRITER] = record->writer,
	    [REQUEST] = log_record_text(record, "request"),
	};

	return group_at(ask->groups, part, ARRAY_LEN(part));
}

/* A record chooses its connection.  The verdict of a row is that of its last record. */
static bool
chooses(const struct ask *ask, const struct log_record *record)
{
	struct query any = ask->choice;

	any.verdict = NULL;
	return options_match(&any, record);
}

static bool
has_verdict(const struct ask *ask, const char *verdict)
{
	return ask->choice.verdict == NULL || strcmp(ask->choice.verdict, verdict) == 0;
}

/* What became of the connection, by its last record. */
static const char *
outcome_of(const struct log_record *record)
{
	const char *reason = log_record_text(record, "reason");

	if (log_record_is(record, "verdict", "ask"))
		return "asked";
	if (log_record_is(record, "action", "open"))
		return "open";
	if (log_record_is(record, "action", "close"))
		return reason != NULL ? reason : "connected";
	return log_record_denied(record) ? "refused" : NULL;
}

/* start: the row of its start; NULL: this record is all there is. */
static void
put_record(struct ask *ask, const struct log_record *record,
    const struct group_row *start, bool first)
{
	struct table *table = &ask->table;
	const char *verdict = log_record_text(record, "verdict");

	if (!chooses(ask, record) && (start == NULL || !(start->flag & IS_CHOSEN)))
		return;
	if (!has_verdict(ask, verdict != NULL ? verdict : "") ||
	    !is_meant(ask, log_record_text(record, "name"), grant_other_name(record),
		log_record_text(record, "address")))
		return;
	for (size_t i = 0; i < ARRAY_LEN(egress_column); i++) {
		if (i == OUTCOME)
			table_text(table, outcome_of(record));
		else if (i == FIRST)
			table_text(table, first ? "first" : NULL);
		else if (i == IDX && start != NULL)
			table_number(table, start->first_idx);
		else if (i == TIME && start != NULL)
			table_number(table, start->first_ts);
		else
			see_cell(ask, record, egress_column[i].name);
	}
}

/* A connection without a record of its end. */
static void
put_open(struct ask *ask, const struct group_row *row, const char *outcome)
{
	struct table *table = &ask->table;

	if (!(row->flag & IS_CHOSEN) || !has_verdict(ask, "allow") ||
	    !is_meant(ask, row->part[NAME], NULL, NULL))
		return;
	table_number(table, row->first_idx);
	table_number(table, row->first_ts);
	table_text(table, row->part[SESSION]);
	table_text(table, row->part[SERVER]);
	table_text(table, "allow");
	table_text(table, row->part[NAME]);
	table_number(table, row->sum);
	table_text(table, outcome);
	for (size_t i = OUTCOME + 1; i < FIRST; i++)
		table_none(table);
	table_text(table, row->flag & IS_FIRST ? "first" : NULL);
	table_text(table, row->part[RULE][0] != '\0' ? row->part[RULE] : NULL);
}

static int
see_start(struct ask *ask, const struct log_record *record, bool first)
{
	struct group_row *row = open_row(ask, record);

	if (row == NULL)
		return -E2BIG;
	if (row->flag & IS_OPEN)
		put_open(ask, row, "end lost"); /* its number is used again */
	row->flag =
	    IS_OPEN | (first ? IS_FIRST : 0) | (chooses(ask, record) ? IS_CHOSEN : 0);
	row->first_idx = record->idx;
	row->first_ts = record->ts;
	row->sum = 0;
	(void)log_record_number(record, "port", &row->sum); /* 0 if missing */
	return 0;
}

static int
see_egress(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	const char *part[] = {
	    log_record_text(record, "server"), log_record_text(record, "name")};
	struct group_row *seen = group_count(ask->groups, record, part, ARRAY_LEN(part));
	struct group_row *start = NULL;
	bool numbered = log_record_find(record, "request") != NULL, first;

	if (seen == NULL)
		return -E2BIG;
	first = seen->n == 1;
	if (numbered && log_record_is(record, "action", "open") &&
	    log_record_is(record, "verdict", "allow"))
		return see_start(ask, record, first);
	if (numbered && log_record_is(record, "action", "close")) {
		start = open_row(ask, record);
		if (start == NULL)
			return -E2BIG;
		first = (start->flag & IS_FIRST) != 0 || first;
	}
	put_record(
	    ask, record, start != NULL && (start->flag & IS_OPEN) ? start : NULL, first);
	if (start != NULL)
		start->flag = 0;
	return ferror(ask->table.out) ? -EPIPE : 0;
}

static int
see_session(void *groups, const struct log_record *record)
{
	return session_see(groups, record) != NULL ? 0 : -E2BIG;
}

/* How sessions ended, whichever records the query selects. */
static int
see_sessions(struct ask *ask, struct groups *sessions, uint64_t *ret_over)
{
	struct query q = {
	    .verb = ask->q.verb, .to_ns = ask->q.to_ns, .kinds = SESSION_KINDS};
	int r = log_scan_each(ask->view, &q, see_session, sessions);

	return r == 0 ? session_over(ask, ret_over) : r;
}

/* A connection ends with its session at the latest. */
static const char *
outcome_of_open(struct groups *sessions, const char *session, uint64_t over)
{
	const struct group_row *row = group_at(sessions, &session, 1);
	bool ended = row == NULL || session_end(row, over) != SESSION_OPEN;

	return ended ? "session ended" : "open";
}

/* The connections without a record of their end, in the order of their starts. */
static int
end_egress(struct ask *ask)
{
	struct group_row *const *row = group_sorted(ask->groups, group_by_first);
	struct groups *sessions = group_new();
	uint64_t over = 0;
	int r = -ENOMEM;

	if (row != NULL && sessions != NULL)
		r = see_sessions(ask, sessions, &over);
	for (size_t i = 0; r == 0 && i < group_rows(ask->groups); i++)
		if (row[i]->flag & IS_OPEN)
			put_open(ask, row[i],
			    outcome_of_open(sessions, row[i]->part[SESSION], over));
	group_free(sessions);
	return r;
}

/* ---- for `why` ------------------------------------------------------------------------ */

struct egress_start {
	char session[SESSION_ID_LEN + 1], writer[32], request[32];
	uint64_t idx;
	char outcome[256];
};

bool
egress_start_note(struct ask *ask, const struct log_record *record)
{
	const char *request = log_record_text(record, "request");
	struct egress_start *s;

	if (strcmp(record->kind, "egress") != 0 || request == NULL ||
	    !log_record_is(record, "action", "open") ||
	    !log_record_is(record, "verdict", "allow"))
		return true;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return false;
	(void)snprintf(s->session, sizeof(s->session), "%s", record->session);
	(void)snprintf(s->writer, sizeof(s->writer), "%s", record->writer);
	(void)snprintf(s->request, sizeof(s->request), "%s", request);
	s->idx = record->idx;
	ask->own = s;
	return true;
}

static int
see_end(void *arg, const struct log_record *record)
{
	struct egress_start *s = arg;

	if (strcmp(record->writer, s->writer) != 0 ||
	    !log_record_is(record, "request", s->request) ||
	    !log_record_is(record, "action", "close"))
		return 0;
	(void)snprintf(s->outcome, sizeof(s->outcome), "%s", outcome_of(record));
	return 1;
}

int
egress_outcome(struct ask *ask, const char **ret)
{
	struct groups *sessions;
	struct egress_start *s = ask->own;
	struct query q = {.verb = ask->q.verb, .to_ns = ask->q.to_ns, .kinds = "egress"};
	uint64_t over = 0;
	int r;

	if (s == NULL)
		return 0;
	ask->q.first = ask->q.beyond = 0; /* how its session ended comes later */
	q.session = s->session;
	q.first = s->idx + 1;
	r = log_scan_each(ask->view, &q, see_end, s);
	if (r < 0)
		return r;
	*ret = s->outcome;
	if (r > 0)
		return 0;
	sessions = group_new();
	r = sessions != NULL ? see_sessions(ask, sessions, &over) : -ENOMEM;
	if (r == 0)
		*ret = outcome_of_open(sessions, s->session, over);
	group_free(sessions);
	return r;
}

const struct verb verbs_egress[] = {
    {.name = "egress",
	.operand = OPERAND_MAY,
	.may = "I",
	.kinds = "egress",
	.whole = true,
	.column = egress_column,
	.column_n = ARRAY_LEN(egress_column),
	.begin = begin_egress,
	.see = see_egress,
	.end = end_egress},
    {.name = NULL},
};
