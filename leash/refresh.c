/*
 * The refresh token between kennel-remote and the vault (leash/refresh_request.h).
 *
 * Process: the leash.  Holds: one token, in the vault's pages, from a request to its
 * answer.  Trusts: the policy, which makes the path: "__oauth/NAME/refresh" of its own
 * server; the keeper.  Must never: let the server name a path, or ask for a value before
 * the record of that is on disk.
 *
 * The server is hostile: a packet that is not in the protocol ends its connection, one
 * request is under way at a time, and there are BURST of them, then one each PAUSE_MS.
 */
#include "leash/refresh.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "leash/keeper/keeper.h"
#include "leash/launch.h"
#include "leash/private.h"
#include "leash/refresh_request.h"
#include "leash/vault/secret_path.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"

#define PACKET_MAX (24u << 10) /* path, signatures and a token */
#define BURST      16
#define PAUSE_MS   10000

struct refresh {
	int sock, sock_slot;     /* to kennel-remote */
	int keeper, keeper_slot; /* -1: none runs, so no vault is open */
	uint8_t *memory;         /* PACKET_MAX bytes of the vault */
	char path[VAULT_PATH_MAX + 1];
	struct sign_head head;
	struct sign_row row[SIGN_SIGNERS_MAX];
	size_t row_n;
	enum refresh_message asked; /* 0: no request is under way */
	uint64_t record;            /* of it, which is not on disk yet; 0: it is */
	struct span value;          /* of PUT, until then: in memory */
	unsigned int left;          /* requests before the next pause */
	uint64_t more_ns;           /* when there is one more */
};

_Static_assert(REFRESH_VALUE_MAX == KEEPER_REFRESH_MAX, "bounds");
_Static_assert(PACKET_MAX > REFRESH_PACKET_MAX +
				SIGN_SIGNERS_MAX * sizeof(struct sign_row) +
				KEEPER_SERVER_MAX + 512,
    "a request to the keeper fits");

/* ---- records -------------------------------------------------------------------------- */

static int
record(struct leash *l, const char *outcome, const char *reason, enum event_class class,
    uint64_t *ret_number)
{
	enum refresh_message asked = l->refresh->asked;
	static struct event e;

	event_begin(&e, EVENT_VAULT);
	event_identity(&e, policy_str(&l->policy, l->server->name), l->policy.id);
	event_text(&e, KEY_SOURCE, "server");
	event_text(&e, KEY_ACTION, asked == REFRESH_GET ? "release" : "store");
	event_short(&e, KEY_NAME, l->refresh->path);
	event_text(&e, KEY_VERDICT, strcmp(outcome, "failed") == 0 ? "deny" : "allow");
	event_text(&e, KEY_OUTCOME, outcome);
	if (reason != NULL)
		event_text(&e, KEY_REASON, reason);
	return report_send(l->report, &e, class, ret_number);
}

/* ---- answers to kennel-remote --------------------------------------------------------- */

static void
refresh_close(struct leash *l)
{
	struct refresh *f = l->refresh;

	loop_remove(&l->loop, f->sock_slot);
	f->sock_slot = -1;
	fd_close(&f->sock);
	f->record = 0; /* a request that waits for it is not made */
}

static void
send_out(struct leash *l, struct wire_out *out)
{
	struct refresh *f = l->refresh;

	/* it reads one answer for each request: there is room */
	if (wire_send(f->sock, out, NULL, 0) < 0)
		refresh_close(l);
	vault_wipe(f->memory, PACKET_MAX);
	f->asked = 0;
}

/* What a person does about the keeper's reason; NAME is the server's. */
static void
refuse(struct leash *l, uint32_t reason)
{
	static const struct {
		uint32_t reason;
		const char
		    *text; /* with the server's name after it, if it ends in a space */
	} rows[] = {
	    {REASON_LOCKED,
		"the vault is locked: a person runs kennel secret unlock, and "
		"starts the server again"},
	    {REASON_NO_VAULT, "there is no vault: a person runs kennel secret init"},
	    {REASON_NOT_THERE,
		"there was no login yet: a person runs kennel server login "},
	    {REASON_NO_GRANT,
		"there was no login yet: a person runs kennel server login "},
	    {REASON_OTHER_POLICY, "the policy has changed since the login: a person runs "
				  "kennel server login "},
	    {REASON_TOO_MANY, "too many requests for the refresh token: try again later"},
	};
	const char *name = policy_str(&l->policy, l->server->name);
	const char *text =
	    "the keeper does not give the refresh token: kennel secret list "
	    "shows whether the vault is open";
	char why[REFRESH_WHY_MAX];
	struct wire_out out;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].reason == reason)
			text = rows[i].text;
	(void)snprintf(
	    why, sizeof(why), "%s%s", text, text[strlen(text) - 1] == ' ' ? name : "");
	/* nothing is given; one that asks without end does not fill the log */
	if (reason != REASON_TOO_MANY)
		(void)record(l, "failed", why, EVENT_FLOW, NULL);
	wire_out_init(&out, l->refresh->memory, PACKET_MAX);
	wire_put_u32(&out, REFRESH_REFUSED);
	wire_put_str(&out, why);
	send_out(l, &out);
}

