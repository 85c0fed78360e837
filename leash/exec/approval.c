/*
 * Execs that need the user's approval.  The call waits in the kernel, with its
 * notification unanswered, while the loop goes on.  The request is kept as a digest
 * of the file, the arguments, the environment and the working directory.
 *
 *	judged "ask" --> sent to the supervisor --> once, session --> judged again,
 *	   |		     |		  |			     unchanged: continues
 *	   |		     |		  +--> deny, timeout --> EACCES
 *	   |		     +--> its caller is gone: withdrawn
 *	   +--> cannot be sent: EACCES
 *
 * An approval is for one program.  It is used up at the exec stop, where the whole
 * digest is compared again.  If the exec fails, the approval applies to the next
 * attempt of the same process.
 *
 * Process: the leash.  Trusts the supervisor to report the user's answer, and the
 * user to have read the request.  Must never wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "leash/exec/private.h"
#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"
#include "policy/sealed/policy.h"
#include "shim/base/loop.h"

#define ASK_WORDS_MAX (4u << 10)       /* bytes of arguments and names in a request */
#define ASK_SLACK_NS  (2000 * LOOP_MS) /* added to the supervisor's own timeout */
#define ASK_LOOK_NS   (100 * LOOP_MS)
#define ASK_COST_NS   (1000 * LOOP_MS)    /* rate limit: one request a second, */
#define ASK_BURST_NS  (128 * ASK_COST_NS) /* after a burst of 128 */
#define ASK_VARIABLES 64                  /* names of changed variables in a request */

int
ask_init(struct gate *g)
{
	/* syscalls: getrandom */
	if (getrandom(g->ask_salt, sizeof(g->ask_salt), 0) !=
	    (ssize_t)sizeof(g->ask_salt))
		return -EIO;
	g->ask_ns = policy_limit(g->order.policy, g->order.server, TIMEOUT_ASK) * LOOP_MS;
	foreign_list_init(&g->words, ASK_WORDS_MAX);
	g->pending = calloc(GATE_QUESTIONS_MAX, sizeof(*g->pending));
	g->yes = calloc(GATE_QUESTIONS_MAX, sizeof(*g->yes));
	return g->pending != NULL && g->yes != NULL ? 0 : -ENOMEM;
}

void
ask_free(struct gate *g)
{
	foreign_list_free(&g->words);
	free(g->pending);
	free(g->yes);
}

/* ---- the digest --------------------------------------------------------------- */

/* The path of a process's working directory, as the process names it, and its
 * identity.  A file system that does not respond is not queried. */
static int
folder_of(pid_t pid, char path[PATH_MAX], struct image_key *ret)
{
	char link[64];
	struct statx sx;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/%d/cwd", pid); /* fits */
	/* syscalls: readlink readlinkat statx */
	n = readlink(link, path, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_INO, &sx) < 0)
		return -errno;
	*ret = (struct image_key){.dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
	    .ino = sx.stx_ino,
	    .known = true};
	return 0;
}

/* Digest of the environment in the copy and of the working directory in /proc. */
static int
rest_of(const struct call *c, pid_t pid, char path[PATH_MAX], uint8_t ret[ASK_DIGEST_LEN])
{
	struct {
		uint8_t env[ASK_DIGEST_LEN], path[ASK_DIGEST_LEN];
		uint64_t envc, dev, ino;
	} all = {.envc = c->envc};
	struct image_key key = {.known = false};
	int r = folder_of(pid, path, &key);

	if (r < 0)
		return r;
	policy_digest(c->text + c->argv_len, c->text_len - c->argv_len, all.env);
	policy_digest(path, strlen(path), all.path);
	all.dev = key.dev;
	all.ino = key.ino;
	policy_digest(&all, sizeof(all), ret);
	return 0;
}

int
ask_rest(const struct call *c, pid_t pid, uint8_t ret[ASK_DIGEST_LEN])
{
	char path[PATH_MAX];

	return rest_of(c, pid, path, ret);
}

/*
 * The digest of the whole exec.  The salt is new for each cell: an environment
 * contains secrets, and the digest of a short one could be reversed.
 */
