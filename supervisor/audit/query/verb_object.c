/*
 * Verbs about one object: a program, path, secret, tool definition or approval.
 * Most verbs are only their columns and a match function; see_plain does the rest.
 */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/loop.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"

#define DIGEST_LEAST 8 /* fewest digits of a digest */

/* ---- exec BIN|SHA256 ------------------------------------------------------------------ */

static const struct column exec_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"session", CELL_SESSION, 16},
    {"server", CELL_TEXT, 12},
    {"pid", CELL_NUMBER, 7},
    {"verdict", CELL_VERDICT, 7},
    {"program", CELL_TEXT, 24},
    {"image", CELL_TEXT, 24},
    {"caller", CELL_TEXT, 24},
    {"sha256", CELL_ID, 12},
    {"argv_sha256", CELL_ID, 12},
    {"rule", CELL_TEXT, 0},
};

/* Matches the last component of the path, if the word is not a path. */
static bool
names(const char *path, const char *word)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;

	if (path == NULL)
		return false;
	return strchr(word, '/') == NULL && slash != NULL && strcmp(slash + 1, word) == 0;
}

static bool
begins(const char *digest, const char *word)
{
	size_t len = strlen(word);

	return digest != NULL && len >= DIGEST_LEAST && strncmp(digest, word, len) == 0;
}

static bool
is_meant(const struct ask *ask, const struct log_record *record)
{
	return ask->word == NULL || log_record_is(record, "program", ask->word) ||
	       log_record_is(record, "image", ask->word) ||
	       names(log_record_text(record, "program"), ask->word) ||
	       names(log_record_text(record, "image"), ask->word) ||
	       begins(log_record_text(record, "sha256"), ask->word) ||
	       begins(log_record_text(record, "argv_sha256"), ask->word);
}

static bool
match_exec(struct ask *ask, const struct log_record *record)
{
	if (!is_meant(ask, record))
		return false;
	if (!log_record_absent(record) || options_with_absent(&ask->q))
		return true;
	table_left_out(&ask->table, TABLE_ABSENT, ++ask->left_out);
	return false;
}

/* ---- secret NAME|PATH --------------------------------------------------------------------- */

static const struct column secret_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"session", CELL_SESSION, 16},
    {"server", CELL_TEXT, 16},
    {"kind", CELL_TEXT, 8},
    {"verdict", CELL_VERDICT, 7},
    {"count", CELL_NUMBER, 6},
    {"what", CELL_TEXT, 0},
};

/* Approvals of tools, programs and connections are in who-approved. */
static bool
match_secret(struct ask *ask, const struct log_record *record)
{
	if (strcmp(record->kind, "approve") == 0 &&
	    !log_record_is(record, "method", "secret"))
		return false;
	return ask->word == NULL || log_record_has(record, "name", ask->word) ||
	       log_record_has(record, "path", ask->word);
}

/*
 * ---- find-secret TRACE
 * -------------------------------------------------------------------
 *
 * The fingerprint that kennel-secret computed from a typed value; the value itself is
 * never passed on.
 */

static const struct column found_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"session", CELL_SESSION, 16},
    {"server", CELL_TEXT, 16},
    {"how", CELL_TEXT, 9},
    {"count", CELL_NUMBER, 6},
    {"name", CELL_TEXT, 0},
};

#define TRACE_DIGITS 32 /* leash/vault/fingerprint.h */

static int
begin_found(struct ask *ask)
{
	return hex_is(ask->word, strlen(ask->word), TRACE_DIGITS) ? 0 : -EINVAL;
}

/* Names and fingerprints are in the same order. */
static int
see_found(void *arg, const struct log_record *record)
{
	const struct log_record_field *trace = log_record_find(record, "trace");
	const struct log_record_field *name = log_record_find(record, "name");
	bool given = strcmp(record->kind, "secrets") == 0;
	struct ask *ask = arg;

	for (size_t i = 0; trace != NULL && i < trace->n; i++) {
		if (strcmp(log_record_item(trace, i), ask->word) != 0)
			continue;
		see_cell(ask, record, "idx");
		see_cell(ask, record, "time");
		see_cell(ask, record, "session");
		see_cell(ask, record, "server");
		table_text(&ask->table, given ? "given" : "redacted");
		see_cell(ask, record, "count");
		table_text(&ask->table,
		    name != NULL && i < name->n ? log_record_item(name, i) : NULL);
		ask->number++;
	}
	return ferror(ask->table.out) ? -EPIPE : 0;
}

