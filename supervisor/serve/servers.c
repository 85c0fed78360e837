/*
 * The servers: their policies, when a process of theirs may start, and what is wrong
 * with those that cannot. A server runs under the policy of its name and no other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/hub/hub.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

#define ORDERED_MAX 8 /* starts that the launcher has not answered */

struct server *
server_find(struct hub *h, const char *name, size_t len)
{
	for (size_t i = 0; i < h->server_n; i++)
		if (strlen(h->server[i]->name) == len &&
		    memcmp(h->server[i]->name, name, len) == 0)
			return h->server[i];
	return NULL;
}

bool
server_lacks_grant(const struct server *s)
{
	return s->reason == REASON_ARGV_NOT_GRANTED || s->reason == REASON_NO_POLICY;
}

/* ---- policies ---------------------------------------------------------------- */

/* Sends an order, or keeps it until the launcher reads: 0, -EAGAIN too many are kept,
 * -EPIPE. */
static int
launcher_send(struct hub *h, const struct wire_out *out)
{
	uint32_t len = (uint32_t)out->len; /* of a name */
	int r = h->orders.len > 0 ? -EAGAIN : wire_send(h->launcher, out, NULL, 0);

	if (r != -EAGAIN)
		return r;
	if (buf_reserve(&h->orders, sizeof(len) + len) < 0)
		return -EAGAIN;
	(void)buf_put(&h->orders, &len, sizeof(len)); /* there is room */
	(void)buf_put(&h->orders, out->data, len);    /* likewise */
	return 0;
}

/* False: the launcher is gone. */
static bool
send_orders(struct hub *h)
{
	uint32_t len;
	int r = 0;

	while (r == 0 && h->orders.len > 0) {
		struct wire_out out = {.data = h->orders.data + sizeof(len)};

		memcpy(&len, h->orders.data, sizeof(len));
		out.len = out.cap = len;
		r = wire_send(h->launcher, &out, NULL, 0);
		if (r == 0)
			buf_drop(&h->orders, sizeof(len) + len);
	}
	return r == 0 || r == -EAGAIN;
}

void
launcher_ask(struct hub *h, enum launcher_message type, const char *name)
{
	uint8_t memory[LAUNCHER_NAME_MAX + 32];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	if (name != NULL)
		wire_put_str(&out, name);
	if (launcher_send(h, &out) < 0)
		hub_end(h, "lost the launcher");
}

/* The one that has waited longest; NULL: none waits. One whose use of a secret a person has
 * just allowed waits for the vault's epoch, without which its session would ask again. */
static struct downstream *
next_start(const struct hub *h)
{
	struct downstream *first = NULL;

	for (struct downstream *d = h->down; d != NULL; d = d->next)
		if (d->state == DOWN_STARTING && !d->ordered &&
		    (first == NULL || d->ticket < first->ticket) &&
		    secrets_grants_known(d->server))
			first = d;
	return first;
}

/* What is closed before its turn is never ordered. */
void
launcher_start(struct hub *h)
{
	uint8_t memory[LAUNCHER_PACKET_MAX];
	struct downstream *d;
	struct wire_out out;

	while (h->ordered < ORDERED_MAX && (d = next_start(h)) != NULL) {
		wire_out_init(&out, memory, sizeof(memory));
		wire_put_u32(&out, LAUNCHER_START);
		wire_put_u32(&out, d->ticket);
		wire_put_u32(&out, d->use == USE_ONCE || d->server->per_call);
		wire_put_str(&out, d->server->name);
		secrets_put_grants(d->server, &out);
		if (launcher_send(h, &out) < 0)
			hub_end(h, "lost the launcher");
		d->ordered = true;
		h->ordered++;
	}
}

static void
ask_once(struct hub *h, enum launcher_message type, bool *asked)
{
	if (!*asked)
		launcher_ask(h, type, NULL);
	*asked = true;
}

void
servers_need_recorder(struct hub *h)
{
	ask_once(h, LAUNCHER_RECORDER, &h->asked_recorder);
}

bool
servers_named(struct hub *h)
{
	ask_once(h, LAUNCHER_NAMES, &h->asked_names);
	return h->has_names;
}

bool
servers_known(struct hub *h)
{
	servers_need_recorder(h); /* it takes less time */
	ask_once(h, LAUNCHER_FIND, &h->asked_policies);
	return h->has_policies && h->finding == 0;
}

static void
forget(struct server *s)
{
	offers_forget(s->hub, s);
	pins_free(s->pins);
	call_limits_free(s->limits);
	s->pins = NULL;
	s->limits = NULL;
	if (s->ready)
		policy_unload(&s->policy);
	s->ready = s->pinned = s->varies = s->listed = s->per_call = s->once = false;
	s->unstored = UNSTORED_NOTHING; /* its lists are gone */
	s->lists_whole = false;
	s->sealed = NULL;
	free(s->wrong);
	s->wrong = NULL;
	s->reason = REASON_NONE;
}

