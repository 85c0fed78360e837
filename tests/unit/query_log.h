/*
 * A synthetic log, written by the recorder as it ships: every kind of record
 * that a leash or a supervisor may send, those of later work too.
 */
#ifndef KENNEL_TESTS_UNIT_QUERY_LOG_H
#define KENNEL_TESTS_UNIT_QUERY_LOG_H

#include "shim/base/array.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "tests/unit/audit_fixture.h"

#define POLICY_1 "1111111111111111111111111111111111111111111111111111111111111111"
#define POLICY_2 "2222222222222222222222222222222222222222222222222222222222222222"
#define DIGEST_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define DIGEST_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
/* HTML, a direction mark, a line, an escape, a formula */
#define HOSTILE "=<img src=x onerror=alert(1)>\xe2\x80\xae\n\x1b[2J\"&"

struct said {
	enum event_key key;
	const char *text; /* NULL: number */
	uint64_t number;
};
#define SAID_MAX 14
struct told {
	enum event_kind kind;
	struct said said[SAID_MAX]; /* ends where the key is 0 */
};

#define WHO(server, policy) \
	{KEY_SERVER, server}, \
	{ \
		KEY_POLICY, policy \
	}
#define CALL(name, request) \
	{KEY_DIRECTION, "agent"}, {KEY_METHOD, "tools/call"}, {KEY_NAME, name}, \
	    {KEY_REQUEST, request}, \
	{ \
		KEY_ACTION, "mcp_tool_call" \
	}
#define NOT_GRANTED(outcome) \
	{KEY_METHOD, "tools/call"}, {KEY_NAME, "merge"}, {KEY_VERDICT, "deny"}, \
	    {KEY_RULE, "g.kennel:8"}, \
	{ \
		KEY_OUTCOME, outcome \
	}
#define CONN(host, number) \
	{KEY_NAME, host}, {KEY_PORT, NULL, 443}, {KEY_RULE, "g.kennel:6"}, \
	{ \
		KEY_REQUEST, number \
	}

