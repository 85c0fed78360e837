/*
 * Security keys (WebAuthn): the second factor `with key`.
 *
 *	kennel-secret, kennel-form		keeper			kennel-fido
 *	CHALLENGE digest of an approval ------>	draws one
 *	  <------------------- it, and the keys
 *	(the browser asks the key to sign it)
 *	CONFIRM challenge, signature, digest ->	was it drawn for this
 *						digest, in the last 60 s,
 *						and not used? ------------>	right or not
 *	  <------------------------------ DONE	kept as confirm.c says
 *
 * Process: kennel-keeper. The challenge is SHA-256 of the approval's digest and a random
 * value, so a signature confirms one approval, and once. To add a key or to remove one
 * takes the vault's passphrase: a program of this user cannot make a key its own.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "leash/keeper/key_list.h"
#include "leash/keeper/private.h"
#include "shim/base/log.h"

#define CHALLENGE_NS   (60ull * 1000000000ull)
#define CHALLENGES_MAX 16 /* the oldest makes room */

/* A new key has no approval: its challenge is drawn for this. */
static const uint8_t for_new_key[KEEPER_DIGEST_LEN];

static struct challenge {
	uint8_t bytes[FIDO_CHALLENGE_LEN], digest[KEEPER_DIGEST_LEN];
	uint64_t until; /* loop_now(); 0: free */
} challenges[CHALLENGES_MAX];

/* Too large for a stack: nothing in it is secret. */
static struct key_list keys;
static struct fido_answer answer;

void
key_forget(void)
{
	memset(challenges, 0, sizeof(challenges));
}

/* ---- challenges ----------------------------------------------------------------- */

static const struct challenge *
draw(const uint8_t digest[KEEPER_DIGEST_LEN])
{
	uint8_t mixed[KEEPER_DIGEST_LEN + FIDO_CHALLENGE_LEN];
	struct challenge *c = &challenges[0];

	for (size_t i = 1; i < CHALLENGES_MAX; i++)
		if (challenges[i].until < c->until)
			c = &challenges[i];
	memcpy(mixed, digest, KEEPER_DIGEST_LEN);
	randombytes_buf(mixed + KEEPER_DIGEST_LEN, FIDO_CHALLENGE_LEN);
	(void)crypto_hash_sha256(c->bytes, mixed, sizeof(mixed)); /* always 0 */
	memcpy(c->digest, digest, KEEPER_DIGEST_LEN);
	c->until = loop_now() + CHALLENGE_NS;
	return c;
}

/* Was it drawn for this digest in the last minute? It is used up either way. */
static bool
take(struct span challenge, const uint8_t digest[KEEPER_DIGEST_LEN])
{
	for (size_t i = 0; i < CHALLENGES_MAX; i++) {
		struct challenge *c = &challenges[i];
		bool is;

		if (c->until == 0 || challenge.len != sizeof(c->bytes) ||
		    memcmp(c->bytes, challenge.data, sizeof(c->bytes)) != 0)
			continue;
		is = c->until > loop_now() &&
		     memcmp(c->digest, digest, KEEPER_DIGEST_LEN) == 0;
		c->until = 0;
		return is;
	}
	return false;
}

static void
put_keys(struct wire_out *out)
{
	wire_put_u32(out, (uint32_t)keys.n);
	for (size_t i = 0; i < keys.n; i++) {
		wire_put_bytes(out, keys.row[i].id, keys.row[i].id_len);
		wire_put_str(out, keys.row[i].label);
		wire_put_u64(out, keys.row[i].made);
	}
}

int
key_challenge(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	struct span digest = wire_get_bytes(in, KEEPER_DIGEST_LEN);
	int r;

	(void)peer;
	if (wire_end(in) < 0 || digest.len != KEEPER_DIGEST_LEN)
		return -EBADMSG;
	r = keeper_is_open() ? key_list_read(&keys) : -ENOKEY;
	if (r < 0)
		return answer_error(out, r);
	wire_put_u32(out, KEEPER_CHALLENGE_IS);
	wire_put_bytes(out, draw(digest.data)->bytes, FIDO_CHALLENGE_LEN);
	put_keys(out);
	return out->error;
}

/* ---- a signature for an approval ------------------------------------------------ */

static int
refuse(struct peer *peer, struct wire_out *out, const char *why)
{
	char text[KEEPER_TEXT_MAX];

	(void)snprintf(text, sizeof(text), "the key's answer was refused: %.150s", why);
	log_warn("%s, of process %d (%s)", text, peer->pid, peer->who);
	return answer_refuse(out, REASON_WRONG, text);
}

/* A key that counts sends a higher number each time: a lower one is of a copy. */
static bool
counts(struct key_row *row, uint32_t counter)
{
	if (counter <= row->counter && (counter != 0 || row->counter != 0))
		return false;
	row->counter = counter;
	return true;
}

static const char *
signature_wrong(struct fido_question *q, const uint8_t digest[KEEPER_DIGEST_LEN])
{
	struct key_row *row;

	if (!take(q->challenge, digest))
		return "it is for no challenge of this approval, or came too late: try "
		       "again";
	row = key_list_find(&keys, q->id);
	if (row == NULL)
		return "this key is not registered";
	q->algorithm = row->algorithm;
	q->public_key = (struct span){row->public_key, row->public_len};
	fido_ask(q, &answer);
	if (answer.verdict != FIDO_RIGHT)
		return answer.why;
	return counts(row, answer.counter)
		   ? NULL
		   : "its counter did not rise: another key may have been made from it";
}

