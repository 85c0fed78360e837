/*
 * Keeps a server away from what confines it: kennel's programs, the policies, the
 * sealed policies, the log, the vault, and the sockets. The compiler knows only the
 * directories of the user who compiles; this file knows those that this start uses.
 *
 * `hide` is no protection: it covers a name with a mount, and the kernel removes the
 * mount when the host renames another file to that name.
 *
 * Process: kennel, before anything is started. A directory that does not exist yet
 * counts as well, because the server could create it.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policy/base/arena.h"
#include "policy/check/trusted.h"
#include "policy/manifests/catalog.h"
#include "policy/sealed/policy.h"
#include "policy/sources/sources.h"
#include "shim/base/array.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/kept/kept_checkpoint.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/launch.h"

#define READ_TOO (RIGHT_READ | RIGHT_WRITE)

/* The path without a slash at its end. False: too long. */
static bool
join(const char *base, const char *below, char ret[PATH_MAX])
{
	int n = base == NULL ? -1 : snprintf(ret, PATH_MAX, "%s%s", base, below);

	if (n <= 0 || n >= PATH_MAX)
		return false;
	for (int len = n; len > 1 && ret[len - 1] == '/'; len--)
		ret[len - 1] = '\0';
	return true;
}

/* early: readlink readlinkat */
int
self_protect_files(struct trusted *t, const struct audit_place *place, unsigned int group,
    uint32_t granted)
{
	char program[PATH_MAX] = "", rollback[PATH_MAX], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	const struct {
		const char *what;
		const char *base;  /* NULL: unavailable */
		const char *below; /* path below the base */
		uint32_t right;    /* the right that a grant must not have */
		bool tree;         /* and everything in it */
	} own[] = {
	    {"kennel's configuration directory", paths_config_dir(), "", RIGHT_WRITE,
		false},
	    {"kennel's policies", paths_config_dir(), "/policies", RIGHT_WRITE, true},
	    {"kennel's sealed policies", paths_config_dir(), "/sealed", RIGHT_WRITE,
		true},
	    {"kennel's trust keys", paths_config_dir(), "/trust", RIGHT_WRITE, true},
	    {"the routes of secrets", paths_config_dir(), "/" SOURCES_FILE, RIGHT_WRITE,
		false},
	    {"the index of secrets", paths_config_dir(), "/" META_FILE, RIGHT_WRITE,
		false},
	    {"the catalog of tokens", paths_config_dir(), "/" CATALOG_FILE, RIGHT_WRITE,
		false},
	    {"the fetched catalogs", paths_catalogs_dir(), "", RIGHT_WRITE, true},
	    {"kennel's settings", paths_config_dir(), "/" SETTINGS_FILE, RIGHT_WRITE,
		false},
	    {"the file of servers", paths_config_dir(), "/mcp-servers.json", RIGHT_WRITE,
		false},
	    {"the store of packages", paths_data_dir(), "/store", RIGHT_WRITE, true},
	    {"the registry of servers", paths_registry_dir(), "", RIGHT_WRITE, true},
	    {"kennel's configuration", "", "/etc/kennel", RIGHT_WRITE, true},
	    {"the record of signed policies",
		rollback_dir(rollback) == 0 ? rollback : NULL, "", RIGHT_WRITE, true},
	    {"the audit log", place->log_dir, "", RIGHT_WRITE, true},
	    {"its kept checkpoints", place->log_dir, KEPT_DIR_TAIL, RIGHT_WRITE, true},
	    {"a key of the audit log", place->log_dir, "/audit.key", READ_TOO, false},
	    {"a key of the audit log", place->log_dir, "/origin.key", READ_TOO, false},
	    {"a key of the audit log", place->log_dir, "/payload.key", READ_TOO, false},
	    {"the log of the servers", paths_log_dir(), "", RIGHT_WRITE, true},
	    {"a program of kennel", paths_libexec(""), "", RIGHT_WRITE, true},
	    {"a program of kennel", n < 0 ? NULL : program, "", RIGHT_WRITE, false},
	    /* Connecting to a socket is no write to its directory. */
	    {"the directory of kennel's sockets", place->run_dir, "", READ_TOO, true},
	    /* A copy of the vault could be tried with many passphrases. */
	    {"kennel's vault", paths_vault_dir(), "", READ_TOO, true},
	};
	struct trusted_file f = {.use = USE_OWN, .by.group = group};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(own); i++) {
		/* Fast path: no grant meets it, 0.08 ms without a `write` line. */
		if ((own[i].right & granted) == 0 ||
		    !join(own[i].base, own[i].below, path))
			continue; /* or it is unavailable */
		f.what = own[i].what;
		f.right = own[i].right;
		f.below = own[i].tree;
		r = trusted_add_file(t, &f, path, false);
	}
	return r;
}

/* The policy's file and its includes: they are all part of the policy. */
static int
policy_files_put(struct trusted *t, const struct policy_found *f, const char *file)
{
	struct trusted_file row = {
	    .use = USE_OWN, .what = "the policy itself", .right = RIGHT_WRITE};
	int r = 0;

	if (file != NULL)
		r = trusted_add_file(t, &row, file, false);
	if (r == 0)
		r = trusted_add_file(t, &row, f->file, false);
	for (uint32_t i = 0; r == 0 && f->text && i < f->policy.row_n[SEALED_FILES]; i++)
		r = trusted_add_file(
		    t, &row, policy_str(&f->policy, f->policy.file[i]), false);
	return r;
}

/* Adds every path of the host in the server's view, whatever put it there. */
static int
view_put(struct trusted *t, const struct policy *p, const struct sealed_server *server)
{
	const struct sealed_mount *m = p->mount + server->mounts.first;
	struct trusted_line by = {.server = policy_str(p, server->name)};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < server->mounts.n; i++) {
		if (m[i].kind != MOUNT_TREE && m[i].kind != MOUNT_FILE)
			continue;
		by.file = m[i].at.file < p->row_n[SEALED_FILES]
			      ? policy_str(p, p->file[m[i].at.file])
			      : "?";
		by.line = m[i].at.line;
		r = trusted_add_grant(
		    t, &by, policy_str(p, m[i].source), m[i].right & READ_TOO, true);
	}
	return r;
}

/*
 * The views of all servers of the policy, not only of the one that is started: another
 * one that may replace the file decides what this one gets at its next start.
 */
static int
views_put(struct trusted *t, const struct policy *p)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->row_n[SEALED_SERVERS]; i++)
		r = view_put(t, p, &p->server[i]);
	return r;
}

/* The rights of all grants together. */
static uint32_t
rights_of(const struct trusted *t)
{
	const struct trusted_grant *g;
	uint32_t right = 0;
	size_t n;

	g = trusted_grants(t, &n);
	for (size_t i = 0; i < n; i++)
		right |= g[i].right;
	return right;
}

int
self_protect_check(const struct policy_found *f, const char *file,
    const struct audit_place *place, char *why, size_t why_cap)
{
	struct arena *arena = arena_new();
	struct trusted *t = arena == NULL ? NULL : trusted_new(arena);
	int r = t == NULL ? -ENOMEM : views_put(t, &f->policy);

	if (r == 0)
		r = policy_files_put(t, f, file);
	if (r == 0)
		r = self_protect_files(t, place, 0, rights_of(t));
	if (r == 0)
		r = trusted_first(t, why, why_cap);
	else
		(void)snprintf(why, why_cap, "out of memory");
	arena_free(arena);
	return r;
}
