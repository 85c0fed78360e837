/*
 * The question about a project's mcp-servers.json (file_question.h).
 *
 * Process: kennel serve, its confined half. Holds the text of one file. Trusts: the launcher
 * for its path. Must never: use a row of it; that is the launcher's, once the registry has the
 * approval.
 */
#include "supervisor/serve/approvals/file_question.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/json/json.h"
#include "supervisor/registry/global_file.h"

#define FILE_MAX   (1u << 20)
#define DETAIL_CAP ((size_t)4 << 20)
#define OPEN_MS    300000
#define ASKED_MAX  8 /* contents that one session asks about */

/* After an answer ok, which is a report: REPORTED while its record waits for the disk, then
 * CHECKED until the launcher has read the registry. */
struct file_question {
	struct file_question_order o;
	/* of the file that came last, until it is asked about */
	char path[PATH_MAX], *text;
	size_t len;
	bool changed;
	char last[FILE_DIGEST_LEN + 1]; /* of the file that came last */
	/* what was asked about, each once */
	char asked[ASKED_MAX][FILE_DIGEST_LEN + 1];
	size_t asked_n;
	/* the question that is open */
	struct question_text q;
	uint32_t number; /* 0: none */
	uint64_t since;
	enum { IDLE, REPORTED, CHECKED } state;
	uint64_t record, took_us;
	struct answerer by;
	struct event event;
};

int
file_question_new(const struct file_question_order *order, struct file_question **ret)
{
	struct file_question *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	f->o = *order;
	global_file_prepare();
	*ret = f;
	return 0;
}

static int
record(struct file_question *f, const char *verdict, const char *outcome)
{
	struct event *e = &f->event;

	event_begin(e, EVENT_APPROVE);
	event_text(e, KEY_SERVER, f->o.name);
	event_text(e, KEY_METHOD, question_kind_name(QUESTION_FILE));
	event_text(e, KEY_NAME, f->q.subject);
	event_text(e, KEY_VERDICT, verdict);
	event_text(e, KEY_OUTCOME, outcome);
	event_digest(e, KEY_SHA256, f->q.digest);
	answerer_put(e, &f->by);
	if (f->took_us > 0) /* not over: it has none */
		event_number(e, KEY_DURATION_US, f->took_us);
	return report_send(*f->o.report, e, EVENT_GATE, &f->record);
}

static void
withdraw(struct file_question *f)
{
	if (f->number == 0)
		return;
	f->by = (struct answerer){0};
	f->took_us = (loop_now() - f->since) / 1000;
	/* nothing was allowed */
	(void)record(f, "deny", question_answer_name(ANSWER_WITHDRAWN));
	question_withdraw(f->o.queue, f->number);
	f->number = 0;
}

void
file_question_free(struct file_question *f)
{
	if (f == NULL)
		return;
	withdraw(f);
	free(f->text);
	free(f);
}

static void ask_now(struct file_question *);

/* ---- the answer -------------------------------------------------------------------- */

static void
on_answer(
    void *arg, uint32_t number, enum question_answer answer, const struct answerer *by)
{
	struct file_question *f = arg;
	bool reported = answer == ANSWER_OK;
	int r;

	f->number = 0;
	f->by = *by;
	f->took_us = (loop_now() - f->since) / 1000;
	r = record(f, reported ? "ask" : "deny",
	    reported ? "reported" : question_answer_name(answer));
	if (reported && r == 0)
		f->state = REPORTED;
	else if (reported)
		log_warn("%s: unable to record the answer in the audit log; its servers "
			 "come with the next start",
		    f->q.subject);
	if (answer != ANSWER_CHANGED)
		return;
	f->asked_n--; /* its contents may come back */
	f->o.reread(f->o.arg, "");
}

/* What the registry has decides what the record of the answer says. */
bool
file_question_configured(struct file_question *f, struct wire_in *in)
{
	const char *sha256 = wire_get_str(in, FILE_DIGEST_LEN);
	uint32_t trusted = wire_get_u32(in);

	if (wire_end(in) < 0 || trusted > 1)
		return false;
	if (f->state != CHECKED || strcmp(sha256, f->q.file_sha256) != 0)
		return true; /* the answer to an earlier request */
	f->state = IDLE;
	if (record(f, trusted == 1 ? "allow" : "deny",
		question_answer_name(trusted == 1 ? ANSWER_OK : ANSWER_FAILED)) < 0)
		log_warn("%s: unable to record in the audit log what the registry has",
		    f->q.subject);
	if (trusted == 0)
		log_warn(
		    "%s: process %u reported an approval that the registry does not "
		    "have: these contents are not used; run `kennel server trust` to "
		    "approve them",
		    f->q.subject, f->by.pid);
	ask_now(f); /* what came meanwhile */
	return true;
}

/* ---- the question ------------------------------------------------------------------- */

