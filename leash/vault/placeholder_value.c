/*
 * A placeholder in the place of a value (leash/placeholder/), in the vault's pages, so that
 * it is given, searched for and recorded as a value is.
 *
 * Process: the leash, before it sandboxes itself.
 */
#include <errno.h>
#include <string.h>

#include "leash/vault/private.h"

int
secret_placeholder(struct vault *v, const struct placeholder *how,
    const struct token_format *format, const struct secret *value, struct secret **ret,
    const char **ret_what)
{
	uint8_t unread[PLACEHOLDER_LEN_MAX];
	struct secret *s;
	size_t cap = 0, len;
	int r = value_open(v, &s, &cap);

	if (r < 0)
		return r;
	len = value != NULL ? value->len : placeholder_unread(how, format, unread);
	if (len >= cap)
		return -ENOMEM;
	memcpy(s->bytes, value != NULL ? value->bytes : (const char *)unread, len);
	if (value != NULL)
		placeholder_replace(how, (uint8_t *)s->bytes, len);
	r = value_close(v, s, len, ret_what);
	if (r == 0)
		*ret = s;
	return r;
}
