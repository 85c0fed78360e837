/*
 * Where kennel's files are (kennel(1), FILES): XDG directories, KENNEL_HOME before
 * them, and the helpers next to this binary. Every string is static; NULL if no home
 * directory is found.
 */
#ifndef KENNEL_SUPERVISOR_BASE_PATHS_H
#define KENNEL_SUPERVISOR_BASE_PATHS_H

#include <stdbool.h>
#include <sys/types.h>

/* In /etc/kennel or paths_config_dir(). */
#define SETTINGS_FILE "settings.kennel"

/* The home directory of a user, from /etc/passwd only; NULL without a line there. */
const char *paths_home_of(uid_t);
/* The user's name, from there too.  Both are valid until the next call with another uid. */
const char *paths_user_name(uid_t);

/*
 * Each is resolved by the rule of shim/host/path_resolve.h: canonical, or NULL with
 * the reason in paths_why(): no home directory, or a symbolic link in the path that
 * is not followed.
 */
const char *paths_config_dir(void);   /* policies/ sealed/ below it */
const char *paths_data_dir(void);     /* servers/ below it */
const char *paths_audit_dir(void);    /* audit.db */
const char *paths_log_dir(void);      /* standard error of the servers */
const char *paths_run_dir(void);      /* sockets */
const char *paths_registry_dir(void); /* registry.db */
const char *paths_vault_dir(void);    /* secrets.vault, keeper.log */
const char *paths_catalogs_dir(void); /* fetched catalogs, by their digest */

/* The reason why one of them is NULL, for a message. */
const char *paths_why(void);
/* True if a refused symbolic link makes a directory unusable. Then kennel must not
 * start: it would miss files there, such as which secrets need approval. */
bool paths_refused(void);

/* "kennel-leash" -> its path next to this binary (../libexec/kennel). */
const char *paths_libexec(const char *name);
/* The policies that come with kennel: where `make install` puts them, or in the
 * source tree of this binary. NULL: neither exists. */
const char *paths_presets_dir(void);

#endif
