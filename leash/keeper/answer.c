/*
 * The keeper's read requests: the state, the list, and a leash's request for a
 * value.
 *
 * Process: kennel-keeper.  This file has the only place where a value is sent, and
 * the only check that permits it: is there a grant in the vault file for this path,
 * this server and this policy?  The client's identity and the name it gives itself
 * are for the log only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "leash/keeper/private.h"
#include "shim/base/array.h"
#include "shim/base/log.h"

#define DAY_S 86400

/* ---- replies ------------------------------------------------------------------- */

int
answer_refuse(struct wire_out *out, enum keeper_reason reason, const char *text)
{
	wire_put_u32(out, KEEPER_REFUSED);
	wire_put_u32(out, reason);
	wire_put_str(out, text);
	return out->error;
}

int
answer_done(struct wire_out *out, uint32_t what)
{
	wire_put_u32(out, KEEPER_DONE);
	wire_put_u32(out, what);
	return out->error;
}

static const struct {
	int error;
	enum keeper_reason reason;
	const char *text;
} error_row[] = {
    {-ENOKEY, REASON_LOCKED, "the vault is locked"},
    {-EKEYREJECTED, REASON_WRONG, "wrong passphrase, key file or recovery phrase"},
    {-EUCLEAN, REASON_ALTERED,
	"the vault file was changed by another program" RESTORE_BACKUP},
    {-ESTALE, REASON_ALTERED,
	"the vault file was replaced, and the vault is locked: unlock it if this is your "
	"file, else restore a backup (kennel-secret(1), Backups)"},
    {-ENOENT, REASON_NOT_THERE, "it is not in the vault"},
    {-EEXIST, REASON_THERE, "it is in the vault already"},
    {-EINVAL, REASON_BAD, "invalid path, name or value"},
    {-ENOSPC, REASON_FULL, "the vault is full"},
    {-EFBIG, REASON_FULL, "the vault has its maximum size"},
};

