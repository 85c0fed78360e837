/*
 * The text of a question to a person: what the manifests contain, what the agent says.
 *
 * Only `reason` and `proposed` contain text of the agent. The path is one that the
 * manifest declares, or a valid path that it does not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy/base/output.h"
#include "policy/print/statement.h"
#include "shim/base/hex.h"
#include "supervisor/secrets/dialogs.h"

/* ---- a use ------------------------------------------------------------------------ */

/* The servers that get the value, each under which policy. */
static void
put_holders(const struct asked *u, struct out *o)
{
	char hex[2 * HOLDER_ID_LEN + 1];

	out_list(o, "servers");
	for (size_t i = 0; i < u->holder_n; i++) {
		out_object(o, NULL);
		out_text(o, "server", u->holder[i].server);
		out_text(o, "policy", hex_put(hex, u->holder[i].policy, HOLDER_ID_LEN));
		out_end(o);
	}
	out_end(o);
}

static void
put_use(const struct asked *u, struct out *o)
{
	out_text_or_null(o, "description", u->meta->description);
	out_text(o, "reason", u->reason);
	out_text(o, "effect", "the value is given to the servers below when they start");
	out_text(o, "asked", u->each ? "for each use" : "once for this session");
	put_holders(u, o);
}

/* ---- a value, a proposal ------------------------------------------------------------ */

static void
put_days(struct out *o, const char *key, uint32_t days)
{
	if (days == 0)
		out_null(o, key);
	else
		out_number(o, key, days);
}

static void
put_date(struct out *o, const char *key, uint32_t day)
{
	char text[SAY_DAY_CAP];

	if (day == 0)
		out_null(o, key);
	else
		out_text(o, key, say_day_text(day, text));
}

static void
put_current(const struct meta *m, struct out *o)
{
	if (m == NULL) {
		out_null(o, "current");
		return;
	}
	out_object(o, "current");
	out_text_or_null(o, "description", m->description);
	out_text_or_null(o, "retrieval_url", m->retrieval_url);
	put_days(o, "rotate_every_days", m->rotate_every);
	put_date(o, "expires_at", m->expires);
	out_text_or_null(o, "pattern_id", m->pattern);
	out_end(o);
}

static void
put_proposed(const struct asked *u, struct out *o)
{
	const struct meta_change *c = &u->change;

	if (u->kind == SECRETS_PROVISION || u->kind == SECRETS_ROTATION) {
		out_null(o, "proposed");
		return;
	}
	out_object(o, "proposed");
	if (c->has_description)
		out_text(o, "description", c->description);
	if (c->has_retrieval_url)
		out_text(o, "retrieval_url", c->retrieval_url);
	if (c->has_rotate_every)
		out_number(o, "rotate_every_days", c->rotate_every);
	if (c->has_expires)
		put_date(o, "expires_at", c->expires);
	if (c->has_pattern)
		out_text(o, "pattern_id", c->pattern);
	out_end(o);
}

static int
put_typed(const struct asked *u, struct out *o)
{
	char digest[MANIFESTS_DIGEST_CAP];

	if (secrets_manifests_digest(u->manifests, digest) < 0)
		return -ENOMEM;
	put_current(u->meta, o);
	put_proposed(u, o);
	out_null(o, "reason");
	put_holders(u, o);
	out_text(o, "project", u->manifests->place);
	out_text(o, "manifests", digest);
	return 0;
}

/* ---- both ---------------------------------------------------------------------------- */

static int
put_detail(const struct asked *u, struct question_text *q)
{
	char *text = NULL;
	size_t len = 0;
	struct out o;
	FILE *to = open_memstream(&text, &len);
	int r = 0;

	if (to == NULL)
		return -ENOMEM;
	out_init(&o, to);
	out_object(&o, NULL);
	if (u->kind == SECRETS_USE)
		put_use(u, &o);
	else
		r = put_typed(u, &o);
	out_end(&o);
	if (fclose(to) != 0)
		r = -ENOMEM;
	if (r == 0)
		question_detail(q, text, len - 1); /* without its newline */
	free(text);
	return r;
}

/* Over everything that is shown, and the request: no answer fits another one. */
static int
put_digest(const struct asked *u, struct question_text *q)
{
	struct buf all;
	int e;

	buf_init(&all, sizeof(*q));
	e = buf_printf(&all, "%s\n%s\n%s\n%s\n%s\n", secrets_kind_name(u->kind),
	    q->request, q->server, q->subject, q->detail);
	if (e == 0)
		mcp_digest(all.data, all.len, q->digest);
	buf_free(&all);
	return e;
}

int
question_make(const struct asked *u, const char *own_name, const char *request_id,
    struct question_text *q)
{
	static const struct {
		enum question_kind kind;
		const char *rule;
	} rows[SECRETS_KIND_N] = {
	    [SECRETS_PROVISION] = {QUESTION_PROVISION, "a person types the value"},
	    [SECRETS_ROTATION] = {QUESTION_ROTATION, "a person types the new value"},
	    [SECRETS_METADATA] = {QUESTION_METADATA, "a person changes the manifest"},
	    [SECRETS_NEW_PATH] = {QUESTION_NEW_PATH, "a person changes the manifest"},
	    [SECRETS_USE] = {QUESTION_SECRET, NULL},
	};
	const char *rule = rows[u->kind].rule;
	int e;

	if (rule == NULL)
		rule = u->each ? "approve per-call" : "approve session";
	*q = (struct question_text){.kind = rows[u->kind].kind,
	    .once_only = u->each,
	    .open_ms = u->ttl_s * (uint64_t)1000};
	(void)snprintf(q->server, sizeof(q->server), "%s",
	    u->holder_n == 1 ? u->holder[0].server : own_name);        /* a name: fits */
	(void)snprintf(q->subject, sizeof(q->subject), "%s", u->path); /* fits */
	(void)snprintf(q->rule, sizeof(q->rule), "%s", rule);          /* fits */
	(void)snprintf(q->request, sizeof(q->request), "%s", request_id); /* fits */
	e = put_detail(u, q);
	return e < 0 ? e : put_digest(u, q);
}
