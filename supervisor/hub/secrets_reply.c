/*
 * Replies of the secrets tools.
 */
#include "supervisor/hub/secrets_reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"

/* ---- records ------------------------------------------------------------------ */

/* Appends what was printed to this stream, without its newline, and closes it. */
static int
take(struct buf *out, FILE *f, char **text, size_t *len)
{
	int r = ferror(f) != 0 ? -ENOMEM : 0;

	if (fclose(f) != 0)
		r = -ENOMEM;
	if (r == 0 && *len > 0 && (*text)[*len - 1] == '\n')
		--*len;
	if (r == 0)
		r = buf_put(out, *text, *len);
	free(*text);
	return r;
}

int
secrets_reply_list(
    struct buf *out, const struct metas *m, const struct meta_filter *f, uint32_t today)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	if (to == NULL)
		return -ENOMEM;
	metas_json(m, f, today, to);
	return take(out, to, &text, &len);
}

int
secrets_reply_card(struct buf *out, const struct meta *m, uint32_t today)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	struct out o;

	if (to == NULL)
		return -ENOMEM;
	out_init(&o, to);
	meta_json(m, true, today, &o);
	return take(out, to, &text, &len);
}

/* ---- requests -------------------------------------------------------------------- */

const char *
secrets_kind_name(enum secrets_kind kind)
{
	static const char *const names[SECRETS_KIND_N] = {
	    [SECRETS_PROVISION] = "provision",
	    [SECRETS_ROTATION] = "rotation",
	    [SECRETS_METADATA] = "metadata-proposal",
	    [SECRETS_NEW_PATH] = "new-path-proposal",
	    [SECRETS_USE] = "use-approval",
	};

	return names[kind];
}

const char *
secrets_state_name(enum secrets_state state)
{
	static const char *const names[SECRETS_STATE_N] = {
	    [SECRETS_PENDING] = "pending",
	    [SECRETS_OK] = "ok",
	    [SECRETS_CANCELLED] = "cancelled",
	    [SECRETS_EXPIRED] = "expired",
	    [SECRETS_FAILED] = "failed",
	    [SECRETS_ONCE] = "once",
	    [SECRETS_SESSION] = "session",
	    [SECRETS_REFUSED] = "denied",
	};

	return names[state];
}

/* Ids, paths and reasons are kennel's own: no byte of them needs an escape. */
int
secrets_reply_request(struct buf *out, const char *request_id)
{
	return buf_printf(out, "{\"request_id\":\"%s\"}", request_id);
}

int
secrets_reply_status(struct buf *out, const struct secrets_status *s)
{
	(void)buf_printf(out, /* errors surface at the end */
	    "{\"request_id\":\"%s\",\"path\":\"%s\",\"kind\":\"%s\",\"status\":{\"kind\":"
	    "\"%s\"",
	    s->request_id, s->path, secrets_kind_name(s->kind),
	    secrets_state_name(s->state));
	if (s->state == SECRETS_FAILED)
		(void)buf_printf(out, ",\"reason\":\"%s\"", s->reason); /* likewise */
	(void)buf_printf(
	    out, "},\"age_seconds\":%llu", (unsigned long long)s->age_s); /* likewise */
	if (s->retry_after_ms > 0)
		(void)buf_printf(
		    out, ",\"retry_after_ms\":%u", s->retry_after_ms); /* likewise */
	return buf_putc(out, '}');
}

/* ---- errors --------------------------------------------------------------------- */

/* retryable: the same call may succeed, once that has been done. */
static const struct remedy {
	const char *kind, *actor, *action, *message;
	bool retryable;
} remedies[SECRETS_FAULT_N] = {
    [SECRETS_NOT_FOUND] = {"not-found", "agent", "secrets_propose_new_path",
	"This project does not declare that secret.", false},
    [SECRETS_INVALID_PATH] = {"invalid-path", "agent", "fix_arguments",
	"The name of the secret is not valid.", false},
    [SECRETS_MERGE_FAILED] = {"merge-failed", "user", "kennel secret validate",
	"The manifest of secrets has an error. Run `kennel secret validate` and correct "
	"it.",
	true},
    [SECRETS_INVALID_ARGUMENTS] = {"invalid-arguments", "agent", "fix_arguments",
	"The call has invalid arguments.", false},
    [SECRETS_APPROVAL_NOT_REQUIRED] = {"approval-not-required", "agent", "call_the_tool",
	"That secret is used without an approval.", false},
    [SECRETS_DENIED] = {"denied", "user", "ask_in_chat",
	"You refused the use of that secret in this session. To be asked again, run "
	"`kennel approve reopen` with its path.",
	false},
    [SECRETS_TOO_MANY_REQUESTS] = {"too-many-requests", "agent", "wait",
	"The agent has made too many requests.", true},
    [SECRETS_UNKNOWN_REQUEST] = {"unknown-request", "agent", "request_again",
	"That request is over, or was never made.", false},
    [SECRETS_MISSING_SECRET] = {"missing-secret", "agent", "secrets_request_provision",
	"A secret that the server needs is not in the vault.", true},
    [SECRETS_NOT_GRANTED] = {"missing-secret", "user", "kennel secret grant",
	"A secret that the server needs is not granted to it, as its policy is now. "
	"After a "
	"look at the policy, run `kennel secret grant` with --server and its name.",
	true},
    [SECRETS_VAULT_LOCKED] = {"vault-locked", "user", "kennel secret unlock",
	"The vault is locked. Run `kennel secret unlock`.", true},
    [SECRETS_UNSUPPORTED_VERSION] = {"unsupported-version", "agent",
	"use_protocol_" SECRETS_PROTOCOL,
	"The agent speaks another version of the secrets protocol.", false},
    [SECRETS_UNAVAILABLE] = {"unavailable", "user", "kennel doctor",
	"A part of kennel does not answer. Run `kennel doctor`.", true},
};

const char *
secrets_fault_name(enum secrets_fault fault)
{
	return remedies[fault].kind;
}

int
secrets_reply_error(struct buf *out, const struct secrets_error *e)
{
	const struct remedy *r = &remedies[e->fault];

	(void)buf_printf(
	    out, "{\"error\":{\"kind\":\"%s\"", r->kind); /* errors surface at the end */
	if (e->path[0] != '\0')
		(void)buf_printf(
		    out, ",\"path\":\"%s\"", e->path); /* no byte needs an escape */
	(void)buf_printf(out,
	    "},\"remediation\":{\"actor\":\"%s\",\"action\":\"%s\","
	    "\"user_message\":\"%s\",\"retryable\":%s",
	    r->actor, r->action, r->message,
	    r->retryable ? "true" : "false"); /* likewise */
	if (e->retry_after_s > 0)
		(void)buf_printf(
		    out, ",\"retry_after_seconds\":%u", e->retry_after_s); /* likewise */
	return buf_puts(out, "}}");
}
