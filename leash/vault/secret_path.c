/*
 * The format of a secret's path, for the keeper and for its clients.
 */
#include "leash/vault/secret_path.h"

#include <string.h>

bool
secret_path_good(const char *path)
{
	size_t parts = 1, len = strlen(path);

	if (len > VAULT_PATH_MAX || path[0] < 'a' || path[0] > 'z')
		return false;
	for (size_t i = 1; i < len; i++) {
		bool letter = path[i] >= 'a' && path[i] <= 'z';
		bool later = (path[i] >= '0' && path[i] <= '9') || path[i] == '-';

		if (path[i] == '/')
			parts++;
		else if (!letter && (!later || path[i - 1] == '/'))
			return false;
		if (path[i] == '/' && path[i - 1] == '/')
			return false;
	}
	return parts >= 3 && path[len - 1] != '/';
}
