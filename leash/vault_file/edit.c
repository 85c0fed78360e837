/*
 * Changes to a vault: values, their versions, and grants.
 *
 * Process: the keeper.  A change is in memory only until vault_file_save.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/vault_file/private.h"

/* ---- values -------------------------------------------------------------------- */

static void
entry_drop(struct vault_file *c, size_t i)
{
	free((char *)c->entry[i].said.path);
	free(c->entry[i].sealed);
	c->entry_n--;
	memmove(&c->entry[i], &c->entry[i + 1], (c->entry_n - i) * sizeof(c->entry[0]));
}

static int
entry_add(struct vault_file *c, const struct vault_file_entry *said, const void *value)
{
	struct vault_entry e = {.said = *said};
	size_t place;
	int r;

	if (c->entry_n == VAULT_FILE_ENTRIES_MAX)
		return -ENOSPC;
	e.said.path = strdup(said->path);
	if (e.said.path == NULL)
		return -ENOMEM;
	r = entry_seal(c, &e, value);
	if (r < 0) {
		free((char *)e.said.path);
		return r;
	}
	place = entry_place(c, said->path, said->version);
	memmove(&c->entry[place + 1], &c->entry[place],
	    (c->entry_n - place) * sizeof(c->entry[0]));
	c->entry[place] = e;
	c->entry_n++;
	return 0;
}

int
vault_file_put(struct vault_file *c, const char *path, const void *value, size_t len,
    bool next, uint64_t now, uint32_t *ret)
{
	struct vault_file_entry said = {.path = path, .version = 1, .made = now};
	struct vault_entry *old;
	int r;

	if (!c->open)
		return -ENOKEY;
	if (!vault_file_path_good(path) || len < VAULT_VALUE_MIN ||
	    len > VAULT_VALUE_MAX || memchr(value, '\0', len) != NULL)
		return -EINVAL;
	old = entry_current(c, path);
	if ((old != NULL) != next)
		return next ? -ENOENT : -EEXIST;
	said.len = (uint32_t)len;
	if (old != NULL)
		said.version = old->said.version + 1;
	if (said.version == UINT32_MAX)
		return -ENOSPC;
	r = entry_add(c, &said, value);
	if (r < 0)
		return r;
	if (next) /* the version before it; entries are sorted */
		entry_current(c, path)[-1].said.retired = now > 0 ? now : 1;
	*ret = said.version;
	return 0;
}

int
vault_file_replace(struct vault_file *c, const char *path, const void *value, size_t len,
    uint64_t now, uint32_t *ret)
{
	bool next = c->open && entry_current(c, path) != NULL;
	int r = vault_file_put(c, path, value, len, next, now, ret);
	size_t i = r == 0 ? entry_place(c, path, 0) : c->entry_n;

	while (i < c->entry_n && strcmp(c->entry[i].said.path, path) == 0)
		if (c->entry[i].said.retired != 0)
			entry_drop(c, i);
		else
			i++;
	return r;
}

int
vault_file_restore(
    struct vault_file *c, const char *path, uint32_t version, uint64_t now, uint32_t *ret)
{
	size_t place = entry_place(c, path, version);
	const struct vault_entry *e = &c->entry[place];
	uint32_t len;
	int r;

	if (!c->open)
		return -ENOKEY;
	if (place == c->entry_n || strcmp(e->said.path, path) != 0 ||
	    e->said.version != version)
		return -ENOENT;
	if (e->said.retired == 0)
		return -EEXIST; /* it is already current */
	len = e->said.len;
	r = entry_open(c, e, c->keys->work);
	if (r == 0)
		r = vault_file_put(c, path, c->keys->work, len, true, now, ret);
	vault_wipe(c->keys->work, len);
	return r;
}

int
vault_file_remove(struct vault_file *c, const char *path)
{
	size_t place = entry_place(c, path, 0), n = 0;

	if (!c->open)
		return -ENOKEY;
	while (place < c->entry_n && strcmp(c->entry[place].said.path, path) == 0) {
		entry_drop(c, place);
		n++;
	}
	(void)vault_file_revoke(c, path, NULL, NULL); /* there may be none */
	return n > 0 ? 0 : -ENOENT;
}

size_t
vault_file_prune(struct vault_file *c, uint64_t now)
{
	size_t n = 0;

	for (size_t i = 0; c->open && i < c->entry_n;) {
		uint64_t retired = c->entry[i].said.retired;

		if (retired != 0 && now > retired && now - retired > VAULT_FILE_GRACE_S) {
			entry_drop(c, i);
			n++;
		} else
			i++;
	}
	return n;
}

size_t
vault_file_entry_n(const struct vault_file *c)
{
	return c->entry_n;
}

