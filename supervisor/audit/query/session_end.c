/*
 * Sessions: which one the first digits of an id mean, and how one ended, from its
 * records.  "sessions", "gaps", "policy-at" and the page have the answer from here, so
 * that they agree.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/scan.h"

/* Parts of the key of the row that names a session; the first is its id. */
enum { SERVER = 1, POLICY, USER, LAUNCHER, CLIENT, PURPOSE };
#define CLIENT_MAX 600

/* What the records of a session contain. */
enum {
	STARTED = 1,
	EXEC = 2,         /* a single program: it has only its server's end */
	SERVER_ENDED = 4, /* a leash's stop */
	KENNEL_ENDED = 8, /* a supervisor's stop */
	LOST_LEASH = 16,
	LOST_SHIM = 32,
	CRASHED = 64,
	REFUSED = 128,
	LOST_RECORDER = 256,
	LATE = 512,
};

static const struct {
	const char *name, *gap; /* gap: what is missing; NULL: nothing */
} of_end[] = {
    [SESSION_OPEN] = {"still running, or its end was lost",
	"it is still running, or its end was lost"},
    [SESSION_LOST] = {"its end was lost", "its end was lost"},
    [SESSION_REFUSED] = {"never started: refused", NULL},
    [SESSION_CLEAN] = {"cleanly", NULL},
    [SESSION_CRASHED] = {"the server crashed", NULL},
    [SESSION_LATE] = {"kennel ended it: the server was late", NULL},
    [SESSION_NO_KENNEL] = {"kennel was killed", "its kennel was killed"},
    [SESSION_NO_LEASH] = {"kennel-leash was killed", "its kennel-leash was killed"},
    [SESSION_NO_RECORDER] = {"kennel ended it: its recorder was lost",
	"kennel ended it, because its recorder was lost"},
    [SESSION_NO_SHIM] = {"kennel-shim was killed", NULL}, /* its stop names it */
};

const char *
session_end_name(enum session_end end)
{
	return of_end[end].name;
}

const char *
session_end_gap(const struct group_row *row, enum session_end end)
{
	if (!(row->flag & STARTED) || (row->flag & (LOST_LEASH | LOST_SHIM)))
		return NULL;
	return of_end[end].gap;
}

/* ---- records ------------------------------------------------------------------------ */

static uint64_t
flags_of(const struct log_record *record)
{
	bool leash = strcmp(record->role, "leash") == 0;
	uint64_t flag;

	if (strcmp(record->kind, "start") == 0)
		return log_record_is(record, "mode", "exec") ? STARTED | EXEC : STARTED;
	/* with a direction it is a message that was refused */
	if (strcmp(record->kind, "refused") == 0)
		return log_record_find(record, "direction") == NULL ? REFUSED : 0;
	if (strcmp(record->kind, "stop") != 0)
		return 0;
	flag = leash ? SERVER_ENDED : KENNEL_ENDED;
	/* a stop names a program of kennel's if that program ended unexpectedly */
	if (log_record_text(record, "program") != NULL)
		flag |= leash ? LOST_SHIM : LOST_LEASH;
	if (!leash && log_record_is(record, "reason", "no recorder"))
		flag |= LOST_RECORDER;
	if (!leash && log_record_is(record, "outcome", "late"))
		flag |= LATE;
	return log_record_is(record, "outcome", "crashed") ? flag | CRASHED : flag;
}

/* Copies a text of the record into the key, if it has one and the key has none. */
static void
take(const struct log_record *record, const char *key, const char **part, bool *changed)
{
	const char *text = (*part)[0] == '\0' ? log_record_text(record, key) : NULL;

	if (text == NULL)
		return;
	*part = text;
	*changed = true;
}

/* The texts of a list, with a space between them.  False: it has none. */
static bool
join(const struct log_record *record, const char *key, char out[CLIENT_MAX])
{
	const struct log_record_field *list = log_record_find(record, key);
	size_t len = 0;

	for (size_t i = 0; list != NULL && i < list->n && len < CLIENT_MAX; i++)
		len += (size_t)snprintf(out + len, CLIENT_MAX - len, "%s%s",
		    i == 0 ? "" : " ", log_record_item(list, i));
	return len > 0;
}

/*
 * Server, policy, user, launcher and client of a session are the key of a row of their
 * own, made anew as records tell of them: a start that was refused before there was a
 * policy names none.
 */
static int
name_session(
    struct groups *groups, struct group_row *row, const struct log_record *record)
{
	const char *part[GROUP_PARTS] = {record->session, "", "", "", "", "", ""};
	char text[CLIENT_MAX]; /* no record has both */
	bool changed = false;
	uint64_t uid;

