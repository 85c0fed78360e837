/*
 * kennel serve: start, loop and end.
 *
 * Process: kennel serve, its confined half. Holds the agent's stdio, the launcher's
 * socket, its user's, and one socket per running session; no secret. Trusts: the launcher; sealed
 * policies. Must never: start a program, open a file but the registry.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/launch.h"
#include "supervisor/mcp/mcp.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"
#include "supervisor/serve/tools/search.h"

#include "kennel_syscalls.h"

#define ORDERS_MAX     (64u << 10)
#define REFUSE_WAIT_MS 20000 /* for an agent that gets the reason, as in kennel run */
#define LAST_MS        1800 /* for the sessions to end, and for the agent's last answers */

void
hub_end(struct hub *h, const char *why)
{
	if (h->ending)
		return;
	h->ending = true;
	h->why = why;
	log_debug("serve ends: %s", why);
	loop_stop(&h->loop);
}

static void
on_signal(struct loop *loop, int fd, short revents, void *arg)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		hub_end(arg, "a signal");
}

static void
on_timer(struct loop *loop, void *arg)
{
	struct hub *h = arg;

	h->timer = -1;
	routes_timer(h, loop_now());
	downstreams_timer(h, loop_now());
	discoveries_timer(h, loop_now());
	agent_last_timer(h, loop_now());
	parked_wake(h);
	hub_catch_up(h);
	hub_arm(h);
}

static void
set_timer(struct hub *h, bool room)
{
	/* what waits for room has its time when POLLOUT comes */
	const uint64_t next[] = {room ? parked_next(h) : UINT64_MAX, downstreams_next(h),
	    routes_next(h), h->store_at != 0 ? h->store_at : UINT64_MAX,
	    agent_last_due(h)};
	bool behind = h->behind || h->parked_behind || downstream_behind(h) != NULL;
	uint64_t at = room && behind ? 0 : UINT64_MAX;

	for (size_t i = 0; i < ARRAY_LEN(next); i++)
		at = next[i] < at ? next[i] : at;
	if (h->timer >= 0 && h->timer_at == at)
		return;
	loop_timer_stop(&h->loop, h->timer);
	h->timer_at = at;
	h->timer = at == UINT64_MAX ? -1 : loop_timer_at(&h->loop, at, on_timer, h);
}

static void
out_ready(struct loop *loop, int fd, short revents, void *arg)
{
	struct hub *h = arg;

	if (h->after.until != 0 && (revents & (POLLERR | POLLHUP)) != 0)
		h->to_agent.closed = true; /* its reader is gone */
	if (frame_flush(&h->to_agent) == -ENOMEM)
		h->error = -ENOMEM;
	hub_catch_up(h);
	hub_arm(h);
}

void
hub_arm(struct hub *h)
{
	short in = 0, out = 0;
	bool room;

	if (frame_flush(&h->to_agent) == -ENOMEM)
		h->error = -ENOMEM;
	room = frame_queued(&h->to_agent) < FRAME_SOON; /* else POLLOUT ends the wait */
	if (h->error != 0)
		hub_end(h, "out of memory");
	if (h->to_agent.closed)
		hub_end(h, "the agent closed its end");
	agent_last_arm(h);
	if (!h->agent_eof && room)
		in = POLLIN;
	else if (!h->agent_eof && !h->leaving)
		in = POLLRDHUP; /* not read, but watched for its end */
	loop_events(&h->loop, h->slot_in, in);
	if (!h->to_agent.closed && frame_queued(&h->to_agent) > 0)
		out = POLLOUT;
	else if (!h->to_agent.closed && h->after.until != 0)
		out = POLLPRI; /* watched for the end of its reader: POLLERR, POLLHUP */
	loop_events(&h->loop, h->slot_out, out);
	for (struct downstream *d = h->down; d != NULL; d = d->next)
		if (d->slot >= 0)
			loop_events(&h->loop, d->slot,
			    (short)((room ? POLLIN : 0) |
				    (frame_queued(&d->out) > 0 ? POLLOUT : 0)));
	if (h->slot_launcher >= 0)
		loop_events(&h->loop, h->slot_launcher,
		    h->orders.len > 0 ? POLLIN | POLLOUT : POLLIN);
	records_arm(h);
	set_timer(h, room);
	hub_control_changed(h);
}