static int
subject_of(struct gate *g, const struct call *c, const struct sealed_exec *row,
    struct subject *ret)
{
	struct {
		uint8_t salt[ASK_DIGEST_LEN], argv[ASK_DIGEST_LEN], rest[ASK_DIGEST_LEN];
		uint64_t argc, row, caller, dev, ino;
	} all = {.argc = c->argc,
	    .row = (uint64_t)(row - g->order.policy->exec),
	    .caller = c->caller};
	size_t image = row->mapped - g->order.server->images.first;
	struct subject s = {.set = true};
	int r;

	if (image >= g->order.image_n || !g->image[image].known)
		return -ENOENT;
	r = rest_of(c, c->tid, g->asked_folder, s.rest);
	if (r < 0)
		return r;
	memcpy(all.salt, g->ask_salt, sizeof(all.salt));
	policy_digest(c->text, c->argv_len, all.argv);
	memcpy(all.rest, s.rest, sizeof(all.rest));
	all.dev = g->image[image].dev;
	all.ino = g->image[image].ino;
	policy_digest(&all, sizeof(all), s.digest);
	*ret = s;
	return 0;
}

static bool
same(const struct subject *a, const struct subject *b)
{
	return a->set && b->set && memcmp(a->digest, b->digest, ASK_DIGEST_LEN) == 0;
}

/* ---- unused approvals ---------------------------------------------------------- */

void
ask_keep(struct gate *g, pid_t tgid, const struct subject *subject)
{
	struct yes yes = {
	    .tgid = tgid, .subject = *subject, .until = loop_now() + g->ask_ns};

	if (!subject->set)
		return;
	if (g->yes_n == GATE_QUESTIONS_MAX) /* drop the oldest; it needs approval again */
		memmove(g->yes, g->yes + 1, --g->yes_n * sizeof(*g->yes));
	g->yes[g->yes_n++] = yes;
}

static bool
take_yes(struct gate *g, pid_t tgid, const struct subject *subject)
{
	uint64_t now = loop_now();

	for (size_t i = 0; i < g->yes_n; i++) {
		const struct yes *y = &g->yes[i];
		bool good = y->until > now;

		if (y->tgid != tgid || !same(&y->subject, subject))
			continue;
		memmove(g->yes + i, g->yes + i + 1, (--g->yes_n - i) * sizeof(*g->yes));
		return good;
	}
	return false;
}

/* ---- the request --------------------------------------------------------------- */

/*
 * A text of the caller as shown to the user: without secrets.  False if it contains
 * what looks like a private key in lines: an attacker could write the first line of
 * a key and put a command after it, which the redaction would hide.
 */
static bool
clean(struct gate *g, const char *text, struct buf *room, const struct foreign **ret)
{
	struct scrub *s = g->order.scrub;
	uint64_t before = s != NULL ? scrub_free_count(s) : 0;

	*ret = foreign_text(s, text, room);
	return s == NULL || scrub_free_count(s) == before;
}

/* Appends one argument, redacted.  An argument is never shown in part. */
static bool
put_word(struct gate *g, const char *word)
{
	const struct foreign *shown;

	return clean(g, word, &g->shown, &shown) && foreign_list_add(&g->words, shown);
}

static void
put_words(struct gate *g, const struct call *c, struct gate_question *q)
{
	char name[ASK_VARIABLES];

	foreign_list_clear(&g->words);
	while (q->argc < c->argc && put_word(g, c->argv[q->argc]))
		q->argc++;
	q->cut = q->argc < c->argc;
	for (size_t i = 0; i < c->envc && !q->cut; i++) {
		size_t len = strlen(c->envp[i]), n = strcspn(c->envp[i], "=");

		if (env_permits(g->order.env, c->envp[i], len))
			continue;
		/* too long for a name: it may be a value */
		q->cut = n >= sizeof(name) || c->envp[i][n] == '\0';
		if (q->cut)
			break;
		memcpy(name, c->envp[i], n);
		name[n] = '\0';
		q->cut = !put_word(g, name);
		q->envc += q->cut ? 0 : 1;
	}
	q->words = &g->words;
}

