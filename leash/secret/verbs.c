/*
 * The verbs that change the vault: their prompts, and their requests to the keeper.
 *
 * Process: kennel-secret.  Values go from the user to the keeper; the keeper never
 * sends one to this program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "leash/secret/private.h"
#include "leash/vault/fingerprint.h"
#include "policy/tokens/token_format.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"

static int
bad(const struct order *o, const char *what)
{
	return order_fail(o, STATUS_INPUT, what);
}

static void
put_material(struct wire_out *out, enum keeper_opener kind, const struct typed *t)
{
	wire_put_u32(out, kind);
	wire_put_bytes(out, t->bytes, t->len);
}

/* The passphrase, or the key file of --key-file. */
static int
opener(struct order *o, const char *prompt, bool new, enum keeper_opener *ret_kind,
    struct typed *ret)
{
	int status;

	if (o->key_file != NULL) {
		*ret_kind = KEEPER_KEY_FILE;
		return type_file(o, o->key_file, ret);
	}
	*ret_kind = KEEPER_PASSPHRASE;
	status = type_line(o, prompt, new, KEEPER_MATERIAL_MAX, ret);
	if (status == STATUS_OK && new && ret->len < PASSPHRASE_MIN)
		return bad(o, PASSPHRASE_SHORT);
	return status;
}

/* Sends the request; what is so afterwards, in one line. */
static int
done(struct order *o, struct wire_out *out, const char *what)
{
	int status = talk_done(o, out, NULL);

	if (status == STATUS_OK)
		printf("%s\n", what);
	return status;
}

/* ---- the vault -------------------------------------------------------------------- */

int
verb_init(struct order *o)
{
	enum keeper_opener kind;
	struct wire_out out;
	struct typed t;
	int status;

	if (o->state != STATE_NONE)
		return bad(o, "the vault already exists: open it with kennel secret "
			      "unlock");
	status = opener(o, "A passphrase for the vault: ", true, &kind, &t);
	if (status != STATUS_OK)
		return status;
	talk_begin(o, &out, KEEPER_INIT);
	put_material(&out, kind, &t);
	return done(o, &out, "the vault is created and unlocked");
}

int
verb_unlock(struct order *o)
{
	enum keeper_opener kind;
	struct wire_out out;
	struct typed t;
	int status;

	if (o->state == STATE_NONE) {
		log_error("unlock: no vault found: create one with kennel secret init");
		return STATUS_NOT_FOUND;
	}
	status = opener(o, "The vault's passphrase: ", false, &kind, &t);
	if (status != STATUS_OK)
		return status;
	talk_begin(o, &out, KEEPER_UNLOCK);
	wire_put_u32(&out, o->idle_s);
	wire_put_u32(&out, o->cap_s);
	put_material(&out, kind, &t);
	return done(o, &out, "the vault is unlocked");
}

int
verb_lock(struct order *o)
{
	struct wire_out out;

	talk_begin(o, &out, KEEPER_LOCK);
	return done(o, &out, "the vault is locked");
}

int
verb_recover(struct order *o)
{
	static const char *const prompt[2] = {
	    "The recovery phrase: ", "A new passphrase for the vault: "};
	struct wire_out out;
	struct typed t[2];
	int status = type_two(o, prompt, t);

	if (status != STATUS_OK)
		return status;
	if (t[1].len < PASSPHRASE_MIN)
		return bad(o, PASSPHRASE_SHORT);
	talk_begin(o, &out, KEEPER_RESEAL);
	put_material(&out, KEEPER_RECOVERY, &t[0]);
	put_material(&out, KEEPER_PASSPHRASE, &t[1]);
	return done(o, &out, "the vault has the new passphrase");
}

