/*
 * What the audit log keeps of a secret value: its name and its fingerprint
 * (leash/vault/fingerprint.h).  With the value, a user can find its uses in the
 * log.
 *
 * Process: the leash, before it sandboxes itself.  Holds the key briefly.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/launch.h"
#include "policy/sealed/policy.h"

#define NAMES_MAX 24 /* per record, so that it is never full */

int
launch_fingerprints_make(struct leash *l, struct reason *why)
{
	const char *folder = getenv("KENNEL_TRACE_AT");
	struct fingerprint_key key;
	int r;

	if (l->secret_n == 0)
		return 0;
	r = folder == NULL ? -ENOENT : fingerprint_key_read(folder, true, &key);
	if (r < 0)
		return reason_set(why, r,
		    "unable to use the key for fingerprints of secrets "
		    "(%.200s/" FINGERPRINT_KEY_FILE "): %s",
		    folder == NULL ? "" : folder, strerror(-r));
	for (size_t i = 0; i < l->secret_n; i++)
		secret_fingerprint(l->secret[i], &key, l->fingerprint[i]);
	fingerprint_key_wipe(&key);
	return 0;
}

static const char *
path_of(const struct leash *l, const struct sealed_secret *row)
{
	return row->source == SOURCE_VAULT ? policy_str(&l->policy, row->ref) : "-";
}

/* Where the vault has each of these secrets, if it has any of them. */
static void
put_paths(
    const struct leash *l, struct event *e, const struct sealed_secret *row, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any = any || row[i].source == SOURCE_VAULT;
	for (size_t i = 0; any && i < n; i++)
		event_text(e, KEY_PATH, path_of(l, &row[i]));
}

/* Durable before the plan contains a value; waiting for the last record waits for all. */
int
launch_fingerprints_record(struct leash *l, uint64_t *ret_number)
{
	const struct sealed_secret *row = l->policy.secret + l->server->secrets.first;
	static struct event e;
	int r = 0;

	for (size_t at = 0; r == 0 && at < l->secret_n; at += NAMES_MAX) {
		size_t n = l->secret_n - at < NAMES_MAX ? l->secret_n - at : NAMES_MAX;

		event_begin(&e, EVENT_SECRETS);
		event_identity(&e, policy_str(&l->policy, l->server->name), l->policy.id);
		for (size_t i = at; i < at + n; i++)
			event_text(&e, KEY_NAME, policy_str(&l->policy, row[i].name));
		for (size_t i = at; i < at + n; i++)
			event_short(&e, KEY_TRACE, l->fingerprint[i]);
		put_paths(l, &e, row + at, n);
		r = report_send(l->report, &e, EVENT_GATE, ret_number);
	}
	return r;
}