/* The counter is kept before the approval counts as confirmed. */
static int
keep_counter(const struct key_row *row)
{
	int r = row->counter == 0 ? 0 : key_list_keep(&keys);

	return r < 0 || row->counter == 0 ? r : change_save();
}

bool
key_confirms(struct peer *peer, struct span material,
    const uint8_t digest[KEEPER_DIGEST_LEN], struct wire_out *out)
{
	struct fido_question q = {.use = FIDO_CONFIRM};
	struct wire_in in;
	const char *why;
	int r;

	wire_in_init(&in, material.data, material.len);
	q.challenge = wire_get_bytes(&in, FIDO_CHALLENGE_LEN);
	q.id = wire_get_bytes(&in, FIDO_ID_MAX);
	q.client_data = wire_get_bytes(&in, FIDO_CLIENT_MAX);
	q.auth_data = wire_get_bytes(&in, FIDO_AUTH_MAX);
	q.signature = wire_get_bytes(&in, FIDO_SIGNATURE_MAX);
	if (wire_end(&in) < 0 || memcmp(digest, for_new_key, KEEPER_DIGEST_LEN) == 0) {
		out->error = -EBADMSG;
		return false;
	}
	r = keeper_is_open() ? key_list_read(&keys) : -ENOKEY;
	why = r < 0 ? NULL : signature_wrong(&q, digest);
	if (why != NULL) {
		(void)refuse(peer, out, why);
		return false;
	}
	if (r == 0)
		r = keep_counter(key_list_find(&keys, q.id));
	if (r < 0)
		(void)answer_error(out, r);
	return r == 0;
}

/* ---- keys ----------------------------------------------------------------------- */

static const char *
add(struct fido_question *q, const char *label)
{
	struct key_row *row;

	if (!take(q->challenge, for_new_key))
		return "it is for no challenge of a new key, or came too late: try again";
	if (keys.n == KEEPER_KEYS_MAX)
		return "there are 16 keys already: remove one first";
	fido_ask(q, &answer);
	if (answer.verdict != FIDO_RIGHT)
		return answer.why;
	if (key_list_find(&keys, (struct span){answer.id, answer.id_len}) != NULL)
		return "this key is registered already";
	row = &keys.row[keys.n++];
	*row = (struct key_row){.id_len = answer.id_len,
	    .algorithm = answer.algorithm,
	    .public_len = answer.public_len,
	    .counter = answer.counter,
	    .made = change_now()};
	memcpy(row->id, answer.id, answer.id_len);
	memcpy(row->public_key, answer.public_key, answer.public_len);
	(void)snprintf(row->label, sizeof(row->label), "%s", label);
	return NULL;
}

int
key_add(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	struct fido_question q = {.use = FIDO_REGISTER};
	uint32_t kind = wire_get_u32(in);
	struct span material = wire_get_bytes(in, KEEPER_MATERIAL_MAX);
	const char *label, *why;
	int r;

	q.challenge = wire_get_bytes(in, FIDO_CHALLENGE_LEN);
	q.client_data = wire_get_bytes(in, FIDO_CLIENT_MAX);
	q.auth_data = wire_get_bytes(in, FIDO_AUTH_MAX);
	label = wire_get_str(in, KEEPER_LABEL_MAX);
	if (wire_end(in) < 0 || kind != KEEPER_PASSPHRASE)
		return -EBADMSG;
	if (!confirm_passphrase(peer, material, out))
		return out->error;
	r = key_list_read(&keys);
	if (r < 0)
		return answer_error(out, r);
	why = add(&q, label);
	if (why != NULL)
		return refuse(peer, out, why);
	log_info("a key was registered by process %d (%s)", peer->pid, peer->who);
	return change_settle(out, key_list_keep(&keys), (uint32_t)keys.n);
}

int
key_remove(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	uint32_t kind = wire_get_u32(in);
	struct span material = wire_get_bytes(in, KEEPER_MATERIAL_MAX);
	struct span id = wire_get_bytes(in, FIDO_ID_MAX);
	struct key_row *row;
	int r;

	if (wire_end(in) < 0 || kind != KEEPER_PASSPHRASE)
		return -EBADMSG;
	if (!confirm_passphrase(peer, material, out))
		return out->error;
	r = key_list_read(&keys);
	row = r < 0 ? NULL : key_list_find(&keys, id);
	if (row == NULL)
		return answer_error(out, r < 0 ? r : -ENOENT);
	*row = keys.row[--keys.n];
	log_info("a key was removed by process %d (%s)", peer->pid, peer->who);
	return change_settle(out, key_list_keep(&keys), (uint32_t)keys.n);
}

int
key_list_answer(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	int r;

	(void)peer;
	if (wire_end(in) < 0)
		return -EBADMSG;
	r = keeper_is_open() ? key_list_read(&keys) : -ENOKEY;
	if (r < 0)
		return answer_error(out, r);
	wire_put_u32(out, KEEPER_KEYS_ARE);
	put_keys(out);
	return out->error;
}
