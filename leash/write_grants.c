/*
 * Which server may write a path: the source of a secret, or a link to it, must not
 * be below a `write` grant of any server of the policy.
 *
 * Process: the leash, before it sandboxes itself.
 */
#include <stdio.h>
#include <string.h>

#include "leash/private.h"
#include "policy/sealed/policy.h"

static bool
below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

const char *
writes_find(void *arg, const char *path)
{
	const struct policy *p = arg;
	static char text[600];
	char at[300];

	for (uint32_t i = 0; i < p->row_n[SEALED_SERVERS]; i++) {
		const struct sealed_server *s = &p->server[i];

		for (uint32_t k = s->mounts.first; k < s->mounts.first + s->mounts.n;
		     k++) {
			const struct sealed_mount *m = &p->mount[k];

			if ((m->kind != MOUNT_TREE && m->kind != MOUNT_FILE) ||
			    (m->right & RIGHT_WRITE) == 0 ||
			    !below(path, policy_str(p, m->source)))
				continue;
			(void)snprintf(text, sizeof(text), "server %.64s may write (%s)",
			    policy_str(p, s->name), policy_at(p, m->at, at, sizeof(at)));
			return text;
		}
	}
	return NULL;
}