	for (size_t i = SERVER; row->named != NULL && i < GROUP_PARTS; i++)
		part[i] = row->named->part[i];
	take(record, "server", &part[SERVER], &changed);
	if (part[SERVER][0] != '\0')
		take(record, "policy", &part[POLICY], &changed);
	if (strcmp(record->kind, "policy.load") == 0 || (flags_of(record) & REFUSED)) {
		take(record, "caller", &part[LAUNCHER], &changed);
		take(record, "user", &part[USER], &changed);
		take(record, "purpose", &part[PURPOSE], &changed);
		if (part[USER][0] == '\0' && log_record_number(record, "uid", &uid)) {
			(void)snprintf(text, sizeof(text), "uid %" PRIu64, uid);
			part[USER] = text;
			changed = true;
		}
	}
	if (part[CLIENT][0] == '\0' && join(record, "client", text)) {
		part[CLIENT] = text;
		changed = true;
	}
	if (!changed)
		return 0;
	row->named = group_at(groups, part, GROUP_PARTS);
	return row->named != NULL ? 0 : -1;
}

struct group_row *
session_see(struct groups *groups, const struct log_record *record)
{
	const char *part[] = {record->session};
	struct group_row *row = group_count(groups, record, part, 1);

	if (row == NULL || name_session(groups, row, record) < 0)
		return NULL;
	row->flag |= flags_of(record);
	return row;
}

/* ---- rows --------------------------------------------------------------------------- */

const char *
session_server(const struct group_row *row)
{
	return row->named != NULL ? row->named->part[SERVER] : "";
}

const char *
session_policy(const struct group_row *row)
{
	return row->named != NULL ? row->named->part[POLICY] : "";
}

const char *
session_user(const struct group_row *row)
{
	return row->named != NULL ? row->named->part[USER] : "";
}

const char *
session_launcher(const struct group_row *row)
{
	return row->named != NULL ? row->named->part[LAUNCHER] : "";
}

const char *
session_client(const struct group_row *row)
{
	return row->named != NULL ? row->named->part[CLIENT] : "";
}

const char *
session_purpose(const struct group_row *row)
{
	return row->named != NULL ? row->named->part[PURPOSE] : "";
}

bool
session_is_row(const struct group_row *row)
{
	return row->n > 0 && row->part[1][0] == '\0';
}

bool
session_started(const struct group_row *row)
{
	return (row->flag & STARTED) != 0 && (row->flag & REFUSED) == 0;
}

enum session_end
session_end(const struct group_row *row, uint64_t over_idx)
{
	/* the first whose flags are all set, and whose `without` is not */
	static const struct {
		uint64_t with, without;
		enum session_end end;
	} of[] = {
	    {REFUSED, 0, SESSION_REFUSED},
	    {LOST_LEASH, 0, SESSION_NO_LEASH},
	    {LOST_SHIM, 0, SESSION_NO_SHIM},
	    {LOST_RECORDER, 0, SESSION_NO_RECORDER},
	    {LATE, 0, SESSION_LATE},
	    {CRASHED, 0, SESSION_CRASHED},
	    {KENNEL_ENDED | SERVER_ENDED, 0, SESSION_CLEAN},
	    {KENNEL_ENDED | EXEC, 0, SESSION_CLEAN},
	    {KENNEL_ENDED, STARTED, SESSION_CLEAN}, /* so no leash had a stop to record */
	    {KENNEL_ENDED, 0, SESSION_NO_LEASH},
	    {SERVER_ENDED | EXEC, 0, SESSION_CLEAN},
	    {SERVER_ENDED, 0, SESSION_NO_KENNEL},
	};

	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		if ((row->flag & of[i].with) == of[i].with &&
		    (row->flag & of[i].without) == 0)
			return of[i].end;
	return row->last_idx < over_idx ? SESSION_LOST : SESSION_OPEN;
}

/* ---- sessions that cannot run any more ---------------------------------------------- */

struct over {
	char boot_id[64];
	uint64_t restart, end; /* records; end: 0 while a recorder runs */
};

/* A machine that was restarted runs no earlier session.  A recorder runs as long as a
 * session does, so a log whose last recorder has ended has no session that runs. */
static int
see_over(void *arg, const struct log_record *record)
{
	const char *boot_id = log_record_text(record, "boot_id");
	struct over *over = arg;

	over->end = strcmp(record->kind, "end") == 0 ? record->idx : 0;
	if (boot_id == NULL)
		return 0;
	if (over->boot_id[0] != '\0' && strcmp(over->boot_id, boot_id) != 0)
		over->restart = record->idx;
	(void)snprintf(over->boot_id, sizeof(over->boot_id), "%s", boot_id);
	return 0;
}

int
session_over(const struct ask *ask, uint64_t *ret_idx)
{
	struct over over = {.restart = 0};
	/* the recorder's own records have no session, and the index begins with it */
	struct query q = {.verb = ask->q.verb,
	    .to_ns = ask->q.to_ns,
	    .session = "",
	    .kinds = "genesis open end",
	    .first = ask->q.first,
	    .beyond = ask->q.beyond};
	int r = log_scan_each(ask->view, &q, see_over, &over);

	if (r == 0)
		*ret_idx = over.end > over.restart ? over.end : over.restart;
	return r;
}