static enum keeper_state
state(void)
{
	struct stat st;

	if (keeper_is_open())
		return STATE_OPEN;
	/* syscalls: newfstatat */
	return fstatat(KEEPER_FD_VAULT, VAULT_FILE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0
		   ? STATE_LOCKED
		   : STATE_NONE;
}

int
answer_error(struct wire_out *out, int error)
{
	if (error == -ENOKEY && state() == STATE_NONE)
		return answer_refuse(out, REASON_NO_VAULT, "no vault found");
	for (size_t i = 0; i < ARRAY_LEN(error_row); i++) {
		if (error_row[i].error == error)
			return answer_refuse(out, error_row[i].reason, error_row[i].text);
	}
	return answer_refuse(out, REASON_FAILED, strerror(-error));
}

int
answer_load(struct reason *why)
{
	why->text[0] = '\0';
	if (keeper.file != NULL)
		return 0;
	keeper.seen = (struct vault_file_seen){0};
	return vault_file_load(
	    KEEPER_FD_VAULT, keeper.pages, &keeper.file, &keeper.seen, why);
}

/* ---- requests ------------------------------------------------------------------ */

int
answer_hello(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	uint32_t version = wire_get_u32(in);
	const char *who = wire_get_str(in, KEEPER_WHO_MAX - 1);
	uint64_t dev = wire_get_u64(in), ino = wire_get_u64(in);
	struct stat st;

	if (wire_end(in) < 0 || version != KEEPER_VERSION)
		return -EBADMSG;
	if (fstat(KEEPER_FD_VAULT, &st) < 0)
		return -errno;
	if (ino != 0 && (dev != st.st_dev || ino != st.st_ino))
		return answer_refuse(
		    out, REASON_OTHER_VAULT, "this keeper serves another vault");
	(void)snprintf(peer->who, sizeof(peer->who), "%s", who);
	peer->greeted = true;
	wire_put_u32(out, KEEPER_WELCOME);
	wire_put_u32(out, state());
	return out->error;
}

int
answer_lock(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	if (wire_end(in) < 0)
		return -EBADMSG;
	keeper_lock("on request");
	return answer_done(out, 0);
}

/* ---- pages: u32 the next row (0: none), u32 count, the rows -------------------- */

/* Writes row i; false: it is not of this path. */
typedef bool row_fn(struct wire_out *, const char *path, size_t i);

/* The rows from `from` on; path: of one secret, or empty for all. */
static int
put_page(struct wire_out *out, enum keeper_message type, const char *path, uint32_t from,
    size_t count, row_fn *put)
{
	struct wire_out head;
	size_t i = from;
	uint32_t n = 0;

	wire_put_u32(out, type);
	head = *out;
	wire_put_u32(out, 0);
	wire_put_u32(out, 0);
	for (; i < count && n < KEEPER_ROWS; i++)
		n += put(out, path, i);
	if (out->error == 0) {
		wire_put_u32(&head, i < count ? (uint32_t)i : 0);
		wire_put_u32(&head, n);
	}
	keeper_used();
	return out->error;
}

static bool
put_version(struct wire_out *out, const char *path, size_t i)
{
	struct vault_file_entry e = vault_file_entry(keeper.file, i);

	if ((path[0] != '\0' && strcmp(path, e.path) != 0) ||
	    strcmp(e.path, KEYS_PATH) == 0)
		return false;
	wire_put_str(out, e.path);
	wire_put_u32(out, e.version);
	wire_put_u64(out, e.made);
	wire_put_u64(out, e.retired);
	return true;
}

static bool
put_grant(struct wire_out *out, const char *path, size_t i)
{
	const struct vault_file_grant *g = vault_file_grant_at(keeper.file, i);

	wire_put_str(out, g->path);
	wire_put_str(out, g->server);
	wire_put_u32(out, g->whose);
	wire_put_bytes(out, g->id, sizeof(g->id));
	wire_put_u64(out, g->made);
	return true;
}

int
answer_versions(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	const char *path = wire_get_str(in, KEEPER_PATH_MAX);
	uint32_t from = wire_get_u32(in);

	if (wire_end(in) < 0)
		return -EBADMSG;
	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	return put_page(out, KEEPER_VERSIONS_ARE, path, from,
	    vault_file_entry_n(keeper.file), put_version);
}

int
answer_grants(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	uint32_t from = wire_get_u32(in);

	if (wire_end(in) < 0)
		return -EBADMSG;
	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	return put_page(
	    out, KEEPER_GRANTS_ARE, "", from, vault_file_grant_n(keeper.file), put_grant);
}

/* ---- values -------------------------------------------------------------------- */

int
answer_asking(struct wire_in *in, struct asking *ret)
{
	struct vault_file_asker *a = &ret->asker;
	struct span id, head, rows;

	a->path = wire_get_str(in, KEEPER_PATH_MAX);
	a->server = wire_get_str(in, KEEPER_SERVER_MAX);
	id = wire_get_bytes(in, KEEPER_ID_LEN);
	head = wire_get_bytes(in, sizeof(ret->head));
	rows = wire_get_bytes(in, sizeof(ret->row));
	if (in->error != 0 || id.len != KEEPER_ID_LEN ||
	    (head.len != 0 && head.len != sizeof(ret->head)) ||
	    rows.len % sizeof(ret->row[0]) != 0 || (head.len == 0 && rows.len != 0))
		return -EBADMSG;
	a->id = id.data;
	/* copied: packets are not aligned */
	memcpy(&ret->head, head.data, head.len);
	memcpy(ret->row, rows.data, rows.len);
	a->head = head.len > 0 ? &ret->head : NULL;
	a->row = ret->row;
	a->row_n = rows.len / sizeof(ret->row[0]);
	a->today = (uint32_t)(time(NULL) / DAY_S);
	return 0;
}

static void
note(const struct peer *peer, const struct vault_file_asker *a, const char *what)
{
	char server[KEEPER_SERVER_MAX * 4 + 1];

	/* for the log only: any process of this user can claim any name */
	log_info("%s %s for server %s: asked by process %d, which calls itself %s", what,
	    secret_path_good(a->path) ? a->path : "(no path)",
	    log_quote(server, sizeof(server), a->server, strlen(a->server)), peer->pid,
	    peer->who);
}

/* A grant cannot give one server the refresh token of another. */
static bool
is_of_other(const struct vault_file_asker *a)
{
	return secret_path_is_refresh(a->path) &&
	       !secret_path_is_refresh_of(a->path, a->server);
}

bool
answer_allowed(struct peer *peer, const struct vault_file_asker *a, struct wire_out *out)
{
	bool other = is_of_other(a);

	if (!other && vault_file_allows(keeper.file, a))
		return true;
	note(peer, a, "refused");
	if (!other && vault_file_granted_once(keeper.file, a->path, a->server))
		(void)answer_refuse(
		    out, REASON_OTHER_POLICY, "it was granted for another policy");
	else
		(void)answer_refuse(
		    out, REASON_NO_GRANT, "it was not granted to this server");
	return false;
}

/* which: 0 is the current value. */
static int
release(struct peer *peer, const struct asking *q, uint32_t which, struct wire_out *out)
{
	const struct vault_file_asker *a = &q->asker;
	size_t len = 0;
	int r;

	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	/* what a person does first; answer_versions() tells it to every peer */
	if (!change_has_path(a->path))
		return answer_error(out, -ENOENT);
	if (!answer_allowed(peer, a, out))
		return out->error;
	/* directly into the packet: u32 type, u32 length, the bytes, NUL */
	r = vault_file_get(keeper.file, a->path, which, out->data + 8, &len);
	if (r < 0)
		return answer_error(out, r);
	wire_put_u32(out, KEEPER_VALUE);
	wire_put_u32(out, (uint32_t)len);
	out->len += len;
	wire_put_u8(out, 0);
	note(peer, a, which == 0 ? "released" : "released an old value, to be redacted,");
	/* a remote server decides when its token is renewed: that keeps no vault open */
	if (!secret_path_is_refresh_of(a->path, a->server))
		keeper_used();
	return out->error;
}

int
answer_release(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	struct asking q = {0};

	if (answer_asking(in, &q) < 0 || wire_end(in) < 0)
		return -EBADMSG;
	return release(peer, &q, 0, out);
}

/* A client with access to the value may have its old values: it had them before. */
int
answer_release_old(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	struct asking q = {0};
	uint32_t which;
	int r = answer_asking(in, &q);

	which = wire_get_u32(in);
	if (r < 0 || wire_end(in) < 0 || which == 0)
		return -EBADMSG;
	return release(peer, &q, which, out);
}
