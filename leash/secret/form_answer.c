/*
 * What the page of kennel-form asks for: the state of the vault, a challenge for a new key,
 * and what is to be saved. A request is a few lines of base64url (fields.c); a reply is
 * JSON, and contains nothing of what was typed.
 *
 * Process: kennel-form, confined.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leash/secret/private.h"
#include "shim/base/array.h"

/* Statuses (RFC 9110, section 15). */
#define GRANTS_MAX (64u << 10)

enum { OK = 200, BAD = 400, FORBIDDEN = 403, CONFLICT = 409 };

static const uint8_t for_new_key[KEEPER_DIGEST_LEN];

/* ---- grants --------------------------------------------------------------------------- */

/* The servers that have no grant of the value, as kennel shows them to a person. */
static struct {
	char text[GRANTS_MAX];
	size_t len; /* 0: none */
} grants;

int
form_read_grants(int fd)
{
	ssize_t n = 1;

	/* early: read */
	while (fd >= 0 && n > 0 && grants.len < sizeof(grants.text)) {
		n = read(fd, grants.text + grants.len, sizeof(grants.text) - grants.len);
		grants.len += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || n == 0)
		return 0;
	grants.len = 0;
	return n < 0 ? -errno : -EFBIG;
}

/* A person has agreed: kennel, which started this program, makes the grants. */
static void
agree_to_grants(const struct order *o)
{
	if (grants.len > 0)
		/* syscalls: sendto; without it nothing is granted, and kennel says so */
		(void)send(o->grants, "1", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the state ----------------------------------------------------------------------- */

static void
put_vault(const struct order *o, FILE *f, bool replaces)
{
	static const char *const state[] = {
	    [STATE_NONE] = "none", [STATE_LOCKED] = "locked", [STATE_OPEN] = "open"};

	fprintf(f, "\"vault\":\"%s\",\"replaces\":%s", state[o->state],
	    replaces ? "true" : "false");
}

void
form_state(struct order *o, FILE *f)
{
	bool replaces =
	    o->path != NULL && (o->rotate || (o->state == STATE_OPEN && is_in_vault(o)));

	fprintf(f, "{\"what\":\"%s\",\"path\":", o->path != NULL ? "value" : "key");
	json_print(f, o->path != NULL ? o->path : "");
	fprintf(f, ",\"format\":");
	json_print(f, o->shape != NULL ? o->shape : "");
	(void)putc(',', f);
	put_vault(o, f, replaces);
	if (grants.len > 0) /* JSON, of kennel */
		fprintf(f, ",\"grants\":%.*s", (int)grants.len, grants.text);
	fprintf(f, "}\n");
}

/* ---- errors --------------------------------------------------------------------------- */

static unsigned int
refuse(
    const struct order *o, FILE *f, unsigned int status, bool replaces, const char *why)
{
	fprintf(f, "{\"message\":");
	json_print(f, why);
	(void)putc(',', f);
	put_vault(o, f, replaces);
	fprintf(f, "}\n");
	return status;
}

/* The keeper has refused. It may have locked the vault since the page was opened. */
static unsigned int
refuse_keeper(struct order *o, FILE *f)
{
	bool is_locked = talk_reason() == REASON_LOCKED;

	if (is_locked)
		o->state = STATE_LOCKED;
	return refuse(o, f, FORBIDDEN, false,
	    is_locked ? "the vault is locked: type its passphrase, and save again"
		      : talk_why());
}

static bool
is_same(const struct typed *a, const struct typed *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* again: the same passphrase, for a new vault; NULL: none is made. */
static unsigned int
create_vault(
    struct order *o, const struct typed *passphrase, const struct typed *again, FILE *f)
{
	if (again == NULL)
		return refuse(o, f, CONFLICT, false,
		    "no vault found: create one with kennel secret init");
	if (passphrase->len > KEEPER_MATERIAL_MAX)
		return refuse(o, f, BAD, false, "the passphrase is too long");
	if (passphrase->len < PASSPHRASE_MIN)
		return refuse(o, f, BAD, false, PASSPHRASE_SHORT);
	if (!is_same(passphrase, again))
		return refuse(o, f, BAD, false, "the two passphrases differ");
	if (passphrase_init(o, passphrase) != STATUS_OK)
		return refuse(o, f, FORBIDDEN, false, talk_why());
	o->state = STATE_OPEN;
	return 0;
}

/* 0; or a status, with its reply. */
static unsigned int
unlock(
    struct order *o, const struct typed *passphrase, const struct typed *again, FILE *f)
{
	if (o->state == STATE_OPEN)
		return 0;
	if (o->state == STATE_NONE)
		return create_vault(o, passphrase, again, f);
	if (passphrase->len == 0)
		return refuse(o, f, BAD, false,
		    "the vault is locked: type its passphrase, and save again");
	if (passphrase->len > KEEPER_MATERIAL_MAX)
		return refuse(o, f, BAD, false, "the passphrase is too long");
	if (passphrase_unlock(o, passphrase) != STATUS_OK)
		return refuse(o, f, FORBIDDEN, false, talk_why());
	o->state = STATE_OPEN;
	return 0;
}

static size_t
lines(const struct typed *body)
{
	size_t n = 1;

	for (size_t i = 0; i < body->len; i++)
		n += body->bytes[i] == '\n';
	return n;
}

/* ---- a value --------------------------------------------------------------------------- */

static unsigned int
save_value(struct order *o, struct typed *body, FILE *f)
{
	/* the last two may be missing */
	enum { PASSPHRASE, VALUE, REPLACE, GRANT, AGAIN, N };
	struct typed field[N] = {{.len = 0}};
	size_t n = lines(body);
	uint32_t version = 0;
	const char *wrong;
	unsigned int status;
	bool there;

	if (n < GRANT || n > N || !fields_read(body->bytes, body->len, field, n))
		return refuse(
		    o, f, BAD, false, "expected three to five lines of base64url");
	if (field[VALUE].len > VAULT_VALUE_MAX)
		return refuse(o, f, BAD, false, "the value is longer than 64 KiB");
	wrong = value_wrong(o, &field[VALUE]);
	if (wrong != NULL)
		return refuse(o, f, BAD, o->rotate, wrong);
	status = unlock(o, &field[PASSPHRASE], n > AGAIN ? &field[AGAIN] : NULL, f);
	if (status != 0)
		return status;
	there = is_in_vault(o);
	if (o->rotate && !there)
		return refuse(o, f, CONFLICT, false,
		    "this path has no value to replace: use kennel secret set, or kennel "
		    "secret form value without --rotate");
	if (there && field[REPLACE].len == 0)
		return refuse(o, f, CONFLICT, true,
		    "this path has a value that is in use: confirm that it is replaced");
	if (value_put(o, &field[VALUE], there, &version) != STATUS_OK)
		return refuse_keeper(o, f);
	if (field[GRANT].len > 0)
		agree_to_grants(o);
	fprintf(f, "{\"version\":%u}\n", version);
	return OK;
}

/* ---- a key ------------------------------------------------------------------------------ */

unsigned int
form_challenge(struct order *o, struct typed *body, FILE *f)
{
	struct known_keys keys;
	struct typed passphrase;
	unsigned int status;

	if (!fields_read(body->bytes, body->len, &passphrase, 1))
		return refuse(o, f, BAD, false, "expected one line of base64url");
	status = unlock(o, &passphrase, NULL, f);
	if (status != 0)
		return status;
	if (keys_challenge(o, for_new_key, &keys) != STATUS_OK)
		return refuse_keeper(o, f);
	keys_print_challenge(f, &keys);
	return OK;
}

/* A person has typed it; it is shown in lists. */
static bool
is_label(const struct typed *t)
{
	for (size_t i = 0; i < t->len; i++)
		if ((unsigned char)t->bytes[i] < ' ' || t->bytes[i] == 0x7f)
			return false;
	return t->len > 0 && t->len <= KEEPER_LABEL_MAX;
}

static unsigned int
save_key(struct order *o, struct typed *body, FILE *f)
{
	enum { PASSPHRASE, CHALLENGE, CLIENT_DATA, AUTH_DATA, LABEL, N };
	struct typed field[N];

	if (!fields_read(body->bytes, body->len, field, N))
		return refuse(o, f, BAD, false, "expected five lines of base64url");
	if (!is_label(&field[LABEL]))
		return refuse(o, f, BAD, false, "a name has 1 to 64 bytes, all visible");
	if (key_add(o, &(struct new_key){.passphrase = field[PASSPHRASE],
			   .challenge = field[CHALLENGE],
			   .client_data = field[CLIENT_DATA],
			   .auth_data = field[AUTH_DATA],
			   .label = field[LABEL]}) != STATUS_OK)
		return refuse_keeper(o, f);
	fprintf(f, "{}\n");
	return OK;
}

unsigned int
form_save(struct order *o, struct typed *body, FILE *f)
{
	return o->path != NULL ? save_value(o, body, f) : save_key(o, body, f);
}
