/*
 * The path of a secret in the vault, as the keeper and its clients check it.
 */
#ifndef KENNEL_LEASH_VAULT_SECRET_PATH_H
#define KENNEL_LEASH_VAULT_SECRET_PATH_H

#include <stdbool.h>

#define VAULT_PATH_MAX 200 /* bytes of a path */

/* The keeper's list of security keys: an entry of the vault, and no secret's path. */
#define SECRET_PATH_KEYS "__sys/keys"

/* Three or more names of [a-z][a-z0-9-]*, separated by '/'; or that of a refresh token. */
bool secret_path_good(const char *);

/*
 * "__oauth/SERVER/refresh": the refresh token of a server with `auth oauth2`.  No
 * policy can name this path, and the keeper releases it to this server only.
 */
bool secret_path_is_refresh(const char *);
/* Is it that of this server? */
bool secret_path_is_refresh_of(const char *path, const char *server);
/* That of this server; false: no valid name. */
bool secret_path_refresh(const char *server, char out[VAULT_PATH_MAX + 1]);

#endif
