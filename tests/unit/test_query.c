/*
 * The questions that a log answers: each verb on one synthetic log against what
 * stands in tests/unit/query.golden, the same answer when asked again, verified
 * or not.
 *
 *	KENNEL_GOLDEN=1 build/unit/query	writes the golden file anew
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/report/export.h"
#include "tests/unit/child.h"
#include "tests/unit/query_log.h"

#define GOLDEN "tests/unit/query.golden"

/* Times, roots, leaves and process ids differ from run to run. */
static char *
normal(const char *text)
{
	char *out = calloc(1, strlen(text) + 1), *to = out;

	assert_non_null(out);
	while (*text != '\0') {
		size_t hex = strspn(text, "0123456789abcdef"), digits;

		if (strncmp(text, "20", 2) == 0 && strlen(text) > 20 && text[4] == '-' &&
		    text[10] == 'T') {
			text += strcspn(text, "Z") + 1;
			*to++ = 'T';
			continue;
		}
		digits = strspn(text, "0123456789");
		if (hex == 64 && strncmp(text, POLICY_1, 64) != 0 &&
		    strncmp(text, POLICY_2, 64) != 0 &&
		    strncmp(text, DIGEST_A, 64) != 0 &&
		    strncmp(text, DIGEST_B, 64) != 0) {
			text += 64;
			*to++ = 'H';
			continue;
		}
		if (to - out >= 8 && strncmp(to - 8, "\"after\":", 8) == 0) {
			text += digits;
			*to++ = 'N';
			continue;
		}
		*to++ = *text++;
	}
	return out;
}

/* What depends on the hour at which this runs. */
static void
drop_hours(char *text)
{
	char *at;

	while ((at = strstr(text, "\"what\":\"after hours\"")) != NULL) {
		char *end = strchr(at, '\n');

		while (at > text && at[-1] != '\n')
			at--;
		memmove(at, end + 1, strlen(end + 1) + 1);
	}
}

/* ---- every verb ------------------------------------------------------------------- */

static const char *const golden[] = {
    "log --kind exec",
    "log --server github --since 1d --csv --verdict deny",
    "log -n 3",
    "log --rule g.kennel:9",
    "log --tool echo",
    "sessions",
    "sessions --json",
    "session s-1 --json",
    "session s-2 --json",
    "why 5",
    "why 10",
    "why 12",
    "why 28",
    "why 32",
    "why 33",
    "why 34",
    "why 35",
    "why 36",
    "why 44",
    "why 45",
    "why 54",
    "why 55",
    "why 56",
    "why 57",
    "why 58",
    "policy-at 2099-01-01",
    "denials",
    "denials -n 1 --json",
    "denials --absent --json",
    "denials --verdict absent --json",
    "tool",
    "tool echo --json",
    "tool --csv",
    "tools",
    "tools echo --json",
    "egress",
    "egress 192.0.2.8/31 --json",
    "egress *.github.com --json",
    "egress x.example --json",
    "egress evil.example --json",
    "touched /usr/bin",
    "touched /srv/work/notes.txt",
    "exec git",
    "exec /usr/bin/curl",
    "exec aaaaaaaa",
    "exec git --absent",
    "touched /opt/bin",
    "secret TOKEN",
    "secret",
    "changes",
    "widened",
    "exceptions",
    "gaps --json",
    "manifest github",
    "who-approved",
    "who-approved alice --json",
    "anomalies --json",
};

static char *
read_golden(void)
{
	FILE *f = fopen(GOLDEN, "r");
	char *all;
	size_t n;

	if (f == NULL)
		return NULL;
	all = calloc(1, 1 << 20);
	assert_non_null(all);
	n = fread(all, 1, (1 << 20) - 1, f);
	all[n] = '\0';
	(void)fclose(f);
	return all;
}