/* Shown once, on the terminal, and nowhere else. */
int
verb_export(struct order *o)
{
	static const char before[] =
	    "\nThe vault's recovery phrase.  Write it down, and keep it in a safe\n"
	    "place: it opens the vault without the passphrase.  It replaces any earlier\n"
	    "phrase, and is not shown again.\n\n"
	    "    ";
	enum keeper_opener kind;
	struct wire_out out;
	struct span phrase;
	struct wire_in in;
	struct typed t;
	int status;

	if (o->tty < 0)
		return type_show(o, "", 0); /* it prints the error */
	status = opener(o, "The vault's passphrase: ", false, &kind, &t);
	if (status != STATUS_OK)
		return status;
	talk_begin(o, &out, KEEPER_PHRASE);
	put_material(&out, kind, &t);
	status = talk(o, &out, KEEPER_PHRASE_IS, &in);
	if (status != STATUS_OK)
		return status;
	phrase = wire_get_bytes(&in, KEEPER_PHRASE_LEN);
	if (wire_end(&in) < 0)
		return order_fail(o, LOG_EXIT_FAILED, "protocol error from the keeper");
	status = type_show(o, before, sizeof(before) - 1);
	if (status == STATUS_OK)
		status = type_show(o, (const char *)phrase.data, phrase.len);
	if (status == STATUS_OK)
		status = type_show(o, "\n\n", 2);
	return status;
}

/* ---- with a passphrase that was typed --------------------------------------------- */

int
passphrase_init(struct order *o, const struct typed *t)
{
	struct wire_out out;

	talk_begin(o, &out, KEEPER_INIT);
	put_material(&out, KEEPER_PASSPHRASE, t);
	return talk_done(o, &out, NULL);
}

int
passphrase_unlock(struct order *o, const struct typed *t)
{
	struct wire_out out;

	talk_begin(o, &out, KEEPER_UNLOCK);
	wire_put_u32(&out, o->idle_s);
	wire_put_u32(&out, o->cap_s);
	put_material(&out, KEEPER_PASSPHRASE, t);
	return talk_done(o, &out, NULL);
}

int
passphrase_confirm(struct order *o, const struct typed *t)
{
	uint8_t digest[KEEPER_DIGEST_LEN];
	struct wire_out out;

	if (!hex_get(o->digest, strlen(o->digest), digest, sizeof(digest)))
		bug("a digest is not hex");
	talk_begin(o, &out, KEEPER_CONFIRM);
	put_material(&out, KEEPER_PASSPHRASE, t);
	wire_put_bytes(&out, digest, sizeof(digest));
	return talk_done(o, &out, NULL);
}

/* The second factor of one approval: the passphrase, for the digest of what was shown. */
int
verb_confirm(struct order *o)
{
	struct typed t;
	int status;

	if (o->state != STATE_OPEN) { /* before prompting */
		log_error("confirm: %s",
		    o->state == STATE_NONE
			? "no vault found: create one with kennel secret init"
			: "the vault is locked: open it with kennel secret unlock");
		return o->state == STATE_NONE ? STATUS_NOT_FOUND : STATUS_DENIED;
	}
	status = type_line(o, "To confirm this approval, the vault's passphrase: ", false,
	    KEEPER_MATERIAL_MAX, &t);
	if (status == STATUS_OK)
		status = passphrase_confirm(o, &t);
	if (status == STATUS_OK)
		printf("confirmed for 60 s\n");
	return status;
}

/* ---- values ----------------------------------------------------------------------- */

/* Warns of a value that begins like a token and is not one: it may be something else. */
static void
warn_format(const struct order *o, const struct typed *t)
{
	const struct token_format *all, *s = NULL;
	const char *wrong;
	size_t n;

	all = token_formats(&n);
	for (size_t i = 0; i < n; i++) { /* the longest prefix */
		size_t prefix = strlen(all[i].prefix);

		if (t->len >= prefix && memcmp(t->bytes, all[i].prefix, prefix) == 0 &&
		    (s == NULL || prefix > strlen(s->prefix)))
			s = &all[i];
	}
	wrong = s == NULL ? NULL : token_format_wrong(s, t->bytes, t->len);
	if (wrong != NULL)
		log_warn("%s: it starts like a %s, but %s; it is stored as it is, and "
			 "`kennel secret rotate %s` replaces it",
		    o->verb, s->name, wrong, o->path);
}

/*
 * Does the value have the expected format?  If a manifest names the format, the
 * value must have it, because nothing else would detect a lost byte.
 */
static const char *
judge_format(const struct order *o, const struct typed *t)
{
	static char why[256];
	const struct token_format *s = NULL;
	const char *wrong = NULL;

	if (o->shape != NULL)
		s = token_format_find(o->shape);
	if (s != NULL)
		wrong = token_format_wrong(s, t->bytes, t->len);
	if (wrong != NULL && !o->any_shape) {
		(void)snprintf(why, sizeof(why),
		    "%.100s is a %.40s by its manifest, but this value is not: %.60s; "
		    "use --any-shape to store it anyway",
		    o->path, s->name, wrong);
		return why;
	}
	if (s == NULL)
		warn_format(o, t);
	return NULL;
}