/* Over everything that is shown. */
static int
put_digest(struct question_text *q)
{
	struct buf all;
	int r;

	buf_init(&all, sizeof(*q));
	r = buf_printf(&all, "%s\n%s\n%s\n%s\n", question_kind_name(q->kind), q->server,
	    q->subject, q->detail);
	if (r == 0)
		mcp_digest(all.data, all.len, q->digest);
	buf_free(&all);
	return r;
}

/* Fills in the question about the text: 0, or -errno with why. */
static int
make(struct file_question *f, char digest[FILE_DIGEST_LEN + 1], struct reason *why)
{
	static struct global_file file; /* large */
	struct question_text *q = &f->q;
	struct buf detail;
	int r = global_file_text(f->path, f->text, f->len, digest, &file, why);

	buf_init(&detail, DETAIL_CAP);
	if (r == 0)
		r = global_file_detail(&file, digest, f->changed, &detail);
	*q = (struct question_text){.kind = QUESTION_FILE, .open_ms = OPEN_MS};
	(void)snprintf(q->server, sizeof(q->server), "%s", f->o.name); /* fits */
	(void)snprintf(q->subject, sizeof(q->subject), "%s", f->path); /* was checked */
	(void)snprintf(q->rule, sizeof(q->rule), "a person approves the file"); /* fits */
	if (r == 0) {
		(void)snprintf(q->file_sha256, sizeof(q->file_sha256), "%s", digest);
		question_detail(q, detail.data, detail.len);
		r = put_digest(q);
		if (r < 0)
			(void)reason_set(why, r, "%s: out of memory", f->path);
	}
	buf_free(&detail);
	global_file_free(&file);
	return r;
}

static bool
was_asked(const struct file_question *f, const char *digest)
{
	for (size_t i = 0; i < f->asked_n; i++)
		if (strcmp(f->asked[i], digest) == 0)
			return true;
	return false;
}

static void
not_asked(const struct file_question *f, const char *why)
{
	log_warn(
	    "%s: not used, and no person is asked about it: %s; `kennel server trust "
	    "%s` shows and approves it",
	    f->path, why, f->path);
}

static void
ask(struct file_question *f, const char *digest)
{
	f->by = (struct answerer){0};
	f->since = loop_now();
	f->took_us = 0;
	memcpy(f->asked[f->asked_n++], digest, FILE_DIGEST_LEN + 1);
	if (record(f, "ask", "asked") < 0)
		not_asked(f, "unable to record the question in the audit log");
	else if (question_ask(f->o.queue, &f->q, on_answer, f, &f->number) != 0)
		not_asked(f, "too many approvals are pending");
	else
		question_tell(&f->q, f->number);
}

static void
put_sha256(const struct file_question *f, char digest[FILE_DIGEST_LEN + 1])
{
	uint8_t raw[32];

	mcp_digest((const uint8_t *)f->text, f->len, raw);
	(void)hex_put(digest, raw, sizeof(raw));
}

/* Asks about the file that came last, once there is a log. */
static void
ask_now(struct file_question *f)
{
	char digest[FILE_DIGEST_LEN + 1];
	struct reason why = {""};

	if (f->text == NULL || f->state != IDLE) /* f->q is in use until then */
		return;
	if (*f->o.report == NULL) {
		f->o.connect(f->o.arg);
		return;
	}
	put_sha256(f, digest);
	if (!was_asked(f, digest)) {
		withdraw(f); /* the file is another one now */
		if (f->asked_n == ASKED_MAX)
			not_asked(f, "it has changed too often in this session");
		else if (make(f, digest, &why) < 0)
			log_warn("%s; no person is asked about it", why.text);
		else
			ask(f, digest);
	}
	free(f->text);
	f->text = NULL;
}

bool
file_question_take(struct file_question *f, struct wire_in *in, int fd)
{
	const char *path = wire_get_str(in, PATH_MAX - 1);
	uint32_t changed = wire_get_u32(in);

	if (wire_end(in) < 0 || changed > 1)
		return false;
	free(f->text);
	f->text = NULL;
	(void)snprintf(f->path, sizeof(f->path), "%s", path); /* same size */
	/* syscalls: lseek fstat newfstatat read */
	if (strlen(path) >= QUESTION_TEXT_MAX || lseek(fd, 0, SEEK_SET) < 0 ||
	    fd_slurp(fd, FILE_MAX, &f->text, &f->len) < 0) {
		not_asked(f, "its path is too long, or it cannot be read");
		return true;
	}
	f->changed = changed == 1;
	put_sha256(f, f->last);
	ask_now(f);
	return true;
}

void
file_question_recorded(struct file_question *f)
{
	if (f->state == REPORTED && *f->o.report != NULL &&
	    report_durable(*f->o.report, f->record)) {
		f->state = CHECKED;
		f->o.reread(f->o.arg, f->q.file_sha256);
	}
	ask_now(f);
}

bool
file_question_trusted(struct file_question *f, const char *sha256)
{
	if (f->number != 0 || f->state != IDLE || strcmp(f->last, sha256) != 0)
		return false; /* the question's own answer, or another file */
	f->o.reread(f->o.arg, "");
	return true;
}
