/*
 * A server's process, seen from the hub: a session that is "kennel run" of that server.
 * The hub is its agent: it greets, reads the lists, and then passes requests on.
 *
 *	starting ── greeting ── listing ── serving ⇄ probed
 *
 * From each state its end leads to server_ended(), which decides when the next one may
 * start.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/launch/refused_start.h"
#include "supervisor/mcp/mcp.h"
#include "supervisor/serve/private.h"

#define START_MARGIN_MS 60000 /* the session itself keeps `timeout start` */
#define ORDER_MARGIN_MS 20000 /* the same, until the launcher has forked the session */
#define NO_PING         "it did not answer a call in time, nor a ping"
#define NO_LISTS        "its lists took too long: see `timeout start`"
#define PROCESSES_MAX   200 /* the loop watches more */

const struct list_row list_rows[LIST_N] = {
    [LIST_TOOLS] = {"tools/list", "tools", "tools", "name", PIN_TOOL},
    [LIST_PROMPTS] = {"prompts/list", "prompts", "prompts", "name", PIN_PROMPT},
    [LIST_RESOURCES] = {"resources/list", "resources", "resources", "uri", PIN_RESOURCE},
    [LIST_TEMPLATES] = {"resources/templates/list", "resourceTemplates", "resources",
	"uriTemplate", PIN_TEMPLATE},
};

/* ---- start ------------------------------------------------------------------- */

/* asks: it may wait for a person. */
static uint64_t
start_ms(const struct server *s, uint64_t margin, bool asks)
{
	return policy_limit(&s->policy, s->sealed, TIMEOUT_START) + margin +
	       (asks ? policy_limit(&s->policy, s->sealed, TIMEOUT_ASK) : 0);
}

int
downstream_new(struct server *s, enum down_use use, struct downstream **ret)
{
	struct hub *h = s->hub;
	struct downstream *d;
	int n = 0;

	for (d = h->down; d != NULL; d = d->next)
		n++;
	if (n >= PROCESSES_MAX)
		return -EAGAIN;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return -ENOMEM;
	d->server = s;
	d->use = use;
	d->modern = s->modern;
	d->recalled = s->recalled;
	d->fd = d->slot = -1;
	d->ticket = ++h->tickets;
	buf_init(&d->waiting, MCP_MESSAGE_MAX);
	d->check.at = UINT64_MAX;
	d->deadline = loop_now() + start_ms(s, ORDER_MARGIN_MS, false) * LOOP_MS;
	d->next = h->down;
	h->down = d;
	if (use == USE_SHARED)
		s->down = d;
	launcher_start(h);
	*ret = d;
	return 0;
}

/* ---- kennel's own requests ------------------------------------------------------ */

struct buf *
downstream_ask(struct downstream *d, const char *method)
{
	struct hub *h = d->server->hub;

	d->own = ++d->own_n;
	buf_clear(&h->body);
	(void)buf_printf(&h->body, /* errors surface at the end */
	    "{\"jsonrpc\":\"2.0\",\"id\":\"k%u\",\"method\":\"%s\",\"params\":{", d->own,
	    method);
	return &h->body;
}

void
downstream_meta(struct downstream *d, struct buf *out)
{
	(void)buf_puts(out, "\"_meta\":{"); /* at the end */
	bridge_identity(d->server->hub, out);
	(void)buf_putc(out, '}'); /* likewise */
}

/* After lines that must reach the server; closed by the timer if there is no room. */
static void
flush(struct downstream *d, int r)
{
	if (r == -ENOMEM)
		d->server->hub->error = r;
	else if (r < 0)
		d->deadline = 0;
	(void)frame_flush(&d->out); /* the rest when there is room */
}

void
downstream_asked(struct downstream *d)
{
	struct buf *body = &d->server->hub->body;
	int r = buf_puts(body, "}}\n");

	flush(d, r < 0 ? r : frame_say(&d->out, body->data, body->len));
}

static void
greet(struct downstream *d)
{
	struct hub *h = d->server->hub;
	struct buf *out;

	d->state = DOWN_GREETING;
	if (d->modern) {
		out = downstream_ask(d, "server/discover");
		downstream_meta(d, out);
	} else {
		out = downstream_ask(d, "initialize");
		(void)buf_puts(out, "\"protocolVersion\":\"" LATEST_LEGACY
				    "\",\"capabilities\":"); /* at the end */
		bridge_object(out, &h->client_capabilities);
		(void)buf_puts(out, ",\"clientInfo\":"); /* likewise */
		if (h->client_info.len > 0)
			bridge_object(out, &h->client_info);
		else
			(void)buf_puts(out, "{\"name\":\"kennel\",\"version\":\"1\"}");
	}
	downstream_asked(d);
}