struct server *
server_named(struct hub *h, const char *name)
{
	struct server *s = server_find(h, name, strlen(name));

	if (s != NULL || h->server_n == HUB_SERVERS_MAX)
		return s;
	s = calloc(1, sizeof(*s));
	if (s == NULL || (s->name = strdup(name)) == NULL) {
		free(s);
		h->error = -ENOMEM;
		return NULL;
	}
	s->hub = h;
	s->enabled = true;
	h->server[h->server_n++] = s;
	return s;
}

static void
load(struct server *s, const char *policy_name, int fd)
{
	char why[256] = "the policy cannot be read";
	int r = 0;

	s->reason = REASON_POLICY_ERROR; /* unless it is loaded */
	if (policy_load(fd, &s->policy, why, sizeof(why)) < 0) {
		s->wrong = strdup(why); /* NULL: shown as unknown */
		return;
	}
	s->ready = true;
	s->sealed = policy_server(&s->policy, policy_name);
	if (s->sealed == NULL || pins_new(&s->policy, s->sealed, &s->pins) < 0 ||
	    call_limits_new(&s->policy, s->sealed, &s->limits) < 0) {
		forget(s);
		s->reason = REASON_POLICY_ERROR;
		s->wrong = strdup("the policy does not define it, or has too many pins");
		return;
	}
	s->reason = REASON_NONE;
	s->pinned = s->sealed->pins.n > 0;
	s->varies = variants_any(&s->policy, s->sealed);
	s->once = policy_oneshot(&s->policy, s->sealed) != ONESHOT_NO;
	if (s->pinned && (r = offers_pins(s)) == -E2BIG)
		log_warn(
		    "%s: too many tools and resources; the rest is not offered", s->name);
	else if (s->pinned && r < 0)
		s->hub->error = r;
}

/* No process of it is left that has the policy that is about to go. */
static bool
close_all(struct server *s)
{
	struct downstream *d = s->hub->down;
	bool any = false;

	while (d != NULL) {
		if (d->server != s) {
			d = d->next;
			continue;
		}
		any |= d->use == USE_SHARED;
		d->state = DOWN_ENDING; /* not an end of the server */
		downstream_close(d, "restarted by kennel server restart");
		d = s->hub->down; /* the list may be another one */
	}
	return any;
}

static void
lists_changed(struct hub *h)
{
	for (int kind = 0; kind < LIST_TEMPLATES; kind++)
		if ((h->told & 1u << kind) != 0)
			list_changed(h, (enum list_kind)kind);
	parked_wake(h);
}

static void
found_again(struct server *s)
{
	s->finding--;
	s->hub->finding--;
	lists_changed(s->hub);
}

static void
on_server(struct hub *h, struct wire_in *in, int fd)
{
	const char *name = wire_get_str(in, LAUNCHER_NAME_MAX);
	const char *policy_name = wire_get_str(in, LAUNCHER_NAME_MAX);
	uint32_t source = wire_get_u32(in);
	const char *protocol = wire_get_str(in, LAUNCHER_VERSION_MAX);
	bool enabled = wire_get_u32(in) == 1, per_call = wire_get_u32(in) == 1;
	uint32_t status = wire_get_u32(in), reason = wire_get_u32(in);
	const char *why = wire_get_str(in, LAUNCHER_PACKET_MAX);
	struct server *s;

	if (wire_end(in) < 0 || reason >= REASON_N || source >= FROM_N)
		die("an invalid answer of the launcher");
	s = server_named(h, name);
	if (s == NULL)
		return;
	if (s->sought && reason == REASON_NO_POLICY && source == FROM_POLICY) {
		server_sought(s, false);
		return;
	}
	server_sought(s, true);
	(void)close_all(s); /* one that started while its policy was found */
	forget(s);
	s->enabled = enabled;
	s->modern = s->recalled =
	    mcp_version_find(protocol, strlen(protocol)) == MCP_2026_07_28;
	s->source = (enum row_source)source;
	if (status == 0 && fd >= 0) {
		load(s, policy_name, fd);
		s->per_call = per_call;
		s->once |= per_call;
	} else {
		s->wrong = strdup(why);
		s->reason = (enum server_reason)reason;
		/* of the files that were named each must hold; one that was found may not */
		if (h->order->launcher.file_n > 0 && s->reason == REASON_POLICY_ERROR)
			hub_broken(h, EXIT_INPUT, why);
	}
	if (s->finding > 0)
		found_again(s);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(
	    (*(struct server *const *)a)->name, (*(struct server *const *)b)->name);
}

