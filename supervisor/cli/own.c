/*
 * What keeps a server must not be within its reach: kennel's programs, the
 * policies, the sealed ones, the log, the vault, and the sockets.  The compiler
 * warns of the folders of whoever compiles; here are those that this start uses.
 *
 * Process: kennel, before anything is started.  A folder that is not there yet
 * counts as well: the server could make it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/lang/lex.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/paths.h"

/* The canonical form of a path of which the last parts may not exist. */
static int
canonical(const char *path, char ret[PATH_MAX])
{
	char head[PATH_MAX], *cut;
	size_t len;

	/* early: readlink readlinkat newfstatat getcwd */
	if (path[0] != '/' || strlen(path) >= sizeof(head))
		return realpath(path, ret) != NULL ? 0 : -errno;
	(void)snprintf(head, sizeof(head), "%s", path);
	while (head[0] != '\0' && realpath(head, ret) == NULL) {
		if (errno != ENOENT)
			return -errno;
		cut = strrchr(head, '/');
		*cut = '\0'; /* it begins with one */
	}
	len = head[0] == '\0' || ret[1] == '\0' ? 0 : strlen(ret);
	if (len + strlen(path + strlen(head)) >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(ret + len, path + strlen(head), strlen(path + strlen(head)) + 1);
	return 0;
}

static bool
hidden(const struct found *f, const char *path)
{
	const struct sealed_mount *m = f->policy.mount + f->server->mounts.first;

	for (uint32_t i = 0; i < f->server->mounts.n; i++) {
		const char *over = policy_str(&f->policy, m[i].target);

		/* Over nothing there is no cover.  early: access faccessat */
		if (m[i].kind == MOUNT_HIDE && path_below(over, path) &&
		    (m[i].optional == 0 || access(over, F_OK) == 0))
			return true;
	}
	return false;
}

/* right: what of a grant is too much for it. */
static int
apart(const struct found *f, const char *path, uint32_t right, char *why, size_t why_cap)
{
	const struct sealed_mount *m = f->policy.mount + f->server->mounts.first;
	char own[PATH_MAX];

	/* What cannot be reached is none that the server could reach. */
	if (path == NULL || canonical(path, own) < 0 || hidden(f, own))
		return 0;
	for (uint32_t i = 0; i < f->server->mounts.n; i++) {
		const char *source = policy_str(&f->policy, m[i].source);

		if ((m[i].kind != MOUNT_TREE && m[i].kind != MOUNT_FILE) ||
		    (m[i].right & right) == 0 || !path_below(source, own))
			continue;
		(void)snprintf(why, why_cap,
		    "the server is granted %.900s, where kennel keeps %.900s: grant "
		    "less, or hide that",
		    source, own);
		return -EPERM;
	}
	return 0;
}

/* What was included is as much the policy as the file that included it. */
static int
texts_apart(const struct found *f, char *why, size_t why_cap)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && f->text && i < f->policy.row_n[SEALED_FILES]; i++)
		r = apart(f, policy_str(&f->policy, f->policy.file[i]), RIGHT_WRITE, why,
		    why_cap);
	return r;
}

int
own_apart(const struct found *f, const char *file, const struct audit_place *place,
    char *why, size_t why_cap)
{
	static const char *const below[] = {"policies", "sealed", "trust"};
	const char *config = paths_config_dir();
	char path[PATH_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && config != NULL && i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%.4000s/%s", config, below[i]);
		r = apart(f, path, RIGHT_WRITE, why, why_cap);
	}
	if (r == 0)
		r = apart(f, file, RIGHT_WRITE, why, why_cap);
	if (r == 0)
		r = texts_apart(f, why, why_cap);
	if (r == 0)
		r = apart(f, place->log_dir, RIGHT_WRITE, why, why_cap);
	if (r == 0)
		r = apart(f, paths_log_dir(), RIGHT_WRITE, why, why_cap);
	if (r == 0)
		r = apart(f, paths_libexec(""), RIGHT_WRITE, why, why_cap);
	if (r == 0)
		r = apart(f, "/proc/self/exe", RIGHT_WRITE, why, why_cap);
	/* To connect to a socket is no write to its folder. */
	if (r == 0)
		r = apart(f, place->run_dir, RIGHT_WRITE | RIGHT_READ, why, why_cap);
	/* What is read there could be tried with many passphrases. */
	if (r == 0)
		r = apart(f, paths_vault_dir(), RIGHT_WRITE | RIGHT_READ, why, why_cap);
	return r;
}
