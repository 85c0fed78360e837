/*
 * The second factor of an approval (kennel-policy(5), `with passphrase`, `with key`): a
 * person confirms the digest of what was shown with the vault's passphrase or a security
 * key (key.c), and the side that decides asks once whether that has happened.
 *
 *	kennel-secret confirm		keeper			kennel
 *	CONFIRM material, digest ----->	right: kept for 60 s
 *					  <---------------- CONFIRMED digest
 *					DONE how, forgotten -->
 *
 * Process: kennel-keeper.  Three wrong passphrases in a row lock the vault, here and when
 * an open vault is to be unlocked again, so that trying them leaves a mark.
 */
#include <errno.h>
#include <string.h>

#include "leash/keeper/private.h"
#include "shim/base/log.h"

#define CONFIRMED_NS  (60ull * 1000000000ull)
#define CONFIRMED_MAX 64
#define WRONG_MAX     3

/* What was confirmed and not yet asked for; until 0: free. */
static struct confirmations {
	struct {
		uint8_t digest[KEEPER_DIGEST_LEN];
		uint64_t until; /* loop_now() */
		uint32_t with;  /* enum keeper_factor */
	} row[CONFIRMED_MAX];
	unsigned int wrong; /* passphrases in a row */
} confirmations;

void
confirm_forget(void)
{
	confirmations = (struct confirmations){0};
}

/* A free row, or the one that expires first. */
static size_t
place(uint64_t now)
{
	size_t first = 0;

	for (size_t i = 0; i < CONFIRMED_MAX; i++) {
		if (confirmations.row[i].until <= now)
			return i;
		if (confirmations.row[i].until < confirmations.row[first].until)
			first = i;
	}
	return first;
}

int
confirm_material(const struct vault_file_material *m)
{
	int r = keeper_is_open() ? vault_file_matches(keeper.file, m) : -ENOKEY;

	if (r == 0)
		confirmations.wrong = 0;
	else if (r == -EKEYREJECTED && ++confirmations.wrong == WRONG_MAX)
		keeper_lock("three wrong passphrases in a row");
	return r;
}

static int
refuse_wrong(struct peer *peer, int r, struct wire_out *out)
{
	log_warn("a confirmation of process %d (%s) was refused", peer->pid, peer->who);
	if (r == -ENOENT)
		return answer_refuse(out, REASON_WRONG, "the vault has no passphrase");
	if (r != -EKEYREJECTED)
		return answer_error(out, r);
	return answer_refuse(
	    out, REASON_WRONG, keeper_is_open() ? "wrong passphrase" : CONFIRM_LOCKED);
}

bool
confirm_passphrase(struct peer *peer, struct span bytes, struct wire_out *out)
{
	struct vault_file_material m = {OPENER_PASSPHRASE, bytes.data, bytes.len};
	int r = confirm_material(&m);

	if (r == -ENOKEY)
		(void)answer_error(out, r);
	else if (r < 0)
		(void)refuse_wrong(peer, r, out);
	return r == 0;
}

static void
remember(const struct peer *peer, const uint8_t digest[KEEPER_DIGEST_LEN],
    enum keeper_factor with)
{
	uint64_t now = loop_now();
	size_t i = place(now);

	memcpy(confirmations.row[i].digest, digest, KEEPER_DIGEST_LEN);
	confirmations.row[i].until = now + CONFIRMED_NS;
	confirmations.row[i].with = with;
	log_info("confirmed an approval for process %d (%s)", peer->pid, peer->who);
	keeper_used();
}

int
confirm_digest(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	uint32_t kind = wire_get_u32(in);
	struct span bytes = wire_get_bytes(in, KEEPER_MATERIAL_MAX);
	struct span digest = wire_get_bytes(in, KEEPER_DIGEST_LEN);
	enum keeper_factor with =
	    kind == KEEPER_ASSERTION ? CONFIRMED_KEY : CONFIRMED_PASSPHRASE;

	/* A key file is there for every program of the user: it confirms nothing. */
	if (wire_end(in) < 0 || digest.len != KEEPER_DIGEST_LEN ||
	    (kind != KEEPER_PASSPHRASE && kind != KEEPER_ASSERTION))
		return -EBADMSG;
	if (with == CONFIRMED_KEY ? !key_confirms(peer, bytes, digest.data, out)
				  : !confirm_passphrase(peer, bytes, out))
		return out->error;
	remember(peer, digest.data, with);
	return answer_done(out, 0);
}

int
confirm_ask(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	struct span digest = wire_get_bytes(in, KEEPER_DIGEST_LEN);
	uint64_t now = loop_now();
	uint32_t with = CONFIRMED_NOT;

	(void)peer;
	if (wire_end(in) < 0 || digest.len != KEEPER_DIGEST_LEN)
		return -EBADMSG;
	for (size_t i = 0; with == CONFIRMED_NOT && i < CONFIRMED_MAX; i++) {
		if (confirmations.row[i].until <= now ||
		    memcmp(confirmations.row[i].digest, digest.data, KEEPER_DIGEST_LEN) !=
			0)
			continue;
		confirmations.row[i].until = 0;
		with = confirmations.row[i].with;
	}
	return answer_done(out, with);
}
