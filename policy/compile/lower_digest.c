/*
 * digest: a program that the server starts must have this digest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIAG_CODE "program"

#include "policy/compile/lower.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/host/path_open.h"

#define DIGEST_FILE_MAX (1ull << 30) /* the leash's limit (leash/exec/digest_pin.c) */
#define DIGEST_TEXT_LEN 64

static int
digest_of(const char *real, uint8_t ret[32])
{
	int fd, r = path_open_real(real, &fd);

	if (r < 0)
		return r;
	/* syscalls: pread64 close */
	r = policy_digest_fd(fd, DIGEST_FILE_MAX, ret);
	fd_close(&fd);
	return r;
}

/* Sets the digest of every image of this file, under any granted name. */
static bool
pin_images(struct lower *l, const char *real, const uint8_t digest[32])
{
	bool found = false;
	size_t i;

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
	const char *path = s->word[0].text, *real = NULL;
	char text[DIGEST_TEXT_LEN + 1];
	uint8_t digest[32] = {0};
	int r = program_real(l, path, s->word[0].at, &real);

	if (r == -EINVAL || r == -ENOMEM)
		return r;
	if (r == 0)
		r = digest_of(real, digest);
	if (r < 0) {
		diag_host(
		    l->diag, s->word[0].at, "unable to read %s: %s", path, strerror(-r));
		return -EINVAL;
	}
	(void)hex_put(text, digest, sizeof(digest));
	if (s->word_n > 1 && strcmp(text, s->word[1].text) != 0) {
		diag_host(l->diag, s->word[1].at,
		    "the digest does not match: the sha256 of the file is %s", text);
		return -EINVAL;
	}
	if (!pin_images(l, real, digest)) {
		diag_error(l->diag, s->word[0].at,
		    "no `run` or `exec` of this server starts %s", path);
		return -EINVAL;
	}
	return 0;
}