static void
on_found(struct hub *h)
{
	qsort(h->server, h->server_n, sizeof(void *), by_name);
	h->has_policies = h->has_names = true;
	if (h->server_n == 0)
		log_warn(
		    "no servers: create a policy with `kennel init NAME -- COMMAND`");
	lists_check_budget(h);
	if (h->broken == NULL)
		servers_ahead(h);
	parked_wake(h);
}

static void
on_name(struct hub *h, struct wire_in *in)
{
	const char *name = wire_get_str(in, LAUNCHER_NAME_MAX);
	const char *about = wire_get_str(in, LAUNCHER_PACKET_MAX);
	bool enabled = wire_get_u32(in) == 1;
	struct server *s;

	if (in->error != 0)
		die("an invalid answer of the launcher");
	s = server_named(h, name);
	if (s == NULL)
		return;
	s->enabled = enabled;
	if (s->about == NULL)
		s->about = strdup(about); /* NULL: not shown */
}

/* The servers of mcp-servers.json are others. */
static void
on_configured(struct hub *h)
{
	qsort(h->server, h->server_n, sizeof(void *), by_name);
	lists_changed(h);
}

static void
on_named(struct hub *h)
{
	qsort(h->server, h->server_n, sizeof(void *), by_name);
	h->has_names = true;
	parked_wake(h);
}

void
launcher_ready(struct loop *loop, int socket, short revents, void *arg)
{
	static uint8_t packet[LAUNCHER_PACKET_MAX];
	struct hub *h = arg;
	struct wire_in in;
	size_t len, fds_n = 0;
	uint32_t type;
	int fd = -1, r;

	r = send_orders(h)
		? wire_recv(socket, packet, sizeof(packet), &len, &fd, 1, &fds_n)
		: -EPIPE;
	if (r == -EAGAIN) {
		hub_arm(h);
		return;
	}
	if (r < 0) {
		log_error("lost the launcher; no server can be started any more");
		loop_remove(&h->loop, h->slot_launcher);
		h->slot_launcher = -1;
		fd_close(&h->launcher);
		hub_end(h, "lost the launcher");
		return;
	}
	wire_in_init(&in, packet, len);
	type = wire_get_u32(&in);
	if (type == LAUNCHER_NAME)
		while (in.off < in.len)
			on_name(h, &in);
	else if (type == LAUNCHER_NAMED)
		on_named(h);
	else if (type == LAUNCHER_SERVER)
		on_server(h, &in, fd);
	else if (type == LAUNCHER_FOUND)
		on_found(h);
	else if (type == LAUNCHER_STARTED) {
		uint32_t ticket = wire_get_u32(&in);

		h->ordered -= h->ordered > 0;
		downstream_started(h, ticket, wire_get_u32(&in) == 1, fd);
		launcher_start(h);
		fd = -1;
	} else if (type == LAUNCHER_CONNECTED) {
		records_open(h, fd);
		secrets_recorded(h);
		fd = -1;
	} else if (type == LAUNCHER_CONFIGURED && secrets_configured(h, &in))
		on_configured(h);
	else if ((type != LAUNCHER_TEXTS || !secrets_texts(h, &in, fd)) &&
		 (type != LAUNCHER_SKIPPED || !secrets_skipped(h, &in, fd)))
		die("an invalid answer of the launcher");
	fd_close(&fd);
	hub_arm(h);
}

void
servers_free(struct hub *h)
{
	for (size_t i = 0; i < h->server_n; i++) {
		forget(h->server[i]);
		free(h->server[i]->name);
		free(h->server[i]->about);
		free(h->server[i]);
	}
	h->server_n = 0;
}

/* ---- processes ----------------------------------------------------------------- */

/* It may be started, ever. */
static bool
is_startable(const struct server *s, char why[HUB_TEXT_MAX])
{
	if (!s->enabled) {
		(void)snprintf(why, HUB_TEXT_MAX,
		    "%s is disabled: a person enables it with kennel server enable %s",
		    s->name, s->name); /* fits */
		return false;
	}
	if (!s->ready) {
		(void)snprintf(why, HUB_TEXT_MAX, "%s: %s", s->name,
		    s->wrong != NULL ? s->wrong : "no policy"); /* may be cut */
		return false;
	}
	return true;
}

