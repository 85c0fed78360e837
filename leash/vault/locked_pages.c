/*
 * Pages for secrets: memfd_secret(2) if the kernel has it (it also removes the
 * pages from the kernel's direct map, so that no other process reads them, root
 * included), else private locked pages.  There is a guard page on either side.
 *
 *	| PROT_NONE | usable, locked, DONTDUMP, DONTFORK | PROT_NONE |
 *
 * Process: the leash.  Must never return memory that can be swapped.  A vault is
 * made before the leash is sandboxed; only the calls of its end are noted below.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/vault/private.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

#define PAGES_MAX (64u << 20) /* bytes of one vault; prevents overflow below */

static size_t
page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Maps over [at, at + len), which is already reserved.  0 or -errno. */
static int
map_secret(void *at, size_t len)
{
	int fd, r = 0;
	void *got;

	fd = (int)syscall(SYS_memfd_secret, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)len) < 0) {
		r = -errno;
		goto out;
	}
	got = mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	if (got == MAP_FAILED)
		r = -errno;
out:
	(void)close(fd); /* the mapping keeps the pages */
	return r;
}

static int
map_locked(void *at, size_t len)
{
	void *got;

	got = mmap(at, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (got == MAP_FAILED)
		return -ENOMEM;
	if (mlock(at, len) < 0)
		return -EPERM;
	return 0;
}

int
pages_new(size_t len, void **ret, size_t *ret_len)
{
	size_t page = page_size();
	uint8_t *all;
	int r;

	if (len == 0 || len > PAGES_MAX)
		return -ENOMEM;
	len = (len + page - 1) & ~(page - 1);
	all = mmap(NULL, len + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return -ENOMEM;
	r = map_secret(all + page, len);
	if (r < 0)
		r = map_locked(all + page, len);
	if (r < 0)
		goto out;
	if (madvise(all + page, len, MADV_DONTDUMP) < 0 ||
	    madvise(all + page, len, MADV_DONTFORK) < 0) {
		r = -EPERM;
		goto out;
	}
	*ret = all + page;
	*ret_len = len;
	all = NULL;
out:
	if (all != NULL)
		(void)munmap(all, len + 2 * page); /* cannot fail: our mapping */
	return r;
}

void
pages_free(void *at, size_t len, size_t used)
{
	size_t page = page_size();

	if (at == NULL)
		return;
	vault_wipe(at, used);
	/* syscalls: munmap */
	(void)munmap((uint8_t *)at - page, len + 2 * page); /* cannot fail: our mapping */
}
