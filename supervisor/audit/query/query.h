/*
 * The verbs of kennel audit: a table of them, and what runs one.
 *
 * 	options.c	the options of all verbs
 * 	log_view.c	the log: its segments, its checkpoint, kennel-verify's verdict
 * 	scan.c		one pass over its records
 * 	record.c	one record, its values as text
 * 	table.c		rows as text, JSON, CSV or HTML; the only printer
 * 	escape.c	escapes untrusted text for each of these formats
 * 	describe.c	a record as a sentence
 * 	grant_hint.c	the line of a policy that would allow what was refused
 * 	group.c		rows counted by a key
 * 	session_end.c	sessions by the first digits of an id, and how one ended
 * 	verb_*.c	the verbs, by family
 * 	query.c		the table of verbs
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_QUERY_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/query/table.h"

/* Exit statuses (kennel-audit(1)); 125 and 127 are kennel's own. */
enum {
	ASK_OK = 0,
	ASK_TAMPERED = 1,
	ASK_USAGE = 64,
	ASK_NO_SUCH = 65, /* the object is not in the log */
	ASK_FAILED = 125,
	ASK_NO_LOG = 127,
};

struct verb;
struct ask {
	const struct verb *verb;
	struct query q;      /* the verb may narrow it */
	struct query choice; /* of a `whole` verb: which records are of interest */
	struct log_view *view;
	struct table table;
	const char *word; /* the verb's argument; NULL: none */
	struct groups *groups;
	struct groups *chosen; /* sessions of which the query selects a record */
	uint64_t number;
	uint64_t from_ns;            /* as the query has it, whatever the verb reads */
	uint64_t left_out;           /* records that --absent would add */
	uint64_t own_n;              /* and --own */
	struct groups *own_sessions; /* left out; NULL: none are (own_sessions) */
	void *own;                   /* freed with the ask */
	const char *why;             /* static: why the query failed */
};

struct verb {
	const char *name;
	enum {
		OPERAND_NONE,
		OPERAND_MAY,
		OPERAND_MUST
	} operand; /* audit_help.c names it */
	/* Option letters (options.c) beyond the common ones.  With OPTION_OWN the verb leaves
	 * out the sessions of kennel's own, unless the option or a session is given. */
	const char *may;
	const char *kinds; /* "exec call": only these records; NULL: all */
	/* What a row says depends on records that the query may not select: `see` gets all
	 * records of these kinds, and query_chooses() says which choose rows. */
	bool whole;
	const struct column *column;
	size_t column_n;
	int (*begin)(struct ask *); /* NULL: nothing; -EINVAL rejects the word */
	log_record_fn *see;         /* arg is the ask; NULL: see_plain */
	int (*end)(struct ask *);   /* NULL; else adds rows that need the whole log */
	bool (*match)(
	    struct ask *, const struct log_record *); /* for see_plain; NULL: all */
};
#define COLUMNS(array) (array), ARRAY_LEN(array)

/* Does the query of a `whole` verb select the record? */
bool query_chooses(const struct ask *, const struct log_record *);
/* Prints a row whose columns are named after fields of the record, for each record
 * that the verb's match accepts. */
int see_plain(void *ask, const struct log_record *);
/* Prints the field of one such column. */
void see_cell(struct ask *, const struct log_record *, const char *column);

/* Runs the query and prints on out. Returns an exit status and, if it is not 0,
 * *ret_why (static, or the view's). The view must be open. */
int verb_ask(const struct verb *, const struct query *, struct log_view *, FILE *out,
    const char **ret_why);
const struct verb *verb_find(const char *name);
/* After an answer without rows: if no record has the server, session or secret that the
 * query selects, prints a similar one on standard error. */
void query_near(struct log_view *, const struct query *);

/* The number of rows of the same answer, for the page: *ret_n is set if the status is
 * ASK_OK. */
int verb_count(const struct verb *, const struct query *, struct log_view *,
    uint64_t *ret_n, const char **ret_why);

/* ---- sessions (session_end.c) ------------------------------------------------------- */

#define SESSION_ID_LEN 16
/* If *id is the first digits of one session's id, *id becomes buf, with the whole id;
 * NULL and an id that no session has remain as they are.  -ENOTUNIQ: several sessions
 * begin so, view->why lists them; else as log_scan_each. */
int session_find(struct log_view *, const char **id, char buf[SESSION_ID_LEN + 1]);

/* ---- sessions of kennel's own (session_end.c) ------------------------------------------- */

/* Those that have a purpose, as *ret, to be freed; NULL: the query wants them too.  0 or as
 * log_scan_each. */
int own_sessions(struct log_view *, const struct query *, struct groups **ret);
/* Is the record of one of them? */
bool own_session_has(struct groups *, const struct log_record *);