static const struct told first_session[] = {
    {EVENT_START, {WHO("github", POLICY_1), {KEY_VERDICT, "allow"}, {KEY_MODE, "run"},
		      {KEY_PROGRAM, "/usr/bin/node"}, {KEY_RULE, "g.kennel:2"},
		      {KEY_UID, NULL, 0}}},
    {EVENT_MOUNTS, {WHO("github", POLICY_1), {KEY_MOUNT, "ro /usr/lib (library)"},
		       {KEY_MOUNT, "rw /srv/work (write)"}, {KEY_LACKS, "landlock 6"}}},
    {EVENT_SECRETS, {WHO("github", POLICY_1), {KEY_NAME, "TOKEN"}, {KEY_NAME, "OTHER"}}},
    {EVENT_EXEC,
	{WHO("github", POLICY_1), {KEY_VERDICT, "allow"}, {KEY_RULE, "g.kennel:3"},
	    {KEY_PROGRAM, "/usr/bin/git"}, {KEY_IMAGE, "/usr/bin/git"},
	    {KEY_PID, NULL, 77}, {KEY_ARGV_SHA256, DIGEST_A}}},
    {EVENT_EXEC, {WHO("github", POLICY_1), {KEY_VERDICT, "deny"},
		     {KEY_PROGRAM, "/usr/bin/curl"}, {KEY_REASON, "no line allows it"}}},
    {EVENT_EXEC, {WHO("github", POLICY_1), {KEY_VERDICT, "deny"},
		     {KEY_PROGRAM, "/usr/bin/curl"}, {KEY_REASON, "no line allows it"}}},
    {EVENT_EXEC, {WHO("github", POLICY_1), {KEY_VERDICT, "deny"},
		     {KEY_PROGRAM, "/usr/bin/curl"}, {KEY_REASON, "no line allows it"}}},
    {EVENT_CALL, {WHO("github", POLICY_1), CALL("echo", "1"), {KEY_VERDICT, "allow"},
		     {KEY_PARAMS_SHA256, DIGEST_A}, {KEY_PARAMS_BYTES, NULL, 12},
		     {KEY_OUTCOME, "forwarded"}}},
    {EVENT_CALL, {WHO("github", POLICY_1), CALL("echo", "1"),
		     {KEY_RESULT_SHA256, DIGEST_B}, {KEY_RESULT_BYTES, NULL, 34},
		     {KEY_DURATION_US, NULL, 1500}, {KEY_OUTCOME, "ok"}}},
    {EVENT_REFUSED,
	{WHO("github", POLICY_1), CALL("delete_repository", "2"), {KEY_VERDICT, "deny"},
	    {KEY_RULE, "g.kennel:9"}, {KEY_REASON, "deny"}}},
    {EVENT_SCRUB, {WHO("github", POLICY_1), {KEY_NAME, "TOKEN"}, {KEY_COUNT, NULL, 3}}},
    {EVENT_EGRESS,
	{WHO("github", POLICY_1), {KEY_VERDICT, "allow"}, {KEY_NAME, "api.github.com"},
	    {KEY_ADDRESS, "192.0.2.7"}, {KEY_PORT, NULL, 443}, {KEY_BYTES_OUT, NULL, 500},
	    {KEY_BYTES_IN, NULL, 9000}, {KEY_DURATION_US, NULL, 20000},
	    {KEY_RULE, "g.kennel:5"}}},
    {EVENT_EGRESS,
	{WHO("github", POLICY_1), {KEY_VERDICT, "allow"}, {KEY_NAME, "api.github.com"},
	    {KEY_ADDRESS, "192.0.2.8"}, {KEY_PORT, NULL, 443}, {KEY_BYTES_OUT, NULL, 1},
	    {KEY_BYTES_IN, NULL, 2}, {KEY_RULE, "g.kennel:5"}}},
    {EVENT_EGRESS, {WHO("github", POLICY_1), {KEY_VERDICT, "deny"},
		       {KEY_NAME, "x.example"}, {KEY_PORT, NULL, 80}}},
    {EVENT_APPROVE, {WHO("github", POLICY_1), {KEY_VERDICT, "allow"},
			{KEY_NAME, "push_files"}, {KEY_APPROVER, "alice"},
			{KEY_SHA256, DIGEST_A}, {KEY_DURATION_US, NULL, 200000}}},
    {EVENT_APPROVE,
	{WHO("github", POLICY_1), {KEY_VERDICT, "deny"}, {KEY_NAME, "push_files"},
	    {KEY_APPROVER, "alice"}, {KEY_DURATION_US, NULL, 9000000}}},
    {EVENT_VAULT, {WHO("github", POLICY_1), {KEY_VERDICT, "allow"},
		      {KEY_ACTION, "release"}, {KEY_NAME, "TOKEN"}}},
    {EVENT_EXCEPTION,
	{WHO("github", POLICY_1), {KEY_RULE, "g.kennel:7"}, {KEY_OWNER, "bob"},
	    {KEY_TICKET, "OPS-1"}, {KEY_UNTIL, NULL, 1000}}},
    {EVENT_MANIFEST, {WHO("github", POLICY_1), {KEY_NAME, "echo"}, {KEY_SHA256, DIGEST_A},
			 {KEY_PINNED, DIGEST_A}, {KEY_OUTCOME, "as pinned"}}},
    {EVENT_MANIFEST, {WHO("github", POLICY_1), {KEY_NAME, "echo"}, {KEY_SHA256, DIGEST_B},
			 {KEY_PINNED, DIGEST_A}, {KEY_OUTCOME, "changed"}}},
    {EVENT_STOP, {WHO("github", POLICY_1), {KEY_COUNT, NULL, 1}, {KEY_STATUS, NULL, 0}}},
};

