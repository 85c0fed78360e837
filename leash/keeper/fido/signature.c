/*
 * Is what a security key signed right? With libfido2, for keys of ES256 and EdDSA.
 *
 * A new key needs no proof of its maker (attestation): the person who adds it has the
 * vault's passphrase.
 */
#include <fido.h>
#include <fido/eddsa.h>
#include <fido/es256.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "leash/keeper/fido/fido.h"

/* Of authenticator data (section 6.1): a digest, flags, a counter; the rest follows. */
#define RP_LEN     32u
#define FLAGS_AT   RP_LEN
#define AUTH_MIN   (RP_LEN + 1 + 4)
#define TOUCHED    0x01u /* a user was present */
#define VERIFIED   0x04u /* by a PIN or a finger */
#define CREDENTIAL 0x40u /* a new credential follows */
#define COSE(a)    (-(int)(a))
#define ES256_LEN  64u /* bytes of a public key: x and y */
#define EDDSA_LEN  32u

static void
say(struct fido_answer *a, enum fido_verdict verdict, const char *why)
{
	a->verdict = verdict;
	(void)snprintf(a->why, sizeof(a->why), "%s", why);
}

/* NULL; or why this authenticator data is not of a touch for this program. */
static const char *
auth_data_wrong(struct span d, unsigned int flags)
{
	uint8_t rp[RP_LEN];

	if (d.len < AUTH_MIN)
		return "the key's data is too short";
	(void)crypto_hash_sha256(
	    rp, (const uint8_t *)FIDO_RP, sizeof(FIDO_RP) - 1); /* always 0 */
	if (memcmp(d.data, rp, RP_LEN) != 0)
		return "the key signed for another site";
	if ((d.data[FLAGS_AT] & TOUCHED) == 0)
		return "the key was not touched";
	if ((d.data[FLAGS_AT] & VERIFIED) == 0)
		return "the key did not verify its user: set a PIN or a fingerprint";
	return (d.data[FLAGS_AT] & flags) != flags ? "the key sent no credential" : NULL;
}

static const char *
common_wrong(const struct fido_question *q, const char *type, unsigned int flags)
{
	const char *why = client_data_wrong(q->client_data, type, q->challenge.data);

	return why != NULL ? why : auth_data_wrong(q->auth_data, flags);
}

/* ---- a new key ------------------------------------------------------------------ */

/* The credential in the data, if its key has this algorithm. */
static bool
credential_of(const struct fido_question *q, enum fido_algorithm algorithm, size_t want,
    struct fido_answer *a)
{
	fido_cred_t *c = fido_cred_new();
	bool is = c != NULL && fido_cred_set_type(c, COSE(algorithm)) == FIDO_OK &&
		  fido_cred_set_authdata_raw(c, q->auth_data.data, q->auth_data.len) ==
		      FIDO_OK &&
		  fido_cred_id_len(c) > 0 && fido_cred_id_len(c) <= sizeof(a->id) &&
		  fido_cred_pubkey_len(c) == want;

	if (is) {
		a->id_len = fido_cred_id_len(c);
		memcpy(a->id, fido_cred_id_ptr(c), a->id_len);
		a->public_len = want;
		memcpy(a->public_key, fido_cred_pubkey_ptr(c), want);
		a->algorithm = algorithm;
		a->counter = fido_cred_sigcount(c);
	}
	fido_cred_free(&c);
	return is;
}

void
signature_register(const struct fido_question *q, struct fido_answer *a)
{
	const char *why = common_wrong(q, "webauthn.create", CREDENTIAL);

	if (why != NULL)
		say(a, FIDO_WRONG, why);
	else if (credential_of(q, FIDO_ES256, ES256_LEN, a) ||
		 credential_of(q, FIDO_EDDSA, EDDSA_LEN, a))
		say(a, FIDO_RIGHT, "");
	else
		say(a, FIDO_WRONG, "the key is neither of ES256 nor of EdDSA");
}

/* ---- a signature ---------------------------------------------------------------- */

/* What the key signed, ready to be compared with a public key; NULL: no. */
static fido_assert_t *
assertion_make(const struct fido_question *q)
{
	fido_assert_t *s = fido_assert_new();

	if (s != NULL &&
	    fido_assert_set_clientdata(s, q->client_data.data, q->client_data.len) ==
		FIDO_OK &&
	    fido_assert_set_rp(s, FIDO_RP) == FIDO_OK &&
	    fido_assert_set_up(s, FIDO_OPT_TRUE) == FIDO_OK &&
	    fido_assert_set_uv(s, FIDO_OPT_TRUE) == FIDO_OK &&
	    fido_assert_set_count(s, 1) == FIDO_OK &&
	    fido_assert_set_authdata_raw(s, 0, q->auth_data.data, q->auth_data.len) ==
		FIDO_OK &&
	    fido_assert_set_sig(s, 0, q->signature.data, q->signature.len) == FIDO_OK)
		return s;
	fido_assert_free(&s);
	return NULL;
}

static bool
signed_by(const fido_assert_t *s, const struct fido_question *q)
{
	es256_pk_t *es = es256_pk_new();
	eddsa_pk_t *ed = eddsa_pk_new();
	bool is = false;

	if (q->algorithm == FIDO_ES256)
		is = es != NULL &&
		     es256_pk_from_ptr(es, q->public_key.data, q->public_key.len) ==
			 FIDO_OK &&
		     fido_assert_verify(s, 0, COSE_ES256, es) == FIDO_OK;
	else if (q->algorithm == FIDO_EDDSA)
		is = ed != NULL &&
		     eddsa_pk_from_ptr(ed, q->public_key.data, q->public_key.len) ==
			 FIDO_OK &&
		     fido_assert_verify(s, 0, COSE_EDDSA, ed) == FIDO_OK;
	es256_pk_free(&es);
	eddsa_pk_free(&ed);
	return is;
}

void
signature_confirm(const struct fido_question *q, struct fido_answer *a)
{
	const char *why = common_wrong(q, "webauthn.get", 0);
	fido_assert_t *s = why == NULL ? assertion_make(q) : NULL;

	if (why != NULL)
		say(a, FIDO_WRONG, why);
	else if (s == NULL || !signed_by(s, q))
		say(a, FIDO_WRONG, "the signature is not of this key");
	else {
		say(a, FIDO_RIGHT, "");
		a->counter = fido_assert_sigcount(s, 0);
	}
	fido_assert_free(&s);
}
