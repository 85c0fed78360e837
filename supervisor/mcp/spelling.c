/*
 * Ids and progress tokens of a peer that writes them otherwise than the peer that chose
 * them: 1.0 or "1" for 1. Each peer gets its own bytes back, because many compare texts.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/mcp/line/id.h"
#include "supervisor/mcp/private.h"

/* Replaces this value by the bytes of the peer that chose it. */
static int
spell(struct session *s, struct json value, const uint8_t *as, size_t len)
{
	if (id_spelled(value, as, len))
		return 0;
	if (buf_put(&s->insert, as, len) < 0)
		return -ENOMEM;
	return filter_replace(s, value, len);
}

int
spell_id(struct session *s, struct json id, const struct call *call)
{
	return spell(s, id, call->id, call->id_len);
}

void
token_keep(struct call *call, struct json meta)
{
	struct json token;

	call->token_len = 0;
	call->progress = 0;
	if (json_get(meta, "progressToken", &token) < 0 || token.len == 0 ||
	    token.len > sizeof(call->token) ||
	    (token.type != JSON_IS_STRING && token.type != JSON_IS_NUMBER))
		return;
	memcpy(call->token, token.at, token.len);
	call->token_len = (uint8_t)token.len;
}

/* This token's key, or else that of the number that it reads as, is the call's. */
static bool
is_token(const struct call *call, const struct id_key *k)
{
	struct id_key own;

	if (call->token_len == 0)
		return false;
	id_key(&own, call->token, call->token_len);
	return id_key_same(&own, k);
}

static struct call *
token_find(struct calls *calls, const struct id_key *k)
{
	struct call *call = NULL;

	while ((call = calls_next(calls, call, CALL_OPEN)) != NULL)
		if (is_token(call, k))
			return call;
	return NULL;
}

struct call *
token_call(struct session *s, struct calls *calls, struct json params)
{
	struct call *call;
	struct json token;
	struct id_key k;

	if (json_get(params, "progressToken", &token) < 0 || token.len == 0 ||
	    token.len > MCP_ID_MAX ||
	    (token.type != JSON_IS_STRING && token.type != JSON_IS_NUMBER))
		return NULL;
	id_key(&k, token.at, token.len);
	call = token_find(calls, &k);
	if (call == NULL && calls == &s->asked && id_of_text(token, &k))
		call = token_find(calls, &k);
	if (call != NULL && spell(s, token, call->token, call->token_len) < 0)
		s->error = -ENOMEM;
	return call;
}
