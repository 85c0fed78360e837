/*
 * Directories by the XDG base directory specification, with KENNEL_HOME before it.
 */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/host/install_path.h"
#include "shim/host/path_open.h"
#include "shim/host/path_resolve.h"
#include "supervisor/base/paths.h"

#define USER_NAME_MAX 256

enum place {
	PLACE_CONFIG,
	PLACE_DATA,
	PLACE_AUDIT,
	PLACE_LOG,
	PLACE_REGISTRY,
	PLACE_VAULT,
	PLACE_CATALOGS,
	PLACE_RUN
};

/* A line of /etc/passwd. */
struct user {
	bool known;
	uid_t uid;
	char name[USER_NAME_MAX]; /* "": missing or too long */
	char dir[PATH_MAX];       /* absolute, or "" */
};

static void
text_put(char *to, size_t cap, const char *text)
{
	if ((size_t)snprintf(to, cap, "%s", text) >= cap)
		to[0] = '\0';
}

/* Reads an absolute path from the environment; the specification says to ignore any
 * other value. */
static const char *
absolute(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && value[0] == '/' ? value : NULL;
}

/*
 * Not getpwuid(3): it would load the host's name service modules into this process.
 * The process is static, and for a user without a line in /etc/passwd it crashes in
 * one of them.  Fast path: the last user is kept, 0.05 ms of each start.
 */
static const struct user *
user_of(uid_t uid)
{
	static struct user user;
	const struct passwd *pw;
	FILE *f;

	if (user.known && user.uid == uid)
		return &user;
	user = (struct user){.known = true, .uid = uid};
	f = fopen("/etc/passwd", "re");
	while (f != NULL && user.dir[0] == '\0' && (pw = fgetpwent(f)) != NULL) {
		if (pw->pw_uid != uid)
			continue;
		if (user.name[0] == '\0')
			text_put(user.name, sizeof(user.name), pw->pw_name);
		if (pw->pw_dir[0] == '/')
			text_put(user.dir, sizeof(user.dir), pw->pw_dir);
	}
	if (f != NULL)
		(void)fclose(f); /* read-only */
	return &user;
}

const char *
paths_home_of(uid_t uid)
{
	const struct user *user = user_of(uid);

	return user->dir[0] != '\0' ? user->dir : NULL;
}

const char *
paths_user_name(uid_t uid)
{
	const struct user *user = user_of(uid);

	return user->name[0] != '\0' ? user->name : NULL;
}

static const char *
home(void)
{
	const char *dir = absolute("HOME");

	return dir != NULL ? dir : paths_home_of(getuid());
}

/* Parts of each path: KENNEL_HOME and below; or variable, "/kennel" and tail; or the
 * home directory, fallback, "/kennel" and tail. */
static const struct {
	const char *below, *variable, *fallback, *tail;
} places[] = {
    [PLACE_CONFIG] = {"", "XDG_CONFIG_HOME", ".config", ""},
    [PLACE_DATA] = {"", "XDG_DATA_HOME", ".local/share", ""},
    [PLACE_AUDIT] = {"/audit", "XDG_STATE_HOME", ".local/state", "/audit"},
    [PLACE_LOG] = {"/log", "XDG_STATE_HOME", ".local/state", "/log"},
    [PLACE_REGISTRY] = {"/registry", "XDG_STATE_HOME", ".local/state", "/registry"},
    [PLACE_VAULT] = {"/vault", "XDG_DATA_HOME", ".local/share", "/vault"},
    [PLACE_CATALOGS] = {"/catalogs", "XDG_DATA_HOME", ".local/share", "/catalogs"},
    /* without a runtime directory, the state directory is as private */
    [PLACE_RUN] = {"/run", "XDG_RUNTIME_DIR", ".local/state", "/run"},
};
#define PLACE_N (ARRAY_LEN(places))

