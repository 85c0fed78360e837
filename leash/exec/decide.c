/*
 * The policy's decision about (image, arguments, environment), and its record.
 *
 * Process: the leash.  Works on our own copy of the call only.  An argument may
 * contain a secret: the log gets argv[0] and the requested path, both redacted, a
 * digest and the count, never the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/exec/private.h"
#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#define VARIABLE_SHOWN_MAX 64
#define CHANGED_MAX        64 /* variables that a grant may allow to change */

static const char because_pin[] = "its file does not have the digest in the policy";

/* Reasons for calls that could not be decided at all. */
static const struct {
	int error;
	const char *reason;
} unjudged[] = {
    {-EACCES, "unable to follow the path, or it contains a magic link"},
    {-EFAULT, "unable to read path, arguments or environment"},
    {-E2BIG, "too many or too long arguments"},
    {-EINVAL, "unknown flags"},
    {-EBADF, "no such descriptor"},
};

/* The errors of execve for a path that does not exist.  In a cell most programs
 * without a grant look like this, because they are not in the view. */
static bool
leads_nowhere(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG ||
	       error == -ELOOP;
}

static void
refuse(struct verdict *v, int error, const char *reason)
{
	v->error = error;
	v->reason = reason;
	if (v->verdict == VERDICT_ALLOW)
		v->verdict = VERDICT_DENY;
}

/*
 * A path that does not exist in the cell: does the host have it?  Then a grant is
 * missing and the verdict is "deny".  If not, as for most directories of a search along
 * PATH, it is "absent".  Only the system's directories of programs are looked at: any
 * other might be on a file system that does not answer, and the gate must not block.  A
 * path that a search would not write stays a denial.
 */
static bool
host_has(const char *path)
{
	static const char *const programs[] = {"/bin", "/sbin", "/usr/bin", "/usr/sbin",
	    "/usr/local/bin", "/usr/local/sbin"};
	const char *name = strrchr(path, '/');
	struct stat st;

	if (strstr(path, "//") || strstr(path, "/./") || strstr(path, "/../"))
		return true;
	for (size_t i = 0; name != NULL && i < ARRAY_LEN(programs); i++) {
		size_t len = strlen(programs[i]);

		if ((size_t)(name - path) == len && memcmp(path, programs[i], len) == 0)
			/* syscalls: newfstatat */
			return lstat(path, &st) == 0;
	}
	return false;
}

static void
refuse_unjudged(const struct call *c, struct verdict *v, int error)
{
	v->absent = leads_nowhere(error);
	v->missing = (error == -ENOENT || error == -ENOTDIR) && !host_has(c->path);
	refuse(v, error,
	    v->missing  ? "no such file"
	    : v->absent ? "no such file in the cell"
			: "cannot be judged");
	for (size_t i = 0; i < ARRAY_LEN(unjudged); i++) {
		if (unjudged[i].error == error)
			v->reason = unjudged[i].reason;
	}
}

/* deny beats ask beats allow beats "no grant", over all names under which one file was
 * granted. */
static unsigned int
weight(struct policy_answer a)
{
	static const unsigned int of[] = {
	    [VERDICT_ALLOW] = 1, [VERDICT_ASK] = 2, [VERDICT_DENY] = 3};

	return a.exec ? of[a.verdict] : 0;
}

static struct policy_answer
match_images(struct gate *g, const struct image_key *key, struct policy_exec_ask *ask,
    struct verdict *v, bool *known)
{
	const struct policy *p = g->order.policy;
	struct policy_answer best = {.verdict = VERDICT_DENY};

	for (size_t i = 0; i < g->order.image_n; i++) {
		struct policy_answer a;

		if (!image_same(&g->image[i], key))
			continue;
		ask->asked = g->order.server->images.first + (uint32_t)i;
		if (!*known)
			v->program = policy_str(p, p->image[ask->asked].path);
		*known = true;
		a = policy_match_exec_call(p, g->order.server, ask);
		if (weight(a) > weight(best)) {
			best = a;
			v->program = policy_str(p, p->image[ask->asked].path);
		}
	}
	return best;
}

/* The variables that have changed since the launch, at most CHANGED_MAX. */
static size_t
changed_of(const struct gate *g, const struct call *c, const char *ret[CHANGED_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < c->envc && n < CHANGED_MAX; i++)
		if (!env_permits(g->order.env, c->envp[i], strlen(c->envp[i])))
			ret[n++] =
			    strchr(c->envp[i], '=') ? c->envp[i] : "="; /* no name */
	return n;
}

