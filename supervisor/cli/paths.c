/*
 * Folders by the XDG base directory specification, KENNEL_HOME before it.
 */
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/cli/paths.h"

/* An absolute path from the environment; the specification says that anything
 * else is to be ignored. */
static const char *
absolute(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && value[0] == '/' ? value : NULL;
}

static const char *
home(void)
{
	const char *dir = absolute("HOME");
	const struct passwd *pw;

	if (dir != NULL)
		return dir;
	pw = getpwuid(getuid());
	if (pw == NULL || pw->pw_dir == NULL || pw->pw_dir[0] != '/')
		return NULL;
	return pw->pw_dir;
}

/*
 * below: what stands under KENNEL_HOME.  Else base/kennel/tail, where base is
 * an XDG variable or home/fallback.
 */
static const char *
folder(char *out, const char *below, const char *variable, const char *fallback,
    const char *tail)
{
	const char *base = absolute("KENNEL_HOME");
	int n;

	if (base != NULL)
		n = snprintf(out, PATH_MAX, "%s%s", base, below);
	else if ((base = absolute(variable)) != NULL)
		n = snprintf(out, PATH_MAX, "%s/kennel%s", base, tail);
	else if ((base = home()) != NULL)
		n = snprintf(out, PATH_MAX, "%s/%s/kennel%s", base, fallback, tail);
	else
		return NULL;
	return n > 0 && n < PATH_MAX ? out : NULL;
}

const char *
paths_config_dir(void)
{
	static char out[PATH_MAX];

	return folder(out, "", "XDG_CONFIG_HOME", ".config", "");
}

const char *
paths_data_dir(void)
{
	static char out[PATH_MAX];

	return folder(out, "", "XDG_DATA_HOME", ".local/share", "");
}

const char *
paths_audit_dir(void)
{
	static char out[PATH_MAX];

	return folder(out, "/audit", "XDG_STATE_HOME", ".local/state", "/audit");
}

const char *
paths_log_dir(void)
{
	static char out[PATH_MAX];

	return folder(out, "/log", "XDG_STATE_HOME", ".local/state", "/log");
}

const char *
paths_vault_dir(void)
{
	static char out[PATH_MAX];

	return folder(out, "/vault", "XDG_DATA_HOME", ".local/share", "/vault");
}

const char *
paths_run_dir(void)
{
	static char out[PATH_MAX];

	/* where nobody made a runtime folder the state folder is as private */
	return folder(out, "/run", "XDG_RUNTIME_DIR", ".local/state",
	    absolute("XDG_RUNTIME_DIR") != NULL ? "" : "/run");
}

/* The folder above the one of this binary: .../bin/kennel -> ... */
static const char *
prefix(void)
{
	static char dir[PATH_MAX];

	if (dir[0] == '\0') {
		ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

		if (n < 0)
			return NULL;
		dir[n] = '\0';
		for (int cut = 0; cut < 2; cut++) {
			char *slash = strrchr(dir, '/');

			if (slash == NULL)
				return NULL;
			*slash = '\0';
		}
	}
	return dir;
}

const char *
paths_libexec(const char *name)
{
	static char out[PATH_MAX + 64];
	const char *dir = prefix();

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
	const char *dir = prefix();

	for (size_t i = 0; dir != NULL && i < sizeof(below) / sizeof(below[0]); i++) {
		(void)snprintf(out, sizeof(out), "%s/%s", dir, below[i]);
		if (access(out, R_OK | X_OK) == 0)
			return out;
	}
	return NULL;
}