/* Computed once, so that a process never changes directories. */
static struct {
	bool known[PLACE_N];
	char path[PLACE_N][PATH_MAX]; /* "": unavailable */
	bool refused;
	char why[PATH_WHY_MAX + PATH_MAX];
} found;

/* The path from the environment; returns the variable that set it, or NULL. */
static const char *
written(enum place i, char out[PATH_MAX])
{
	const char *base, *from;
	int n;

	if ((base = absolute(from = "KENNEL_HOME")) != NULL)
		n = snprintf(out, PATH_MAX, "%s%s", base, places[i].below);
	else if ((base = absolute(from = places[i].variable)) != NULL)
		n = snprintf(out, PATH_MAX, "%s/kennel%s", base,
		    i == PLACE_RUN ? "" : places[i].tail);
	else if (from = "HOME", (base = home()) != NULL)
		n = snprintf(out, PATH_MAX, "%s/%s/kennel%s", base, places[i].fallback,
		    places[i].tail);
	else
		return NULL;
	return n > 0 && n < PATH_MAX ? from : NULL;
}

/* A server may have changed a symbolic link in the path, so only root's links are
 * followed. */
static void
find(enum place i)
{
	char out[PATH_MAX], why[PATH_WHY_MAX];
	const char *from = written(i, out);
	struct path_resolved p;
	int r;

	found.known[i] = true;
	if (from == NULL)
		return;
	/* early: openat fstat newfstatat fstatfs readlinkat */
	r = path_resolve(out, PATH_MISSING_OK, NULL, NULL, &p);
	fd_close(&p.fd);
	if (r == 0) {
		memcpy(found.path[i], p.real, strlen(p.real) + 1);
		return;
	}
	if (found.why[0] == '\0')
		(void)snprintf(found.why, sizeof(found.why),
		    "unable to use %.4000s (%s): %s", out, from,
		    path_link_why(&p, r, why, sizeof(why)));
	/* A directory that the user may not enter counts as missing, not as a refused
	 * link. */
	found.refused |= r == -ELOOP || r == -EXDEV;
}

static const char *
place(enum place i)
{
	if (!found.known[i])
		find(i);
	return found.path[i][0] != '\0' ? found.path[i] : NULL;
}

const char *
paths_config_dir(void)
{
	return place(PLACE_CONFIG);
}

const char *
paths_data_dir(void)
{
	return place(PLACE_DATA);
}

const char *
paths_audit_dir(void)
{
	return place(PLACE_AUDIT);
}

const char *
paths_log_dir(void)
{
	return place(PLACE_LOG);
}

const char *
paths_registry_dir(void)
{
	return place(PLACE_REGISTRY);
}

const char *
paths_vault_dir(void)
{
	return place(PLACE_VAULT);
}

const char *
paths_catalogs_dir(void)
{
	return place(PLACE_CATALOGS);
}

const char *
paths_run_dir(void)
{
	return place(PLACE_RUN);
}

const char *
paths_why(void)
{
	return found.why[0] != '\0' ? found.why
				    : "no home directory: set HOME or KENNEL_HOME";
}

bool
paths_refused(void)
{
	size_t i;

	for (i = 0; i < PLACE_N; i++)
		(void)place((enum place)i); /* NULL if there is no home directory */
	return found.refused;
}

const char *
paths_libexec(const char *name)
{
	static char out[PATH_MAX + 64];
	const char *dir = install_prefix();

	if (dir == NULL)
		return NULL;
	(void)snprintf(out, sizeof(out), "%s/libexec/kennel/%s", dir, name);
	return out;
}

const char *
paths_presets_dir(void)
{
	static const char *const below[] = {"share/kennel/presets", "../policy/presets"};
	static char out[PATH_MAX + 64];
	const char *dir = install_prefix();

	for (size_t i = 0; dir != NULL && i < ARRAY_LEN(below); i++) {
		(void)snprintf(out, sizeof(out), "%s/%s", dir, below[i]);
		if (access(out, R_OK | X_OK) == 0)
			return out;
	}
	return NULL;
}
