/*
 * kennel serve's hub between an agent and the sessions of three servers, all of which say
 * anything at all: a server that has taken over its session may. The fuzzer takes the
 * place of the launcher and of the sessions.
 *
 * Input: one byte of options, then text. A byte below 8 changes who speaks:
 *
 *	1	the agent
 *	2 to 5	the first to fourth process that was started
 *	6	nobody; all deadlines pass
 *	7	whoever speaks closes its end
 *	14	stands for the id of the last request that the speaker got
 *	15	stands for the last requestState that it got
 *
 * What the agent gets must be lines of JSON, and answers only to ids that it used. No
 * call that the policy does not grant may reach a server.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "policy/compile/compile.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/serve/approvals/refused_calls.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"
#include "supervisor/serve/tools/search.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/granted_call.h"

#define PEERS_MAX  8
#define ROUNDS_MAX 64 /* until all is quiet */
#define LATER_NS   (1000 * NS_PER_S)

enum option { OPT_EXPOSE = 1, OPT_AHEAD = 2 };

static const char policy_text[] = "server one {\n"
				  "    run /bin/true\n"
				  "    tool allow read_*\n"
				  "    tool deny read_key\n"
				  "    resource allow *\n    prompt allow *\n"
				  "    sampling allow\n    elicitation allow\n"
				  "    roots allow\n"
				  "}\n"
				  "server three {\n"
				  "    run /bin/true\n"
				  "    tool ask read_* rate 2/1h\n"
				  "    oneshot\n"
				  "}\n"
				  "server two {\n"
				  "    run /bin/true\n"
				  "    tool allow read_*\n"
				  "    tool deny read_key\n"
				  "    resource allow *\n    prompt allow *\n"
				  "}\n";
static const char *const names[] = {"one", "three", "two"};

/* A process of a server, or the agent. */
struct peer {
	int fd; /* our end; -1: closed */
	bool agent;
	struct buf got;     /* a line that is not whole yet */
	char id[256];       /* of its last request, as written */
	char state[256];    /* the last requestState, as written */
	struct buf written; /* by us */
};

static struct rig {
	struct hub hub;
	int launcher; /* our end */
	int policy;   /* sealed */
	struct peer agent, peer[PEERS_MAX];
	size_t peer_n;
} rig;

/* ---- what hub.c and hub_control.c do in the product ------------------------------------ */

void
hub_end(struct hub *h, const char *why)
{
	h->ending = true;
	h->why = why;
}

void
hub_arm(struct hub *h)
{
	bool room;

	(void)frame_flush(&h->to_agent);
	room = frame_queued(&h->to_agent) < FRAME_SOON;
	if (h->error != 0)
		hub_end(h, "out of memory");
	if (h->to_agent.closed)
		hub_end(h, "the agent closed its end");
	loop_events(&h->loop, h->slot_in, h->agent_eof || !room ? 0 : POLLIN);
	for (struct downstream *d = h->down; d != NULL; d = d->next)
		if (d->slot >= 0)
			loop_events(&h->loop, d->slot,
			    (short)((room ? POLLIN : 0) |
				    (frame_queued(&d->out) > 0 ? POLLOUT : 0)));
}

void
hub_control_changed(struct hub *h)
{
	struct hub_row row;

	for (size_t i = 0; i < h->server_n; i++)
		server_report_state(h->server[i], &row);
}

/* ---- hub_control.c: no client waits ------------------------------------------------------ */

void
server_sought(struct server *s, bool exists)
{
	(void)s, (void)exists;
}

/* ---- secrets_tools.c: its tools are denied, as `facet deny secrets` does ---------------- */

void
secrets_call(
    struct hub *h, struct incoming *in, enum own_tool_id id, struct json arguments)
{
	reply_error(h, in, RPC_REFUSED, "denied");
}

void
secrets_withdraw(struct hub *h)
{
	(void)h;
}

bool
secrets_texts(struct hub *h, struct wire_in *in, int fd)
{
	return false;
}

bool
secrets_skipped(struct hub *h, struct wire_in *in, int fd)
{
	return false;
}

bool
secrets_configured(struct hub *h, struct wire_in *in)
{
	return true;
}

bool
secrets_have_texts(const struct hub *h, uint64_t until)
{
	return true;
}

const struct sealed_secret *
secrets_closed(const struct server *s)
{
	(void)s;
	return NULL;
}

bool
secrets_grants_known(const struct server *s)
{
	(void)s;
	return true;
}

