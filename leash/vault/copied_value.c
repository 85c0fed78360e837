/*
 * A value that a program got by itself, into the vault's pages.
 *
 * Process: kennel-remote, whose tokens come from an issuer.
 */
#include <errno.h>
#include <string.h>

#include "leash/vault/private.h"

int
secret_from_bytes(struct vault *v, const void *bytes, size_t len, struct secret **ret,
    const char **ret_what)
{
	struct secret *s;
	size_t cap = 0;
	int r = value_open(v, &s, &cap);

	if (r < 0)
		return r;
	if (len >= cap)
		return -ENOMEM;
	memcpy(s->bytes, bytes, len);
	r = value_close(v, s, len, ret_what);
	if (r == 0)
		*ret = s;
	return r;
}