/* ---- how a connection ended (verb_egress.c) ----------------------------------------- */

/* Keeps the record in ask->own if it is of the start of a connection; false: no memory. */
bool egress_start_note(struct ask *, const struct log_record *);
/* Its outcome, as `egress` prints it; *ret is untouched if no start was noted. */
int egress_outcome(struct ask *, const char **ret);

/* ---- how a session ended (session_end.c) ------------------------------------------- */

enum session_end {
	SESSION_OPEN, /* no end is recorded: it may be running */
	SESSION_LOST, /* the same, and it cannot be running any more */
	SESSION_REFUSED,
	SESSION_CLEAN,
	SESSION_CRASHED,
	SESSION_LATE,        /* kennel ended it, for it did not answer in time */
	SESSION_NO_RECORDER, /* kennel ended it, for it could record nothing */
	SESSION_NO_KENNEL,   /* killed */
	SESSION_NO_LEASH,
	SESSION_NO_SHIM,
};
struct group_row;
struct groups;
/* The kinds of record that decide how a session ended. */
#define SESSION_KINDS "start stop refused"
/* Counts a record in the row of its session.  NULL as group_count. */
struct group_row *session_see(struct groups *, const struct log_record *);
/* Other rows of the groups are no session's. */
bool session_is_row(const struct group_row *);
/* "" if no record names it. */
const char *session_server(const struct group_row *);
const char *session_policy(const struct group_row *);
/* The user who started it, the program that did, and what the agent calls itself: from
 * records of the kinds "policy.load" and "call". */
const char *session_user(const struct group_row *);
const char *session_launcher(const struct group_row *);
const char *session_client(const struct group_row *);
/* What kennel itself started it for (PURPOSE_). */
const char *session_purpose(const struct group_row *);
/* Its start was recorded, and not refused after that. */
bool session_started(const struct group_row *);
/* Sessions whose last record is before *ret_idx are not running at the end of the
 * queried range: 0, or as log_scan_each. */
int session_over(const struct ask *, uint64_t *ret_idx);
/*
 * A query selects sessions; what is true of one comes from all its records, whatever the
 * query selects.  session_choose() notes the session of a record; session_each() then calls
 * fn (arg is the ask) with each record before to_ns of these sessions, of the verb's kinds.
 * Each 0, -ENOMEM or -E2BIG; session_each() also what fn and a scan return.
 */
int session_choose(struct ask *, const struct log_record *);
int session_each(struct ask *, uint64_t to_ns, log_record_fn *fn);
enum session_end session_end(const struct group_row *, uint64_t over_idx);
const char *session_end_name(enum session_end);
/* What is missing in the log at its end; NULL: nothing, or a stop record names it. */
const char *session_end_gap(const struct group_row *, enum session_end);

/* ---- what would allow a refused action (grant_hint.c) ------------------------------- */

#define GRANT_HINT_MAX 512
/* For the record of a refused program, tool, resource, prompt or connection: the line, in
 * out.  NULL: a line denies it or grants it only otherwise, as with a condition, so that
 * the hint would remove that restriction; or it was refused for a reason that no line
 * changes, or its name cannot be in a policy. */
const char *grant_hint(const struct log_record *, char out[GRANT_HINT_MAX]);
/* Was it refused because no line of the policy grants it? */
bool grant_missing(const struct log_record *);
/* Does the line that it names deny it, and not only fail to grant it? */
bool grant_line_denies(const struct log_record *);
/* Does the policy grant the program with other arguments? */
bool grant_other_arguments(const struct log_record *);
/* The server that the program asked for on a connection to another one; NULL: it did
 * not. */
const char *grant_other_name(const struct log_record *);

/* Families of verbs; a row without a name ends each. */
extern const struct verb verbs_log[], verbs_session[], verbs_object[], verbs_egress[],
    verbs_call[], verbs_denials[], verbs_policy[], verbs_gaps[], verbs_anomalies[],
    verbs_sample[];

/* "kennel audit VERB ...": argv[0] is a verb of the families above.  An exit status.
 * The function is for "changes --diff"; NULL: no verb with that option. */
int query_main(int argc, char **argv, policy_diff_fn *);
int tail_main(int argc, char **argv);
/* "kennel audit prune-WHAT --to TIME": removes older data kept next to the log. */
int verb_prune(int argc, char **argv, const char *what,
    int (*prune)(const char *log_dir, uint64_t before_ns, uint64_t *ret_n));
/* Explains, on standard error, a status that is not ASK_OK. */
void verb_complain(const struct query *, int status, const char *why);
/* The new file of -o, mode 0600, or stdout without -o. It never overwrites a file.
 * NULL: it was not created; explained on standard error. The caller closes it. */
FILE *output_new(const struct query *);

#endif
