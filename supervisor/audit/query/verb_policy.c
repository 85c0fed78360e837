/*
 * Policies over time: which one was in force, when it changed, and what was used
 * afterwards that had not been used before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "supervisor/audit/log/kept_policies.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"

static const char *
or_null(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

static int
begin_tally(struct ask *ask)
{
	ask->groups = group_new();
	return ask->groups != NULL ? 0 : -ENOMEM;
}

/* ---- policy-at TIME ------------------------------------------------------------------- */

static const struct column policy_at_column[] = {
    {"server", CELL_TEXT, 16},
    {"policy", CELL_TEXT, 64},
    {"state", CELL_TEXT, 12},
    {"since", CELL_TIME, 24},
    {"idx", CELL_NUMBER, 8},
    {"session", CELL_SESSION, 16},
    {"version", CELL_NUMBER, 7},
    {"signer", CELL_TEXT, 16},
    {"file", CELL_TEXT, 24},
    {"sha256", CELL_TEXT, 64},
    {"text", CELL_TEXT, 0},
};

/* What a session had loaded.  Its own row is session_see()'s. */
enum { SESSION, SERVER, POLICY, LOADED_FILE, LOADED_SHA256, LOADED_SIGNER };
enum { LOADED = 1, KEPT = 2, VERSIONED = 4 };

static int
begin_policy_at(struct ask *ask)
{
	uint64_t at = 0;

	if (options_time(ask->word, &at) < 0)
		ask->why = "expected a time: " OPTIONS_TIME_FORMS;
	if (ask->q.from_given || ask->q.to_given)
		ask->why = "--from, --since and --to are not allowed after policy-at";
	/* the policy in force does not depend on which records are of interest */
	if (ask->q.verdict != NULL || ask->q.tool != NULL || ask->q.rule != NULL ||
	    ask->q.session != NULL)
		ask->why = "policy-at takes --server and no other choice of records";
	if (ask->why != NULL)
		return -EINVAL;
	ask->q.to_ns = at + 1;
	return begin_tally(ask);
}

/* The log does not contain the policy text, only its digest, its file name, and
 * whether it was kept next to the log. */
static int
see_load(struct ask *ask, const struct log_record *record)
{
	const char *part[] = {record->session, log_record_text(record, "server"),
	    log_record_text(record, "policy"), log_record_text(record, "name"),
	    log_record_text(record, "sha256"), log_record_text(record, "signer")};
	struct group_row *row = group_count(ask->groups, record, part, ARRAY_LEN(part));

	if (row == NULL)
		return -E2BIG;
	row->flag |= LOADED;
	if (log_record_is(record, "outcome", "kept"))
		row->flag |= KEPT;
	if (log_record_number(record, "version", &row->sum))
		row->flag |= VERSIONED;
	return 0;
}

static int
see_policy_at(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;

	return session_choose(ask, record);
}

static int
see_facts(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;

	if (strcmp(record->kind, "policy.load") != 0)
		return session_see(ask->groups, record) != NULL ? 0 : -E2BIG;
	return log_record_text(record, "server") != NULL ? see_load(ask, record) : 0;
}

static bool
is_load(const struct group_row *row)
{
	return row->n > 0 && !session_is_row(row);
}

/* By server, then in the order in which the sessions began. */
static int
by_server(const struct group_row *a, const struct group_row *b)
{
	int r = strcmp(session_server(a), session_server(b));

	return r != 0 ? r : group_by_first(a, b);
}

/* What the session of this row had loaded.  NULL: not recorded. */
static const struct group_row *
loaded_by(struct group_row *const *row, size_t n, const struct group_row *t)
{
	for (size_t i = 0; i < n; i++) {
		if (is_load(row[i]) &&
		    strcmp(row[i]->part[SESSION], t->part[SESSION]) == 0 &&
		    strcmp(row[i]->part[SERVER], session_server(t)) == 0 &&
		    strcmp(row[i]->part[POLICY], session_policy(t)) == 0)
			return row[i];
	}
	return NULL;
}

/* The log records whether the text was kept then; policy-text shows whether it still
 * is. */
static const char *
text_of(const struct group_row *load)
{
	bool text, kept;

	if (load == NULL)
		return "not recorded";
	text = load->part[LOADED_SHA256][0] != '\0';
	kept = (load->flag & KEPT) != 0;
	if (!kept)
		return text ? "not kept: by its sha256" : "not kept: a sealed file";
	return text ? "kept: policy-text, by its sha256"
		    : "kept: policy-text, sealed, by its id";
}