static void
check_section(const char *all, const char *line, const char *is)
{
	char head[256];
	const char *at, *end;

	(void)snprintf(head, sizeof(head), "== %s\n", line);
	at = all != NULL ? strstr(all, head) : NULL;
	if (at == NULL)
		fail_msg("%s has no section \"%s\"", GOLDEN, line);
	at += strlen(head);
	end = strstr(at, "\n== ");
	end = end != NULL ? end + 1 : at + strlen(at);
	while (at < end && *is == *at) /* to the first difference: a message is cut */
		at++, is++;
	if (at < end || *is != '\0')
		fail_msg("%s:\n%.300s\nwanted:\n%.*s", line, is,
		    end - at < 300 ? (int)(end - at) : 300, at);
}

/* Each answer is what it was, and the same when it is asked verified. */
static void
test_golden(void **state)
{
	bool write = getenv("KENNEL_GOLDEN") != NULL;
	FILE *out = write ? fopen(GOLDEN, "w") : NULL;
	char *all = write ? NULL : read_golden();

	for (size_t i = 0; i < ARRAY_LEN(golden); i++) {
		char verified[300], *is, *again;

		if (ask(golden[i]) != 0)
			fail_msg("%s: no answer", golden[i]);
		is = normal(said);
		drop_hours(is);
		if (write)
			fprintf(out, "== %s\n%s", golden[i], is);
		else
			check_section(all, golden[i], is);
		(void)snprintf(verified, sizeof(verified), "%s --no-header", golden[i]);
		assert_int_equal(ask(verified), 0);
		again = strdup(said);
		(void)snprintf(
		    verified, sizeof(verified), "%s --no-header --verified", golden[i]);
		assert_int_equal(ask(verified), 0);
		assert_string_equal(said, again);
		free(again);
		free(is);
	}
	if (out != NULL)
		assert_int_equal(fclose(out), 0);
	free(all);
}

/* ---- what is asked for -------------------------------------------------------------- */

static void
test_statuses(void **state)
{
	static const struct {
		const char *line;
		int status;
	} row[] = {
	    {"log", ASK_OK},
	    {"log --server none", ASK_OK},
	    {"session none", ASK_NO_SUCH},
	    {"why 9999", ASK_NO_SUCH},
	    {"log --as-of 9999", ASK_NO_SUCH},
	    {"log --as-of nonsense", ASK_USAGE},
	    {"why x", ASK_USAGE},
	    {"why", ASK_USAGE},
	    {"session", ASK_USAGE},
	    {"denials word", ASK_USAGE},
	    {"touched relative", ASK_USAGE},
	    {"sample", ASK_USAGE},
	    {"sample --seed 1 --control nothing", ASK_USAGE},
	    {"log --kind nothing", ASK_USAGE},
	    {"log --verdict maybe", ASK_USAGE},
	    {"log --since soon", ASK_USAGE},
	    {"log -n 0", ASK_USAGE},
	    {"log --nope", ASK_USAGE},
	    {"log --json=1", ASK_USAGE},
	    {"denials --kind exec", ASK_USAGE},
	    {"policy-at never", ASK_USAGE},
	    {"policy-at 20:42", ASK_OK},
	    {"denials --since 00:00 --to 23:59", ASK_OK},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		int is = ask(row[i].line);

		if (is != row[i].status)
			fail_msg("%s: %d", row[i].line, is);
	}
	assert_int_equal(ask_in("/nonexistent", "log"), ASK_NO_LOG);
}

/* A time of day is today's, local or of UTC. */
static void
test_time_of_day(void **state)
{
	static const char *const wrong[] = {"24:00", "12:60", "12", "12:30:61x", ":30"};
	uint64_t today, at, after;

	do { /* again if midnight passes between the two */
		assert_int_equal(options_time("today", &today), 0);
		assert_int_equal(options_time("00:00", &at), 0);
		assert_int_equal(options_time("today", &after), 0);
	} while (today != after);
	assert_int_equal(at, today);
	assert_int_equal(options_time("00:01:02.5", &at), 0);
	assert_int_equal(at - today, 62 * NS_PER_S + NS_PER_S / 2);
	assert_int_equal(options_time("00:00Z", &at), 0);
	assert_int_equal(at % (86400 * NS_PER_S), 0);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(options_time(wrong[i], &at), -EINVAL);
}