struct queue *
secrets_queue(const struct hub *h)
{
	(void)h;
	return NULL;
}

void
secrets_start_denied(struct server *s, const struct leash_refused *refused)
{
	(void)s, (void)refused;
}

/* ---- approvals/refused_calls.c: there is no queue ----------------------------------------- */

bool
refused_call_is(const struct queue *queue, const struct gate_ask *ask)
{
	(void)queue, (void)ask;
	return false;
}

struct refused_call *
refused_call_new(const struct gate_ask *ask)
{
	(void)ask;
	return NULL;
}

void
refused_call_answer(
    struct queue *queue, const struct refused_call *call, const struct json_message *m)
{
	(void)queue, (void)call, (void)m;
}

/* ---- secrets_tools.c, again ----------------------------------------------------------------- */

bool
secrets_lacking(const struct server *s)
{
	(void)s;
	return false;
}

bool
secrets_refused(
    struct hub *h, const struct incoming *in, const struct leash_refused *refused)
{
	(void)h;
	(void)in;
	(void)refused;
	return false;
}

void
secrets_recorded(struct hub *h)
{
}

void
secrets_put_grants(struct server *s, struct wire_out *out)
{
	wire_put_u32(out, 0);
}

const char *
secrets_meta(const struct hub *h)
{
	return NULL;
}

/* ---- the launcher ---------------------------------------------------------------------- */

static int
pair_of(int type, int *ret_ours)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		abort();
	*ret_ours = pair[1];
	return pair[0];
}

static void
say(const struct wire_out *out, int fd)
{
	if (wire_send(rig.launcher, out, &fd, fd >= 0) < 0)
		abort();
}

static void
say_server(const char *name)
{
	uint8_t memory[LAUNCHER_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_SERVER);
	wire_put_str(&out, name);
	wire_put_str(&out, name);
	wire_put_u32(&out, FROM_POLICY);
	wire_put_str(&out, ""); /* its protocol is not known */
	wire_put_u32(&out, 1);  /* enabled */
	wire_put_u32(&out, 0);  /* no secret is approved per call */
	wire_put_u32(&out, 0);
	wire_put_u32(&out, REASON_NONE);
	wire_put_str(&out, "");
	say(&out, rig.policy);
}

static void
say_name(const char *name)
{
	uint8_t memory[LAUNCHER_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_NAME);
	wire_put_str(&out, name);
	wire_put_str(&out, "about");
	wire_put_u32(&out, 1);
	say(&out, -1);
}

static void
say_end(enum launcher_message type)
{
	uint8_t memory[8];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	say(&out, -1);
}

static void
say_started(uint32_t ticket)
{
	uint8_t memory[16];
	struct wire_out out;
	int fd = -1;

	if (rig.peer_n < PEERS_MAX) {
		struct peer *p = &rig.peer[rig.peer_n++];

		*p = (struct peer){.fd = -1};
		buf_init(&p->got, FRAME_MAX);
		buf_init(&p->written, FRAME_MAX);
		fd = pair_of(SOCK_STREAM, &p->fd);
	}
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LAUNCHER_STARTED);
	wire_put_u32(&out, ticket);
	wire_put_u32(&out, ticket % 2);
	say(&out, fd);
	fd_close(&fd);
}

/* True: it had a request. */
static bool
launcher_turn(void)
{
	static uint8_t packet[LAUNCHER_PACKET_MAX];
	struct wire_in in;
	size_t len, fds_n = 0;
	uint32_t type;

	if (wire_recv(rig.launcher, packet, sizeof(packet), &len, NULL, 0, &fds_n) != 0)
		return false;
	wire_in_init(&in, packet, len);
	type = wire_get_u32(&in);
	if (type == LAUNCHER_START)
		say_started(wire_get_u32(&in));
	else if (type == LAUNCHER_AGAIN)
		say_server(wire_get_str(&in, LAUNCHER_NAME_MAX));
	else if (type == LAUNCHER_NAMES || type == LAUNCHER_FIND) {
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			(type == LAUNCHER_FIND ? say_server : say_name)(names[i]);
		say_end(type == LAUNCHER_FIND ? LAUNCHER_FOUND : LAUNCHER_NAMED);
	}
	return true;
}

/* ---- what comes out ---------------------------------------------------------------------- */

/* The agent wrote these bytes before, so the id is not of another side. */
static void
is_its_own(const struct peer *p, struct json id)
{
	if (id.type != JSON_IS_NULL &&
	    memmem(p->written.data, p->written.len, id.at, id.len) == NULL)
		abort();
}