static int
end_found(struct ask *ask)
{
	return ask->number > 0 ? 0 : -ENOENT;
}

/* ---- touched PATH ------------------------------------------------------------------------ */

static const struct column touched_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"session", CELL_SESSION, 16},
    {"server", CELL_TEXT, 16},
    {"verdict", CELL_VERDICT, 7},
    {"how", CELL_TEXT, 14},
    {"path", CELL_TEXT, 0},
};

/* True if one path equals the other or is below it. */
static bool
covers(const char *path, size_t len, const char *word)
{
	size_t n = strlen(word), least = len < n ? len : n;

	while (least > 1 && (path[least - 1] == '/' || word[least - 1] == '/'))
		least--;
	if (strncmp(path, word, least) != 0)
		return false;
	return (len <= least || path[least] == '/' || least == 1) &&
	       (n <= least || word[least] == '/' || least == 1);
}

static void
put_touched(
    struct ask *ask, const struct log_record *record, const char *how, const char *path)
{
	static const char *const column[] = {
	    "idx", "time", "session", "server", "verdict"};

	for (size_t i = 0; i < ARRAY_LEN(column); i++)
		see_cell(ask, record, column[i]);
	table_text(&ask->table, how);
	table_text(&ask->table, path);
}

static bool
is_why(const char *item, enum sealed_mount_why why)
{
	const char *name = policy_why_name(why), *at = strrchr(item, '(');
	size_t n = strlen(name);

	return at != NULL && strncmp(at + 1, name, n) == 0 &&
	       strcmp(at + 1 + n, ")") == 0;
}

/* A mount that the leash fills: no file of the host is in it. */
static bool
is_own(const char *item)
{
	return is_why(item, WHY_BASE) || is_why(item, WHY_TMP);
}

/* Of "ro /usr/lib/x (library)": how the server could use it. */
static const char *
how_mounted(const char *item)
{
	if (is_why(item, WHY_HIDE))
		return "could not see";
	if (is_own(item))
		return "had its own";
	return strncmp(item, "rw ", 3) == 0 ? "could write" : "could read";
}

/* The mounts below the path, and of those above it the deepest, which decides. */
static void
see_mounts(struct ask *ask, const struct log_record *record,
    const struct log_record_field *mounts)
{
	const char *deepest = NULL, *item, *path;
	size_t longest = 0, len;

	for (size_t i = 0; i < mounts->n; i++) {
		item = log_record_item(mounts, i);
		path = strchr(item, ' ');
		if (path == NULL || path[1] != '/')
			continue;
		len = strcspn(path + 1, " ");
		if (!covers(path + 1, len, ask->word))
			continue;
		if (len > strlen(ask->word))
			put_touched(ask, record, how_mounted(item), path + 1);
		else if (len >= longest) {
			deepest = item;
			longest = len;
		}
	}
	/* as policy_match_path: the cell's own /etc has only the files that kennel writes */
	if (deepest != NULL && is_own(deepest) &&
	    strncmp(ask->word, "/etc/", strlen("/etc/")) == 0 &&
	    ask->word[strlen("/etc/")] != '\0' && !policy_etc_has(ask->word))
		return;
	if (deepest != NULL)
		put_touched(ask, record, how_mounted(deepest), strchr(deepest, ' ') + 1);
}

static const char *
how_run(const struct log_record *record)
{
	if (log_record_is(record, "verdict", "allow"))
		return "was run";
	return log_record_absent(record) ? "was not there" : "tried to run";
}

static int
see_touched(void *arg, const struct log_record *record)
{
	static const char *const key[] = {"program", "image"};
	const struct log_record_field *mount = log_record_find(record, "mount");
	struct ask *ask = arg;

	if (mount != NULL)
		see_mounts(ask, record, mount);
	for (size_t i = 0; i < ARRAY_LEN(key); i++) {
		const char *path = log_record_text(record, key[i]);

		if (path == NULL || !covers(path, strlen(path), ask->word))
			continue;
		put_touched(ask, record, how_run(record), path);
		break;
	}
	return ferror(ask->table.out) ? -EPIPE : 0;
}

static int
begin_touched(struct ask *ask)
{
	return ask->word[0] == '/' ? 0 : -EINVAL;
}

/* ---- manifest, who-approved, exceptions --------------------------------------------------- */

