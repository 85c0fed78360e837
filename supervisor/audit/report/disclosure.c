/*
 * Exports are themselves recorded in the log, before the first byte is written: what
 * was exported, its destination, the user, and which records.
 *
 * A log that is not the user's own (--log: a copy, or another user's) is not written
 * to.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/base/paths.h"

#define WAIT_MS 10000 /* for the recorder */

int
audit_record(const struct event *event)
{
	struct audit_place place = {
	    paths_audit_dir(), paths_run_dir(), paths_libexec("kennel-recorder")};
	struct report *report = NULL;
	uint64_t number;
	int sock = -1, r = -EPIPE;

	if (place.log_dir == NULL || place.run_dir == NULL || place.recorder == NULL)
		return -ENOENT;
	/* try again if a recorder was just ending */
	for (int i = 0; r == -EPIPE && i < 5; i++) {
		r = audit_connect(&place, WAIT_MS, &sock);
		if (r == 0)
			r = report_open(sock, REPORT_AUDITOR, "", WAIT_MS, &report);
	}
	if (r == 0)
		r = report_send(report, event, EVENT_GATE, &number);
	if (r == 0)
		r = report_wait(report, number, WAIT_MS);
	report_free(report);
	return r;
}

struct line {
	char text[REPORT_TEXT_MAX];
	size_t len;
};

static void
add(struct line *line, const char *key, const char *value)
{
	size_t room = sizeof(line->text) - line->len;
	int n;

	if (value == NULL)
		return;
	n = snprintf(line->text + line->len, room, "%s%s %s", line->len > 0 ? ", " : "",
	    key, value);
	line->len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* Adds what the query excluded. */
static void
add_question(struct line *line, const struct query *q)
{
	char time[DESCRIBE_TIME_MAX], digits[24];

	if (q->from_given)
		add(line, "from", describe_time(q->from_ns, 9, time));
	if (q->to_given)
		add(line, "to", describe_time(q->to_ns, 9, time));
	add(line, "server", q->server);
	add(line, "session", q->session);
	add(line, "tool", q->tool);
	add(line, "verdict", q->verdict);
	add(line, "rule", q->rule);
	add(line, "kind", q->kind);
	add(line, "without verdict", q->present ? VERDICT_ABSENT : NULL);
	if (q->last_n > 0) {
		(void)snprintf(digits, sizeof(digits), "%" PRIu64, q->last_n);
		add(line, "the last", digits);
	}
}

static bool
is_own(const char *folder)
{
	const char *own = paths_audit_dir();
	struct stat a, b;

	/* syscalls: newfstatat */
	return own != NULL && stat(own, &a) == 0 && stat(folder, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int
disclosure_record(const struct handout *h)
{
	char root[BASE64_LEN(MERKLE_HASH_LEN)];
	static struct event event;
	struct line line = {.len = 0};

	if (!is_own(h->folder))
		return 0;
	event_begin(&event, EVENT_EXPORT);
	event_text(&event, KEY_MODE, h->what);
	event_text(&event, KEY_NAME, h->to != NULL ? h->to : "standard output");
	event_number(&event, KEY_UID, getuid()); /* syscalls: getuid */
	event_number(&event, KEY_FIRST, h->first);
	event_number(&event, KEY_SIZE, h->size);
	if (h->root != NULL) {
		base64_put(root, h->root, MERKLE_HASH_LEN);
		event_short(&event, KEY_ROOT, root);
	}
	if (h->format != NULL)
		event_text(&event, KEY_FORMAT, h->format);
	if (h->outcome != NULL)
		event_text(&event, KEY_OUTCOME, h->outcome);
	if (h->q != NULL)
		add_question(&line, h->q);
	if (line.len > 0)
		event_text(&event, KEY_REASON, line.text);
	return audit_record(&event);
}

int
disclosure_book(
    const char *what, const char *format, const struct query *q, struct log_view *view)
{
	const struct handout h = {.what = what,
	    .format = format,
	    .to = q->for_verify != NULL ? q->for_verify : q->out,
	    .folder = view->folder,
	    .first = view->first,
	    .size = view->size,
	    .root = view->root,
	    .q = q};
	int r = disclosure_record(&h);

	if (r < 0)
		(void)snprintf(view->why, sizeof(view->why),
		    "unable to record this export in the audit log: %s; nothing exported",
		    strerror(-r));
	return r;
}