/* ---- the keeper ------------------------------------------------------------------------ */

static void
keeper_close(struct leash *l)
{
	struct refresh *f = l->refresh;

	loop_remove(&l->loop, f->keeper_slot);
	f->keeper_slot = -1;
	fd_close(&f->keeper);
}

/* Its answer is the one to kennel-remote, with another number. */
static void
pass_on(struct leash *l, size_t len)
{
	struct refresh *f = l->refresh;
	struct wire_out out;
	struct span value = {.len = 0};
	struct wire_in in;
	uint32_t type, number = 0;

	wire_in_init(&in, f->memory, len);
	type = wire_get_u32(&in);
	if (type == KEEPER_REFUSED) {
		number = wire_get_u32(&in);
		(void)wire_get_str(&in, KEEPER_TEXT_MAX);
	} else if (type == KEEPER_VALUE && f->asked == REFRESH_GET) {
		value = wire_get_bytes(&in, REFRESH_VALUE_MAX);
	} else if (type == KEEPER_DONE && f->asked == REFRESH_PUT) {
		(void)wire_get_u32(&in);
	} else {
		in.error = -EBADMSG;
	}
	if (wire_end(&in) < 0 || type == KEEPER_REFUSED ||
	    record(l, "done", NULL, EVENT_FLOW, NULL) < 0) {
		refuse(l, number);
		return;
	}
	wire_out_init(&out, f->memory, PACKET_MAX);
	wire_put_u32(&out, f->asked == REFRESH_GET ? REFRESH_VALUE : REFRESH_DONE);
	if (f->asked == REFRESH_GET) {
		/* the bytes are in place: they follow two u32 in either packet */
		wire_put_u32(&out, (uint32_t)value.len);
		out.len += value.len;
		wire_put_u8(&out, 0);
	}
	send_out(l, &out);
}

static void
on_keeper(struct loop *loop, int fd, short revents, void *arg)
{
	struct leash *l = arg;
	struct refresh *f = l->refresh;
	size_t len = 0;
	int r = wire_recv(fd, f->memory, PACKET_MAX, &len, NULL, 0, NULL);

	if (r == 0 && f->asked != 0 && f->record == 0) {
		pass_on(l, len);
		return;
	}
	keeper_close(l); /* it has ended, or answers unasked */
	f->record = 0;
	if (f->asked != 0)
		refuse(l, REASON_LOCKED);
}

static bool
is_too_often(struct refresh *f)
{
	uint64_t now = loop_now();

	if (f->left < BURST && now >= f->more_ns) {
		f->left++;
		f->more_ns = now + PAUSE_MS * LOOP_MS;
	}
	return f->left == 0 || f->left-- == 0;
}

/* RELEASE or STORE of the one path, for this server and policy. */
static int
ask_keeper(struct leash *l, const struct span *value)
{
	struct refresh *f = l->refresh;
	uint8_t *packet = vault_scratch(l->vault, PACKET_MAX);
	struct wire_out out;
	int r;

	if (packet == NULL)
		return -ENOMEM;
	wire_out_init(&out, packet, PACKET_MAX);
	wire_put_u32(&out, value == NULL ? KEEPER_RELEASE : KEEPER_STORE);
	wire_put_str(&out, f->path);
	wire_put_str(&out, policy_str(&l->policy, l->server->name));
	wire_put_bytes(&out, l->policy.id, KEEPER_ID_LEN);
	wire_put_bytes(&out, &f->head, f->row_n > 0 ? sizeof(f->head) : 0);
	wire_put_bytes(&out, f->row, f->row_n * sizeof(f->row[0]));
	if (value != NULL) {
		wire_put_u8(&out, l->login);
		wire_put_bytes(&out, value->data, value->len);
	}
	r = wire_send(f->keeper, &out, NULL, 0);
	vault_scratch_end(l->vault, packet, out.len);
	return r;
}

/* ---- requests of kennel-remote ---------------------------------------------------------- */

