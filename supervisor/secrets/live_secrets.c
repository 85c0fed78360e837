/*
 * kennel secret validate --live: one leash for all secrets of a manifest, under a policy
 * that is written here and has no other line than theirs.
 *
 * Process: kennel. Holds no value, and gets none: the leash reports a state for each
 * secret. Must never: query a source without an approval that the manifest demands.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/launch.h"
#include "supervisor/secrets/live_secrets.h"

#define SERVER   "kennel-secret-validate"
#define VARIABLE "LIVE_"
#define TEXT_MAX (128u << 10) /* bytes of the policy */
#define HEAD     "server " SERVER " {\n    timeout start 30m\n"

struct batch {
	struct live_secret *of[LEASH_RESOLVED_MAX];
	size_t n;
	struct loop *loop;
	int signals;
	char *why; /* LEASH_TEXT_MAX */
};

const char *
live_name(enum leash_resolved state)
{
	static const char *const names[] = {[RESOLVED_OK] = "ok",
	    [RESOLVED_MISSING] = "missing",
	    [RESOLVED_LOCKED] = "locked",
	    [RESOLVED_STATUS] = "status",
	    [RESOLVED_ASKS] = "asks"};

	return state > 0 && state < ARRAY_LEN(names) ? names[state] : "missing";
}

static void
put(struct live_secret *s, enum leash_resolved state, const char *why)
{
	s->has.state = state;
	s->has.status = 0;
	(void)snprintf(s->has.why, sizeof(s->has.why), "%.*s",
	    (int)sizeof(s->has.why) - 1, why); /* may be cut */
}

/* ---- the policy ------------------------------------------------------------------- */

static int
put_line(struct buf *text, const struct live_secret *s, size_t number)
{
	const struct meta *m = s->meta;
	int r = buf_printf(
	    text, "    secret " VARIABLE "%zu from source %s", number, m->path);

	if (r == 0 && m->approve != META_NEVER)
		r = buf_printf(text, " { approve %s%s%s }", meta_approve_name(m->approve),
		    m->factor != META_NO_FACTOR ? " with " : "",
		    m->factor != META_NO_FACTOR ? meta_factor_name(m->factor) : "");
	return r == 0 ? buf_printf(text, "\n") : r;
}

/* A server needs a program: the shim, which is never started. */
static int
write_policy(struct buf *text, const struct batch *b)
{
	const char *shim = paths_libexec("kennel-shim");
	int r = shim == NULL ? -ENOENT : buf_printf(text, HEAD "    run \"%s\"\n", shim);

	for (size_t i = 0; r == 0 && i < b->n; i++)
		r = put_line(text, b->of[i], i);
	return r == 0 ? buf_put(text, "}\n", sizeof("}\n")) : r; /* with its NUL */
}

/* ---- a batch ----------------------------------------------------------------------- */

/* The leash reports in the order of the sealed rows, without credentials. */
static void
take_results(const struct batch *b, const struct policy_found *f,
    const struct child_resolved *result)
{
	const struct sealed_secret *row = f->policy.secret + f->server->secrets.first;
	size_t at = 0;

	for (uint32_t i = 0; i < f->server->secrets.n && at < b->n; i++) {
		const char *name = policy_str(&f->policy, row[i].name);
		size_t number;

		if ((row[i].flags & SECRET_CREDENTIAL) != 0)
			continue;
		number = strtoul(name + strlen(VARIABLE), NULL, 10);
		if (number < b->n && result[at].state != 0)
			b->of[number]->has = result[at];
		at++;
	}
}

static int
start(const struct batch *b, const struct policy_found *found)
{
	static struct child_resolved result[LEASH_RESOLVED_MAX];
	static struct opened o;
	int status;

	memset(result, 0, sizeof(result));
	status = open_server(&(struct open_order){.name = SERVER,
				 .purpose = PURPOSE_VALIDATE,
				 .found = found,
				 .mode = LEASH_LIVE,
				 .resolved = result,
				 .loop = b->loop,
				 .signals = b->signals},
	    &o, b->why);
	if (status != 0)
		return status;
	opened_free(&o);
	take_results(b, found, result);
	return 0;
}

/* A source that is wrong in sources.kennel refuses the whole policy: then each alone. */
static int check_batch(struct batch *);

/* NOLINTBEGIN(misc-no-recursion): a batch of one does not recur */
static int
check_each(const struct batch *b)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < b->n; i++) {
		struct batch one = *b;

		one.of[0] = b->of[i];
		one.n = 1;
		status = check_batch(&one);
	}
	return status;
}

static int
check_batch(struct batch *b)
{
	struct policy_found found = {.fd = -1};
	const char *error;
	struct buf text;
	int status;

	buf_init(&text, TEXT_MAX);
	if (write_policy(&text, b) < 0) {
		buf_free(&text);
		(void)snprintf(b->why, LEASH_TEXT_MAX, "out of memory");
		return EXIT_FAILED;
	}
	status = find_policy_text("kennel secret validate --live",
	    (const char *)text.data, SERVER, &found, b->why, LEASH_TEXT_MAX);
	buf_free(&text);
	if (status == EXIT_INPUT && b->n > 1)
		return check_each(b);
	if (status == EXIT_INPUT) {
		error = strstr(b->why, "error: ");
		put(b->of[0], RESOLVED_MISSING,
		    error != NULL ? error + strlen("error: ") : b->why);
		return 0;
	}
	if (status != 0)
		return status;
	status = start(b, &found);
	policy_found_free(&found);
	return status;
}

/* NOLINTEND(misc-no-recursion) */

int
live_secrets(struct live_secret *secret, size_t n, bool ask, char why[LEASH_TEXT_MAX])
{
	static struct loop loop;
	size_t most = ask ? LEASH_QUESTIONS_MAX : LEASH_RESOLVED_MAX;
	struct batch b = {.loop = &loop, .signals = -1, .why = why};
	int status = 0;

	loop_init(&loop);
	/* only a pending approval handles them; otherwise ^C ends this process */
	if (ask && open_signals(&b.signals) < 0) {
		(void)snprintf(why, LEASH_TEXT_MAX, "unable to set up signals");
		return EXIT_FAILED;
	}
	for (size_t i = 0; status == 0 && i < n; i++) {
		put(&secret[i], RESOLVED_MISSING, "it was not checked");
		if (secret[i].meta->factor == META_KEY)
			put(&secret[i], RESOLVED_ASKS,
			    "its use needs a security key, which --live does not ask "
			    "for");
		else if (secret[i].meta->approve != META_NEVER && !ask)
			put(&secret[i], RESOLVED_ASKS,
			    "its use needs an approval; --ask requests it");
		else
			b.of[b.n++] = &secret[i];
		if (b.n == most || (i + 1 == n && b.n > 0)) {
			status = check_batch(&b);
			b.n = 0;
		}
	}
	fd_close(&b.signals);
	return status;
}
