/*
 * What the hub says of a server to its user: one row of its control socket; and what the
 * registry keeps of its last discovery. The agent gets neither.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/base/paths.h"
#include "supervisor/serve/private.h"

#define STORE_PAUSE_MS 100  /* before the first, and between two */
#define STORE_LATE_MS  5000 /* then calls under way hold it up no longer */
#define STORE_AGAIN_MS \
	5000 /* between two of one server, which may change its lists often */
#define STORE_BUSY_MS 1000 /* after another process has used the registry */
#define STORE_LAST_MS 20   /* the same, at the end */

enum server_live
server_live(const struct server *s)
{
	if (s->down == NULL && (s->wrong != NULL || s->failed[0] != '\0'))
		return LIVE_ERROR;
	if (s->down == NULL)
		return LIVE_DISCONNECTED;
	return s->down->state < DOWN_SERVING ? LIVE_CONNECTING : LIVE_CONNECTED;
}

/* Tools that the agent may use, and how many differ from their pins. */
static uint32_t
count_tools(const struct server *s, uint32_t *ret_drifted)
{
	const struct items *items = &s->hub->items;
	uint32_t n = 0;

	*ret_drifted = 0;
	for (size_t i = 0; i < items->n; i++) {
		const struct item *item = items->item[i];

		if (item->server != s)
			continue;
		n += item->kind == PIN_TOOL && item_offered(item);
		*ret_drifted += item->drifted;
	}
	return n;
}

/* Why the server does not answer, or not with all that it has. */
static void
put_reason(const struct server *s, uint32_t drifted, struct hub_row *row)
{
	uint64_t now = loop_now();

	if (!s->enabled)
		row->reason = REASON_DISABLED;
	else if (s->wrong != NULL) {
		row->reason = s->reason;
		(void)snprintf(row->detail, sizeof(row->detail), "%.512s", s->wrong);
	} else if (s->down == NULL && s->backoff.crash_loop &&
		   now < s->backoff.retry_at) {
		row->reason = REASON_CRASH_LOOP;
		(void)snprintf(row->detail, sizeof(row->detail),
		    "it ended %d times within five minutes; a call starts it again after "
		    "five minutes, `kennel server restart` allows it now",
		    BACKOFF_ENDS);
	} else if (s->down == NULL && s->start_refused) {
		row->reason = REASON_START_REFUSED;
		(void)snprintf(row->detail, sizeof(row->detail), "%.512s", s->failed);
	} else if (s->down == NULL && now < s->backoff.retry_at) {
		row->reason = REASON_BACKOFF;
		(void)snprintf(row->detail, sizeof(row->detail),
		    "it ended; a call starts it again in a moment");
	} else if (drifted > 0) {
		row->reason = REASON_QUARANTINED;
		(void)snprintf(row->detail, sizeof(row->detail),
		    "%u definitions differ from the reviewed ones; compare them with "
		    "`kennel server pin %s --diff`",
		    drifted, s->name);
	}
}

static enum discovery_status
discovery_of(const struct server *s, uint32_t drifted)
{
	return s->wrong != NULL || drifted > 0 ? DISCOVERY_ERROR : s->discovery;
}

void
server_report_state(const struct server *s, struct hub_row *ret)
{
	uint32_t drifted, tools = count_tools(s, &drifted);

	*ret = (struct hub_row){.live = server_live(s),
	    .discovery = discovery_of(s, drifted),
	    .pinned = s->pinned,
	    .has_policy = s->ready,
	    .tools = tools,
	    .restarts = s->restarts,
	    .calls = s->open,
	    .calls_made = s->made,
	    .refused = s->refused,
	    .p50_us = latency_percentile(&s->latency, 50),
	    .p99_us = latency_percentile(&s->latency, 99)};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", s->name); /* fits */
	(void)snprintf(ret->failed, sizeof(ret->failed), "%.512s", s->failed);
	if (s->protocol != 0)
		(void)snprintf(ret->protocol, sizeof(ret->protocol), "%s",
		    mcp_version_name(s->protocol)); /* fits */
	if (s->ready)
		memcpy(ret->policy, s->policy.id, sizeof(ret->policy));
	put_reason(s, drifted, ret);
}

/* ---- the registry ---------------------------------------------------------------- */

/* The lists of a server as rows; their texts are in `text`. */
struct seen {
	struct tool_row *tool;
	struct resource_row *resource;
	struct prompt_row *prompt;
	struct discovered n; /* how many of each */
	char **text;
	size_t text_n;
	int r;
};

/* Takes a text that was allocated, or NULL: none. */
static const char *
kept(struct seen *v, char *text)
{
	if (text != NULL)
		v->text[v->text_n++] = text;
	return text;
}

static const char *
digest_text(struct seen *v, const uint8_t digest[32])
{
	char *text = malloc(65);

	v->r = text == NULL ? -ENOMEM : v->r;
	return text == NULL ? NULL : kept(v, hex_put(text, digest, 32));
}

/* A member of a definition: as JSON, or the text of a string. */
static const char *
member(struct seen *v, struct json def, const char *name, bool as_text)
{
	struct json value;
	char *text;

	if (json_get(def, name, &value) < 0)
		return NULL;
	text = malloc(value.len + 1);
	if (text == NULL) {
		v->r = -ENOMEM;
		return NULL;
	}
	memcpy(text, value.at, value.len);
	text[value.len] = '\0';
	if (as_text && text_of(value, text, value.len + 1) == NULL) {
		free(text);
		return NULL;
	}
	return kept(v, text);
}

#define SEEN_TEXTS 5 /* of one item */

