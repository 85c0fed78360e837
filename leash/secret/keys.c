/*
 * kennel secret key: the security keys that can be the second factor of an approval. A
 * page has the browser ask the key; this program passes on what was signed, unjudged.
 *
 *	kennel-console, a page		kennel-secret		keeper
 *	key challenge DIGEST -------->	CHALLENGE ------------>	draws one for this digest
 *		<-- challenge and ids	  <--------------------
 *	(a touch)
 *	key confirm DIGEST ---------->	CONFIRM --------------> kennel-fido checks it
 *
 * Process: kennel-secret. Nothing in a list or a challenge is secret. A key is added in
 * the page of kennel-form (form.c), and with the passphrase only.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "leash/keeper/fido/fido.h"
#include "leash/secret/private.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"

#define ASSERTION_MAX 8192 /* bytes of what confirm reads */
#define ID_LEAST      8    /* digits of an id that name a key */
#define ID_SHOWN      8    /* bytes of an id in the list for people */

/* ---- what the keeper knows --------------------------------------------------------- */

static int
read_keys(struct order *o, struct wire_in *in, struct known_keys *ret)
{
	uint32_t n = wire_get_u32(in);

	for (ret->n = 0; ret->n < n && ret->n < KEEPER_KEYS_MAX; ret->n++) {
		struct known_key *k = &ret->key[ret->n];

		k->id = wire_get_bytes(in, KEEPER_MATERIAL_MAX);
		k->label = wire_get_str(in, KEEPER_LABEL_MAX);
		k->made = wire_get_u64(in);
	}
	if (wire_end(in) < 0)
		return order_fail(o, LOG_EXIT_FAILED, "protocol error from the keeper");
	return STATUS_OK;
}

static int
keys_list(struct order *o, struct known_keys *ret)
{
	struct wire_out out;
	struct wire_in in;
	int status;

	talk_begin(o, &out, KEEPER_KEYS);
	status = talk(o, &out, KEEPER_KEYS_ARE, &in);
	return status != STATUS_OK ? status : read_keys(o, &in, ret);
}

int
keys_challenge(
    struct order *o, const uint8_t digest[KEEPER_DIGEST_LEN], struct known_keys *ret)
{
	struct wire_out out;
	struct wire_in in;
	int status;

	talk_begin(o, &out, KEEPER_CHALLENGE);
	wire_put_bytes(&out, digest, KEEPER_DIGEST_LEN);
	status = talk(o, &out, KEEPER_CHALLENGE_IS, &in);
	if (status != STATUS_OK)
		return status;
	ret->challenge = wire_get_bytes(&in, KEEPER_DIGEST_LEN);
	return read_keys(o, &in, ret);
}

void
keys_print_challenge(FILE *f, const struct known_keys *keys)
{
	fprintf(f, "{\"challenge\":\"");
	base64url_print(f, keys->challenge);
	fprintf(f, "\",\"keys\":[");
	for (size_t i = 0; i < keys->n; i++) {
		fprintf(f, "%s\"", i > 0 ? "," : "");
		base64url_print(f, keys->key[i].id);
		(void)putc('"', f);
	}
	fprintf(f, "],\"rp_id\":\"localhost\",\"timeout_ms\":60000}\n");
}

/* ---- list ---------------------------------------------------------------------------- */

static void
print_json(const struct order *o, const struct known_keys *keys)
{
	static const char *const state[] = {
	    [STATE_NONE] = "none", [STATE_LOCKED] = "locked", [STATE_OPEN] = "open"};
	char made[DATE_TEXT_MAX];

	printf("{\"keys\":[");
	for (size_t i = 0; i < keys->n; i++) {
		printf("%s{\"id\":\"", i > 0 ? "," : "");
		hex_print(stdout, keys->key[i].id.data, keys->key[i].id.len);
		printf("\",\"label\":");
		json_print(stdout, keys->key[i].label);
		date_text(keys->key[i].made, made);
		printf(",\"added\":\"%s\"}", made);
	}
	printf("],\"locked\":%s,\"vault\":\"%s\"}\n",
	    o->state == STATE_LOCKED ? "true" : "false", state[o->state]);
}

static void
print_lines(const struct known_keys *keys)
{
	char made[DATE_TEXT_MAX], label[4 * KEEPER_LABEL_MAX + 1];

	for (size_t i = 0; i < keys->n; i++) {
		const struct known_key *k = &keys->key[i];

		date_text(k->made, made);
		hex_print(
		    stdout, k->id.data, k->id.len < ID_SHOWN ? k->id.len : ID_SHOWN);
		printf("  added %s  %s\n", made,
		    log_quote(label, sizeof(label), k->label, strlen(k->label)));
	}
	if (keys->n == 0)
		printf("no security key is registered: add one with `kennel console "
		       "--keys`\n");
}

int
show_keys(struct order *o)
{
	struct known_keys keys = {.n = 0};
	int status = STATUS_OK;

	if (o->state == STATE_OPEN || !o->json)
		status = keys_list(o, &keys);
	if (status != STATUS_OK)
		return status;
	if (o->json)
		print_json(o, &keys);
	else
		print_lines(&keys);
	return STATUS_OK;
}

/* ---- challenge, confirm --------------------------------------------------------------- */

static void
digest_of(const struct order *o, uint8_t ret[KEEPER_DIGEST_LEN])
{
	if (!hex_get(o->digest, strlen(o->digest), ret, KEEPER_DIGEST_LEN))
		bug("a digest is not hex");
}

