#include "supervisor/learn/credentials.h"

#include <stdio.h>
#include <string.h>

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

bool
credential_in(const char *dir, const char *home, size_t i, char out[PATH_MAX])
{
	out[0] = '\0';
	if (i < ARRAY_LEN(of_any)) {
		(void)snprintf(out, PATH_MAX, "%.4000s/%s", dir, of_any[i]);
		return true;
	}
	i -= ARRAY_LEN(of_any);
	if (i >= ARRAY_LEN(of_home))
		return false;
	if (home[0] == '/' && fold_below(home, dir))
		(void)snprintf(out, PATH_MAX, "%.4000s/%s", home, of_home[i]);
	return true;
}
