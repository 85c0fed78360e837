#include "supervisor/learn/credentials.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/base/array.h"
#include "supervisor/learn/fold.h"

/* Below the user's home directory. */
static const char *const of_home[] = {".aws", ".azure", ".bash_history",
    ".cargo/credentials", ".cargo/credentials.toml", ".claude", ".claude.json", ".codex",
    ".config/BraveSoftware", ".config/Code/User/globalStorage", ".config/chromium",
    ".config/containers/auth.json", ".config/gcloud", ".config/gh", ".config/glab-cli",
    ".config/google-chrome", ".config/hub", ".config/kennel", ".config/microsoft-edge",
    ".config/op", ".config/opera", ".config/rclone", ".config/sops", ".config/vivaldi",
    ".databrickscfg", ".docker", ".gem/credentials", ".gemini", ".gnupg",
    ".gradle/gradle.properties", ".kube", ".local/share/keyrings",
    ".local/share/kwalletd", ".local/state/kennel", ".m2/settings.xml", ".mozilla",
    ".my.cnf", ".oci", ".password-store", ".pgpass", ".s3cfg", ".snowsql", ".ssh",
    ".terraform.d", ".thunderbird", ".vault-token", ".zsh_history", "snap/chromium",
    "snap/firefox"};
/* In any directory. */
static const char *const of_any[] = {".env", ".env.local", ".env.production", ".envrc",
    ".git-credentials", ".netrc", ".npmrc", ".pypirc", ".ssh", ".aws", ".gnupg"};
static const char *const of_system[] = {"/etc/shadow", "/etc/gshadow", "/etc/ssh",
    "/etc/ssl/private", "/etc/kennel", "/root"};

static bool
has_component(const char *path, const char *name)
{
	size_t len = strlen(name);
	const char *at = path;

	while ((at = strstr(at, name)) != NULL) {
		if (at > path && at[-1] == '/' && (at[len] == '\0' || at[len] == '/'))
			return true;
		at += len;
	}
	return false;
}

bool
credential_is(const char *path, const char *home)
{
	char text[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(of_home) && home[0] == '/'; i++) {
		(void)snprintf(
		    text, sizeof(text), "%s/%s", home, of_home[i]); /* or cut */
		if (fold_below(path, text))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(of_any); i++)
		if (has_component(path, of_any[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(of_system); i++)
		if (fold_below(path, of_system[i]) && !fold_below(home, of_system[i]))
			return true;
	return false;
}

/* ---- those that are there ------------------------------------------------------------ */

struct walk {
	credential_fn *fn;
	void *arg;
	size_t entries;
};

static bool
is_of_any(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(of_any); i++)
		if (strcmp(name, of_any[i]) == 0)
			return true;
	return false;
}

static bool
is_dir(DIR *d, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

static int walk_dir(struct walk *, const char *dir, int depth);

/* NOLINTBEGIN(misc-no-recursion): at most CREDENTIALS_DEPTH_MAX deep */
static int
walk_entry(struct walk *w, const char *dir, DIR *d, const struct dirent *e, int depth)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);

	if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
		return 0;
	if (++w->entries > CREDENTIALS_ENTRIES_MAX || n < 0 || n >= PATH_MAX)
		return -E2BIG;
	if (is_of_any(e->d_name))
		return w->fn(w->arg, path);
	return is_dir(d, e) ? walk_dir(w, path, depth + 1) : 0;
}

/* A directory that this user may not open, the server may not either. */
static int
walk_dir(struct walk *w, const char *dir, int depth)
{
	DIR *d = depth > CREDENTIALS_DEPTH_MAX ? NULL : opendir(dir);
	const struct dirent *e;
	int r = 0;

	if (depth > CREDENTIALS_DEPTH_MAX)
		return -E2BIG;
	if (d == NULL)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	while (r == 0 && (e = readdir(d)) != NULL)
		r = walk_entry(w, dir, d, e, depth);
	(void)closedir(d); /* only read */
	return r;
}
/* NOLINTEND(misc-no-recursion) */

int
credentials_below(const char *dir, const char *home, credential_fn *fn, void *arg)
{
	struct walk w = {.fn = fn, .arg = arg};
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(of_home) && home[0] == '/'; i++) {
		int n = snprintf(path, sizeof(path), "%s/%s", home, of_home[i]), r;

		if (n < 0 || n >= PATH_MAX)
			return -E2BIG;
		if (!fold_below(path, dir) || lstat(path, &st) < 0)
			continue;
		r = fn(arg, path);
		if (r < 0)
			return r;
	}
	return walk_dir(&w, dir, 0);
}
