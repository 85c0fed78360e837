/*
 * The control socket of the hub, for its user: serve-PID in the run directory. It tells
 * the hub's state, reports that it has changed, and closes a server's process so that it
 * starts again. It answers no approval, and carries no value.
 *
 * Runs in the confined hub: the socket is opened before, and the launcher removes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/registry/row_check.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

#define NEWS_MS 250 /* between two packets to who watches */

/* ---- pages ---------------------------------------------------------------------- */

static void
hub_state(const struct hub *h, struct hub_status *ret)
{
	static const enum hub_era eras[] = {
	    [ERA_OPEN] = HUB_NEW, [ERA_LEGACY] = HUB_LEGACY, [ERA_MODERN] = HUB_MODERN};
	struct json info = {h->client_info.data, h->client_info.len, JSON_IS_OBJECT};
	struct json name;

	*ret = (struct hub_status){.since_ns = h->since_ns,
	    .era = eras[h->era],
	    .calls = (uint32_t)h->calls.open,
	    .refused = h->refused,
	    .servers = (uint32_t)h->server_n};
	for (size_t i = 0; i < h->server_n; i++)
		ret->calls_made += h->server[i]->made;
	if (info.len == 0 || json_get(info, "name", &name) < 0 ||
	    text_of(name, ret->client, sizeof(ret->client)) == NULL)
		ret->client[0] = '\0'; /* none, or a longer one */
}

/* The page that begins with this server. Returns the number of rows. */
static uint32_t
put_page(const struct hub *h, uint32_t first, struct wire_out *out)
{
	struct hub_status status;
	struct hub_row row;
	uint32_t at = first;

	hub_state(h, &status);
	hub_page_begin(out, &status, first);
	for (; at < status.servers; at++) {
		server_report_state(h->server[at], &row);
		if (!hub_page_row(out, &row))
			break;
	}
	hub_page_end(out);
	return at - first;
}

static void
send_page(struct hub *h, struct person_client *c, uint32_t first)
{
	static uint8_t memory[HUB_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	(void)put_page(h, first, &out);
	person_send(c, &out);
}

/* ---- changes -------------------------------------------------------------------- */

/* FNV-1a over all pages. A change that it misses is seen with the next one. */
static uint64_t
fingerprint(const struct hub *h)
{
	static uint8_t memory[HUB_PACKET_MAX];
	uint64_t sum = 0xcbf29ce484222325u;
	struct wire_out out;
	uint32_t at = 0;

	do {
		wire_out_init(&out, memory, sizeof(memory));
		at += put_page(h, at, &out);
		for (size_t i = 0; i < out.len; i++)
			sum = (sum ^ memory[i]) * 0x100000001b3u;
	} while (at < h->server_n);
	return sum;
}

static bool
is_watched(const struct hub *h)
{
	struct person_client *c = NULL;

	while ((c = person_next(h->control, c)) != NULL)
		if (c->watching)
			return true;
	return false;
}

static void
on_news(struct loop *loop, void *arg)
{
	struct person_client *c = NULL;
	struct hub *h = arg;
	uint64_t sum = fingerprint(h);

	h->news_timer = -1;
	if (sum == h->news_sum)
		return;
	h->news_sum = sum;
	h->news_at = loop_now() + NEWS_MS * LOOP_MS;
	while ((c = person_next(h->control, c)) != NULL)
		if (c->watching)
			send_page(h, c, 0);
}

void
hub_control_changed(struct hub *h)
{
	if (h->control == NULL || h->news_timer >= 0 || !is_watched(h))
		return;
	h->news_timer = loop_timer_at(&h->loop, h->news_at, on_news, h);
}

/* ---- names that no server has ----------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	return strcmp(
	    (*(struct server *const *)a)->name, (*(struct server *const *)b)->name);
}

/* A row of this name may have been added: asks the launcher. Until the answer requests wait. */
static void
seek(struct hub *h, const char *name)
{
	struct server *s = row_name_is_valid(name) ? server_named(h, name) : NULL;

	if (s == NULL)
		return;
	if (h->has_names)
		qsort(h->server, h->server_n, sizeof(void *), by_name);
	s->sought = true;
	s->enabled = false;
	s->finding++;
	h->finding++;
	launcher_ask(h, LAUNCHER_AGAIN, name);
}

void
server_sought(struct server *s, bool exists)
{
	struct hub *h = s->hub;
	size_t i = 0;

	if (exists || s->finding > 1) {
		s->sought &= !exists;
		s->finding -= !exists;
		h->finding -= !exists;
		return;
	}
	/* it was never enabled, so no request, process or list has it */
	while (h->server[i] != s)
		i++;
	h->finding -= s->finding;
	h->server_n--;
	memmove(&h->server[i], &h->server[i + 1], (h->server_n - i) * sizeof(void *));
	free(s->wrong);
	free(s->name);
	free(s->about);
	free(s);
	parked_wake(h);
}

/* ---- requests ------------------------------------------------------------------- */

static int
on_status(struct hub *h, struct person_client *c, struct wire_in *in)
{
	uint32_t first = wire_get_u32(in);

	if (wire_end(in) < 0 || first > h->server_n)
		return -EBADMSG;
	send_page(h, c, first);
	return 0;
}

static int
on_watch(struct hub *h, struct person_client *c, struct wire_in *in)
{
	if (wire_end(in) < 0)
		return -EBADMSG;
	if (!is_watched(h))
		h->news_sum = fingerprint(h);
	c->watching = true;
	send_page(h, c, 0);
	return 0;
}

static int
restarted(struct hub *h, struct person_client *c, enum restart_outcome outcome)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, HUB_RESTARTED);
	wire_put_u32(&out, HUB_VERSION);
	wire_put_u32(&out, outcome);
	person_send(c, &out);
	hub_arm(h);
	return 0;
}