/* Reads the text, if it is still kept. NULL, and *ret_why. */
static char *
read_text(struct ask *ask, const struct group_row *load, const char **ret_why)
{
	uint8_t digest[MERKLE_HASH_LEN];
	char *text = NULL;
	size_t len;
	int r = -ENOENT;

	*ret_why = text_of(load);
	if (load == NULL ||
	    !hex_get(load->part[LOADED_SHA256], strlen(load->part[LOADED_SHA256]), digest,
		sizeof(digest)))
		return NULL;
	r = policies_get(ask->view->folder, POLICIES_TEXT, digest, &text, &len);
	if (r == 0)
		return text;
	*ret_why = r == -EBADMSG  ? "the kept file is not the policy that was in force"
		   : r != -ENOENT ? "unable to read the kept file"
		   : (load->flag & KEPT) ? "kept, and removed since"
					 : *ret_why;
	return NULL;
}

/* In text output, prints it below its row, with each line escaped. */
static void
put_lines(FILE *out, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		if (text == NULL && line[0] == '\0')
			return; /* after the last newline */
		(void)fputs("    ", out);
		escape_text(out, line);
		(void)fputc('\n', out);
	}
}

static void
put_text(struct ask *ask, const struct group_row *load)
{
	const char *why = NULL;
	char *text = read_text(ask, load, &why);

	if (text == NULL)
		table_text(&ask->table, why);
	else if (ask->table.form != FORM_TEXT)
		table_text(&ask->table, text);
	else {
		table_text(&ask->table, text_of(load));
		if (table_shown(&ask->table))
			put_lines(table_out(&ask->table), text);
	}
	free(text);
}

static void
put_policy_at(struct ask *ask, const struct group_row *t, const struct group_row *load,
    const char *state)
{
	struct table *table = &ask->table;

	table_text(table, session_server(t));
	table_text(table, session_policy(t));
	table_text(table, state);
	table_number(table, t->first_ts);
	table_number(table, t->first_idx);
	table_text(table, or_null(t->part[SESSION]));
	if (load != NULL && (load->flag & VERSIONED))
		table_number(table, load->sum);
	else
		table_none(table);
	table_text(table, load != NULL ? or_null(load->part[LOADED_SIGNER]) : NULL);
	table_text(table, load != NULL ? or_null(load->part[LOADED_FILE]) : NULL);
	table_text(table, load != NULL ? or_null(load->part[LOADED_SHA256]) : NULL);
	if (ask->q.text)
		put_text(ask, load);
	else
		table_text(table, text_of(load));
}

/* Is this policy in force in an earlier row of the same server? */
static bool
is_shown(struct group_row *const *row, size_t from, size_t i, uint64_t over)
{
	for (size_t k = from; k < i; k++)
		if (session_started(row[k]) &&
		    session_end(row[k], over) == SESSION_OPEN &&
		    strcmp(session_policy(row[k]), session_policy(row[i])) == 0)
			return true;
	return false;
}

/* The rows from `from` are one server's sessions: each policy in force once, with the
 * session that used it first; else the last one that ran. */
static void
put_server(
    struct ask *ask, struct group_row *const *row, size_t from, size_t to, uint64_t over)
{
	size_t n = group_rows(ask->groups), last = n;
	bool any = false;

	for (size_t i = from; i < to; i++) {
		if (!session_is_row(row[i]) || !session_started(row[i]))
			continue;
		last = i;
		if (session_end(row[i], over) != SESSION_OPEN)
			continue;
		any = true;
		if (!is_shown(row, from, i, over))
			put_policy_at(ask, row[i], loaded_by(row, n, row[i]), "in force");
	}
	if (!any && last < n)
		put_policy_at(ask, row[last], loaded_by(row, n, row[last]), "last used");
}

static int
end_policy_at(struct ask *ask)
{
	struct group_row *const *row;
	size_t n, from = 0;
	uint64_t over = 0;
	int r = session_each(ask, ask->q.to_ns, see_facts);

	if (r < 0)
		return r;
	n = group_rows(ask->groups);
	row = group_sorted(ask->groups, by_server);
	r = row != NULL ? session_over(ask, &over) : -ENOMEM;
	for (size_t i = 1; r == 0 && i <= n; i++) {
		if (i < n &&
		    strcmp(session_server(row[i]), session_server(row[from])) == 0)
			continue;
		put_server(ask, row, from, i, over);
		from = i;
	}
	return r;
}

