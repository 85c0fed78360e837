/*
 * mcp_register: an agent proposes a server. The row starts disabled and grants nothing.
 * The registry is the only file that the hub may open. The change is made when the record
 * that it is asked for is on disk: the line waits for that (parked.c), the hub does not.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "leash/audit/writer.h"
#include "shim/base/log.h"
#include "supervisor/base/paths.h"
#include "supervisor/registry/dump.h"
#include "supervisor/registry/register_tool.h"
#include "supervisor/registry/registry_log.h"
#include "supervisor/registry/row_check.h"
#include "supervisor/serve/private.h"

#define DURABLE_MS 5000

/* Callback of register_read: what a policy or a file defines is not an agent's to change. */
static bool
is_defined(void *arg, const char *name, enum row_source *ret)
{
	const struct server *s = server_find(arg, name, strlen(name));

	if (s == NULL || s->source >= FROM_PERSON) /* the registry knows these */
		return false;
	*ret = s->source;
	return true;
}

static int
note(struct hub *h, const struct register_order *order, enum registry_outcome outcome,
    uint64_t *ret_number)
{
	struct registry_act act = {.action = register_action_name(order->action),
	    .name = order->row.name,
	    .by = FROM_AGENT};
	static struct event e;
	uint8_t sha256[REPORT_DIGEST_LEN];
	int r;

	if (order->action == REGISTER_LIST)
		return 0;
	if (h->report == NULL || report_late(h->report))
		return -EPIPE;
	if (order->action == REGISTER_ADD && outcome != REGISTRY_REFUSED) {
		r = dump_digest(&order->row, sha256);
		if (r < 0)
			return r;
		act.sha256 = sha256;
	}
	registry_event(&e, &act, outcome, NULL);
	return report_send(h->report, &e,
	    outcome == REGISTRY_ASKED ? EVENT_GATE : EVENT_FLOW, ret_number);
}

/* 1: the change is on record and may be made; 0: the line waits for the record. */
static int
recorded(struct hub *h, const struct incoming *in, const struct register_order *order)
{
	uint64_t number = in->record;
	int r = 0;

	if (order->action == REGISTER_LIST)
		return 1;
	if (number == 0)
		r = note(h, order, REGISTRY_ASKED, &number);
	if (r < 0)
		return r;
	if (h->report != NULL && report_durable(h->report, number))
		return 1;
	if (in->record == 0 && park_for_record(h, in, number, DURABLE_MS))
		return 0;
	(void)note(h, order, REGISTRY_FAILED, NULL); /* nothing is changed */
	return -EPIPE;
}

static int
change(struct hub *h, const struct register_order *order, struct buf *reply)
{
	const char *name = order->row.name != NULL ? order->row.name : ""; /* of a list */
	struct row_change done = {.existed = false};
	struct server *s = server_find(h, name, strlen(name));
	struct registry *registry = NULL;
	struct reason moved, why;
	const char *dir = paths_registry_dir();
	int r = dir == NULL ? -ENOENT : registry_open(dir, true, &registry, &moved, &why);

	if (r < 0)
		(void)buf_puts(
		    reply, "mcp_register: unable to open the registry"); /* short */
	else {
		if (moved.text[0] != '\0')
			log_warn("%s", moved.text);
		r = register_do(registry, order, &done, reply);
		registry_close(registry);
	}
	/* one that a person had enabled is another one now, or gone; the agent cannot enable
	 * it, so it cannot repeat this */
	if (r == 0 && s != NULL && done.was_enabled && !done.same)
		(void)server_restart(s); /* the agent gets its answer */
	return r;
}

/* ---- a name that is registered, and not enabled ---------------------------------------- */

#define NAME_MAX_LEN 64 /* of a row */
#define MCP_SPELLING "mcp_"
#define LOOKS        10
#define LOOK_MS      10

/* Is a row of this name an agent's, and disabled? False also if that cannot be read. */
static bool
is_proposed(struct registry *g, const char *name)
{
	struct server_rows rows = {NULL, 0};
	bool is = registry_find(g, name, &rows) == 0 && rows.n > 0 &&
		  rows.row[0].source == FROM_AGENT && !rows.row[0].enabled;

	server_rows_free(&rows);
	return is;
}