static const struct column manifest_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"server", CELL_TEXT, 16},
    {"method", CELL_TEXT, 12},
    {"name", CELL_TEXT, 24},
    {"sha256", CELL_ID, 12},
    {"pinned", CELL_ID, 12},
    {"verdict", CELL_VERDICT, 7},
    {"outcome", CELL_TEXT, 12},
    {"reason", CELL_TEXT, 0},
};

static bool
match_server(struct ask *ask, const struct log_record *record)
{
	return ask->word == NULL || log_record_is(record, "server", ask->word);
}

static const struct column approved_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"session", CELL_SESSION, 16},
    {"server", CELL_TEXT, 16},
    {"name", CELL_TEXT, 24},
    {"verdict", CELL_VERDICT, 7},
    {"outcome", CELL_TEXT, 12},
    {"user", CELL_TEXT, 12},
    {"approver", CELL_TEXT, 20},
    {"channel", CELL_TEXT, 8},
    {"duration_us", CELL_US, 11},
    {"sha256", CELL_ID, 12},
    {"call", CELL_NUMBER, 8},
    {"odd", CELL_TEXT, 0},
};
enum { CALL = ARRAY_LEN(approved_column) - 2 };

#define HASTY_US ((uint64_t)1000000) /* too fast to have read the request */
#define BULK_NS  (10 * NS_PER_S)     /* longest gap in a series */
#define BULK_N   5

/* The first part of a key separates these rows from those of odd_answer. */
#define PENDING "\001 pending" /* an answer whose call is not recorded yet */
#define MADE    "\001 made"    /* a call that was made after an answer */

static struct group_row *
row_of_request(struct ask *ask, const struct log_record *record)
{
	const char *part[] = {PENDING, record->session,
	    log_record_text(record, "request"), log_record_text(record, "name")};

	return part[2] == NULL ? NULL : group_at(ask->groups, part, ARRAY_LEN(part));
}

/* The call that was made after the answer with this number. */
static struct group_row *
row_of_answer(struct ask *ask, uint64_t idx)
{
	char number[24];
	const char *part[] = {MADE, number};

	(void)snprintf(number, sizeof(number), "%" PRIu64, idx); /* fits */
	return group_at(ask->groups, part, ARRAY_LEN(part));
}

/* Joins an answer and the record of its call, which comes after it. */
static int
see_pair(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	struct group_row *row = row_of_request(ask, record), *made;

	if (row == NULL)
		return log_record_text(record, "request") == NULL ? 0 : -E2BIG;
	if (strcmp(record->kind, "approve") == 0) {
		row->flag = log_record_is(record, "verdict", "allow");
		row->first_idx = record->idx;
		return 0;
	}
	if (row->flag == 0 || !log_record_is(record, "outcome", "forwarded") ||
	    !log_record_is(record, "direction", "agent"))
		return 0;
	row->flag = 0;
	made = row_of_answer(ask, row->first_idx);
	if (made == NULL)
		return -E2BIG;
	made->first_idx = record->idx;
	made->flag = 1;
	return 0;
}

static int
begin_approved(struct ask *ask)
{
	const struct query pairs = {
	    .verb = ask->q.verb, .to_ns = INT64_MAX, .kinds = "approve call"};

	ask->groups = group_new();
	if (ask->groups == NULL)
		return -ENOMEM;
	return log_scan_each(ask->view, &pairs, see_pair, ask);
}

/* A person has let it be asked about again, and approved nothing. */
static bool
is_reopened(const struct log_record *record)
{
	return log_record_is(record, "outcome", "reopened");
}

static const char *
odd_answer(struct ask *ask, const struct log_record *record, int *ret)
{
	const char *part[] = {log_record_text(record, "approver")};
	struct group_row *row = group_at(ask->groups, part, 1);
	uint64_t us;

	*ret = row != NULL ? 0 : -E2BIG;
	if (row == NULL || is_reopened(record) ||
	    !log_record_is(record, "verdict", "allow"))
		return NULL;
	row->n = record->ts - row->last_ts < BULK_NS ? row->n + 1 : 1;
	row->last_ts = record->ts;
	if (row->n >= BULK_N)
		return "one of many in a row";
	if (log_record_number(record, "duration_us", &us) && us < HASTY_US)
		return "hasty";
	return NULL;
}

/* The word is the name that the log has for the user; or, because it has "uid N, pid P"
 * too, the beginning of that text or a name in this machine's /etc/passwd. */
