/*
 * Grants of one session, in memory only.
 */
#include "supervisor/secrets/grants.h"

#include <errno.h>
#include <string.h>

#include "shim/base/loop.h"

static bool
covers(const struct grant *g, const uint8_t policy[HOLDER_ID_LEN])
{
	for (size_t i = 0; i < g->covers.n; i++)
		if (memcmp(g->covers.id[i], policy, HOLDER_ID_LEN) == 0)
			return true;
	return false;
}

/* A grant for the session whose epoch is not known yet is kept, and not in force. */
static bool
is_kept(const struct grant *g, uint64_t now)
{
	return g->is.path[0] != '\0' && (g->is.session || now < g->until);
}

static bool
is_in_force(const struct grants *all, const struct grant *g, uint64_t now)
{
	return is_kept(g, now) &&
	       (!g->is.session || (g->is.epoch != 0 && g->is.epoch == all->epoch));
}

int
grants_add(struct grants *all, const struct secrets_grant *is,
    const struct holder_ids *covered, uint64_t now)
{
	struct grant *at = NULL;

	for (size_t i = 0; at == NULL && i < GRANTS_MAX; i++)
		if (!is_kept(&all->grant[i], now))
			at = &all->grant[i];
	if (at == NULL)
		return -ENOSPC;
	*at = (struct grant){.is = *is,
	    .since = now,
	    .until = now + GRANT_ONCE_S * NS_PER_S,
	    .covers = *covered};
	at->is.epoch = 0;
	return 0;
}

void
grants_epoch(struct grants *all, uint64_t epoch, uint64_t asked_at)
{
	all->epoch = epoch;
	for (size_t i = 0; i < GRANTS_MAX; i++) {
		struct secrets_grant *g = &all->grant[i].is;

		if (g->path[0] == '\0' || !g->session)
			continue;
		if (g->epoch == 0 && asked_at < all->grant[i].since)
			continue; /* it may be of a vault that has changed since */
		if (g->epoch == 0)
			g->epoch = epoch;
		else if (g->epoch != epoch)
			g->path[0] = '\0';
	}
}

void
grants_drop(struct grants *all, const char *path)
{
	for (size_t i = 0; i < GRANTS_MAX; i++)
		if (strcmp(all->grant[i].is.path, path) == 0)
			all->grant[i].is.path[0] = '\0';
}

bool
grants_take(struct grants *all, const char *path, const uint8_t policy[HOLDER_ID_LEN],
    uint64_t now, struct secrets_grant *ret)
{
	struct grant *found = NULL;

	for (size_t i = 0; i < GRANTS_MAX; i++) {
		struct grant *g = &all->grant[i];

		if (is_in_force(all, g, now) && strcmp(g->is.path, path) == 0 &&
		    covers(g, policy) && (found == NULL || g->is.session))
			found = g; /* one for the session is not used up */
	}
	if (found == NULL)
		return false;
	*ret = found->is;
	if (!found->is.session)
		found->is.path[0] = '\0';
	return true;
}

bool
grants_unknown(
    const struct grants *all, const char *path, const uint8_t policy[HOLDER_ID_LEN])
{
	for (size_t i = 0; i < GRANTS_MAX; i++) {
		const struct grant *g = &all->grant[i];

		if (g->is.session && g->is.epoch == 0 && strcmp(g->is.path, path) == 0 &&
		    covers(g, policy))
			return true;
	}
	return false;
}

bool
grants_hold(const struct grants *all, const char *path, const struct holder_ids *wanted,
    uint64_t now)
{
	for (size_t i = 0; i < GRANTS_MAX; i++) {
		const struct grant *g = &all->grant[i];
		bool holds = g->is.session && is_in_force(all, g, now) &&
			     strcmp(g->is.path, path) == 0;

		for (size_t k = 0; holds && k < wanted->n; k++)
			holds = covers(g, wanted->id[k]);
		if (holds)
			return true;
	}
	return false;
}