/* ---- changes ---------------------------------------------------------------------------- */

static const struct column changes_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"what", CELL_TEXT, 12},
    {"server", CELL_TEXT, 16},
    {"before", CELL_ID, 12},
    {"policy", CELL_ID, 12},
    {"version", CELL_NUMBER, 7},
    {"signer", CELL_TEXT, 16},
    {"session", CELL_SESSION, 16},
    {"diff", CELL_TEXT, 0},
};

/* The row of "now" holds the policy that a server had last; each policy that it ever
 * had has a row of its own. */
static const char *
change_of(const struct group_row *now, const struct group_row *ever, const char *kind)
{
	if (strcmp(kind, "exception") == 0)
		return "exception";
	if (now == NULL)
		return "first";
	return ever->n > 1 ? "back" : "new";
}

/* In text output the lines are below the row, which has the answer in a word. */
static void
put_diff(struct ask *ask, const void *before, const uint8_t after[MERKLE_HASH_LEN])
{
	char *text = NULL;
	const char *what;

	if (before == NULL || !ask->q.diff || ask->q.diff_by == NULL) {
		table_none(&ask->table);
		return;
	}
	what = ask->q.diff_by(ask->view->folder, before, after, &text);
	if (ask->table.form != FORM_TEXT && text != NULL && text[0] != '\0') {
		table_text(&ask->table, text);
	} else {
		table_text(&ask->table, what);
		if (text != NULL && table_shown(&ask->table))
			put_lines(table_out(&ask->table), text);
	}
	free(text);
}

static void
put_change(struct ask *ask, const struct log_record *record, const char *what,
    const char *before)
{
	struct table *table = &ask->table;

	table_number(table, record->idx);
	table_number(table, record->ts);
	table_text(table, what);
	table_field(table, record, "server");
	table_text(table, before);
	table_field(table, record, "policy");
	table_field(table, record, "version");
	table_field(table, record, "signer");
	table_text(table, record->session);
}

/* Is the record of a session of kennel's own? Its first record has the purpose. */
static bool
is_own(struct ask *ask, const struct log_record *record)
{
	const char *part[] = {"", record->session, "purpose"};
	struct group_row *row = group_at(ask->groups, part, ARRAY_LEN(part));

	if (row != NULL && log_record_text(record, "purpose") != NULL)
		row->flag = 1;
	return row != NULL && row->flag == 1;
}

/* Prints such a start, by the first record of its session: it puts no policy in force. */
static int
see_own(struct ask *ask, const struct log_record *record, struct group_row *now,
    const uint8_t id[MERKLE_HASH_LEN])
{
	const char *what = log_record_text(record, "purpose");
	char before[2 * MERKLE_HASH_LEN + 1] = "";

	if (!query_chooses(ask, record) || what == NULL)
		return 0;
	if (now->flag)
		(void)hex_put(before, now->extra, MERKLE_HASH_LEN);
	put_change(ask, record, strcmp(what, PURPOSE_PIN) == 0 ? "pinning" : what,
	    or_null(before));
	put_diff(ask, now->flag ? now->extra : NULL, id);
	return ferror(ask->table.out) ? -EPIPE : 0;
}

static int
see_changes(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	const char *server = log_record_text(record, "server");
	const char *policy = log_record_text(record, "policy");
	const char *now_part[] = {server}, *ever_part[] = {server, policy};
	char before[2 * MERKLE_HASH_LEN + 1] = "";
	struct group_row *now, *ever;
	uint8_t id[MERKLE_HASH_LEN];
	const void *was = NULL;

	if (server == NULL || policy == NULL ||
	    !hex_get(policy, strlen(policy), id, sizeof(id)))
		return 0;
	now = group_at(ask->groups, now_part, 1);
	if (now != NULL && is_own(ask, record))
		return see_own(ask, record, now, id);
	ever = group_count(ask->groups, record, ever_part, 2);
	if (now == NULL || ever == NULL)
		return -E2BIG;
	if (now->flag)
		(void)hex_put(before, now->extra, sizeof(id));
	if (strcmp(before, policy) == 0 && strcmp(record->kind, "exception") != 0)
		return 0;
	if (now->flag && strcmp(before, policy) != 0)
		was = now->extra;
	if (query_chooses(ask, record)) {
		put_change(ask, record,
		    change_of(now->flag ? now : NULL, ever, record->kind),
		    or_null(before));
		put_diff(ask, was, id);
	}
	memcpy(now->extra, id, sizeof(id));
	now->flag = 1;
	return ferror(ask->table.out) ? -EPIPE : 0;
}