static bool
is_approver(const struct log_record *record, const char *word)
{
	const char *approver = log_record_text(record, "approver");
	const struct passwd *pw = NULL;
	char uid[32];
	FILE *f = fopen("/etc/passwd", "re");

	while (f != NULL && (pw = fgetpwent(f)) != NULL && strcmp(pw->pw_name, word) != 0)
		;
	if (pw != NULL)
		(void)snprintf(uid, sizeof(uid), "uid %u", (unsigned int)pw->pw_uid);
	else
		(void)snprintf(uid, sizeof(uid), "%s", word);
	if (f != NULL)
		(void)fclose(f); /* read-only */
	return log_record_is(record, "user", word) ||
	       (approver != NULL && strncmp(approver, uid, strlen(uid)) == 0 &&
		   strchr(",", approver[strlen(uid)]) != NULL);
}

static bool
of_interest(const struct ask *ask, const struct log_record *record)
{
	return ask->word == NULL || is_approver(record, ask->word) ||
	       log_record_has(record, "name", ask->word);
}

static int
see_approved(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	const struct group_row *call;
	const char *odd;
	int r = 0;

	odd = odd_answer(ask, record, &r);
	if (r == 0 && (!query_chooses(ask, record) || !of_interest(ask, record)))
		return 0;
	call = row_of_answer(ask, record->idx);
	if (r < 0 || call == NULL)
		return r < 0 ? r : -E2BIG;
	for (size_t i = 0; i < CALL; i++)
		if (approved_column[i].cell == CELL_VERDICT && is_reopened(record))
			table_none(&ask->table);
		else
			see_cell(ask, record, approved_column[i].name);
	if (call->flag != 0)
		table_number(&ask->table, call->first_idx);
	else
		table_none(&ask->table);
	table_text(&ask->table, odd);
	return 0;
}

static const struct column exceptions_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"server", CELL_TEXT, 16},
    {"rule", CELL_TEXT, 24},
    {"owner", CELL_TEXT, 16},
    {"ticket", CELL_TEXT, 12},
    {"until", CELL_TIME, 24},
    {"state", CELL_TEXT, 0},
};

/* Whether an exception is active at the end of the queried range, so that a repeated
 * query gives the same answer. */
static int
see_exception(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	uint64_t until, at = ask->q.to_given ? ask->q.to_ns : record->ts;

	for (size_t i = 0; i < 6; i++)
		see_cell(ask, record, exceptions_column[i].name);
	if (!log_record_number(record, "until", &until)) {
		table_none(&ask->table);
		table_text(&ask->table, "without an end");
		return 0;
	}
	table_number(&ask->table, until * NS_PER_S);
	table_text(&ask->table, until * NS_PER_S <= at ? "expired" : "live");
	return 0;
}

const struct verb verbs_object[] = {
    {.name = "exec",
	.operand = OPERAND_MAY,
	.may = "A",
	.kinds = "exec start",
	.column = exec_column,
	.column_n = ARRAY_LEN(exec_column),
	.match = match_exec},
    {.name = "secret",
	.operand = OPERAND_MAY,
	.may = "",
	.kinds = "secrets scrub vault approve",
	.column = secret_column,
	.column_n = ARRAY_LEN(secret_column),
	.match = match_secret},
    {.name = "find-secret",
	.operand = OPERAND_MUST,
	.may = "",
	.kinds = "secrets scrub",
	.column = found_column,
	.column_n = ARRAY_LEN(found_column),
	.begin = begin_found,
	.see = see_found,
	.end = end_found},
    {.name = "touched",
	.operand = OPERAND_MUST,
	.may = "",
	.kinds = "mounts exec start",
	.column = touched_column,
	.column_n = ARRAY_LEN(touched_column),
	.begin = begin_touched,
	.see = see_touched},
    {.name = "manifest",
	.operand = OPERAND_MAY,
	.may = "I",
	.kinds = "manifest",
	.column = manifest_column,
	.column_n = ARRAY_LEN(manifest_column),
	.match = match_server},
    {.name = "who-approved",
	.operand = OPERAND_MAY,
	.may = "",
	.kinds = "approve",
	.whole = true,
	.column = approved_column,
	.column_n = ARRAY_LEN(approved_column),
	.begin = begin_approved,
	.see = see_approved},
    {.name = "exceptions",
	.may = "",
	.kinds = "exception",
	.column = exceptions_column,
	.column_n = ARRAY_LEN(exceptions_column),
	.see = see_exception},
    {.name = NULL},
};