/* The longest row's name that this spelling of a tool begins with. */
static bool
find_proposed(struct registry *g, const char *spelled, char name[NAME_MAX_LEN + 1])
{
	size_t n = strnlen(spelled, NAME_MAX_LEN + 1);

	for (; n > 0; n--) {
		char next = 'x';

		if (n <= NAME_MAX_LEN)
			next = spelled[n];
		if (next != '\0' && next != '.' && next != '_')
			continue;
		memcpy(name, spelled, n);
		name[n] = '\0';
		if (row_name_is_valid(name) && is_proposed(g, name))
			return true;
	}
	return false;
}

/* The same of any of its spellings; false also if another process uses the registry for long. */
static bool
proposed(const char *spelled, char name[NAME_MAX_LEN + 1])
{
	const char *dir = paths_registry_dir();
	size_t n = strlen(MCP_SPELLING);
	char path[PATH_MAX];
	struct stat st;
	struct reason moved = {""}, why = {""};
	struct registry *g = NULL;
	int r = -EBUSY;
	bool is;

	if (dir == NULL)
		return false;
	(void)snprintf(path, sizeof(path), "%.3900s/registry.db", dir);
	/* it is not created for a question; syscalls: newfstatat lstat */
	if (lstat(path, &st) < 0)
		return false;
	for (int i = 0; r == -EBUSY && i < LOOKS; i++) {
		if (i > 0)
			(void)poll(NULL, 0, LOOK_MS); /* another process changes it */
		r = registry_open_now(dir, &g, &moved, &why);
	}
	if (r < 0)
		return false;
	if (moved.text[0] != '\0')
		log_warn("%s", moved.text);
	is = find_proposed(g, spelled, name);
	if (!is && strncmp(spelled, MCP_SPELLING, n) == 0)
		is = find_proposed(g, spelled + n, name);
	registry_close(g);
	return is;
}

/* A person's pattern offers this tool, or a tool of this server. */
static bool
is_exposed(const struct hub *h, const struct server *s, const char *spelled)
{
	size_t n = strlen(s->name), at = 0;
	const char *tool = spelled;

	if (strcmp(spelled, s->name) == 0)
		return settings_tool(&h->settings, s->name, &at) != NULL;
	if (strncmp(spelled, s->name, n) == 0 && spelled[n] == '.')
		tool += n + 1;
	else if (strncmp(spelled, s->name, n) == 0 && strncmp(spelled + n, "__", 2) == 0)
		tool += n + 2;
	return settings_exposes(&h->settings, s->name, tool, strlen(tool));
}

bool
registered_only(struct hub *h, const char *spelled, char text[HUB_TEXT_MAX])
{
	struct server *s = server_find(h, spelled, strlen(spelled));
	char name[NAME_MAX_LEN + 1];

	if (s == NULL)
		s = offers_server_of(h, spelled, strlen(spelled));
	if (h->order->single)
		return false;
	if (s != NULL && s->source != FROM_AGENT) {
		if (s->enabled || !is_exposed(h, s, spelled))
			return false;
		(void)snprintf(name, sizeof(name), "%s", s->name); /* fits */
	} else if (!proposed(spelled, name)) {
		return false;
	}
	(void)snprintf(text, HUB_TEXT_MAX,
	    "%s is registered, not enabled: a person runs kennel server enable %s", name,
	    name); /* fits */
	return true;
}

/* ---- the tool -------------------------------------------------------------------------- */

void
mcp_register(struct hub *h, struct incoming *in, struct json arguments)
{
	struct register_order order = {.action = REGISTER_ADD};
	struct buf reply;
	int r;

	if (!call_ready(h, in, false))
		return;
	buf_init(&reply, MCP_MESSAGE_MAX);
	r = register_read(arguments, is_defined, h, &order, &reply);
	if (r < 0)
		(void)note(h, &order, REGISTRY_REFUSED, NULL); /* nothing is changed */
	else if ((r = recorded(h, in, &order)) < 0)
		(void)buf_puts(&reply, /* short */
		    "mcp_register: unable to record it in the audit log; nothing was "
		    "changed");
	else if (r == 0)
		goto out;
	else {
		r = change(h, &order, &reply);
		/* the change is recorded as asked */
		(void)note(h, &order, r < 0 ? REGISTRY_FAILED : REGISTRY_DONE, NULL);
	}
	if (r < 0)
		reply_refusal(h, in, buf_str(&reply), "refused", NULL);
	else
		reply_tool(h, in, &reply, NULL, false);
out:
	register_order_free(&order);
	buf_free(&reply);
}