void
downstream_serves(struct downstream *d)
{
	struct server *s = d->server;
	struct hub *h = s->hub;
	bool shared = d->use == USE_SHARED;
	int r = 0;

	if (d->deadline != 0) /* else it is about to be closed */
		d->deadline = UINT64_MAX;
	if (d->state >= DOWN_SERVING) { /* a list has changed; nothing else has */
		parked_wake(h);
		server_store_discovery(s, true);
		return;
	}
	d->state = DOWN_SERVING;
	if (d->use == USE_SHARED) {
		s->listed = true;
		s->discovery = DISCOVERY_CONNECTED;
		s->healthy_at = loop_now();
		s->failed[0] = '\0';
		s->refusal = (struct leash_refused){0};
	} else if (s->pinned && s->discovery != DISCOVERY_CONNECTED) {
		s->discovery = DISCOVERY_CONNECTED; /* its tools were compared */
		server_store_discovery(s, false);
	}
	if (d->use == USE_SHARED && s->per_call) { /* its secret is for its lists alone */
		d->state = DOWN_ENDING;
		d->deadline = 0; /* closed by the timer: it may be in use above us */
		parked_wake(h);
		server_store_discovery(s, true);
		return;
	}
	if (d->waiting.len > 0)
		r = frame_say(&d->out, d->waiting.data, d->waiting.len);
	buf_free(&d->waiting);
	flush(d, r);
	if (d->use == USE_SHARED) {
		downstream_level(d);
		subscriptions_replay(d);
	}
	parked_wake(h);
	if (shared)
		server_store_discovery(s, true);
}

bool
downstream_lives(struct hub *h, uint32_t ticket)
{
	for (const struct downstream *d = h->down; d != NULL; d = d->next)
		if (d->ticket == ticket)
			return true;
	return false;
}

void
downstream_started(struct hub *h, uint32_t ticket, bool asks, int fd)
{
	struct downstream *d = h->down;

	while (d != NULL && d->ticket != ticket)
		d = d->next;
	if (d == NULL || d->state != DOWN_STARTING) {
		fd_close(&fd);
		return;
	}
	d->asks = asks;
	if (fd < 0) {
		downstream_close(d, "it could not be started");
		return;
	}
	d->fd = fd;
	frame_out_init(&d->out, fd);
	if (fd_nonblock(fd, true) < 0 || frame_in_init(&d->in, fd, MCP_MESSAGE_MAX) < 0) {
		downstream_close(d, "out of memory");
		return;
	}
	d->slot = loop_add(&h->loop, fd, POLLIN, downstream_ready, d);
	if (d->slot < 0) {
		downstream_close(d, "too many servers run at once");
		return;
	}
	d->deadline = loop_now() + start_ms(d->server, START_MARGIN_MS, asks) * LOOP_MS;
	greet(d);
	if (h->after.until != 0)
		downstreams_unasked(h); /* it may be closed now */
}

/* ---- answers to them ---------------------------------------------------------- */

static bool
has(struct json object, const char *name)
{
	struct json value;

	return object.type == JSON_IS_OBJECT && json_get(object, name, &value) == 0 &&
	       value.type == JSON_IS_OBJECT;
}

/* Our own session answered in the server's place. */
static bool
is_ours(const struct json_message *m)
{
	struct json data, kennel;

	return json_get(m->top[TOP_ERROR], "data", &data) == 0 &&
	       json_get(data, "kennel", &kennel) == 0;
}

/* An error of our own session is its reason; a server's text is not passed on here. */
void
downstream_refused(struct downstream *d, const struct json_message *m, const char *what)
{
	char text[HUB_TEXT_MAX / 2], why[HUB_TEXT_MAX];
	struct json message, data, kennel;
	bool ours = json_get(m->top[TOP_ERROR], "data", &data) == 0 &&
		    json_get(data, "kennel", &kennel) == 0;

	if (json_get(m->top[TOP_ERROR], "message", &message) < 0 ||
	    text_of(message, text, sizeof(text)) == NULL ||
	    !(ours || is_of_token(d->server, m, text)))
		(void)snprintf(text, sizeof(text), "it answered %s with an error", what);
	(void)snprintf(why, sizeof(why), "%s", text);
	d->unreached = ours && d->state == DOWN_GREETING;
	d->start_refused = d->unreached && json_get(kennel, "outcome", &data) == 0 &&
			   text_of(data, text, sizeof(text)) != NULL &&
			   strcmp(text, "refused") == 0;
	if (d->start_refused)
		refused_start_read(kennel, &d->refusal);
	downstream_close(d, why);
}

