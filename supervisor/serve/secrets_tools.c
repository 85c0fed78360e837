/*
 * The secrets tools of kennel serve: what is asked of supervisor/secrets, and how its
 * answer reaches the agent.
 *
 * The hub opens no file. The launcher reads the manifests again for each call, and passes
 * their texts; they are parsed here, in the confined process, because a repository may
 * have written them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/leash_approvals.h"
#include "supervisor/launch/refused_start.h"
#include "supervisor/secrets/secrets.h"
#include "supervisor/secrets/use_approval.h"
#include "supervisor/serve/approvals/file_question.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"
#include "supervisor/serve/tools/own_tools.h"

#define MANIFESTS_MS 5000 /* for the launcher to read them */

struct hub_secrets {
	struct secrets_manifests manifests; /* the last that came */
	/* of loop_now(): when they were asked for, of the request that is open (0: none)
	 * and of the last that was answered. One is open at a time, because a launcher
	 * whose answers the hub does not read would stop reading too. */
	uint64_t asked_at, read_at;
	bool again;          /* a call came after that request */
	struct queue *queue; /* NULL: no person can be asked */
	struct approve_socket *socket;
	struct secrets_approvals *approvals;
	struct file_question *file; /* NULL: no file is asked about */
};

/* ---- manifests ------------------------------------------------------------------ */

static void
ask_manifests(void *hub)
{
	struct hub *h = hub;

	h->secrets->again = h->secrets->asked_at != 0;
	if (h->secrets->again)
		return;
	h->secrets->asked_at = loop_now();
	launcher_ask(h, LAUNCHER_MANIFESTS, NULL);
}

bool
secrets_texts(struct hub *h, struct wire_in *in, int fd)
{
	if (h->secrets->asked_at == 0 ||
	    secrets_manifests_get(in, fd, &h->secrets->manifests) < 0)
		return false;
	h->secrets->read_at = h->secrets->asked_at;
	h->secrets->asked_at = 0;
	if (h->secrets->again)
		ask_manifests(h);
	secrets_approvals_epoch(h->secrets->approvals, h->secrets->manifests.vault_epoch,
	    h->secrets->read_at);
	secrets_approvals_reread(h->secrets->approvals,
	    &(struct secrets_context){&h->secrets->manifests, meta_today()});
	launcher_start(h); /* what has waited for the epoch */
	parked_wake(h);
	return true;
}

bool
secrets_have_texts(const struct hub *h, uint64_t until)
{
	return h->secrets->read_at >= until - MANIFESTS_MS * LOOP_MS;
}

/* True: the manifests were read after this call had come. False: the line waits. */
static bool
has_manifests(struct hub *h, const struct incoming *in)
{
	if (in->waited) {
		/* the time of the line is over, and not for one that came later */
		if (h->secrets->asked_at != 0 &&
		    loop_now() - h->secrets->asked_at >= MANIFESTS_MS * LOOP_MS)
			secrets_manifests_free(&h->secrets->manifests);
		return true;
	}
	/* first: what is asked for after it was parked is new enough */
	if (park(h, in, PARK_MANIFESTS, NULL, MANIFESTS_MS)) {
		ask_manifests(h);
		return false;
	}
	reply_error(h, in, RPC_NO_RECORD,
	    "kennel: too many requests are in progress; wait for responses");
	return false;
}

/* ---- servers ---------------------------------------------------------------------- */

/* The rows of its policy that get this path from the vault: how many, and the strictest
 * approval that they want. */
static size_t
rows_of(const struct server *s, const char *path, enum meta_approve *ret)
{
	size_t n = 0;

	*ret = META_NEVER;
	for (uint32_t i = 0; i < s->sealed->secrets.n; i++) {
		const struct sealed_secret *row =
		    &s->policy.secret[s->sealed->secrets.first + i];

		const char *of = policy_secret_path(&s->policy, row);

		if (of == NULL || strcmp(of, path) != 0)
			continue;
		n++;
		if ((enum meta_approve)row->approve > *ret)
			*ret = (enum meta_approve)row->approve; /* the same numbers */
	}
	return n;
}

/* A policy may have several servers, and rows may run under it. */
static void
holder_id(const struct server *s, uint8_t ret[HOLDER_ID_LEN])
{
	uint8_t both[HOLDER_ID_LEN + LAUNCHER_NAME_MAX];
	size_t n = strnlen(s->name, LAUNCHER_NAME_MAX);

	memcpy(both, s->policy.id, HOLDER_ID_LEN);
	memcpy(both + HOLDER_ID_LEN, s->name, n);
	mcp_digest(both, HOLDER_ID_LEN + n, ret);
}