int
verb_key_challenge(struct order *o)
{
	uint8_t digest[KEEPER_DIGEST_LEN];
	struct known_keys keys;
	int status;

	digest_of(o, digest);
	status = keys_challenge(o, digest, &keys);
	if (status != STATUS_OK)
		return status;
	if (keys.n == 0) {
		log_error("key challenge: no security key is registered: add one with "
			  "`kennel console --keys`");
		return STATUS_NOT_FOUND;
	}
	keys_print_challenge(stdout, &keys);
	return STATUS_OK;
}

/* The lines of an assertion, in the order of the keeper's material, and the length of each
 * in bytes. The keeper ends a connection with more. */
static const size_t assertion[] = {
    FIDO_CHALLENGE_LEN, FIDO_ID_MAX, FIDO_CLIENT_MAX, FIDO_AUTH_MAX, FIDO_SIGNATURE_MAX};
#define ASSERTION_N ARRAY_LEN(assertion)

int
verb_key_confirm(struct order *o)
{
	struct typed text, field[ASSERTION_N];
	uint8_t digest[KEEPER_DIGEST_LEN], memory[KEEPER_MATERIAL_MAX];
	struct wire_out out, material;
	int status;

	if (o->fd < 0)
		o->fd = STDIN_FILENO;
	status = type_line(o, "", false, ASSERTION_MAX, &text);
	if (status != STATUS_OK)
		return status;
	if (!fields_read(text.bytes, text.len, field, ASSERTION_N))
		return order_fail(o, STATUS_INPUT,
		    "expected five lines of base64url: challenge, id, client data, "
		    "authenticator data, signature");
	wire_out_init(&material, memory, sizeof(memory));
	for (size_t i = 0; i < ASSERTION_N; i++) {
		if (field[i].len > assertion[i])
			return order_fail(
			    o, STATUS_INPUT, "the key's answer is too long");
		wire_put_bytes(&material, field[i].bytes, field[i].len);
	}
	if (material.error < 0)
		return order_fail(o, STATUS_INPUT, "the key's answer is too long");
	digest_of(o, digest);
	talk_begin(o, &out, KEEPER_CONFIRM);
	wire_put_u32(&out, KEEPER_ASSERTION);
	wire_put_bytes(&out, memory, material.len);
	wire_put_bytes(&out, digest, sizeof(digest));
	status = talk_done(o, &out, NULL);
	if (status == STATUS_OK)
		printf("confirmed for 60 s\n");
	return status;
}

/* ---- add, remove ------------------------------------------------------------------------ */

int
key_add(struct order *o, const struct new_key *new)
{
	struct wire_out out;
	char label[KEEPER_LABEL_MAX + 1];

	if (new->challenge.len > FIDO_CHALLENGE_LEN ||
	    new->client_data.len > FIDO_CLIENT_MAX ||
	    new->auth_data.len > FIDO_AUTH_MAX ||
	    new->passphrase.len > KEEPER_MATERIAL_MAX)
		return order_fail(o, STATUS_INPUT, "the key's answer is too long");
	(void)snprintf(
	    label, sizeof(label), "%.*s", (int)new->label.len, new->label.bytes);
	talk_begin(o, &out, KEEPER_KEY_ADD);
	wire_put_u32(&out, KEEPER_PASSPHRASE);
	wire_put_bytes(&out, new->passphrase.bytes, new->passphrase.len);
	wire_put_bytes(&out, new->challenge.bytes, new->challenge.len);
	wire_put_bytes(&out, new->client_data.bytes, new->client_data.len);
	wire_put_bytes(&out, new->auth_data.bytes, new->auth_data.len);
	wire_put_str(&out, label);
	return talk_done(o, &out, NULL);
}

/* The one key whose id begins so: 1; 0 and 2: none, and several. */
static size_t
find(const struct known_keys *keys, const char *digits, struct span *ret)
{
	char hex[2 * KEEPER_MATERIAL_MAX + 1];
	size_t n = 0;

	for (size_t i = 0; i < keys->n; i++) {
		(void)hex_put(hex, keys->key[i].id.data, keys->key[i].id.len);
		if (strncmp(hex, digits, strlen(digits)) != 0)
			continue;
		*ret = keys->key[i].id;
		n++;
	}
	return n;
}

int
verb_key_remove(struct order *o)
{
	uint8_t memory[KEEPER_MATERIAL_MAX];
	struct known_keys keys;
	struct wire_out out;
	struct span id;
	struct typed t;
	int status;

	if (strlen(o->key_id) < ID_LEAST)
		return order_fail(
		    o, STATUS_INPUT, "expected at least 8 digits of the key's id");
	status = keys_list(o, &keys);
	if (status != STATUS_OK)
		return status;
	if (find(&keys, o->key_id, &id) != 1)
		return order_fail(o, STATUS_NOT_FOUND,
		    "no key, or more than one, has an id that begins so: `kennel secret "
		    "key list` shows them");
	memcpy(memory, id.data, id.len); /* the next request overwrites it */
	status = type_line(o, "To remove this key, the vault's passphrase: ", false,
	    KEEPER_MATERIAL_MAX, &t);
	if (status != STATUS_OK)
		return status;
	talk_begin(o, &out, KEEPER_KEY_REMOVE);
	wire_put_u32(&out, KEEPER_PASSPHRASE);
	wire_put_bytes(&out, t.bytes, t.len);
	wire_put_bytes(&out, memory, id.len);
	status = talk_done(o, &out, NULL);
	if (status == STATUS_OK)
		printf("the key is removed\n");
	return status;
}
