/*
 * Signatures of a sealed file, and the keys that are trusted.
 *
 *	body | struct sign_head | struct sign_row ... | end
 *	body | SOURCES_MAGIC | lines of text, which are no part of the policy | end
 *
 * Each signer signs one message: SIGN_DOMAIN, the head with signer_n 0, and the
 * SHA-256 of the body, which is the policy's id.  So a signature covers every
 * byte of the body, its version number and its last day, and another signer can
 * add a row without changing the others.  Ed25519, RFC 8032, by libsodium.
 *
 *	signature_check.c	verifies that enough trusted keys signed (loader)
 *	trusted_keys.c		reads the keys of a directory that only root can write
 *	verb_sign.c		creates keys and signatures (tools)
 */
#ifndef KENNEL_POLICY_SEALED_SIGNATURE_H
#define KENNEL_POLICY_SEALED_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/sealed/policy.h"

#define SIGN_MAGIC       "KNLSIGN\n" /* eight bytes, no NUL */
#define SOURCES_MAGIC    "KNLTEXT\n" /* of the list of source files: source_list.h */
#define SIGN_VERSION     1
#define SIGN_DOMAIN      "kennel sealed policy, signed\n\n\n" /* 32 with its NUL */
#define SIGN_SIGNERS_MAX 16
#define SIGN_KEY_LEN     32
#define SIGN_SIG_LEN     64

struct sign_head {
	uint8_t magic[8];
	uint32_t version;
	uint32_t signer_n; /* 1 to SIGN_SIGNERS_MAX */
	uint64_t counter;  /* the policy's version, from 1; never decreases */
	uint32_t until;    /* days since 1970-01-01, the last day; 0: no end */
	uint32_t reserved; /* 0 */
};

struct sign_row { /* strictly ascending by key */
	uint8_t key[SIGN_KEY_LEN];
	uint8_t sig[SIGN_SIG_LEN];
};

/* The signed message. */
struct sign_message {
	uint8_t domain[32];
	struct sign_head head;
	uint8_t id[POLICY_ID_LEN];
};

/* ---- trusted_keys.c ------------------------------------------------------ */

#define TRUST_DIR         "/etc/kennel/trust" /* no option changes it */
#define TRUST_KEYS_MAX    64
#define TRUST_REVOKED_MAX 1024
#define TRUST_CURRENT_MAX 2048
#define TRUST_CURRENT     "current" /* its name in the directory */

struct trust {
	bool wanted;        /* keys exist: their signatures are required */
	uint32_t threshold; /* how many of them must have signed */
	uint8_t key[TRUST_KEYS_MAX][SIGN_KEY_LEN];
	uint32_t key_n;
	uint8_t revoked[TRUST_REVOKED_MAX][32]; /* keys, and ids of policies */
	uint32_t revoked_n;
	/* The policies that may start, if they are signed; not listed: any of them. */
	bool listed;
	uint8_t current[TRUST_CURRENT_MAX][POLICY_ID_LEN];
	uint32_t current_n;
};

/*
 * Reads the trusted keys of a directory: every *.pub, "threshold" (default 1),
 * "revoked" and "current". All files, the directory and its parents must belong to
 * `owner` (root) or root, and no other user may write them: else -EPERM. If the
 * directory does not exist: 0, and no signature is required.  Unreadable or
 * invalid files: -errno.  why has one line.
 */
int trust_read(
    const char *folder, uid_t owner, struct trust *ret, char *why, size_t why_cap);

/* Parses "kennel-key-1 HEX ..." of a public key; false: invalid. */
bool trust_key_parse(const char *text, size_t len, uint8_t ret[SIGN_KEY_LEN]);

/* One policy of the list; borrowed from its text. */
struct current_line {
	uint8_t id[POLICY_ID_LEN];
	const char *names; /* of its servers, separated by spaces; not terminated */
	size_t names_len;
};
typedef int current_fn(void *arg, const struct current_line *);
/*
 * Calls fn for each policy of this text, which is NUL-terminated: 0; what fn returned, if
 * that is negative; -EINVAL, with the line and what is wrong with it, if any line is
 * invalid or the last one is missing.
 */
int current_parse(
    const char *text, size_t len, current_fn *fn, void *arg, char *why, size_t why_cap);

/* ---- signature_check.c --------------------------------------------------- */

struct signed_by {
	uint64_t counter; /* 0: not signed */
	uint32_t until;
	uint32_t signer_n;
	uint32_t trusted_n;
	bool wanted; /* keys exist whose signatures were required */
	uint8_t key[SIGN_SIGNERS_MAX][SIGN_KEY_LEN]; /* trusted_n of them */
};

/*
 * Is this file signed as `trust` requires, on this day (days since 1970-01-01)?
 * Reads only the header of the body.  Every signature in the file must be
 * valid, also those of untrusted keys.  0; -EBADMSG: not a sealed file, or its
 * signatures are malformed or wrong; -ENOKEY: too few trusted signatures (or
 * none); -EKEYEXPIRED; -EKEYREVOKED. One line of why.
 */
int sign_verify(const uint8_t *bytes, size_t len, const struct trust *, uint32_t today,
    struct signed_by *ret, char *why, size_t why_cap);
/*
 * The length of the body, and pointers to the head and its rows (NULL:
 * unsigned). 0 or -EBADMSG.
 */
int sign_layout(const uint8_t *bytes, size_t len, size_t *ret_body,
    const struct sign_head **ret_head, const struct sign_row **ret_row);
/*
 * Reads the signatures of the file at fd without verifying them.  0 (*ret_n is
 * 0 if it is unsigned) or -errno.
 */
int sign_rows(int fd, struct sign_head *ret_head,
    struct sign_row ret_row[SIGN_SIGNERS_MAX], size_t *ret_n);
void sign_message(
    const uint8_t *body, size_t len, const struct sign_head *, struct sign_message *ret);

/*
 * The check before a load: verifies the file at fd (a sealed memfd) against
 * TRUST_DIR, today.  0 if no signature is required or all are valid.
 */
int sign_admit(int fd, struct signed_by *ret, char *why, size_t why_cap);
/* The keys of the last sign_admit; not before it. */
const struct trust *sign_trust(void);

#endif