/* Callback of secrets_approvals: the servers that get this path. */
static size_t
holders(void *hub, const char *path, struct secrets_holder out[HOLDERS_MAX])
{
	struct hub *h = hub;
	enum meta_approve approve;
	size_t n = 0;

	for (size_t i = 0; i < h->server_n; i++) {
		struct server *s = h->server[i];

		if (!s->ready || !s->enabled || rows_of(s, path, &approve) == 0)
			continue;
		if (n < HOLDERS_MAX) {
			out[n] = (struct secrets_holder){
			    .server = s->name, .approve = approve};
			memcpy(out[n].policy, s->policy.id, HOLDER_ID_LEN);
			holder_id(s, out[n].id);
		}
		n++;
	}
	return n;
}

bool
secrets_grants_known(const struct server *s)
{
	uint8_t id[HOLDER_ID_LEN];

	holder_id(s, id);
	for (uint32_t i = 0; i < s->sealed->secrets.n; i++) {
		const char *path = policy_secret_path(
		    &s->policy, &s->policy.secret[s->sealed->secrets.first + i]);

		if (path != NULL &&
		    secrets_grant_unknown(s->hub->secrets->approvals, path, id))
			return false;
	}
	return true;
}

void
secrets_put_grants(struct server *s, struct wire_out *out)
{
	struct secrets_grant grant[APPROVED_USES_MAX];
	struct secrets_approvals *all = s->hub->secrets->approvals;
	uint8_t id[HOLDER_ID_LEN];
	uint32_t n = 0;

	holder_id(s, id);
	for (uint32_t i = 0; i < s->sealed->secrets.n && n < APPROVED_USES_MAX; i++) {
		const struct sealed_secret *row =
		    &s->policy.secret[s->sealed->secrets.first + i];

		const char *path = policy_secret_path(&s->policy, row);

		if (path != NULL && secrets_grant_take(all, path, id, &grant[n]))
			n++;
	}
	wire_put_u32(out, n);
	for (uint32_t i = 0; i < n; i++) {
		wire_put_str(out, grant[i].path);
		wire_put_str(out, grant[i].request_id);
		wire_put_u32(out, grant[i].session);
		wire_put_u64(out, grant[i].epoch);
	}
}

void
secrets_start_denied(struct server *s, const struct leash_refused *refused)
{
	for (uint32_t i = 0; s->ready && i < s->sealed->secrets.n; i++) {
		const char *path = policy_secret_path(
		    &s->policy, &s->policy.secret[s->sealed->secrets.first + i]);

		if (path != NULL && strcmp(path, refused->path) == 0)
			secrets_path_refused(s->hub->secrets->approvals, path);
	}
}

struct queue *
secrets_queue(const struct hub *h)
{
	return h->secrets->queue;
}

const struct sealed_secret *
secrets_closed(const struct server *s)
{
	for (uint32_t i = 0; i < s->sealed->secrets.n; i++) {
		const struct sealed_secret *row =
		    &s->policy.secret[s->sealed->secrets.first + i];

		const char *path = policy_secret_path(&s->policy, row);

		/* of another server whose start asks nobody, the refusal was not */
		if (path != NULL &&
		    (s->per_call || row->approve != APPROVE_NONE ||
			s->refusal.cause == LEASH_CAUSE_DENIED) &&
		    secrets_path_closed(s->hub->secrets->approvals, path))
			return row;
	}
	return NULL;
}

void
secrets_recorded(struct hub *h)
{
	secrets_approvals_recorded(h->secrets->approvals);
	if (h->secrets->file != NULL)
		file_question_recorded(h->secrets->file);
}

bool
secrets_skipped(struct hub *h, struct wire_in *in, int fd)
{
	return h->secrets->file == NULL || file_question_take(h->secrets->file, in, fd);
}

bool
secrets_configured(struct hub *h, struct wire_in *in)
{
	return h->secrets->file == NULL || file_question_configured(h->secrets->file, in);
}

bool
secrets_trusted(struct hub *h, const char *sha256)
{
	return h->secrets->file != NULL &&
	       file_question_trusted(h->secrets->file, sha256);
}