static int
put_question(struct gate *g, const struct call *c, const struct verdict *v,
    const struct pending_exec *w)
{
	const struct policy *p = g->order.policy;
	struct gate_question q = {.number = w->number,
	    .timeout_ms = g->ask_ns / LOOP_MS,
	    .factor = v->row->factor,
	    .digest = w->subject.digest,
	    .because = policy_str(p, v->row->because)};
	char rule[512] = "";

	q.rule = policy_at(p, v->row->at, rule, sizeof(rule));
	put_words(g, c, &q);
	q.program = foreign_text(g->order.scrub, v->program, &g->shown_too);
	/* Show the directory that the digest covers, without reading it again: another
	 * thread of the caller could change it in between, and the user would approve
	 * a different one. */
	if (!clean(g, g->asked_folder, &g->shown, &q.cwd))
		q.cut = true;
	return g->order.person->ask(g->order.person_arg, &q);
}

/* NULL: the request was sent.  Else the reason why it cannot be. */
static const char *
hold(struct gate *g, const struct seccomp_notif *n, struct verdict *v, pid_t tgid,
    const struct subject *subject)
{
	struct pending_exec *w = &g->pending[g->pending_n];
	uint64_t now = loop_now();

	if (g->order.person == NULL || g->ask_number == UINT32_MAX)
		return "ask: no approval channel is available";
	if (g->pending_n == GATE_QUESTIONS_MAX)
		return "ask: too many pending approvals";
	if (g->asked_until > now + ASK_BURST_NS)
		return "ask: too many requests for approval";
	if (g->order.report != NULL && report_late(g->order.report))
		return "the audit log did not take the record";
	*w = (struct pending_exec){.notif = *n,
	    .tgid = tgid,
	    .number = ++g->ask_number,
	    .since = now,
	    .until = now + g->ask_ns + ASK_SLACK_NS,
	    .subject = *subject,
	    .row = v->row,
	    .program = v->program};
	v->digest = w->subject.digest;
	if (grant_record(g, g->call->tid, g->call, v, "ask") < 0)
		return "the audit log did not take the record";
	if (put_question(g, g->call, v, w) < 0)
		return "ask: unable to request approval";
	g->asked_until = (g->asked_until < now ? now : g->asked_until) + ASK_COST_NS;
	g->pending_n++;
	return NULL;
}

enum exec_event
ask_person(struct gate *g, const struct seccomp_notif *n, struct verdict *v, pid_t tgid,
    struct flight *again)
{
	struct call *c = g->call;
	struct subject subject = {.set = false};

	v->reason = "ask: unable to read its working directory";
	if (subject_of(g, c, v->row, &subject) == 0) {
		if ((again != NULL && same(&again->subject, &subject)) ||
		    take_yes(g, tgid, &subject)) {
			v->reason = NULL;
			v->outcome = "asked before";
			v->digest = subject.digest;
			return verdict_allow(g, c, v, tgid, again, &subject);
		}
		v->reason = NULL;
		v->reason = hold(g, n, v, tgid, &subject);
	}
	if (v->reason == NULL)
		return EXEC_ASKED;
	v->error = -EACCES;
	verdict_deny(g, c, v);
	return EXEC_REFUSED;
}

/* ---- the answer ---------------------------------------------------------------- */

static const char *const answer_name[] = {
    [GATE_ONCE] = "once",
    [GATE_SESSION] = "session",
    [GATE_DENY] = "deny",
    [GATE_NOBODY] = "nobody",
};

static const char *const answer_reason[] = {
    [GATE_DENY] = "denied by a person",
    [GATE_NOBODY] = "approval timed out",
};

static bool
is_yes(enum gate_answer a)
{
	return a == GATE_ONCE || a == GATE_SESSION;
}

/* The user has approved: is the exec still the one that was shown? */
static void
settle_yes(
    struct gate *g, const struct pending_exec *w, struct verdict *v, struct flight *f)
{
	struct call *c = g->call;
	struct verdict again;
	struct subject subject = {.set = false};

