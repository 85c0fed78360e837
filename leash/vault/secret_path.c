/*
 * The format of a secret's path, for the keeper and for its clients.
 */
#include "leash/vault/secret_path.h"

#include <stdio.h>
#include <string.h>

#define REFRESH_LEAD "__oauth/"
#define REFRESH_TAIL "/refresh"

/* A name of a server, as the policy language has it. */
static bool
is_server(const char *name, size_t len)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return len > 0 && len <= 64 && name[0] != '-' && name[0] != '_' &&
	       strspn(name, bytes) >= len;
}

bool
secret_path_refresh(const char *server, char out[VAULT_PATH_MAX + 1])
{
	size_t len = strlen(server);

	if (!is_server(server, len))
		return false;
	(void)snprintf(out, VAULT_PATH_MAX + 1, REFRESH_LEAD "%s" REFRESH_TAIL,
	    server); /* it fits */
	return true;
}

bool
secret_path_is_refresh_of(const char *path, const char *server)
{
	char own[VAULT_PATH_MAX + 1];

	return secret_path_refresh(server, own) && strcmp(own, path) == 0;
}

bool
secret_path_is_refresh(const char *path)
{
	const size_t lead = sizeof(REFRESH_LEAD) - 1, tail = sizeof(REFRESH_TAIL) - 1;
	size_t len = strlen(path);

	return len > lead + tail && len <= VAULT_PATH_MAX &&
	       memcmp(path, REFRESH_LEAD, lead) == 0 &&
	       strcmp(path + len - tail, REFRESH_TAIL) == 0 &&
	       is_server(path + lead, len - lead - tail);
}

bool
secret_path_good(const char *path)
{
	size_t parts = 1, len = strlen(path);

	if (secret_path_is_refresh(path))
		return true;
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
