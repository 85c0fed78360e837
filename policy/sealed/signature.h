/*
 * Signatures of a sealed file, and whose count.
 *
 *	body | struct sign_head | struct sign_row ... | end
 *
 * Each signer signs one message: SIGN_DOMAIN, the head with signer_n 0, and the
 * SHA-256 of the body, which is the policy's id.  So a signature covers every
 * byte of the body, its version number and its last day; and further signers
 * add a row without touching the others'.  Ed25519, RFC 8032, by libsodium.
 *
 *	sign_verify.c	is it signed by enough of those (loader)
 *	trust.c		the keys of a folder that only root can write
 *	sign.c		making keys and signatures (tools)
 */
#ifndef KENNEL_POLICY_SIGN_H
#define KENNEL_POLICY_SIGN_H

#include "policy/sealed/policy.h"

#define SIGN_MAGIC       "KNLSIGN\n" /* eight bytes, no NUL */
#define SIGN_VERSION     1
#define SIGN_DOMAIN      "kennel sealed policy, signed\n\n\n" /* 32 with its NUL */
#define SIGN_SIGNERS_MAX 16
#define SIGN_KEY_LEN     32
#define SIGN_SIG_LEN     64

struct sign_head {
	uint8_t magic[8];
	uint32_t version;
	uint32_t signer_n; /* 1 to SIGN_SIGNERS_MAX */
	uint64_t counter;  /* the policy's version, from 1: never goes back */
	uint32_t until;    /* days since 1970-01-01, the last day; 0: no end */
	uint32_t reserved; /* 0 */
};

struct sign_row { /* strictly ascending by key */
	uint8_t key[SIGN_KEY_LEN];
	uint8_t sig[SIGN_SIG_LEN];
};

/* What is signed. */
struct sign_message {
	uint8_t domain[32];
	struct sign_head head;
	uint8_t id[POLICY_ID_LEN];
};

/* ---- trust.c ------------------------------------------------------------ */

#define TRUST_DIR         "/etc/kennel/trust" /* nothing moves it */
#define TRUST_KEYS_MAX    64
#define TRUST_REVOKED_MAX 1024

struct trust {
	bool wanted;        /* there are keys: what they did not sign is refused */
	uint32_t threshold; /* how many of them must have signed */
	uint8_t key[TRUST_KEYS_MAX][SIGN_KEY_LEN];
	uint32_t key_n;
	uint8_t revoked[TRUST_REVOKED_MAX][32]; /* keys, and ids of policies */
	uint32_t revoked_n;
};

/*
 * The keys of folder: every *.pub, "threshold" (1 where it is not there) and
 * "revoked".  All of it, and the folders above it, must belong to `owner` (root)
 * or root and be nobody else's to write: else -EPERM.  No such folder: 0, and
 * nothing is wanted.  Anything that cannot be read or understood: -errno.  why
 * has one line.
 */
int trust_read(
    const char *folder, uid_t owner, struct trust *ret, char *why, size_t why_cap);

/* "kennel-key-1 HEX ..." of a public key; false: it is none. */
bool trust_key_parse(const char *text, size_t len, uint8_t ret[SIGN_KEY_LEN]);
bool trust_hex(const char *text, size_t len, uint8_t ret[32]);

/* ---- sign_verify.c -------------------------------------------------------- */

struct signed_by {
	uint64_t counter; /* 0: not signed */
	uint32_t until;
	uint32_t signer_n;
	uint32_t trusted_n;
	bool wanted; /* there are keys that had to sign */
};

/*
 * Is this file signed as `trust` wants, on this day (days since 1970-01-01)?
 * Looks at nothing of the body but the header.  Every signature in it must be
 * good, whoever made it.  0; -EBADMSG for a file that is no sealed file or whose
 * signatures are malformed or wrong, -ENOKEY too few are trusted (or none is
 * there), -EKEYEXPIRED, -EKEYREVOKED.  One line of why.
 */
int sign_verify(const uint8_t *bytes, size_t len, const struct trust *, uint32_t today,
    struct signed_by *ret, char *why, size_t why_cap);
/* The length of the body, and where the head and its rows are (NULL: unsigned).
 * 0 or -EBADMSG. */
int sign_layout(const uint8_t *bytes, size_t len, size_t *ret_body,
    const struct sign_head **ret_head, const struct sign_row **ret_row);
/* The signatures of the file at fd, as they stand there: nothing is verified.  0
 * (*ret_n is 0 where it is not signed) or -errno. */
int sign_rows(int fd, struct sign_head *ret_head,
    struct sign_row ret_row[SIGN_SIGNERS_MAX], size_t *ret_n);
void sign_message(
    const uint8_t *body, size_t len, const struct sign_head *, struct sign_message *ret);

/*
 * What a process does before it loads: the file at fd (a sealed memfd) against
 * TRUST_DIR, today.  0 where nothing is wanted or all is well.
 */
int sign_admit(int fd, struct signed_by *ret, char *why, size_t why_cap);

#endif