static void
see_item(struct seen *v, const struct item *i)
{
	/* a session does not pass on what differs from its pin: no digest is known */
	const char *sha256 = i->drifted && i->pinned ? "" : digest_text(v, i->sha256);
	const char *pinned = i->pinned ? digest_text(v, i->sha256) : NULL;
	const char *about = member(v, i->def, "description", true);

	if (i->kind == PIN_TOOL)
		v->tool[v->n.tool_n++] = (struct tool_row){.name = i->name,
		    .description = about,
		    .parameters = member(v, i->def, "inputSchema", false),
		    .annotations = member(v, i->def, "annotations", false),
		    .sha256 = sha256,
		    .pinned_sha256 = pinned};
	else if (i->kind == PIN_RESOURCE)
		v->resource[v->n.resource_n++] = (struct resource_row){.uri = i->name,
		    .name = member(v, i->def, "name", true),
		    .description = about,
		    .sha256 = sha256,
		    .pinned_sha256 = pinned};
	else
		v->prompt[v->n.prompt_n++] = (struct prompt_row){.name = i->name,
		    .description = about,
		    .arguments = member(v, i->def, "arguments", false),
		    .sha256 = sha256,
		    .pinned_sha256 = pinned};
}

static int
see_all(const struct server *s, struct seen *v)
{
	const struct items *all = &s->hub->items;
	size_t n = s->items_n + 1;

	v->tool = calloc(n, sizeof(*v->tool));
	v->resource = calloc(n, sizeof(*v->resource));
	v->prompt = calloc(n, sizeof(*v->prompt));
	v->text = calloc(n, SEEN_TEXTS * sizeof(*v->text));
	if (v->tool == NULL || v->resource == NULL || v->prompt == NULL ||
	    v->text == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < all->n; i++) {
		const struct item *it = all->item[i];

		if (it->server == s && (it->listed || it->drifted) &&
		    it->kind != PIN_TEMPLATE && strlen(it->name) == it->name_len)
			see_item(v, it);
	}
	v->n.tool = v->tool;
	v->n.resource = v->resource;
	v->n.prompt = v->prompt;
	return v->r;
}

static int
store(const struct server *s, const struct seen *v)
{
	const char *dir = paths_registry_dir();
	struct registry *registry = NULL;
	struct reason moved = {""}, why = {""};
	uint32_t drifted;
	int r = dir == NULL ? -ENOENT : registry_open_now(dir, &registry, &moved, &why);

	if (moved.text[0] != '\0')
		log_warn("%s", moved.text);
	(void)count_tools(s, &drifted);
	if (r == 0)
		r = registry_discovery(registry, s->name, s->source,
		    discovery_status_name(discovery_of(s, drifted)),
		    s->protocol != 0 ? mcp_version_name(s->protocol) : NULL,
		    v != NULL ? &v->n : NULL);
	registry_close(registry);
	return r;
}

/* False: another process uses the registry; what is to be stored stays so. */
static bool
store_one(struct server *s)
{
	struct seen v = {.r = 0};
	/* lists that are being read again are not whole; they are stored after that */
	bool lists = s->unstored == UNSTORED_LISTS && s->lists_whole;
	int r = lists ? see_all(s, &v) : 0;

	if (r == 0)
		r = store(s, lists ? &v : NULL);
	if (r != -EBUSY) {
		s->unstored = UNSTORED_NOTHING;
		s->store_at = loop_now() + STORE_AGAIN_MS * LOOP_MS;
	}
	for (size_t i = 0; i < v.text_n; i++)
		free(v.text[i]);
	free(v.text);
	free(v.tool);
	free(v.resource);
	free(v.prompt);
	/* -ENOENT: a row that was removed meanwhile */
	if (r < 0 && r != -ENOENT && r != -EBUSY)
		log_warn("%s: unable to store in the registry what it lists: %s; "
			 "`kennel server show` has the earlier lists",
		    s->name, strerror(-r));
	return r != -EBUSY;
}

void
server_store_discovery(struct server *s, bool lists)
{
	struct hub *h = s->hub;
	uint64_t now = loop_now();

	if (s->unstored != UNSTORED_LISTS)
		s->unstored = lists ? UNSTORED_LISTS : UNSTORED_STATUS;
	if (h->store_at == 0 || now >= h->store_by)
		h->store_by = now + STORE_LATE_MS * LOOP_MS;
	now += STORE_PAUSE_MS * LOOP_MS;
	if (h->store_at == 0 || now < h->store_at)
		h->store_at = now;
}

/* The one whose time comes first; NULL: none. */
static struct server *
next_unstored(const struct hub *h)
{
	struct server *next = NULL;

	for (size_t i = 0; i < h->server_n; i++)
		if (h->server[i]->unstored != UNSTORED_NOTHING &&
		    (next == NULL || h->server[i]->store_at < next->store_at))
			next = h->server[i];
	return next;
}

/* One at a time: writing to the disk takes as long as thousands of calls. */
void
discoveries_timer(struct hub *h, uint64_t now)
{
	bool busy = h->calls.open > 0 && now < h->store_by;
	struct server *next = next_unstored(h);
	uint64_t pause = STORE_PAUSE_MS;

	if (h->store_at == 0 || now < h->store_at)
		return;
	if (!busy && next != NULL && next->store_at <= now) {
		pause = store_one(next) ? STORE_PAUSE_MS : STORE_BUSY_MS;
		next = next_unstored(h);
	}
	h->store_at = next == NULL ? 0 : now + pause * LOOP_MS;
	if (next != NULL && next->store_at > h->store_at)
		h->store_at = next->store_at;
}

void
discoveries_store(struct hub *h, uint64_t until)
{
	struct server *s;

	while (loop_now() < until && (s = next_unstored(h)) != NULL)
		if (!store_one(s))
			(void)poll(
			    NULL, 0, STORE_LAST_MS); /* the registry may be free then */
}
