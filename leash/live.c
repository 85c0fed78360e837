/*
 * kennel secret validate --live: a leash without a server.  It queries the source of
 * each secret of its policy and reports what the source has.
 *
 * Process: the leash, before it would sandbox itself.  Holds: one value at a time, and
 * the credentials of sources.  A value is wiped as soon as it is known to exist, a variable's at the end; one of
 * kennel's own vault stays there, because the keeper's list is enough.  Must never:
 * query a source whose secret needs an approval that was not given, or report a byte of
 * a value.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "leash/launch.h"
#include "policy/sealed/policy.h"
#include "shim/base/log.h"

/* Of all values at one time: those from the environment, and credentials. */
#define LIVE_BYTES (2u << 20)

_Static_assert(LEASH_RESOLVED_MAX *(LEASH_RESOLVED_WHY + 16) < LEASH_PACKET_MAX - 16,
    "all results are in one packet");

struct resolved {
	enum leash_resolved state; /* 0: not queried */
	int status;
	char why[LEASH_RESOLVED_WHY];
};

static const struct sealed_secret *
row_of(const struct leash *l, uint32_t i)
{
	return &l->policy.secret[l->server->secrets.first + i];
}

static void
put(struct resolved *at, enum leash_resolved state, int status, const char *why)
{
	at->state = state;
	at->status = status;
	(void)snprintf(at->why, sizeof(at->why), "%s", why); /* may be cut */
}

static void
resolve(struct leash *l, uint32_t i, struct resolved *ret)
{
	const struct sealed_secret *row = row_of(l, i);
	struct secret *value = NULL;
	struct reason why = {0};
	int r;

	if (l->withheld[i] != NULL) {
		put(ret, RESOLVED_ASKS, 0, l->withheld[i]);
		return;
	}
	r = row->source == SOURCE_VAULT ? launch_vault_check(l, row, &why)
					: secret_resolve_row(l, row, &value, &why);
	/* another line may read the same variable: it is wiped at the end */
	if (r == 0 && value != NULL && row->source != SOURCE_ENV)
		secret_drop(l->vault, value);
	if (r == 0)
		put(ret, RESOLVED_OK, 0, "");
	else if (r == -ENOKEY && row->source != SOURCE_PLUGIN)
		put(ret, RESOLVED_LOCKED, 0, why.text);
	else if (why.status != 0)
		put(ret, RESOLVED_STATUS, why.status, why.text);
	else
		put(ret, RESOLVED_MISSING, 0,
		    why.text[0] != '\0' ? why.text : strerror(-r));
}

/* Variables last: their values are wiped with the vault, right after them. */
static void
resolve_all(struct leash *l, struct resolved *of)
{
	for (int environment = 0; environment < 2; environment++)
		for (uint32_t i = 0; i < l->server->secrets.n; i++)
			if ((row_of(l, i)->flags & SECRET_CREDENTIAL) == 0 &&
			    (row_of(l, i)->source == SOURCE_ENV) == (environment != 0))
				resolve(l, i, &of[i]);
}

static int
send_results(struct leash *l, const struct resolved *of)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	uint32_t n = 0, rows = l->server->secrets.n;
	struct wire_out out;

	for (uint32_t i = 0; i < rows; i++)
		n += of[i].state != 0;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_RESOLVED);
	wire_put_u32(&out, n);
	for (uint32_t i = 0; i < rows; i++) {
		if (of[i].state == 0)
			continue;
		wire_put_u32(&out, of[i].state);
		wire_put_u32(&out, (uint32_t)of[i].status);
		wire_put_str(&out, of[i].why);
	}
	return wire_send(l->channel, &out, NULL, 0);
}

int
live(struct leash *l, int *ret_status, char why[LEASH_TEXT_MAX])
{
	static struct resolved of[LEASH_SECRETS_MAX];
	int r;

	*ret_status = LOG_EXIT_FAILED;
	(void)snprintf(why, LEASH_TEXT_MAX, "more than %d secrets", LEASH_SECRETS_MAX);
	if (l->server->secrets.n > LEASH_SECRETS_MAX)
		return -E2BIG;
	r = launch_approval_ask(l, ret_status, why);
	if (r < 0)
		return r;
	r = vault_new(LIVE_BYTES, &l->vault);
	if (r == 0) {
		resolve_all(l, of);
		route_end();
		launch_vault_end();
		vault_free(l->vault);
		l->vault = NULL;
		r = send_results(l, of);
	}
	if (r < 0)
		(void)snprintf(
		    why, LEASH_TEXT_MAX, "unable to check the secrets: %s", strerror(-r));
	return r;
}