static int
on_restart(struct hub *h, struct person_client *c, struct wire_in *in)
{
	const char *name = wire_get_str(in, LAUNCHER_NAME_MAX);
	enum restart_outcome outcome = RESTART_UNKNOWN;
	struct server *s;

	if (wire_end(in) < 0)
		return -EBADMSG;
	s = server_find(h, name, strlen(name));
	if (s != NULL && !s->sought)
		outcome = server_restart(s) ? RESTART_OK : RESTART_NOT_RUNNING;
	else
		seek(h, name);
	return restarted(h, c, outcome);
}

static int
on_trusted(struct hub *h, struct person_client *c, struct wire_in *in)
{
	const char *sha256 = wire_get_str(in, FILE_DIGEST_LEN);

	if (wire_end(in) < 0)
		return -EBADMSG;
	return restarted(
	    h, c, secrets_trusted(h, sha256) ? RESTART_NOT_RUNNING : RESTART_UNKNOWN);
}

static int
on_packet(void *arg, struct person_client *c, struct wire_in *in)
{
	static const struct {
		enum hub_message type;
		int (*fn)(struct hub *, struct person_client *, struct wire_in *);
	} on[] = {
	    {HUB_STATUS, on_status},
	    {HUB_WATCH, on_watch},
	    {HUB_RESTART, on_restart},
	    {HUB_TRUSTED, on_trusted},
	};
	uint32_t type = wire_get_u32(in), version = wire_get_u32(in);

	for (size_t i = 0; i < ARRAY_LEN(on) && version == HUB_VERSION; i++)
		if (on[i].type == type)
			return on[i].fn(arg, c, in);
	return -EBADMSG;
}

/* ---- begin and end -------------------------------------------------------------- */

void
hub_control_open(struct hub *h)
{
	const char *dir = paths_run_dir();
	struct timespec now;
	int r = dir == NULL ? -ENOENT : fd_make_dirs(dir);

	h->news_timer = -1;
	if (clock_gettime(CLOCK_REALTIME, &now) == 0)
		h->since_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	if (r == 0)
		r = person_socket_open(&(struct person_socket_order){.loop = &h->loop,
					   .run_dir = dir,
					   .prefix = HUB_SOCKET,
					   .send_bytes = 4 * HUB_PACKET_MAX,
					   .fn = on_packet,
					   .arg = h},
		    &h->control);
	if (r < 0)
		log_warn("`kennel ps` will not list this process: unable to listen in "
			 "%s: %s",
		    dir == NULL ? "the run directory" : dir,
		    dir == NULL ? paths_why() : strerror(-r));
}

void
hub_control_close(struct hub *h)
{
	person_socket_free(h->control);
	h->control = NULL;
}
