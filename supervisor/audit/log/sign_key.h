/*
 * Keys of a log: Ed25519 (sign_key.c), and the files that hold them, outside the
 * database (key_store.c).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_SIGN_KEY_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_SIGN_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_LEN      32 /* of a seed and of a public key */
#define KEY_SIGN_LEN 64

/* A secret key, in locked memory that is excluded from core dumps. */
struct key;
int key_new(struct key **ret);
/* Wipes the seed. */
int key_from_seed(uint8_t seed[KEY_LEN], struct key **ret);
/* Wipes and frees the key. */
void key_free(struct key *);
void key_seed(const struct key *, uint8_t ret[KEY_LEN]);
const uint8_t *key_public(const struct key *);
void key_sign(const struct key *, const void *, size_t, uint8_t ret[KEY_SIGN_LEN]);
bool key_verify(
    const uint8_t public[KEY_LEN], const void *, size_t, const uint8_t sig[KEY_SIGN_LEN]);

#define SLOTS 2
/* Opens or creates audit.key; returns a descriptor. */
int slot_open(int log_dir, int *ret_fd);
/* -ENOENT: no key in this slot. The caller wipes the seed. */
int slot_read(int fd, int slot, uint64_t *ret_epoch, uint8_t ret_seed[KEY_LEN]);
/* Returns after the slot is on disk. */
int slot_write(int fd, int slot, uint64_t epoch, const struct key *);
int slot_wipe(int fd, int slot);
/* Reads the long-term key from its own file. If it is missing, creates it if make is
 * true, else returns -ENOENT. */
int slot_origin(int log_dir, bool make, struct key **ret);
/* The same for a file with this name (the key of a witness). make: create the file if
 * it is missing. */
int slot_file(const char *path, bool make, struct key **ret);

#endif