static int
request(struct leash *l, size_t len)
{
	struct refresh *f = l->refresh;
	struct span value = {.len = 0};
	struct wire_in in;
	uint32_t type;

	wire_in_init(&in, f->memory, len);
	type = wire_get_u32(&in);
	if (type == REFRESH_PUT)
		value = wire_get_bytes(&in, REFRESH_VALUE_MAX);
	if (wire_end(&in) < 0 || (type != REFRESH_GET && type != REFRESH_PUT) ||
	    f->asked != 0)
		return -EBADMSG;
	f->asked = type;
	f->value = value;
	if (is_too_often(f))
		refuse(l, REASON_TOO_MANY);
	else if (f->keeper < 0)
		refuse(l, REASON_LOCKED);
	else if (record(l, "asked", NULL, EVENT_GATE, &f->record) < 0)
		refuse(l, REASON_FAILED);
	else
		refresh_recorded(l);
	return 0;
}

void
refresh_recorded(struct leash *l)
{
	struct refresh *f = l->refresh;

	if (f == NULL || f->record == 0 || !report_durable(l->report, f->record))
		return;
	f->record = 0;
	if (f->keeper < 0)
		refuse(l, REASON_LOCKED);
	else if (ask_keeper(l, f->asked == REFRESH_PUT ? &f->value : NULL) < 0)
		refuse(l, REASON_FAILED);
}

static void
on_server(struct loop *loop, int fd, short revents, void *arg)
{
	struct leash *l = arg;
	size_t len = 0;
	int r = wire_recv(fd, l->refresh->memory, PACKET_MAX, &len, NULL, 0, NULL);

	if (r == -EAGAIN)
		return;
	if (r == 0)
		r = request(l, len);
	if (r < 0)
		refresh_close(l);
}

/* ---- begin and end ------------------------------------------------------------------------ */

static int
connect_keeper(struct leash *l, struct reason *why)
{
	struct refresh *f = l->refresh;
	enum keeper_state state = STATE_LOCKED;
	int r = launch_reach_keeper(l, &f->keeper, &state);

	if (r < 0 && r != -ENOENT)
		return reason_set(
		    why, r, "unable to reach the keeper: %s", launch_keeper_failure(r));
	/* a server may start without: each request gets the reason */
	if (l->login && (r < 0 || state != STATE_OPEN))
		return reason_set(why, -ENOKEY,
		    "a login puts a token into the vault, and the vault is not open: run "
		    "kennel secret unlock (or kennel secret init), then log in again");
	return 0;
}

static int
connect_server(struct leash *l)
{
	struct refresh *f = l->refresh;
	int ends[2], r;

	/* early: socketpair */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	f->sock = ends[0];
	r = fd_nonblock(f->sock, true);
	if (r == 0)
		r = env_descriptor(l->env, REFRESH_FD_VARIABLE, ends[1]);
	if (r < 0)
		fd_close(&ends[1]);
	return r;
}

int
refresh_begin(struct leash *l, struct reason *why)
{
	struct refresh *f;
	int r;

	if ((l->server->flags & SERVER_LOGIN) == 0)
		return 0;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return reason_set(why, -ENOMEM, "out of memory");
	f->sock = f->sock_slot = f->keeper = f->keeper_slot = -1;
	f->left = BURST;
	l->refresh = f;
	f->memory = vault_scratch(l->vault, PACKET_MAX);
	if (f->memory == NULL ||
	    !secret_path_refresh(policy_str(&l->policy, l->server->name), f->path))
		return reason_set(why, -ENOMEM, "out of locked memory");
	r = connect_keeper(l, why);
	if (r < 0)
		return r;
	r = sign_rows(l->policy_fd, &f->head, f->row, &f->row_n);
	if (r == 0)
		r = connect_server(l);
	if (r == 0 && l->login)
		r = env_plain(l->env, REFRESH_LOGIN, "1");
	return r < 0 ? reason_set(why, r,
			   "unable to connect kennel-remote with its leash: "
			   "%s",
			   strerror(-r))
		     : 0;
}

int
refresh_watch(struct leash *l)
{
	struct refresh *f = l->refresh;

	if (f == NULL)
		return 0;
	f->sock_slot = loop_add(&l->loop, f->sock, POLLIN, on_server, l);
	if (f->sock_slot < 0)
		return f->sock_slot;
	if (f->keeper < 0)
		return 0;
	f->keeper_slot = loop_add(&l->loop, f->keeper, POLLIN, on_keeper, l);
	return f->keeper_slot < 0 ? f->keeper_slot : 0;
}

void
refresh_end(struct leash *l)
{
	if (l->refresh == NULL)
		return;
	fd_close(&l->refresh->sock);
	fd_close(&l->refresh->keeper);
	free(l->refresh);
	l->refresh = NULL;
}
