/*
 * May a server of the registry be started with its argv? Its policy alone decides: the
 * registry and the files that agents and people write give no authority.
 */
#ifndef KENNEL_SUPERVISOR_HUB_ARGV_AUTHORITY_H
#define KENNEL_SUPERVISOR_HUB_ARGV_AUTHORITY_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/sealed/policy.h"

enum argv_authority {
	ARGV_DENIED,  /* not granted, or denied by a line */
	ARGV_ASKS,    /* `exec ask`: a person decides */
	ARGV_GRANTED, /* `exec allow` */
	ARGV_RUN,     /* exactly the policy's `run` */
};

/* The refusal, for printf: the program. */
#define ARGV_DENIED_TEXT "denied: exec of \"%.200s\" is not within the granted authority"

/*
 * argv has n texts. argv[0] is the path of a program as the policy grants it, or as it
 * resolves there; or only its base name, which then must be that of exactly one granted
 * program. PATH is never searched. ret_program, unless denied: the path as granted, which
 * is what may be started in place of argv[0].
 */
enum argv_authority argv_authority(const struct policy *, const struct sealed_server *,
    const char *const *argv, size_t n, const char **ret_program);

/* May a server of the registry be the one at this URL? It is that of `remote`, exactly. */
#define URL_DENIED_TEXT "denied: \"%.200s\" is not the URL of the policy's `remote`"
bool url_authority(const struct policy *, const struct sealed_server *, const char *url);

#endif
