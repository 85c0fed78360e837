/*
 * Requests and their ids.
 */
#include "supervisor/secrets/requests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "shim/base/hex.h"
#include "shim/base/loop.h"

#define ID_BYTES 6

/* Its time may be over. */
static void
expire(struct request *r, uint64_t now)
{
	if (r->state == SECRETS_PENDING && now >= r->until)
		request_settle(r, SECRETS_EXPIRED, NULL, r->until);
}

/* Is it settled, and still kept? */
static bool
is_settled(const struct request *r)
{
	return r->id[0] != '\0' && r->state != SECRETS_PENDING;
}

static void
drop_oldest(struct requests *all)
{
	struct request *oldest = NULL;

	for (size_t i = 0; i < REQUESTS_N; i++)
		if (is_settled(&all->row[i]) &&
		    (oldest == NULL || all->row[i].settled_at < oldest->settled_at))
			oldest = &all->row[i];
	if (oldest != NULL)
		oldest->id[0] = '\0';
}

/* Drops what was settled long ago, and the oldest beyond what is kept. */
static void
sweep(struct requests *all, uint64_t now)
{
	size_t settled = 0;

	for (size_t i = 0; i < REQUESTS_N; i++) {
		struct request *r = &all->row[i];

		if (r->id[0] != '\0')
			expire(r, now);
		if (is_settled(r) && now - r->settled_at >= REQUEST_KEPT_S * NS_PER_S)
			r->id[0] = '\0';
		settled += is_settled(r);
	}
	for (; settled > REQUESTS_SETTLED_MAX; settled--)
		drop_oldest(all);
}

static struct request *
find(struct requests *all, const char *id)
{
	for (size_t i = 0; i < REQUESTS_N; i++)
		if (all->row[i].id[0] != '\0' && strcmp(all->row[i].id, id) == 0)
			return &all->row[i];
	return NULL;
}

static int
make_id(struct requests *all, char out[SECRETS_ID_LEN + 1])
{
	uint8_t raw[ID_BYTES];
	char hex[2 * ID_BYTES + 1];

	do {
		/* syscalls: getrandom */
		if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
			return -EIO;
		(void)snprintf(out, SECRETS_ID_LEN + 1, "prov-%s",
		    hex_put(hex, raw, sizeof(raw))); /* fits */
	} while (find(all, out) != NULL);
	return 0;
}

int
request_new(struct requests *all, enum secrets_kind kind, const char *path,
    uint32_t ttl_s, uint64_t now, struct request **ret, uint32_t *ret_wait_s)
{
	struct request *at = NULL;
	uint64_t first = UINT64_MAX;
	size_t pending = 0;
	char id[SECRETS_ID_LEN + 1];

	sweep(all, now);
	for (size_t i = 0; i < REQUESTS_N; i++) {
		struct request *r = &all->row[i];

		if (r->id[0] == '\0') {
			at = at == NULL ? r : at;
		} else if (r->state == SECRETS_PENDING) {
			pending++;
			first = r->until < first ? r->until : first;
		}
	}
	if (pending >= REQUESTS_PENDING_MAX || at == NULL) {
		*ret_wait_s =
		    first == UINT64_MAX ? 1 : (uint32_t)((first - now) / NS_PER_S) + 1;
		return -EBUSY;
	}
	if (make_id(all, id) < 0)
		return -EIO;
	*at = (struct request){.kind = kind,
	    .state = SECRETS_PENDING,
	    .asked_at = now,
	    .until = now + ttl_s * NS_PER_S};
	memcpy(at->id, id, sizeof(at->id));
	(void)snprintf(at->path, sizeof(at->path), "%s", path); /* fits: a path */
	*ret = at;
	return 0;
}

struct request *
request_find(struct requests *all, const char *id, uint64_t now)
{
	sweep(all, now);
	return find(all, id);
}

uint64_t
requests_wait(struct requests *all, uint32_t dialog, uint64_t now)
{
	uint64_t last = 0;

	for (size_t i = 0; dialog != 0 && i < REQUESTS_N; i++) {
		struct request *r = &all->row[i];

		if (r->id[0] == '\0' || r->dialog != dialog)
			continue;
		expire(r, now);
		if (r->state == SECRETS_PENDING && r->until > last)
			last = r->until;
	}
	return last;
}

void
requests_move(struct requests *all, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < REQUESTS_N; i++)
		if (all->row[i].id[0] != '\0' && all->row[i].dialog == from)
			all->row[i].dialog = to;
}

void
request_settle(
    struct request *r, enum secrets_state state, const char *reason, uint64_t now)
{
	r->state = state;
	r->reason = reason;
	r->settled_at = now;
	r->dialog = 0;
}

void
requests_settle(struct requests *all, uint32_t dialog, enum secrets_state state,
    const char *reason, uint64_t now)
{
	for (size_t i = 0; i < REQUESTS_N; i++) {
		struct request *r = &all->row[i];

		if (r->id[0] == '\0' || r->dialog != dialog)
			continue;
		expire(r, now);
		if (r->state == SECRETS_PENDING)
			request_settle(r, state, reason, now);
	}
}

uint32_t
requests_dialog(struct requests *all, uint64_t now)
{
	uint64_t *oldest = &all->opened[0];

	for (size_t i = 1; i < DIALOGS_A_MINUTE; i++)
		if (all->opened[i] < *oldest)
			oldest = &all->opened[i];
	if (*oldest != 0 && now - *oldest < 60 * NS_PER_S)
		return 60 - (uint32_t)((now - *oldest) / NS_PER_S);
	*oldest = now;
	return 0;
}

void
request_poll(struct request *r, uint64_t now, struct secrets_status *ret)
{
	uint64_t since = (now - r->polled_at) / LOOP_MS;

	*ret = (struct secrets_status){.request_id = r->id,
	    .path = r->path,
	    .kind = r->kind,
	    .state = r->state,
	    .reason = r->reason,
	    .age_s = (now - r->asked_at) / NS_PER_S};
	if (r->polled_at != 0 && since < REQUEST_POLL_MS)
		ret->retry_after_ms = (uint32_t)(REQUEST_POLL_MS - since);
	else
		r->polled_at = now;
}