/* Callbacks of the question. */
static void
need_recorder(void *hub)
{
	servers_need_recorder(hub);
}

static void
reread(void *hub, const char *sha256)
{
	launcher_ask(hub, LAUNCHER_REREAD, sha256);
}

/* ---- a server that lacks a value ------------------------------------------------------ */

/* The value is not in the vault or not granted, or the vault is locked: what the agent
 * reads. */
static bool
lacks(const struct leash_refused *refused, struct secrets_error *ret)
{
	static const struct {
		enum leash_cause cause;
		enum secrets_fault fault;
	} rows[] = {
	    {LEASH_CAUSE_LOCKED, SECRETS_VAULT_LOCKED},
	    {LEASH_CAUSE_NO_VAULT, SECRETS_MISSING_SECRET},
	    {LEASH_CAUSE_NOT_STORED, SECRETS_MISSING_SECRET},
	    {LEASH_CAUSE_NOT_GRANTED, SECRETS_NOT_GRANTED},
	    {LEASH_CAUSE_STALE, SECRETS_NOT_GRANTED},
	    {LEASH_CAUSE_DENIED, SECRETS_DENIED},
	};
	size_t i = 0;

	while (i < ARRAY_LEN(rows) && rows[i].cause != refused->cause)
		i++;
	if (i == ARRAY_LEN(rows) ||
	    secret_path_wrong(refused->path, strlen(refused->path)) != NULL)
		return false;
	*ret = (struct secrets_error){.fault = rows[i].fault};
	(void)snprintf(ret->path, sizeof(ret->path), "%s", refused->path); /* fits */
	if (ret->fault == SECRETS_DENIED)
		(void)snprintf(ret->text, sizeof(ret->text), SECRETS_DENIED_TEXT,
		    ret->path, ret->path);
	else if (ret->fault == SECRETS_VAULT_LOCKED)
		(void)snprintf(ret->text, sizeof(ret->text),
		    "vault-locked: a person unlocks it: kennel secret unlock"); /* fits */
	else
		(void)snprintf(ret->text, sizeof(ret->text),
		    "missing secret: %s (%s): %s", refused->variable, ret->path,
		    refused_cause_text(refused->cause)); /* may be cut */
	return true;
}

bool
secrets_lacking(const struct server *s)
{
	struct secrets_error e;

	return lacks(&s->refusal, &e);
}

bool
secrets_refused(
    struct hub *h, const struct incoming *in, const struct leash_refused *refused)
{
	struct secrets_answer answer;
	struct secrets_error e;

	if (!lacks(refused, &e))
		return false;
	secrets_answer_init(&answer);
	secrets_fail(&answer, &e);
	if (answer.no_memory)
		reply_error(h, in, -32603, "kennel: the answer is too long");
	else
		reply_not_ready(h, in, &answer.structured, buf_str(&answer.text));
	secrets_answer_free(&answer);
	return true;
}

/* Callback of secrets_approvals: a person has provided the value, so that the next call
 * starts the servers that lacked it. */
static void
provided(void *hub, const char *path)
{
	struct hub *h = hub;
	enum meta_approve approve;

	for (size_t i = 0; i < h->server_n; i++)
		if (h->server[i]->ready && h->server[i]->down == NULL &&
		    rows_of(h->server[i], path, &approve) > 0)
			server_again(h->server[i]);
}

/* ---- calls ------------------------------------------------------------------------ */

static const struct {
	enum own_tool_id id;
	secrets_tool *fn;
	secrets_request *ask; /* a person */
} tools[] = {
    {OWN_SECRETS_LIST, secrets_list, NULL},
    {OWN_SECRETS_DESCRIBE, secrets_describe, NULL},
    {OWN_SECRETS_REQUEST_PROVISION, NULL, secrets_request_provision},
    {OWN_SECRETS_REQUEST_ROTATION, NULL, secrets_request_rotation},
    {OWN_SECRETS_PROPOSE_METADATA, NULL, secrets_propose_metadata},
    {OWN_SECRETS_PROPOSE_NEW_PATH, NULL, secrets_propose_new_path},
    {OWN_SECRETS_REQUEST_USE_APPROVAL, NULL, secrets_request_use},
};

/* The person is shown the servers that get the secret, which are in their policies. */
static bool
asks_person(enum own_tool_id id)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (tools[i].id == id)
			return tools[i].ask != NULL;
	return false;
}