static const struct told second_session[] = {
    {EVENT_START, {WHO("github", POLICY_2), {KEY_VERDICT, "allow"}, {KEY_MODE, "run"},
		      {KEY_PROGRAM, "/usr/bin/node"}, {KEY_RULE, "g.kennel:2"}}},
    {EVENT_EXEC, {WHO("github", POLICY_2), {KEY_VERDICT, "allow"},
		     {KEY_RULE, "g.kennel:4"}, {KEY_PROGRAM, "/usr/bin/curl"}}},
    {EVENT_EXEC,
	{WHO("github", POLICY_2), {KEY_VERDICT, "killed"}, {KEY_PROGRAM, "/tmp/evil"},
	    {KEY_REASON, "another image was mapped"}}},
    {EVENT_CALL, {WHO("github", POLICY_2), CALL("slow", "1"), {KEY_VERDICT, "allow"},
		     {KEY_OUTCOME, "forwarded"}}},
    {EVENT_REFUSED, {WHO("github", POLICY_2), CALL(HOSTILE, "3"), {KEY_VERDICT, "deny"},
			{KEY_REASON, HOSTILE}}},
    {EVENT_DROPPED, {WHO("github", POLICY_2), {KEY_DIRECTION, "server"},
			{KEY_BYTES, NULL, 9}, {KEY_REASON, "not JSON"}}},
    {EVENT_EXEC, {WHO("github", POLICY_2), {KEY_VERDICT, "absent"},
		     {KEY_PROGRAM, "/opt/bin/git"}, {KEY_REASON, "no such file"}}},
    {EVENT_EXEC, {WHO("github", POLICY_2), {KEY_VERDICT, "ask"},
		     {KEY_PROGRAM, "/usr/bin/make"}, {KEY_SHA256, DIGEST_A}}},
    {EVENT_POLICY, {WHO("github", POLICY_2), {KEY_MODE, "text"}, {KEY_NAME, "g.kennel"},
		       {KEY_UID, NULL, 1000}, {KEY_USER, "alice"},
		       {KEY_CALLER, "/usr/bin/node (" HOSTILE ")"}}},
    {EVENT_CALL,
	{WHO("github", POLICY_2), {KEY_DIRECTION, "agent"}, {KEY_METHOD, "initialize"},
	    {KEY_REQUEST, "0"}, {KEY_VERDICT, "allow"}, {KEY_OUTCOME, "forwarded"},
	    {KEY_CLIENT, HOSTILE}, {KEY_CLIENT, "1.2"}}},
    {EVENT_REFUSED, {WHO("github", POLICY_2), CALL("merge branch", "4"),
			{KEY_VERDICT, "deny"}, {KEY_REASON, "no line grants it"}}},
    {EVENT_REFUSED, {WHO("github", POLICY_2), CALL("fast", "5"), {KEY_VERDICT, "deny"},
			{KEY_REASON, "rate limit"}}},
    {EVENT_APPROVE, {WHO("github", POLICY_2), NOT_GRANTED("deny")}},
    {EVENT_APPROVE, {WHO("github", POLICY_2), NOT_GRANTED("nobody")}},
    {EVENT_APPROVE, {WHO("github", POLICY_2), NOT_GRANTED("withdrawn")}},
    {EVENT_APPROVE, {WHO("github", POLICY_2), NOT_GRANTED("withdrawn")}},
    {EVENT_APPROVE,
	{WHO("github", POLICY_2), {KEY_METHOD, "secret"}, {KEY_NAME, "work/github/token"},
	    {KEY_VERDICT, "allow"}, {KEY_OUTCOME, "once"}, {KEY_APPROVER, "uid 0, pid 1"},
	    {KEY_CHANNEL, "terminal"}, {KEY_USER, "root"},
	    {KEY_DURATION_US, NULL, 5000000}}},
    {EVENT_CALL, {WHO("github", POLICY_2), CALL("slow", "1"), {KEY_OUTCOME, "timeout"}}},
    {EVENT_CALL, {WHO("github", POLICY_2), CALL("ruled", "7"), {KEY_VERDICT, "allow"},
		     {KEY_RULE, "g.kennel:4"}, {KEY_OUTCOME, "forwarded"}}},
    {EVENT_CALL, {WHO("github", POLICY_2), CALL("ruled", "7"), {KEY_OUTCOME, "ok"}}},
    {EVENT_CALL, {WHO("github", POLICY_2), CALL("ruled", "8"), {KEY_VERDICT, "allow"},
		     {KEY_RULE, "g.kennel:4"}, {KEY_OUTCOME, "forwarded"}}},

    {EVENT_CALL, {WHO("github", POLICY_2), CALL("slow", "6"),
		     {KEY_OUTCOME, "denied by a person"}}},
    /* two at once to one host: one that fails, and one that is open at the end */
    {EVENT_EGRESS, {WHO("github", POLICY_2), CONN("nowhere.example", "7"),
		       {KEY_ACTION, "open"}, {KEY_VERDICT, "allow"}}},
    {EVENT_EGRESS, {WHO("github", POLICY_2), CONN("nowhere.example", "8"),
		       {KEY_ACTION, "open"}, {KEY_VERDICT, "allow"}}},
    {EVENT_EGRESS, {WHO("github", POLICY_2), CONN("nowhere.example", "7"),
		       {KEY_ACTION, "close"}, {KEY_VERDICT, "allow"},
		       {KEY_REASON, "no such host"}, {KEY_BYTES_OUT, NULL, 0},
		       {KEY_BYTES_IN, NULL, 0}, {KEY_DURATION_US, NULL, 9000}}},
    {EVENT_EGRESS, {WHO("github", POLICY_2), CONN("api.github.com", "9"),
		       {KEY_ACTION, "open"}, {KEY_VERDICT, "allow"}}},
    {EVENT_EGRESS,
	{WHO("github", POLICY_2), CONN("api.github.com", "9"), {KEY_ACTION, "close"},
	    {KEY_VERDICT, "allow"}, {KEY_ADDRESS, "192.0.2.9"}, {KEY_BYTES_OUT, NULL, 3},
	    {KEY_BYTES_IN, NULL, 4}, {KEY_DURATION_US, NULL, 9000}}},
    /* a yes and its call; the same id again, without a question */
    {EVENT_APPROVE, {WHO("github", POLICY_2), {KEY_METHOD, "tools/call"},
			{KEY_NAME, "asked"}, {KEY_REQUEST, "11"}, {KEY_VERDICT, "allow"},
			{KEY_OUTCOME, "once"}, {KEY_APPROVER, "uid 0, pid 1"},
			{KEY_SHA256, DIGEST_B}, {KEY_DURATION_US, NULL, 3000000}}},
    {EVENT_CALL, {WHO("github", POLICY_2), CALL("asked", "11"), {KEY_VERDICT, "allow"},
		     {KEY_PARAMS_SHA256, DIGEST_A}, {KEY_OUTCOME, "forwarded"}}},
    {EVENT_CALL, {WHO("github", POLICY_2), CALL("asked", "11"), {KEY_OUTCOME, "ok"}}},
    {EVENT_CALL, {WHO("github", POLICY_2), CALL("asked", "11"), {KEY_VERDICT, "allow"},
		     {KEY_OUTCOME, "forwarded"}}},
    {EVENT_CALL, {WHO("github", POLICY_2), CALL("asked", "11"), {KEY_OUTCOME, "ok"}}},
    /* no approval: what was refused may be asked about again */
    {EVENT_APPROVE, {WHO("github", POLICY_2), {KEY_METHOD, "reopen"}, {KEY_NAME, "merge"},
			{KEY_VERDICT, "allow"}, {KEY_OUTCOME, "reopened"},
			{KEY_APPROVER, "uid 0, pid 1"}, {KEY_CHANNEL, "command"}}},
    /* lines that grant it, but not so: no wider line is proposed */
    {EVENT_REFUSED,
	{WHO("github", POLICY_2), CALL("sum", "12"), {KEY_VERDICT, "deny"},
	    {KEY_RULE, "g.kennel:7"},
	    {KEY_REASON, "the condition of the line that grants it does not hold"}}},
    {EVENT_EXEC, {WHO("github", POLICY_2), {KEY_VERDICT, "deny"},
		     {KEY_RULE, "g.kennel:8"}, {KEY_PROGRAM, "/usr/bin/git"}}},
    {EVENT_EXEC,
	{WHO("github", POLICY_2), {KEY_VERDICT, "deny"}, {KEY_PROGRAM, "/usr/bin/git"},
	    {KEY_REASON, "no grant has these arguments"}}},
    {EVENT_EGRESS,
	{WHO("github", POLICY_2), {KEY_NAME, "api.github.com"}, {KEY_PORT, NULL, 443},
	    {KEY_VERDICT, "deny"},
	    {KEY_REASON, "the ClientHello names another server: evil.example"}}},
};