/* The first changed variable that the row does not name. */
static const char *
first_ungranted(const struct policy *p, const struct sealed_exec *e,
    const struct policy_exec_ask *ask)
{
	for (size_t i = 0; i < ask->env_n; i++)
		if (!policy_exec_env(p, e, ask->env[i], strcspn(ask->env[i], "=")))
			return ask->env[i];
	return NULL;
}

/*
 * No grant matches: finds the nearest row that would, and what is missing.  Only
 * the first missing condition is reported, as policy_exec_miss() finds it.
 */
static void
explain(struct gate *g, const struct image_key *key, const struct policy_exec_ask *asked,
    struct verdict *v)
{
	static const char *const words[] = {
	    [MISS_NAME] = "called by another name than the granted one",
	    [MISS_EXCEPT] = "the grant excludes these arguments (`except`)",
	    [MISS_EXPIRED] = "the exception has expired",
	    [MISS_FROM] = "the grant is for another caller",
	    [MISS_IN] = "the grant is for another directory",
	    [MISS_ENV] = "environment differs from the launch",
	};
	const struct policy *p = g->order.policy;
	const struct sealed_range *rows = &g->order.server->execs;
	struct policy_exec_ask ask = *asked;
	enum policy_miss best = MISS_ARGS;

	v->reason = "no grant has these arguments";
	for (uint32_t i = 0; i < rows->n; i++) {
		const struct sealed_exec *e = &p->exec[rows->first + i];
		enum policy_miss miss;

		if (e->verdict == VERDICT_DENY ||
		    !image_same(&g->image[e->asked - g->order.server->images.first], key))
			continue;
		ask.asked = e->asked;
		miss = policy_exec_miss(p, e, &ask);
		if (miss <= best || miss > MISS_ENV)
			continue;
		best = miss;
		v->row = e;
		v->reason = words[miss];
		v->differs = miss == MISS_ENV ? first_ungranted(p, e, &ask) : NULL;
	}
}

static void
match(
    struct gate *g, const struct call *c, const struct image_key *key, struct verdict *v)
{
	const char *changed[CHANGED_MAX];
	char place[PATH_MAX];
	struct policy_exec_ask ask = {.argv = {.v = c->argv, .n = c->argc},
	    .caller = c->caller,
	    .env = changed,
	    .env_n = changed_of(g, c, changed)};
	struct policy_answer best;
	bool known = false;

	if (g->place_n > 0)
		ask.cwd = caller_place(g, c->tid, place, sizeof(place));
	best = match_images(g, key, &ask, v, &known);
	if (ask.env_n == CHANGED_MAX && best.verdict != VERDICT_DENY)
		best = (struct policy_answer){.verdict = VERDICT_DENY};
	v->verdict = best.verdict;
	v->row = best.exec;
	/* if the verdict is "ask", approval.c sends the request */
	if (!best.exec || best.verdict == VERDICT_DENY)
		refuse(v, -EACCES, known ? NULL : "no grant names this file");
	if (best.exec && best.verdict != (enum sealed_verdict)best.exec->verdict)
		v->reason = "environment differs from the launch";
	if (known && !best.exec)
		explain(g, key, &ask, v);
}

static size_t
image_of(const struct gate *g, uint32_t row)
{
	return row - g->order.server->images.first;
}

/*
 * Does this relative path lead to the granted file by plain names alone, starting
 * at the process's working directory?  The interpreter opens it anew, so the path
 * must contain nothing that the server could redirect: no link, no "..".  It is
 * then equivalent to the granted path itself.
 */
static bool
leads_to(
    const struct policy *p, const struct sealed_image *image, pid_t pid, const char *path)
{
	char link[64], text[2 * PATH_MAX];
	ssize_t n;
	int len;

	(void)snprintf(link, sizeof(link), "/proc/%d/cwd", pid); /* fits */
	/* syscalls: readlink readlinkat */
	n = readlink(link, text, PATH_MAX);
	if (n <= 0 || n == PATH_MAX || text[0] != '/')
		return false;
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	len = snprintf(text + n, sizeof(text) - (size_t)n, "%s%s",
	    text[n - 1] == '/' ? "" : "/", path);
	if (len < 0 || (size_t)len >= sizeof(text) - (size_t)n)
		return false;
	return strcmp(text, policy_str(p, image->path)) == 0 ||
	       strcmp(text, policy_str(p, image->real)) == 0;
}

