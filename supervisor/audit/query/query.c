/*
 * "kennel audit ...": the verbs that query a log.
 *
 * Runs in kennel. open_log.c opens the log and compares its schema first. Only
 * kennel-verify decides whether the records are unaltered; --verified runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "shim/help/near_word.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/query/table.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/terminal.h"

/* ---- the table -------------------------------------------------------------------- */

static const struct verb *const family[] = {verbs_log, verbs_session, verbs_object,
    verbs_egress, verbs_call, verbs_denials, verbs_policy, verbs_gaps, verbs_anomalies,
    verbs_sample};

const struct verb *
verb_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(family); i++) {
		for (const struct verb *v = family[i]; v->name != NULL; v++) {
			if (strcmp(v->name, name) == 0)
				return v;
		}
	}
	return NULL;
}

/* ---- a plain row -------------------------------------------------------------------- */

void
see_cell(struct ask *ask, const struct log_record *record, const char *column)
{
	static char story[DESCRIBE_MAX];
	struct table *table = &ask->table;

	if (strcmp(column, "idx") == 0)
		table_number(table, record->idx);
	else if (strcmp(column, "time") == 0)
		table_number(table, record->ts);
	else if (strcmp(column, "session") == 0)
		table_text(table, record->session);
	else if (strcmp(column, "kind") == 0)
		table_text(table, record->kind);
	else if (strcmp(column, "role") == 0)
		table_text(table, record->role);
	else if (strcmp(column, "fields") == 0)
		table_text(table, describe_fields(record, story));
	else if (strcmp(column, "what") == 0)
		table_text(table, describe_tell(record, story));
	else
		table_field(table, record, column);
}

int
see_plain(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;

	if (ask->verb->match != NULL && !ask->verb->match(ask, record))
		return 0;
	for (size_t i = 0; i < ask->verb->column_n; i++)
		see_cell(ask, record, ask->verb->column[i].name);
	return ferror(ask->table.out) ? -EPIPE : 0;
}

/* ---- running a query ------------------------------------------------------------------ */

/* Maps an errno to an exit status. */
static int
status_of(int r)
{
	static const struct {
		int r, status;
	} row[] = {
	    {0, ASK_OK},
	    {-EPIPE, ASK_OK}, /* a reader that closes the pipe has enough */
	    {-EINVAL, ASK_USAGE},
	    {-ENOENT, ASK_NO_SUCH},
	    {-ENOTUNIQ, ASK_NO_SUCH},
	    {-EUCLEAN, ASK_TAMPERED},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].r == r)
			return row[i].status;
	}
	return ASK_FAILED;
}

static const char *
words_of(int r)
{
	return r == -ENOMEM ? "not enough memory"
	       : r == -E2BIG
		   ? "too many distinct values: narrow the range with --from and --to"
	       : r == -ENOENT ? "not in the log"
	       : r == -EINVAL ? "wrong number or form of arguments"
			      : "the log is damaged; run \"kennel audit verify\"";
}

/* Passes on the records but those of kennel's own sessions, if these are left out. */
static int
see_theirs(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	const struct verb *verb = ask->verb;

	if (!own_session_has(ask->own_sessions, record))
		return verb->see != NULL ? verb->see(ask, record)
					 : see_plain(ask, record);
	if (query_chooses(ask, record) &&
	    (verb->match == NULL || verb->match(ask, record)))
		ask->own_n++;
	return 0;
}

/* The filters choose rows from here on; no record is left unread. */
static void
read_all(struct ask *ask)
{
	ask->q = (struct query){.verb = ask->choice.verb,
	    .kinds = ask->choice.kinds,
	    .to_ns = INT64_MAX,
	    .diff = ask->choice.diff,
	    .diff_by = ask->choice.diff_by};
}

bool
query_chooses(const struct ask *ask, const struct log_record *record)
{
	return options_match(&ask->choice, record);
}

