/*
 * Whether a session still has what the hub has sent to it. A session keeps the deadlines of
 * its calls, so its answer comes, unless the session itself is stopped or has lost the call.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/mcp/mcp.h"
#include "supervisor/serve/private.h"

#define CHECK_AFTER_MS 10000
#define CHECK_AGAIN_MS 30000 /* after it said so: a person may be asked */
#define CHECK_MS       5000  /* for its answer, */
#define CHECK_TRIES    4     /* so often: a late timer counts once */

static uint64_t
due_of(const struct route *route)
{
	const struct server *s = route->down->server;

	return route->began +
	       (policy_limit(&s->policy, s->sealed, TIMEOUT_CALL) + CHECK_AFTER_MS) *
		   LOOP_MS;
}

void
open_check_add(const struct route *route)
{
	struct open_check *c = &route->down->check;

	if (c->at == UINT64_MAX)
		c->at = due_of(route);
}

static struct route *
oldest_at(struct downstream *d)
{
	struct hub *h = d->server->hub;
	struct route *first = NULL;

	for (size_t i = 1; i <= h->calls.used; i++) {
		struct route *r = &h->route[i];

		if (r->down == d && h->calls.call[i].state == CALL_OPEN &&
		    (first == NULL || r->began < first->began))
			first = r;
	}
	return first;
}

static void
ask_session(struct downstream *d, const struct route *route)
{
	struct buf *out = &d->server->hub->body;

	d->check.route = route->id;
	d->check.n++;
	buf_clear(out);
	if (buf_printf(out,
		"{\"jsonrpc\":\"2.0\",\"id\":\"o%u\",\"method\":\"" HUB_OPEN
		"\",\"params\":{\"id\":%llu}}\n",
		d->check.n, (unsigned long long)route->id) < 0 ||
	    downstream_send(d, out) == -ENOMEM)
		d->server->hub->error = -ENOMEM;
}

void
open_check_timer(struct downstream *d, uint64_t now)
{
	struct open_check *c = &d->check;
	const struct route *route;

	if (c->at > now)
		return;
	route = oldest_at(d);
	c->at = route == NULL ? UINT64_MAX : due_of(route);
	if (route == NULL || c->at > now || d->behind || d->served != c->served)
		c->missed = 0;
	c->served = d->served;
	if (route == NULL || c->at > now)
		return;
	c->at = now + CHECK_MS * LOOP_MS;
	/* before it serves, its start has a time; nothing is read for want of room */
	if (d->state < DOWN_SERVING || !hub_room(d->server->hub))
		return;
	if (c->missed++ == CHECK_TRIES)
		downstream_close(d, "its session (kennel run) does not answer");
	else if (c->route == 0)
		ask_session(d, route);
}

void
open_check_answer(struct downstream *d, const struct json_message *m)
{
	struct hub *h = d->server->hub;
	char id[24], text[HUB_TEXT_MAX];
	struct route *route;
	struct json open;

	(void)snprintf(
	    id, sizeof(id), "%llu", (unsigned long long)d->check.route); /* fits */
	d->check.route = 0;
	d->check.at = loop_now() + CHECK_AGAIN_MS * LOOP_MS;
	route =
	    route_find(d, (struct json){(const uint8_t *)id, strlen(id), JSON_IS_NUMBER});
	if (route == NULL || route->bridge != NULL || route->handle[0] != '\0' ||
	    json_get(m->top[TOP_RESULT], "open", &open) < 0 || open.type != JSON_IS_FALSE)
		return; /* answered meanwhile; of the agent's turn; or still open */
	(void)snprintf(text, sizeof(text),
	    "kennel: %s: its session has no such request any more; call again",
	    d->server->name); /* fits */
	route_error(h, route, RPC_TIMEOUT, text);
	route_free(h, route);
}
