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
put_paths(const struct leash *l, struct event *e, const uint32_t *of, size_t n)
{
	const struct sealed_secret *row = l->policy.secret + l->server->secrets.first;
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any = any || row[of[i]].source == SOURCE_VAULT;
	for (size_t i = 0; any && i < n; i++)
		event_text(e, KEY_PATH, path_of(l, &row[of[i]]));
}

static int
record_some(const struct leash *l, const uint32_t *of, size_t n, bool placeholders,
    uint64_t *ret_number)
{
	const struct sealed_secret *row = l->policy.secret + l->server->secrets.first;
	static struct event e;

	event_begin(&e, EVENT_SECRETS);
	event_identity(&e, policy_str(&l->policy, l->server->name), l->policy.id);
	for (size_t i = 0; i < n; i++)
		event_text(&e, KEY_NAME, policy_str(&l->policy, row[of[i]].name));
	for (size_t i = 0; i < n; i++)
		event_short(&e, KEY_TRACE, l->fingerprint[of[i]]);
	put_paths(l, &e, of, n);
	if (placeholders)
		event_text(&e, KEY_OUTCOME, "placeholder");
	return report_send(l->report, &e, EVENT_GATE, ret_number);
}

/* Durable before the plan contains a value; waiting for the last record waits for all.
 * Placeholders are in records of their own. */
int
launch_fingerprints_record(struct leash *l, uint64_t *ret_number)
{
	uint32_t of[NAMES_MAX];
	int r = 0;

	for (int placeholders = 0; placeholders < 2; placeholders++) {
		size_t n = 0;

		for (uint32_t i = 0; r == 0 && i < l->secret_n; i++) {
			if (placeholder_for(l, i) != (placeholders != 0))
				continue;
			of[n++] = i;
			if (n < NAMES_MAX)
				continue;
			r = record_some(l, of, n, placeholders != 0, ret_number);
			n = 0;
		}
		if (r == 0 && n > 0)
			r = record_some(l, of, n, placeholders != 0, ret_number);
	}
	return r;
}
