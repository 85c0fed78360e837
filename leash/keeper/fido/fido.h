/*
 * One question to kennel-fido, which checks what a security key signed (WebAuthn
 * Level 2, sections 7.1 and 7.2), and its answer. One packet of shim/base/wire.h each,
 * on descriptor FIDO_FD.
 *
 *	kennel-keeper				kennel-fido, one process a question
 *	u32 number, u32 use, bytes challenge,
 *	bytes client data, bytes authenticator
 *	data; to confirm also: bytes credential
 *	id, u32 algorithm, bytes public key,
 *	bytes signature ------------------------>
 *		<-----------------------------	u32 number, u32 verdict, str why,
 *						u32 counter; registered also: bytes
 *						credential id, u32 algorithm, bytes
 *						public key
 *
 * The answer with number 0 is of no process: the program could not be started, or ended
 * without an answer.
 */
#ifndef KENNEL_LEASH_KEEPER_FIDO_FIDO_H
#define KENNEL_LEASH_KEEPER_FIDO_FIDO_H

#include <stddef.h>
#include <stdint.h>

#include "shim/base/wire.h"

#define FIDO_FD            3
#define FIDO_RP            "localhost" /* the relying party: the console's host */
#define FIDO_CHALLENGE_LEN 32
#define FIDO_CLIENT_MAX    1024 /* bytes of client data (JSON) */
#define FIDO_AUTH_MAX      2048 /* bytes of authenticator data */
#define FIDO_ID_MAX        1023 /* bytes of a credential id (CTAP 2.1, section 6.1) */
#define FIDO_PUBLIC_MAX    64   /* bytes of a public key */
#define FIDO_SIGNATURE_MAX 512
#define FIDO_WHY_MAX       120 /* bytes of the reason, with its NUL */
#define FIDO_PACKET_MAX    8192
#define FIDO_WAIT_S        4 /* a process that takes longer is killed */

enum fido_use { FIDO_REGISTER = 1, FIDO_CONFIRM };
enum fido_verdict { FIDO_RIGHT = 0, FIDO_WRONG, FIDO_FAILED };
/* COSE algorithms (RFC 9053), as numbers without a sign. */
enum fido_algorithm { FIDO_ES256 = 7, FIDO_EDDSA = 8 };

/* Borrowed bytes, all of them unverified until the answer. */
struct fido_question {
	uint32_t number, use;
	struct span challenge, client_data, auth_data;
	struct span id, public_key, signature; /* FIDO_CONFIRM */
	uint32_t algorithm;
};

struct fido_answer {
	uint32_t number, verdict;
	char why[FIDO_WHY_MAX]; /* "" if it is right */
	uint32_t counter;
	uint8_t id[FIDO_ID_MAX]; /* FIDO_REGISTER */
	size_t id_len;
	uint32_t algorithm;
	uint8_t public_key[FIDO_PUBLIC_MAX];
	size_t public_len;
};

/* ---- fido_wire.c: 0, or -EBADMSG; a writer reports at wire_send. ---- */

void fido_put_question(struct wire_out *, const struct fido_question *);
int fido_get_question(struct wire_in *, struct fido_question *);
void fido_put_answer(struct wire_out *, const struct fido_answer *, enum fido_use);
int fido_get_answer(struct wire_in *, struct fido_answer *, enum fido_use);

/* ---- client_data.c ---- */

/* NULL: the browser's JSON is of this type ("webauthn.get"), this challenge and a page
 * of localhost; or why not. */
const char *client_data_wrong(
    struct span json, const char *type, const uint8_t challenge[FIDO_CHALLENGE_LEN]);

/* ---- signature.c: the verdict with why and, if right, the rest ---- */

void signature_register(const struct fido_question *, struct fido_answer *);
void signature_confirm(const struct fido_question *, struct fido_answer *);

#endif