const char *
value_wrong(const struct order *o, const struct typed *t)
{
	if (t->len < VAULT_VALUE_MIN)
		return "a value needs at least four bytes";
	if (memchr(t->bytes, '\0', t->len) != NULL)
		return "a value must not contain a NUL byte";
	return judge_format(o, t);
}

int
value_put(struct order *o, const struct typed *t, bool next, uint32_t *ret_version)
{
	struct wire_out out;

	talk_begin(o, &out, KEEPER_PUT);
	wire_put_str(&out, o->path);
	wire_put_u8(&out, next);
	wire_put_bytes(&out, t->bytes, t->len);
	return talk_done(o, &out, ret_version);
}

static int
put(struct order *o, bool next)
{
	const char *wrong;
	uint32_t version = 0;
	struct typed t;
	int status;

	if (o->state != STATE_OPEN) { /* before prompting */
		log_error("%s: %s", o->verb,
		    o->state == STATE_NONE
			? "no vault found: create one with kennel secret init"
			: "the vault is locked: open it with kennel secret unlock");
		return o->state == STATE_NONE ? STATUS_NOT_FOUND : STATUS_DENIED;
	}
	status =
	    type_line(o, "The value (it is not shown): ", false, VAULT_VALUE_MAX, &t);
	if (status != STATUS_OK)
		return status;
	wrong = value_wrong(o, &t);
	if (wrong != NULL)
		return bad(o, wrong);
	status = value_put(o, &t, next, &version);
	if (status == STATUS_OK)
		printf("%s: stored as version %u\n", o->path, version);
	else if (status == STATUS_INPUT && !next)
		fprintf(stderr, "to replace it, run kennel secret rotate %s\n", o->path);
	else if (status == STATUS_NOT_FOUND && next)
		fprintf(stderr, "to add it, run kennel secret set %s\n", o->path);
	return status;
}

int
verb_set(struct order *o)
{
	return put(o, false);
}

int
verb_rotate(struct order *o)
{
	return put(o, true);
}

int
verb_remove(struct order *o)
{
	struct wire_out out;
	int status;

	talk_begin(o, &out, KEEPER_REMOVE);
	wire_put_str(&out, o->path);
	status = talk_done(o, &out, NULL);
	if (status == STATUS_OK)
		printf("%s: removed\n", o->path);
	return status;
}

/* A header's value begins with its scheme, which is not part of the secret that a
 * server was given. */
static void
warn_of_scheme(const struct typed *t)
{
	static const char *const scheme[] = {
	    "Bearer ", "Basic ", "token ", "Authorization:"};

	for (size_t i = 0; i < ARRAY_LEN(scheme); i++) {
		size_t len = strlen(scheme[i]);

		if (t->len > len &&
		    strncasecmp((const char *)t->bytes, scheme[i], len) == 0)
			log_warn("this value begins with \"%s\"; if nothing is found, "
				 "try it without",
			    scheme[i]);
	}
}

/* The fingerprint of a value in the audit log, for kennel, which does not handle
 * values (`kennel audit find-secret`). */
int
verb_trace(struct order *o)
{
	const char *dir = getenv("KENNEL_VAULT_AT");
	struct fingerprint_key key;
	char fingerprint[FINGERPRINT_CAP];
	struct typed t;
	int status, r;

	status = type_line(
	    o, "The value to look for (it is not shown): ", false, VAULT_VALUE_MAX, &t);
	if (status != STATUS_OK)
		return status;
	if (t.len < VAULT_VALUE_MIN)
		return bad(o, "a value needs at least four bytes");
	warn_of_scheme(&t);
	r = dir == NULL ? -ENOENT : fingerprint_key_read(dir, false, &key);
	if (r == -ENOENT) {
		log_error(
		    "no fingerprint key: no server of this user has been given a secret");
		return STATUS_NOT_FOUND;
	}
	if (r < 0)
		return bad(o, r == -EPERM ? "the fingerprint key is open to others, or "
					    "belongs to another user"
					  : "unable to read the fingerprint key");
	fingerprint_of(&key, t.bytes, t.len, fingerprint);
	fingerprint_key_wipe(&key);
	printf("%s\n", fingerprint);
	return STATUS_OK;
}