/* Nor does anything keep it from being started now. */
static bool
may_start_now(const struct server *s, char why[HUB_TEXT_MAX])
{
	uint64_t left;

	if (s->finding > 0) {
		(void)snprintf(why, HUB_TEXT_MAX, "%s is restarting: try again in 1 s",
		    s->name); /* fits */
		return false;
	}
	left = backoff_left_s(&s->backoff, loop_now());
	if (left > 0 && s->start_refused) /* waiting does not help */
		(void)snprintf(why, HUB_TEXT_MAX, "%s cannot start: %s", s->name,
		    s->failed); /* may be cut */
	else if (left > 0)
		(void)snprintf(why, HUB_TEXT_MAX,
		    "%s is restarting: try again in %llu s (%s)", s->name,
		    (unsigned long long)left, s->failed); /* may be cut */
	return left == 0;
}

static struct downstream *
start_process(struct server *s, enum down_use use, char why[HUB_TEXT_MAX])
{
	struct downstream *d = NULL;
	struct leash_refused refused; /* why says it */

	if (!may_start_now(s, why))
		return NULL;
	if (!server_may_ask(s, why, &refused)) {
		if (refused.cause == LEASH_CAUSE_DENIED)
			s->refusal = refused;
		return NULL;
	}
	if (s->refusal.cause == LEASH_CAUSE_DENIED) /* a person has reopened it */
		s->refusal = (struct leash_refused){0};
	if (downstream_new(s, use, &d) < 0)
		(void)snprintf(why, HUB_TEXT_MAX, "%s: unable to start it", s->name);
	return d;
}

struct downstream *
server_need(struct server *s, char why[HUB_TEXT_MAX])
{
	if (!is_startable(s, why))
		return NULL;
	if (s->down != NULL)
		return s->down;
	if (s->per_call && (s->pinned || s->listed)) {
		(void)snprintf(why, HUB_TEXT_MAX,
		    "%s has a process for each call, and none between them", s->name);
		return NULL;
	}
	return start_process(s, USE_SHARED, why);
}

struct downstream *
server_once(struct server *s, char why[HUB_TEXT_MAX])
{
	return is_startable(s, why) ? start_process(s, USE_ONCE, why) : NULL;
}

void
server_ended(
    struct server *s, const char *why, const struct leash_refused *refused, bool served)
{
	uint64_t now = loop_now();

	(void)snprintf(
	    s->failed, sizeof(s->failed), "%.*s", (int)strcspn(why, "\n"), why);
	s->refusal = *refused;
	if (refused->cause == LEASH_CAUSE_DENIED && refused->path[0] != '\0') {
		/* no crash: its next start waits for the person, not for a time */
		secrets_start_denied(s, refused);
		s->backoff = (struct backoff){0};
		return;
	}
	s->restarts++;
	/* what a person has to do is no reason to wait longer each time */
	if (secrets_lacking(s))
		s->backoff = (struct backoff){0};
	backoff_ended(&s->backoff, now, served ? now - s->healthy_at : 0);
}

void
servers_ahead(struct hub *h)
{
	char why[HUB_TEXT_MAX];
	int left = h->order->ahead >= 0 ? h->order->ahead : (int)h->settings.ahead;

	for (size_t i = 0; i < h->server_n && left > 0; i++)
		if (h->server[i]->ready && h->server[i]->enabled)
			left -= server_need(h->server[i], why) != NULL;
}

void
server_again(struct server *s)
{
	s->backoff = (struct backoff){0};
	s->failed[0] = '\0';
	s->refusal = (struct leash_refused){0};
	s->start_refused = false;
}

bool
server_restart(struct server *s)
{
	struct hub *h = s->hub;
	bool ran;

	s->finding++;
	h->finding++;
	ran = close_all(s);
	s->restarts += ran;
	server_again(s);
	s->modern = false;
	s->discovery = DISCOVERY_PENDING;
	launcher_ask(h, LAUNCHER_AGAIN, s->name);
	return ran;
}

/* ---- lists of servers without pins --------------------------------------------- */

/* Its tools are not known yet, and will be. */
bool
server_may_list(const struct server *s)
{
	/* one that ended is started again by a call of it */
	return s->ready && s->enabled && !s->pinned && !s->listed &&
	       (s->down != NULL || s->failed[0] == '\0');
}

bool
servers_listed(struct hub *h)
{
	char why[HUB_TEXT_MAX];
	int under_way = 0;

	h->awake = true;

	for (size_t i = 0; i < h->server_n; i++)
		under_way += !h->server[i]->pinned && h->server[i]->down != NULL &&
			     h->server[i]->down->state < DOWN_SERVING;
	for (size_t i = 0; i < h->server_n && under_way < STARTS_AT_ONCE; i++) {
		struct server *s = h->server[i];

		/* a search asks no person for a secret: tool_describe or a call does */
		if (!s->per_call && server_may_list(s) && s->down == NULL &&
		    server_need(s, why) != NULL)
			under_way++;
	}
	return under_way == 0;
}