static uint64_t
json_number(const char *key)
{
	const char *at = strstr(said, key);

	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, 10);
}

/* The same checkpoint gives the same answer, whatever was written since. */
static void
test_as_of(void **state)
{
	char line[200], root[65], *then;
	uint64_t size;

	assert_int_equal(ask("denials --json"), 0);
	size = json_number("\"size\":");
	memcpy(root, strstr(said, "\"root\":\"") + 8, 64);
	root[64] = '\0';
	then = strdup(said);
	tell_all(log_, "s-3", second_session, 3);
	assert_int_equal(ask("denials --json"), 0);
	assert_string_not_equal(said, then);
	(void)snprintf(line, sizeof(line), "denials --json --as-of %llu:%s",
	    (unsigned long long)size, root);
	assert_int_equal(ask(line), 0);
	assert_string_equal(said, then);
	/* another root of that size was never ours */
	root[0] = root[0] == '0' ? '1' : '0';
	(void)snprintf(line, sizeof(line), "denials --json --as-of %llu:%s",
	    (unsigned long long)size, root);
	assert_int_equal(ask(line), ASK_TAMPERED);
	free(then);
	assert_true(recorders_gone(5000));
}

/* A draw can be made again, and another seed draws others. */
static void
test_sample(void **state)
{
	char *one;

	assert_int_equal(ask("sample --seed 7 -n 5 --control all --csv --no-header"), 0);
	one = strdup(said);
	assert_int_equal(ask("sample --seed 7 -n 5 --control all --csv --no-header"), 0);
	assert_string_equal(said, one);
	assert_int_equal(ask("sample --seed 8 -n 5 --control all --csv --no-header"), 0);
	assert_string_not_equal(said, one);
	/* a smaller sample is the head of a larger one */
	assert_int_equal(ask("sample --seed 7 -n 2 --control all --csv --no-header"), 0);
	assert_memory_equal(said, one, said_len);
	free(one);
}

/* ---- foreign words ------------------------------------------------------------------- */

/* MCP-ATTACKS 48: nothing that a server says is more than text. */
static void
test_inert(void **state)
{
	static const char *const form[] = {"", " --json", " --csv"};
	static const char *const verb[] = {"log", "tool", "denials", "session s-2",
	    "anomalies", "sample --seed 1 -n 99"};

	for (size_t i = 0; i < ARRAY_LEN(verb); i++) {
		for (size_t k = 0; k < ARRAY_LEN(form); k++) {
			char line[100];

			(void)snprintf(line, sizeof(line), "%s%s", verb[i], form[k]);
			assert_int_equal(ask(line), 0);
			assert_non_null(strstr(said, "onerror")); /* it is there */
			for (size_t at = 0; at < said_len; at++) {
				unsigned char c = (unsigned char)said[at];

				if (c != '\n' && c != '\r' && (c < 32 || c > 126))
					fail_msg("%s: byte %02x", line, c);
			}
			/* no cell is a formula */
			assert_null(strstr(said, ",\"="));
		}
	}
}

/* A cell that a spreadsheet would evaluate is given as text; any other is not
 * changed. */
