/*
 * The URL of `remote`, and the names of HTTP headers that a policy may set.
 */
#ifndef KENNEL_POLICY_LANG_REMOTE_URL_H
#define KENNEL_POLICY_LANG_REMOTE_URL_H

#include <stdbool.h>
#include <stddef.h>

#define REMOTE_URL_MAX    2048 /* bytes */
#define REMOTE_NAME_MAX   64   /* bytes of a header's name */
#define REMOTE_VALUE_MAX  1024 /* bytes of a header's value */
#define REMOTE_TARGET_CAP 272  /* a host name of 253 bytes, a colon, a port, a NUL */

struct remote_url {
	bool tls;                       /* https */
	char target[REMOTE_TARGET_CAP]; /* HOST:PORT, as `net` spells it */
};

/* NULL with *ret filled; or the reason why the URL is invalid. */
const char *remote_url_read(const char *, size_t len, struct remote_url *ret);

/*
 * NULL; or why a policy may not set a header of this name.  for_auth: in
 * `auth api-key`, where `authorization` is allowed.
 */
const char *remote_header_refused(const char *, size_t len, bool for_auth);

/* Printable ASCII, with spaces only inside, and not empty? */
bool remote_value_is_plain(const char *, size_t len);

#endif