	call_begin(c, &w->notif);
	grant_judge(g, c, &again);
	if (again.error == 0 && again.row == w->row &&
	    subject_of(g, c, w->row, &subject) == 0 && same(&subject, &w->subject)) {
		v->verdict = VERDICT_ASK;
		(void)verdict_allow(g, c, v, w->tgid, f, &subject);
	} else {
		v->reason = "changed while the approval was pending";
		v->error = -EACCES;
		verdict_deny(g, c, v);
	}
	call_wipe(c);
}

static void
settle(struct gate *g, const struct pending_exec *w)
{
	struct flight *f = flight_of_thread(g, (pid_t)w->notif.pid);
	struct verdict v = {.verdict = VERDICT_ASK,
	    .row = w->row,
	    .program = w->program,
	    .digest = w->subject.digest,
	    .outcome = answer_name[w->answer],
	    .who = w->who,
	    .held_ns = loop_now() - w->since};

	if (f != NULL)
		flight_event(g, f, EXEC_RESUMED);
	if (!notify_valid(g, w->notif.id))
		return;
	if (is_yes(w->answer)) {
		settle_yes(g, w, &v, f);
		return;
	}
	v.reason = answer_reason[w->answer];
	v.error = -EACCES;
	call_begin(g->call, &w->notif);
	verdict_deny(g, g->call, &v);
}

/* May this thread's exec begin now?  Its group must have no other exec in progress,
 * and the recorder must be connected. */
static bool
may_start(struct gate *g, const struct pending_exec *w)
{
	return !log_waits(g) && !flight_in_group(g, w->tgid) &&
	       g->flight_n < GATE_FLIGHTS_MAX;
}

void
ask_settle(struct gate *g)
{
	for (size_t i = 0; i < g->pending_n;) {
		struct pending_exec w = g->pending[i];

		if (w.answer == 0 || (is_yes(w.answer) && !may_start(g, &w))) {
			i++;
			continue;
		}
		g->pending[i] = g->pending[--g->pending_n];
		settle(g, &w);
	}
}

int
gate_answer(struct gate *g, uint32_t number, enum gate_answer answer, const char *who)
{
	for (size_t i = 0; i < g->pending_n; i++) {
		struct pending_exec *w = &g->pending[i];

		if (w->number != number || w->answer != 0)
			continue;
		w->answer = answer;
		(void)snprintf(w->who, sizeof(w->who), "%s", who); /* may be cut */
		ask_settle(g);
		return 0;
	}
	return -ENOENT;
}

/* ---- while pending ------------------------------------------------------------- */

/* The caller is gone: withdraws the request. */
static void
withdraw(struct gate *g, const struct pending_exec *w)
{
	struct flight *f = flight_of_thread(g, (pid_t)w->notif.pid);
	struct verdict v = {.verdict = VERDICT_ASK,
	    .row = w->row,
	    .program = w->program,
	    .digest = w->subject.digest,
	    .reason = "its process has exited",
	    .outcome = "withdrawn",
	    .held_ns = loop_now() - w->since};

	if (f != NULL)
		flight_event(g, f, EXEC_RESUMED);
	if (w->answer == 0)
		g->order.person->withdrawn(g->order.person_arg, w->number);
	call_begin(g->call, &w->notif);
	(void)grant_record(g, (pid_t)w->notif.pid, g->call, &v, "deny"); /* not an act */
}

void
ask_tick(struct gate *g)
{
	uint64_t now;

	if (g->pending_n == 0)
		return;
	now = loop_now();
	if (now < g->ask_look)
		return;
	g->ask_look = now + ASK_LOOK_NS;
	for (size_t i = 0; i < g->pending_n;) {
		struct pending_exec *w = &g->pending[i];

		if (!notify_valid(g, w->notif.id)) {
			struct pending_exec gone = *w;

			*w = g->pending[--g->pending_n];
			withdraw(g, &gone);
			continue;
		}
		if (w->answer == 0 && now >= w->until) {
			w->answer = GATE_NOBODY; /* nor has the supervisor */
			g->order.person->withdrawn(g->order.person_arg, w->number);
		}
		i++;
	}
	ask_settle(g);
}