/* Another process: the SDKs keep to the era of the first message. The new one takes the
 * place of the old one before anything that waits for the server looks. */
static void
restart_as(struct downstream *d, bool modern)
{
	struct server *s = d->server;
	struct downstream *next;

	s->modern = modern;
	s->recalled = false;
	d->state = DOWN_ENDING; /* not an end of the server */
	if (downstream_new(s, d->use, &next) == 0) {
		bridge_waiting(s->hub, d, next);
		routes_move(d, next);
	}
	downstream_close(
	    d, modern ? "it speaks 2026-07-28 only" : "it no longer speaks 2026-07-28");
}

/* It does not speak the era in which it was greeted. What the registry recalls may be
 * about an earlier program, so any error of the server's own disproves it. */
static bool
is_other_era(const struct downstream *d, const struct json_message *m)
{
	int code = error_code(m);

	if (m->top[TOP_ERROR].type == JSON_IS_NONE)
		return false;
	if (d->modern)
		return d->recalled && !is_ours(m);
	return code == -32022 || code == RPC_NO_METHOD;
}

static void
greeted(struct downstream *d, const struct json_message *m)
{
	static const char initialized[] =
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
	struct json caps = m->result[RESULT_CAPABILITIES];
	struct server *s = d->server;
	char version[16];

	if (is_other_era(d, m)) {
		restart_as(d, !d->modern);
		return;
	}
	if (m->top[TOP_ERROR].type != JSON_IS_NONE) {
		downstream_refused(d, m, d->modern ? "server/discover" : "initialize");
		return;
	}
	s->recalled = false;
	s->protocol = d->modern ? MCP_2026_07_28 : MCP_2024_11_05;
	if (text_of(m->result[RESULT_VERSION], version, sizeof(version)) != NULL)
		s->protocol = mcp_version_find(version, strlen(version));
	for (int i = 0; i < LIST_N; i++)
		if (has(caps, list_rows[i].capability))
			d->offers |= 1u << i;
	d->tasks = has(caps, "tasks");
	d->logs = has(caps, "logging");
	downstream_instructions(d, m->result[RESULT_INSTRUCTIONS]);
	if (!d->modern && frame_say(&d->out, initialized, sizeof(initialized) - 1) < 0)
		s->hub->error = -ENOMEM;
	/* the session compares definitions with their pins when they are listed */
	if (d->use == USE_ONCE)
		d->offers &= s->pinned ? 1u << LIST_TOOLS : 0;
	d->state = DOWN_LISTING;
	d->again.greeted_at = loop_now();
	downstream_list(d);
}

/* Any answer of the server's shows that it lives; the session has a deadline too. */
static void
probed(struct downstream *d, const struct json_message *m)
{
	if (is_ours(m)) {
		downstream_close(d, NO_PING);
		return;
	}
	d->state = DOWN_SERVING;
	d->deadline = UINT64_MAX;
	if (d->relist)
		downstream_relist(d);
}

void
downstream_own(struct downstream *d, const struct json_message *m)
{
	static void (*const of[DOWN_STATE_N])(
	    struct downstream *, const struct json_message *) = {
	    [DOWN_GREETING] = greeted,
	    [DOWN_LISTING] = downstream_page,
	    [DOWN_SERVING] = downstream_page, /* its lists have changed */
	    [DOWN_PROBED] = probed,
	};

	d->own = 0;
	if (of[d->state] != NULL)
		of[d->state](d, m);
}

void
downstream_probe(struct downstream *d)
{
	/* a process of one call ends with it */
	if (d->state != DOWN_SERVING || d->own != 0 || d->use == USE_ONCE)
		return;
	if (d->modern)
		downstream_meta(d, downstream_ask(d, "server/discover"));
	else
		(void)downstream_ask(d, "ping");
	downstream_asked(d);
	d->state = DOWN_PROBED;
	d->deadline = loop_now() + PROBE_MS * LOOP_MS;
}

/* ---- requests of the agent ------------------------------------------------------ */

int
downstream_send(struct downstream *d, const struct buf *line)
{
	int r;

	if (d->state != DOWN_SERVING && d->state != DOWN_PROBED)
		return buf_put(&d->waiting, line->data, line->len);
	r = frame_say(&d->out, line->data, line->len);
	(void)frame_flush(&d->out); /* the rest when there is room */
	return r;
}

