/*
 * Pinned programs: a file that a policy names with its digest matches only while
 * its bytes have that digest.
 *
 * Process: the leash.  A pinned file is read once, before the server starts.  Later
 * only its size and times are checked.  A file that was touched is read again if it
 * is small enough, and refused otherwise: touching a file must not delay the gate.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "leash/exec/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"

#define PIN_LEN_MAX   (1ull << 30)  /* bytes read at the start */
#define PIN_AGAIN_MAX (32ull << 20) /* bytes read while an exec waits: 0.1 s */

struct pin {
	bool wanted;
	bool good;      /* the file had these bytes at the time below */
	struct stat st; /* of the file when it was read */
};

static bool
as_it_was(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Reads the file, if it is not too long.  Takes its times before its bytes, so that a
 * write in between changes them. */
static void
pin_read(const struct gate *g, size_t image, uint64_t max)
{
	const struct sealed_range all = g->order.server->images;
	const struct sealed_image *row = &g->order.policy->image[all.first + image];
	struct pin *pin = &g->pin[image];
	uint8_t digest[sizeof(row->sha256)];
	char link[64];
	int fd;

	pin->good = false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", g->order.image_fd[image]);
	/* syscalls: openat fstat newfstatat */
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return;
	if (fstat(fd, &pin->st) == 0 && pin->st.st_size >= 0 &&
	    (uint64_t)pin->st.st_size <= max && policy_digest_fd(fd, max, digest) == 0)
		pin->good = memcmp(digest, row->sha256, sizeof(digest)) == 0;
	fd_close(&fd);
}

int
pin_load(struct gate *g)
{
	static const uint8_t unpinned[32];
	const struct sealed_range all = g->order.server->images;

	for (size_t i = 0; i < g->order.image_n; i++) {
		if (memcmp(g->order.policy->image[all.first + i].sha256, unpinned,
			sizeof(unpinned)) == 0)
			continue;
		if (!g->pin)
			g->pin = calloc(g->order.image_n, sizeof(*g->pin));
		if (!g->pin)
			return -ENOMEM;
		g->pin[i].wanted = true;
		if (g->order.image_fd[i] >= 0)
			pin_read(g, i, PIN_LEN_MAX);
	}
	return 0;
}

bool
pin_holds(const struct gate *g, size_t image)
{
	struct stat st;

	if (!g->pin || !g->pin[image].wanted)
		return true;
	if (g->order.image_fd[image] < 0 || fstat(g->order.image_fd[image], &st) < 0)
		return false;
	if (!as_it_was(&st, &g->pin[image].st))
		pin_read(g, image, PIN_AGAIN_MAX);
	return g->pin[image].good;
}