/* ---- the records of the sessions that a query selects ------------------------------- */

/* Up to here, each is looked up by the index of sessions; for more, all records are read. */
#define LOOKUPS_MAX 64

int
session_choose(struct ask *ask, const struct log_record *record)
{
	const char *id = record->session;

	if (id[0] == '\0')
		return 0;
	if (ask->chosen == NULL && (ask->chosen = group_new()) == NULL)
		return -ENOMEM;
	return group_count(ask->chosen, record, &id, 1) != NULL ? 0 : -E2BIG;
}

struct each {
	struct ask *ask;
	log_record_fn *fn;
};

static int
see_each(void *arg, const struct log_record *record)
{
	struct each *each = arg;
	const char *id = record->session;
	const struct group_row *row;

	if (id[0] == '\0')
		return 0;
	row = group_at(each->ask->chosen, &id, 1);
	if (row == NULL)
		return -E2BIG;
	return row->n > 0 ? each->fn(each->ask, record) : 0;
}

int
session_each(struct ask *ask, uint64_t to_ns, log_record_fn *fn)
{
	struct each each = {.ask = ask, .fn = fn};
	struct query q = {.verb = ask->q.verb, .kinds = ask->verb->kinds, .to_ns = to_ns};
	size_t n = ask->chosen != NULL ? group_rows(ask->chosen) : 0;
	struct group_row *const *row;
	int r = 0;

	if (n > LOOKUPS_MAX)
		return log_scan_each(ask->view, &q, see_each, &each);
	row = n > 0 ? group_sorted(ask->chosen, group_by_first) : NULL;
	if (n > 0 && row == NULL)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		q.session = row[i]->part[0];
		r = log_scan_each(ask->view, &q, see_each, &each);
	}
	return r;
}

/* ---- sessions of kennel's own ------------------------------------------------------ */

static int
see_own(void *groups, const struct log_record *record)
{
	struct group_row *row;

	if (log_record_text(record, "purpose") == NULL)
		return 0;
	row = group_at(groups, &record->session, 1);
	if (row == NULL)
		return -E2BIG;
	row->flag = 1;
	return 0;
}

int
own_sessions(struct log_view *view, const struct query *q, struct groups **ret)
{
	const struct query all = {
	    .verb = q->verb, .to_ns = INT64_MAX, .kinds = "policy.load refused"};
	struct groups *groups;
	int r;

	if (q->own || q->session != NULL)
		return 0;
	groups = group_new();
	if (groups == NULL)
		return -ENOMEM;
	r = log_scan_each(view, &all, see_own, groups);
	if (r < 0)
		group_free(groups);
	else
		*ret = groups;
	return r;
}

bool
own_session_has(struct groups *groups, const struct log_record *record)
{
	const struct group_row *row = NULL;

	if (groups != NULL && record->session[0] != '\0')
		row = group_at(groups, &record->session, 1);
	return row != NULL && row->flag != 0;
}

/* ---- the first digits of an id --------------------------------------------------- */

#define MATCHES_MAX 5 /* that an error lists */

struct matches {
	const char *prefix;
	size_t len, n;
	char id[MATCHES_MAX][SESSION_ID_LEN + 1];
};

static int
see_match(void *arg, const struct log_record *record)
{
	struct matches *m = arg;

	if (strlen(record->session) != SESSION_ID_LEN ||
	    strncmp(record->session, m->prefix, m->len) != 0)
		return 0;
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->id[i], record->session) == 0)
			return 0;
	memcpy(m->id[m->n++], record->session, SESSION_ID_LEN + 1);
	return m->n == MATCHES_MAX ? 1 : 0;
}

int
session_find(struct log_view *view, const char **id, char buf[SESSION_ID_LEN + 1])
{
	const struct query any = {
	    .verb = "session", .kinds = SESSION_KINDS " policy.load", .to_ns = INT64_MAX};
	struct matches m = {.prefix = *id};
	size_t len;
	int r;

	if (*id == NULL || strlen(*id) >= SESSION_ID_LEN)
		return 0;
	m.len = strlen(*id);
	r = log_scan_each(view, &any, see_match, &m);
	if (r < 0 || m.n == 0)
		return r < 0 ? r : 0;
	if (m.n == 1) {
		memcpy(buf, m.id[0], SESSION_ID_LEN + 1);
		*id = buf;
		return 0;
	}
	len = (size_t)snprintf(view->why, sizeof(view->why),
	    "give more digits of the session; these match:");
	for (size_t i = 0; i < m.n && len < sizeof(view->why); i++)
		len += (size_t)snprintf(
		    view->why + len, sizeof(view->why) - len, " %s", m.id[i]);
	if (r > 0 && len < sizeof(view->why))
		(void)snprintf(view->why + len, sizeof(view->why) - len, " ...");
	return -ENOTUNIQ;
}