static void
keep(char to[256], struct json value)
{
	if (value.len > 255)
		return;
	memcpy(to, value.at, value.len);
	to[value.len] = '\0';
}

static void
check_line(struct peer *p, const uint8_t *line, size_t len)
{
	struct json_message m;
	struct json id, state;

	/* nor may a line hold another for those who end it at CR */
	if (memchr(line, '\r', len) != NULL || json_scan(line, len, &m) < 0)
		abort();
	if (m.root.type != JSON_IS_OBJECT)
		return; /* a batch of answers */
	id = m.top[TOP_ID];
	if (json_get(m.top[TOP_RESULT], "requestState", &state) == 0)
		keep(p->state, state);
	if (!p->agent)
		call_is_granted(&m);
	if (m.top[TOP_METHOD].type == JSON_IS_NONE) {
		if (p->agent)
			is_its_own(p, id);
	} else if (id.type != JSON_IS_NONE)
		keep(p->id, id);
}

/* True: it got something. */
static bool
read_peer(struct peer *p)
{
	static uint8_t bytes[64u << 10];
	const uint8_t *at, *newline;
	ssize_t n = p->fd < 0 ? -1 : read(p->fd, bytes, sizeof(bytes));

	if (n <= 0)
		return false;
	if (buf_put(&p->got, bytes, (size_t)n) < 0)
		abort();
	at = p->got.data;
	while ((newline = memchr(at, '\n', p->got.len - (size_t)(at - p->got.data))) !=
	       NULL) {
		check_line(p, at, (size_t)(newline - at));
		at = newline + 1;
	}
	p->got.len -= (size_t)(at - p->got.data);
	memmove(p->got.data, at, p->got.len);
	return true;
}

static void
run(void)
{
	struct loop *loop = &rig.hub.loop;
	bool any = true;

	for (int i = 0; any && i < ROUNDS_MAX && !rig.hub.ending; i++) {
		hub_catch_up(&rig.hub);
		hub_arm(&rig.hub);
		any = poll(loop->poll, (nfds_t)loop->watch_n, 0) > 0;
		if (any && loop_once(loop, 0) < 0)
			abort();
		any |= launcher_turn();
		any |= read_peer(&rig.agent);
		for (size_t k = 0; k < rig.peer_n; k++)
			any |= read_peer(&rig.peer[k]);
	}
}

/* ---- what goes in ------------------------------------------------------------------------ */

static void
speak(struct peer *p, const uint8_t *text, size_t len)
{
	static uint8_t out[8u << 10];
	size_t n = 0;

	if (p->fd < 0)
		return;
	for (size_t i = 0; i < len && n + sizeof(p->id) < sizeof(out); i++) {
		const char *for_it = text[i] == 14 ? p->id : p->state;

		if (text[i] != 14 && text[i] != 15) {
			out[n++] = text[i];
			continue;
		}
		memcpy(out + n, for_it, strlen(for_it));
		n += strlen(for_it);
	}
	if (buf_put(&p->written, out, n) < 0)
		abort();
	/* what does not fit is lost, as with a peer that ends */
	if (send(p->fd, out, n, MSG_NOSIGNAL) < 0 && errno != EAGAIN && errno != EPIPE)
		abort();
}

static void
later(void)
{
	uint64_t now = loop_now() + LATER_NS;

	routes_timer(&rig.hub, now);
	downstreams_timer(&rig.hub, now);
	discoveries_timer(&rig.hub, now);
	parked_wake(&rig.hub);
	hub_catch_up(&rig.hub);
	for (size_t i = 0; i < rig.hub.server_n; i++)
		rig.hub.server[i]->backoff.retry_at = 0; /* the pause is over, too */
}

static void
play(const uint8_t *p, const uint8_t *end)
{
	struct peer *who = &rig.agent;

	while (p < end && !rig.hub.ending) {
		size_t n = 0;

		while (p + n < end && (p[n] == 0 || p[n] > 7) && p[n] != '\n')
			n++;
		n += p + n < end && p[n] == '\n'; /* a whole line */
		if (who != NULL && n > 0)
			speak(who, p, n);
		run();
		p += n;
		if (n > 0 || p == end)
			continue;
		if (*p == 1)
			who = &rig.agent;
		else if (*p < 6)
			who = *p - 2u < rig.peer_n ? &rig.peer[*p - 2] : NULL;
		else if (*p == 6)
			later();
		else if (who != NULL)
			fd_close(&who->fd);
		p++;
		run();
	}
}