/* What the policy allows but the file's own state does not. */
static const char *
granted_but(const struct gate *g, const struct call *c, const struct sealed_exec *row)
{
	const struct policy *p = g->order.policy;

	if (!pin_holds(g, image_of(g, row->asked)) ||
	    !pin_holds(g, image_of(g, row->mapped)))
		return because_pin;
	/* The kernel passes the path of this call to a script's interpreter.  One that
	 * might lead elsewhere by then would be killed at the exec stop. */
	if (row->prefix.n > 0 &&
	    strcmp(c->path, policy_str(p, p->image[row->asked].path)) != 0 &&
	    (c->dirfd != AT_FDCWD ||
		!leads_to(p, &p->image[row->asked], c->tid, c->path)))
		return "a script must be started by its granted path";
	return NULL;
}

bool
grant_script(const struct gate *g, const struct flight *f, struct call *c)
{
	const struct policy *p = g->order.policy;
	const struct sealed_image *image = &p->image[f->row->asked];
	size_t last = (size_t)f->row->prefix.n - 1;

	if (f->row->prefix.n == 0 || strcmp(f->script, policy_str(p, image->path)) == 0)
		return true;
	if (last >= c->argc || strcmp(c->argv[last], f->script) != 0 ||
	    !leads_to(p, image, f->tid, f->script))
		return false;
	c->argv[last] = policy_str(p, image->path);
	return true;
}

void
grant_judge(struct gate *g, struct call *c, struct verdict *ret)
{
	struct image_key key = {.known = false};
	struct verdict v = {.verdict = VERDICT_DENY, .program = c->path};
	int r, words;

	r = call_copy_path(c);
	if (r == 0)
		r = image_asked(g, c, &key);
	if (leads_nowhere(r)) {
		refuse_unjudged(c, &v, r);
		goto out;
	}
	words = call_copy_words(c);
	if (r < 0 || words < 0) {
		refuse_unjudged(c, &v, r < 0 ? r : words);
		goto out;
	}
	if (c->argc == 0) {
		refuse(&v, -EACCES, "no argv[0]");
		goto out;
	}
	caller_of(g, c);
	kin_of(g, c);
	match(g, c, &key, &v);
	if (v.error == 0) {
		const char *but = granted_but(g, c, v.row);

		if (but)
			refuse(&v, -EACCES, but);
	}
out:
	*ret = v;
}

/*
 * The arguments of the call, as the process has them at the exec stop: in a
 * script's process the interpreter's arguments replace the first.
 */
static struct policy_argv
words_of(const struct flight *f, struct call *c)
{
	size_t skip = f->row->prefix.n > 0 ? f->row->prefix.n - 1 : 0;

	if (f->row->prefix.n > 0)
		c->argv[skip] = f->argv;
	return (struct policy_argv){.v = c->argv + skip, .n = c->argc - skip};
}

/* The threads that could change the directory are gone now.  Asks the policy once
 * more, with the actual directory and environment. */
static bool
same_answer(struct gate *g, const struct flight *f, struct call *c)
{
	const char *changed[CHANGED_MAX];
	char place[PATH_MAX];
	struct policy_exec_ask ask = {
	    .caller = f->caller, .env = changed, .env_n = changed_of(g, c, changed)};
	struct verdict v = {.verdict = VERDICT_DENY};
	struct policy_answer best;
	bool known = false;

	ask.argv = words_of(f, c);
	ask.cwd = caller_place(g, f->tid, place, sizeof(place));
	best = match_images(g, &g->image[image_of(g, f->row->asked)], &ask, &v, &known);
	return best.exec == f->row;
}

const char *
grant_stands(struct gate *g, const struct flight *f, struct call *c)
{
	if (!pin_holds(g, image_of(g, f->row->asked)) ||
	    !pin_holds(g, image_of(g, f->row->mapped)))
		return because_pin;
	if (g->place_n > 0 && !same_answer(g, f, c))
		return "another directory than the one checked";
	return NULL;
}