struct vault_file_entry
vault_file_entry(const struct vault_file *c, size_t i)
{
	return c->entry[i].said;
}

int
vault_file_get(
    struct vault_file *c, const char *path, uint32_t which, void *out, size_t *ret_len)
{
	const struct vault_entry *e;
	int r;

	if (!c->open)
		return -ENOKEY;
	e = entry_current(c, path);
	/* versions of a path are adjacent, the newest last */
	if (e == NULL || which > (size_t)(e - c->entry) ||
	    strcmp((e - which)->said.path, path) != 0)
		return -ENOENT;
	r = entry_open(c, e - which, out);
	if (r == 0)
		*ret_len = (e - which)->said.len;
	return r;
}

/* ---- grants -------------------------------------------------------------------- */

static void
grant_drop(struct vault_file *c, size_t i)
{
	free((char *)c->grant[i].path);
	free((char *)c->grant[i].server);
	c->grant_n--;
	memmove(&c->grant[i], &c->grant[i + 1], (c->grant_n - i) * sizeof(c->grant[0]));
}

int
vault_file_grant(struct vault_file *c, const struct vault_file_grant *given)
{
	struct vault_file_grant g = *given;
	char *path, *server;
	size_t place = 0;
	int order = -1;

	if (!c->open)
		return -ENOKEY;
	if (!secret_path_good(g.path) || g.server[0] == '\0' ||
	    strlen(g.server) > VAULT_FILE_SERVER_MAX ||
	    (g.whose != GRANT_POLICY && g.whose != GRANT_SIGNER))
		return -EINVAL;
	while (place < c->grant_n && (order = grant_order(&c->grant[place], &g)) < 0)
		place++;
	if (place < c->grant_n && order == 0)
		return -EEXIST;
	if (c->grant_n == VAULT_FILE_GRANTS_MAX)
		return -ENOSPC;
	path = strdup(given->path);
	server = strdup(given->server);
	if (path == NULL || server == NULL) {
		free(path);
		free(server);
		return -ENOMEM;
	}
	g.path = path;
	g.server = server;
	memmove(&c->grant[place + 1], &c->grant[place],
	    (c->grant_n - place) * sizeof(c->grant[0]));
	c->grant[place] = g;
	c->grant_n++;
	return 0;
}

static bool
grant_about(const struct vault_file_grant *g, const char *path, const char *server,
    const uint8_t *id)
{
	return strcmp(g->path, path) == 0 &&
	       (server == NULL || strcmp(g->server, server) == 0) &&
	       (id == NULL || memcmp(g->id, id, sizeof(g->id)) == 0);
}

size_t
vault_file_revoke(
    struct vault_file *c, const char *path, const char *server, const uint8_t *id)
{
	size_t n = 0;

	for (size_t i = 0; c->open && i < c->grant_n;) {
		if (grant_about(&c->grant[i], path, server, id)) {
			grant_drop(c, i);
			n++;
		} else
			i++;
	}
	return n;
}

size_t
vault_file_grant_n(const struct vault_file *c)
{
	return c->grant_n;
}

const struct vault_file_grant *
vault_file_grant_at(const struct vault_file *c, size_t i)
{
	return &c->grant[i];
}

/* Did key sign this policy?  The grant is for the signer, so the keeper checks the
 * signature itself. */
static bool
signed_with(const struct vault_file_asker *a, const uint8_t key[VAULT_FILE_ID_LEN])
{
	struct sign_message message = {.domain = SIGN_DOMAIN};

	if (a->head == NULL || (a->head->until != 0 && a->head->until < a->today))
		return false;
	message.head = *a->head;
	message.head.signer_n = 0;
	memcpy(message.id, a->id, sizeof(message.id));
	for (size_t i = 0; i < a->row_n; i++) {
		if (memcmp(a->row[i].key, key, VAULT_FILE_ID_LEN) == 0)
			return crypto_sign_verify_detached(a->row[i].sig,
				   (const uint8_t *)&message, sizeof(message), key) == 0;
	}
	return false;
}

bool
vault_file_allows(const struct vault_file *c, const struct vault_file_asker *a)
{
	for (size_t i = 0; c->open && i < c->grant_n; i++) {
		const struct vault_file_grant *g = &c->grant[i];

		if (!grant_about(g, a->path, a->server, NULL))
			continue;
		if (g->whose == GRANT_POLICY ? memcmp(g->id, a->id, sizeof(g->id)) == 0
					     : signed_with(a, g->id))
			return true;
	}
	return false;
}

bool
vault_file_granted_once(const struct vault_file *c, const char *path, const char *server)
{
	for (size_t i = 0; i < c->grant_n; i++) {
		if (grant_about(&c->grant[i], path, server, NULL))
			return true;
	}
	return false;
}