/* ---- the hub ------------------------------------------------------------------------------ */

static int
seal_policy(void)
{
	const struct policy_source source = {
	    "t.kennel", policy_text, sizeof(policy_text) - 1, &policy_files};
	struct buf bytes;
	int fd = memfd_create("policy", MFD_CLOEXEC), sealed = -1;

	buf_init(&bytes, SEALED_LEN_MAX);
	if (fd < 0 || policy_compile(&source, 1, NULL, &bytes, stderr) != 0 ||
	    pwrite(fd, bytes.data, bytes.len, 0) != (ssize_t)bytes.len ||
	    policy_seal_fd(fd, &sealed) < 0)
		abort();
	buf_free(&bytes);
	(void)close(fd);
	return sealed;
}

static void
open_hub(uint8_t options)
{
	static const struct serve_order order = {.ahead = -1};
	static int policy = -1;
	struct hub *h = &rig.hub;
	struct reason why;
	int fd;

	if (policy < 0) {
		log_open("fuzz", LOG_ERROR);
		/* no registry is read or written */
		if (setenv("KENNEL_HOME", "/proc/none", 1) < 0)
			abort();
		policy = seal_policy();
	}
	memset(&rig, 0, sizeof(rig));
	rig.policy = policy;
	h->order = &order;
	h->launcher = pair_of(SOCK_SEQPACKET, &rig.launcher);
	loop_init(&h->loop);
	h->timer = h->slot_out = h->slot_report = -1;
	h->parked_last = &h->parked;
	buf_init(&h->text, FRAME_MAX);
	buf_init(&h->body, FRAME_MAX);
	buf_init(&h->client_capabilities, MCP_MESSAGE_MAX);
	buf_init(&h->client_info, MCP_MESSAGE_MAX);
	h->route = calloc(HUB_CALLS_MAX + 1, sizeof(*h->route));
	rig.agent = (struct peer){.agent = true};
	buf_init(&rig.agent.got, FRAME_MAX);
	buf_init(&rig.agent.written, FRAME_MAX);
	fd = pair_of(SOCK_STREAM, &rig.agent.fd);
	if (h->route == NULL || calls_init(&h->calls) < 0 ||
	    frame_in_init(&h->from_agent, fd, MCP_MESSAGE_MAX) < 0 ||
	    settings_read("s", "", 0, stderr, &h->settings) != 0 ||
	    facets_from(&(struct facet_lists){.option = NULL}, &h->facets, &why) < 0)
		abort();
	frame_out_init(&h->to_agent, fd);
	(void)snprintf(h->cursor_tag, sizeof(h->cursor_tag), "tag."); /* fits */
	h->slot_in = loop_add(&h->loop, fd, POLLIN, agent_ready, h);
	h->slot_launcher = loop_add(&h->loop, h->launcher, POLLIN, launcher_ready, h);
	if ((options & OPT_EXPOSE) != 0 &&
	    (settings_expose(&h->settings, "one.read_*", &why) < 0 ||
		settings_expose(&h->settings, "two.read_*", &why) < 0))
		abort();
	if ((options & OPT_AHEAD) != 0) {
		h->settings.ahead = 3;
		(void)servers_known(h);
	}
}

static void
close_peer(struct peer *p)
{
	fd_close(&p->fd);
	buf_free(&p->got);
	buf_free(&p->written);
}

static void
close_hub(void)
{
	struct hub *h = &rig.hub;
	int fd = h->to_agent.fd;

	downstream_free_all(h);
	parked_free(h);
	offers_free(h);
	servers_free(h);
	subscriptions_free(h);
	search_free(h->search);
	calls_free(&h->calls);
	frame_in_free(&h->from_agent);
	frame_out_free(&h->to_agent);
	settings_free(&h->settings);
	free(h->route);
	buf_free(&h->text);
	buf_free(&h->body);
	buf_free(&h->client_capabilities);
	buf_free(&h->client_info);
	free(h->broken);
	fd_close(&fd);
	fd_close(&h->launcher);
	fd_close(&rig.launcher);
	close_peer(&rig.agent);
	for (size_t i = 0; i < rig.peer_n; i++)
		close_peer(&rig.peer[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0 || len > 1 << 14)
		return 0;
	open_hub(data[0]);
	play(data + 1, data + len);
	if (!rig.hub.ending)
		listens_end(&rig.hub);
	run();
	close_hub();
	return 0;
}