/* Digest of the arguments, each with its NUL, as in /proc/PID/cmdline. */
static void
put_argv_digest(struct event *e, const struct call *c)
{
	uint8_t digest[REPORT_DIGEST_LEN];

	policy_digest(c->text, c->argv_len, digest);
	event_digest(e, KEY_ARGV_SHA256, digest);
}

/* A name that the server chose may itself contain a secret. */
static void
put_foreign(struct gate *g, enum event_key key, const char *text)
{
	event_text(
	    &g->event, key, foreign_str(foreign_text(g->order.scrub, text, &g->shown)));
}

/* Names the variable that caused the refusal, for the author of the policy; never its
 * value.  A long text is not a name, and half of a secret would pass the redaction. */
static void
put_reason(struct gate *g, const struct verdict *v)
{
	size_t len = v->differs == NULL ? 0 : strcspn(v->differs, "=");
	char name[VARIABLE_SHOWN_MAX + 1];
	const struct foreign *f;

	if (len == 0 || len > VARIABLE_SHOWN_MAX || v->differs[len] == 0) {
		event_text(&g->event, KEY_REASON, v->reason);
		return;
	}
	memcpy(name, v->differs, len);
	name[len] = '\0';
	f = foreign_text(g->order.scrub, name, &g->shown);
	event_text(&g->event, KEY_REASON,
	    foreign_str(foreign_after(v->reason, f, &g->shown_too)));
}

static void
put_caller(struct gate *g, const struct call *c)
{
	const struct policy *p = g->order.policy;
	static char text[PATH_MAX + 64]; /* a path and a number */

	if (c->caller == POLICY_NO_IMAGE)
		event_text(&g->event, KEY_CALLER, "kennel-shim");
	else if (c->caller < p->row_n[SEALED_IMAGES])
		event_text(
		    &g->event, KEY_CALLER, policy_str(p, p->image[c->caller].real));
	for (size_t i = 0; i < c->chain.n; i++)
		event_text(&g->event, KEY_CHAIN, kin_text(g, c, i, text, sizeof(text)));
	if (c->chain.n > 0 && c->chain.more)
		event_text(&g->event, KEY_CHAIN, "...");
}

/* The required digest, if the policy has one. */
static void
put_pin(struct event *e, const struct sealed_image *image)
{
	static const uint8_t unpinned[32];

	if (memcmp(image->sha256, unpinned, sizeof(unpinned)) != 0)
		event_digest(e, KEY_PINNED, image->sha256);
}

/* What was asked, and the answer. */
static void
put_question(struct event *e, const struct verdict *v)
{
	event_digest(e, KEY_SHA256, v->digest);
	if (v->outcome == NULL)
		return;
	event_text(e, KEY_OUTCOME, v->outcome);
	if (v->who != NULL && v->who[0] != '\0')
		event_text(e, KEY_APPROVER, v->who);
	if (v->held_ns > 0)
		event_number(e, KEY_DURATION_US, v->held_ns / 1000);
}

int
grant_record(struct gate *g, pid_t pid, const struct call *c, const struct verdict *v,
    const char *name)
{
	const struct policy *p = g->order.policy;
	struct event *e = &g->event;
	char rule[512] = "";

	explain_judged(g, c, v, name);
	if (!g->order.report)
		return 0;
	event_begin(e, EVENT_EXEC);
	event_identity(e, policy_str(p, g->order.server->name), p->id);
	event_text(e, KEY_VERDICT, name);
	put_foreign(g, KEY_PROGRAM, v->program);
	if (v->row) {
		event_text(e, KEY_IMAGE, policy_str(p, p->image[v->row->mapped].real));
		put_pin(e, &p->image[v->row->asked]);
		event_text(e, KEY_RULE, policy_at(p, v->row->at, rule, sizeof(rule)));
	}
	if (c->argc > 0) {
		put_foreign(g, KEY_ARGV, c->argv[0]);
		put_argv_digest(e, c);
	}
	put_caller(g, c);
	if (c->argc > 0 || !v->digest)
		event_number(e, KEY_COUNT, c->argc);
	if (v->digest)
		put_question(e, v);
	event_number(e, KEY_PID, (uint64_t)pid);
	if (v->reason)
		put_reason(g, v);
	/* Durable within 50 ms: execs are too frequent to wait for the disk. */
	return report_send(g->order.report, e, EVENT_FLOW, NULL);
}
