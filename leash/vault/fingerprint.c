/*
 * The fingerprint key, and the fingerprints made with it.
 *
 * Process: the leash, before it sandboxes itself; kennel-secret, when the user
 * searches for a value.  Holds the key only while it computes a few hashes.  Must
 * never write it anywhere but to its own file.
 */
#include "leash/vault/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"

#define DOMAIN "kennel trace v1"

_Static_assert(FINGERPRINT_LEN >= crypto_generichash_BYTES_MIN &&
		   FINGERPRINT_KEY_LEN >= crypto_generichash_KEYBYTES_MIN &&
		   FINGERPRINT_KEY_LEN <= crypto_generichash_KEYBYTES_MAX,
    "BLAKE2b takes and gives so much");

/* ---- the key -------------------------------------------------------------------------- */

static int
read_key(int dir, struct fingerprint_key *ret)
{
	struct fingerprint_key key;
	char more;
	struct stat st;
	int fd, r = 0;

	/* NONBLOCK: do not wait if it is a fifo.
	 * early: openat newfstatat fstat read close
	 * syscalls: openat newfstatat fstat read close */
	fd = openat(dir, FINGERPRINT_KEY_FILE,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		 (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		r = -EPERM;
	else if (read(fd, key.bytes, sizeof(key.bytes)) != (ssize_t)sizeof(key.bytes) ||
		 read(fd, &more, 1) != 0)
		r = -EBADMSG;
	fd_close(&fd);
	if (r == 0)
		*ret = key;
	fingerprint_key_wipe(&key);
	return r;
}

/* Written completely and synced under a temporary name.  It is then linked to its
 * final name, which succeeds for only one of several concurrent writers. */
static int
make_key(int dir)
{
	char name[64];
	struct fingerprint_key key;
	int fd, r = 0;

	/* early: getrandom getpid unlinkat linkat fsync write geteuid */
	(void)snprintf(
	    name, sizeof(name), FINGERPRINT_KEY_FILE ".%d", (int)getpid()); /* fits */
	if (getrandom(key.bytes, sizeof(key.bytes), 0) != (ssize_t)sizeof(key.bytes))
		return -EIO;
	(void)unlinkat(dir, name, 0); /* left by a process with our pid */
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		r = -errno;
	if (r == 0)
		r = fd_write_all(fd, key.bytes, sizeof(key.bytes));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && linkat(dir, name, dir, FINGERPRINT_KEY_FILE, 0) < 0 &&
	    errno != EEXIST)
		r = -errno;
	if (fd >= 0)
		(void)unlinkat(dir, name, 0); /* linked by now, or useless */
	if (r == 0 && fsync(dir) < 0)
		r = -errno;
	fd_close(&fd);
	fingerprint_key_wipe(&key);
	return r;
}

int
fingerprint_key_read(const char *dir, bool make, struct fingerprint_key *ret)
{
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (at < 0)
		return -errno;
	r = read_key(at, ret);
	if (r == -ENOENT && make) {
		r = make_key(at);
		if (r == 0)
			r = read_key(at, ret);
	}
	fd_close(&at);
	return r;
}

void
fingerprint_key_wipe(struct fingerprint_key *key)
{
	explicit_bzero(key, sizeof(*key));
}

/* ---- fingerprints -------------------------------------------------------------- */

void
fingerprint_of(const struct fingerprint_key *key, const void *bytes, size_t len,
    char ret[FINGERPRINT_CAP])
{
	crypto_generichash_state state;
	uint8_t hash[FINGERPRINT_LEN];

	/* none of these can fail: the sizes are valid constants */
	(void)crypto_generichash_init(
	    &state, key->bytes, sizeof(key->bytes), FINGERPRINT_LEN);
	(void)crypto_generichash_update(&state, (const uint8_t *)DOMAIN, sizeof(DOMAIN));
	(void)crypto_generichash_update(&state, bytes, len);
	(void)crypto_generichash_final(&state, hash, sizeof(hash));
	explicit_bzero(&state, sizeof(state)); /* it contains the value's last block */
	(void)hex_put(ret, hash, sizeof(hash));
}