/* ---- widened --------------------------------------------------------------------------- */

static const struct column widened_column[] = {
    {"server", CELL_TEXT, 16},
    {"kind", CELL_TEXT, 8},
    {"object", CELL_TEXT, 32},
    {"before", CELL_TEXT, 16},
    {"used", CELL_NUMBER, 7},
    {"first", CELL_TIME, 24},
    {"first_idx", CELL_NUMBER, 9},
    {"policy", CELL_ID, 12},
    {"rule", CELL_TEXT, 0},
};
enum { W_SERVER, W_KIND, W_OBJECT, W_POLICY, W_RULE };
enum { ALLOWED_BEFORE = 1, DENIED_BEFORE = 2, ALLOWED_IN = 4, CHOSEN = 8 };

static int
see_widened(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	bool allowed = log_record_is(record, "verdict", "allow");
	const char *kind = strcmp(record->kind, "refused") == 0 ? "call" : record->kind;
	const char *part[] = {
	    log_record_text(record, "server"), kind, describe_object(record)};
	const char *row_part[] = {part[0], part[1], part[2],
	    log_record_text(record, "policy"), log_record_text(record, "rule")};
	struct group_row *row, *with;

	if (part[2] == NULL || (!allowed && !log_record_denied(record)))
		return 0;
	row = group_at(ask->groups, part, ARRAY_LEN(part));
	if (row == NULL)
		return -E2BIG;
	if (record->ts < ask->from_ns) {
		row->flag |= allowed ? ALLOWED_BEFORE : DENIED_BEFORE;
		return 0;
	}
	if (!allowed || (row->flag & ALLOWED_BEFORE) || record->ts >= ask->choice.to_ns)
		return 0;
	with = group_count(ask->groups, record, row_part, ARRAY_LEN(row_part));
	if (with == NULL)
		return -E2BIG;
	with->flag |= ALLOWED_IN | (row->flag & DENIED_BEFORE);
	with->flag |= query_chooses(ask, record) ? CHOSEN : 0;
	return 0;
}

static int
end_widened(struct ask *ask)
{
	struct group_row *const *row = group_sorted(ask->groups, group_by_first);
	struct table *table = &ask->table;

	for (size_t i = 0; row != NULL && i < group_rows(ask->groups); i++) {
		const struct group_row *t = row[i];

		if (!(t->flag & ALLOWED_IN) || !(t->flag & CHOSEN))
			continue;
		for (size_t k = W_SERVER; k <= W_OBJECT; k++)
			table_text(table, or_null(t->part[k]));
		table_text(table, t->flag & DENIED_BEFORE ? "was denied" : "never asked");
		table_number(table, t->n);
		table_number(table, t->first_ts);
		table_number(table, t->first_idx);
		table_text(table, or_null(t->part[W_POLICY]));
		table_text(table, or_null(t->part[W_RULE]));
	}
	return row != NULL ? 0 : -ENOMEM;
}

const struct verb verbs_policy[] = {
    {.name = "policy-at",
	.operand = OPERAND_MUST,
	.may = "tI",
	.kinds = "policy.load " SESSION_KINDS,
	.column = policy_at_column,
	.column_n = ARRAY_LEN(policy_at_column),
	.begin = begin_policy_at,
	.see = see_policy_at,
	.end = end_policy_at},
    {.name = "changes",
	.may = "DI",
	.whole = true,
	.kinds = "start policy.load exception",
	.column = changes_column,
	.column_n = ARRAY_LEN(changes_column),
	.begin = begin_tally,
	.see = see_changes},
    {.name = "widened",
	.may = "I",
	.kinds = "exec call refused egress",
	.whole = true,
	.column = widened_column,
	.column_n = ARRAY_LEN(widened_column),
	.begin = begin_tally,
	.see = see_widened,
	.end = end_widened},
    {.name = NULL},
};
