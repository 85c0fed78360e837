/*
 * Requests under way in one direction, by id: two spellings of one value are one id (line/id.h).
 * Nothing is allocated after calls_init; unused rows cost nothing.
 */
#include "shim/base/hash.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/id.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 2048 /* a power of two */

int
calls_init(struct calls *c)
{
	size_t rows = (MCP_CALLS_MAX + 1) * sizeof(*c->call);

	memset(c, 0, sizeof(*c));
	/* One block, so large that it is mapped: of both, only what is used costs memory. */
	c->call = calloc(1, rows + BUCKETS * sizeof(*c->bucket));
	if (c->call == NULL)
		return -ENOMEM;
	c->bucket = (uint16_t *)(c->call + MCP_CALLS_MAX + 1);
	return 0;
}

void
calls_free(struct calls *c)
{
	free(c->call);
	c->call = NULL;
	c->bucket = NULL;
}

static uint16_t *
bucket(struct calls *c, const struct id_key *k)
{
	uint64_t h = hash64(HASH64_START + k->string, k->at, k->len);

	return &c->bucket[(h ^ h >> 32) & (BUCKETS - 1)];
}

static struct call *
find(struct calls *c, const struct id_key *k)
{
	struct id_key own;

	for (uint16_t i = *bucket(c, k); i != 0; i = c->call[i].next) {
		struct call *call = &c->call[i];

		if (call->state == CALL_DONE)
			continue;
		id_key(&own, call->id, call->id_len);
		if (id_key_same(&own, k))
			return call;
	}
	return NULL;
}

struct call *
calls_find(struct calls *c, struct json id)
{
	struct id_key k;

	if (id.len == 0 || id.len > MCP_ID_MAX)
		return NULL;
	id_key(&k, id.at, id.len);
	return find(c, &k);
}

struct call *
calls_answered(struct calls *c, struct json id)
{
	struct call *call = calls_find(c, id);
	struct id_key k;

	if (call == NULL && id_of_text(id, &k))
		call = find(c, &k);
	return call;
}

/* The request decides how its answer is filtered, so the answer must not match
 * another one. */
static bool
is_list(const struct call *call)
{
	return call->known != NULL && (call->known->flags & METHOD_LIST) != 0;
}

/* Frees the row of a call that no peer waits for any more. */
static void
reclaim(struct calls *c)
{
	for (uint32_t n = 0; n < MCP_CALLS_MAX; n++) {
		struct call *call = &c->call[c->hand % MCP_CALLS_MAX + 1];

		c->hand = (uint16_t)((c->hand + 1) % MCP_CALLS_MAX);
		if ((call->state == CALL_GONE || call->state == CALL_CANCELLED) &&
		    !is_list(call)) {
			calls_remove(c, call);
			return;
		}
	}
}

int
calls_add(struct calls *c, struct json id, struct call **ret)
{
	struct call *call;
	struct id_key k;
	uint16_t *b, i;

	if (id.len == 0 || id.len > MCP_ID_MAX)
		return -EINVAL;
	if (calls_find(c, id) != NULL)
		return -EEXIST;
	if (c->free == 0 && c->used == MCP_CALLS_MAX)
		reclaim(c);
	i = c->free;
	if (i != 0)
		c->free = c->call[i].next;
	else if (c->used < MCP_CALLS_MAX)
		i = ++c->used;
	else
		return -ENOBUFS;
	call = &c->call[i];
	call->state = CALL_OPEN;
	call->deadlined = call->own = false;
	call->agreed = CALL_NOT_ASKED;
	call->id_len = (uint16_t)id.len;
	call->name.len = 0;
	call->audits = 0;
	call->known = NULL;
	call->method[0] = '\0';
	memcpy(call->id, id.at, id.len);
	id_key(&k, call->id, call->id_len);
	b = bucket(c, &k);
	call->next = *b;
	*b = i;
	c->open++;
	*ret = call;
	return 0;
}

void
calls_own(struct calls *c, struct call *call)
{
	calls_state(c, call, CALL_OWN);
	call->own = true;
}

static void
unlink_deadline(struct calls *c, struct call *call)
{
	if (!call->deadlined)
		return;
	if (call->sooner != 0)
		c->call[call->sooner].later = call->later;
	else
		c->first = call->later;
	if (call->later != 0)
		c->call[call->later].sooner = call->sooner;
	else
		c->last = call->sooner;
	call->deadlined = false;
}

void
calls_state(struct calls *c, struct call *call, enum call_state state)
{
	c->open += (state == CALL_OPEN) - (call->state == CALL_OPEN);
	if (state != CALL_OPEN)
		unlink_deadline(c, call);
	call->state = state;
}

void
calls_remove(struct calls *c, struct call *call)
{
	uint16_t i = (uint16_t)(call - c->call), *at;
	struct id_key k;

	calls_state(c, call, CALL_FREE);
	id_key(&k, call->id, call->id_len);
	for (at = bucket(c, &k); *at != i; at = &c->call[*at].next)
		;
	*at = call->next;
	call->next = c->free;
	c->free = i;
}

/* Fast path: most deadlines have the same length, so a new one is the last. */
void
calls_deadline(struct calls *c, struct call *call, uint64_t at_ns)
{
	uint16_t i = (uint16_t)(call - c->call), before;

	unlink_deadline(c, call);
	for (before = c->last; before != 0; before = c->call[before].sooner)
		if (c->call[before].deadline_ns <= at_ns)
			break;
	call->deadline_ns = at_ns;
	call->deadlined = true;
	call->sooner = before;
	call->later = before != 0 ? c->call[before].later : c->first;
	if (before != 0)
		c->call[before].later = i;
	else
		c->first = i;
	if (call->later != 0)
		c->call[call->later].sooner = i;
	else
		c->last = i;
}

struct call *
calls_soonest(struct calls *c)
{
	return c->first == 0 ? NULL : &c->call[c->first];
}

struct call *
calls_next(struct calls *c, struct call *at, enum call_state state)
{
	uint16_t i = at == NULL ? 1 : (uint16_t)(at - c->call + 1);

	for (; i <= c->used; i++)
		if (c->call[i].state == state)
			return &c->call[i];
	return NULL;
}