/* ---- grants ----------------------------------------------------------------------- */

/* The scope of a grant: one policy, or all of one signer. */
struct whose {
	enum keeper_grantee kind;
	uint8_t id[KEEPER_ID_LEN];
};

/* Does the policy give this server this path? */
static bool
wants(const struct policy *p, const struct sealed_server *s, const char *path)
{
	for (uint32_t i = s->secrets.first; i < s->secrets.first + s->secrets.n; i++) {
		const struct sealed_secret *row = &p->secret[i];

		if (row->source == SOURCE_VAULT &&
		    strcmp(policy_str(p, row->ref), path) == 0)
			return true;
	}
	return false;
}

/* A policy signed by one key may change under the same signature. */
static int
signer_of(int fd, struct whose *w)
{
	struct sign_row row[SIGN_SIGNERS_MAX];
	struct sign_head head;
	size_t n = 0;
	int r = sign_rows(fd, &head, row, &n);

	if (r == 0 && n == 1) {
		w->kind = KEEPER_TO_SIGNER;
		memcpy(w->id, row[0].key, sizeof(w->id));
	}
	return r;
}

static int
whose(struct order *o, struct whose *ret)
{
	struct whose w = {.kind = KEEPER_TO_POLICY};
	const struct sealed_server *server;
	struct policy policy;
	char why[256] = "";
	int status = STATUS_OK;

	if (policy_load(o->policy_fd, &policy, why, sizeof(why)) < 0 ||
	    signer_of(o->policy_fd, &w) < 0) {
		log_error("grant: unable to read the policy: %s", why);
		return STATUS_INPUT;
	}
	if (w.kind == KEEPER_TO_POLICY)
		memcpy(w.id, policy.id, sizeof(w.id));
	server = policy_server(&policy, o->server);
	if (server == NULL)
		status = bad(o, "no server with this name in the policy");
	else if (!wants(&policy, server, o->path)) {
		status = STATUS_INPUT;
		log_error("grant: the policy of server %s does not name %s: add "
			  "`secret NAME from vault %s` to it",
		    o->server, o->path, o->path);
	}
	policy_unload(&policy);
	if (status == STATUS_OK)
		*ret = w;
	return status;
}

int
verb_grant(struct order *o)
{
	struct wire_out out;
	uint8_t after[KEEPER_ID_LEN];
	struct whose w;
	int status;

	if (o->server == NULL || o->policy_fd < 0) {
		log_error("grant: expected --server NAME; run `kennel secret grant "
			  "--help`");
		return STATUS_USAGE;
	}
	status = whose(o, &w);
	if (status != STATUS_OK)
		return status;
	talk_begin(o, &out, o->after != NULL ? KEEPER_GRANT_AFTER : KEEPER_GRANT);
	wire_put_str(&out, o->path);
	wire_put_str(&out, o->server);
	wire_put_u32(&out, w.kind);
	wire_put_bytes(&out, w.id, sizeof(w.id));
	if (o->after != NULL && hex_get(o->after, strlen(o->after), after, sizeof(after)))
		wire_put_bytes(&out, after, sizeof(after));
	status = talk_done(o, &out, NULL);
	if (status == STATUS_OK)
		printf("%s: granted to %s\n", o->path,
		    w.kind == KEEPER_TO_SIGNER
			? "this server, under policies that the same key signed"
			: "this server, under this policy as it is now");
	if (status == STATUS_OK && !is_in_vault(o))
		log_warn("%s is not in the vault yet: run `kennel secret set %s`",
		    o->path, o->path);
	return status;
}

int
verb_revoke(struct order *o)
{
	struct wire_out out;
	uint8_t id[KEEPER_ID_LEN];
	uint32_t n = 0;
	int status;

	talk_begin(o, &out, o->id != NULL ? KEEPER_REVOKE_ONE : KEEPER_REVOKE);
	wire_put_str(&out, o->path);
	wire_put_str(&out, o->server != NULL ? o->server : "");
	if (o->id != NULL && hex_get(o->id, strlen(o->id), id, sizeof(id)))
		wire_put_bytes(&out, id, sizeof(id));
	status = talk_done(o, &out, &n);
	if (status == STATUS_OK)
		printf("%s: revoked %u grant%s\n", o->path, n, n == 1 ? "" : "s");
	return status;
}