/* ---- start ------------------------------------------------------------------- */

/* No program, and no file but the registry: what else the hub needs comes from the
 * launcher. */
static void
confine(void)
{
	const char *registry = paths_registry_dir();
	struct confine_path may = {.fd = -1, .may = CONFINE_READ | CONFINE_WRITE};

	/* early: mkdirat */
	if (registry != NULL && fd_make_dirs(registry) == 0)
		may.fd = open(registry, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (confine_no_dumps() < 0 || confine_paths(&may, may.fd >= 0) < 0)
		die("unable to confine kennel serve");
	fd_close(&may.fd);
	if (confine_syscalls(kennel_syscalls, ARRAY_LEN(kennel_syscalls)) < 0)
		die("unable to confine the system calls of kennel serve");
}

static int
make(struct hub *h)
{
	unsigned long long tag = 0;
	int r;

	if (getrandom(&tag, sizeof(tag), 0) != (ssize_t)sizeof(tag))
		return -EIO;
	tag &= 0xffffffffffu;
	loop_init(&h->loop);
	h->timer = h->slot_in = h->slot_out = h->slot_report = -1;
	h->parked_last = &h->parked;
	buf_init(&h->text, FRAME_MAX);
	buf_init(&h->body, FRAME_MAX);
	buf_init(&h->orders, ORDERS_MAX);
	buf_init(&h->client_capabilities, MCP_MESSAGE_MAX);
	buf_init(&h->client_info, MCP_MESSAGE_MAX);
	h->route = calloc(HUB_CALLS_MAX + 1, sizeof(*h->route));
	if (h->route == NULL)
		return -ENOMEM;
	r = calls_init(&h->calls);
	if (r == 0)
		r = frame_in_init(&h->from_agent, STDIN_FILENO, MCP_MESSAGE_MAX);
	if (r < 0)
		return r;
	frame_out_init(&h->to_agent, STDOUT_FILENO);
	(void)snprintf(h->cursor_tag, sizeof(h->cursor_tag), "%llx.", tag); /* fits */
	/* the agent's end may be one socket for both directions */
	r = fd_nonblock(STDOUT_FILENO, true);
	if (r == 0)
		r = fd_nonblock(h->launcher, true);
	if (r < 0)
		return r;
	h->slot_in = loop_add(&h->loop, STDIN_FILENO, POLLIN, agent_ready, h);
	h->slot_out = loop_add(&h->loop, STDOUT_FILENO, 0, out_ready, h);
	h->slot_launcher = loop_add(&h->loop, h->launcher, POLLIN, launcher_ready, h);
	if (h->slot_in < 0 || h->slot_out < 0 || h->slot_launcher < 0 ||
	    loop_add(&h->loop, h->signals, POLLIN, on_signal, h) < 0)
		return -ENOSPC;
	return 0;
}

/* ---- end --------------------------------------------------------------------- */

static void
last_bytes(struct hub *h, uint64_t until)
{
	uint64_t now;

	while (frame_flush(&h->to_agent) == -EAGAIN && (now = loop_now()) < until) {
		struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

		(void)poll(&p, 1, (int)((until - now) / LOOP_MS) + 1); /* checked above */
	}
}

/* The launcher's end of the socket closes when the last session has ended. */
static void
await_sessions(struct hub *h, uint64_t until)
{
	struct pollfd p = {.fd = h->launcher};
	uint64_t now;

	(void)shutdown(h->launcher, SHUT_WR); /* syscalls: shutdown */
	while ((p.revents & (POLLHUP | POLLERR)) == 0 && (now = loop_now()) < until)
		if (poll(&p, 1, (int)((until - now) / LOOP_MS) + 1) < 0 && errno != EINTR)
			break;
}

static void
unmake(struct hub *h)
{
	uint64_t until = loop_now() + LAST_MS * LOOP_MS;

	if (!h->to_agent.closed)
		listens_end(h);
	last_bytes(h, until - LAST_MS / 2 * LOOP_MS);
	hub_control_close(h);
	secrets_close(h);
	records_close(h);
	discoveries_store(h, until - LAST_MS / 2 * LOOP_MS);
	downstream_free_all(h);
	await_sessions(h, until);
	parked_free(h);
	offers_free(h);
	servers_free(h);
	subscriptions_free(h);
	search_free(h->search);
	calls_free(&h->calls);
	frame_in_free(&h->from_agent);
	frame_out_free(&h->to_agent);
	free(h->route);
	buf_free(&h->text);
	buf_free(&h->body);
	buf_free(&h->orders);
	buf_free(&h->client_capabilities);
	buf_free(&h->client_info);
	free(h->broken);
	(void)fd_nonblock(STDOUT_FILENO, false); /* as it was given to us */
	fd_close(&h->launcher);
	fd_close(&h->signals);
}

/* settings.kennel: 0 or -errno; why: the first of its errors, which are on standard error. */
static int
load_settings(struct hub *h, struct reason *why)
{
	char *text = NULL;
	size_t len = 0;
	FILE *diag = open_memstream(&text, &len);
	int r = diag == NULL ? -ENOMEM : settings_load(diag, &h->settings);

	if (diag != NULL)
		(void)fclose(diag); /* a loss affects only the output */
	if (text == NULL)
		return -ENOMEM;
	(void)fputs(text, stderr); /* only output */
	if (r == -EINVAL)
		r = reason_set(why, r, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
	return r;
}

/* What the settings and the command line say: 0, or an exit status and why. */
static int
configure(struct hub *h, struct reason *why)
{
	struct facet_lists lists = {
	    .option = h->order->facets, .environment = getenv("KENNEL_FACETS")};
	int r = load_settings(h, why);

	if (r == -EINVAL)
		return EXIT_CONFIG;
	lists.allowed = h->settings.facets_allowed;
	lists.denied = h->settings.facets_denied;
	if (r == 0)
		r = facets_from(&lists, &h->facets, why);
	if (r == 0 && h->order->single) {
		h->facets.listed = 1u << FACET_SECRETS;
		h->facets.denied |= ~h->facets.listed;
	}
	for (size_t i = 0; r == 0 && i < h->order->expose_n; i++)
		r = settings_expose(&h->settings, h->order->expose[i], why);
	if (r == 0)
		return 0;
	if (r != -EINVAL)
		(void)reason_set(why, r, "out of memory"); /* r is known */
	log_error("%s", why->text);
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

/* An agent sees no standard error. */
static int
refuse(int status, const char *why)
{
	confine();
	session_refuse(STDIN_FILENO, STDOUT_FILENO, &(struct rpc_why){.because = why},
	    REFUSE_WAIT_MS);
	return status;
}

int
serve_run(const struct serve_order *order)
{
	static struct hub h = {.signals = -1, .launcher = -1};
	char unknown[LEASH_TEXT_MAX] = "";
	struct reason why = {""};
	int r;

	h.order = order;
	h.status = configure(&h, &why);
	if (h.status != 0)
		return refuse(h.status, why.text);
	if (open_signals(&h.signals) < 0)
		die("unable to set up signals");
	r = launcher_fork(&order->launcher, &h.launcher, unknown);
	if (r > 0)
		return refuse(r, unknown);
	if (r == 0)
		r = make(&h);
	if (r < 0) {
		log_error("unable to start: %s", strerror(-r));
		return EXIT_FAILED;
	}
	hub_control_open(&h);
	if (secrets_open(&h) < 0)
		die("unable to set up the secrets tools");
	launcher_know_user();
	confine();
	if (lists_servers(&h) || h.settings.ahead > 0 || order->ahead > 0)
		(void)servers_known(&h); /* asked for; they come later */
	hub_arm(&h);
	r = loop_run(&h.loop);
	if (r < 0)
		log_error("unable to wait for events: %s", strerror(-r));
	if (r < 0 || h.error != 0 || h.launcher < 0)
		h.status = EXIT_FAILED;
	unmake(&h);
	settings_free(&h.settings);
	return h.status;
}
