/*
 * The path of a secret in the vault, as the keeper and its clients check it.
 */
#ifndef KENNEL_LEASH_VAULT_SECRET_PATH_H
#define KENNEL_LEASH_VAULT_SECRET_PATH_H

#include <stdbool.h>

#define VAULT_PATH_MAX 200 /* bytes of a path */

/* Three or more names of [a-z][a-z0-9-]*, separated by '/'. */
bool secret_path_good(const char *);

#endif
