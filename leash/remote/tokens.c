/*
 * The tokens of one server, and their redaction.
 *
 * The leash redacts the secrets that it resolved.  It never learns the tokens that
 * kennel-remote gets from an issuer, so kennel-remote redacts those by itself, with the
 * same code, before a message leaves it.  A scrubber learns nothing after its first
 * message: each new token makes a new one, with all that are kept.
 *
 * Values are freed only together with their vault.  So a new token makes a new vault
 * too, and the old one is wiped.
 */
#include "leash/remote/tokens.h"

#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"
#include "shim/base/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 256 /* bytes of a vault for one value, beside its bytes */

struct token {
	const struct secret *value;
	enum token_kind kind;
};

/* What is replaced as a whole. */
struct kept {
	struct vault *vault;
	struct token token[TOKENS_MAX]; /* the newest one first, then those in use */
	size_t n;
	struct scrub *scrub;
	struct scrub_stream *stream;
};

struct tokens {
	struct kept kept;
	const struct secret *present[TOKEN_KINDS];
};

int
tokens_new(struct tokens **ret)
{
	struct tokens *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	*ret = t;
	return 0;
}

static void
kept_free(struct kept *k)
{
	scrub_stream_free(k->stream); /* takes NULL, as the others */
	scrub_free(k->scrub);
	vault_free(k->vault);
	*k = (struct kept){.n = 0};
}

void
tokens_free(struct tokens *t)
{
	if (t == NULL)
		return;
	kept_free(&t->kept);
	free(t);
}

static int
keep(struct kept *k, enum token_kind kind, const char *bytes, size_t len,
    const char **ret_what)
{
	struct secret *value = NULL;
	int r = secret_from_bytes(k->vault, bytes, len, &value, ret_what);

	if (r < 0)
		return r;
	*ret_what = scrub_weakness(value);
	if (*ret_what != NULL)
		return -EINVAL;
	k->token[k->n++] = (struct token){value, kind};
	return scrub_learn(k->scrub, value, 0);
}

/* The new one and the newest of the old ones, in pages of their own. */
static bool
is_present(const struct tokens *t, const struct token *one)
{
	return t->present[one->kind] == one->value;
}

static int
kept_make(const struct tokens *t, enum token_kind kind, const char *bytes, size_t len,
    struct kept *ret, const char **ret_what)
{
	const struct kept *old = &t->kept;
	size_t room = ROOM + len, i;
	struct kept k = {.n = 0};
	int r;

	for (i = 0; i < old->n; i++)
		room += ROOM + secret_len(old->token[i].value);
	r = vault_new(room, &k.vault);
	if (r == 0)
		r = scrub_new(&k.scrub);
	if (r == 0)
		r = keep(&k, kind, bytes, len, ret_what);
	/* those that are in use first: only earlier ones may be too many */
	for (int used = 1; used >= 0; used--)
		for (i = 0; r == 0 && i < old->n && k.n < TOKENS_MAX; i++)
			if (is_present(t, &old->token[i]) == (used == 1) &&
			    !secret_equals(old->token[i].value, bytes, len))
				r = keep(&k, old->token[i].kind,
				    secret_expose(old->token[i].value),
				    secret_len(old->token[i].value), ret_what);
	if (r == 0)
		r = scrub_stream_new(k.scrub, &k.stream);
	if (r < 0) {
		kept_free(&k);
		return r;
	}
	scrub_stream_messages(k.stream);
	*ret = k;
	return 0;
}

/* The copy of this value in other pages; NULL: it was too old. */
static const struct secret *
copy_of(const struct kept *k, const struct secret *old)
{
	for (size_t i = 0; old != NULL && i < k->n; i++)
		if (secret_equals(k->token[i].value, secret_expose(old), secret_len(old)))
			return k->token[i].value;
	return NULL;
}

int
tokens_add(struct tokens *t, enum token_kind kind, const char *bytes, size_t len,
    const char **ret_what)
{
	struct kept k;
	int r = kept_make(t, kind, bytes, len, &k, ret_what);

	if (r < 0)
		return r;
	for (size_t i = 0; i < TOKEN_KINDS; i++)
		t->present[i] = copy_of(&k, t->present[i]);
	t->present[kind] = k.token[0].value;
	kept_free(&t->kept);
	t->kept = k;
	return 0;
}

const struct secret *
tokens_present(const struct tokens *t, enum token_kind kind)
{
	return t->present[kind];
}

void
tokens_drop(struct tokens *t, enum token_kind kind)
{
	t->present[kind] = NULL;
}

int
tokens_redact(struct tokens *t, const char *text, size_t len, struct buf *out)
{
	return t->kept.stream == NULL ? buf_put(out, text, len)
				      : scrub_message(t->kept.stream, text, len, out);
}