static int
run(const struct verb *verb, const struct query *q, struct log_view *view, FILE *out,
    uint64_t skip, uint64_t *ret_rows, const char **ret_why)
{
	struct ask ask = {.verb = verb,
	    .q = *q,
	    .view = view,
	    .table = {.out = out, .form = q->form, .skip = skip}};
	char session[SESSION_ID_LEN + 1];
	int r = 0, ended;

	if (q->argc > 0)
		ask.word = q->argv[0];
	if (verb->kinds != NULL)
		ask.q.kinds = verb->kinds;
	ask.from_ns = q->from_ns;
	if (q->form == FORM_TEXT && out == stdout)
		ask.table.terminal = terminal_of(STDOUT_FILENO);
	if (q->argc > (verb->operand != OPERAND_NONE ? 1 : 0) ||
	    (q->argc == 0 && verb->operand == OPERAND_MUST))
		r = -EINVAL;
	if (r == 0 && verb->begin != NULL)
		r = verb->begin(&ask);
	if (r == 0)
		r = session_find(view, &ask.q.session, session);
	if (r == 0 && strchr(verb->may, OPTION_OWN) != NULL)
		r = own_sessions(view, &ask.q, &ask.own_sessions);
	if (r < 0)
		goto out;
	ask.choice = ask.q;
	if (verb->whole)
		read_all(&ask);
	table_begin(&ask.table, q, view, verb->column, verb->column_n);
	r = log_scan_each(view, &ask.q, see_theirs, &ask);
	if (r == 0 && verb->end != NULL)
		r = verb->end(&ask);
	if (ask.own_n > 0)
		table_left_out(&ask.table, TABLE_OWN, ask.own_n);
	ended = table_end(&ask.table, r < 0);
	if (r == 0)
		r = ended;
	*ret_rows = ask.table.rows;
out:
	group_free(ask.groups);
	group_free(ask.chosen);
	group_free(ask.own_sessions);
	free(ask.own);
	*ret_why = words_of(r);
	if (view->why[0] != '\0' && r != -EINVAL)
		*ret_why = view->why;
	if (ask.why != NULL)
		*ret_why = ask.why;
	return status_of(r);
}

int
verb_ask(const struct verb *verb, const struct query *q, struct log_view *view, FILE *out,
    const char **ret_why)
{
	uint64_t rows;

	return run(verb, q, view, out, 0, &rows, ret_why);
}

int
verb_count(const struct verb *verb, const struct query *q, struct log_view *view,
    uint64_t *ret_n, const char **ret_why)
{
	FILE *out = fopen("/dev/null", "we"); /* syscalls: openat */
	struct query all = *q;
	int status;

	if (out == NULL) {
		*ret_why = "unable to open /dev/null";
		return ASK_FAILED;
	}
	all.form = FORM_TEXT;
	all.most_rows = 0;
	status = run(verb, &all, view, out, 0, ret_n, ret_why);
	(void)fclose(out); /* nothing is kept */
	return status;
}

void
verb_complain(const struct query *q, int status, const char *why)
{
	if (status == ASK_NO_LOG)
		log_error(
		    "no log found in %s", q->log != NULL ? q->log : paths_audit_dir());
	else if (status != ASK_OK)
		log_error("audit %s: %s", q->verb, why);
}

