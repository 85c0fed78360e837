/*
 * A refresh token of a server with `auth oauth2`: its leash stores what the issuer
 * sent.
 *
 * Process: kennel-keeper.  The only change that a leash requests.  It reaches one
 * path, which the server's name makes, and a value of 8 KiB.  Without a grant it is a
 * login: then the entry and the grant for this policy are made.  A process of this user
 * could do both with PUT and GRANT, so the login needs no other right.
 */
#include <errno.h>
#include <string.h>

#include "leash/keeper/private.h"
#include "shim/base/log.h"

static int
grant(const struct vault_file_asker *a)
{
	struct vault_file_grant g = {.path = a->path,
	    .server = a->server,
	    .whose = GRANT_POLICY,
	    .made = change_now()};
	int r;

	memcpy(g.id, a->id, sizeof(g.id));
	r = vault_file_grant(keeper.file, &g);
	return r == -EEXIST ? 0 : r;
}

int
store_refresh(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	struct asking q = {0};
	const struct vault_file_asker *a = &q.asker;
	struct span value;
	uint32_t version = 0;
	uint8_t login;
	int r = answer_asking(in, &q);

	login = wire_get_u8(in);
	value = wire_get_bytes(in, KEEPER_REFRESH_MAX);
	if (r < 0 || wire_end(in) < 0 || login > 1)
		return -EBADMSG;
	if (!secret_path_is_refresh_of(a->path, a->server))
		return answer_refuse(
		    out, REASON_BAD, "it is no refresh token of this server");
	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	if (login == 0 && !answer_allowed(peer, a, out))
		return out->error;
	/* the next login may be at another issuer: earlier policies of that name would send
	 * its token to theirs */
	if (login == 1)
		(void)vault_file_revoke(keeper.file, a->path, NULL, NULL);
	r = vault_file_replace(
	    keeper.file, a->path, value.data, value.len, change_now(), &version);
	if (r == 0 && login == 1)
		r = grant(a);
	if (r == 0)
		log_info("%s has version %u, %s, by process %d (%s)", a->path, version,
		    login == 1 ? "after a login" : "as the issuer replaced it", peer->pid,
		    peer->who);
	return login == 1 ? change_settle(out, r, version)
			  : change_settle_alone(out, r, version);
}
