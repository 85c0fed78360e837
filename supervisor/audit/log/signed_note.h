/*
 * C2SP signed notes, checkpoints, cosignatures (signed_note.c, base64.c).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_SIGNED_NOTE_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_SIGNED_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/wire.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/sign_key.h"
#include "supervisor/audit/recorder/startup.h"

#define NOTE_NAME_MAX 192  /* of a key name */
#define NOTE_MAX      8192 /* one signed note */
#define NOTE_SIGS_MAX 32   /* the format requires 16 or more */
#define NOTE_VKEY_MAX 320

/* First line of the text that "kennel audit certify" signs. The first line of a
 * checkpoint is a name. */
#define NOTE_CERTIFICATE "kennel integrity certificate 1"

enum note_type { NOTE_ED25519 = 0x01, NOTE_COSIGNATURE = 0x04 };

struct vkey { /* a public key and its name */
	char name[NOTE_NAME_MAX];
	uint8_t type; /* enum note_type */
	uint8_t id[4];
	uint8_t public[KEY_LEN];
};
struct note_sig {
	char name[NOTE_NAME_MAX];
	uint8_t id[4];
	uint8_t bytes[8 + KEY_SIGN_LEN]; /* a cosignature begins with its time */
	size_t len;                      /* 0: unknown signature type */
};
struct note {
	struct span text; /* the signed text, including its last newline */
	struct note_sig sig[NOTE_SIGS_MAX];
	size_t sig_n;
};
struct checkpoint {
	char origin[NOTE_NAME_MAX];
	uint64_t size;
	uint8_t root[MERKLE_HASH_LEN];
};

#define BASE64_LEN(n) (((n) + 2) / 3 * 4 + 1) /* with the NUL */
void base64_put(char *out, const void *, size_t len);
/* Strict: requires padding, no unused bits. Returns the length, or -EBADMSG. */
long base64_get(struct span text, uint8_t *out, size_t out_cap);

/* Returns 0, or -EINVAL: not a valid key name. */
int vkey_make(
    const char *name, enum note_type, const uint8_t public[KEY_LEN], struct vkey *ret);
void vkey_put(const struct vkey *, char ret[NOTE_VKEY_MAX]);
int vkey_parse(struct span text, struct vkey *ret);

/* Writes the text of a checkpoint; returns its length. */
size_t checkpoint_put(const struct checkpoint *, char *out, size_t out_cap);
int checkpoint_parse(struct span text, struct checkpoint *ret);
/* Signs text (of text_len bytes) and appends the signature line at note[*len]; the
 * first one follows a blank line. */
int note_sign(char *note, size_t cap, size_t text_len, size_t *len, const struct vkey *,
    const struct key *);
int note_parse(const void *, size_t len, struct note *ret);
/* True if this key signed the text of the note. Stores the time of a cosignature in
 * *ret_time (may be NULL). */
bool note_signed_by(const struct note *, const struct vkey *, uint64_t *ret_time);

#endif
