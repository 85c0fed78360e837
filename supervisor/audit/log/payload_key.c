/*
 * The key of kept payloads: a file of its own next to the log, read into locked
 * memory.
 *
 * A user who may read the directory may read both. The key is separate so that the
 * log can be copied, shipped and shown without the payloads, and so that deleting
 * this one file makes all of them unreadable.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/audit/log/kept_payloads.h"

#define KEY_NAME "payload.key"

_Static_assert(PAYLOAD_KEY_LEN == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key");
_Static_assert(
    PAYLOAD_NONCE_LEN == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce");
_Static_assert(PAYLOAD_TAG_LEN == crypto_aead_xchacha20poly1305_ietf_ABYTES, "tag");

struct payload_key {
	uint8_t bytes[PAYLOAD_KEY_LEN];
};

static int
make_key(int log_dir, struct payload_key *key)
{
	/* written under another name, then renamed: the key file is never incomplete */
	static const char aside[] = KEY_NAME ".new";
	int fd, r = 0;

	randombytes_buf(key->bytes, sizeof(key->bytes)); /* syscalls: getrandom */
	/* syscalls: openat fsync renameat unlinkat */
	fd = openat(
	    log_dir, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, key->bytes, sizeof(key->bytes));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	fd_close(&fd);
	if (r == 0 && renameat(log_dir, aside, log_dir, KEY_NAME) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(log_dir, aside, 0); /* it may not exist */
	return r;
}

static int
read_key(int fd, struct payload_key *key)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_mode & 077) != 0)
		return -EPERM;
	if (!S_ISREG(st.st_mode) || st.st_size != (off_t)sizeof(key->bytes) ||
	    read(fd, key->bytes, sizeof(key->bytes)) != (ssize_t)sizeof(key->bytes))
		return -EBADMSG;
	return 0;
}

int
payload_key_open(int log_dir, bool make, struct payload_key **ret)
{
	struct payload_key *key;
	int fd, r;

	if (sodium_init() < 0)
		return -ENOSYS;
	key = sodium_malloc(sizeof(*key)); /* syscalls: mmap mprotect mlock madvise */
	if (key == NULL)
		return -ENOMEM;
	fd = openat(log_dir, KEY_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r = fd >= 0 ? read_key(fd, key) : -errno;
	if (r == -ENOENT && make)
		r = make_key(log_dir, key);
	fd_close(&fd);
	if (r < 0) {
		payload_key_free(key);
		return r;
	}
	*ret = key;
	return 0;
}

void
payload_key_free(struct payload_key *key)
{
	sodium_free(key); /* syscalls: munlock munmap */
}

int
payload_seal(const struct payload_key *key, const uint8_t digest[MERKLE_HASH_LEN],
    const void *plain, size_t len, uint8_t *ret)
{
	unsigned long long sealed;

	randombytes_buf(ret, PAYLOAD_NONCE_LEN);
	if (crypto_aead_xchacha20poly1305_ietf_encrypt(ret + PAYLOAD_NONCE_LEN, &sealed,
		plain, len, digest, MERKLE_HASH_LEN, NULL, ret, key->bytes) != 0)
		return -EIO;
	return 0;
}

int
payload_unseal(const struct payload_key *key, const uint8_t digest[MERKLE_HASH_LEN],
    const uint8_t *sealed, size_t len, void *ret)
{
	unsigned long long plain;

	if (len < PAYLOAD_ADDED ||
	    crypto_aead_xchacha20poly1305_ietf_decrypt(ret, &plain, NULL,
		sealed + PAYLOAD_NONCE_LEN, len - PAYLOAD_NONCE_LEN, digest,
		MERKLE_HASH_LEN, sealed, key->bytes) != 0)
		return -EBADMSG;
	return 0;
}
