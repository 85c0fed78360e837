/*
 * Text of OAuth requests: forms, URLs of metadata, the authorization URL's parts.
 */
#ifndef KENNEL_LEASH_REMOTE_OAUTH_TEXT_H
#define KENNEL_LEASH_REMOTE_OAUTH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Percent-encodes all but letters, digits and "-._~".  0, -EMSGSIZE or -ENOMEM. */
int text_encode(struct buf *, const char *, size_t);
/* Appends NAME=VALUE, after `&` unless the buffer is empty or ends with `?`. */
int form_put(struct buf *, const char *name, const char *value, size_t len);
/* Decodes the first parameter of this name in a query to out; false: absent, too long, or
 * with control bytes. */
bool form_get(const char *query, const char *name, char *out, size_t cap);
/* Standard base64 (padded). */
int text_base64(struct buf *, const void *, size_t);

/*
 * A URL of metadata for url: its origin, then /.well-known/NAME, then its path without a
 * final slash (RFC 8414, 3.1; RFC 9728, 3.1).  after: the path comes before
 * /.well-known, as OpenID Connect has it.  The query of url is left out.  0, or
 * -EMSGSIZE, or -EINVAL: url has no origin.
 */
int well_known(const char *url, const char *name, bool after, char *out, size_t cap);
/* Does url have a path, other than a slash? */
bool url_has_path(const char *url);

#endif
