/*
 * digest: a program that the server starts must have these bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/compile/lower.h"
#include "shim/base/fd.h"

#define DIGEST_FILE_MAX (1ull << 30) /* as the leash reads them (leash/exec/digest_pin.c) */
#define DIGEST_TEXT_LEN 64

static int
digest_of(const char *path, uint8_t ret[32])
{
	/* syscalls: openat pread64 close */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;

	if (fd < 0)
		return -errno;
	r = policy_digest_fd(fd, DIGEST_FILE_MAX, ret);
	fd_close(&fd);
	return r;
}

static void
as_text(const uint8_t digest[32], char ret[DIGEST_TEXT_LEN + 1])
{
	size_t i;

	for (i = 0; i < 32; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

/* Every image of this file, under whatever name it was granted. */
static bool
pin_images(struct lower *l, const char *path, const uint8_t digest[32])
{
	const char *real = path; /* or that of the image which has this name */
	bool found = false;
	size_t i;

	for (i = 0; i < l->image_n; i++)
		if (strcmp(l->image_path[i], path) == 0)
			real = l->image_real[i];
	for (i = 0; i < l->image_n; i++) {
		if (strcmp(l->image_real[i], real) != 0)
			continue;
		memcpy(l->image[i].sha256, digest, sizeof(l->image[i].sha256));
		found = true;
	}
	return found;
}

int
digest_lower(struct lower *l, const struct stmt *s)
{
	const char *path = s->word[0].text;
	char text[DIGEST_TEXT_LEN + 1];
	uint8_t digest[32] = {0};
	int r = digest_of(path, digest);

	if (r < 0) {
		diag_error(
		    l->diag, s->word[0].at, "%s cannot be read: %s", path, strerror(-r));
		return -EINVAL;
	}
	as_text(digest, text);
	if (s->word_n > 1 && strcmp(text, s->word[1].text) != 0) {
		diag_error(l->diag, s->word[1].at,
		    "the file is another one: its sha256 is %s", text);
		return -EINVAL;
	}
	if (!pin_images(l, path, digest)) {
		diag_error(l->diag, s->word[0].at,
		    "no `run` and no `exec` here starts %s", path);
		return -EINVAL;
	}
	return 0;
}