FILE *
output_new(const struct query *q)
{
	FILE *out = NULL;
	int fd;

	if (q->out == NULL)
		return stdout;
	fd = open(q->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		out = fdopen(fd, "w");
	if (out == NULL)
		log_error("audit %s: unable to create %s: %s%s", q->verb, q->out,
		    strerror(errno), errno == EEXIST ? "; name a new file with -o" : "");
	return out;
}

/* The number of rows before the last ones that -n asks for: all of them are counted
 * first, so that the answer needs no memory for rows. */
static int
rows_before(const struct verb *verb, const struct query *q, struct log_view *view,
    uint64_t *ret_n, const char **ret_why)
{
	struct query all = *q;
	uint64_t n = 0;
	int status = ASK_OK;

	all.last_rows = 0;
	if (q->last_rows > 0)
		status = verb_count(verb, &all, view, &n, ret_why);
	*ret_n = n > q->last_rows && q->last_rows > 0 ? n - q->last_rows : 0;
	return status;
}

/* ---- did you mean ------------------------------------------------------------------- */

/* The names of one kind that the log has.  A misspelt one would look like "nothing
 * happened". */
struct names {
	const char *wanted;
	const char *const *key; /* their fields, then NULL; NULL: the record's session */
	struct groups *groups;
	bool found; /* a record has the wanted name */
};

static bool
add(struct names *n, const char *name)
{
	return name[0] == '\0' || group_at(n->groups, &name, 1) != NULL;
}

static int
see_name(void *arg, const struct log_record *record)
{
	struct names *n = arg;

	if (n->key == NULL) {
		n->found |= strncmp(record->session, n->wanted, strlen(n->wanted)) == 0;
		return add(n, record->session) ? 0 : -1;
	}
	for (const char *const *key = n->key; *key != NULL; key++) {
		const struct log_record_field *field = log_record_find(record, *key);

		n->found |= log_record_has(record, *key, n->wanted);
		for (size_t i = 0; field != NULL && i < field->n; i++)
			if (!add(n, log_record_item(field, i)))
				return -1;
	}
	return 0;
}

static void
say_near(const struct query *q, const struct names *n)
{
	size_t count = group_rows(n->groups);
	struct group_row *const *row = group_sorted(n->groups, group_by_name);
	const char **list = calloc(count + 1, sizeof(*list)), *near = NULL;
	char wanted[160], meant[160];

	for (size_t i = 0; list != NULL && row != NULL && i < count; i++)
		list[i] = row[i]->part[0];
	if (list != NULL)
		near = near_word(n->wanted, list, count);
	if (near != NULL)
		log_error("audit %s: no record of `%s`: did you mean `%s`?", q->verb,
		    log_quote(wanted, sizeof(wanted), n->wanted, strlen(n->wanted)),
		    log_quote(meant, sizeof(meant), near, strlen(near)));
	free(list);
}

/* Reads the log again, and without a suggestion if that fails. */
static void
look(struct log_view *view, const struct query *q, const char *wanted, const char *kinds,
    const char *const *key)
{
	const struct query all = {.verb = q->verb, .to_ns = INT64_MAX, .kinds = kinds};
	struct names n = {.wanted = wanted, .key = key, .groups = group_new()};

	if (wanted != NULL && n.groups != NULL &&
	    log_scan_each(view, &all, see_name, &n) == 0 && !n.found)
		say_near(q, &n);
	group_free(n.groups);
}

void
query_near(struct log_view *view, const struct query *q)
{
	static const char *const server_key[] = {"server", NULL};
	static const char *const secret_key[] = {"name", "path", NULL};
	const char *word = q->argc > 0 ? q->argv[0] : NULL;
	bool session = strcmp(q->verb, "session") == 0,
	     server = strcmp(q->verb, "manifest") == 0;

	look(view, q, server ? word : q->server, SESSION_KINDS " policy.load manifest",
	    server_key);
	look(view, q, session ? word : q->session, SESSION_KINDS " policy.load", NULL);
	if (strcmp(q->verb, "secret") == 0)
		look(view, q, word, "secrets scrub vault", secret_key);
}

/* ---- running a verb ----------------------------------------------------------------- */

static int
verb_main(const struct verb *verb, const struct query *q)
{
	const char *why = NULL;
	uint64_t before = 0, rows = 0;
	struct log_view view;
	int status = log_view_open(q, &view);

	if (status == ASK_OK)
		status = rows_before(verb, q, &view, &before, &why);
	else
		why = view.why;
	if (status == ASK_OK)
		status = run(verb, q, &view, stdout, before, &rows, &why);
	if (status == ASK_USAGE)
		(void)help_usage(&audit_help, verb->name, why); /* always 64 */
	else
		verb_complain(q, status, why);
	if ((status == ASK_OK && rows == 0) || status == ASK_NO_SUCH)
		query_near(&view, q);
	log_view_close(&view);
	if (fflush(stdout) != 0 && status == ASK_OK && errno != EPIPE)
		status = ASK_FAILED;
	return status;
}

int
verb_prune(int argc, char **argv, const char *what,
    int (*prune)(const char *log_dir, uint64_t before_ns, uint64_t *ret_n))
{
	const char *folder = paths_audit_dir();
	struct query q;
	uint64_t n = 0;
	int r;

	if (options_read(argc, argv, "!T", &q) < 0)
		return ASK_USAGE;
	if (q.argc != 0 || !q.to_given)
		return help_usage(&audit_help, argv[0], "expected --to TIME");
	if (q.log != NULL)
		folder = q.log;
	r = folder != NULL ? prune(folder, q.to_ns, &n) : -ENOENT;
	if (r < 0 && r != -ENOENT) {
		verb_complain(&q, ASK_FAILED, strerror(-r));
		return ASK_FAILED;
	}
	printf("%" PRIu64 " %s removed; the log is unchanged\n", n, what);
	return ASK_OK;
}

int
query_main(int argc, char **argv, policy_diff_fn *diff)
{
	const struct verb *verb = argc > 0 ? verb_find(argv[0]) : NULL;
	char may[16];
	struct query q;

	if (verb == NULL)
		return help_unknown_verb(&audit_help, argc > 0 ? argv[0] : "");
	(void)snprintf(may, sizeof(may), "%sN", verb->may);
	if (options_read(argc, argv, may, &q) < 0)
		return ASK_USAGE;
	q.diff_by = diff;
	return verb_main(verb, &q);
}