static void
run(struct hub *h, const struct incoming *in, enum own_tool_id id, struct json arguments,
    struct secrets_answer *answer)
{
	const struct secrets_context context = {&h->secrets->manifests, meta_today()};
	struct json version = {0};

	if (json_get(in->m.param[PARAM_META], SECRETS_PROTOCOL_KEY, &version) < 0)
		version.type = JSON_IS_NONE;
	if (!secrets_version(version, answer))
		return;
	if (id == OWN_SECRETS_POLL_STATUS)
		secrets_poll(h->secrets->approvals, arguments, answer);
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (tools[i].id != id)
			continue;
		if (tools[i].ask != NULL)
			tools[i].ask(h->secrets->approvals, &context, arguments, answer);
		else
			tools[i].fn(&context, arguments, answer);
	}
}

void
secrets_call(
    struct hub *h, struct incoming *in, enum own_tool_id id, struct json arguments)
{
	struct secrets_answer answer;

	if ((asks_person(id) && !call_ready(h, in, false)) ||
	    (id != OWN_SECRETS_POLL_STATUS && !has_manifests(h, in)))
		return;
	secrets_answer_init(&answer);
	run(h, in, id, arguments, &answer);
	if (answer.no_memory)
		reply_error(h, in, -32603, "kennel: the answer is too long");
	else
		reply_tool(h, in, &answer.structured,
		    answer.text.len > 0 ? buf_str(&answer.text) : NULL, answer.failed);
	if (answer.failed)
		records_refused(h, in, NULL, own_tools[id].name, NULL,
		    secrets_fault_name(answer.fault));
	secrets_answer_free(&answer);
}

const char *
secrets_meta(const struct hub *h)
{
	return facets_offer(&h->facets, &own_tools[OWN_SECRETS_LIST])
		   ? "\"" SECRETS_PROTOCOL_KEY "\":\"" SECRETS_PROTOCOL "\""
		   : NULL;
}

/* ---- begin and end ---------------------------------------------------------------- */

/* Without it, a request fails: its status says so. */
static void
open_queue(struct hub *h)
{
	const char *dir = paths_run_dir();
	int r = dir == NULL ? -ENOENT : fd_make_dirs(dir);

	if (r == 0)
		r = queue_new(
		    &h->loop, REQUEST_TTL_S * (uint64_t)1000, &h->secrets->queue);
	if (r == 0)
		r = approve_open(&h->loop, dir, h->secrets->queue, &h->secrets->socket);
	if (r == 0)
		return;
	log_warn("approvals of secrets are not available: unable to listen in %s: "
		 "%s",
	    dir == NULL ? "the run directory" : dir,
	    dir == NULL ? paths_why() : strerror(-r));
	queue_free(h->secrets->queue);
	h->secrets->queue = NULL;
}

int
secrets_open(struct hub *h)
{
	struct secrets_approvals_order order = {.name = hub_name(h),
	    .report = &h->report,
	    .holders = holders,
	    .ask_epoch = ask_manifests,
	    .provided = provided,
	    .arg = h};
	int r;

	h->secrets = calloc(1, sizeof(*h->secrets));
	if (h->secrets == NULL)
		return -ENOMEM;
	open_queue(h);
	order.queue = h->secrets->queue;
	r = secrets_approvals_new(&order, &h->secrets->approvals);
	if (r < 0)
		return r;
	if (h->secrets->socket != NULL)
		secrets_approvals_reopens(h->secrets->approvals, h->secrets->socket);
	if (h->secrets->queue != NULL && !h->order->single)
		r = file_question_new(&(struct file_question_order){.name = hub_name(h),
					  .queue = h->secrets->queue,
					  .report = &h->report,
					  .connect = need_recorder,
					  .reread = reread,
					  .arg = h},
		    &h->secrets->file);
	h->secrets->manifests.error = -EIO;
	(void)meta_today(); /* reads the time zone, while files may be opened */
	return r;
}

void
secrets_withdraw(struct hub *h)
{
	if (h->secrets->queue != NULL)
		queue_close(h->secrets->queue);
}

void
secrets_close(struct hub *h)
{
	secrets_approvals_free(h->secrets->approvals);
	file_question_free(h->secrets->file);
	approve_free(h->secrets->socket);
	queue_free(h->secrets->queue);
	secrets_manifests_free(&h->secrets->manifests);
	free(h->secrets);
	h->secrets = NULL;
}
