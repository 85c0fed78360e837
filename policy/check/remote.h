/*
 * `remote`, `auth` and `header`: a server at a URL.
 */
#ifndef KENNEL_POLICY_CHECK_REMOTE_H
#define KENNEL_POLICY_CHECK_REMOTE_H

#include "policy/lang/check_word.h"

check_fn check_remote, check_auth, check_header;

/*
 * After the statements of the server are checked: adds the grants that its `remote`
 * means, as statements with `expanded` set: the `run` of kennel-remote, the
 * `net` of its host, and the `read` of the certificates.  Without `remote`, reports
 * `auth` and `header`.
 */
void remote_expand(struct check *, struct server *);

/* The file of certificates that this system trusts. */
const char *remote_certificates(void);

#endif
