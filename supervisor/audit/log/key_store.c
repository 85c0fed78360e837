/*
 * Secret keys at rest: files in the log directory, mode 0600. They are never in the
 * database, because its write-ahead log and free pages keep overwritten data.
 *
 * Process: kennel-recorder. Must never: leave the key of an ended epoch in the file,
 * or use a new key before it is on disk.
 *
 *	audit.key	two slots of 64 bytes, overwritten in place:
 *			seed (32), epoch (8, little-endian), check (24)
 *	origin.key	one such slot, its epoch all ones
 *
 * check is the first 24 bytes of SHA-256 over the bytes before it, so that a torn
 * write is not taken for a key. A slot of zeros is empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/sign_key.h"

#define SLOT_LEN   64
#define CHECK_AT   (KEY_LEN + 8)
#define ORIGIN     UINT64_MAX
#define SLOT_NAME  "audit.key"
#define ORIGIN_KEY "origin.key"

static void
check(const uint8_t slot[SLOT_LEN], uint8_t ret[SLOT_LEN - CHECK_AT])
{
	uint8_t digest[MERKLE_HASH_LEN];

	merkle_digest(slot, CHECK_AT, digest);
	memcpy(ret, digest, SLOT_LEN - CHECK_AT);
}

/* syscalls: openat fstat pread64 pwrite64 fdatasync fsync ftruncate close */
static int
open_file(int log_dir, const char *name, int flags, int *ret_fd)
{
	struct stat st;
	int fd = openat(log_dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 &&
	    (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0))
		r = -EACCES;
	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int
slot_open(int log_dir, int *ret_fd)
{
	int fd = -1, r;

	r = open_file(log_dir, SLOT_NAME, O_CREAT, &fd);
	/* the size never changes again, so blocks are overwritten in place */
	if (r == 0 && ftruncate(fd, (off_t)SLOTS * SLOT_LEN) < 0)
		r = -errno;
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && fsync(log_dir) < 0)
		r = -errno;
	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int
slot_read(int fd, int slot, uint64_t *ret_epoch, uint8_t ret_seed[KEY_LEN])
{
	uint8_t bytes[SLOT_LEN], want[SLOT_LEN - CHECK_AT];
	uint64_t epoch = 0;
	int r = -ENOENT;

	if (pread(fd, bytes, sizeof(bytes), (off_t)slot * SLOT_LEN) != SLOT_LEN)
		return -ENOENT;
	check(bytes, want);
	for (size_t i = 0; i < 8; i++)
		epoch |= (uint64_t)bytes[KEY_LEN + i] << 8 * i;
	if (memcmp(want, bytes + CHECK_AT, sizeof(want)) == 0) {
		memcpy(ret_seed, bytes, KEY_LEN);
		*ret_epoch = epoch;
		r = 0;
	}
	explicit_bzero(bytes, sizeof(bytes));
	return r;
}

static int
put(int fd, int slot, const uint8_t bytes[SLOT_LEN])
{
	ssize_t n = pwrite(fd, bytes, SLOT_LEN, (off_t)slot * SLOT_LEN);

	if (n != SLOT_LEN)
		return n < 0 ? -errno : -EIO;
	return fdatasync(fd) < 0 ? -errno : 0;
}

int
slot_write(int fd, int slot, uint64_t epoch, const struct key *key)
{
	uint8_t bytes[SLOT_LEN];
	int r;

	key_seed(key, bytes);
	for (size_t i = 0; i < 8; i++)
		bytes[KEY_LEN + i] = (uint8_t)(epoch >> 8 * i);
	check(bytes, bytes + CHECK_AT);
	r = put(fd, slot, bytes);
	explicit_bzero(bytes, sizeof(bytes));
	return r;
}

int
slot_wipe(int fd, int slot)
{
	static const uint8_t zero[SLOT_LEN];

	return put(fd, slot, zero);
}

/* Reads, or creates, a file of one slot. */
static int
take_key(int fd, bool make, struct key **ret)
{
	uint8_t seed[KEY_LEN];
	struct key *key = NULL;
	uint64_t epoch;
	int r;

	r = slot_read(fd, 0, &epoch, seed);
	if (r == 0)
		r = epoch == ORIGIN ? key_from_seed(seed, &key) : -EBADMSG;
	else if (make)
		r = key_new(&key);
	if (r == 0 && make)
		r = slot_write(fd, 0, ORIGIN, key);
	if (r < 0) {
		key_free(key);
		return r;
	}
	*ret = key;
	return 0;
}

int
slot_origin(int log_dir, bool make, struct key **ret)
{
	int fd = -1, r;

	r = open_file(log_dir, ORIGIN_KEY, make ? O_CREAT : 0, &fd);
	if (r < 0)
		return r;
	r = take_key(fd, make, ret);
	fd_close(&fd);
	return r;
}

int
slot_file(const char *path, bool make, struct key **ret)
{
	int fd = -1, r;

	r = open_file(AT_FDCWD, path, make ? O_CREAT | O_EXCL : 0, &fd);
	if (r < 0)
		return r;
	r = take_key(fd, make, ret);
	fd_close(&fd);
	return r;
}