/* ---- end -------------------------------------------------------------------------- */

/* It answered, but wrongly, or a person refused its start; or no byte of it came. */
static enum discovery_status
failed_as(const struct downstream *d)
{
	if (d->served > 0 && !d->unreached)
		return DISCOVERY_ERROR;
	if (d->refusal.cause == LEASH_CAUSE_DENIED)
		return DISCOVERY_ERROR;
	return DISCOVERY_UNREACHABLE;
}

static void
not_discovered(struct server *s, enum discovery_status is)
{
	s->discovery = is;
	if (!s->hub->ending)
		server_store_discovery(s, false);
}

void
downstream_close(struct downstream *d, const char *why)
{
	struct server *s = d->server;
	struct hub *h = s->hub;
	struct downstream **at = &h->down;
	bool served = d->state == DOWN_SERVING || d->state == DOWN_PROBED;

	/* perhaps it waits for `initialize` now; nothing was learned if nothing started */
	if (d->state == DOWN_GREETING && d->recalled && s->recalled && !d->start_refused)
		s->modern = s->recalled = false;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	log_debug("%s: %s", s->name, why);
	loop_remove(&h->loop, d->slot);
	if (s->down == d) {
		s->down = NULL;
		if (d->state != DOWN_ENDING && !served)
			not_discovered(s, failed_as(d));
		s->start_refused = d->start_refused;
		if (d->state != DOWN_ENDING)
			server_ended(s, why, &d->refusal, served);
	} else if (d->use == USE_ONCE && d->start_refused)
		server_ended(s, why, &d->refusal, false); /* by policy or a person */
	routes_gone(d, why);
	asking_gone(d);
	frame_in_free(&d->in);
	frame_out_free(&d->out);
	buf_free(&d->waiting);
	free(d->instructions);
	fd_close(&d->fd);
	free(d);
	if (!h->ending)
		parked_wake(h);
}

/* Reaches its session, whatever its state: the queue keeps the order of the lines. */
static void
unasked(struct downstream *d)
{
	static const char line[] = "{\"jsonrpc\":\"2.0\",\"method\":\"" HUB_LAST "\"}\n";

	flush(d, frame_say(&d->out, line, sizeof(line) - 1));
}

void
downstreams_unasked(struct hub *h)
{
	struct downstream *d = h->down;

	while (d != NULL)
		if (d->asks && d->state == DOWN_GREETING) {
			downstream_close(d, AFTER_INPUT_GONE
			    ", and with it the approval that its start may need");
			d = h->down; /* it may have closed others */
		} else
			d = d->next;
	for (d = h->down; d != NULL; d = d->next)
		if (d->fd >= 0)
			unasked(d);
}

void
downstream_free_all(struct hub *h)
{
	h->ending = true;
	while (h->down != NULL)
		downstream_close(h->down, "kennel serve ends");
}

uint64_t
downstreams_next(const struct hub *h)
{
	uint64_t next = UINT64_MAX, at;

	for (const struct downstream *d = h->down; d != NULL; d = d->next) {
		next = d->deadline < next ? d->deadline : next;
		next = d->check.at < next ? d->check.at : next;
		at = downstream_relist_at(d);
		next = at < next ? at : next;
		at = routes_late_at(d);
		next = at < next ? at : next;
	}
	return next;
}

void
downstreams_timer(struct hub *h, uint64_t now)
{
	static const char *const late[DOWN_STATE_N] = {
	    [DOWN_STARTING] = "it did not start in time: the launcher is late",
	    [DOWN_GREETING] = "it did not start in time",
	    [DOWN_LISTING] = NO_LISTS,
	    [DOWN_SERVING] = "the server ended",
	    [DOWN_PROBED] = NO_PING,
	    [DOWN_ENDING] = "",
	};
	struct downstream *d = h->down, *next;
	bool listing;

	for (; d != NULL; d = next) {
		next = d->next;
		if (d->deadline > now) {
			open_check_timer(d, now);
			routes_late(d, now);
			if (downstream_relist_at(d) <= now)
				downstream_relist(d);
			continue;
		}
		if (d->deadline != 0 && d->state != DOWN_STARTING && !hub_room(h)) {
			d->deadline = now + PROBE_MS * LOOP_MS; /* it is not read */
			continue;
		}
		listing = d->state == DOWN_SERVING && d->deadline != 0;
		downstream_close(d, listing ? NO_LISTS : late[d->state]);
	}
}
