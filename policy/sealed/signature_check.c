/*
 * The loader's first check: did enough keys that root trusts sign the file?
 * Reads only magic and length of the body.
 *
 * Process: leash and kennel.  Holds nothing, trusts nothing; the file may be
 * hostile.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <sodium.h>

#include "policy/sealed/match.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"

_Static_assert(sizeof(struct sign_head) == 32, "docs/FORMAT.sealed");
_Static_assert(sizeof(struct sign_row) == 96, "docs/FORMAT.sealed");
_Static_assert(sizeof(struct sign_message) == 96, "no padding is signed");
_Static_assert(sizeof(SIGN_DOMAIN) == 32, "the domain fills its field");
_Static_assert(crypto_sign_PUBLICKEYBYTES == SIGN_KEY_LEN, "Ed25519");
_Static_assert(crypto_sign_BYTES == SIGN_SIG_LEN, "Ed25519");

struct said {
	char *why;
	size_t cap;
};

static int refuse(const struct said *, int r, const char *, ...)
    __attribute__((format(printf, 3, 4)));

static int
refuse(const struct said *s, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(s->why, s->cap, fmt, ap); /* may be truncated */
	va_end(ap);
	return r;
}

int
sign_layout(const uint8_t *bytes, size_t len, size_t *ret_body,
    const struct sign_head **ret_head, const struct sign_row **ret_row)
{
	const struct sealed_header *h = (const void *)bytes;
	const struct sign_head *head;
	size_t rest;

	if (len < sizeof(*h) || len > SEALED_LEN_MAX ||
	    memcmp(h->magic, SEALED_MAGIC, sizeof(h->magic)) != 0 ||
	    h->body_len < sizeof(*h) || h->body_len > len ||
	    h->body_len % SEALED_ALIGN != 0)
		return -EBADMSG;
	rest = len - (size_t)h->body_len;
	head = (const void *)(bytes + h->body_len);
	/* the text that it was compiled from matters only to who compiles it */
	if (rest >= 8 && memcmp(head->magic, SOURCES_MAGIC, 8) == 0)
		rest = 0;
	if (rest > 0 &&
	    (rest < sizeof(*head) ||
		memcmp(head->magic, SIGN_MAGIC, sizeof(head->magic)) != 0 ||
		head->version != SIGN_VERSION || head->signer_n == 0 ||
		head->signer_n > SIGN_SIGNERS_MAX || head->counter == 0 ||
		head->reserved != 0 ||
		rest != sizeof(*head) + head->signer_n * sizeof(struct sign_row)))
		return -EBADMSG;
	*ret_body = (size_t)h->body_len;
	*ret_head = rest > 0 ? head : NULL;
	*ret_row = rest > 0 ? (const void *)(head + 1) : NULL;
	return 0;
}

void
sign_message(const uint8_t *body, size_t len, const struct sign_head *head,
    struct sign_message *ret)
{
	struct sign_message m = {.head = *head};

	memcpy(m.domain, SIGN_DOMAIN, sizeof(m.domain));
	m.head.signer_n = 0; /* every later signer signs the same message */
	policy_digest(body, len, m.id);
	*ret = m;
}

static bool
is_in(const uint8_t (*list)[32], uint32_t n, const uint8_t what[32])
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (memcmp(list[i], what, 32) == 0)
			return true;
	return false;
}

/* Verifies every row; returns how many are trusted. */
static int
rows_verify(const struct said *s, const struct trust *t, const struct sign_head *head,
    const struct sign_row *row, const struct sign_message *m, struct signed_by *by)
{
	uint32_t i, revoked = 0;

	if (sodium_init() < 0)
		return refuse(s, -EBADMSG, "unable to initialize libsodium");
	for (i = 0; i < head->signer_n; i++) {
		if (i > 0 && memcmp(row[i - 1].key, row[i].key, SIGN_KEY_LEN) >= 0)
			return refuse(s, -EBADMSG, "signers out of order");
		if (crypto_sign_verify_detached(
			row[i].sig, (const uint8_t *)m, sizeof(*m), row[i].key) != 0)
			return refuse(s, -EBADMSG,
			    "signature %u of %u is invalid: the policy, its version or "
			    "its last day changed after it was signed",
			    i + 1, head->signer_n);
		if (is_in(t->revoked, t->revoked_n, row[i].key))
			revoked++;
		else if (is_in(t->key, t->key_n, row[i].key))
			memcpy(by->key[by->trusted_n++], row[i].key, SIGN_KEY_LEN);
	}
	if (t->wanted && by->trusted_n < t->threshold)
		return refuse(s, revoked > 0 ? -EKEYREVOKED : -ENOKEY,
		    "signed by %u of the trusted keys, expected %u%s", by->trusted_n,
		    t->threshold, revoked > 0 ? "; a key that signed it is revoked" : "");
	return 0;
}

int
sign_verify(const uint8_t *bytes, size_t len, const struct trust *t, uint32_t today,
    struct signed_by *ret, char *why, size_t why_cap)
{
	const struct said s = {why, why_cap};
	struct signed_by by = {.wanted = t->wanted};
	const struct sign_head *head;
	const struct sign_row *row;
	struct sign_message m;
	size_t body;
	int r;

	if (sign_layout(bytes, len, &body, &head, &row) < 0)
		return refuse(
		    &s, -EBADMSG, "not a sealed policy, or its signatures are malformed");
	if (head == NULL) {
		if (t->wanted)
			return refuse(&s, -ENOKEY,
			    "not signed: %u of the trusted keys must sign it",
			    t->threshold);
		*ret = by;
		return 0;
	}
	sign_message(bytes, body, head, &m);
	by.counter = head->counter;
	by.until = head->until;
	by.signer_n = head->signer_n;
	if ((r = rows_verify(&s, t, head, row, &m, &by)) < 0)
		return r;
	if (is_in(t->revoked, t->revoked_n, m.id))
		return refuse(&s, -EKEYREVOKED, "this policy is revoked");
	if (t->listed && !is_in(t->current, t->current_n, m.id))
		return refuse(&s, -EKEYREVOKED,
		    "this policy is not in " TRUST_DIR "/" TRUST_CURRENT
		    ", the list of those that may start");
	if (head->until != 0 && head->until < today)
		return refuse(
		    &s, -EKEYEXPIRED, "its signatures have expired: sign it again");
	*ret = by;
	return 0;
}

static struct trust trust; /* large */

const struct trust *
sign_trust(void)
{
	return &trust;
}

int
sign_admit(int fd, struct signed_by *ret, char *why, size_t why_cap)
{
	const struct said s = {why, why_cap};
	struct stat st;
	void *map;
	int r;

	/* early: mmap munmap fstat newfstatat */
	if ((r = trust_read(TRUST_DIR, 0, &trust, why, why_cap)) < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return refuse(&s, -errno, "unable to read the policy");
	if (st.st_size < (off_t)sizeof(struct sealed_header) ||
	    st.st_size > (off_t)SEALED_LEN_MAX)
		return refuse(&s, -EBADMSG, "not a sealed policy");
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return refuse(&s, -errno, "unable to read the policy");
	r = sign_verify(
	    map, (size_t)st.st_size, &trust, policy_days_now(), ret, why, why_cap);
	(void)munmap(map, (size_t)st.st_size); /* no recovery is possible */
	return r;
}