static void
test_csv_formula(void **state)
{
	static const struct {
		const char *text, *cell;
	} row[] = {
	    {"=1+1", "'=1+1"},
	    {"+1", "'+1"},
	    {"-1", "'-1"},
	    {"@SUM(A1)", "'@SUM(A1)"},
	    {"|calc!A0", "'|calc!A0"},
	    {"\t=1+1", "\\x09=1+1"},
	    {"\r|calc", "\\x0d|calc"},
	    {"read_file", "read_file"},
	    {"a|b=c", "a|b=c"},
	    {"", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		char *out = NULL;
		size_t len;
		FILE *f = open_memstream(&out, &len);

		escape_csv(f, row[i].text);
		assert_int_equal(fclose(f), 0);
		assert_string_equal(out, row[i].cell);
		free(out);
	}
}

static void
test_inert_html(void **state)
{
	static const struct {
		const char *text, *html;
	} row[] = {
	    {"plain", "plain"},
	    {"<a href='x'>&\"`", "&#60;a href=&#39;x&#39;&#62;&#38;&#34;&#96;"},
	    {"gr\xc3\xbc\xc3\x9f \xe6\x97\xa5", "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5"},
	    {"a\xe2\x80\xae"
	     "b",
		"a\\u{202e}b"},
	    {"\x01\x7f\xc2\x85", "\\u{1}\\u{7f}\\u{85}"},
	    {"\xff\xc0\xaf", "\\u{fffd}\\u{fffd}"},
	    {"\xf0\x9f\x98\x80", "\\u{1f600}"},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		char *out = NULL;
		size_t len;
		FILE *f = open_memstream(&out, &len);

		escape_html(f, row[i].text);
		assert_int_equal(fclose(f), 0);
		assert_string_equal(out, row[i].html);
		free(out);
	}
}

/* ---- the old way in --------------------------------------------------------------------- */

static void
test_filters(void **state)
{
	static const struct {
		const char *line;
		int rows;
	} row[] = {
	    {"log --csv --no-header --kind exec", 10},
	    {"log --csv --no-header --kind exec --verdict deny", 5},
	    {"log --csv --no-header --session s-2", 37},
	    {"log --csv --no-header --server github --since 1h", 58},
	    {"log --csv --no-header --server github --since 2099-01-01", 0},
	    {"log --csv --no-header --server github --to 2001-01-01", 0},
	    {"log --csv --no-header --verdict absent", 1},
	    {"denials --csv --no-header", 15},
	    {"denials --csv --no-header --absent", 16},
	    {"denials --csv --no-header --verdict ask", 0},
	    {"exec --csv --no-header", 11},
	    {"exec --csv --no-header --absent", 12},
	    {"exec --csv --no-header --verdict absent", 1},
	    {"sample --csv --no-header --seed x --control denials", 18},
	    {"sample --csv --no-header --seed x --control denials --absent", 19},
	    {"log --csv --no-header --rule g.kennel:5", 2},
	    {"log --csv --no-header --tool delete_repository", 1},
	    {"log --csv --no-header -n 4", 4},
	    {"log --csv --no-header --session s-1 -n 2 --kind exec", 2},
	    {"log --csv --no-header --all --kind genesis", 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		int rows = -1; /* the line of names */

		assert_int_equal(ask(row[i].line), 0);
		for (size_t at = 0; at < said_len; at++)
			rows += said[at] == '\n';
		if (rows != row[i].rows)
			fail_msg("%s: %d rows\n%s", row[i].line, rows, said);
	}
}

/* ---- how sessions ended ------------------------------------------------------------ */

#define BEGIN(policy) \
	{ \
		EVENT_START, \
		{ \
			WHO("github", policy), {KEY_VERDICT, "allow"}, \
			    {KEY_MODE, "run"}, \
			{ \
				KEY_PROGRAM, "/usr/bin/node" \
			} \
		} \
	}

static int
rows_with(const char *line, const char *part)
{
	int n = 0;

	assert_int_equal(ask_in(log_->log, line), 0);
	for (const char *at = said; (at = strstr(at, part)) != NULL; at++)
		n++;
	return n;
}

/* A start that was refused has no end, no gap and no policy in force, whatever the
 * refusal says of its server; two sessions of one policy are one policy in force. */
static void
test_session_ends(void **state)
{
	static const struct told refused[] = {
	    BEGIN(POLICY_1), {EVENT_REFUSED, {{KEY_VERDICT, "deny"}, {KEY_MODE, "run"},
						 {KEY_REASON, "unable to start"}}}};
	static const struct told one[] = {BEGIN(POLICY_1)}, two[] = {BEGIN(POLICY_2)};
	struct fixture *f = fixture_new(), *before = log_;
	struct report *report = writer_open(f, "waits"); /* so its recorder stays */

	tell_all(f, "s-a", refused, ARRAY_LEN(refused));
	tell_all(f, "s-b", one, 1);
	tell_all(f, "s-c", two, 1);
	tell_all(f, "s-d", two, 1);
	log_ = f;
	assert_int_equal(rows_with("sessions --json --no-header", "\n"), 4);
	assert_int_equal(rows_with("sessions --json --no-header", "never started"), 1);
	assert_int_equal(rows_with("sessions --json --no-header", "still running"), 3);
	assert_int_equal(rows_with("gaps --json --no-header", "\n"), 3);
	assert_int_equal(rows_with("gaps --json --no-header", "s-a"), 0);
	assert_int_equal(
	    rows_with("gaps --json --no-header", "(at most 4096) may be missing"), 3);
	assert_int_equal(rows_with("policy-at 2099-01-01 --json --no-header", "\n"), 2);
	assert_int_equal(rows_with("policy-at 2099-01-01 --json", "in force"), 2);
	assert_int_equal(rows_with("policy-at 2099-01-01 --json", "s-c"), 1);
	report_free(report);
	assert_true(recorders_gone(5000));
	/* and now nothing runs */
	assert_int_equal(rows_with("sessions --json", "\"its end was lost\""), 3);
	assert_int_equal(rows_with("gaps --json --no-header", "\n"), 3);
	assert_int_equal(rows_with("policy-at 2099-01-01 --json --no-header", "\n"), 1);
	assert_int_equal(rows_with("policy-at 2099-01-01 --json", "last used"), 1);
	assert_int_equal(rows_with("policy-at 2099-01-01 --json", "s-d"), 1);
	log_ = before;
	fixture_free(f);
}

/* ---- what the log says about itself ------------------------------------------------- */

/* A recorder that was stopped for longer than two of its heartbeats, and one that
 * was killed; the log of the other tests is the control. */
static void
test_gaps(void **state)
{
	struct fixture *f = fixture_new();
	struct report *report;
	pid_t pid;

	(void)state;
	assert_int_equal(ask("gaps --json --no-header"), 0);
	assert_null(strstr(said, "missed heartbeats"));
	configure(f, "heartbeat 1\n");
	report = writer_open(f, "s");
	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	assert_int_equal(recorders(&pid), 1);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	pause_ms(2500);
	assert_int_equal(kill(pid, SIGCONT), 0);
	/* its first word after that is the late heartbeat */
	for (int i = 0; i < 400 && ask_number(f->db, "SELECT count(*) FROM rec WHERE "
						     "kind = 'heartbeat'") == 0;
	     i++)
		pause_ms(20);
	report_free(report);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_true(recorders_gone(5000));
	assert_int_equal(ask_in(f->log, "gaps --json --no-header"), 0);
	assert_non_null(strstr(said, "missed heartbeats"));
	assert_non_null(strstr(said, "expected one every 1 s"));
	assert_null(strstr(said, "unclean stop"));
	assert_int_equal(ask_in(f->log, "gaps --json --no-header --from 2099-01-01"), 0);
	assert_null(strstr(said, "missed heartbeats"));
	assert_int_equal(ask_in(f->log, "gaps --json --no-header --server x"), 0);
	assert_null(strstr(said, "missed heartbeats"));
	fixture_free(f);
}

/* ---- a log that is written meanwhile --------------------------------------------- */

/* Gates until the log has so many closed files. */
static void
write_until(const struct fixture *f, struct report *report, int files)
{
	for (int i = 0; i < 20000 && files_in(f->log, "audit-") < files; i++)
		assert_int_equal(write_one(report, "grows", EVENT_GATE), 0);
	assert_int_equal(files_in(f->log, "audit-"), files);
}

static int
count_row(void *arg, const struct log_record *record)
{
	uint64_t *next = arg;

	return record->idx == (*next)++ ? 0 : -EBADMSG;
}

/* A file that was the live one when the log was opened, and got its number before
 * it was read: its records are not passed over. */
static void
test_closed_meanwhile(void **state)
{
	struct fixture *f = fixture_new();
	struct query q = {.log = f->log, .to_ns = INT64_MAX, .all = true};
	struct report *report;
	struct logtree *t = NULL;
	struct log_view view;
	uint64_t next = 0;

	configure(f, "segment 256\n");
	report = writer_open(f, "grows");
	write_until(f, report, 1);
	for (int i = 0; i < 40; i++)
		assert_int_equal(write_one(report, "grows", EVENT_GATE), 0);
	assert_int_equal(log_view_open(&q, &view), ASK_OK);
	assert_int_equal(view.segment_n, 2);
	assert_int_equal(
	    log_view_turn(&view, 0), 0); /* who reads makes the recorder wait */
	write_until(f, report, 2);
	assert_int_equal(log_scan_each(&view, &q, count_row, &next), 0);
	assert_true(next > 256 + 40);
	assert_int_equal(next, view.size);
	log_view_close(&view);
	/* and a tree that was opened then has no hole */
	assert_int_equal(logtree_open(f->log, 0, &t), 0);
	assert_int_equal(t->segment_n, 3);
	logtree_close(t);
	report_free(report);
	assert_true(recorders_gone(5000));
	fixture_free(f);
}

/* Verified, and then read as it was verified: what was written in between is none
 * of the answer, and no sign of tampering. */
static void
test_verified_meanwhile(void **state)
{
	struct fixture *f = fixture_new();
	struct report *report = writer_open(f, "grows");
	int status, asked = 0;
	pid_t writer;

	for (int i = 0; i < 10; i++)
		assert_int_equal(write_one(report, "grows", EVENT_GATE), 0);
	report_free(report);
	writer = test_fork();
	if (writer == 0) {
		report = writer_open(f, "also");
		for (;;) {
			if (write_one(report, "also", EVENT_GATE) < 0)
				_exit(1);
		}
	}
	for (int i = 0; i < 10 && asked == 0; i++)
		asked = ask_in(f->log, "log --json --verified -n 1");
	(void)kill(writer, SIGKILL);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(asked, ASK_OK);
	assert_true(WIFSIGNALED(status)); /* it wrote to the last */
	assert_true(recorders_gone(5000));
	fixture_free(f);
}

/* Nobody gets the lock that says "nobody reads": in a child, since a process is
 * not in its own way. */
static bool
is_locked(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK,
	    .l_whence = SEEK_SET,
	    .l_start = 0x40000002, /* SQLite's shared lock */
	    .l_len = 510};
	int status = 0;
	pid_t pid = test_fork();

	if (pid == 0) {
		int fd = open(path, O_RDWR);

		_exit(fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 ? lock.l_type != F_UNLCK
								: 9);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

/* Two readers of one process: the one that ends leaves the other its locks, or the
 * recorder folds the log under its eyes. */
static void
test_readers_apart(void **state)
{
	struct fixture *f = fixture_new();
	struct report *report = writer_open(f, "s");
	struct reader one, other;
	char why[AUDIT_WHY_MAX], path[160];
	pid_t pid;

	assert_int_equal(write_one(report, "x", EVENT_GATE), 0);
	assert_int_equal(recorders(&pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0); /* its locks go with it */
	assert_true(recorders_gone(5000));
	report_free(report);
	(void)snprintf(path, sizeof(path), "%s", f->db);
	assert_false(is_locked(path));
	assert_int_equal(reader_open(path, &one, why), 0);
	assert_int_equal(reader_open(path, &other, why), 0);
	assert_true(is_locked(path));
	reader_close(&other);
	assert_true(is_locked(path));
	reader_close(&one);
	assert_false(is_locked(path));
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_closed_meanwhile),
	    cmocka_unit_test(test_gaps),
	    cmocka_unit_test(test_verified_meanwhile),
	    cmocka_unit_test(test_readers_apart),
	    cmocka_unit_test(test_golden),
	    cmocka_unit_test(test_filters),
	    cmocka_unit_test(test_session_ends),
	    cmocka_unit_test(test_statuses),
	    cmocka_unit_test(test_time_of_day),
	    cmocka_unit_test(test_sample),
	    cmocka_unit_test(test_inert),
	    cmocka_unit_test(test_csv_formula),
	    cmocka_unit_test(test_inert_html),
	    cmocka_unit_test(test_as_of),
	};

	return cmocka_run_group_tests(tests, make_log, drop_log);
}