static inline void
tell_all(const struct fixture *f, const char *session, const struct told *told, size_t n)
{
	struct report *report = writer_open(f, session);
	uint64_t number = 0;

	for (size_t i = 0; i < n; i++) {
		static struct event e;

		event_begin(&e, told[i].kind);
		for (size_t k = 0; k < SAID_MAX && told[i].said[k].key != 0; k++) {
			const struct said *s = &told[i].said[k];

			if (s->text != NULL)
				event_text(&e, s->key, s->text);
			else
				event_number(&e, s->key, s->number);
		}
		assert_int_equal(report_send(report, &e, EVENT_FLOW, &number), 0);
	}
	assert_int_equal(report_wait(report, number, WAIT_MS), 0);
	report_free(report);
}

/* ---- asking --------------------------------------------------------------------------- */

static struct fixture *log_;
static char *said; /* of the last question */
static size_t said_len;

static inline int
make_log(void **state)
{
	log_ = fixture_new();
	tell_all(log_, "s-1", first_session, ARRAY_LEN(first_session));
	tell_all(log_, "s-2", second_session, ARRAY_LEN(second_session));
	assert_true(recorders_gone(5000));
	return 0;
}

static inline int
drop_log(void **state)
{
	free(said);
	said = NULL;
	fixture_free(log_);
	return 0;
}

/* "denials --json": the status; what was printed is in said. */
static inline int
ask_in(const char *folder, const char *line)
{
	static char words[512];
	char *argv[32], *save = NULL;
	struct query q;
	struct log_view view;
	const char *why;
	int argc = 0, status;
	FILE *out;

	(void)snprintf(words, sizeof(words), "%s", line);
	for (char *w = strtok_r(words, " ", &save); w != NULL;
	     w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	free(said);
	said = NULL;
	out = open_memstream(&said, &said_len);
	assert_non_null(out);
	assert_non_null(verb_find(argv[0]));
	status =
	    options_read(argc, argv, verb_find(argv[0])->may, &q) < 0 ? ASK_USAGE : 0;
	if (status == 0) {
		q.log = folder;
		status = log_view_open(&q, &view);
		if (status == 0)
			status = verb_ask(verb_find(argv[0]), &q, &view, out, &why);
		log_view_close(&view);
	}
	assert_int_equal(fclose(out), 0);
	return status;
}

static inline int
ask(const char *line)
{
	return ask_in(log_->log, line);
}

#endif
